//! Strategic merge patch case by case, on real kinds; JSON merge patch per RFC 7386.

use serde_json::{Value, json};

use super::{json_merge, strategic_merge};
use crate::Schema;
use crate::builtin;

fn schema(kind: &str) -> &'static Schema {
    &builtin::kinds()
        .iter()
        .find(|known| known.kind == kind)
        .expect("a built-in kind")
        .schema
}

fn pod(containers: &Value) -> Value {
    json!({"spec": {"containers": containers}})
}

#[test]
fn a_patch_of_a_kind_merges_as_its_schema_says() {
    let table: Vec<(&str, &str, Value, Value, Value)> = vec![
        (
            "a scalar is replaced",
            "Deployment",
            json!({"spec": {"replicas": 1, "paused": true}}),
            json!({"spec": {"replicas": 2}}),
            json!({"spec": {"replicas": 2, "paused": true}}),
        ),
        (
            "null deletes",
            "Deployment",
            json!({"spec": {"replicas": 1, "paused": true}}),
            json!({"spec": {"paused": null}}),
            json!({"spec": {"replicas": 1}}),
        ),
        (
            "null for what isn't there does nothing",
            "Deployment",
            json!({"spec": {}}),
            json!({"spec": {"paused": null, "template": {"metadata": {"name": null}}}}),
            json!({"spec": {"template": {"metadata": {}}}}),
        ),
        (
            "maps of strings merge",
            "ConfigMap",
            json!({"data": {"a": "1", "b": "2"}}),
            json!({"data": {"b": null, "c": "3"}}),
            json!({"data": {"a": "1", "c": "3"}}),
        ),
        (
            "containers merge by name",
            "Pod",
            pod(&json!([{"name": "a", "image": "1"}, {"name": "b", "image": "2"}])),
            pod(&json!([{"name": "b", "image": "3"}])),
            pod(&json!([{"name": "a", "image": "1"}, {"name": "b", "image": "3"}])),
        ),
        (
            "a new container comes before those the patch doesn't name",
            "Pod",
            pod(&json!([{"name": "a"}])),
            pod(&json!([{"name": "n", "image": "i"}])),
            pod(&json!([{"name": "n", "image": "i"}, {"name": "a"}])),
        ),
        (
            "an entry is deleted",
            "Pod",
            pod(&json!([{"name": "a"}, {"name": "b"}])),
            pod(&json!([{"name": "a", "$patch": "delete"}])),
            pod(&json!([{"name": "b"}])),
        ),
        (
            "deleting an entry that isn't there does nothing",
            "Pod",
            pod(&json!([{"name": "a"}])),
            pod(&json!([{"name": "z", "$patch": "delete"}])),
            pod(&json!([{"name": "a"}])),
        ),
        (
            "a merged list is replaced",
            "Pod",
            pod(&json!([{"name": "a"}, {"name": "b"}])),
            pod(&json!([{"name": "c"}, {"$patch": "replace"}])),
            pod(&json!([{"name": "c"}])),
        ),
        (
            "a list is emptied by replace alone",
            "Pod",
            pod(&json!([{"name": "a"}])),
            pod(&json!([{"$patch": "replace"}])),
            pod(&json!([])),
        ),
        (
            "nested lists merge by their own key",
            "Pod",
            pod(&json!([{"name": "a", "env": [{"name": "X", "value": "1"}]}])),
            pod(
                &json!([{"name": "a", "env": [{"name": "X", "value": "2"}, {"name": "Y", "value": "3"}]}]),
            ),
            pod(
                &json!([{"name": "a", "env": [{"name": "X", "value": "2"}, {"name": "Y", "value": "3"}]}]),
            ),
        ),
        (
            "ports of a container merge by containerPort",
            "Pod",
            pod(&json!([{"name": "a", "ports": [{"containerPort": 80, "name": "x"}]}])),
            pod(&json!([{"name": "a", "ports": [{"containerPort": 80, "name": "y"}]}])),
            pod(&json!([{"name": "a", "ports": [{"containerPort": 80, "name": "y"}]}])),
        ),
        (
            "volume mounts merge by mountPath",
            "Pod",
            pod(&json!([{"name": "a", "volumeMounts": [{"mountPath": "/a", "name": "v"}]}])),
            pod(&json!([{"name": "a", "volumeMounts": [{"mountPath": "/a", "readOnly": true}]}])),
            pod(
                &json!([{"name": "a", "volumeMounts": [{"mountPath": "/a", "name": "v", "readOnly": true}]}]),
            ),
        ),
        (
            "ports of a service merge by port",
            "Service",
            json!({"spec": {"ports": [{"port": 80, "name": "a"}]}}),
            json!({"spec": {"ports": [{"port": 80, "targetPort": 1}]}}),
            json!({"spec": {"ports": [{"port": 80, "name": "a", "targetPort": 1}]}}),
        ),
        (
            "an atomic list is replaced",
            "Pod",
            pod(&json!([{"name": "a", "args": ["1", "2"]}])),
            pod(&json!([{"name": "a", "args": ["3"]}])),
            pod(&json!([{"name": "a", "args": ["3"]}])),
        ),
        (
            "tolerations are replaced",
            "Pod",
            json!({"spec": {"tolerations": [{"key": "a"}]}}),
            json!({"spec": {"tolerations": [{"key": "b"}]}}),
            json!({"spec": {"tolerations": [{"key": "b"}]}}),
        ),
        (
            "finalizers merge as a set",
            "Pod",
            json!({"metadata": {"finalizers": ["a", "b"]}}),
            json!({"metadata": {"finalizers": ["b", "c"]}}),
            json!({"metadata": {"finalizers": ["a", "b", "c"]}}),
        ),
        (
            "a scalar is deleted from a set",
            "Pod",
            json!({"metadata": {"finalizers": ["a", "b"]}}),
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}),
            json!({"metadata": {"finalizers": ["b"]}}),
        ),
        (
            "deleted and added at once",
            "Pod",
            json!({"metadata": {"finalizers": ["a", "b"]}}),
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}}),
            json!({"metadata": {"finalizers": ["c", "b"]}}),
        ),
        (
            "owner references merge by uid",
            "Pod",
            json!({"metadata": {"ownerReferences": [{"uid": "1", "name": "a"}]}}),
            json!({"metadata": {"ownerReferences": [{"uid": "1", "controller": true}]}}),
            json!({"metadata": {"ownerReferences": [{"uid": "1", "name": "a", "controller": true}]}}),
        ),
        (
            "conditions merge by type",
            "Deployment",
            json!({"status": {"conditions": [{"type": "A", "status": "True"}]}}),
            json!({"status": {"conditions": [{"type": "A", "status": "False"}]}}),
            json!({"status": {"conditions": [{"type": "A", "status": "False"}]}}),
        ),
        (
            "secrets of a service account merge by name",
            "ServiceAccount",
            json!({"secrets": [{"name": "a"}]}),
            json!({"secrets": [{"name": "a", "namespace": "n"}]}),
            json!({"secrets": [{"name": "a", "namespace": "n"}]}),
        ),
        (
            "image pull secrets of a pod merge by name",
            "Pod",
            json!({"spec": {"imagePullSecrets": [{"name": "a"}]}}),
            json!({"spec": {"imagePullSecrets": [{"name": "b"}]}}),
            json!({"spec": {"imagePullSecrets": [{"name": "b"}, {"name": "a"}]}}),
        ),
        (
            "image pull secrets of a service account are replaced",
            "ServiceAccount",
            json!({"imagePullSecrets": [{"name": "a"}]}),
            json!({"imagePullSecrets": [{"name": "b"}]}),
            json!({"imagePullSecrets": [{"name": "b"}]}),
        ),
        (
            "the order is set",
            "Pod",
            pod(&json!([{"name": "a"}, {"name": "b"}, {"name": "c"}])),
            json!({"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}]}}),
            pod(&json!([{"name": "c"}, {"name": "b"}, {"name": "a"}])),
        ),
        (
            "the order is set with a change; entries it doesn't name stay in place",
            "Pod",
            pod(&json!([{"name": "a"}, {"name": "x"}, {"name": "b"}])),
            json!({"spec": {"$setElementOrder/containers": [{"name": "a"}, {"name": "b"}, {"name": "n"}],
                         "containers": [{"name": "n"}]}}),
            pod(&json!([{"name": "a"}, {"name": "x"}, {"name": "b"}, {"name": "n"}])),
        ),
        (
            "the order of scalars is set",
            "Pod",
            json!({"metadata": {"finalizers": ["a", "b"]}}),
            json!({"metadata": {"$setElementOrder/finalizers": ["b", "a"]}}),
            json!({"metadata": {"finalizers": ["b", "a"]}}),
        ),
        (
            "an object is replaced",
            "Deployment",
            json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}),
            json!({"spec": {"strategy": {"$patch": "replace", "type": "Recreate"}}}),
            json!({"spec": {"strategy": {"type": "Recreate"}}}),
        ),
        (
            "an object is emptied",
            "Deployment",
            json!({"spec": {"strategy": {"type": "Recreate"}}}),
            json!({"spec": {"strategy": {"$patch": "delete"}}}),
            json!({"spec": {"strategy": {}}}),
        ),
        (
            "only retained keys stay",
            "Deployment",
            json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}),
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
            json!({"spec": {"strategy": {"type": "Recreate"}}}),
        ),
        (
            "a volume changes its source",
            "Pod",
            json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}),
            json!({"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]}}),
            json!({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}}),
        ),
        (
            "directives don't end up in new values",
            "Pod",
            json!({}),
            json!({"spec": {"$setElementOrder/containers": [{"name": "a"}],
                            "containers": [{"name": "a", "$patch": "merge", "image": null}], "securityContext": {"$retainKeys": []}}}),
            json!({"spec": {"containers": [{"name": "a"}], "securityContext": {}}}),
        ),
        (
            "a value of another type is replaced",
            "ConfigMap",
            json!({"data": "x"}),
            json!({"data": {"a": "b"}}),
            json!({"data": {"a": "b"}}),
        ),
        (
            "a field that the schema doesn't know merges as plain JSON",
            "Pod",
            json!({"x": {"a": [1], "b": 1}}),
            json!({"x": {"a": [2]}}),
            json!({"x": {"a": [2], "b": 1}}),
        ),
    ];
    assert!(table.len() >= 25);
    for (case, kind, original, patch, expected) in table {
        let merged = strategic_merge(schema(kind), &original, &patch);
        assert_eq!(merged, Ok(expected), "{case}");
    }
}

