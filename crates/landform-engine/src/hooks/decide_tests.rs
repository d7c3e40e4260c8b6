//! Tables of what is done for which children.

use super::*;
use proptest::prelude::*;

/// What is decided when nobody else wrote any of the children.
fn decide(owner: &Owner, wanted: &[Child], existing: &[Child]) -> Decision {
    super::decide(owner, wanted, existing, &|_| false)
}

fn owner() -> Owner {
    Owner {
        kind: GroupVersionKind::new("example.com", "v1", "Widget"),
        namespace: Some("shop".into()),
        name: "web".into(),
        uid: "u1".into(),
        deleting: false,
    }
}

fn kinds() -> Vec<OwnedKind> {
    let kind = |kind, scope| OwnedKind {
        name: GroupVersionKind::new("", "v1", kind),
        scope,
    };
    vec![
        kind("ConfigMap", Scope::Namespaced),
        kind("Namespace", Scope::Cluster),
        kind("Gone", Scope::Unknown),
    ]
}

fn map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn listed(values: &[Value]) -> Vec<Child> {
    wanted(&owner(), &kinds(), values).unwrap()
}

/// What the API has after a child was created.
fn created(value: &Value) -> Child {
    let decision = decide(&owner(), &listed(std::slice::from_ref(value)), &[]);
    let [Action::Create(child)] = decision.actions.as_slice() else {
        panic!("{decision:?}");
    };
    let mut child = child.clone();
    child.value["metadata"]["uid"] = json!(format!("uid-of-{}", child.name.name));
    child.value["metadata"]["resourceVersion"] = json!("7");
    child
}

#[test]
fn many_children_are_compared_by_an_index_and_too_many_are_refused() {
    let maps = |count: usize| -> Vec<Value> {
        (0..count)
            .map(|at| map(&format!("m{at}"), json!({})))
            .collect()
    };
    let children = listed(&maps(CHILDREN_MAX));
    let decision = decide(&owner(), &children, &children);
    assert_eq!(decision.problems.len(), CHILDREN_MAX, "not owned");
    let problems = wanted(&owner(), &kinds(), &maps(CHILDREN_MAX + 1)).unwrap_err();
    assert_eq!(
        problems,
        ["owned lists 10001 children, and an object has at most 10000"]
    );
    let twice = vec![map("a", json!({})); CHILDREN_MAX];
    let problems = wanted(&owner(), &kinds(), &twice).unwrap_err();
    assert_eq!(problems.len(), PROBLEMS_TOLD_MAX);
}

fn with(child: &Child, pointer: &str, value: Value) -> Child {
    let mut child = child.clone();
    *child.value.pointer_mut(pointer).unwrap() = value;
    child
}

/// The actions and problems in short words.
fn words(decision: &Decision) -> Vec<String> {
    let actions = decision.actions.iter().map(|action| match action {
        Action::Create(child) => format!("create {}", child.name),
        Action::Patch(child) => format!("patch {} {}", child.name, child.value),
        Action::Replace(child) => format!("replace {} {}", child.name, child.value),
        Action::Delete { name, uid } => format!("delete {name} {uid}"),
    });
    actions.chain(decision.problems.iter().cloned()).collect()
}

