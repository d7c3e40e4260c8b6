//! Properties that hold for every object and every patch, however strange.

use landform_schema::{Schema, builtin, merge};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Names that occur in the schemas below, so that random objects hit them often.
const NAMES: [&str; 22] = [
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "labels",
    "finalizers",
    "ownerReferences",
    "uid",
    "spec",
    "template",
    "containers",
    "volumes",
    "env",
    "ports",
    "containerPort",
    "replicas",
    "strategy",
    "type",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        prop_oneof![
            Just("delete"),
            Just("replace"),
            Just("merge"),
            Just("a"),
            Just("1h"),
            Just("10%")
        ]
        .prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    let name = prop_oneof![4 => proptest::sample::select(&NAMES[..]).prop_map(str::to_owned), 1 => ".{0,4}"];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

#[expect(
    clippy::expect_used,
    reason = "a test's own schema must be well-formed"
)]
fn custom() -> Schema {
    Schema::from_crd(&json!({"type": "object", "properties": {"spec": {"type": "object", "default": {}, "properties": {
        "replicas": {"type": "integer", "default": 1, "minimum": 0},
        "type": {"x-kubernetes-int-or-string": true, "default": "a"},
        "labels": {"type": "object", "additionalProperties": {"type": "string", "default": "x"}},
        "ports": {"type": "array", "items": {"type": "object", "properties": {
            "name": {"type": "string", "nullable": true, "default": "n", "pattern": "^.*$"},
            "containerPort": {"type": "integer", "enum": [1, 2]}},
            "x-kubernetes-validations": [{"rule": "!has(self.containerPort) || self.containerPort > 0"}]}, "maxItems": 50},
        "env": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        "strategy": {"x-kubernetes-preserve-unknown-fields": true, "anyOf": [{"required": ["type"]}, {"minimum": 5}]},
    }, "x-kubernetes-validations": [{"rule": "self.replicas >= oldSelf.replicas"}, {"rule": "size(self.labels) < 10"}]}}}))
    .expect("a structural schema")
}

fn schemas() -> Vec<Schema> {
    let wanted = ["Deployment", "Pod", "CustomResourceDefinition", "Service"];
    let builtin = builtin::kinds()
        .iter()
        .filter(|kind| wanted.contains(&kind.kind));
    let mut schemas: Vec<Schema> = builtin.map(|kind| Schema::clone(&kind.schema)).collect();
    schemas.push(custom());
    schemas
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn pruning_twice_is_pruning_once(object in any_json()) {
        for schema in schemas() {
            let mut once = object.clone();
            schema.prune(&mut once);
            let mut twice = once.clone();
            prop_assert!(schema.prune(&mut twice).is_empty());
            prop_assert_eq!(&once, &twice);
        }
    }

    #[test]
    fn defaulting_twice_is_defaulting_once(object in any_json()) {
        for schema in schemas() {
            let mut once = object.clone();
            schema.apply_defaults(&mut once).unwrap();
            let mut twice = once.clone();
            schema.apply_defaults(&mut twice).unwrap();
            prop_assert_eq!(&once, &twice);
        }
    }

    #[test]
    fn validation_never_panics(object in any_json(), old in any_json()) {
        for schema in schemas() {
            let _ = schema.validate(&object, None);
            let _ = schema.validate(&object, Some(&old));
            prop_assert!(schema.validate(&object, Some(&object)).len() <= schema.validate(&object, None).len());
        }
    }

    #[test]
    fn any_json_is_a_schema_or_refused(schema in any_json()) {
        let _ = Schema::from_crd(&schema);
        let _ = Schema::from_crd(&json!({"type": "object", "properties": {"spec": schema}}));
    }

    #[test]
    fn any_text_is_a_rule_or_refused(rule in ".{0,40}", tail in "[a-z.()\\[\\]{}'\"?:+*/&|! 0-9]{0,40}") {
        for rule in [rule, tail] {
            let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}]});
            if let Ok(schema) = Schema::from_crd(&schema) {
                let _ = schema.validate(&json!({"metadata": {"name": "a"}}), None);
            }
        }
    }

    #[test]
    fn a_strategic_merge_never_panics(original in any_json(), patch in any_json()) {
        for schema in schemas() {
            let _ = merge::strategic_merge(&schema, &original, &patch);
        }
    }

    #[test]
    fn an_empty_patch_changes_nothing(original in any_json()) {
        let original = json!({"spec": original});
        for schema in schemas() {
            prop_assert_eq!(merge::strategic_merge(&schema, &original, &json!({})), Ok(original.clone()));
        }
    }

    #[test]
    fn merging_a_patch_twice_is_merging_it_once(original in any_json(), patch in any_json()) {
        let mut once = original;
        merge::json_merge(&mut once, &patch);
        let mut twice = once.clone();
        merge::json_merge(&mut twice, &patch);
        prop_assert_eq!(once, twice);
    }
}
