//! The engine by example: pruning, defaulting, updates; keywords and structural rules as tables.

mod attacks;
mod keywords;
mod structural;

use landform_api::Budget;
use landform_api::budget::{Exceeded, Size};
use serde_json::{Value, json};

use super::Schema;

/// A schema whose `spec` has the given properties.
fn schema(properties: &Value) -> Schema {
    let root = json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": properties}}});
    Schema::from_crd(&root).expect("a structural schema")
}

fn messages(schema: &Schema, object: &Value) -> Vec<String> {
    schema
        .validate(object, None)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn unknown_fields_are_pruned_and_named() {
    let schema = schema(&json!({
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                 "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}}},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "empty": {"type": "object"},
    }));
    let mut object = json!({
        "apiVersion": "a/v1", "kind": "K", "junk": 1,
        "metadata": {"name": "x", "labels": {"a": "b"}, "nonsense": true, "ownerReferences": [{"uid": "1", "x": 1}]},
        "spec": {
            "list": [{"a": "1", "b": 2}, 3], "map": {"k": {"a": "1", "b": 2}},
            "free": {"other": {"x": 1}, "known": {"a": "1", "b": 2}}, "any": [{"x": 1}],
            "empty": {"x": 1}, "more": {}}
    });
    let mut removed = schema.prune(&mut object);
    removed.sort();
    assert_eq!(
        removed,
        [
            "junk",
            "metadata.nonsense",
            "metadata.ownerReferences[0].x",
            "spec.empty.x",
            "spec.free.known.b",
            "spec.list[0].b",
            "spec.map.k.b",
            "spec.more"
        ]
    );
    assert_eq!(object["spec"]["free"]["other"], json!({"x": 1}));
    assert_eq!(object["spec"]["any"], json!([{"x": 1}]));
    assert_eq!(
        object["metadata"],
        json!({"name": "x", "labels": {"a": "b"}, "ownerReferences": [{"uid": "1"}]})
    );
}

#[test]
fn a_wrong_type_is_refused_in_the_words_of_kubernetes() {
    let schema = schema(&json!({"replicas": {"type": "integer"}}));
    assert_eq!(
        messages(&schema, &json!({"spec": {"replicas": "three"}})),
        [
            r#"spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string""#
        ]
    );
}

#[test]
fn nulls_are_dropped_then_defaulted() {
    let schema = schema(&json!({
        "foo": {"type": "string", "default": "x"},
        "bar": {"type": "string", "nullable": true},
        "baz": {"type": "string"},
    }));
    let mut object = json!({"spec": {"foo": null, "bar": null, "baz": null}});
    schema.apply_defaults(&mut object).unwrap();
    assert_eq!(object, json!({"spec": {"foo": "x", "bar": null}}));
}

#[test]
fn defaults_stop_at_the_budget_of_an_object() {
    let fields: serde_json::Map<String, Value> = (0..1_000)
        .map(|n| {
            (
                format!("field{n}"),
                json!({"type": "string", "default": "x"}),
            )
        })
        .collect();
    let items = json!({"type": "object", "properties": fields});
    let list = json!({"list": {"type": "array", "items": items}});
    let schema = schema(&list);
    let mut object = json!({"spec": {"list": vec![json!({}); 20_000]}});
    let before = Size::of(&object);
    let most = Budget::OBJECT;
    assert_eq!(
        schema.apply_defaults(&mut object),
        Err(Exceeded::Bytes(most.bytes))
    );
    let after = Size::of(&object);
    assert!(after.bytes <= before.bytes + most.bytes, "{after:?}");
    assert!(after.cells <= before.cells + most.cells, "{after:?}");
    // A default may be such a list, too.
    let mut list = list;
    list["list"]["default"] = json!(vec![json!({}); 20_000]);
    let root = json!({"type": "object", "properties": list});
    let errors = Schema::from_crd(&root).err().unwrap_or_default();
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert!(texts.join(" ").contains("too large"), "{texts:?}");
}

#[test]
fn built_in_tables_are_read_and_serve() {
    crate::builtin::check_tables().expect("the tables are well-formed");
    let kinds = crate::builtin::kinds();
    let deployment = kinds
        .iter()
        .find(|kind| kind.kind == "Deployment")
        .expect("Deployment");
    assert_eq!(
        (deployment.group, deployment.version, deployment.plural),
        ("apps", "v1", "deployments")
    );
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "creationTimestamp": null},
        "spec": {"replicas": "three", "selector": {"matchLabels": {"a": "b"}}, "typo": 1,
                 "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    assert_eq!(deployment.schema.prune(&mut object), ["spec.typo"]);
    deployment.schema.apply_defaults(&mut object).unwrap();
    assert_eq!(
        messages(&deployment.schema, &object),
        [
            r#"spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string""#
        ]
    );
    assert_eq!(
        object["spec"]["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    );
    assert_eq!(
        object["spec"]["template"]["spec"]["restartPolicy"],
        "Always"
    );
}

#[test]
fn a_restricted_name_is_enforced() {
    let schema = Schema::from_crd(
        &json!({"type": "object", "properties": {"metadata": {"type": "object",
        "properties": {"name": {"type": "string", "pattern": "^a"}}}}}),
    )
    .expect("a schema");
    assert!(
        messages(
            &schema,
            &json!({"metadata": {"name": "abc", "labels": {"x": "y"}}})
        )
        .is_empty()
    );
    assert!(
        messages(&schema, &json!({"metadata": {"name": "b"}}))[0]
            .contains("metadata.name in body should match '^a'")
    );
}

#[test]
fn defaults_nest_and_leave_given_values_alone() {
    let schema = schema(&json!({
        "deep": {"type": "object", "default": {}, "properties": {
            "a": {"type": "integer", "default": 1},
            "inner": {"type": "object", "properties": {"b": {"type": "string", "default": "x"}}}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "boolean", "default": true}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"d": {"type": "integer", "default": 4}}}},
        "nulls": {"type": "object", "additionalProperties": {"type": "integer", "default": 7}},
    }));
    let table = [
        (json!({"spec": {}}), json!({"spec": {"deep": {"a": 1}}})),
        (json!({}), json!({})),
        (
            json!({"spec": {"deep": {"a": 2, "inner": {}}}}),
            json!({"spec": {"deep": {"a": 2, "inner": {"b": "x"}}}}),
        ),
        (
            json!({"spec": {"deep": null}}),
            json!({"spec": {"deep": {"a": 1}}}),
        ),
        (
            json!({"spec": {"deep": {}, "list": [{}, {"c": false}]}}),
            json!({"spec": {"deep": {"a": 1}, "list": [{"c": true}, {"c": false}]}}),
        ),
        (
            json!({"spec": {"deep": {}, "map": {"k": {}}}}),
            json!({"spec": {"deep": {"a": 1}, "map": {"k": {"d": 4}}}}),
        ),
        (
            json!({"spec": {"deep": {}, "nulls": {"k": null}}}),
            json!({"spec": {"deep": {"a": 1}, "nulls": {"k": 7}}}),
        ),
    ];
    for (mut object, expected) in table {
        schema.apply_defaults(&mut object).unwrap();
        assert_eq!(object, expected);
    }
}

#[test]
fn an_update_may_leave_what_is_wrong_but_not_change_it_to_wrong() {
    let schema = schema(
        &json!({"a": {"type": "integer", "maximum": 5}, "b": {"type": "integer", "maximum": 5}}),
    );
    let old = json!({"spec": {"a": 9, "b": 1}});
    assert!(
        schema
            .validate(&json!({"spec": {"a": 9, "b": 2}}), Some(&old))
            .is_empty()
    );
    assert_eq!(
        schema
            .validate(&json!({"spec": {"a": 8, "b": 2}}), Some(&old))
            .len(),
        1
    );
    assert_eq!(
        schema
            .validate(&json!({"spec": {"a": 9, "b": 9}}), Some(&old))
            .len(),
        1
    );
}
