//! What holds for all rules and bindings.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::index::{Binding, Index};
use super::super::rule::Rule;
use super::{allowed, binding, index, jane, rules};
use crate::identity::{AUTHENTICATED, Identity};

fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(str::to_owned)
}

fn any_rule() -> impl Strategy<Value = Value> {
    let list = |words: &'static [&'static str]| prop::collection::vec(word(words), 0..3);
    (
        list(&["get", "list", "*", "create"]),
        list(&["", "apps", "*"]),
        list(&["pods", "pods/log", "*", "*/log", "deployments"]),
        list(&["x", "y"]),
        list(&["/metrics", "/a/*", "*"]),
    )
        .prop_map(|(verbs, groups, resources, names, urls)| {
            json!({"verbs": verbs, "apiGroups": groups, "resources": resources,
                   "resourceNames": names, "nonResourceURLs": urls})
        })
}

/// A binding's namespace, the kind and name of its role, and its subject.
fn any_binding() -> impl Strategy<Value = (String, (String, String), (String, String))> {
    (
        word(&["", "a", "b"]),
        (word(&["Role", "ClusterRole"]), word(&["r", "s", "absent"])),
        (
            word(&["User", "Group", "ServiceAccount"]),
            word(&["jane", "developers", "a/x"]),
        ),
    )
}

const REQUESTS: [&str; 10] = [
    "GET /api/v1/namespaces/a/pods/x",
    "GET /api/v1/namespaces/a/pods/y/log",
    "GET /api/v1/namespaces/a/pods",
    "GET /api/v1/pods",
    "POST /api/v1/namespaces/b/pods",
    "GET /apis/apps/v1/namespaces/b/deployments/x",
    "GET /apis/apps/v1/namespaces/a/deployments/z/log",
    "DELETE /api/v1/namespaces/a/pods/x",
    "GET /metrics",
    "GET /a/b",
];

proptest! {
    #[test]
    fn another_binding_never_takes_rights_away_and_taking_it_back_leaves_what_was(
        rule_lists in prop::collection::vec(prop::collection::vec(any_rule(), 0..3), 4),
        bindings in prop::collection::vec(any_binding(), 1..6),
    ) {
        let keys = [("", "r"), ("", "s"), ("a", "r"), ("b", "s")];
        let roles: Vec<_> = keys
            .iter()
            .zip(rule_lists)
            .map(|((namespace, name), list)| (*namespace, *name, rules(json!(list))))
            .collect();
        let mut index = index(&roles, &[]);
        let people = [jane(), Identity::service_account("a", "x"), Identity::new("", [AUTHENTICATED])];
        let rights = |index: &Index| -> Vec<bool> {
            let each = people.iter().flat_map(|who| REQUESTS.map(|request| (who, request)));
            each.map(|(who, request)| allowed(index, who, request)).collect()
        };
        let mut history = vec![rights(&index)];
        for (at, (namespace, role, subject)) in bindings.iter().enumerate() {
            let object = binding((&role.0, &role.1), &[(&subject.0, &subject.1)]);
            let bound = Binding::from_object(object.as_object().unwrap(), namespace);
            index.put_binding(namespace, &format!("b{at}"), Some(bound));
            let now = rights(&index);
            let before = history.last().unwrap();
            prop_assert!(before.iter().zip(&now).all(|(before, now)| !before || *now));
            history.push(now);
        }
        for (at, (namespace, ..)) in bindings.iter().enumerate().rev() {
            prop_assert_eq!(Some(rights(&index)), history.pop());
            index.put_binding(namespace, &format!("b{at}"), None);
        }
        prop_assert_eq!(Some(rights(&index)), history.pop());
    }

    #[test]
    fn who_covers_a_rule_may_do_all_that_it_allows(own in any_rule(), other in any_rule()) {
        let read = |rule: &Value| serde_json::from_value::<Rule>(rule.clone()).unwrap();
        let (a, b) = (read(&own), read(&other));
        prop_assume!(b.pieces().all(|piece| a.covers(&piece)));
        let index = |rule: Value| index(
            &[("", "r", rules(json!([rule])))],
            &[("", "b", binding(("ClusterRole", "r"), &[("User", "jane")]))],
        );
        let (a, b) = (index(own), index(other));
        for request in REQUESTS {
            prop_assert!(!allowed(&b, &jane(), request) || allowed(&a, &jane(), request), "{}", request);
        }
    }
}
