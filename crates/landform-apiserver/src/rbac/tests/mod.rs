//! Tables of the decision.

mod properties;

use http::Method;
use serde_json::{Value, json};

use super::ask::{Action, Ask};
use super::index::{Binding, Index, Role, RoleKey};
use super::rule::Rule;
use crate::identity::{AUTHENTICATED, Identity};
use crate::request::path;
use crate::request::query::Query;

/// An index of roles (`namespace`, or "" for a ClusterRole) and bindings.
fn index(roles: &[(&str, &str, Value)], bindings: &[(&str, &str, Value)]) -> Index {
    let mut index = Index::default();
    for (namespace, name, role) in roles {
        let key = RoleKey {
            namespace: (*namespace).into(),
            name: (*name).into(),
        };
        let role = Role::from_object(role.as_object().unwrap());
        index.put_role(key, Some(role));
    }
    index.gather();
    for (namespace, name, binding) in bindings {
        let binding = Binding::from_object(binding.as_object().unwrap(), namespace);
        index.put_binding(namespace, name, Some(binding));
    }
    index
}

fn binding(role: (&str, &str), subjects: &[(&str, &str)]) -> Value {
    let subjects: Vec<Value> = subjects
        .iter()
        .map(|(kind, name)| match name.split_once('/') {
            Some((namespace, name)) => {
                json!({"kind": kind, "namespace": namespace, "name": name})
            }
            None => json!({"kind": kind, "name": name}),
        })
        .collect();
    json!({"roleRef": {"kind": role.0, "name": role.1}, "subjects": subjects})
}

fn rules(rules: Value) -> Value {
    json!({"rules": rules})
}

