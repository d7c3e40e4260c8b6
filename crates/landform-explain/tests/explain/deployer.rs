//! A deployer that does what its items' configuration says.

use std::time::Duration;

use futures::future::BoxFuture;
use landform_deployers::{DeployError, Deployed, Deployer, Job};

/// The type of its items. Configuration: `export` is exported, `fails` and `unreachable` are errors, `hold: true`
/// never ends.
pub(crate) const TOY: &str = "test.dev/toy";

pub(crate) struct Toy;

impl Deployer for Toy {
    fn kind(&self) -> &str {
        TOY
    }

    fn deploy<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Deployed, DeployError>> {
        Box::pin(async move {
            let config = job.spec.config.clone().unwrap_or_default();
            if let Some(message) = config["fails"].as_str() {
                return Err(DeployError::configuration("Refused", message));
            }
            if config["hold"] == true {
                job.or_cancelled(tokio::time::sleep(Duration::from_secs(3600)))
                    .await?;
            }
            Ok(Deployed {
                exports: config["export"].as_object().cloned(),
                ..Deployed::default()
            })
        })
    }

    fn remove<'a>(&'a self, _: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        Box::pin(async { Ok(()) })
    }
}
