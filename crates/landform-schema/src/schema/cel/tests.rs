//! Rules case by case: what they see, when they run, what they say and what they may cost.

use serde_json::{Value, json};

use crate::Schema;

/// A schema whose `spec` is the given one.
fn with_spec(spec: &Value) -> Result<Schema, Vec<String>> {
    let root = json!({"type": "object", "properties": {"spec": spec}});
    Schema::from_crd(&root).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

/// A spec with many kinds of fields and these rules.
fn spec(rules: &Value) -> Value {
    json!({"type": "object", "x-kubernetes-validations": rules, "properties": {
        "min": {"type": "integer"}, "max": {"type": "integer"}, "ratio": {"type": "number"},
        "name": {"type": "string", "maxLength": 64}, "namespace": {"type": "string"}, "a-b": {"type": "string"},
        "under__score": {"type": "string"}, "single_score": {"type": "string"},
        "when": {"type": "string", "format": "date-time"}, "span": {"type": "string", "format": "duration"},
        "data": {"type": "string", "format": "byte"},
        "port": {"x-kubernetes-int-or-string": true},
        "list": {"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 100}},
        "labels": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "string", "maxLength": 10}},
        "maybe": {"type": "string", "nullable": true},
    }})
}

fn check(rule: &str, value: &Value, old: Option<&Value>) -> Vec<String> {
    let schema = with_spec(&spec(&json!([{"rule": rule}]))).expect(rule);
    let old = old.map(|old| json!({"spec": old}));
    let errors = schema.validate(&json!({"spec": value}), old.as_ref());
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_rule_sees_values_as_the_schema_types_them() {
    let table = [
        ("self.min <= self.max", json!({"min": 1, "max": 2}), true),
        ("self.min <= self.max", json!({"min": 3, "max": 2}), false),
        ("!has(self.max) || self.max > 0", json!({}), true),
        ("has(self.max)", json!({}), false),
        ("has(self.list)", json!({"list": ["a"]}), true),
        ("self.ratio > 1.5", json!({"ratio": 2}), true),
        ("self.__namespace__ == 'x'", json!({"namespace": "x"}), true),
        ("self.a__dash__b == 'x'", json!({"a-b": "x"}), true),
        (
            "self.under__underscores__score == 'x'",
            json!({"under__score": "x"}),
            true,
        ),
        (
            "self.single_score == 'x'",
            json!({"single_score": "x"}),
            true,
        ),
        (
            "self.when < timestamp('2025-01-01T00:00:00Z')",
            json!({"when": "2024-01-01T00:00:00Z"}),
            true,
        ),
        ("self.span > duration('1h')", json!({"span": "1h30m"}), true),
        ("size(self.data) == 2", json!({"data": "aGk="}), true),
        (
            "type(self.port) == int ? self.port > 0 : self.port.endsWith('%')",
            json!({"port": "5%"}),
            true,
        ),
        (
            "type(self.port) == int ? self.port > 0 : self.port.endsWith('%')",
            json!({"port": 5}),
            true,
        ),
        (
            "type(self.port) == int ? self.port > 0 : self.port.endsWith('%')",
            json!({"port": 0}),
            false,
        ),
        (
            "self.list.all(x, x.startsWith('a'))",
            json!({"list": ["a", "ab"]}),
            true,
        ),
        (
            "self.list.exists(x, x == 'b') && self.list.size() == 2",
            json!({"list": ["a", "b"]}),
            true,
        ),
        (
            "self.list.map(x, x + '!').filter(x, x == 'a!').size() == 1",
            json!({"list": ["a", "b"]}),
            true,
        ),
        (
            "self.list.exists_one(x, x.matches('^[a-c]$'))",
            json!({"list": ["a", "z"]}),
            true,
        ),
        (
            "self.labels.all(k, self.labels[k] != '')",
            json!({"labels": {"a.b/c": "x"}}),
            true,
        ),
        (
            "'a.b/c' in self.labels",
            json!({"labels": {"a.b/c": "x"}}),
            true,
        ),
        ("self.maybe == null", json!({"maybe": null}), true),
        (
            "self.name.lowerAscii() == 'abc' && self.name.indexOf('b') == 1",
            json!({"name": "Abc"}),
            true,
        ),
        (
            "isQuantity(self.name) && quantity(self.name).isGreaterThan(quantity('1Gi'))",
            json!({"name": "2Gi"}),
            true,
        ),
        (
            "url(self.name).getHost() == 'a.b'",
            json!({"name": "https://a.b/c"}),
            true,
        ),
        (
            "cidr('10.0.0.0/8').containsIP(self.name)",
            json!({"name": "10.1.2.3"}),
            true,
        ),
        (
            "sets.contains(self.list, ['a'])",
            json!({"list": ["a", "b"]}),
            true,
        ),
        ("self.?name.orValue('x') == 'x'", json!({}), true),
        (
            "math.greatest(self.min, self.max) == 2",
            json!({"min": 1, "max": 2}),
            true,
        ),
        (
            "self.name.find('[0-9]+') == '12'",
            json!({"name": "a12"}),
            true,
        ),
    ];
    for (rule, value, holds) in table {
        let errors = check(rule, &value, None);
        assert_eq!(errors.is_empty(), holds, "{rule} on {value}: {errors:?}");
        if !holds {
            assert_eq!(
                errors,
                [format!(
                    "spec: Invalid value: \"object\": failed rule: {rule}"
                )]
            );
        }
    }
}

#[test]
fn transition_rules_run_on_updates_only() {
    let rule = "self.name == oldSelf.name";
    assert!(check(rule, &json!({"name": "a"}), None).is_empty());
    assert!(
        check(
            rule,
            &json!({"name": "a", "min": 1}),
            Some(&json!({"name": "a"}))
        )
        .is_empty()
    );
    assert_eq!(
        check(rule, &json!({"name": "a"}), Some(&json!({"name": "b"}))),
        ["spec: Invalid value: \"object\": failed rule: self.name == oldSelf.name"]
    );
}

#[test]
fn an_optional_old_value_lets_a_transition_rule_run_on_creation() {
    let rules = json!([{"rule": "oldSelf.hasValue() || self.min == 0", "optionalOldSelf": true}]);
    let schema = with_spec(&spec(&rules)).expect("a schema");
    assert!(
        schema
            .validate(&json!({"spec": {"min": 0}}), None)
            .is_empty()
    );
    assert_eq!(schema.validate(&json!({"spec": {"min": 1}}), None).len(), 1);
    let old = json!({"spec": {"min": 5}});
    assert!(
        schema
            .validate(&json!({"spec": {"min": 1}}), Some(&old))
            .is_empty()
    );
}

#[test]
fn what_did_not_change_is_not_held_against_the_writer() {
    let schema = with_spec(&spec(&json!([{"rule": "self.min > 0"}]))).expect("a schema");
    let old = json!({"spec": {"min": 0}, "metadata": {"name": "a"}});
    let new = json!({"spec": {"min": 0}, "metadata": {"name": "a", "labels": {"x": "y"}}});
    assert!(schema.validate(&new, Some(&old)).is_empty());
    assert_eq!(
        schema
            .validate(&json!({"spec": {"min": -1}}), Some(&old))
            .len(),
        1
    );
}

#[test]
fn messages_reasons_and_paths_are_the_authors() {
    let table = [
        (
            json!({"rule": "self.min > 0", "message": "too small"}),
            "spec: Invalid value: \"object\": too small",
        ),
        (
            json!({"rule": "self.min > 0", "messageExpression": "'min is %d'.format([self.min])"}),
            "spec: Invalid value: \"object\": min is -1",
        ),
        (
            json!({"rule": "self.min > 0", "message": "fallback", "messageExpression": "self.name"}),
            "spec: Invalid value: \"object\": fallback",
        ),
        (
            json!({"rule": "self.min > 0", "message": "m", "reason": "FieldValueForbidden", "fieldPath": ".min"}),
            "spec.min: Forbidden: m",
        ),
        (
            json!({"rule": "self.min > 0", "message": "m", "reason": "FieldValueRequired", "fieldPath": ".labels['a.b']"}),
            "spec.labels[a.b]: Required value: m",
        ),
        (
            json!({"rule": "self.min > 0", "message": "m", "reason": "FieldValueDuplicate"}),
            "spec: Duplicate value: \"object\": m",
        ),
        (
            json!({"rule": "self.name == 'x'"}),
            "spec: Invalid value: \"object\": no such key: name evaluating rule: self.name == 'x'",
        ),
        (
            json!({"rule": "self.min"}),
            "spec: Invalid value: \"object\": the rule must be true or false, but is neither: self.min",
        ),
    ];
    for (rule, expected) in table {
        let schema = with_spec(&spec(&json!([rule]))).expect("a schema");
        let errors = schema.validate(&json!({"spec": {"min": -1}}), None);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, [expected], "{rule}");
    }
}