/// A request, as `METHOD path`, by somebody.
fn allowed(index: &Index, who: &Identity, request: &str) -> bool {
    let (method, uri) = request.split_once(' ').unwrap();
    let method: Method = method.parse().unwrap();
    let (uri_path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let query = Query::parse(Some(query)).unwrap();
    let target = path::parse(uri_path);
    let is_watch = query.flag("watch").unwrap();
    let ask = Ask::of(&method, &target, uri_path, &query, is_watch, None);
    index.decide(who, &ask).is_some()
}

fn jane() -> Identity {
    Identity::new("jane", ["developers", AUTHENTICATED])
}

#[test]
fn requests_are_allowed_by_what_rules_name() {
    let table: [(Value, &[&str], &[&str]); 11] = [
        (
            json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}),
            &[
                "GET /api/v1/namespaces/a/pods/x",
                "GET /api/v1/namespaces/a/pods",
                "HEAD /api/v1/namespaces/a/pods/x",
            ],
            &[
                "GET /api/v1/namespaces/a/pods?watch=true",
                "POST /api/v1/namespaces/a/pods",
                "GET /api/v1/namespaces/a/pods/x/log",
                "GET /api/v1/namespaces/a/configmaps/x",
                "GET /apis/apps/v1/namespaces/a/pods/x",
                "GET /api/v1/namespaces/b/pods/x",
                "GET /api/v1/pods",
            ],
        ),
        (
            json!({"verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"]}),
            &[
                "PUT /apis/apps/v1/namespaces/a/deployments/x",
                "PATCH /apis/apps/v1/namespaces/a/deployments/x/scale",
                "DELETE /apis/apps/v1/namespaces/a/deployments",
                "OPTIONS /apis/apps/v1/namespaces/a/deployments",
            ],
            &[
                "GET /api/v1/namespaces/a/pods",
                "GET /apis/apps/v1/deployments",
            ],
        ),
        (
            json!({"verbs": ["get"], "apiGroups": ["*"], "resources": ["*/scale", "pods/log"]}),
            &[
                "GET /apis/apps/v1/namespaces/a/deployments/x/scale",
                "GET /api/v1/namespaces/a/pods/x/log",
            ],
            &[
                "GET /apis/apps/v1/namespaces/a/deployments/x",
                "GET /api/v1/namespaces/a/pods/x",
                "GET /api/v1/namespaces/a/services/x/log",
                "GET /apis/apps/v1/namespaces/a/scale/x",
            ],
        ),
        (
            json!({"verbs": ["get", "list", "watch", "update", "delete", "create", "deletecollection"],
                   "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"]}),
            &[
                "GET /api/v1/namespaces/a/configmaps/mine",
                "PUT /api/v1/namespaces/a/configmaps/mine",
                "DELETE /api/v1/namespaces/a/configmaps/mine",
                "GET /api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dmine",
                "GET /api/v1/namespaces/a/configmaps?watch=1&fieldSelector=metadata.name=mine",
            ],
            &[
                "GET /api/v1/namespaces/a/configmaps/other",
                "GET /api/v1/namespaces/a/configmaps",
                "GET /api/v1/namespaces/a/configmaps?fieldSelector=metadata.name!=mine",
                "GET /api/v1/namespaces/a/configmaps?fieldSelector=metadata.name=other",
                "POST /api/v1/namespaces/a/configmaps",
                "DELETE /api/v1/namespaces/a/configmaps?fieldSelector=metadata.name=mine",
            ],
        ),
        (
            json!({"verbs": ["delete"], "apiGroups": [""], "resources": ["pods"]}),
            &["DELETE /api/v1/namespaces/a/pods/x"],
            &["DELETE /api/v1/namespaces/a/pods"],
        ),
        (
            json!({"verbs": ["deletecollection"], "apiGroups": [""], "resources": ["pods"]}),
            &["DELETE /api/v1/namespaces/a/pods"],
            &["DELETE /api/v1/namespaces/a/pods/x"],
        ),
        (
            json!({"verbs": ["watch"], "apiGroups": [""], "resources": ["pods"]}),
            &[
                "GET /api/v1/namespaces/a/pods?watch=true",
                "GET /api/v1/namespaces/a/pods/x?watch=true",
            ],
            &[
                "GET /api/v1/namespaces/a/pods",
                "GET /api/v1/namespaces/a/pods/x",
            ],
        ),
        (
            json!({"verbs": ["get"], "apiGroups": [""], "resources": ["namespaces"]}),
            &["GET /api/v1/namespaces/a"],
            &["GET /api/v1/namespaces/b", "GET /api/v1/namespaces"],
        ),
        (
            json!({"verbs": ["create"], "apiGroups": [""], "resources": ["serviceaccounts/token"]}),
            &["POST /api/v1/namespaces/a/serviceaccounts/x/token"],
            &[
                "POST /api/v1/namespaces/a/serviceaccounts",
                "GET /api/v1/namespaces/a/serviceaccounts/x/token",
            ],
        ),
        (
            // A role in a namespace has no say about paths.
            json!({"verbs": ["*"], "nonResourceURLs": ["*"]}),
            &[],
            &["GET /metrics", "GET /api", "GET /api/v1/namespaces/a/pods"],
        ),
        (
            json!({"verbs": ["get"], "apiGroups": [], "resources": ["pods"]}),
            &[],
            &["GET /api/v1/namespaces/a/pods/x"],
        ),
    ];
    for (rule, yes, no) in table {
        let index = index(
            &[("a", "r", rules(json!([rule])))],
            &[("a", "b", binding(("Role", "r"), &[("User", "jane")]))],
        );
        for request in yes {
            assert!(allowed(&index, &jane(), request), "{rule}: {request}");
        }
        for request in no {
            assert!(!allowed(&index, &jane(), request), "{rule}: {request}");
        }
    }
}

#[test]
fn paths_are_allowed_exactly_or_by_their_beginning() {
    let urls = json!(["/metrics", "/logs/*"]);
    let index = index(
        &[(
            "",
            "r",
            rules(json!([{"verbs": ["get"], "nonResourceURLs": urls}])),
        )],
        &[(
            "",
            "b",
            binding(("ClusterRole", "r"), &[("Group", "developers")]),
        )],
    );
    for (request, expected) in [
        ("GET /metrics", true),
        ("GET /logs/a/b", true),
        ("POST /metrics", false),
        ("GET /metrics/more", false),
        ("GET /logs", false),
        ("GET /version", false),
    ] {
        assert_eq!(allowed(&index, &jane(), request), expected, "{request}");
    }
}

