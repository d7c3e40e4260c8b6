//! The server as commands see it: a kubeconfig like any client's, and plain requests.
//!
//! `kind.rs` finds the kind that a word means, as kubectl reads it; `object.rs` the objects that a command line
//! names, in words or in files.

pub(crate) mod kind;
pub(crate) mod object;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

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
        self.connect_near(None).await
    }

    /// Connects; where nobody says otherwise, to the server of the project in or around a directory.
    pub(crate) async fn connect_near(&self, directory: Option<&Path>) -> Result<Client, AnyError> {
        let kubeconfig = self.find(directory)?;
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        usable(&kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        if let Some(namespace) = &self.namespace {
            config.default_namespace.clone_from(namespace);
        }
        if self.is_of_project(directory) {
            EVERYWHERE.store(true, Ordering::Relaxed);
        }
        // The first one counts: a command speaks with one server.
        let _ = ADDRESS.set(config.cluster_url.to_string());
        Ok(Client::try_from(config)?)
    }

    /// Whether the server is found by the directory alone, and no namespace was named.
    fn is_of_project(&self, directory: Option<&Path>) -> bool {
        let says = self.kubeconfig.is_some()
            || self.data_dir.is_some()
            || self.context.is_some()
            || self.namespace.is_some()
            || std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty());
        !says && of_project(directory).is_ok_and(|found| found.is_some())
    }

    fn find(&self, directory: Option<&Path>) -> Result<Kubeconfig, AnyError> {
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
        let of_project = of_project(directory)?;
        let usual = std::env::home_dir().map(|home| home.join(".kube/config"));
        match of_project
            .into_iter()
            .chain(usual)
            .find(|file| file.exists())
        {
            Some(file) => read(&file),
            None => read(&data_dir::resolve(None)?.join("kubeconfig")),
        }
    }
}

/// The kubeconfig of the project in or around a directory.
fn of_project(directory: Option<&Path>) -> Result<Option<PathBuf>, AnyError> {
    let here = match directory {
        Some(directory) => directory.canonicalize()?,
        None => std::env::current_dir()?,
    };
    let mut files = here
        .ancestors()
        .map(|dir| dir.join(STATE_DIRECTORY).join("kubeconfig"));
    Ok(files.find(|file| file.exists()))
}

/// Whether a command that names no namespace is about all of them: the server is that of one project, whose objects may
/// be in several.
pub(crate) fn is_everywhere() -> bool {
    EVERYWHERE.load(Ordering::Relaxed)
}

/// Namespaces of which a project has nothing.
pub(crate) fn is_of_system(namespace: &str) -> bool {
    namespace.starts_with("kube-")
}

/// Whether the client library can use what a kubeconfig says, which it takes for granted.
pub(crate) fn usable(kubeconfig: &Kubeconfig) -> Result<(), AnyError> {
    for user in &kubeconfig.auth_infos {
        let value = serde_json::to_value(&user.auth_info)?;
        if let Some(problem) = landform_deployers::manifest::problem_of_user(&value) {
            return Err(format!("the user {} of the kubeconfig: {problem}", user.name).into());
        }
    }
    Ok(())
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
    get_as(client, path, "application/json").await
}

/// Reads a path in a form of one's own; `None` when nothing is there.
pub(crate) async fn get_as(
    client: &Client,
    path: &str,
    accept: &str,
) -> Result<Option<Value>, AnyError> {
    let request = Request::get(path).header("accept", accept);
    match client.request(request.body(Vec::new())?).await {
        Ok(value) => Ok(Some(value)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(plain(error)),
    }
}

/// Sends a merge patch.
pub(crate) async fn merge(client: &Client, path: &str, patch: &Value) -> Result<Value, AnyError> {
    let request = Request::patch(path).header("content-type", "application/merge-patch+json");
    let request = request.body(patch.to_string().into_bytes())?;
    let answer = client.request(request).await;
    answer.map_err(plain)
}

/// Sends a value with POST or PUT.
pub(crate) async fn send(
    client: &Client,
    method: http::Method,
    path: &str,
    value: &Value,
) -> Result<Value, kube::Error> {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/json");
    let request = request.body(value.to_string().into_bytes());
    client
        .request(request.map_err(kube::Error::HttpError)?)
        .await
}

/// A text as part of a query.
pub(crate) fn in_query(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Whether the server is that of the project around this directory, and no namespace was named.
static EVERYWHERE: AtomicBool = AtomicBool::new(false);
/// The server of this process's commands, for messages.
static ADDRESS: OnceLock<String> = OnceLock::new();

/// What the server said, without what surrounds it; and what to do when there is no server.
pub(crate) fn plain(error: kube::Error) -> AnyError {
    match error {
        kube::Error::Api(status) if status.code == 401 => format!(
            "the server doesn't know who asks: {}; the kubeconfig may be of another server",
            status.message
        )
        .into(),
        kube::Error::Api(status) => status.message.clone().into(),
        error @ (kube::Error::HyperError(_) | kube::Error::Service(_)) => {
            let address = ADDRESS.get().map_or("", String::as_str);
            let why = innermost(&error);
            format!(
                "the server {address} can't be reached ({why}): start one with `landform up DIR` or `landform serve`, or name another with --kubeconfig or --context"
            )
            .into()
        }
        other => other.into(),
    }
}

/// The cause of causes, without the addresses and layers around it.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::in_query;

    #[test]
    fn a_selector_can_stand_in_a_query() {
        assert_eq!(in_query("a=b,c!=d e"), "a%3Db%2Cc%21%3Dd%20e");
    }
}
