//! What rules may cost, estimated and at run time.

use serde_json::{Value, json};

use super::{check, spec, with_spec};

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
fn what_a_call_makes_is_paid_for_before_it_is_made() {
    let schema = |rule: &str| {
        let properties = json!({
            "s": {"type": "string"},
            "l": {"type": "array", "maxItems": 20_000, "items": {"type": "string", "maxLength": 10}},
            "p": {"type": "string", "maxLength": 20},
        });
        let schema = json!({"type": "object", "properties": properties,
            "x-kubernetes-validations": [{"rule": rule}]});
        with_spec(&schema).unwrap_or_else(|errors| panic!("{rule}: {errors:?}"))
    };
    // What the rule costs with these values would be gigabytes, or minutes.
    let long = "a".repeat(60_000);
    let list: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    for rule in [
        "self.s.replace('a', self.s).size() > 0",
        "self.s.replace('', self.s).size() > 0",
        "self.s.replace('a', self.s).replace('a', self.s).size() > 0",
        "self.s.indexOf(self.s.substring(30000) + 'b') < 0",
        "self.s.lastIndexOf('b' + self.s.substring(30000)) < 0",
        "self.l.join(self.s).size() > 0",
        "lists.range(1000000000).size() > 0",
        "sets.contains(self.l, self.l)",
        "sets.equivalent(self.l, self.l)",
        "self.l.distinct().size() > 0",
        "self.l.all(x, !x.matches(self.p + x))",
        "!self.s.matches(self.p + 'b')",
        "self.s.find(self.p + 'b') == ''",
        "self.s.findAll(self.p + 'b').size() == 0",
    ] {
        let pattern = "(a|aa|aaa){1,900}";
        let object = json!({"spec": {"s": long, "l": list, "p": pattern}});
        let errors = schema(rule).validate(&object, None);
        let text = errors.first().map(ToString::to_string).unwrap_or_default();
        assert!(
            text.contains("call cost exceeds limit"),
            "{rule}: {errors:?}"
        );
        // Small ones cost little, and give what they should.
        let errors = schema(rule).validate(
            &json!({"spec": {"s": "aba".repeat(20), "l": ["x", "y"], "p": "[ab]*"}}),
            None,
        );
        let text = errors.first().map(ToString::to_string).unwrap_or_default();
        let is_cheap = !rule.starts_with("lists");
        assert_eq!(!text.contains("cost"), is_cheap, "{rule}: {errors:?}");
    }
    let errors =
        schema("'%.999999999f'.format([1.0]).size() > 0").validate(&json!({"spec": {}}), None);
    assert!(
        errors[0].to_string().contains("too many digits"),
        "{errors:?}"
    );
    assert!(check("'%.2f'.format([1.0]) == '1.00'", &json!({"min": 1}), None).is_empty());
    assert!(
        check(
            "'a-b'.replace('-', '+') == 'a+b' && 'a,b'.split(',').join('+') == 'a+b'",
            &json!({"min": 1}),
            None
        )
        .is_empty()
    );
    assert!(
        check(
            "lists.range(3) == [0, 1, 2] && 'abc'.indexOf('c') == 2",
            &json!({"min": 1}),
            None
        )
        .is_empty()
    );
}

#[test]
fn the_largest_rules_fit_the_stack() {
    let sum = format!("{} > 0", vec!["self.min"; 490].join(" + "));
    with_spec(&spec(&json!([{"rule": sum}]))).expect("a long sum");
    assert!(check(&sum, &json!({"min": 1}), None).is_empty());
    let nested = format!("{}true{}", "(".repeat(60), ")".repeat(60));
    let _ = with_spec(&spec(&json!([{"rule": nested}])));
    let chain = vec!["self.min > 0"; 240].join(" && ");
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
