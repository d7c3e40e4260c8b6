//! Manifests of built-in kinds as people write them: what is filled in and what is refused.

use serde_json::{Value, json};

use super::table::Tables;
use super::{check_tables, kinds, schema_of};

fn admitted(kind: &str, mut object: Value) -> (Value, Vec<String>) {
    let kind = kinds()
        .iter()
        .find(|known| known.kind == kind)
        .expect("a built-in kind");
    let unknown = kind.schema.prune(&mut object);
    assert!(unknown.is_empty(), "{unknown:?}");
    kind.schema.apply_defaults(&mut object).unwrap();
    let errors = kind
        .schema
        .validate(&object, None)
        .iter()
        .map(ToString::to_string)
        .collect();
    (object, errors)
}

#[test]
fn the_tables_are_well_formed_and_quickly_read() {
    check_tables().expect("the tables are well-formed");
    let start = std::time::Instant::now();
    let tables = super::Tables::parse(super::FILES).expect("the tables are well-formed");
    let _ = super::compile::compile(&tables);
    // 5 ms in a release build; a debug build on a busy machine gets more.
    assert!(start.elapsed().as_millis() < 250, "{:?}", start.elapsed());
}

#[test]
fn every_kind_has_what_discovery_needs() {
    assert!(kinds().len() >= 28, "{}", kinds().len());
    for kind in kinds() {
        assert!(
            !kind.plural.is_empty() && !kind.version.is_empty(),
            "{}",
            kind.kind
        );
        assert!(kind.definition.ends_with(kind.kind), "{}", kind.definition);
        assert!(schema_of(kind.definition).is_some());
    }
    let scaled: Vec<&str> = kinds()
        .iter()
        .filter(|kind| kind.scale.is_some())
        .map(|kind| kind.kind)
        .collect();
    assert_eq!(scaled, ["Deployment", "ReplicaSet", "StatefulSet"]);
}

#[test]
fn defaults_are_those_of_kubernetes() {
    let pod = json!({"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": "http"}}}], "volumes": [{"name": "v", "configMap": {"name": "m"}}]});
    let table: Vec<(&str, Value, &str, Value)> = vec![
        (
            "Pod",
            json!({"spec": pod}),
            "/spec/restartPolicy",
            json!("Always"),
        ),
        (
            "Pod",
            json!({"spec": pod}),
            "/spec/dnsPolicy",
            json!("ClusterFirst"),
        ),
        (
            "Pod",
            json!({"spec": pod}),
            "/spec/schedulerName",
            json!("default-scheduler"),
        ),
        (
            "Pod",
            json!({"spec": pod}),
            "/spec/terminationGracePeriodSeconds",
            json!(30),
        ),
        (
            "Pod",
            json!({"spec": pod}),
            "/spec/securityContext",
            json!({}),
        ),
        (
            "Pod",
            json!({"spec": pod}),
            "/spec/containers/0/ports/0/protocol",
            json!("TCP"),
        ),
        (
            "Pod",
            json!({"spec": pod}),
            "/spec/containers/0/terminationMessagePath",
            json!("/dev/termination-log"),
        ),
        (
            "Pod",
            json!({"spec": pod}),
            "/spec/containers/0/livenessProbe",
            json!({"httpGet": {"port": "http", "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}),
        ),
        (
            "Pod",
            json!({"spec": pod}),
            "/spec/volumes/0/configMap/defaultMode",
            json!(420),
        ),
        (
            "Service",
            json!({"spec": {"ports": [{"port": 80}]}}),
            "/spec/ports/0/protocol",
            json!("TCP"),
        ),
        (
            "Service",
            json!({"spec": {"ports": [{"port": 80}]}}),
            "/spec/internalTrafficPolicy",
            json!("Cluster"),
        ),
        (
            "Service",
            json!({"spec": {"type": "LoadBalancer"}}),
            "/spec/externalTrafficPolicy",
            json!("Cluster"),
        ),
        (
            "Service",
            json!({"spec": {"type": "ExternalName", "externalName": "x"}}),
            "/spec/sessionAffinity",
            json!("None"),
        ),
        (
            "Service",
            json!({"spec": {"sessionAffinity": "ClientIP"}}),
            "/spec/sessionAffinityConfig/clientIP/timeoutSeconds",
            json!(10800),
        ),
        ("Secret", json!({}), "/type", json!("Opaque")),
        (
            "Deployment",
            json!({"spec": {"selector": {}, "template": {"spec": pod}}}),
            "/spec/replicas",
            json!(1),
        ),
        (
            "Deployment",
            json!({"spec": {"selector": {}, "template": {"spec": pod}, "strategy": {"type": "Recreate"}}}),
            "/spec/strategy",
            json!({"type": "Recreate"}),
        ),
        (
            "Deployment",
            json!({"spec": {"selector": {}, "template": {"spec": pod}, "strategy": {"rollingUpdate": {"maxSurge": 1}}}}),
            "/spec/strategy",
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"}}),
        ),
        (
            "StatefulSet",
            json!({"spec": {"serviceName": "s", "selector": {}, "template": {"spec": pod}}}),
            "/spec/updateStrategy",
            json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        ),
        (
            "DaemonSet",
            json!({"spec": {"selector": {}, "template": {"spec": pod}}}),
            "/spec/updateStrategy",
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}),
        ),
        (
            "Job",
            json!({"spec": {"template": {"spec": pod}}}),
            "/spec/completions",
            json!(1),
        ),
        (
            "Job",
            json!({"spec": {"template": {"spec": pod}}}),
            "/spec/backoffLimit",
            json!(6),
        ),
        (
            "Job",
            json!({"spec": {"template": {"spec": pod}, "parallelism": 3}}),
            "/spec/parallelism",
            json!(3),
        ),
        (
            "CronJob",
            json!({"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}}),
            "/spec/concurrencyPolicy",
            json!("Allow"),
        ),
        (
            "RoleBinding",
            json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]}),
            "/roleRef/apiGroup",
            json!("rbac.authorization.k8s.io"),
        ),
        (
            "RoleBinding",
            json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]}),
            "/subjects/0/apiGroup",
            json!("rbac.authorization.k8s.io"),
        ),
    ];
    for (kind, object, pointer, expected) in table {
        let (object, errors) = admitted(kind, object);
        assert!(errors.is_empty(), "{kind} {pointer}: {errors:?}");
        assert_eq!(object.pointer(pointer), Some(&expected), "{kind} {pointer}");
    }
    let (job, _) = admitted(
        "Job",
        json!({"spec": {"template": {"spec": pod}, "parallelism": 3}}),
    );
    assert_eq!(job.pointer("/spec/completions"), None);
    let (binding, _) = admitted(
        "RoleBinding",
        json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "ServiceAccount", "name": "u"}]}),
    );
    assert_eq!(binding.pointer("/subjects/0/apiGroup"), None);
}

