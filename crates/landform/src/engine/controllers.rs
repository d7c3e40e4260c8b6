//! Everything that reconciles in this process: hooks, installations, executions, deploy items, operators.

use std::path::{Path, PathBuf};

use clap::Args;
use kube::Client;
use landform_api::{catalog, landscaper, project};
use landform_controllers::landscape::{self, Blueprints};
use landform_deployers::DeployItems;
use landform_deployers::command::CommandDeployer;
use landform_deployers::manifest::ManifestDeployer;
use landform_deployers::mock::Mock;
use landform_deployers::process::{ApiAddress, ProcessDeployer};
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
    #[arg(long)]
    without_deployers: bool,
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
        }
    }
}

/// Makes sure that the API knows all kinds of Landform.
pub(crate) async fn install_kinds(client: &Client) -> Result<(), AnyError> {
    hooks::install(client).await?;
    let definitions = landscaper::definition::definitions().into_iter();
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
    let mut items = DeployItems::new();
    if !args.without_deployers {
        items = items
            .with(Mock)
            .with(ManifestDeployer::new())
            .with(ProcessDeployer::new(data_dir).with_api(api))
            .with(CommandDeployer::new(data_dir));
    }
    let wake = items.wake();
    let projects = Projects::new(args.projects);
    let builder = builder
        .metrics(registry)
        .hooks_recorded_in(data_dir.join("hooks"))
        .reconciler(installations)
        .reconciler(executions)
        .reconciler(items)
        .reconciler(projects.reconciler());
    let operators = Operators::default();
    let engine = operators.register(builder, args.catalogs).start()?;
    operators.connect(&engine);
    wake.connect(&engine);
    projects.connect(&engine);
    Ok((engine, operators))
}
