//! The definition of the kind `Reconciler`, and how it gets into an API.

use kube::Client;
use serde_json::Value;

use crate::definitions::{self, InstallError};

/// The definition as a manifest, which `kubectl apply -f` takes as well.
pub const DEFINITION: &str = include_str!("definition.yaml");
/// The object's name.
const NAME: &str = "reconcilers.landform.dev";

/// Makes sure that an API, our own or a cluster's, knows the kind `Reconciler`. Writes nothing when it
/// does.
///
/// # Errors
/// What the API answers.
pub async fn install(client: &Client) -> Result<(), InstallError> {
    let wanted = manifest().map_err(|error| InstallError::Manifest {
        name: NAME.into(),
        error,
    })?;
    definitions::install(client, &wanted).await
}

pub(crate) fn manifest() -> Result<Value, String> {
    landform_yaml::parse_one(DEFINITION, &landform_yaml::Budget::FILE)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::spec::{AccountName, Condition, HookSpec, KindName, RefSpec};
    use crate::hooks::spec::{ReconcilerSpec, ReconcilerStatus};
    use serde_json::json;
    use std::collections::{BTreeMap, BTreeSet};
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
                any_namespace: true,
            }],
            owns: vec![kind()],
            hook: HookSpec {
                url: text(),
                command: Some(vec!["x".into()]),
                env: BTreeMap::from([("X".into(), "x".into())]),
                grace: Duration::from_secs(1),
            },
            timeout: Duration::from_secs(1),
            concurrency: 1,
            finalize: true,
            order: crate::Order::Related,
            service_account: Some(AccountName {
                namespace: "x".into(),
                name: "x".into(),
            }),
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
        // Its names are the variables'.
        of_types.remove(".spec.hook.env.X");
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
        let hook = &schema["properties"]["spec"]["properties"]["hook"]["properties"];
        assert_eq!(spec["hook"]["grace"], hook["grace"]["default"]);
    }
}
