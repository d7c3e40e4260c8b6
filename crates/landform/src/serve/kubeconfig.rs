//! The admin's kubeconfig.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde_json::json;

use super::pki::{ADMIN_USER, Pki, write_private};
use crate::AnyError;

/// Where clients on this machine reach a server that listens on this address.
pub(super) fn server_url(address: SocketAddr) -> String {
    // A server that listens on every address is reached here by the loopback one.
    let host = if address.ip().is_unspecified() {
        SocketAddr::new([127, 0, 0, 1].into(), address.port())
    } else {
        address
    };
    format!("https://{host}")
}

/// Writes a kubeconfig with the CA, the client certificate and the token; returns its full path.
pub(super) fn write(file: &Path, address: SocketAddr, pki: &Pki) -> Result<PathBuf, AnyError> {
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "landform", "cluster": {
            "server": server_url(address),
            "certificate-authority-data": encode(&pki.ca_certificate),
        }}],
        "users": [{"name": ADMIN_USER, "user": {
            "client-certificate-data": encode(&pki.admin.certificate),
            "client-key-data": encode(&pki.admin.key),
            "token": pki.token,
        }}],
        "contexts": [{"name": "landform", "context": {"cluster": "landform", "user": ADMIN_USER}}],
        "current-context": "landform",
    });
    if let Some(parent) = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        std::fs::create_dir_all(parent)
            .map_err(|error| format!("can't make the directory {}: {error}", parent.display()))?;
    }
    write_private(file, landform_yaml::write(&config).as_bytes())?;
    Ok(std::fs::canonicalize(file)?)
}
