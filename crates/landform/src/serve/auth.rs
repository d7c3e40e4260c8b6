//! Who calls: the client certificate of the connection, or the bearer token of the request.

use http::Request;
use http::header::AUTHORIZATION;
use landform_apiserver::Identity;
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::pki::{ADMIN_GROUP, ADMIN_USER};

/// Knows the credentials that count.
pub(super) struct Authenticator {
    token: String,
}

impl Authenticator {
    pub(super) fn new(token: &str) -> Self {
        Self {
            token: token.to_owned(),
        }
    }

    /// Who makes a request; `None` without credentials that count. A token that is sent must be right,
    /// even when the certificate is.
    pub(super) fn identify<B>(
        &self,
        request: &Request<B>,
        certificate: Option<&Identity>,
    ) -> Option<Identity> {
        match request.headers().get(AUTHORIZATION) {
            None => certificate.cloned(),
            Some(header) => {
                let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
                let right =
                    scheme.eq_ignore_ascii_case("bearer") && same(token.trim(), &self.token);
                right.then(|| Identity {
                    user: ADMIN_USER.into(),
                    groups: vec![ADMIN_GROUP.into(), "system:authenticated".into()],
                })
            }
        }
    }
}

/// Compares without telling by its time how much was right.
fn same(a: &str, b: &str) -> bool {
    let difference = a
        .bytes()
        .zip(b.bytes())
        .fold(0, |found, (a, b)| found | (a ^ b));
    a.len() == b.len() && difference == 0
}

/// Who a verified client certificate speaks for: its common name, and its organizations as groups.
pub(super) fn certificate_identity(certificate: &CertificateDer<'_>) -> Option<Identity> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let subject = certificate.subject();
    let user = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
    let mut groups: Vec<String> = subject
        .iter_organization()
        .filter_map(|group| group.as_str().ok().map(str::to_owned))
        .collect();
    groups.push("system:authenticated".into());
    Some(Identity { user, groups })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identify(header: Option<&str>, certificate: Option<&Identity>) -> Option<String> {
        let mut request = Request::builder();
        if let Some(header) = header {
            request = request.header(AUTHORIZATION, header);
        }
        let request = request.body(()).unwrap();
        Authenticator::new("secret-token")
            .identify(&request, certificate)
            .map(|identity| identity.user)
    }

    #[test]
    fn only_the_right_token_or_a_certificate_counts() {
        let certified = Identity {
            user: "cert".into(),
            groups: Vec::new(),
        };
        assert_eq!(identify(None, None), None);
        assert_eq!(
            identify(Some("Bearer secret-token"), None),
            Some("admin".into())
        );
        assert_eq!(
            identify(Some("bearer secret-token"), None),
            Some("admin".into())
        );
        assert_eq!(identify(Some("Bearer secret-toke"), None), None);
        assert_eq!(identify(Some("Bearer secret-tokeN"), None), None);
        assert_eq!(identify(Some("Basic secret-token"), None), None);
        assert_eq!(identify(None, Some(&certified)), Some("cert".into()));
        assert_eq!(identify(Some("Bearer wrong"), Some(&certified)), None);
    }
}
