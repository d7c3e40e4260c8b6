//! A kubeconfig, read as far as the suite needs it: a server on this machine, and a token or a certificate.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;

use super::Outcome;
use super::wire::Access;

/// What a kubeconfig leads to.
pub(super) struct Entrance {
    pub(super) admin: Access,
    /// The same server, without credentials.
    pub(super) stranger: Access,
}

impl Entrance {
    /// Reads a kubeconfig; a server that is not on this machine is refused.
    pub(super) fn read(file: &Path) -> Outcome<Self> {
        let shown = file.display();
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("can't read {shown}: {error}"))?;
        let config = landform_yaml::parse_one(&text, &landform_yaml::Budget::FILE)
            .map_err(|error| format!("{shown}: {error}"))?;
        let (cluster, user) = current(&config).ok_or_else(|| {
            format!("{shown} has no current-context that names a cluster and a user")
        })?;
        let server = cluster["server"].as_str().unwrap_or_default();
        let address = loopback(server)?;
        let pem = |holder: &Value, field: &str| -> Outcome<Option<Vec<u8>>> {
            if let Some(data) = holder[format!("{field}-data")].as_str() {
                let decoded = base64::engine::general_purpose::STANDARD.decode(data);
                return decoded
                    .map(Some)
                    .map_err(|error| format!("{field}: {error}"));
            }
            let Some(path) = holder[field].as_str() else {
                return Ok(None);
            };
            let path = file
                .parent()
                .map_or(PathBuf::from(path), |at| at.join(path));
            let bytes = std::fs::read(&path);
            bytes
                .map(Some)
                .map_err(|error| format!("{}: {error}", path.display()))
        };
        let authority = pem(cluster, "certificate-authority")?
            .ok_or_else(|| format!("{shown} has no certificate-authority"))?;
        let certificate = pem(user, "client-certificate")?.zip(pem(user, "client-key")?);
        let name = ServerName::IpAddress(address.ip().into());
        let access = |certificate: Option<(Vec<u8>, Vec<u8>)>| -> Outcome<Access> {
            Ok(Access {
                address,
                name: name.clone(),
                tls: Arc::new(tls(&authority, certificate).map_err(|error| error.to_string())?),
                authorization: None,
            })
        };
        let stranger = access(None)?;
        let admin = match user["token"].as_str() {
            Some(token) => stranger.with_token(token),
            None if certificate.is_some() => access(certificate)?,
            None => {
                return Err(format!(
                    "{shown} has neither a token nor a client certificate"
                ));
            }
        };
        Ok(Self { admin, stranger })
    }
}

fn current(config: &Value) -> Option<(&Value, &Value)> {
    let named = |list: &str, name: &Value| {
        let found = config[list].as_array()?.iter();
        found.into_iter().find(|entry| entry["name"] == *name)
    };
    let context = &named("contexts", &config["current-context"])?["context"];
    let cluster = &named("clusters", &context["cluster"])?["cluster"];
    let user = &named("users", &context["user"])?["user"];
    Some((cluster, user))
}

/// The address of a server, which must be on this machine.
fn loopback(server: &str) -> Outcome<SocketAddr> {
    let refused = || {
        format!(
            "the kubeconfig's server is {server:?}; attacks are sent to this machine only: \
             an https:// address in 127.0.0.0/8, or [::1]"
        )
    };
    let rest = server.strip_prefix("https://").ok_or_else(refused)?;
    let place = rest.split('/').next().unwrap_or_default();
    let address = match place.strip_prefix("localhost") {
        Some("") => SocketAddr::from((Ipv4Addr::LOCALHOST, 443)),
        Some(port) => format!("127.0.0.1{port}").parse().map_err(|_| refused())?,
        None => place
            .parse::<SocketAddr>()
            .or_else(|_| {
                let bare = place.trim_start_matches('[').trim_end_matches(']');
                bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 443))
            })
            .map_err(|_| refused())?,
    };
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(refused())
    }
}

fn tls(
    authority: &[u8],
    certificate: Option<(Vec<u8>, Vec<u8>)>,
) -> Result<ClientConfig, Box<dyn std::error::Error>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority) {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    Ok(match certificate {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let chain = CertificateDer::pem_slice_iter(&chain).collect::<Result<Vec<_>, _>>()?;
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(&key)?)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::loopback;

    #[test]
    fn only_servers_on_this_machine_are_attacked() {
        for (server, expected) in [
            ("https://127.0.0.1:6443", Some("127.0.0.1:6443")),
            ("https://127.8.9.10:1/path", Some("127.8.9.10:1")),
            ("https://[::1]:6443", Some("[::1]:6443")),
            ("https://[::1]", Some("[::1]:443")),
            ("https://localhost:6443", Some("127.0.0.1:6443")),
            ("https://localhost.example.com:6443", None),
            ("https://127.0.0.1.example.com", None),
            ("https://10.0.0.1:6443", None),
            ("https://127.0.0.1@10.0.0.1:6443", None),
            ("https://[::ffff:10.0.0.1]:6443", None),
            ("http://127.0.0.1:6443", None),
            ("", None),
        ] {
            let found = loopback(server).ok().map(|found| found.to_string());
            assert_eq!(found.as_deref(), expected, "{server}");
        }
    }
}
