//! The definition of the kind `Reconciler`, and how it gets into an API.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::decide::ANNOTATION_LAST_APPLIED;
use super::three_way;

/// The definition as a manifest, which `kubectl apply -f` takes as well.
pub const DEFINITION: &str = include_str!("definition.yaml");
/// The object's name.
const NAME: &str = "reconcilers.landform.dev";
/// Others may write the definition at the same time, for instance its conditions.
const ATTEMPTS: usize = 5;

/// Why the definition is not in the API.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The manifest in this program can't be read: a bug.
    #[error("the definition of the kind Reconciler can't be read: {0}")]
    Manifest(String),
    /// The API refuses it.
    #[error("the definition of the kind Reconciler can't be installed")]
    Api(#[source] kube::Error),
}

/// Makes sure that an API, our own or a cluster's, knows the kind `Reconciler`. Writes nothing when it
/// does.
///
/// # Errors
/// What the API answers.
pub async fn install(client: &Client) -> Result<(), InstallError> {
    let wanted = manifest().map_err(InstallError::Manifest)?;
    let definition: CustomResourceDefinition = serde_json::from_value(wanted.clone())
        .map_err(|error| InstallError::Manifest(error.to_string()))?;
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match attempt(&api, &wanted, &definition).await {
            Ok(()) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 || status.code == 404 => {
                last = Some(InstallError::Api(kube::Error::Api(status)));
            }
            Err(error) => return Err(InstallError::Api(error)),
        }
    }
    last.map_or(Ok(()), Err)
}

async fn attempt(
    api: &Api<CustomResourceDefinition>,
    wanted: &Value,
    definition: &CustomResourceDefinition,
) -> Result<(), kube::Error> {
    let Some(found) = api.get_opt(NAME).await? else {
        return api
            .create(&PostParams::default(), definition)
            .await
            .map(drop);
    };
    let live = serde_json::to_value(&found).map_err(kube::Error::SerdeError)?;
    // The server adds defaults to the versions, which are a list. When this very manifest was applied
    // before they don't count; otherwise the list is replaced as a whole.
    let memory = three_way::shape(&json!([wanted]));
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
    api.patch(NAME, &PatchParams::default(), &patch)
        .await
        .map(drop)
}

pub(crate) fn manifest() -> Result<Value, String> {
    landform_yaml::parse_one(DEFINITION, &landform_yaml::Limits::default())
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::spec::{Condition, HookSpec, KindName, RefSpec};
    use crate::hooks::spec::{ReconcilerSpec, ReconcilerStatus};
    use std::collections::BTreeSet;
    use std::time::Duration;

    fn kind() -> KindName {
        KindName {
            group: "g".into(),
            version: "v".into(),
            kind: "k".into(),
        }
    }

    /// The paths of all fields of a value; items of lists all have the same ones.
    fn fields(value: &Value, at: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    found.insert(format!("{at}.{name}"));
                    fields(value, &format!("{at}.{name}"), found);
                }
            }
            Value::Array(list) => list.iter().for_each(|value| fields(value, at, found)),
            _ => {}
        }
    }

    /// The paths of all fields of a schema.
    fn properties(schema: &Value, at: &str, found: &mut BTreeSet<String>) {
        let schema = schema.get("items").unwrap_or(schema);
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            found.insert(format!("{at}.{name}"));
            properties(schema, &format!("{at}.{name}"), found);
        }
    }

    #[test]
    fn r14_the_schema_and_the_types_have_the_same_fields() {
        let text = || Some("x".to_owned());
        let spec = ReconcilerSpec {
            of: kind(),
            refs: vec![RefSpec {
                path: ".a".into(),
                kind: text(),
                group: text(),
                version: text(),
            }],
            owns: vec![kind()],
            hook: HookSpec {
                url: text(),
                command: Some(vec!["x".into()]),
            },
            timeout: Duration::from_secs(1),
            concurrency: 1,
            finalize: true,
        };
        let status = ReconcilerStatus {
            observed_generation: Some(1),
            last_error: text(),
            conditions: vec![Condition {
                kind: "Ready".into(),
                status: "True".into(),
                reason: "x".into(),
                message: "x".into(),
                last_transition_time: "x".into(),
                observed_generation: Some(1),
            }],
        };
        let mut of_types = BTreeSet::new();
        fields(&json!({"spec": spec, "status": status}), "", &mut of_types);
        let manifest = manifest().unwrap();
        let schema = &manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let mut of_schema = BTreeSet::new();
        properties(schema, "", &mut of_schema);
        assert_eq!(of_types, of_schema);
    }

    #[test]
    fn the_schema_and_the_types_have_the_same_defaults() {
        let manifest = manifest().unwrap();
        let schema = &manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let spec: ReconcilerSpec = serde_json::from_value(json!({
            "for": {"version": "v1", "kind": "A"}, "hook": {"command": ["true"]},
        }))
        .unwrap();
        let spec = serde_json::to_value(spec).unwrap();
        for field in ["timeout", "concurrency", "finalize"] {
            let default = &schema["properties"]["spec"]["properties"][field]["default"];
            assert_eq!(spec[field], *default, "{field}");
        }
    }
}
