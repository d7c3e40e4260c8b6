//! Certificates, the token and the key of tokens: made at the first start, kept in the data directory, mode 0600.
//!
//! A CA of our own signs the server's certificate and the admin's client certificate. What is about
//! to expire, or doesn't cover the address that the server listens on, is made anew by the same CA,
//! so that clients that trust it go on working.

use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use landform_apiserver::{MASTERS, TokenKey};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::AnyError;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// The CA's certificate holds ten years, the others one; they are renewed a month before their end.
const CA_DAYS: u32 = 3650;
const LEAF_DAYS: u32 = 365;
const RENEW_DAYS: u32 = 30;

/// The admin, as certificates and tokens name them.
pub(super) const ADMIN_USER: &str = "admin";

/// Everything that the server and its admin need, in PEM.
pub(super) struct Pki {
    pub(super) ca_certificate: String,
    pub(super) server: Leaf,
    pub(super) admin: Leaf,
    pub(super) token: String,
    /// Signs the tokens of service accounts.
    pub(super) token_key: Arc<TokenKey>,
}

/// A certificate and its key.
pub(super) struct Leaf {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// Reads what is there and makes what is missing.
pub(super) fn load_or_make(dir: &Path, listens_on: IpAddr) -> Result<Pki, AnyError> {
    super::running::make_private_dir(dir)?;
    let ca = Ca::load_or_make(dir)?;
    let mut names: Vec<SanType> = vec![
        SanType::DnsName("localhost".try_into()?),
        SanType::DnsName("landform".try_into()?),
        SanType::IpAddress(IpAddr::from([127, 0, 0, 1])),
        SanType::IpAddress(IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])),
    ];
    if !listens_on.is_unspecified() && !names.contains(&SanType::IpAddress(listens_on)) {
        names.push(SanType::IpAddress(listens_on));
    }
    let server = ca.leaf(dir, "server", "landform", None, &names)?;
    let admin = ca.leaf(dir, "admin", ADMIN_USER, Some(MASTERS), &[])?;
    let token = load_or_make_token(&dir.join("admin.token"))?;
    let token_key = load_or_make_token_key(&dir.join("service-account.key"))?;
    Ok(Pki {
        ca_certificate: ca.certificate,
        server,
        admin,
        token,
        token_key: Arc::new(token_key),
    })
}

struct Ca {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Ca {
    fn load_or_make(dir: &Path) -> Result<Self, AnyError> {
        let (certificate_file, key_file) = (dir.join("ca.crt"), dir.join("ca.key"));
        if !certificate_file.exists() || !key_file.exists() {
            let key = KeyPair::generate()?;
            // A name of its own: OpenSSL takes a certificate for self-signed when its issuer has the
            // same name as its subject, and Python refuses it.
            let mut params = params("landform-ca", None, CA_DAYS);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
            let certificate = params.self_signed(&key)?;
            write_private(&key_file, key.serialize_pem().as_bytes())?;
            write_private(&certificate_file, certificate.pem().as_bytes())?;
        }
        let certificate = read(&certificate_file)?;
        let key = KeyPair::from_pem(&read(&key_file)?)
            .map_err(|error| unusable(&key_file, &error.to_string()))?;
        let issuer = Issuer::from_ca_cert_pem(&certificate, key)
            .map_err(|error| unusable(&certificate_file, &error.to_string()))?;
        Ok(Self {
            certificate,
            issuer,
        })
    }

    /// A certificate of this CA: the one on disk if it still serves, otherwise a new one.
    fn leaf(
        &self,
        dir: &Path,
        file: &str,
        common_name: &str,
        organization: Option<&str>,
        names: &[SanType],
    ) -> Result<Leaf, AnyError> {
        let (certificate_file, key_file) = (
            dir.join(format!("{file}.crt")),
            dir.join(format!("{file}.key")),
        );
        let present = std::fs::read_to_string(&certificate_file).ok();
        let serves = present.is_some_and(|pem| still_serves(&pem, &self.certificate, names));
        if !serves || !key_file.exists() {
            let key = KeyPair::generate()?;
            let mut params = params(common_name, organization, LEAF_DAYS);
            params.subject_alt_names = names.to_vec();
            params.use_authority_key_identifier_extension = true;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![if names.is_empty() {
                ExtendedKeyUsagePurpose::ClientAuth
            } else {
                ExtendedKeyUsagePurpose::ServerAuth
            }];
            let certificate = params.signed_by(&key, &self.issuer)?;
            write_private(&key_file, key.serialize_pem().as_bytes())?;
            write_private(&certificate_file, certificate.pem().as_bytes())?;
        }
        Ok(Leaf {
            certificate: read(&certificate_file)?,
            key: read(&key_file)?,
        })
    }
}

fn params(common_name: &str, organization: Option<&str>, days: u32) -> CertificateParams {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    if let Some(organization) = organization {
        params
            .distinguished_name
            .push(DnType::OrganizationName, organization);
    }
    let now = SystemTime::now();
    // A clock that is a little behind must not make a new certificate invalid.
    params.not_before = (now - DAY).into();
    params.not_after = (now + DAY * days).into();
    params
}

/// Whether a certificate is of this CA, covers the names, and holds for a while.
fn still_serves(pem: &str, ca_pem: &str, names: &[SanType]) -> bool {
    let check = || -> Option<bool> {
        let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).ok()?;
        let (_, ca_pem) = x509_parser::pem::parse_x509_pem(ca_pem.as_bytes()).ok()?;
        let (_, certificate) = X509Certificate::from_der(&pem.contents).ok()?;
        let (_, ca) = X509Certificate::from_der(&ca_pem.contents).ok()?;
        let signed = certificate.verify_signature(Some(ca.public_key())).is_ok();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let renew_at = i64::try_from((now + DAY * RENEW_DAYS).as_secs()).ok()?;
        let holds = certificate.validity().not_after.timestamp() > renew_at;
        let covered = match certificate.subject_alternative_name().ok()? {
            Some(extension) => names
                .iter()
                .all(|name| covers(&extension.value.general_names, name)),
            None => names.is_empty(),
        };
        Some(signed && holds && covered)
    };
    check().unwrap_or(false)
}