#[test]
fn bad_manifests_are_refused_with_the_field() {
    let container = json!({"name": "c", "image": "i"});
    let deployment = |patch: Value| {
        let mut object =
            json!({"spec": {"selector": {}, "template": {"spec": {"containers": [container]}}}});
        crate::merge::json_merge(&mut object, &patch);
        object
    };
    let table: Vec<(&str, Value, &str)> = vec![
        ("Deployment", json!({}), "spec: Required value"),
        (
            "Deployment",
            json!({"spec": {}}),
            "spec.selector: Required value",
        ),
        (
            "Deployment",
            deployment(json!({"spec": {"replicas": "three"}})),
            "spec.replicas in body must be of type integer",
        ),
        (
            "Deployment",
            deployment(json!({"spec": {"replicas": -1}})),
            "spec.replicas in body should be greater than or equal to 0",
        ),
        (
            "Deployment",
            deployment(json!({"spec": {"replicas": 3_000_000_000_u64}})),
            "spec.replicas in body must be of type int32: 3000000000",
        ),
        (
            "Deployment",
            deployment(json!({"spec": {"strategy": {"type": "Now"}}})),
            r#"spec.strategy.type: Unsupported value: "Now": supported values: "Recreate", "RollingUpdate""#,
        ),
        (
            "Deployment",
            deployment(json!({"spec": {"template": {"spec": {"containers": [{"image": "i"}]}}}})),
            "spec.template.spec.containers[0].name: Required value",
        ),
        (
            "Deployment",
            deployment(json!({"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}})),
            "spec.template.spec.containers[0].image: Required value",
        ),
        (
            "Pod",
            json!({"spec": {}}),
            "spec.containers: Required value",
        ),
        (
            "Pod",
            json!({"spec": {"containers": [container, container]}}),
            r#"spec.containers[1]: Duplicate value: {"name":"c"}"#,
        ),
        (
            "Pod",
            json!({"spec": {"containers": [{"name": "a", "image": "i", "ports": [{"containerPort": 70000}]}]}}),
            "should be less than or equal to 65535",
        ),
        (
            "Pod",
            json!({"spec": {"containers": [{"name": "a", "image": "i", "resources": {"limits": {"cpu": "lots"}}}]}}),
            "spec.containers[0].resources.limits[cpu] in body must be of type quantity: \"lots\"",
        ),
        (
            "Pod",
            json!({"metadata": {"creationTimestamp": "yesterday"}, "spec": {"containers": [container]}}),
            "metadata.creationTimestamp in body must be of type date-time",
        ),
        (
            "Service",
            json!({"spec": {"ports": [{"targetPort": true, "port": 1}]}}),
            "spec.ports[0].targetPort in body must be of type integer or string",
        ),
        (
            "Secret",
            json!({"data": {"a": "not base64!"}}),
            "data[a] in body must be of type byte (base64)",
        ),
        (
            "ConfigMap",
            json!({"data": {"a": 1}}),
            "data[a] in body must be of type string",
        ),
        ("RoleBinding", json!({}), "roleRef: Required value"),
        (
            "CronJob",
            json!({"spec": {}}),
            "spec.schedule: Required value",
        ),
        (
            "CustomResourceDefinition",
            json!({"spec": {"scope": "Galaxy"}}),
            r#"spec.scope: Unsupported value: "Galaxy""#,
        ),
        (
            "Lease",
            json!({"spec": {"renewTime": 5}}),
            "spec.renewTime in body must be of type string",
        ),
    ];
    for (kind, object, expected) in table {
        let (_, errors) = admitted(kind, object.clone());
        assert!(
            errors.iter().any(|error| error.contains(expected)),
            "{kind} {object}: {errors:?}"
        );
    }
}

#[test]
fn quantities_and_int_or_string_take_both_forms() {
    let pod = json!({"spec": {"containers": [{"name": "a", "image": "i", "resources": {"limits": {"cpu": 1, "memory": "1.5Gi"}}}]}});
    assert!(admitted("Pod", pod).1.is_empty());
    let service = json!({"spec": {"ports": [{"port": 1, "targetPort": "http"}, {"port": 2, "targetPort": 8080}]}});
    assert!(admitted("Service", service).1.is_empty());
}

#[test]
fn an_empty_string_counts_as_missing_where_go_cannot_tell() {
    let (service, errors) = admitted(
        "Service",
        json!({"spec": {"type": "", "ports": [{"port": 1, "name": ""}]}}),
    );
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(service["spec"]["type"], "ClusterIP");
    assert_eq!(service["spec"]["ports"][0]["name"], "");
}

#[test]
fn entries_that_kubernetes_tolerates_twice_are_tolerated() {
    let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    let pod = json!({"metadata": {"finalizers": ["a/b", "a/b"]}, "spec": {"containers": [{"name": "a", "image": "i", "env": env}]}});
    assert_eq!(admitted("Pod", pod).1, Vec::<String>::new());
}

#[test]
fn a_kind_is_found_by_its_name() {
    assert_eq!(
        super::find("events.k8s.io", "v1", "Event").map(|kind| kind.definition),
        Some("io.k8s.api.events.v1.Event")
    );
    assert_eq!(
        super::find("", "v1", "Event").map(|kind| kind.plural),
        Some("events")
    );
    assert!(super::find("apps", "v2", "Deployment").is_none());
}

#[test]
fn schemas_in_a_definition_are_pruned_at_every_depth() {
    let definition = kinds()
        .iter()
        .find(|kind| kind.kind == "CustomResourceDefinition")
        .expect("built in");
    let mut object = json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
        "type": "object", "typo": 1, "properties": {"a": {"type": "array", "typo": 2, "items": {"type": "string", "typo": 3, "default": {"typo": 4}}}}}}}]}});
    let mut removed = definition.schema.prune(&mut object);
    removed.sort();
    let at = "spec.versions[0].schema.openAPIV3Schema";
    assert_eq!(
        removed,
        [
            format!("{at}.properties.a.items.typo"),
            format!("{at}.properties.a.typo"),
            format!("{at}.typo")
        ]
    );
}

