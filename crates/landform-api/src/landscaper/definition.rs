//! The CustomResourceDefinitions of these kinds, generated from the Rust types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{GROUP, VERSION, data, deploy_item, execution, installation};

/// What of a definition doesn't follow from the types.
struct Names {
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    columns: Vec<Value>,
    with_status: bool,
}

/// The definitions of all six kinds.
#[must_use]
pub fn definitions() -> Vec<Value> {
    let with_phase = |more: &[(&str, &str)]| {
        let mut columns = vec![column("Phase", "string", ".status.phase")];
        columns.extend(more.iter().map(|(name, path)| column(name, "string", path)));
        columns.push(column("Age", "date", ".metadata.creationTimestamp"));
        columns
    };
    let age = || column("Age", "date", ".metadata.creationTimestamp");
    vec![
        definition::<installation::Installation>(&Names {
            kind: "Installation",
            plural: "installations",
            short: &["inst"],
            columns: with_phase(&[("Execution", ".status.executionRef.name")]),
            with_status: true,
        }),
        definition::<execution::Execution>(&Names {
            kind: "Execution",
            plural: "executions",
            short: &["exec"],
            columns: with_phase(&[("ExportRef", ".status.exportRef.name")]),
            with_status: true,
        }),
        definition::<deploy_item::DeployItem>(&Names {
            kind: "DeployItem",
            plural: "deployitems",
            short: &["di"],
            columns: {
                let mut columns = vec![column("Type", "string", ".spec.type")];
                columns.extend(with_phase(&[("ExportRef", ".status.exportRef.name")]));
                columns
            },
            with_status: true,
        }),
        definition::<data::DataObject>(&Names {
            kind: "DataObject",
            plural: "dataobjects",
            short: &["do", "dobj"],
            columns: vec![
                column(
                    "Context",
                    "string",
                    r".metadata.labels.data\.landscaper\.gardener\.cloud/context",
                ),
                column(
                    "Key",
                    "string",
                    r".metadata.labels.data\.landscaper\.gardener\.cloud/key",
                ),
                age(),
            ],
            with_status: false,
        }),
        definition::<data::Target>(&Names {
            kind: "Target",
            plural: "targets",
            short: &["tgt", "tg"],
            columns: vec![
                column("Type", "string", ".spec.type"),
                column(
                    "Context",
                    "string",
                    r".metadata.labels.data\.landscaper\.gardener\.cloud/context",
                ),
                column(
                    "Key",
                    "string",
                    r".metadata.labels.data\.landscaper\.gardener\.cloud/key",
                ),
                age(),
            ],
            with_status: false,
        }),
        definition::<data::Context>(&Names {
            kind: "Context",
            plural: "contexts",
            short: &["ctx"],
            columns: vec![age()],
            with_status: false,
        }),
    ]
}

fn column(name: &str, kind: &str, path: &str) -> Value {
    json!({"name": name, "type": kind, "jsonPath": path})
}

fn definition<T: JsonSchema>(names: &Names) -> Value {
    let singular = names.kind.to_lowercase();
    let mut version = json!({
        "name": VERSION,
        "served": true,
        "storage": true,
        "additionalPrinterColumns": names.columns,
        "schema": {"openAPIV3Schema": schema::<T>()},
    });
    if names.with_status {
        version["subresources"] = json!({"status": {}});
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{GROUP}", names.plural)},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": names.kind, "listKind": format!("{}List", names.kind),
                "plural": names.plural, "singular": singular, "shortNames": names.short,
            },
            "versions": [version],
        },
    })
}

/// The structural schema of a type, as Kubernetes wants it.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = structural(&schema.to_value());
    if let Value::Object(fields) = &mut schema {
        fields.remove("default");
    }
    schema
}