#[test]
fn bindings_say_who_and_where() {
    let get = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    let roles = [
        ("a", "local", rules(get.clone())),
        ("", "shared", rules(get)),
    ];
    let account = Identity::service_account("a", "x");
    let foreign = Identity::service_account("b", "x");
    let (in_a, in_b) = (
        "GET /api/v1/namespaces/a/pods/p",
        "GET /api/v1/namespaces/b/pods/p",
    );
    let (local, shared) = (("Role", "local"), ("ClusterRole", "shared"));
    let table = [
        ("a", binding(local, &[("User", "jane")]), jane(), in_a, true),
        (
            "a",
            binding(local, &[("User", "jane")]),
            jane(),
            in_b,
            false,
        ),
        (
            "b",
            binding(local, &[("User", "jane")]),
            jane(),
            in_b,
            false,
        ),
        ("", binding(local, &[("User", "jane")]), jane(), in_a, false),
        (
            "b",
            binding(shared, &[("User", "jane")]),
            jane(),
            in_b,
            true,
        ),
        (
            "b",
            binding(shared, &[("User", "jane")]),
            jane(),
            in_a,
            false,
        ),
        ("", binding(shared, &[("User", "jane")]), jane(), in_a, true),
        (
            "",
            binding(shared, &[("User", "john")]),
            jane(),
            in_a,
            false,
        ),
        (
            "",
            binding(shared, &[("Group", "developers")]),
            jane(),
            in_b,
            true,
        ),
        (
            "",
            binding(shared, &[("Group", "jane")]),
            jane(),
            in_b,
            false,
        ),
        (
            "",
            binding(shared, &[("User", "developers")]),
            jane(),
            in_b,
            false,
        ),
        (
            "a",
            binding(local, &[("ServiceAccount", "x")]),
            account.clone(),
            in_a,
            true,
        ),
        (
            "a",
            binding(local, &[("ServiceAccount", "x")]),
            foreign.clone(),
            in_a,
            false,
        ),
        (
            "a",
            binding(local, &[("ServiceAccount", "b/x")]),
            foreign,
            in_a,
            true,
        ),
        (
            "a",
            binding(local, &[("ServiceAccount", "b/x")]),
            account.clone(),
            in_a,
            false,
        ),
        (
            "",
            binding(shared, &[("Group", "system:serviceaccounts:a")]),
            account.clone(),
            in_b,
            true,
        ),
        (
            "",
            binding(("ClusterRole", "absent"), &[("User", "jane")]),
            jane(),
            in_a,
            false,
        ),
        ("", binding(shared, &[]), jane(), in_a, false),
    ];
    for (namespace, binding, who, request, expected) in table {
        let index = index(&roles, &[(namespace, "b", binding.clone())]);
        let found = allowed(&index, &who, request);
        assert_eq!(
            found, expected,
            "{} {namespace:?} {binding} {request}",
            who.user
        );
    }
    let nobody = Index::default();
    assert!(allowed(
        &nobody,
        &Identity::internal(),
        "DELETE /api/v1/namespaces/a"
    ));
    assert!(!allowed(&nobody, &jane(), "GET /version"));
}

