//! Where a project is, and where `landform up` keeps what belongs to it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use kube::Client;
use landform_api::project::{self, STATE_DIRECTORY};
use landform_project::Settings;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::AnyError;
use crate::client::get;
use crate::serve::{bind, bind_asked};
use crate::store_key::KeyArgs;

/// Where the API is unless something else has that port.
const USUAL: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7443);

/// A project's directory and its data.
pub(crate) struct Home {
    /// As an absolute path without links.
    pub(crate) directory: PathBuf,
    pub(crate) data_dir: PathBuf,
    pub(crate) key: KeyArgs,
    given: PathBuf,
}

impl Home {
    pub(crate) fn of(
        directory: &Path,
        data_dir: Option<PathBuf>,
        key: KeyArgs,
    ) -> Result<Self, AnyError> {
        let found = directory.canonicalize().map_err(|error| {
            format!(
                "there is no project in {}: {error}; name a directory with manifests",
                directory.display()
            )
        })?;
        if !found.is_dir() {
            return Err(format!(
                "{} is a file: name the directory that it is in, or use `landform apply -f`",
                directory.display()
            )
            .into());
        }
        let data_dir = data_dir.unwrap_or_else(|| found.join(STATE_DIRECTORY));
        Ok(Self {
            directory: found,
            data_dir,
            key,
            given: directory.to_owned(),
        })
    }

    /// What the project is called, for the server on its own data.
    pub(crate) async fn project_name(&self, client: &Client) -> Result<String, AnyError> {
        let (all, name) = (projects(client).await?, first_name(&self.directory));
        let known = name_among(&all, &self.directory, &name);
        let known = known.or_else(|| moved(&all, &self.directory));
        Ok(known.unwrap_or(name))
    }

    /// The directory as it was given.
    pub(crate) fn shown(&self) -> String {
        self.given.display().to_string()
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.data_dir.join("kubeconfig")
    }

    /// Makes the data directory; returns the file for the log.
    pub(crate) fn make(&self) -> Result<PathBuf, AnyError> {
        use std::os::unix::fs::DirBuilderExt as _;
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.data_dir);
        made.map_err(|error| {
            format!(
                "can't make {}: {error}; name another place with --data-dir",
                self.data_dir.display()
            )
        })?;
        // Nothing in it is for version control.
        let ignore = self.data_dir.join(".gitignore");
        if self.data_dir.ends_with(STATE_DIRECTORY) && !ignore.exists() {
            std::fs::write(&ignore, "*\n")?;
        }
        Ok(self.data_dir.join("landform.log"))
    }

    /// A socket at the address that was asked for; else at that of the last time, so that clients find the API
    /// again; else at any.
    pub(crate) async fn listener(
        &self,
        asked: Option<SocketAddr>,
    ) -> Result<TcpListener, AnyError> {
        if let Some(address) = asked {
            return bind_asked(address).await;
        }
        let last = std::fs::read_to_string(self.kubeconfig())
            .ok()
            .and_then(|text| address_in(&text));
        if let Some(address) = last
            && let Ok(listener) = bind(address).await
        {
            return Ok(listener);
        }
        if let Ok(listener) = TcpListener::bind(USUAL).await {
            return Ok(listener);
        }
        Ok(TcpListener::bind(SocketAddr::new(USUAL.ip(), 0)).await?)
    }

    /// An error of the start, with what to do when it is because the project is up already.
    pub(crate) fn in_use(&self, error: AnyError) -> AnyError {
        let text = error.to_string();
        if !text.contains("is in use by") {
            return error;
        }
        format!(
            "{} is up already: look at it with `landform get installations --kubeconfig {}`, or stop the other `landform up` first",
            self.shown(),
            self.kubeconfig().display()
        )
        .into()
    }
}

/// What the project of a directory is called: as it was when it was first brought up, whatever `landform.yaml` says now,
/// or whether it is there. A second project would have no right to the objects of the first.
pub(crate) async fn project_name(client: &Client, directory: &Path) -> Result<String, AnyError> {
    let name = first_name(directory);
    let known = name_among(&projects(client).await?, directory, &name);
    Ok(known.unwrap_or(name))
}

