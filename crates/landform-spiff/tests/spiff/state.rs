//! What is kept from one evaluation to the next.

use serde_json::{Value, json};

use crate::evaluate;

fn run(text: &str, state: Option<Value>) -> (Value, Option<Value>) {
    let evaluated = evaluate(text, state).unwrap();
    (evaluated.value, evaluated.state)
}

/// Rows of: document, state before, value, state after.
#[test]
fn marked_nodes_keep_what_they_were() {
    let rows = [
        (
            "state:\n  <<<: (( &state ))\n  version: 1\n  more: (( version + 1 ))\nx: (( .state.version ))",
            None,
            json!({"state": {"version": 1, "more": 2}, "x": 1}),
            Some(json!({"state": {"version": 1, "more": 2}})),
        ),
        (
            "state:\n  <<<: (( &state ))\n  version: 1\n  more: (( version + 1 ))\nx: (( .state.version ))",
            Some(json!({"state": {"version": 5, "more": 7, "old": 1}})),
            json!({"state": {"version": 5, "more": 7}, "x": 5}),
            Some(json!({"state": {"version": 5, "more": 7}})),
        ),
        (
            "s: (( &state ( 1 ) ))\nx: (( s ))",
            Some(json!({"s": 7})),
            json!({"s": 7, "x": 7}),
            Some(json!({"s": 7})),
        ),
        (
            "s: (( &state ( ( merge || 0 ) + 1 ) ))",
            Some(json!({"s": 7})),
            json!({"s": 8}),
            Some(json!({"s": 8})),
        ),
        (
            "s:\n  <<<: (( &state(merge none) ))\n  c: (( stub() + 1 || 1 ))\n  d: (( stub(s.c) || 0 ))",
            Some(json!({"s": {"c": 7}})),
            json!({"s": {"c": 8, "d": 7}}),
            Some(json!({"s": {"c": 8, "d": 7}})),
        ),
        (
            "s:\n  <<<: (( &state(merge) ))\n  l: 1",
            Some(json!({"s": {"l": 2, "m": 4}})),
            json!({"s": {"l": 2, "m": 4}}),
            Some(json!({"s": {"l": 2, "m": 4}})),
        ),
        (
            "s:\n  <<<: (( &state ))\n  l: [1, 2]\n  n: [{name: a, v: 1}]",
            Some(json!({"s": {"l": [5], "n": [{"name": "a", "v": 2}, {"name": "b"}]}})),
            json!({"s": {"l": [1, 2], "n": [{"name": "a", "v": 2}]}}),
            Some(json!({"s": {"l": [1, 2], "n": [{"name": "a", "v": 2}]}})),
        ),
        ("s: (( &state &temporary ( 1 ) ))", None, json!({}), None),
        (
            "a: {s: (( &state(4) ))}",
            None,
            json!({"a": {"s": 4}}),
            None,
        ),
        (
            "state: {runs: 1}",
            None,
            json!({"state": {"runs": 1}}),
            None,
        ),
    ];
    for (text, before, value, after) in rows {
        assert_eq!(run(text, before), (value, after), "{text}");
    }
}
