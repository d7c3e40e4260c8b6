//! Values and schemas that are made to take the server's time: each check is paid for in steps.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{messages, schema};

/// What checking takes at most where nothing is optimised.
const LONGEST: Duration = Duration::from_secs(10);

fn check(property: &Value, value: &Value) -> Vec<String> {
    let schema = schema(&json!({"x": property}));
    let start = Instant::now();
    let errors = messages(&schema, &json!({"spec": {"x": value}}));
    let took = start.elapsed();
    assert!(took < LONGEST, "{took:?}: {property:.100}");
    errors
}

#[test]
fn patterns_cost_their_states_for_each_byte() {
    let text = "a".repeat(60_000);
    let slow = json!({"type": "string", "pattern": "(?:a|b.)[a-m]{30000}[^a-z]"});
    let errors = check(&slow, &json!(text));
    assert!(errors[0].contains("steps"), "{errors:?}");
    // What is just affordable.
    let pattern = "(?:a|b.)[a-m]{2000}[^a-z]";
    let errors = check(&json!({"type": "string", "pattern": pattern}), &json!(text));
    assert!(errors[0].contains("should match"), "{errors:?}");
    // One whose states can't be told in advance: all of them are followed for each byte.
    let mut random = 1_u64;
    let mixed: String = std::iter::repeat_with(|| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        if random >> 63 == 0 { 'a' } else { 'b' }
    })
    .take(60_000)
    .collect();
    let pattern = "[ab]*a[ab]{2000}c";
    let errors = check(
        &json!({"type": "string", "pattern": pattern}),
        &json!(mixed),
    );
    assert!(errors[0].contains("should match"), "{errors:?}");
    // Alone it is affordable, but not in each branch.
    let branches: Vec<Value> = (0..100)
        .map(|n| json!({"pattern": format!("(?:a|b.)[a-m]{{{}}}[^a-z]", 1_000 + n)}))
        .collect();
    let errors = check(&json!({"type": "string", "anyOf": branches}), &json!(text));
    assert!(
        errors.last().is_some_and(|error| error.contains("steps")),
        "{errors:?}"
    );
    let usual = json!({"type": "array", "items": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}});
    let names = vec!["a-name-as-long-as-names-usually-are"; 50_000];
    assert_eq!(check(&usual, &json!(names)), Vec::<String>::new());
}

#[test]
fn large_values_of_enums_cost_what_is_compared_and_are_shown_in_part() {
    let long = |n: usize| format!("{}{n:04}", "x".repeat(9_000));
    let values: Vec<String> = (0..100).map(long).collect();
    let branch = json!({"properties": {"a": {"enum": values}}});
    let property = json!({"type": "array", "items": {"type": "object",
        "properties": {"a": {"type": "string"}}, "anyOf": vec![branch; 10]}});
    let entries: Vec<Value> = (0..4_000).map(|_| json!({"a": "y"})).collect();
    let errors = check(&property, &json!(entries));
    assert!(errors.len() <= 100);
    let errors = check(&json!({"type": "string", "enum": values}), &json!("y"));
    assert!(errors[0].len() < 1_000, "{}", errors[0].len());
    assert!(errors[0].contains("and 99 others"), "{}", errors[0]);
    // Values that differ at their ends only.
    let values: Vec<Value> = (0..400).map(|n| json!([long(n)])).collect();
    let property = json!({"type": "array", "items":
        {"x-kubernetes-preserve-unknown-fields": true, "enum": values}});
    let errors = check(&property, &json!(vec![json!([long(9_999)]); 90]));
    assert!(!errors.is_empty());
    let nodes: Vec<usize> = (0..1_000).collect();
    let values: Vec<Value> = (0..100).map(|n| json!([nodes, n])).collect();
    let property = json!({"type": "array", "items":
        {"x-kubernetes-preserve-unknown-fields": true, "enum": values}});
    let entry = json!([nodes, 99]);
    let errors = check(&property, &json!(vec![entry; 2_000]));
    assert!(errors[0].contains("steps"), "{errors:?}");
}

#[test]
fn branches_say_only_whether_they_hold() {
    // Each entry fails in all branches, and each failure would be a long message.
    let branches: Vec<Value> = (0..50)
        .map(|n| json!({"required": [format!("{}{n}", "r".repeat(2_000))], "minProperties": 3}))
        .collect();
    let property = json!({"type": "array", "items": {"type": "object", "anyOf": branches,
        "x-kubernetes-preserve-unknown-fields": true}});
    let entries: Vec<Value> = (0..20_000).map(|_| json!({"a": "y"})).collect();
    let errors = check(&property, &json!(entries));
    assert_eq!(errors.len(), 100);
    assert!(errors[0].contains("at least one schema (anyOf)"));
}

#[test]
fn a_schema_knows_whether_checks_are_costly() {
    let rule = json!([{"rule": "self.size() > 0"}]);
    let words: Vec<String> = (0..200).map(|n| format!("word-{n}")).collect();
    for (property, is_costly) in [
        (json!({"type": "string", "maxLength": 3}), false),
        (json!({"type": "string", "enum": ["a", "b"]}), false),
        (json!({"type": "string", "enum": words}), true),
        (json!({"type": "string", "pattern": "^a$"}), true),
        (json!({"type": "string", "not": {"maxLength": 3}}), true),
        (
            json!({"type": "string", "maxLength": 30, "x-kubernetes-validations": rule}),
            true,
        ),
    ] {
        assert_eq!(
            schema(&json!({"x": property})).is_costly(),
            is_costly,
            "{property}"
        );
    }
    for kind in crate::builtin::kinds() {
        assert!(!kind.schema.is_costly(), "{}", kind.kind);
    }
}
