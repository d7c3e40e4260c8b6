//! Rules case by case: what they see, when they run and what they say.

mod attacks;
mod cost;

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
            "spec.map[k]: Invalid value: 0: must be positive"
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

/// The kinds of rules that widespread definitions use.
#[test]
fn rules_as_authors_write_them() {
    let schema = json!({"type": "object", "properties": {
        "listeners": {"type": "array", "maxItems": 64, "items": {"type": "object", "properties": {
            "port": {"type": "integer"}, "protocol": {"type": "string"}, "hostname": {"type": "string", "maxLength": 253},
            "matches": {"type": "array", "maxItems": 8, "items": {"type": "string"}}, "weight": {"type": "integer"}}}},
        "path": {"type": "string", "maxLength": 1024}, "timeout": {"type": "string"}, "backend": {"type": "string"},
        "cidr": {"type": "string"}, "cpu": {"x-kubernetes-int-or-string": true}, "memory": {"x-kubernetes-int-or-string": true},
        "a": {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": {"type": "integer"}}}}},
        "z": {"type": "string"}, "tags": {"type": "object", "maxProperties": 50, "additionalProperties": {"type": "string"}},
        "list": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 50}},
    }});
    let sum: Vec<String> = (0..16)
        .map(|n| format!("(self.listeners.size() > {n} ? self.listeners[{n}].matches.size() : 0)"))
        .collect();
    let sum = format!("{} <= 128", sum.join(" + "));
    let object = json!({
        "listeners": [{"port": 80, "protocol": "HTTP", "matches": ["x"], "weight": 40}, {"port": 443, "protocol": "HTTPS", "hostname": "a.b", "matches": [], "weight": 60}],
        "path": "/a%20b", "timeout": "10s", "backend": "5s", "cidr": "10.0.0.0/8", "cpu": "500m", "memory": 2,
        "a": {"b": {"c": 1}}, "tags": {"team": "x", "env.io/x": "y"}, "list": ["a", "b"],
    });
    let table = [
        (
            "self.listeners.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.hostname) : true)",
            true,
        ),
        (
            "self.listeners.all(l1, self.listeners.exists_one(l2, l1.port == l2.port && l1.protocol == l2.protocol && \
          (has(l1.hostname) && has(l2.hostname) ? l1.hostname == l2.hostname : !has(l1.hostname) && !has(l2.hostname))))",
            true,
        ),
        (sum.as_str(), true),
        (
            r#"self.path.matches(r"""^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$""")"#,
            true,
        ),
        (r"self.path.matches('^/[a-z]\\d+$')", false),
        (
            "!(duration(self.timeout) != duration('0s') && duration(self.backend) > duration(self.timeout))",
            true,
        ),
        (
            "self.listeners.filter(f, f.protocol == 'HTTP').size() <= 1",
            true,
        ),
        ("self.listeners.map(l, l.weight).sum() == 100", true),
        (
            "[has(self.path), has(self.z)].filter(x, x == true).size() == 1",
            true,
        ),
        ("[has(self.path), has(self.z)].exists_one(x, x)", true),
        ("self.tags.all(k, !k.contains('kubernetes.io'))", true),
        (
            "self.tags.exists(k, k == 'team' && self.tags[k] == 'x')",
            true,
        ),
        (
            "ip('10.0.0.1').family() == 4 && cidr(self.cidr).ip().family() == 4 && cidr(self.cidr) == cidr(self.cidr).masked()",
            true,
        ),
        (
            "quantity(string(self.cpu)).compareTo(quantity(string(self.memory))) < 0",
            true,
        ),
        (
            "type(self.cpu) == string ? isQuantity(self.cpu) : self.cpu > 0",
            true,
        ),
        ("self.?a.?b.?c.orValue(0) == 1", true),
        ("self.?a.?b.orValue({}).size() >= 0", true),
        ("has(self.a.b.c) && self.a.b.c == 1", true),
        ("(has(self.z) && self.z == 'x') || !has(self.z)", true),
        ("{'a': 1}.size() == 1 && [1, 2] + [3] == [1, 2, 3]", true),
        (
            "int('5') + 1 == 6 && double('1.5') > 1.0 && string(5) == '5'",
            true,
        ),
        (
            "self.list.join(',') == 'a,b' && self.list.isSorted() && self.list[0] == 'a'",
            true,
        ),
        ("'%s-%d'.format(['a', 1]) == 'a-1'", true),
        (
            "self.path.split('/').size() == 2 && self.path.substring(1).startsWith('a') && self.path.replace('a', 'b') != ''",
            true,
        ),
        (
            "sets.equivalent(self.list, ['b', 'a']) && !sets.intersects(self.list, ['c'])",
            true,
        ),
        (
            "isURL('https://a.b') && url('https://a.b:80/c').getPort() == '80'",
            true,
        ),
        ("semver('1.2.3').isLessThan(semver('2.0.0'))", true),
        ("!format.dns1123Label().validate('ok').hasValue()", true),
        (
            "self.list.exists(x, x == 'a') ? self.list.size() > 5 : true",
            false,
        ),
        (
            "size(self.list) == 2 && self.list.all(x, size(x) == 1)",
            true,
        ),
        (
            "self.list.filter(x, self.list.filter(y, y == x).size() > 1).size() == 0",
            true,
        ),
    ];
    for (rule, holds) in table {
        let mut schema = schema.clone();
        schema["x-kubernetes-validations"] = json!([{"rule": rule}]);
        let schema = with_spec(&schema).expect(rule);
        let errors = schema.validate(&json!({"spec": object}), None);
        assert_eq!(errors.is_empty(), holds, "{rule}: {errors:?}");
    }
}
