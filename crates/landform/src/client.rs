//! The server as commands see it: a kubeconfig like any client's, and plain requests.

use std::path::Path;

use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;

use crate::{AnyError, data_dir};

/// Connects with a kubeconfig that was named, that of a data directory, or the usual one.
pub(crate) async fn connect(
    kubeconfig: Option<&Path>,
    data_dir: Option<&Path>,
) -> Result<Client, AnyError> {
    let named = match (kubeconfig, data_dir) {
        (Some(file), _) => Some(file.to_owned()),
        (None, Some(dir)) => Some(dir.join("kubeconfig")),
        (None, None) => None,
    };
    let kubeconfig = match named {
        Some(file) => read(&file)?,
        // As kubectl does it: one file or several.
        None => match Kubeconfig::from_env()? {
            Some(kubeconfig) => kubeconfig,
            None => read(&data_dir::resolve(None)?.join("kubeconfig"))?,
        },
    };
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    Ok(Client::try_from(config)?)
}

fn read(file: &Path) -> Result<Kubeconfig, AnyError> {
    if !file.exists() {
        let missing = format!(
            "there is no kubeconfig {}: start the server first, or name another file with --kubeconfig",
            file.display()
        );
        return Err(missing.into());
    }
    Ok(Kubeconfig::read_from(file)?)
}

/// Reads a path; `None` when nothing is there.
pub(crate) async fn get(client: &Client, path: &str) -> Result<Option<Value>, AnyError> {
    let request = Request::get(path).body(Vec::new())?;
    match client.request(request).await {
        Ok(value) => Ok(Some(value)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(plain(error)),
    }
}

/// What the server said, without what surrounds it.
pub(crate) fn plain(error: kube::Error) -> AnyError {
    match error {
        kube::Error::Api(status) => status.message.clone().into(),
        other => other.into(),
    }
}
