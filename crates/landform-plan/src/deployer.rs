//! A deployer for every type that deploys nothing: it says what it would do, and what would come of it.
//!
//! What an item exports is taken from its configuration where that says it. What an item exported before is
//! assumed to stay. What nobody can know keeps the item in progress, so that everything that waits for it
//! waits in the plan too.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use landform_api::landscaper::ExecutionPhase;
use landform_deployers::foresee::{Foreseen, Foresight, foresee};
use landform_deployers::mock::{self, Mock};
use landform_deployers::{DeployError, Deployed, Deployer, Job};
use serde_json::{Map, Value};

use crate::log::{Done, Log};

/// The key of the Secret under which exports are.
const EXPORTS: &str = "config";

/// Deploys nothing, of any type.
pub struct DryDeployer {
    log: Log,
}

impl DryDeployer {
    /// One that notes what it would do.
    #[must_use]
    pub fn new(log: Log) -> Self {
        Self { log }
    }

    fn note(&self, job: &Job<'_>, what: Done) {
        self.log.note("DeployItem", job.name(), what);
    }

    async fn pretend(&self, job: &Job<'_>) -> Result<Deployed, DeployError> {
        let kind = job.spec.kind.as_str();
        let foreseen = match foresee(kind, job.spec.config.as_ref()) {
            Ok(foreseen) => foreseen,
            Err(error) => {
                self.note(job, Done::Deployed(Vec::new()));
                return Err(error);
            }
        };
        let objects = foreseen.objects.iter().map(|name| job.hide(name));
        self.note(job, Done::Deployed(objects.collect()));
        if kind == mock::KIND {
            return Mock.deploy(job).await;
        }
        let before = exports_before(job).await?;
        match outcome(&foreseen, before, was_deployed(job)) {
            Pretence::Known(exports) => Ok(deployed(exports)),
            Pretence::Assumed(exports, what) => {
                self.note(job, Done::Assumed(what));
                Ok(deployed(exports))
            }
            Pretence::Unknown(why) => {
                self.note(job, Done::Unknown(why));
                job.cancelled().await;
                Err(DeployError::cancelled())
            }
        }
    }
}

impl Deployer for DryDeployer {
    fn kind(&self) -> &'static str {
        "landform.dev/plan"
    }

    fn deploy<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Deployed, DeployError>> {
        Box::pin(self.pretend(job))
    }

    fn remove<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        Box::pin(async move {
            self.note(job, Done::Removed);
            Ok(())
        })
    }
}

/// What would come of a deployment.
#[derive(Debug, PartialEq)]
enum Pretence {
    /// These exports, whatever happens.
    Known(Option<Map<String, Value>>),
    /// These exports, if this holds.
    Assumed(Option<Map<String, Value>>, String),
    /// Nobody knows, because of this.
    Unknown(String),
}

fn outcome(
    foreseen: &Foreseen,
    before: Option<Map<String, Value>>,
    was_deployed: bool,
) -> Pretence {
    let Some(exports) = &foreseen.exports else {
        return match before {
            Some(before) => {
                let what = format!(
                    "it exports what it exported before: {}",
                    names(before.keys())
                );
                Pretence::Assumed(Some(before), what)
            }
            None if was_deployed => {
                Pretence::Assumed(None, "it exports nothing, as before".to_owned())
            }
            None => Pretence::Unknown("what it exports is known when it has run".to_owned()),
        };
    };
    let mut found = Map::new();
    let mut assumed = Vec::new();
    for (name, foresight) in exports {
        match foresight {
            Foresight::Value(value) => {
                found.insert(name.clone(), value.clone());
            }
            Foresight::Later(from) => match before.as_ref().and_then(|before| before.get(name)) {
                Some(value) => {
                    found.insert(name.clone(), value.clone());
                    assumed.push(name);
                }
                None => {
                    return Pretence::Unknown(format!("its export {name} comes from {from}"));
                }
            },
        }
    }
    let found = (!found.is_empty()).then_some(found);
    if assumed.is_empty() {
        return Pretence::Known(found);
    }
    let what = format!("it exports what it exported before: {}", names(assumed));
    Pretence::Assumed(found, what)
}

fn names<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<_> = names
        .into_iter()
        .map(|name| name.as_ref().to_owned())
        .collect();
    names.join(", ")
}

/// The status is that of before the pickup: a new item has none.
fn was_deployed(job: &Job<'_>) -> bool {
    job.status.phase == Some(ExecutionPhase::Succeeded) || job.status.provider_status.is_some()
}

fn deployed(exports: Option<Map<String, Value>>) -> Deployed {
    Deployed {
        exports,
        ..Deployed::default()
    }
}

/// What the item exported when it was last deployed.
async fn exports_before(job: &Job<'_>) -> Result<Option<Map<String, Value>>, DeployError> {
    let Some(reference) = &job.status.export_ref else {
        return Ok(None);
    };
    let (namespace, _) = job.name();
    let api: Api<Secret> = Api::namespaced(job.client()?, namespace);
    let secret = api.get_opt(&reference.name).await.map_err(|error| {
        let message = format!("the Secret {} can't be read: {error}", reference.name);
        DeployError::transient("Plan", "ExportsNotRead", message)
    })?;
    let data: BTreeMap<_, _> = secret.and_then(|secret| secret.data).unwrap_or_default();
    let bytes = data.get(EXPORTS);
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes.0).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    fn foreseen(exports: &[(&str, Foresight)]) -> Foreseen {
        let exports = exports.iter().cloned();
        Foreseen {
            exports: Some(
                exports
                    .map(|(name, what)| (name.to_owned(), what))
                    .collect(),
            ),
            objects: Vec::new(),
        }
    }

    #[test]
    fn what_stands_in_the_configuration_is_known() {
        let port = foreseen(&[("port", Foresight::Value(json!(80)))]);
        let known = Pretence::Known(Some(map(json!({"port": 80}))));
        assert_eq!(outcome(&port, None, false), known);
        assert_eq!(outcome(&foreseen(&[]), None, false), Pretence::Known(None));
    }

    #[test]
    fn what_was_exported_before_is_assumed_and_told() {
        let token = foreseen(&[("token", Foresight::Later("the file t".into()))]);
        let before = map(json!({"token": "canary", "old": 1}));
        let Pretence::Assumed(exports, what) = outcome(&token, Some(before), true) else {
            panic!("not assumed");
        };
        assert_eq!(exports, Some(map(json!({"token": "canary"}))));
        assert_eq!(what, "it exports what it exported before: token");
    }

    #[test]
    fn a_new_export_that_only_a_run_can_tell_is_unknown() {
        let token = foreseen(&[("token", Foresight::Later("the file t".into()))]);
        let why = "its export token comes from the file t".to_owned();
        assert_eq!(outcome(&token, None, false), Pretence::Unknown(why));
        let nothing = Foreseen::default();
        assert!(matches!(
            outcome(&nothing, None, false),
            Pretence::Unknown(_)
        ));
        assert!(matches!(
            outcome(&nothing, None, true),
            Pretence::Assumed(None, _)
        ));
    }
}
