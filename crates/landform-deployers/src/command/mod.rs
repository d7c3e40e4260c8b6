//! `landform.dev/command`: runs a command to completion, as Landscaper's container deployer runs a container.
//!
//! The same command is run to deploy (`OPERATION=RECONCILE`) and to remove (`OPERATION=DELETE`), the latter from
//! what was noted when it was last started. `docs/deployers/command.md` has the configuration.

mod config;
mod output;
mod record;
mod run;
#[cfg(test)]
mod tests;
mod workspace;

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::BoxFuture;
use landform_api::landscaper::keys::DELETE_WITHOUT_UNINSTALL;
use landform_api::landscaper::report::ErrorCode;
use serde_json::{Map, Value, json};

use crate::foresee::Foreseen;
use crate::local::{is_inside, may_run, other_user};
use crate::secrets::Secrets;
use crate::{DeployError, Deployed, Deployer, Job, ResolvedTarget};
use config::Configuration;
use record::Record;
use run::{Ended, Program, RunError, run};
use workspace::Workspace;

/// The exit status of a command that wants to be run again (EX_TEMPFAIL of sysexits.h).
const TRY_AGAIN: i32 = 75;

/// Runs commands.
pub struct CommandDeployer {
    directory: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Reconcile,
    Delete,
}

impl Operation {
    fn word(self) -> &'static str {
        match self {
            Self::Reconcile => "RECONCILE",
            Self::Delete => "DELETE",
        }
    }
}

/// How long a run may take, and what ends it before.
struct Bounds<C> {
    left: Duration,
    cancelled: C,
}

impl<C> Bounds<C> {
    /// A little less than there is, so that the command is seen to end in time.
    fn limit(&self, configured: Option<Duration>) -> Duration {
        let margin = (self.left / 10).min(Duration::from_secs(2));
        let left = self.left.saturating_sub(margin);
        configured.map_or(left, |configured| configured.min(left))
    }
}

/// Checks a configuration for a plan. What a command exports is known when it has run, not before.
///
/// # Errors
/// Which field of the configuration is wrong.
pub(crate) fn foresee(config: Option<&Value>) -> Result<Foreseen, DeployError> {
    Configuration::read(config, None).map(|_| Foreseen::default())
}

impl CommandDeployer {
    /// The type of its deploy items.
    pub const KIND: &str = "landform.dev/command";

    /// Keeps what belongs to commands in `commands` of Landform's data directory.
    #[must_use]
    pub fn new(data_directory: impl AsRef<Path>) -> Self {
        let directory = data_directory.as_ref().join("commands");
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        Self { directory }
    }

    fn workspace(&self, uid: &str) -> Result<Workspace, DeployError> {
        if is_inside(uid) && !uid.contains('/') {
            return Ok(Workspace::new(self.directory.join(uid), uid));
        }
        Err(DeployError::transient(
            "Run",
            "NoUid",
            "the item has no uid",
        ))
    }

    /// Runs the command and reads what it exports; also gives the hash of what it was made of.
    async fn reconcile(
        &self,
        uid: &str,
        configuration: &Configuration,
        record: &Record,
        bounds: Bounds<impl Future<Output = ()>>,
    ) -> Result<(Option<Map<String, Value>>, String), DeployError> {
        let workspace = self.workspace(uid)?;
        workspace.make().map_err(not_written)?;
        workspace.intend(record).map_err(not_written)?;
        let started = || workspace.started();
        match execute(
            &workspace,
            configuration,
            Operation::Reconcile,
            bounds,
            started,
        )
        .await
        {
            Ok(()) => Ok((
                workspace.exports()?,
                workspace.hash(configuration).map_err(not_written)?,
            )),
            Err(Problem::NotStarted(error)) => {
                workspace.forget_intent();
                Err(not_started(&error))
            }
            Err(Problem::Other(error)) => Err(error),
        }
    }

    /// Runs the command that was started last, the first of these, to take away what it has made.
    async fn delete(
        &self,
        uid: &str,
        recorded: Vec<Configuration>,
        target: Option<&ResolvedTarget>,
        bounds: Bounds<impl Future<Output = ()> + Clone>,
    ) -> Result<(), DeployError> {
        let workspace = self.workspace(uid)?;
        let mut problem = None;
        for configuration in recorded {
            let configuration = configuration.with_target(target);
            let bounds = Bounds {
                left: bounds.left,
                cancelled: bounds.cancelled.clone(),
            };
            match execute(
                &workspace,
                &configuration,
                Operation::Delete,
                bounds,
                || Ok(()),
            )
            .await
            {
                Ok(()) => {
                    problem = None;
                    break;
                }
                // One that can't be started never was; the one before it was.
                Err(Problem::NotStarted(error)) => problem = Some(not_started(&error)),
                Err(Problem::Other(error)) => return Err(transient(error)),
            }
        }
        match problem {
            Some(error) => Err(transient(error)),
            None => workspace.remove().map_err(not_written),
        }
    }
}

enum Problem {
    NotStarted(io::Error),
    Other(DeployError),
}

impl From<DeployError> for Problem {
    fn from(error: DeployError) -> Self {
        Self::Other(error)
    }
}

