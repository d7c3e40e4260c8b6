//! Everything that reconciles in this process: hooks, installations, executions, deploy items, operators.

use std::path::{Path, PathBuf};

use clap::Args;
use kube::Client;
use landform_api::{catalog, landscaper, project};
use landform_controllers::landscape::{self, Blueprints};
use landform_deployers::command::CommandDeployer;
use landform_deployers::manifest::ManifestDeployer;
use landform_deployers::mock::Mock;
use landform_deployers::process::{ApiAddress, ProcessDeployer};
use landform_deployers::{DeployItems, Deployer, Limited, TargetSyncs};
use landform_engine::{Builder, Engine, definitions, hooks};
use landform_operators::Operators;
use landform_project::Projects;

use crate::AnyError;

/// What controllers and deployers are told.
#[derive(Args, Clone)]
pub(crate) struct ControllerArgs {
    /// The directory below which `spec.blueprint.path` of an installation is; without it no path is allowed.
    #[arg(long, value_name = "DIR")]
    blueprints: Option<PathBuf>,
    /// The directory below which `spec.directory.path` of a catalog is; without it no path is allowed.
    #[arg(long, value_name = "DIR")]
    catalogs: Option<PathBuf>,
    /// The directory below which `spec.directory` of a project is; without it no directory is allowed.
    #[arg(long, value_name = "DIR")]
    projects: Option<PathBuf>,
    /// Deploy nothing in this process: deploy items are left to deployers elsewhere.
    #[arg(long, conflicts_with = "deployer")]
    without_deployers: bool,
    /// Deploy only items of this type, and only in these namespaces if some are named; may be given several times. Types
    /// are manifest, process, command and mock [default: all types in all namespaces].
    #[arg(long, value_name = "TYPE[=NAMESPACE,…]")]
    deployer: Vec<Serves>,
}

/// A type of deploy items that is served, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Serves {
    kind: DeployerKind,
    /// None: everywhere.
    namespaces: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeployerKind {
    Mock,
    Manifest,
    Process,
    Command,
}

impl std::str::FromStr for Serves {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, namespaces) = match text.split_once('=') {
            Some((kind, namespaces)) => (kind, Some(namespaces)),
            None => (text, None),
        };
        let kind = match kind {
            "mock" => DeployerKind::Mock,
            "manifest" => DeployerKind::Manifest,
            "process" => DeployerKind::Process,
            "command" => DeployerKind::Command,
            other => {
                return Err(format!(
                    "there is no deployer {other:?}; there are manifest, process, command and mock"
                ));
            }
        };
        let namespaces = namespaces.map(|names| -> Result<Vec<String>, String> {
            let names = names.split(',').map(|name| match name.trim() {
                "" => Err(format!("{text}: a namespace is empty")),
                name if is_namespace(name) => Ok(name.to_owned()),
                name => Err(format!(
                    "{name:?} can't be the name of a namespace: small letters, digits and - only, 63 at most"
                )),
            });
            names.collect()
        });
        Ok(Self {
            kind,
            namespaces: namespaces.transpose()?,
        })
    }
}

/// Whether a namespace can be called so.
fn is_namespace(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 63 && name.bytes().all(fits) && !name.starts_with('-') && !name.ends_with('-')
}

/// Adds a deployer as far as it is to serve.
fn serving(
    items: DeployItems,
    serves: &[Serves],
    kind: DeployerKind,
    deployer: impl Deployer,
) -> DeployItems {
    if serves.is_empty() {
        return items.with(deployer);
    }
    let mut named = serves
        .iter()
        .filter(|serves| serves.kind == kind)
        .peekable();
    if named.peek().is_none() {
        return items;
    }
    let namespaces: Option<Vec<_>> = named.map(|serves| serves.namespaces.clone()).collect();
    match namespaces {
        None => items.with(deployer),
        Some(namespaces) => items.with(Limited::new(deployer, namespaces.into_iter().flatten())),
    }
}

impl ControllerArgs {
    /// What the reconcilers of a plan may read.
    pub(crate) fn for_plans(&self) -> landform_plan::Settings {
        landform_plan::Settings {
            blueprints: self.blueprints.clone(),
            catalogs: self.catalogs.clone(),
            patience: None,
        }
    }

    /// For a project in a directory: all that its files name by path is in it too.
    pub(crate) fn for_project(directory: Option<PathBuf>) -> Self {
        Self {
            blueprints: directory.clone(),
            catalogs: directory.clone(),
            projects: directory,
            without_deployers: false,
            deployer: Vec::new(),
        }
    }
}

/// Makes sure that the API knows all kinds of Landform.
pub(crate) async fn install_kinds(client: &Client) -> Result<(), AnyError> {
    hooks::install(client).await?;
    let definitions = landscaper::definition::definitions().into_iter();
    let definitions = definitions.chain(landscaper::definition::further_definitions());
    let definitions = definitions.chain(catalog::definition::definitions());
    for definition in definitions.chain(project::definition::definitions()) {
        definitions::install(client, &definition).await?;
    }
    Ok(())
}

/// Starts the engine with all reconcilers. Deployers keep what belongs to them in the data directory; processes
/// with access of their own reach the API by its address.
pub(crate) fn start(
    builder: Builder,
    registry: prometheus::Registry,
    data_dir: &Path,
    api: ApiAddress,
    args: ControllerArgs,
) -> Result<(Engine, Operators), AnyError> {
    let (installations, executions) = landscape::reconcilers(Blueprints::new(args.blueprints));
    let outdated = installations.outdated();
    let mut items = DeployItems::new();
    if !args.without_deployers {
        let serves = &args.deployer;
        let process = ProcessDeployer::new(data_dir)
            .with_api(api)
            .with_launcher("/proc/self/exe");
        let command = CommandDeployer::new(data_dir);
        items = serving(items, serves, DeployerKind::Mock, Mock);
        items = serving(
            items,
            serves,
            DeployerKind::Manifest,
            ManifestDeployer::new(),
        );
        items = serving(items, serves, DeployerKind::Process, process);
        items = serving(items, serves, DeployerKind::Command, command);
    }
    let wake = items.wake();
    let projects = Projects::new(args.projects);
    let builder = builder
        .metrics(registry)
        .hooks_recorded_in(data_dir.join("hooks"))
        .reconciler(installations)
        .reconciler(executions)
        .reconciler(items)
        .reconciler(TargetSyncs::default())
        .reconciler(projects.reconciler());
    let operators = Operators::default();
    let engine = operators.register(builder, args.catalogs).start()?;
    operators.connect(&engine);
    wake.connect(&engine);
    projects.when_blueprints_change(move |engine| {
        outdated.ask(engine);
    });
    projects.connect(&engine);
    Ok((engine, operators))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_deployers_are_named_with_their_namespaces() {
        let read = |text: &str| text.parse::<Serves>();
        assert_eq!(
            read("manifest"),
            Ok(Serves {
                kind: DeployerKind::Manifest,
                namespaces: None
            })
        );
        assert_eq!(
            read("process=a, b").map(|serves| serves.namespaces),
            Ok(Some(vec!["a".to_owned(), "b".to_owned()]))
        );
        for wrong in [
            "helm",
            "",
            "process=",
            "process=a,,b",
            "=a",
            "process=Bad_NS",
            "mock=-a",
            "mock=a/b",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