fn covers(present: &[x509_parser::extensions::GeneralName<'_>], wanted: &SanType) -> bool {
    use x509_parser::extensions::GeneralName;
    present.iter().any(|name| match (name, wanted) {
        (GeneralName::DNSName(found), SanType::DnsName(wanted)) => *found == wanted.as_str(),
        (GeneralName::IPAddress(found), SanType::IpAddress(IpAddr::V4(wanted))) => {
            *found == wanted.octets()
        }
        (GeneralName::IPAddress(found), SanType::IpAddress(IpAddr::V6(wanted))) => {
            *found == wanted.octets()
        }
        _ => false,
    })
}

fn load_or_make_token(file: &Path) -> Result<String, AnyError> {
    if !file.exists() {
        let mut random = [0; 32];
        rustls::crypto::ring::default_provider()
            .secure_random
            .fill(&mut random)
            .map_err(|_| "the system has no randomness to make a token from")?;
        let token = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(random);
        write_private(file, token.as_bytes())?;
    }
    let token = read(file)?.trim().to_owned();
    if token.len() < 16 {
        return Err(unusable(file, "the token is too short"));
    }
    Ok(token)
}

/// Whoever has this key can be any service account.
fn load_or_make_token_key(file: &Path) -> Result<TokenKey, AnyError> {
    if !file.exists() {
        write_private(file, KeyPair::generate()?.serialize_pem().as_bytes())?;
    }
    let key =
        KeyPair::from_pem(&read(file)?).map_err(|error| unusable(file, &error.to_string()))?;
    TokenKey::from_pkcs8(&key.serialize_der()).map_err(|error| unusable(file, &error.to_string()))
}

fn read(file: &Path) -> Result<String, AnyError> {
    std::fs::read_to_string(file)
        .map_err(|error| format!("can't read {}: {error}", file.display()).into())
}

fn unusable(file: &Path, problem: &str) -> AnyError {
    format!(
        "{} can't be used: {problem}; remove it, and a new one is made",
        file.display()
    )
    .into()
}

/// Writes a file that only its owner can read, whole or not at all.
pub(super) fn write_private(file: &Path, content: &[u8]) -> Result<(), AnyError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    let temporary = PathBuf::from(name);
    let write = || -> std::io::Result<()> {
        let _ = std::fs::remove_file(&temporary);
        let mut out = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        out.write_all(content)?;
        out.sync_all()?;
        std::fs::rename(&temporary, file)
    };
    write().map_err(|error| format!("can't write {}: {error}", file.display()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(file: &Path) -> u32 {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(file).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_second_start_finds_the_same_certificates_and_token() {
        let dir = tempfile::tempdir().unwrap();
        let address = IpAddr::from([127, 0, 0, 1]);
        let first = load_or_make(dir.path(), address).unwrap();
        let second = load_or_make(dir.path(), address).unwrap();
        assert_eq!(first.ca_certificate, second.ca_certificate);
        assert_eq!(first.server.certificate, second.server.certificate);
        assert_eq!(first.token, second.token);
        let keys = [first.token_key, second.token_key].map(|key| format!("{key:?}"));
        assert_eq!(keys[0], keys[1]);
        for file in [
            "ca.key",
            "server.key",
            "admin.key",
            "admin.token",
            "service-account.key",
        ] {
            assert_eq!(mode(&dir.path().join(file)), 0o600, "{file}");
        }
    }

    #[test]
    fn another_address_gets_a_new_server_certificate_of_the_same_ca() {
        let dir = tempfile::tempdir().unwrap();
        let first = load_or_make(dir.path(), IpAddr::from([127, 0, 0, 1])).unwrap();
        let second = load_or_make(dir.path(), IpAddr::from([127, 0, 0, 9])).unwrap();
        assert_eq!(first.ca_certificate, second.ca_certificate);
        assert_ne!(first.server.certificate, second.server.certificate);
        assert_eq!(first.admin.certificate, second.admin.certificate);
    }

    #[test]
    fn a_broken_key_is_reported_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        load_or_make(dir.path(), IpAddr::from([127, 0, 0, 1])).unwrap();
        std::fs::write(dir.path().join("ca.key"), "rubbish").unwrap();
        let error = load_or_make(dir.path(), IpAddr::from([127, 0, 0, 1]))
            .err()
            .unwrap();
        assert!(
            error.to_string().contains("ca.key can't be used"),
            "{error}"
        );
    }
}