#[test]
fn rules_of_entries_and_values_name_their_place() {
    let schema = with_spec(&json!({"type": "object", "properties": {
        "list": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": "self.size >= oldSelf.size", "message": "must not shrink"}]}},
        "map": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "integer",
            "x-kubernetes-validations": [{"rule": "self > 0", "message": "must be positive"}]}},
    }}))
    .expect("a schema");
    let old = json!({"spec": {"list": [{"name": "a", "size": 1}, {"name": "b", "size": 5}]}});
    let new = json!({"spec": {"list": [{"name": "b", "size": 4}, {"name": "a", "size": 2}], "map": {"k": 0}}});
    let errors: Vec<String> = schema
        .validate(&new, Some(&old))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        errors,
        [
            "spec.list[0]: Invalid value: \"object\": must not shrink",
            "spec.map[k]: Invalid value: \"integer\": must be positive"
        ]
    );
}

#[test]
fn rules_wait_until_the_object_is_well_formed() {
    let errors = check("self.min > 0", &json!({"min": "x"}), None);
    assert_eq!(errors.len(), 2);
    assert!(
        errors[1].contains("some validation rules were not checked"),
        "{errors:?}"
    );
}

#[test]
fn a_rule_that_cannot_work_is_refused_with_its_definition() {
    let table = [
        (
            json!({"rule": ""}),
            "rule: Required value: rule is not specified",
        ),
        (
            json!({"rule": "self.min >"}),
            "compilation failed: ERROR: <input>:1:",
        ),
        (
            json!({"rule": "self.typo > 1"}),
            "compilation failed: undefined field 'typo'",
        ),
        (
            json!({"rule": "slef.min > 1"}),
            "compilation failed: undeclared reference to 'slef'",
        ),
        (
            json!({"rule": "self.name.startWith('a')"}),
            "compilation failed: undeclared reference to 'startWith'",
        ),
        (
            json!({"rule": "self.list.all(x, y == x)"}),
            "compilation failed: undeclared reference to 'y'",
        ),
        (
            json!({"rule": "true", "messageExpression": "self.typo"}),
            "messageExpression: Invalid value",
        ),
        (
            json!({"rule": "true", "reason": "Whim"}),
            "reason: Unsupported value: \"Whim\"",
        ),
        (
            json!({"rule": "true", "fieldPath": ".typo"}),
            "does not refer to a valid field",
        ),
        (
            json!({"rule": "true", "fieldPath": "min"}),
            "must be a path of field names",
        ),
        (
            json!({"rule": "true", "message": "a\nb"}),
            "message must not contain line breaks",
        ),
        (
            json!({"rule": "true &&\ntrue"}),
            "message must be specified if rule contains line breaks",
        ),
        (
            json!({"rule": "true", "optionalOldSelf": true}),
            "may not be set if oldSelf is not used",
        ),
    ];
    for (rule, expected) in table {
        let errors = with_spec(&spec(&json!([rule]))).expect_err(expected);
        assert!(
            errors.iter().any(|error| error.contains(expected)),
            "{rule}: {errors:?}"
        );
        let place = "properties[spec].x-kubernetes-validations[0].";
        assert!(errors[0].starts_with(place), "{errors:?}");
    }
}

