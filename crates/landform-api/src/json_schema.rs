//! JSON schemas of manifests, for editors: made from the definitions that the server itself validates by.

use serde_json::{Map, Value, json};

/// The dialect that editors know.
pub const DIALECT: &str = "http://json-schema.org/draft-07/schema#";

/// The schema of the manifests of a kind, from its CustomResourceDefinition. What only Landform writes (`status`) is not part of it.
#[must_use]
pub fn of_definition(definition: &Value) -> Value {
    let spec = &definition["spec"];
    let version = &spec["versions"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, kind) = (text(&spec["group"]), text(&spec["names"]["kind"]));
    let api_version = format!("{group}/{}", text(&version["name"]));
    let mut schema = closed(&version["schema"]["openAPIV3Schema"]);
    if let Some(fields) = schema["properties"].as_object_mut() {
        if version.get("subresources").is_some() {
            fields.remove("status");
        }
        fields.extend(head(&api_version, &kind));
    }
    schema["$schema"] = DIALECT.into();
    schema["title"] = format!("{kind} of {api_version}").into();
    schema["required"] = json!(["apiVersion", "kind", "metadata"]);
    schema
}

/// What every manifest has: its kind, and its metadata as people write it.
#[must_use]
pub fn head(api_version: &str, kind: &str) -> Map<String, Value> {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let metadata = json!({
        "type": "object",
        "description": "Its name, and what else is noted of it.",
        "properties": {
            "name": {"type": "string", "description": "The name: lower case letters, digits, `-` and `.`."},
            "generateName": {"type": "string", "description": "What a name that the server makes begins with."},
            "namespace": {"type": "string", "description": "The namespace; a project's own when none is given."},
            "labels": texts,
            "annotations": texts,
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "ownerReferences": {"type": "array", "items": {"type": "object"}},
        },
    });
    let head = json!({
        "apiVersion": {"const": api_version},
        "kind": {"const": kind},
        "metadata": metadata,
    });
    head.as_object().cloned().unwrap_or_default()
}

/// A structural schema in the words of JSON schemas: what isn't named there is a mistake.
#[must_use]
pub fn closed(structural: &Value) -> Value {
    let Value::Object(fields) = structural else {
        return structural.clone();
    };
    let is = |extension: &str| fields.get(extension) == Some(&Value::Bool(true));
    let mut schema = Map::new();
    for (name, value) in fields {
        let value = match name.as_str() {
            "properties" => {
                let fields = value.as_object().into_iter().flatten();
                fields
                    .map(|(name, schema)| (name.clone(), closed(schema)))
                    .collect()
            }
            "items" | "additionalProperties" => closed(value),
            // The API's own: not of JSON schemas, or meant for defaults and merges.
            _ if name.starts_with("x-kubernetes-") || name == "nullable" => continue,
            // Formats of Go's numbers mean nothing to editors.
            "format" => continue,
            _ => value.clone(),
        };
        schema.insert(name.clone(), value);
    }
    if is("x-kubernetes-int-or-string") {
        schema.insert("type".into(), json!(["integer", "string"]));
    }
    let open = is("x-kubernetes-preserve-unknown-fields") || is("x-kubernetes-embedded-resource");
    if schema.contains_key("properties") && !open {
        let others = schema.entry("additionalProperties");
        others.or_insert(Value::Bool(false));
    }
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_has_its_kind_its_spec_and_nothing_else() {
        let definitions = crate::landscaper::definition::definitions();
        let schema = of_definition(&definitions[0]);
        let fields = &schema["properties"];
        assert_eq!(fields["kind"]["const"], "Installation");
        assert_eq!(
            fields["apiVersion"]["const"],
            "landscaper.gardener.cloud/v1alpha1"
        );
        assert!(fields.get("status").is_none());
        let spec = &fields["spec"];
        assert_eq!(spec["additionalProperties"], false);
        assert_eq!(spec["properties"]["imports"]["type"], "object");
        let inline = &spec["properties"]["blueprint"]["properties"]["inline"];
        let files = &inline["properties"]["filesystem"];
        assert!(files.get("additionalProperties").is_none(), "{files}");
    }

    #[test]
    fn words_of_the_api_are_those_of_json_schemas() {
        let table = [
            (
                json!({"x-kubernetes-int-or-string": true}),
                json!({"type": ["integer", "string"]}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "integer", "format": "int64"}}}),
                json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false}),
            ),
            (
                json!({"type": "object", "properties": {}, "x-kubernetes-preserve-unknown-fields": true}),
                json!({"type": "object", "properties": {}}),
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string", "nullable": true}}),
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
            ),
        ];
        for (structural, schema) in table {
            assert_eq!(closed(&structural), schema);
        }
    }
}
