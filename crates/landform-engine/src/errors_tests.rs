//! Where errors are told, and what changes for it.

use super::*;

const NOW: &str = "2026-01-02T03:04:05Z";

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

fn problem() -> Problem {
    Problem {
        reason: "ReconcileFailed",
        message: "no license".into(),
    }
}

fn all_fields() -> ErrorPlace {
    ErrorPlace::Condition(ConditionFields {
        reason: true,
        last_transition_time: true,
        observed_generation: true,
    })
}

#[test]
fn r7b_the_schema_says_where_an_error_can_be_told() {
    let text = json!({"type": "string"});
    let items = |properties: Value, more: Value| {
        let mut items = json!({"type": "object", "properties": properties});
        for (name, value) in more.as_object().unwrap() {
            items[name] = value.clone();
        }
        json!({"type": "array", "items": items})
    };
    let least = json!({"type": text, "status": text, "message": text});
    let mut most = least.clone();
    for name in ["reason", "lastTransitionTime", "observedGeneration"] {
        most[name] = text.clone();
    }
    let with = |name: &str, value: Value| {
        let mut properties = least.clone();
        properties[name] = value;
        properties
    };
    let short = ErrorPlace::Condition(ConditionFields::default());
    let table = [
        ("no conditions", json!(null), ErrorPlace::Annotation),
        (
            "another type",
            json!({"type": "string"}),
            ErrorPlace::Annotation,
        ),
        ("the least", items(least.clone(), json!({})), short.clone()),
        (
            "all fields, all of them required",
            items(
                most.clone(),
                json!({"required": ["type", "status", "reason", "message", "lastTransitionTime"]}),
            ),
            all_fields(),
        ),
        (
            "anything goes",
            items(
                json!({}),
                json!({"x-kubernetes-preserve-unknown-fields": true}),
            ),
            all_fields(),
        ),
        (
            "a field is required that is not ours to fill",
            items(
                with("severity", text.clone()),
                json!({"required": ["severity"]}),
            ),
            ErrorPlace::Annotation,
        ),
        (
            "no place for a message",
            items(json!({"type": text, "status": text}), json!({})),
            ErrorPlace::Annotation,
        ),
        (
            "only some types",
            items(
                with("type", json!({"type": "string", "enum": ["Ready"]})),
                json!({}),
            ),
            ErrorPlace::Annotation,
        ),
        (
            "the usual states",
            items(
                with("status", json!({"enum": ["True", "False", "Unknown"]})),
                json!({}),
            ),
            short,
        ),
    ];
    for (what, conditions, expected) in table {
        let schema = json!({"properties": {"status": {"properties": {"conditions": conditions}}}});
        assert_eq!(ErrorPlace::in_schema(&schema), expected, "{what}");
    }
}

#[test]
fn r7b_an_annotation_is_written_when_it_differs_and_goes_when_it_is_well() {
    let bare = object(json!({"metadata": {"name": "a"}}));
    let annotated = |text: &str| {
        object(json!({"metadata": {"name": "a", "annotations": {ANNOTATION_ERROR: text}}}))
    };
    let table = [
        (&bare, None, None),
        (&bare, Some(problem()), Some(json!("no license"))),
        (&annotated("no license"), Some(problem()), None),
        (
            &annotated("another"),
            Some(problem()),
            Some(json!("no license")),
        ),
        (&annotated("no license"), None, Some(Value::Null)),
    ];
    for (object, problem, annotation) in table {
        let expected = Change {
            annotation,
            conditions: None,
        };
        let place = ErrorPlace::Annotation;
        assert_eq!(change(&place, object, problem.as_ref(), NOW), expected);
    }
}

#[test]
fn r7b_a_condition_is_kept_beside_others_and_its_time_moves_only_when_it_turns() {
    let place = all_fields();
    let with = |conditions: Value| {
        object(
            json!({"metadata": {"name": "a", "generation": 3}, "status": {"conditions": conditions}}),
        )
    };
    let theirs = json!({"type": "Ready", "status": "True"});
    let ours = |message: &str, since: &str| {
        json!({
            "type": CONDITION_RECONCILED, "status": "False", "reason": "ReconcileFailed", "message": message,
            "lastTransitionTime": since, "observedGeneration": 3,
        })
    };
    let told = |before: &DynamicObject, problem: Option<&Problem>| {
        change(&place, before, problem, NOW).conditions
    };
    let bare = with(json!([theirs]));
    let expected = json!([theirs, ours("no license", NOW)]);
    assert_eq!(told(&bare, None), None);
    assert_eq!(told(&bare, Some(&problem())), Some(expected.clone()));
    let early = with(json!([ours("another", "2020-01-01T00:00:00Z"), theirs]));
    let moved = json!([ours("no license", "2020-01-01T00:00:00Z"), theirs]);
    assert_eq!(told(&early, Some(&problem())), Some(moved));
    assert_eq!(told(&with(expected.clone()), Some(&problem())), None);
    assert_eq!(told(&with(expected), None), Some(json!([theirs])));
    let alone = with(json!([ours("no license", NOW)]));
    assert_eq!(told(&alone, None), Some(Value::Null));
    // A text that was told before the kind had conditions goes.
    let both = object(json!({"metadata": {"name": "a", "annotations": {ANNOTATION_ERROR: "old"}}}));
    assert_eq!(
        change(&place, &both, None, NOW).annotation,
        Some(Value::Null)
    );
}

#[test]
fn r7b_a_status_that_is_replaced_keeps_our_condition_only() {
    let ours = json!({"type": CONDITION_RECONCILED, "status": "False"});
    let stored = json!({"x": 1, "conditions": [{"type": "Old", "status": "True"}, ours]});
    let theirs = json!({"type": "Ready", "status": "True"});
    for (answer, expected) in [
        (json!({}), json!({"conditions": [ours]})),
        (
            json!({"conditions": [theirs]}),
            json!({"conditions": [theirs, ours]}),
        ),
        (json!({"conditions": [ours]}), json!({"conditions": [ours]})),
    ] {
        let mut wanted = answer.clone();
        keep(&all_fields(), &stored, &mut wanted);
        assert_eq!(wanted, expected, "{answer}");
        let mut wanted = answer.clone();
        keep(&ErrorPlace::Annotation, &stored, &mut wanted);
        assert_eq!(wanted, answer);
    }
}

#[test]
fn r7b_conflicts_and_cancellations_are_no_problems() {
    assert_eq!(Problem::of(&Failure::Conflict("x".into())), None);
    assert_eq!(Problem::of(&Failure::Cancelled), None);
    for failure in [
        Failure::Transient("no license".into()),
        Failure::Invalid("no license".into()),
    ] {
        assert_eq!(Problem::of(&failure), Some(problem()));
    }
    let long = "é".repeat(MESSAGE_BYTES);
    assert_eq!(cut(&long).len(), MESSAGE_BYTES);
}