#[test]
fn a_transition_rule_needs_entries_that_can_be_told_apart() {
    let rules = json!([{"rule": "self == oldSelf"}]);
    let list = |kind: &str| {
        json!({"type": "object", "properties": {"list": {"type": "array", "maxItems": 3, "x-kubernetes-list-type": kind,
            "items": {"type": "string", "maxLength": 9, "x-kubernetes-validations": rules}}}})
    };
    let errors = with_spec(&list("set")).expect_err("not correlatable");
    assert!(
        errors[0].contains("oldSelf cannot be used on the uncorrelatable portion"),
        "{errors:?}"
    );
}

#[test]
fn a_rule_whose_estimate_is_too_high_is_refused() {
    let unbounded = json!({"type": "object", "properties": {"list": {"type": "array", "items": {"type": "string"}}},
        "x-kubernetes-validations": [{"rule": "self.list.all(x, self.list.all(y, x == y))"}]});
    let errors = with_spec(&unbounded).expect_err("quadratic in an unbounded list");
    assert!(
        errors[0].contains("estimated rule cost exceeds budget by factor of more than 100x"),
        "{errors:?}"
    );
    let linear = json!({"type": "object", "properties": {"list": {"type": "array", "items": {"type": "string"}}},
        "x-kubernetes-validations": [{"rule": "self.list.all(x, x.size() > 0)"}]});
    with_spec(&linear).expect("linear in an unbounded list is fine");
}

