//! The roles and bindings that every server has. They are made when they are missing and never changed:
//! who edits one keeps the edit.
//!
//! `admin`, `edit` and `view` gather their rules by label, so that a definition of custom kinds can bring
//! its own share. Landform's own kinds are in none of them: whoever may write deploy items can run programs.

use serde_json::{Value, json};

use super::index::Index;
use super::{GROUP, Role, RoleKey};
use crate::error::Result;
use crate::identity::{AUTHENTICATED, MASTERS};
use crate::server::ApiServer;

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];
const ALL: [&str; 8] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];

/// What people work with in a namespace, by group: what `view` shows and `edit` changes.
const WORK: [(&str, &[&str]); 6] = [
    (
        "",
        &[
            "configmaps",
            "persistentvolumeclaims",
            "pods",
            "serviceaccounts",
            "services",
        ],
    ),
    (
        "apps",
        &[
            "daemonsets",
            "deployments",
            "deployments/scale",
            "replicasets",
            "replicasets/scale",
            "statefulsets",
            "statefulsets/scale",
        ],
    ),
    ("batch", &["cronjobs", "jobs"]),
    ("networking.k8s.io", &["ingresses", "networkpolicies"]),
    ("coordination.k8s.io", &["leases"]),
    ("discovery.k8s.io", &["endpointslices"]),
];

/// What `view` shows besides.
const SHOWN: [(&str, &[&str]); 5] = [
    (
        "",
        &[
            "events",
            "limitranges",
            "namespaces",
            "persistentvolumeclaims/status",
            "pods/status",
            "resourcequotas",
            "resourcequotas/status",
            "services/status",
        ],
    ),
    ("events.k8s.io", &["events"]),
    (
        "apps",
        &[
            "controllerrevisions",
            "daemonsets/status",
            "deployments/status",
            "replicasets/status",
            "statefulsets/status",
        ],
    ),
    ("batch", &["cronjobs/status", "jobs/status"]),
    ("networking.k8s.io", &["ingresses/status"]),
];

impl ApiServer {
    /// Makes the roles and bindings that are missing.
    pub(crate) async fn ensure_rules(&self) -> Result<()> {
        let roles = self.builtin(GROUP, "clusterroles");
        let bindings = self.builtin(GROUP, "clusterrolebindings");
        let all = with_gathered(cluster_roles())
            .into_iter()
            .map(|object| (&roles, object));
        let all = all.chain(
            cluster_role_bindings()
                .into_iter()
                .map(|object| (&bindings, object)),
        );
        // All at once: they share a commit.
        let made = all.map(|(resource, object)| self.ensure(resource, "", object));
        futures::future::try_join_all(made).await?;
        Ok(())
    }
}

/// Writes into the roles that gather what they gather of the others, as housekeeping would do it.
fn with_gathered(mut roles: Vec<Value>) -> Vec<Value> {
    let key = |role: &Value| RoleKey {
        namespace: String::new(),
        name: role["metadata"]["name"].as_str().unwrap_or_default().into(),
    };
    let mut index = Index::default();
    for role in &roles {
        let read = role.as_object().map(Role::from_object);
        index.put_role(key(role), read);
    }
    index.gather();
    for role in &mut roles {
        let rules = index.rules(&key(role)).unwrap_or_default();
        if role["aggregationRule"].is_object() {
            role["rules"] = json!(rules);
        }
    }
    roles
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

fn paths(paths: &[&str]) -> Value {
    json!({"nonResourceURLs": paths, "verbs": ["get"]})
}

fn role(name: &str, aggregate_to: Option<&str>, content: (&str, Value)) -> Value {
    let mut labels = json!({"kubernetes.io/bootstrapping": "rbac-defaults"});
    if let Some(aggregate_to) = aggregate_to {
        labels[aggregation_label(aggregate_to)] = json!("true");
    }
    let (field, value) = content;
    let mut role = json!({"metadata": {"name": name, "labels": labels}});
    role[field] = value;
    role
}

fn aggregation_label(to: &str) -> String {
    format!("{GROUP}/aggregate-to-{to}")
}

/// A role that gathers those with its own label.
fn gathering(name: &str, aggregate_to: Option<&str>) -> Value {
    let selector = json!({"matchLabels": {aggregation_label(name): "true"}});
    let rule = json!({"clusterRoleSelectors": [selector]});
    role(name, aggregate_to, ("aggregationRule", rule))
}

fn cluster_roles() -> Vec<Value> {
    let rules = |rules: &[Value]| ("rules", json!(rules));
    let every = |groups: &[(&str, &[&str])], verbs: &[&str]| -> Vec<Value> {
        groups
            .iter()
            .map(|(group, resources)| rule(&[group], resources, verbs))
            .collect()
    };
    let mut view = every(&WORK, &READ);
    view.extend(every(&SHOWN, &READ));
    let mut edit = every(&WORK, &WRITE);
    edit.extend([
        rule(&[""], &["secrets"], &ALL),
        rule(&[""], &["serviceaccounts"], &["impersonate"]),
        rule(&[""], &["serviceaccounts/token"], &["create"]),
        rule(
            &["", "events.k8s.io"],
            &["events"],
            &["create", "patch", "update"],
        ),
    ]);
    let admin = [
        rule(&[GROUP], &["roles", "rolebindings"], &ALL),
        rule(
            &["authorization.k8s.io"],
            &["localsubjectaccessreviews"],
            &["create"],
        ),
    ];
    let everything = json!(super::Rule::everything());
    let reviews = [
        rule(
            &["authorization.k8s.io"],
            &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
            &["create"],
        ),
        rule(
            &["authentication.k8s.io"],
            &["selfsubjectreviews"],
            &["create"],
        ),
    ];
    let discovery = paths(&[
        "/",
        "/api",
        "/api/*",
        "/apis",
        "/apis/*",
        "/healthz",
        "/livez",
        "/openapi",
        "/openapi/*",
        "/readyz",
        "/version",
        "/version/",
    ]);
    let info = paths(&["/healthz", "/livez", "/readyz", "/version", "/version/"]);
    vec![
        role("cluster-admin", None, ("rules", everything)),
        gathering("admin", None),
        gathering("edit", Some("admin")),
        gathering("view", Some("edit")),
        role("system:aggregate-to-admin", Some("admin"), rules(&admin)),
        role("system:aggregate-to-edit", Some("edit"), rules(&edit)),
        role("system:aggregate-to-view", Some("view"), rules(&view)),
        role("system:basic-user", None, rules(&reviews)),
        role("system:discovery", None, rules(&[discovery])),
        role("system:public-info-viewer", None, rules(&[info])),
    ]
}

fn cluster_role_bindings() -> Vec<Value> {
    let table: [(&str, &[&str]); 4] = [
        ("cluster-admin", &[MASTERS]),
        ("system:basic-user", &[AUTHENTICATED]),
        ("system:discovery", &[AUTHENTICATED]),
        (
            "system:public-info-viewer",
            &[AUTHENTICATED, "system:unauthenticated"],
        ),
    ];
    table
        .iter()
        .map(|(name, groups)| {
            let subjects: Vec<Value> = groups
                .iter()
                .map(|group| json!({"kind": "Group", "apiGroup": GROUP, "name": group}))
                .collect();
            json!({
                "metadata": {"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
                "roleRef": {"kind": "ClusterRole", "apiGroup": GROUP, "name": name},
                "subjects": subjects,
            })
        })
        .collect()
}
