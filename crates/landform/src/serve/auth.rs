//! Who calls: the client certificate of the connection, or the bearer token of the request.

use http::Request;
use http::header::AUTHORIZATION;
use landform_apiserver::{AUTHENTICATED, ApiServer, Identity};
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Who makes a request; `None` without credentials that count. A token that is sent must be right, even when
/// the certificate is.
pub(super) async fn identify<B>(
    server: &ApiServer,
    request: &Request<B>,
    certificate: Option<&Identity>,
) -> Option<Identity> {
    let Some(header) = request.headers().get(AUTHORIZATION) else {
        return certificate.cloned();
    };
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let token = token.trim().to_owned();
    match server.authenticate(&token).await {
        Ok(identity) => identity,
        Err(error) => {
            tracing::warn!(%error, "a token could not be looked at");
            None
        }
    }
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
    groups.push(AUTHENTICATED.into());
    Some(Identity::new(user, groups))
}

#[cfg(test)]
mod tests {
    use super::*;
    use landform_apiserver::{Config, StaticToken};
    use landform_store::memory::MemoryStore;
    use std::sync::Arc;

    #[tokio::test]
    async fn only_the_right_token_or_a_certificate_counts() {
        let admin = StaticToken::new("secret-token", Identity::new("admin", [AUTHENTICATED]));
        let config = Config {
            static_tokens: vec![admin],
            ..Config::default()
        };
        let server = ApiServer::start(Arc::new(MemoryStore::new()), config)
            .await
            .unwrap();
        let certified = Identity::new("cert", [AUTHENTICATED]);
        let table = [
            (None, None, None),
            (Some("Bearer secret-token"), None, Some("admin")),
            (Some("bearer secret-token"), None, Some("admin")),
            (Some("Bearer secret-toke"), None, None),
            (Some("Bearer secret-tokeN"), None, None),
            (Some("Basic secret-token"), None, None),
            (None, Some(&certified), Some("cert")),
            (Some("Bearer wrong"), Some(&certified), None),
        ];
        for (header, certificate, expected) in table {
            let mut request = Request::builder();
            if let Some(header) = header {
                request = request.header(AUTHORIZATION, header);
            }
            let request = request.body(()).unwrap();
            let found = identify(&server, &request, certificate).await;
            let found = found.map(|identity| identity.user.clone());
            assert_eq!(found.as_deref(), expected, "{header:?}");
        }
    }
}
