//! CustomResourceDefinitions, generated from Rust types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Whether objects of a kind are in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// They are.
    Namespaced,
    /// They are of the whole cluster.
    Cluster,
}

/// What of a definition doesn't follow from the types.
pub struct Names {
    /// The API group.
    pub group: &'static str,
    /// The only version.
    pub version: &'static str,
    /// Whether objects are in namespaces.
    pub scope: Scope,
    /// The kind.
    pub kind: &'static str,
    /// As URLs have it.
    pub plural: &'static str,
    /// Other names for the command line.
    pub short: &'static [&'static str],
    /// What tables show.
    pub columns: Vec<Value>,
    /// Whether the status is written apart from the spec.
    pub with_status: bool,
}

/// A column of a table.
#[must_use]
pub fn column(name: &str, kind: &str, path: &str) -> Value {
    json!({"name": name, "type": kind, "jsonPath": path})
}

/// The definition of a kind whose spec and status are fields of `T`.
#[must_use]
pub fn definition<T: JsonSchema>(names: &Names) -> Value {
    let singular = names.kind.to_lowercase();
    let mut version = json!({
        "name": names.version,
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
        "metadata": {"name": format!("{}.{}", names.plural, names.group)},
        "spec": {
            "group": names.group,
            "scope": match names.scope {
                Scope::Namespaced => "Namespaced",
                Scope::Cluster => "Cluster",
            },
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
    if let Some(pattern @ Value::String(_)) = fields.get("pattern") {
        result.insert("pattern".into(), pattern.clone());
    }
    if let Some(format @ ("int32" | "int64")) = fields.get("format").and_then(Value::as_str) {
        result.insert("format".into(), json!(format));
        // Those of numbers without a sign are not meant as limits.
        if let Some(least) = fields.get("minimum") {
            result.insert("minimum".into(), least.clone());
        }
    }
    if let Some(pattern) = fields.get("pattern") {
        result.insert("pattern".into(), pattern.clone());
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
