//! What clients rely on in the published types.

use serde_json::{Value, json};

use super::{
    CustomResourceNames, custom_types_v2, custom_types_v3, v2_definitions, v3_schemas_for,
};
use crate::Schema;

/// Every `$ref` in a value.
fn addresses(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(address)) = map.get("$ref") {
                found.push(address.clone());
            }
            map.values().for_each(|inner| addresses(inner, found));
        }
        Value::Array(entries) => entries.iter().for_each(|inner| addresses(inner, found)),
        _ => {}
    }
}

#[test]
fn every_reference_has_its_target() {
    let definitions = v2_definitions();
    let mut found = Vec::new();
    definitions
        .values()
        .for_each(|schema| addresses(schema, &mut found));
    assert!(found.len() > 500);
    for address in found {
        let name = address
            .strip_prefix("#/definitions/")
            .expect("a v2 address");
        assert!(definitions.contains_key(name), "{address}");
    }
    for (group, version) in [
        ("", "v1"),
        ("apps", "v1"),
        ("batch", "v1"),
        ("apiextensions.k8s.io", "v1"),
    ] {
        let schemas = v3_schemas_for(group, version);
        let mut found = Vec::new();
        schemas
            .values()
            .for_each(|schema| addresses(schema, &mut found));
        for address in found {
            let name = address
                .strip_prefix("#/components/schemas/")
                .expect("a v3 address");
            assert!(
                schemas.contains_key(name),
                "{group}/{version} lacks {address}"
            );
        }
    }
}

#[test]
fn a_group_has_its_kinds_their_lists_and_the_options_of_requests() {
    let apps = v3_schemas_for("apps", "v1");
    for name in [
        "io.k8s.api.apps.v1.Deployment",
        "io.k8s.api.apps.v1.DeploymentList",
        "io.k8s.api.core.v1.PodTemplateSpec",
        "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
        "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
    ] {
        assert!(apps.contains_key(name), "{name}");
    }
    assert!(!apps.contains_key("io.k8s.api.rbac.v1.Role"));
}

#[test]
fn kubectl_finds_merge_keys_list_keys_and_kinds() {
    let containers = &v2_definitions()["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(containers["x-kubernetes-patch-strategy"], "merge");
    assert_eq!(containers["x-kubernetes-list-type"], "map");
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    assert_eq!(
        containers["items"]["$ref"],
        "#/definitions/io.k8s.api.core.v1.Container"
    );
    assert_eq!(
        v2_definitions()["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"],
        json!([{"group": "apps", "version": "v1", "kind": "Deployment"}])
    );
    let volumes = &v2_definitions()["io.k8s.api.core.v1.PodSpec"]["properties"]["volumes"];
    assert_eq!(volumes["x-kubernetes-patch-strategy"], "merge,retainKeys");
}

#[test]
fn a_custom_resource_is_published_for_both_versions() {
    let schema = Schema::from_crd(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "size": {"type": "integer", "nullable": true, "default": 3},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}},
    }}}}))
    .expect("a structural schema");
    let names = CustomResourceNames {
        group: "example.dev",
        version: "v1",
        kind: "Widget",
        list_kind: "WidgetList",
    };
    let [(name, v2), _] = custom_types_v2(&schema, names);
    assert_eq!(name, "dev.example.v1.Widget");
    assert_eq!(
        v2["properties"]["spec"]["properties"],
        json!({
            "port": {"x-kubernetes-int-or-string": true},
            "size": {},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        })
    );
    assert_eq!(
        v2["properties"]["metadata"]["$ref"],
        "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    );
    let [(name, v3), (list_name, list)] = custom_types_v3(&schema, names);
    assert_eq!(
        (name.as_str(), list_name.as_str()),
        ("dev.example.v1.Widget", "dev.example.v1.WidgetList")
    );
    assert_eq!(
        v3["properties"]["spec"]["properties"]["size"],
        json!({"type": "integer", "nullable": true, "default": 3})
    );
    assert_eq!(
        v3["x-kubernetes-group-version-kind"],
        json!([{"group": "example.dev", "version": "v1", "kind": "Widget"}])
    );
    assert_eq!(
        list["properties"]["items"]["items"]["$ref"],
        "#/components/schemas/dev.example.v1.Widget"
    );
}