#[test]
fn r2_children_are_created_changed_deleted_and_left_alone() {
    let a = map("a", json!({"k": "v"}));
    let have = created(&a);
    let mut marked = have.clone();
    marked.value["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut foreign = have.clone();
    foreign.value["metadata"]["ownerReferences"] = json!([]);
    let drifted = with(&have, "/data/k", json!("other"));
    let more = with(&have, "/data", json!({"k": "v", "theirs": "x"}));
    let none: Vec<&str> = vec![];
    let table = [
        (
            "a new child",
            vec![&a],
            vec![],
            vec!["create ConfigMap shop/a"],
        ),
        (
            "convergence, then silence",
            vec![&a],
            vec![&have],
            none.clone(),
        ),
        ("somebody else's field", vec![&a], vec![&more], none.clone()),
        (
            "drift",
            vec![&a],
            vec![&drifted],
            vec![r#"patch ConfigMap shop/a {"data":{"k":"v"},"metadata":{"uid":"uid-of-a"}}"#],
        ),
        (
            "dropped",
            vec![],
            vec![&have],
            vec!["delete ConfigMap shop/a uid-of-a"],
        ),
        (
            "dropped and going already",
            vec![],
            vec![&marked],
            none.clone(),
        ),
        ("wanted and going", vec![&a], vec![&marked], none.clone()),
        (
            "foreign",
            vec![&a],
            vec![&foreign],
            vec!["ConfigMap shop/a exists and is not owned by this Widget; it is left alone"],
        ),
        ("foreign and not wanted", vec![], vec![&foreign], none),
    ];
    for (what, want, existing, expected) in table {
        let want: Vec<Value> = want.into_iter().cloned().collect();
        let existing: Vec<Child> = existing.into_iter().cloned().collect();
        let decision = decide(&owner(), &listed(&want), &existing);
        assert_eq!(words(&decision), expected, "{what}");
    }
}

#[test]
fn a_field_that_the_hook_drops_goes_and_others_stay() {
    let have = created(&map("a", json!({"k": "v", "old": "x"})));
    let have = with(&have, "/data", json!({"k": "v", "old": "x", "theirs": "y"}));
    let decision = decide(&owner(), &listed(&[map("a", json!({"k": "v"}))]), &[have]);
    let [Action::Patch(patch)] = decision.actions.as_slice() else {
        panic!("{decision:?}");
    };
    assert_eq!(patch.value["data"], json!({"old": null}));
    let memory = &patch.value["metadata"]["annotations"][ANNOTATION_LAST_APPLIED];
    let memory: Value = serde_json::from_str(memory.as_str().unwrap()).unwrap();
    assert_eq!(memory["data"], json!({"k": null}));
}

#[test]
fn annotations_that_the_hook_drops_take_no_others_with_them() {
    let mut first = map("a", json!({}));
    first["metadata"]["annotations"] = json!({"mine": "1"});
    let mut have = created(&first);
    have.value["metadata"]["annotations"]["theirs"] = json!("2");
    let decision = decide(&owner(), &listed(&[map("a", json!({}))]), &[have]);
    let [Action::Patch(patch)] = decision.actions.as_slice() else {
        panic!("{decision:?}");
    };
    let annotations = patch.value["metadata"]["annotations"].as_object().unwrap();
    assert_eq!(annotations["mine"], Value::Null);
    assert!(!annotations.contains_key("theirs"), "{annotations:?}");
}

#[test]
fn a_created_child_names_its_owner_and_what_was_applied() {
    let child = created(&map("a", json!({"k": "v"})));
    let metadata = &child.value["metadata"];
    let owner = json!([{
        "apiVersion": "example.com/v1", "kind": "Widget", "name": "web", "uid": "u1",
        "controller": true, "blockOwnerDeletion": true,
    }]);
    assert_eq!(metadata["ownerReferences"], owner);
    assert_eq!(metadata["labels"], json!({LABEL_OWNER: "u1"}));
    assert_eq!(metadata["namespace"], "shop");
    assert!(metadata["annotations"][ANNOTATION_LAST_APPLIED].is_string());
}

#[test]
fn a_hook_may_answer_with_what_it_was_shown() {
    let have = created(&map("a", json!({"k": "v"})));
    let mut shown = have.value.clone();
    shown["status"] = json!({"phase": "x"});
    let decision = decide(&owner(), &listed(&[shown]), std::slice::from_ref(&have));
    assert_eq!(decision, Decision::default());
}

#[test]
fn while_the_owner_goes_nothing_is_created() {
    let going = Owner {
        deleting: true,
        ..owner()
    };
    let a = map("a", json!({"k": "v"}));
    assert_eq!(
        decide(&going, &listed(std::slice::from_ref(&a)), &[]),
        Decision::default()
    );
    let drifted = with(&created(&a), "/data/k", json!("other"));
    assert_eq!(
        decide(&going, &listed(&[a]), std::slice::from_ref(&drifted))
            .actions
            .len(),
        1
    );
    assert_eq!(
        words(&decide(&going, &[], &[drifted])),
        ["delete ConfigMap shop/a uid-of-a"]
    );
}

#[test]
fn children_that_can_not_be_meant_are_explained() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    let other_version = json!({"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let elsewhere = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}});
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    let gone = json!({"apiVersion": "v1", "kind": "Gone", "metadata": {"name": "g"}});
    let a = map("a", json!({}));
    let table = [
        (
            vec![gone],
            "owned[0] (Gone) is of a kind that the API doesn't know",
        ),
        (
            vec![map("../x", json!({}))],
            "owned[0] has no name that an object can have",
        ),
        (vec![json!(7)], "owned[0] has no apiVersion"),
        (vec![json!({"apiVersion": "v1"})], "owned[0] has no kind"),
        (
            vec![json!({"apiVersion": "v1", "kind": "ConfigMap"})],
            "owned[0] has no metadata.name",
        ),
        (
            vec![secret],
            "owned[0] is of a kind that spec.owns doesn't list",
        ),
        (
            vec![other_version],
            "owned[0] is of a kind that spec.owns doesn't list",
        ),
        (
            vec![elsewhere],
            "is in another namespace than its owner, which is in shop",
        ),
        (
            vec![space],
            "is of a kind without namespaces, and web is in one",
        ),
        (vec![a.clone(), a], "owned[1] is listed twice"),
    ];
    for (values, expected) in table {
        let problems = wanted(&owner(), &kinds(), &values).unwrap_err();
        assert!(problems[0].contains(expected), "{values:?}: {problems:?}");
    }
}

#[test]
fn an_owner_without_a_namespace_says_where_its_children_are() {
    let owner = Owner {
        namespace: None,
        ..owner()
    };
    let mut child = map("a", json!({}));
    let problems = wanted(&owner, &kinds(), std::slice::from_ref(&child)).unwrap_err();
    assert_eq!(problems, ["owned[0] (ConfigMap) has no metadata.namespace"]);
    child["metadata"]["namespace"] = json!("x");
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    let children = wanted(&owner, &kinds(), &[child, space]).unwrap();
    let names: Vec<_> = children
        .iter()
        .map(|child| child.name.to_string())
        .collect();
    assert_eq!(names, ["ConfigMap x/a", "Namespace n"]);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i8>().prop_map(Value::from),
        "(v1|ConfigMap|Namespace|Secret|shop|a)".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        let name = "(apiVersion|kind|metadata|name|namespace|labels|annotations|data)";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_a_hook_lists_ends_in_children_or_an_explanation(
        mut values in prop::collection::vec(any_json(), 0..3),
        valid in any::<bool>(),
    ) {
        if valid {
            // Otherwise hardly any would pass.
            for (at, value) in values.iter_mut().enumerate() {
                let mut child = map(&format!("n{at}"), value.clone());
                child["metadata"]["labels"] = value["labels"].clone();
                child["metadata"]["annotations"] = value.clone();
                *value = child;
            }
        }
        match wanted(&owner(), &kinds(), &values) {
            Err(problems) => prop_assert!(!valid && !problems.is_empty()),
            Ok(children) => {
                let first = decide(&owner(), &children, &[]);
                prop_assert_eq!(first.actions.len(), values.len());
                let existing: Vec<Child> = first.actions.into_iter().map(|action| match action {
                    Action::Create(child) => child,
                    other => panic!("{other:?}"),
                }).collect();
                prop_assert_eq!(decide(&owner(), &children, &existing), Decision::default());
            }
        }
    }
}

#[test]
fn c6_of_a_child_that_landform_acts_for_nothing_stays_that_others_wrote() {
    let kinds = [OwnedKind {
        name: GroupVersionKind::new("landscaper.gardener.cloud", "v1alpha1", "DeployItem"),
        scope: Scope::Namespaced,
    }];
    let item = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
        "metadata": {"name": "a"}, "spec": {"config": {"command": ["date"]}},
    });
    let wanted = wanted(&owner(), &kinds, &[item]).unwrap();
    let Some(Action::Create(mut child)) = decide(&owner(), &wanted, &[]).actions.pop() else {
        panic!("it is created");
    };
    child.value["metadata"]["uid"] = json!("u2");
    child.value["metadata"]["resourceVersion"] = json!("7");
    assert_eq!(
        decide(&owner(), &wanted, std::slice::from_ref(&child)).actions,
        []
    );
    child.value["spec"]["config"]["env"] = json!({"PATH": "."});
    let decision = super::decide(&owner(), &wanted, &[child], &|_| true);
    let [Action::Replace(change)] = decision.actions.as_slice() else {
        panic!("{decision:?}");
    };
    assert_eq!(change.value["spec"], json!({"config": {"env": null}}));
    // Whatever is written in between isn't known.
    assert_eq!(change.value["metadata"]["resourceVersion"], "7");
    assert_eq!(change.value["metadata"]["uid"], "u2");
}