#[test]
fn a_patch_that_makes_no_sense_is_refused_with_its_place() {
    let table: Vec<(Value, Value, &str)> = vec![
        (
            json!({}),
            json!([]),
            "<root>: a strategic merge patch must be an object",
        ),
        (
            json!({}),
            json!({"spec": {"$patch": "x"}}),
            "spec: $patch must be \"replace\", \"delete\" or \"merge\"",
        ),
        (
            pod(&json!([])),
            pod(&json!([{"image": "i"}])),
            "spec.containers[0]: the entry lacks its merge key \"name\"",
        ),
        (
            pod(&json!([{"name": "a"}])),
            pod(&json!(["x"])),
            "spec.containers[0]: an entry of a list of objects must be an object",
        ),
        (
            pod(&json!([])),
            pod(&json!([{"name": "a", "$patch": "x"}])),
            "spec.containers[0]: $patch must be \"replace\", \"delete\" or \"merge\", not \"x\"",
        ),
        (
            json!({}),
            json!({"spec": {"$retainKeys": 1}}),
            "spec: $retainKeys must be a list of field names",
        ),
        (
            json!({}),
            json!({"spec": {"$retainKeys": ["a"], "hostname": "x"}}),
            "spec: the patch sets \"hostname\", so $retainKeys must name it too",
        ),
        (
            pod(&json!([])),
            json!({"spec": {"$setElementOrder/containers": [], "containers": [{"name": "a"}]}}),
            "spec.containers: $setElementOrder must name every entry that the patch sets, but lacks \"a\"",
        ),
        (
            json!({}),
            json!({"spec": {"$setElementOrder/containers": 1}}),
            "spec.containers: $setElementOrder and $deleteFromPrimitiveList must be lists",
        ),
    ];
    for (original, patch, expected) in table {
        let error = strategic_merge(schema("Pod"), &original, &patch).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn json_merge_follows_the_examples_of_rfc_7386() {
    let table = [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (
            json!({"a": "b"}),
            json!({"b": "c"}),
            json!({"a": "b", "b": "c"}),
        ),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (
            json!({"a": "b", "b": "c"}),
            json!({"a": null}),
            json!({"b": "c"}),
        ),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        ),
        (
            json!({"a": [{"b": "c"}]}),
            json!({"a": [1]}),
            json!({"a": [1]}),
        ),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a": "b"}), json!(["c"]), json!(["c"])),
        (json!({"a": "foo"}), json!(null), json!(null)),
        (json!({"a": "foo"}), json!("bar"), json!("bar")),
        (
            json!({"e": null}),
            json!({"a": 1}),
            json!({"e": null, "a": 1}),
        ),
        (
            json!([1, 2]),
            json!({"a": "b", "c": null}),
            json!({"a": "b"}),
        ),
        (
            json!({}),
            json!({"a": {"bb": {"ccc": null}}}),
            json!({"a": {"bb": {}}}),
        ),
    ];
    for (mut original, patch, expected) in table {
        json_merge(&mut original, &patch);
        assert_eq!(original, expected, "patch {patch}");
    }
}