async fn projects(client: &Client) -> Result<Value, AnyError> {
    let all = format!("/apis/{}/{}/projects", project::GROUP, project::VERSION);
    let mut all = get(client, &all).await?.unwrap_or_default();
    Ok(all["items"].take())
}

/// The name that a directory's `landform.yaml` says, or that of the directory.
fn first_name(directory: &Path) -> String {
    let said = Settings::load(directory)
        .ok()
        .and_then(|settings| settings.name);
    said.unwrap_or_else(|| {
        let name = directory.file_name().unwrap_or_default();
        as_name(&name.to_string_lossy())
    })
}

/// The name of the project that has a directory; this one if there are several.
fn name_among(projects: &Value, directory: &Path, rather: &str) -> Option<String> {
    let names = names_where(projects, |found| found == directory);
    let rather = names.iter().find(|name| *name == rather);
    rather.or(names.first()).cloned()
}

/// The name of the only project, if its directory was somewhere else: the directory has moved, with all that is in it.
fn moved(projects: &Value, directory: &Path) -> Option<String> {
    let names = names_where(projects, |found| !found.starts_with(directory));
    let is_only = projects.as_array().is_some_and(|all| all.len() == 1);
    names.into_iter().next().filter(|_| is_only)
}

fn names_where(projects: &Value, fits: impl Fn(&Path) -> bool) -> Vec<String> {
    let projects = projects.as_array().into_iter().flatten();
    let fitting = projects.filter(|project| {
        let found = project["spec"]["directory"].as_str();
        found.is_some_and(|found| fits(Path::new(found)))
    });
    let names = fitting.filter_map(|project| project["metadata"]["name"].as_str());
    names.map(ToOwned::to_owned).collect()
}

/// The address in a kubeconfig that Landform wrote.
fn address_in(kubeconfig: &str) -> Option<SocketAddr> {
    let (_, rest) = kubeconfig.split_once("https://")?;
    let end = rest
        .find(|c: char| c.is_whitespace() || c == '"')
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A directory's name as an object may be called.
fn as_name(text: &str) -> String {
    let mut name: String = text
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(63)
        .collect();
    name = name.trim_matches('-').to_owned();
    if name.is_empty() {
        "project".into()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn any_directory_gives_a_name() {
        for (directory, name) in [
            ("shop", "shop"),
            ("My Shop", "my-shop"),
            ("_x_", "x"),
            ("…", "project"),
        ] {
            assert_eq!(as_name(directory), name);
        }
    }

    #[test]
    fn r15b_a_directory_keeps_its_project_whatever_its_settings_say() {
        let project = |name: &str, directory: &str| json!({"metadata": {"name": name}, "spec": {"directory": directory}});
        let shop = json!([project("shop", "/home/a"), project("other", "/home/b")]);
        let directory = Path::new("/home/a");
        for (projects, said, name) in [
            (json!([]), "a", None),
            (shop.clone(), "shop", Some("shop")),
            // landform.yaml is away, or names another project.
            (shop.clone(), "a", Some("shop")),
            (shop.clone(), "other", Some("shop")),
            (
                json!([project("x", "/home/a"), project("y", "/home/a")]),
                "y",
                Some("y"),
            ),
            // Of a server with a directory of projects.
            (json!([project("shop", "a")]), "a", None),
        ] {
            let found = name_among(&projects, directory, said);
            assert_eq!(found.as_deref(), name, "{projects} {said}");
        }
        for (projects, name) in [
            (json!([project("shop", "/home/before")]), Some("shop")),
            (json!([project("nested", "/home/a/nested")]), None),
            (shop, None),
            (json!([]), None),
        ] {
            assert_eq!(moved(&projects, directory).as_deref(), name, "{projects}");
        }
    }

    #[test]
    fn the_last_address_is_found_in_the_kubeconfig() {
        let text = "clusters:\n- cluster:\n    server: https://127.0.0.1:7999\n  name: landform\n";
        assert_eq!(address_in(text), "127.0.0.1:7999".parse().ok());
        assert_eq!(address_in("nothing"), None);
    }
}
