//! Compares our tables of built-in types with the published ones, as `k8s-openapi` has them.
//!
//! For each published type that a kind of ours reaches: the same fields, of the same types, with the
//! same ones required. So no field can be missing from the tables, and none can be invented.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use landform_schema::openapi;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The published types that our kinds and requests reach, by name.
fn published() -> BTreeMap<String, Value> {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    macro_rules! add {
        ($($kind:ty),* $(,)?) => { $(let _ = generator.subschema_for::<$kind>();)* };
    }
    add!(
        api::core::v1::Namespace,
        api::core::v1::ConfigMap,
        api::core::v1::Secret,
        api::core::v1::ServiceAccount,
        api::core::v1::Event,
        api::core::v1::Pod,
        api::core::v1::Service,
        api::core::v1::PersistentVolumeClaim,
        api::core::v1::Node,
        api::core::v1::LimitRange,
        api::core::v1::ResourceQuota,
        api::core::v1::Binding,
        api::apps::v1::Deployment,
        api::apps::v1::StatefulSet,
        api::apps::v1::DaemonSet,
        api::apps::v1::ReplicaSet,
        api::apps::v1::ControllerRevision,
        api::batch::v1::Job,
        api::batch::v1::CronJob,
        api::rbac::v1::Role,
        api::rbac::v1::RoleBinding,
        api::rbac::v1::ClusterRole,
        api::rbac::v1::ClusterRoleBinding,
        api::coordination::v1::Lease,
        api::events::v1::Event,
        api::networking::v1::Ingress,
        api::networking::v1::NetworkPolicy,
        api::discovery::v1::EndpointSlice,
        api::autoscaling::v1::Scale,
        api::policy::v1::Eviction,
        api::authentication::v1::TokenReview,
        api::authentication::v1::TokenRequest,
        api::authentication::v1::SelfSubjectReview,
        api::authorization::v1::SubjectAccessReview,
        api::authorization::v1::LocalSubjectAccessReview,
        api::authorization::v1::SelfSubjectAccessReview,
        api::authorization::v1::SelfSubjectRulesReview,
        k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
        meta::Status,
        meta::DeleteOptions,
        meta::ListMeta,
        meta::ObjectMeta,
        meta::LabelSelector,
        meta::Condition,
        meta::APIGroup,
        meta::APIResourceList,
    );
    generator.take_definitions(true).into_iter().collect()
}

/// The type of a field in one word: `string/byte`, `[io.k8s…Container]`, `{string}`.
fn type_of(schema: &Value) -> String {
    let reference = schema
        .get("$ref")
        .or_else(|| schema.pointer("/allOf/0/$ref"));
    if let Some(address) = reference.and_then(Value::as_str) {
        return address.rsplit('/').next().unwrap_or_default().to_owned();
    }
    let name = match schema.get("type") {
        Some(Value::String(name)) => name.as_str(),
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .find(|name| *name != "null")
            .unwrap_or("any"),
        _ => "any",
    };
    match (
        name,
        schema.get("items"),
        schema.get("additionalProperties"),
    ) {
        ("array", Some(items), _) => format!("[{}]", type_of(items)),
        ("object", _, Some(values)) if values.is_object() => format!("{{{}}}", type_of(values)),
        _ => match schema.get("format").and_then(Value::as_str) {
            Some(format) => format!("{name}/{format}"),
            None => name.to_owned(),
        },
    }
}

fn required(schema: &Value) -> BTreeSet<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// What `k8s-openapi` says differently from the published document about required fields, for the
/// sake of its Rust types: all objects have metadata, references have a name, and events that were
/// written in the old form have no time.
fn required_in_rust<'a>(name: &str, ours: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let references = [
        "ConfigMapEnvSource",
        "ConfigMapKeySelector",
        "ConfigMapProjection",
        "ConfigMapVolumeSource",
        "LocalObjectReference",
        "SecretEnvSource",
        "SecretKeySelector",
        "SecretProjection",
    ];
    let mut required = ours.clone();
    let short = name.rsplit('.').next().unwrap_or_default();
    if references.contains(&short) {
        required.insert("name");
    }
    if name == "io.k8s.api.events.v1.Event" {
        required.remove("eventTime");
    }
    required
}

/// Differences of one type, in words.
fn differences(name: &str, ours: &Value, theirs: &Value) -> Vec<String> {
    let empty = serde_json::Map::new();
    let fields = |schema: &'_ Value| {
        schema
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&empty)
            .clone()
    };
    let (mine, published) = (fields(ours), fields(theirs));
    let mut found = Vec::new();
    for (field, schema) in &published {
        match mine.get(field) {
            None => found.push(format!("{name}.{field} is missing")),
            Some(our) if type_of(our) != type_of(schema) => {
                found.push(format!(
                    "{name}.{field} is {} but published as {}",
                    type_of(our),
                    type_of(schema)
                ));
            }
            Some(_) => {}
        }
    }
    let invented = mine.keys().filter(|field| !published.contains_key(*field));
    found.extend(invented.map(|field| format!("{name}.{field} isn't published")));
    let mut mine = required_in_rust(name, &required(ours));
    if ours
        .get("properties")
        .is_some_and(|fields| fields.get("metadata").is_some())
        && required(theirs).contains("metadata")
    {
        mine.insert("metadata");
    }
    if mine != required(theirs) {
        found.push(format!(
            "{name} requires {mine:?} but {:?} is published",
            required(theirs)
        ));
    }
    found
}

#[test]
fn our_tables_have_exactly_the_published_fields() {
    let ours = openapi::v3_schemas();
    let published = published();
    assert!(published.len() > 250, "{}", published.len());
    let mut found = Vec::new();
    for (name, theirs) in &published {
        match ours.get(name) {
            None => found.push(format!("{name} is missing")),
            Some(ours) => found.extend(differences(name, ours, theirs)),
        }
    }
    assert!(
        found.is_empty(),
        "{} differences:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn each_of_our_types_is_published() {
    let published = published();
    // Types that `k8s-openapi` gives no definition of their own.
    let own_form = ["APIGroupList", "WatchEvent"];
    let strange: Vec<_> = openapi::v3_schemas()
        .keys()
        .filter(|name| !name.ends_with("List") && !published.contains_key(*name))
        .filter(|name| !own_form.iter().any(|own| name.ends_with(own)))
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
}
