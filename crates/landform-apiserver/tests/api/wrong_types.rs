//! A value of the wrong JSON type is refused, in every field of every built-in kind, and never stored as something else.

use serde_json::{Value, json};

use crate::harness::Api;

/// A valid object of every built-in kind, with the version that it is served in.
fn objects() -> Vec<(&'static str, Value)> {
    let pods = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let workload = json!({"selector": {"matchLabels": {"a": "b"}}, "template": pods});
    let mut jobs = pods.clone();
    jobs["spec"]["restartPolicy"] = json!("Never");
    let role = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    let of_role =
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"});
    let versions = json!([{"name": "v1", "served": true, "storage": true,
                           "schema": {"openAPIV3Schema": {"type": "object"}}}]);
    let definition = json!({"group": "x.io", "scope": "Namespaced", "versions": versions,
                            "names": {"plural": "things", "kind": "Thing"}});
    vec![
        ("api/v1 namespaces Namespace", json!({})),
        ("api/v1 configmaps ConfigMap", json!({"data": {"a": "b"}})),
        ("api/v1 secrets Secret", json!({"data": {"a": "eA=="}})),
        ("api/v1 serviceaccounts ServiceAccount", json!({})),
        ("api/v1 pods Pod", json!({"spec": pods["spec"]})),
        (
            "api/v1 services Service",
            json!({"spec": {"ports": [{"port": 80}]}}),
        ),
        (
            "api/v1 persistentvolumeclaims PersistentVolumeClaim",
            json!({"spec": {"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}}),
        ),
        ("api/v1 nodes Node", json!({})),
        (
            "api/v1 limitranges LimitRange",
            json!({"spec": {"limits": [{"type": "Pod"}]}}),
        ),
        (
            "api/v1 resourcequotas ResourceQuota",
            json!({"spec": {"hard": {"pods": "1"}}}),
        ),
        (
            "apis/apps/v1 deployments Deployment",
            json!({"spec": workload}),
        ),
        (
            "apis/apps/v1 replicasets ReplicaSet",
            json!({"spec": workload}),
        ),
        (
            "apis/apps/v1 daemonsets DaemonSet",
            json!({"spec": workload}),
        ),
        (
            "apis/apps/v1 statefulsets StatefulSet",
            json!({"spec": {"serviceName": "s",
            "selector": workload["selector"], "template": pods}}),
        ),
        (
            "apis/apps/v1 controllerrevisions ControllerRevision",
            json!({"revision": 1}),
        ),
        (
            "apis/batch/v1 jobs Job",
            json!({"spec": {"template": jobs}}),
        ),
        (
            "apis/batch/v1 cronjobs CronJob",
            json!({"spec": {"schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": jobs}}}}),
        ),
        (
            "apis/rbac.authorization.k8s.io/v1 roles Role",
            json!({"rules": role}),
        ),
        (
            "apis/rbac.authorization.k8s.io/v1 clusterroles ClusterRole",
            json!({"rules": role}),
        ),
        (
            "apis/rbac.authorization.k8s.io/v1 rolebindings RoleBinding",
            json!({"roleRef": of_role,
            "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}]}),
        ),
        (
            "apis/rbac.authorization.k8s.io/v1 clusterrolebindings ClusterRoleBinding",
            json!({"roleRef": of_role}),
        ),
        (
            "apis/coordination.k8s.io/v1 leases Lease",
            json!({"spec": {"holderIdentity": "h"}}),
        ),
        (
            "apis/networking.k8s.io/v1 ingresses Ingress",
            json!({"spec": {"defaultBackend":
            {"service": {"name": "s", "port": {"number": 80}}}}}),
        ),
        (
            "apis/networking.k8s.io/v1 networkpolicies NetworkPolicy",
            json!({"spec": {"podSelector": {}}}),
        ),
        (
            "apis/discovery.k8s.io/v1 endpointslices EndpointSlice",
            json!({"addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1"]}]}),
        ),
        (
            "apis/apiextensions.k8s.io/v1 customresourcedefinitions CustomResourceDefinition",
            json!({"spec": definition}),
        ),
        (
            "api/v1 events Event",
            json!({"involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"}}),
        ),
        (
            "apis/events.k8s.io/v1 events Event",
            json!({"eventTime": "2026-01-01T00:00:00.000000Z", "action": "a",
            "reason": "r", "type": "Normal", "reportingController": "x.io/c", "reportingInstance": "i",
            "regarding": {"kind": "Pod", "namespace": "default", "name": "p"}}),
        ),
    ]
}

/// Kinds that are in no namespace.
const CLUSTER_WIDE: [&str; 5] = [
    "namespaces",
    "nodes",
    "clusterroles",
    "clusterrolebindings",
    "customresourcedefinitions",
];

/// What clients send of these doesn't count: the server sets them.
const SET_BY_THE_SERVER: [&str; 8] = [
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "resourceVersion",
];

/// Follows references of an `OpenAPI` document.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let inner = schema["allOf"].get(0).unwrap_or(schema);
    match inner["$ref"].as_str() {
        Some(reference) => resolved(document, document.pointer(&reference[1..]).unwrap()),
        None => inner,
    }
}

