//! `landform approve` and `landform rollback`: what a person decides about one app type.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use kube::api::{Api, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::wait::await_condition;
use landform_api::catalog::{self, AppType, AppTypePhase, keys};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::client::{ClientArgs, block_on};
use crate::output::harmless::one_line;
use crate::revisions::rollback;
use crate::{AnyError, client, exit, held_deletions, say};

const ROLLBACK_EXAMPLES: &str = "Examples:
  landform rollback installation/db --list    the specs with which it succeeded, the last ten
  landform rollback installation/db           back to the one before
  landform rollback installation/db --to 3    back to another one
  landform rollback apptype/notes             an app type to the version that ran before

Of an installation comes back what its spec says: the blueprint, or where it is, and where imports come from. Values of
imports, and files of a blueprint in a directory, are not in it.";

/// Which app type, and how to reach it.
#[derive(Args)]
pub(crate) struct Which {
    /// The app type: NAME or apptype/NAME. (`approve` also takes project/NAME, for deletions that it holds back;
    /// `rollback` also installation/NAME.)
    app_type: String,
    /// Whether to wait until it has come to an end.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    wait: bool,
    /// Waiting ends after so many seconds; what was begun goes on.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    #[command(flatten)]
    server: ClientArgs,
}

/// Arguments of `landform approve`.
#[derive(Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    which: Which,
    /// Upgrades up to this version may happen [default: the best one that is offered].
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
}

/// Arguments of `landform rollback`.
#[derive(Args)]
#[command(after_help = ROLLBACK_EXAMPLES)]
pub(crate) struct RollbackArgs {
    #[command(flatten)]
    which: Which,
    /// The version to go back to [default: gives up an upgrade that goes on or has failed, else the version
    /// that ran before]; of an installation the number of a revision [default: the one before].
    #[arg(long, value_name = "VERSION|REVISION")]
    to: Option<String>,
    /// Of an installation: shows its revisions, and does nothing.
    #[arg(long)]
    list: bool,
    /// Of an installation: also when a project's files say something else, or its blueprint's files have changed.
    #[arg(long)]
    force: bool,
}

pub(crate) fn approve(args: ApproveArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        if let Some(project) = held_deletions::project_in(&args.which.app_type) {
            return held_deletions::approve(&args.which.server, project).await;
        }
        let place = Place::of(&args.which).await?;
        let app_type = place.read().await?;
        let next = app_type.status.next.first();
        let offered = next.map(|next| next.version.clone());
        let Some(version) = args.to.or(offered) else {
            let blocked = told_blockers(&app_type);
            return Err(format!(
                "nothing is offered to {}: {}{blocked}",
                place.name, app_type.status.message
            )
            .into());
        };
        let found = place.patch(json!({"spec": {"approved": version}})).await?;
        let text = format!("{} may go up to {version}.", place.name);
        say(&format!("{}\n", one_line(&text)))?;
        let others = app_type.status.blocked_by.iter();
        for other in
            others.filter(|other| !matches!(other.reason.as_str(), "NotApproved" | "RolledBack"))
        {
            let text = format!(
                "Still in the way: {} ({}). To unblock it: {}",
                other.message, other.rule, other.unblock
            );
            say(&format!("{}\n", one_line(&text)))?;
        }
        place.end(&args.which, found).await
    })
}

pub(crate) fn rollback(args: RollbackArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        let which = &args.which;
        if rollback::is_installation(&which.app_type) {
            let asked = rollback::Asked {
                word: &which.app_type,
                to: args.to.as_deref(),
                force: args.force,
                list: args.list,
                wait: which.wait.then(|| Duration::from_secs(which.timeout)),
            };
            return rollback::rollback(&which.server, asked).await;
        }
        if args.list || args.force {
            return exit::misused("--list and --force are for installations: installation/NAME");
        }
        let place = Place::of(&args.which).await?;
        place.read().await?;
        let to = args.to.as_deref().unwrap_or("previous");
        let change = json!({"metadata": {"annotations": {keys::ROLLBACK: to}}});
        let found = place.patch(change).await?;
        println!(
            "{} was asked to go back to {}.",
            place.name,
            args.to.as_deref().unwrap_or("the version before")
        );
        place.end(&args.which, found).await
    })
}