#[test]
fn a_rule_that_costs_too_much_at_run_time_is_an_error_that_says_so() {
    // Its estimate passes, since the list is bounded, but this object makes it expensive.
    let rule = "self.list.all(x, self.list.all(y, self.list.all(z, x + y + z != '')))";
    let schema = with_spec(&json!({"type": "object",
        "properties": {"list": {"type": "array", "maxItems": 80, "items": {"type": "string", "maxLength": 10}}},
        "x-kubernetes-validations": [{"rule": rule}, {"rule": "true"}]}))
    .expect("a schema");
    let entries: Vec<String> = (0..80).map(|n| n.to_string()).collect();
    let start = std::time::Instant::now();
    let errors = schema.validate(&json!({"spec": {"list": entries}}), None);
    assert_eq!(errors.len(), 1);
    assert_eq!(
        errors[0].to_string(),
        format!("spec: Invalid value: \"object\": call cost exceeds limit for rule: {rule}")
    );
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn an_error_that_a_rule_forgives_does_not_hide_its_cost() {
    let rule = "self.list.all(x, self.list.all(y, self.list.all(z, x + y + z == '' || true)))";
    let schema = with_spec(&json!({"type": "object",
        "properties": {"list": {"type": "array", "maxItems": 80, "items": {"type": "string", "maxLength": 10}}},
        "x-kubernetes-validations": [{"rule": rule}]}))
    .expect("a schema");
    let entries: Vec<String> = (0..80).map(|n| n.to_string()).collect();
    let errors = schema.validate(&json!({"spec": {"list": entries}}), None);
    assert!(
        errors[0].to_string().contains("call cost exceeds limit"),
        "{errors:?}"
    );
}

#[test]
fn all_rules_of_an_object_share_a_budget() {
    let rules: Vec<Value> = (0..30)
        .map(|n| json!({"rule": format!("{n} < 0 || self.list.all(x, self.list.all(y, self.list.all(z, x != '' || y != z)))")}))
        .collect();
    let schema = with_spec(&json!({"type": "object",
        "properties": {"list": {"type": "array", "maxItems": 60, "items": {"type": "string", "maxLength": 10}}},
        "x-kubernetes-validations": rules}))
    .expect("a schema");
    let entries: Vec<String> = (0..60).map(|n| n.to_string()).collect();
    let errors = schema.validate(&json!({"spec": {"list": entries}}), None);
    let last = errors.last().map(ToString::to_string).unwrap_or_default();
    assert!(last.contains("running out of cost budget"), "{errors:?}");
}

#[test]
fn the_largest_rules_fit_the_stack() {
    let sum = format!("{} > 0", vec!["self.min"; 190].join(" + "));
    with_spec(&spec(&json!([{"rule": sum}]))).expect("a long sum");
    assert!(check(&sum, &json!({"min": 1}), None).is_empty());
    let nested = format!("{}true{}", "(".repeat(60), ")".repeat(60));
    let _ = with_spec(&spec(&json!([{"rule": nested}])));
    let chain = vec!["self.min > 0"; 100].join(" && ");
    assert!(check(&chain, &json!({"min": 1}), None).is_empty());
    for monster in [
        "1 + ".repeat(5000),
        "(".repeat(5000),
        "[".repeat(5000),
        "-".repeat(5000),
        "!".repeat(5000),
        "a?".repeat(3000),
    ] {
        assert!(with_spec(&spec(&json!([{"rule": format!("{monster}1")}]))).is_err());
    }
}