/// Values that a schema can't mean.
fn wrong(document: &Value, schema: &Value) -> Vec<Value> {
    let schema = resolved(document, schema);
    let loose = schema["x-kubernetes-int-or-string"] == true
        || schema["x-kubernetes-preserve-unknown-fields"] == true;
    let inside = |wrap: fn(Value) -> Value, inner: &Value| {
        let values = wrong(document, inner).into_iter().take(2);
        values.map(wrap).collect::<Vec<_>>()
    };
    match schema["type"].as_str() {
        _ if loose || schema.get("oneOf").is_some() => Vec::new(),
        Some("string") => vec![json!(["x"]), json!(7), json!({"x": "y"}), json!(true)],
        Some("integer" | "number") => vec![json!("x"), json!([1]), json!({"x": 1})],
        Some("boolean") => vec![json!("true"), json!([true]), json!(1)],
        Some("array") => {
            let mut values = vec![json!("x"), json!({"x": "y"}), json!(7)];
            values.extend(inside(|value| json!([value]), &schema["items"]));
            values
        }
        Some("object") => {
            let mut values = vec![json!("x"), json!(["x"]), json!(7)];
            if schema["additionalProperties"].is_object() {
                values.extend(inside(
                    |value| json!({"k": value}),
                    &schema["additionalProperties"],
                ));
            }
            values
        }
        _ => Vec::new(),
    }
}

/// All that can be wrong with a value of a schema: where, and with what.
fn faults(
    document: &Value,
    schema: &Value,
    value: &Value,
    at: &str,
    found: &mut Vec<(String, Value)>,
) {
    let schema = resolved(document, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{at}/{name}");
        let from_server = at == "/metadata" && SET_BY_THE_SERVER.contains(&name.as_str());
        // A status is another request's; apiVersion and kind say which schema counts.
        if from_server || ["/status", "/apiVersion", "/kind"].contains(&place.as_str()) {
            continue;
        }
        found.extend(
            wrong(document, property)
                .into_iter()
                .map(|value| (place.clone(), value)),
        );
        if let Some(inner) = value.get(name) {
            faults(document, property, inner, &place, found);
        }
    }
    for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
        faults(
            document,
            &schema["items"],
            inner,
            &format!("{at}/{index}"),
            found,
        );
    }
}

/// Puts a value where a path leads.
fn set(object: &mut Value, path: &str, value: Value) {
    let (parent, name) = path.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[name] = value;
}

#[tokio::test]
async fn c1_a_value_of_the_wrong_type_is_refused_in_every_field_of_every_built_in_kind() {
    let api = Api::start().await;
    let mut accepted = Vec::new();
    let mut tried = 0;
    for (what, content) in objects() {
        let [root, plural, kind] = what.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{what}")
        };
        let document = api.get(&format!("/openapi/v3/{root}")).await.ok();
        let version = root.split_once('/').unwrap().1;
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let is_it = |schema: &&Value| {
            let kinds = schema["x-kubernetes-group-version-kind"].as_array();
            kinds.into_iter().flatten().any(|of| of["kind"] == kind)
        };
        let schema = schemas
            .values()
            .find(is_it)
            .unwrap_or_else(|| panic!("no schema of {what}"));
        let place = if CLUSTER_WIDE.contains(&plural) {
            ""
        } else {
            "namespaces/default/"
        };
        let path = format!("/{root}/{place}{plural}?dryRun=All");
        let mut object = content;
        object["apiVersion"] = json!(version);
        object["kind"] = json!(kind);
        object["metadata"] = json!({"name": "x", "labels": {"a": "b"}});
        if kind == "CustomResourceDefinition" {
            object["metadata"]["name"] = json!("things.x.io");
        }
        let fine = api.post(&path, object.clone()).await;
        assert_eq!(fine.code, 201, "{what}: {}", fine.value);
        let mut all = Vec::new();
        faults(&document, schema, &object, "", &mut all);
        assert!(all.len() > 20, "{what} has {} faults only", all.len());
        for (at, value) in all {
            let mut sent = object.clone();
            set(&mut sent, &at, value.clone());
            tried += 1;
            let answer = api.post(&path, sent).await;
            let field = at.rsplit('/').next().unwrap();
            if !(400..500).contains(&answer.code) || !answer.failed().2.contains(field) {
                accepted.push(format!(
                    "{kind} {at} = {value}: {} {}",
                    answer.code, answer.value["message"]
                ));
            }
        }
    }
    assert!(
        accepted.is_empty(),
        "{} of {tried}:\n{}",
        accepted.len(),
        accepted.join("\n")
    );
}

#[tokio::test]
async fn c1_the_string_data_of_a_secret_holds_texts_and_nothing_else() {
    let api = Api::start().await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = |data: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": data});
    for wrong in [
        json!({"p": ["x"]}),
        json!({"p": {"x": "y"}}),
        json!({"p": 7}),
        json!({"p": true}),
        json!("x"),
        json!(["x"]),
    ] {
        let answer = api.post(secrets, secret(wrong.clone())).await;
        let (code, _, message) = answer.failed();
        assert!(
            code == 422 && message.contains("stringData"),
            "{wrong}: {code} {message}"
        );
        assert_eq!(api.get(&format!("{secrets}/s")).await.code, 404);
    }
    api.post(secrets, secret(json!({"p": "x"}))).await.ok();
    let path = format!("{secrets}/s");
    let patch = json!({"stringData": {"p": ["x"]}});
    assert_eq!(api.patch(&path, "merge", patch).await.failed().0, 422);
    assert_eq!(api.get(&path).await.ok()["data"], json!({"p": "eA=="}));
}