#[test]
fn gathered_rules_follow_labels_also_in_circles() {
    let labelled = |label: &str, rule: Value| json!({"metadata": {"labels": {(label): "true"}}, "rules": [rule]});
    let gathers = |wanted: &str, label: &str| {
        let selector = json!({"matchLabels": {(wanted): "true"}});
        json!({
            "metadata": {"labels": {(label): "true"}},
            "aggregationRule": {"clusterRoleSelectors": [selector]},
            "rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        })
    };
    let get =
        |resource: &str| json!({"verbs": ["get"], "apiGroups": [""], "resources": [resource]});
    let roles = [
        ("", "outer", gathers("to-outer", "to-inner")),
        ("", "inner", gathers("to-inner", "to-outer")),
        ("", "pods", labelled("to-inner", get("pods"))),
        ("", "maps", labelled("to-outer", get("configmaps"))),
        ("", "secrets", labelled("to-nobody", get("secrets"))),
        ("a", "local", labelled("to-outer", get("services"))),
    ];
    let bound = [(
        "",
        "b",
        binding(("ClusterRole", "outer"), &[("User", "jane")]),
    )];
    let mut index = index(&roles, &bound);
    for (resource, expected) in [
        ("pods", true),
        ("configmaps", true),
        ("secrets", false),
        ("services", false),
    ] {
        let request = format!("GET /api/v1/namespaces/a/{resource}/x");
        assert_eq!(allowed(&index, &jane(), &request), expected, "{resource}");
    }
    let pods = RoleKey {
        namespace: String::new(),
        name: "pods".into(),
    };
    index.put_role(pods, None);
    index.gather();
    assert!(!allowed(&index, &jane(), "GET /api/v1/namespaces/a/pods/x"));
}

#[test]
fn a_reason_names_binding_role_and_subject() {
    let get = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    let index = index(
        &[("", "reader", rules(get))],
        &[(
            "a",
            "readers",
            binding(("ClusterRole", "reader"), &[("Group", "developers")]),
        )],
    );
    let ask = Ask::Action(Action {
        verb: "get",
        resource: "pods",
        namespace: "a",
        ..Action::default()
    });
    let jane = jane();
    assert_eq!(
        index.decide(&jane, &ask).unwrap().to_string(),
        r#"RBAC: allowed by RoleBinding "a/readers" of ClusterRole "reader" to Group "developers""#
    );
}

#[test]
fn a_rule_covers_what_it_allows_and_no_more() {
    let rule = |value: Value| serde_json::from_value::<Rule>(value).unwrap();
    let covers = |own: &Rule, other: &Rule| other.pieces().all(|piece| own.covers(&piece));
    let rule_of = |verbs: &[&str], resources: &[&str], names: &[&str]| {
        rule(
            json!({"verbs": verbs, "apiGroups": [""], "resources": resources, "resourceNames": names}),
        )
    };
    let paths = |urls: &[&str]| rule(json!({"verbs": ["get"], "nonResourceURLs": urls}));
    let table = [
        (
            rule_of(&["*"], &["*"], &[]),
            rule_of(&["get"], &["pods/log"], &["x"]),
            true,
        ),
        (
            rule_of(&["get"], &["*"], &[]),
            rule_of(&["*"], &["pods"], &[]),
            false,
        ),
        (
            rule_of(&["get"], &["pods"], &[]),
            rule_of(&["get"], &["*"], &[]),
            false,
        ),
        (
            rule_of(&["get"], &["pods"], &[]),
            rule_of(&["get"], &["pods/log"], &[]),
            false,
        ),
        (
            rule_of(&["get"], &["*/log"], &[]),
            rule_of(&["get"], &["pods/log"], &[]),
            true,
        ),
        (
            rule_of(&["get"], &["pods/log"], &[]),
            rule_of(&["get"], &["*/log"], &[]),
            false,
        ),
        (
            rule_of(&["get"], &["pods"], &["x"]),
            rule_of(&["get"], &["pods"], &[]),
            false,
        ),
        (
            rule_of(&["get"], &["pods"], &["x"]),
            rule_of(&["get"], &["pods"], &["x", "y"]),
            false,
        ),
        (
            rule_of(&["get"], &["pods"], &[]),
            rule_of(&["get"], &["pods"], &["x", "y"]),
            true,
        ),
        (paths(&["/a/*"]), paths(&["/a/b", "/a/b/*"]), true),
        (paths(&["/a/b/*"]), paths(&["/a/*"]), false),
        (paths(&["*"]), paths(&["/a", "*"]), true),
        (paths(&["/a"]), paths(&["*"]), false),
        (paths(&["*"]), rule_of(&["get"], &["pods"], &[]), false),
    ];
    for (own, other, expected) in table {
        assert_eq!(covers(&own, &other), expected, "{own:?} {other:?}");
        assert_eq!(other.count(), other.pieces().count());
    }
}
