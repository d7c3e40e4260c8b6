//! `landscaper.gardener.cloud/mock`: deploys nothing and says what it was told to say.
//!
//! | field | what it does |
//! | --- | --- |
//! | `phase` | the phase that the item ends in: `Succeeded` (default), `Failed`, or one at work: then it stays there |
//! | `initialPhase` | the phase that it has before |
//! | `providerStatus` | what is remembered |
//! | `export` | what is exported |

use std::time::Duration;

use futures::future::BoxFuture;
use landform_api::landscaper::{ErrorCode, ExecutionPhase};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::deployer::{DeployError, Deployed, Deployer, Job};

/// The type of its items.
pub const KIND: &str = "landscaper.gardener.cloud/mock";

/// The mock deployer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mock;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Configuration {
    phase: Option<ExecutionPhase>,
    initial_phase: Option<ExecutionPhase>,
    provider_status: Option<Value>,
    export: Option<Map<String, Value>>,
}

impl Deployer for Mock {
    fn kind(&self) -> &str {
        KIND
    }

    fn deploy<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Deployed, DeployError>> {
        Box::pin(async move {
            let configuration = job.spec.config.clone().unwrap_or(Value::Object(Map::new()));
            let configuration: Configuration =
                serde_json::from_value(configuration).map_err(|error| {
                    // The message of serde may quote what it found.
                    let place = format!("line {} column {}", error.line(), error.column());
                    let message = format!(
                        "the configuration of the mock deployer can't be read ({place}): phase and initialPhase are phases, providerStatus and export are maps"
                    );
                    DeployError::configuration("InvalidConfiguration", message)
                })?;
            if configuration.initial_phase.is_some() && job.status.provider_status.is_none() {
                let note = configuration.provider_status.clone();
                job.remember(&note.unwrap_or(Value::Object(Map::new())))
                    .await?;
            }
            match configuration.phase.unwrap_or(ExecutionPhase::Succeeded) {
                ExecutionPhase::Succeeded => Ok(Deployed {
                    provider_status: configuration.provider_status,
                    exports: configuration.export,
                    ..Deployed::default()
                }),
                ExecutionPhase::Failed => Err(DeployError::with_code(
                    "Mock",
                    "ToldToFail",
                    "the mock deployer was told to fail: its configuration has phase Failed",
                    ErrorCode::ConfigurationProblem,
                )),
                ExecutionPhase::Init | ExecutionPhase::Progressing | ExecutionPhase::Deleting => {
                    job.or_cancelled(tokio::time::sleep(Duration::from_secs(u64::MAX / 2)))
                        .await?;
                    Err(DeployError::cancelled())
                }
            }
        })
    }

    fn remove<'a>(&'a self, _: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        Box::pin(async { Ok(()) })
    }
}
