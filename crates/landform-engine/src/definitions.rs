//! Definitions of kinds, and how they get into an API.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::hooks::decide::ANNOTATION_LAST_APPLIED;
use crate::hooks::three_way;
use crate::reconciler::chain;

/// Others may write the definition at the same time, for instance its conditions.
const ATTEMPTS: usize = 5;

/// Why a definition is not in the API.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The manifest in this program can't be read: a bug.
    #[error("the definition {name} can't be read: {error}")]
    Manifest {
        /// The definition's name.
        name: String,
        /// What is wrong with it.
        error: String,
    },
    /// The API refuses it.
    #[error("the definition {name} can't be installed: {error}")]
    Api {
        /// The definition's name.
        name: String,
        /// What the API answers.
        error: String,
    },
}

/// Makes sure that an API, our own or a cluster's, knows a kind. Writes nothing when it does.
///
/// # Errors
/// What the API answers.
pub async fn install(client: &Client, wanted: &Value) -> Result<(), InstallError> {
    let name = wanted["metadata"]["name"].as_str().unwrap_or_default();
    let mut noted = wanted.clone();
    noted["metadata"]["annotations"][ANNOTATION_LAST_APPLIED] = memory_of(wanted);
    let definition: CustomResourceDefinition =
        serde_json::from_value(noted).map_err(|error| InstallError::Manifest {
            name: name.to_owned(),
            error: error.to_string(),
        })?;
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let refused = |error: kube::Error| InstallError::Api {
        name: name.to_owned(),
        error: match error {
            kube::Error::Api(status) => status.message,
            other => chain(&other),
        },
    };
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match attempt(&api, name, wanted, &definition).await {
            Ok(()) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 || status.code == 404 => {
                last = Some(refused(kube::Error::Api(status)));
            }
            Err(error) => return Err(refused(error)),
        }
    }
    last.map_or(Ok(()), Err)
}

/// What is noted on a definition to know it again.
fn memory_of(wanted: &Value) -> Value {
    three_way::shape(&json!([wanted]))
}

async fn attempt(
    api: &Api<CustomResourceDefinition>,
    name: &str,
    wanted: &Value,
    definition: &CustomResourceDefinition,
) -> Result<(), kube::Error> {
    let memory = memory_of(wanted);
    let Some(found) = api.get_opt(name).await? else {
        return api
            .create(&PostParams::default(), definition)
            .await
            .map(drop);
    };
    let live = serde_json::to_value(&found).map_err(kube::Error::SerdeError)?;
    // The server adds defaults to the versions, which are a list. When this very manifest was applied
    // before they don't count; otherwise the list is replaced as a whole.
    let annotations = found.metadata.annotations.unwrap_or_default();
    let applied = annotations.get(ANNOTATION_LAST_APPLIED).map(String::as_str) == memory.as_str();
    let shape = if applied {
        three_way::shape(wanted)
    } else {
        Value::Null
    };
    let mut wanted = wanted.clone();
    wanted["metadata"]["annotations"][ANNOTATION_LAST_APPLIED] = memory;
    let Some(mut patch) = three_way::patch(&shape, &wanted, &live) else {
        return Ok(());
    };
    patch["metadata"]["resourceVersion"] = json!(found.metadata.resource_version);
    let patch = Patch::Merge(patch);
    api.patch(name, &PatchParams::default(), &patch)
        .await
        .map(drop)
}