/// Runs a command once, after whatever is left of a run before it has been killed.
async fn execute(
    workspace: &Workspace,
    configuration: &Configuration,
    operation: Operation,
    bounds: Bounds<impl Future<Output = ()>>,
    started: impl FnOnce() -> io::Result<()>,
) -> Result<(), Problem> {
    workspace.clear().await?;
    let user = other_user(configuration.user.as_deref())?;
    let environment = workspace
        .prepare(configuration, operation.word(), user.as_ref())
        .map_err(not_written)?;
    let program = Program {
        user,
        uid: &workspace.uid,
        words: &configuration.command,
        environment,
        directory: &workspace.content(),
        item_directory: &workspace.directory,
        secrets: Secrets::new(configuration.secrets()),
    };
    let limit = bounds.limit(configuration.timeout);
    let ended = match run(program, limit, started, bounds.cancelled).await {
        Ok(ended) => ended,
        Err(RunError::Start(error)) => return Err(Problem::NotStarted(error)),
        Err(RunError::Record(error)) => return Err(not_written(error).into()),
        Err(RunError::Kill(error)) => return Err(error.into()),
    };
    if let Ended::Itself(_, output) | Ended::TooLate(output) = &ended {
        workspace.keep_output(output);
    }
    let with_output = |how: String, output: String| {
        let colon = if output.is_empty() { "" } else { ": " };
        format!("the command {how}{colon}{output}")
    };
    match ended {
        Ended::Itself(status, _) if status.success() => Ok(()),
        Ended::Itself(status, output) => {
            let message = with_output(format!("ended with {status}"), output);
            let error = if status.code() == Some(TRY_AGAIN) {
                DeployError::transient("Run", "CommandFailed", message)
            } else {
                let code = ErrorCode::ConfigurationProblem;
                DeployError::with_code("Run", "CommandFailed", message, code)
            };
            Err(error.into())
        }
        Ended::TooLate(output) => {
            // What is left of the item's own timeout is another number each time.
            let how = if configuration.timeout == Some(limit) {
                format!("did not end within {:.1} s", limit.as_secs_f32())
            } else {
                "did not end within the timeout of its deploy item".to_owned()
            };
            let message = with_output(how, output);
            let error = DeployError::with_code("Run", "TooLate", message, ErrorCode::Timeout);
            Err(error.into())
        }
        Ended::Cancelled => Err(DeployError::cancelled().into()),
    }
}

/// A removal is tried again, whatever went wrong.
fn transient(error: DeployError) -> DeployError {
    DeployError {
        codes: Vec::new(),
        ..error
    }
}

/// Says how the item can go without the right to run its command once more.
fn with_way_out(job: &Job<'_>, error: DeployError) -> DeployError {
    let (namespace, name) = job.name();
    let message = format!(
        "{}; or let the item go without running its command: kubectl annotate deployitem {name} -n {namespace} \
         {DELETE_WITHOUT_UNINSTALL}=true",
        error.message
    );
    DeployError { message, ..error }
}

fn not_started(error: &io::Error) -> DeployError {
    DeployError::configuration("NotStarted", format!("config.command[0]: {error}"))
}

fn not_written(error: io::Error) -> DeployError {
    let message = format!("the item's directory can't be written: {error}");
    DeployError::transient("Record", "NotWritten", message)
}

fn bounds(job: &Job<'_>) -> Bounds<futures::future::Shared<BoxFuture<'static, ()>>> {
    use futures::FutureExt as _;
    Bounds {
        left: Duration::from_millis(job.deadline_ms.saturating_sub(job.now_ms())),
        cancelled: job.cancelled().boxed().shared(),
    }
}

impl Deployer for CommandDeployer {
    fn kind(&self) -> &str {
        Self::KIND
    }

    fn deploy<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Deployed, DeployError>> {
        Box::pin(async move {
            let configuration = Configuration::read(job.spec.config.as_ref(), job.target)?;
            may_run(job, configuration.user.as_deref()).await?;
            let workspace = self.workspace(job.uid())?;
            workspace.make().map_err(not_written)?;
            let record = record::record(job, &workspace, &configuration).await?;
            let (exports, hash) = self
                .reconcile(job.uid(), &configuration, &record, bounds(job))
                .await?;
            Ok(Deployed {
                provider_status: Some(json!({"configHash": hash})),
                exports,
                ..Deployed::default()
            })
        })
    }

    fn remove<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        Box::pin(async move {
            let workspace = self.workspace(job.uid())?;
            let mut recorded = Vec::new();
            for record in workspace.recorded()? {
                let opened = record::open(job, &workspace, record).await;
                recorded.push(opened.map_err(|error| with_way_out(job, error))?);
            }
            // Noted in a run that was allowed; a right that was taken away since is gone (C6).
            for configuration in &recorded {
                let may = may_run(job, configuration.user.as_deref()).await;
                may.map_err(|denied| transient(with_way_out(job, denied)))?;
            }
            self.delete(job.uid(), recorded, job.target, bounds(job))
                .await
        })
    }

    fn forget<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        Box::pin(async move { self.workspace(job.uid())?.remove().map_err(not_written) })
    }

    fn stop<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        // What a run of a Landform before this one has left.
        Box::pin(async move { self.workspace(job.uid())?.clear().await })
    }
}