/// The part of a JSON schema that a structural one has, in its words.
fn structural(schema: &Value) -> Value {
    let Value::Object(fields) = schema else {
        return json!({"x-kubernetes-preserve-unknown-fields": true});
    };
    if let Some(words) = words(fields) {
        return described(fields, json!({"type": "string", "enum": words}));
    }
    // An optional value of another type: absent, or that type.
    for combination in ["anyOf", "allOf", "oneOf"] {
        let parts = fields.get(combination).and_then(Value::as_array);
        let mut parts = parts.into_iter().flatten().filter(|part| !is_null(part));
        if let (Some(part), None) = (parts.next(), parts.next()) {
            return described(fields, structural(part));
        }
    }
    let mut result = Map::new();
    match kind_of(fields) {
        None => {
            result.insert("x-kubernetes-preserve-unknown-fields".into(), json!(true));
        }
        Some(kind) => {
            result.insert("type".into(), json!(kind));
        }
    }
    if let Some(Value::Object(properties)) = fields.get("properties") {
        let properties = properties.iter();
        let properties: Map<_, _> = properties
            .map(|(name, schema)| (name.clone(), structural(schema)))
            .collect();
        result.insert("properties".into(), Value::Object(properties));
    }
    if let Some(items) = fields.get("items") {
        result.insert("items".into(), structural(items));
    }
    if let Some(more @ (Value::Object(_) | Value::Bool(true))) = fields.get("additionalProperties")
    {
        result.insert("additionalProperties".into(), structural(more));
    }
    if let Some(required) = fields.get("required") {
        result.insert("required".into(), required.clone());
    }
    if let Some(format @ ("int32" | "int64")) = fields.get("format").and_then(Value::as_str) {
        result.insert("format".into(), json!(format));
    }
    described(fields, Value::Object(result))
}

fn described(fields: &Map<String, Value>, mut schema: Value) -> Value {
    if let Some(text) = fields.get("description") {
        schema["description"] = text.clone();
    }
    schema
}

fn kind_of(fields: &Map<String, Value>) -> Option<&str> {
    match fields.get("type")? {
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null")
        }
        kind => kind.as_str(),
    }
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null" || schema["enum"] == json!([null])
}

/// The words of an enumeration, if the schema is one.
fn words(fields: &Map<String, Value>) -> Option<Vec<&Value>> {
    if let Some(words) = fields.get("enum").and_then(Value::as_array) {
        return Some(words.iter().filter(|word| !word.is_null()).collect());
    }
    let variants = fields.get("oneOf").and_then(Value::as_array)?;
    let word = |variant: &'_ Value| -> Option<usize> {
        variant.get("const").or(variant.get("enum")).map(|_| 0)
    };
    if variants.iter().any(|variant| word(variant).is_none()) {
        return None;
    }
    let words = variants.iter().flat_map(|variant| {
        let one = variant.get("const").into_iter();
        let several = variant
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        one.chain(several)
    });
    Some(words.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_definition_with_its_short_names() {
        let definitions = definitions();
        let names: Vec<_> = definitions
            .iter()
            .map(|definition| {
                let names = &definition["spec"]["names"];
                let short: Vec<_> = names["shortNames"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|name| name.as_str().unwrap())
                    .collect();
                format!("{} {}", names["kind"].as_str().unwrap(), short.join(","))
            })
            .collect();
        assert_eq!(
            names,
            [
                "Installation inst",
                "Execution exec",
                "DeployItem di",
                "DataObject do,dobj",
                "Target tgt,tg",
                "Context ctx"
            ]
        );
    }

    #[test]
    fn schemas_are_structural_and_know_all_words_of_a_phase() {
        let definitions = definitions();
        let schema = &definitions[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let status = &schema["properties"]["status"]["properties"];
        assert_eq!(status["phase"]["type"], "string", "{}", status["phase"]);
        assert_eq!(status["phase"]["enum"].as_array().unwrap().len(), 7);
        let codes = &status["lastError"]["properties"]["codes"]["items"];
        assert!(
            codes["enum"]
                .as_array()
                .unwrap()
                .contains(&json!("ERR_TIMEOUT")),
            "{codes}"
        );
        let blueprint = &schema["properties"]["spec"]["properties"]["blueprint"]["properties"];
        assert_eq!(
            blueprint["inline"]["properties"]["filesystem"]["x-kubernetes-preserve-unknown-fields"],
            true
        );
        let text = serde_json::to_string(&definitions).unwrap();
        for word in ["$ref", "anyOf", "oneOf", "nullable", "\"const\"", "uint"] {
            assert!(!text.contains(word), "{word}");
        }
    }
}