#[test]
fn an_error_names_file_and_line() {
    let table = [
        (
            "package a\ntype T \"t\"\n  f what? \"d\"\n",
            3,
            "is no type",
        ),
        ("package a\n  f string \"d\"\n", 2, "before any type"),
        ("nonsense\n", 1, "unknown directive"),
        (
            "package a\ntype T \"t\"\n  f string wrong \"d\"\n",
            3,
            "unknown attribute",
        ),
        (
            "package a\ntype T \"t\"\n  f string default={ \"d\"\n",
            3,
            "default={",
        ),
        (
            "package a\ntype T \"t\"\n  f string min=x \"d\"\n",
            3,
            "needs a number",
        ),
        (
            "package a\ntype T \"t\"\n  f string\n",
            3,
            "needs a description",
        ),
        (
            "package a\ntype T \"t\"\n  kind namespaced\n",
            3,
            "needs plural=",
        ),
    ];
    for (text, line, problem) in table {
        let files: &'static [(&'static str, &'static str)] =
            Box::leak(Box::new([("x.schema", text)]));
        let error = Tables::parse(files).expect_err(text);
        assert_eq!((error.file, error.line), ("x.schema", line), "{error}");
        assert!(error.problem.contains(problem), "{error}");
    }
}

#[test]
fn an_unknown_type_is_named() {
    let files: &'static [_] = &[("x.schema", "package a\ntype T \"t\"\n  f Missing \"d\"\n")];
    let error = Tables::parse(files).expect_err("no such type");
    assert!(
        error
            .to_string()
            .contains("a.T.f has an unknown type Missing"),
        "{error}"
    );
}
