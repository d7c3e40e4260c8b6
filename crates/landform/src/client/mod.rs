//! The server as commands see it: a kubeconfig like any client's, and plain requests.
//!
//! `kind.rs` finds the kind that a word means, as kubectl reads it.

pub(crate) mod kind;

use std::path::{Path, PathBuf};

use clap::Args;
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use landform_api::project::STATE_DIRECTORY;
use serde_json::Value;

use crate::{AnyError, data_dir};

/// How to reach the server: as kubectl takes it, and the projects of `landform up` besides.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClientArgs {
    /// The kubeconfig [default: KUBECONFIG, that of the project around this directory, ~/.kube/config, or that
    /// of `landform serve`].
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig.
    #[arg(long, value_name = "NAME", help_heading = "Connection")]
    pub(crate) context: Option<String>,
    /// The namespace [default: that of the kubeconfig].
    #[arg(short, long, value_name = "NAME", help_heading = "Connection")]
    pub(crate) namespace: Option<String>,
    /// The data directory of a server, whose kubeconfig is used.
    #[arg(long, value_name = "DIR", help_heading = "Connection")]
    pub(crate) data_dir: Option<PathBuf>,
}

impl ClientArgs {
    /// Connects.
    pub(crate) async fn connect(&self) -> Result<Client, AnyError> {
        let kubeconfig = self.find()?;
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        if let Some(namespace) = &self.namespace {
            config.default_namespace.clone_from(namespace);
        }
        Ok(Client::try_from(config)?)
    }

    fn find(&self) -> Result<Kubeconfig, AnyError> {
        if let Some(file) = &self.kubeconfig {
            return read(file);
        }
        if let Some(dir) = &self.data_dir {
            return read(&dir.join("kubeconfig"));
        }
        // As kubectl does it: one file or several.
        if let Some(kubeconfig) = Kubeconfig::from_env()? {
            return Ok(kubeconfig);
        }
        let here = std::env::current_dir()?;
        let of_project = here
            .ancestors()
            .map(|dir| dir.join(STATE_DIRECTORY).join("kubeconfig"));
        let usual = std::env::home_dir().map(|home| home.join(".kube/config"));
        match of_project.chain(usual).find(|file| file.exists()) {
            Some(file) => read(&file),
            None => read(&data_dir::resolve(None)?.join("kubeconfig")),
        }
    }
}

fn read(file: &Path) -> Result<Kubeconfig, AnyError> {
    if !file.exists() {
        let missing = format!(
            "there is no kubeconfig {}: start a server with `landform up DIR` or `landform serve`, or name another file with --kubeconfig",
            file.display()
        );
        return Err(missing.into());
    }
    Ok(Kubeconfig::read_from(file)?)
}

/// Runs a command's work on a runtime of its own.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, AnyError>>) -> Result<T, AnyError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
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