/// An app type in its API.
struct Place {
    name: String,
    api: Api<DynamicObject>,
}

impl Place {
    async fn of(which: &Which) -> Result<Self, AnyError> {
        let client = which.server.connect().await?;
        let name = match which.app_type.split_once('/') {
            None => which.app_type.clone(),
            Some((kind, name))
                if ["apptype", "apptypes", "app"].contains(&kind.to_lowercase().as_str()) =>
            {
                name.to_owned()
            }
            Some((kind, _)) => {
                return Err(format!("{kind:?} is another kind: this works on an app type").into());
            }
        };
        let kind = GroupVersionKind::gvk(catalog::GROUP, catalog::VERSION, "AppType");
        let resource = ApiResource::from_gvk_with_plural(&kind, "apptypes");
        let api = Api::default_namespaced_with(client, &resource);
        Ok(Self { name, api })
    }

    async fn read(&self) -> Result<AppType, AnyError> {
        let found = self.api.get_opt(&self.name).await.map_err(client::plain)?;
        let found =
            found.ok_or_else(|| format!("there is no app type {} in this namespace", self.name))?;
        Ok(AppType::deserialize(&found.data)?)
    }

    /// Writes, and says which state that led to.
    async fn patch(&self, change: Value) -> Result<DynamicObject, AnyError> {
        let patch = Patch::Merge(change);
        let written = self
            .api
            .patch(&self.name, &PatchParams::default(), &patch)
            .await;
        written.map_err(client::plain)
    }

    /// Waits until the app type has taken up the change and come to an end.
    async fn end(&self, which: &Which, changed: DynamicObject) -> Result<ExitCode, AnyError> {
        if !which.wait {
            return Ok(ExitCode::SUCCESS);
        }
        let generation = changed.metadata.generation;
        let settled = move |found: Option<&DynamicObject>| {
            found.is_none_or(|found| is_settled(found, generation))
        };
        let waiting = await_condition(self.api.clone(), &self.name, settled);
        let patience = Duration::from_secs(which.timeout);
        let found = tokio::time::timeout(patience, waiting).await;
        let Ok(found) = found else {
            let status = self.read().await?.status;
            let message = format!(
                "it has not come to an end after {} s: {}",
                which.timeout, status.message
            );
            return Err(message.into());
        };
        let Some(found) = found? else {
            return Err("it was deleted meanwhile".into());
        };
        let app_type = AppType::deserialize(&found.data)?;
        let message = one_line(&app_type.status.message).into_owned();
        say(&format!("{message}{}\n", told_blockers(&app_type)))?;
        Ok(if app_type.status.phase == Some(AppTypePhase::Succeeded) {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

/// Whether an app type has taken up its latest change and nothing is under way.
fn is_settled(found: &DynamicObject, generation: Option<i64>) -> bool {
    let asked = found.metadata.annotations.as_ref();
    let asked = asked.is_some_and(|annotations| annotations.contains_key(keys::ROLLBACK));
    let status = AppType::deserialize(&found.data).unwrap_or_default().status;
    let ended = matches!(
        status.phase,
        Some(AppTypePhase::Succeeded | AppTypePhase::Failed | AppTypePhase::Pending)
    );
    let waits = status.upgrading_to.is_some() && status.phase != Some(AppTypePhase::Failed);
    !asked && ended && !waits && status.observed_generation >= generation
}

fn told_blockers(app_type: &AppType) -> String {
    let blocked = app_type.status.blocked_by.iter();
    blocked
        .map(|blocked| {
            let text = format!(
                "Blocked ({}): {}. To unblock it: {}",
                blocked.rule, blocked.message, blocked.unblock
            );
            format!("\n{}", one_line(&text))
        })
        .collect()
}
