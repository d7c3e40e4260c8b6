//! Bodies that clients send, and the JSON that they stand for.
//!
//! `bodies/kubectl` holds what kubectl 1.32 sent to a server that only wrote it down, and JSON that
//! is equal to what the same command prints with `--dry-run=client -o json` but for Go's empty
//! structs. `bodies/made` was encoded with the crate `k8s-pb` (which costs minutes to build, and so
//! is no dependency), with zeros where Go would write them; its JSON was checked by eye.

use std::path::PathBuf;

use landform_protobuf::{Problem, decode};
use serde_json::{Value, json};

use crate::writer::{body, bytes, message, number};

/// Name, protobuf and JSON of all stored bodies.
pub fn stored() -> Vec<(String, Vec<u8>, Value)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/bodies");
    let mut all = Vec::new();
    for folder in ["kubectl", "made"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "pb") {
                let text = std::fs::read(path.with_extension("json")).unwrap();
                let json = serde_json::from_slice(&text).unwrap();
                let name = path.display().to_string();
                all.push((name, std::fs::read(&path).unwrap(), json));
            }
        }
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn stored_bodies_read_as_their_json() {
    let stored = stored();
    assert!(stored.len() > 30, "only {} bodies", stored.len());
    for (name, bytes, json) in stored {
        assert_eq!(decode(&bytes).unwrap(), json, "{name}");
    }
}

#[test]
fn zeros_stay_behind_pointers_and_where_json_always_writes_them() {
    let zero_spec = message(&[number(1, 0), number(5, 0)]);
    let table = [
        (
            "a pointer keeps its zero, a plain number does not",
            body("apps/v1", "Deployment", bytes(2, &zero_spec)),
            json!({"spec": {"replicas": 0, "template": {}}}),
        ),
        (
            "an absent pointer stays absent",
            body("apps/v1", "Deployment", bytes(2, number(5, 3))),
            json!({"spec": {"minReadySeconds": 3, "template": {}}}),
        ),
        (
            "a struct of zeros is left out",
            body("apps/v1", "Deployment", bytes(3, number(1, 0))),
            json!({}),
        ),
        (
            "what JSON always writes is there though the wire has nothing",
            body("scheduling.k8s.io/v1", "PriorityClass", []),
            json!({"value": 0}),
        ),
        (
            "an empty struct behind a pointer is kept",
            body(
                "v1",
                "Pod",
                bytes(
                    2,
                    bytes(1, message(&[bytes(1, "v"), bytes(2, bytes(2, []))])),
                ),
            ),
            json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}),
        ),
        (
            "an unset target port is left out, a set one is not",
            body(
                "v1",
                "Service",
                bytes(
                    2,
                    message(&[
                        bytes(1, message(&[number(3, 80), bytes(4, number(2, 0))])),
                        bytes(1, message(&[number(3, 80), bytes(4, number(2, 81))])),
                    ]),
                ),
            ),
            json!({"spec": {"ports": [{"port": 80}, {"port": 80, "targetPort": 81}]}}),
        ),
    ];
    for (what, bytes, expected) in table {
        let mut found = decode(&bytes).unwrap();
        let object = found.as_object_mut().unwrap();
        assert!(object.remove("apiVersion").is_some() && object.remove("kind").is_some());
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn a_message_in_parts_is_joined_and_the_last_scalar_counts() {
    let spec = message(&[
        bytes(2, bytes(2, message(&[bytes(1, "a"), bytes(2, "1")]))),
        bytes(2, bytes(2, message(&[bytes(1, "b"), bytes(2, "2")]))),
        bytes(3, "10.0.0.1"),
        bytes(3, "10.0.0.2"),
    ]);
    let raw = message(&[
        bytes(1, bytes(1, "web")),
        bytes(1, bytes(3, "demo")),
        bytes(2, spec),
    ]);
    let found = decode(&body("v1", "Service", raw)).unwrap();
    assert_eq!(
        found["metadata"],
        json!({"name": "web", "namespace": "demo"})
    );
    assert_eq!(found["spec"]["clusterIP"], json!("10.0.0.2"));
}

#[test]
fn unknown_fields_are_skipped() {
    let metadata = message(&[bytes(1, "web"), number(900, 7), bytes(901, "x")]);
    let fixed = [0xa5, 0x3f, 1, 2, 3, 4].to_vec();
    let raw = message(&[fixed, bytes(1, metadata), bytes(77, [0xff, 0xff])]);
    let found = decode(&body("v1", "Namespace", raw)).unwrap();
    assert_eq!(found["metadata"], json!({"name": "web"}));
}

#[test]
fn packed_numbers_are_read() {
    let context = message(&[bytes(4, [0, 5, 0x80, 1]), number(4, 6)]);
    let raw = bytes(2, bytes(14, context));
    let found = decode(&body("v1", "Pod", raw)).unwrap();
    let groups = &found["spec"]["securityContext"]["supplementalGroups"];
    assert_eq!(groups, &json!([0, 5, 128, 6]));
}

#[test]
fn raw_json_in_an_envelope_is_read_as_json() {
    let raw = br#"{"metadata":{"name":"x"},"replicas":0}"#;
    let envelope = message(&[
        body("example.org/v1", "Box", raw),
        bytes(3, ""),
        bytes(4, "application/json"),
    ]);
    let expected = json!({
        "apiVersion": "example.org/v1", "kind": "Box", "metadata": {"name": "x"}, "replicas": 0,
    });
    assert_eq!(decode(&envelope).unwrap(), expected);
    let list = message(&[body("v1", "Box", b"[]"), bytes(4, "application/json")]);
    let error = decode(&list).unwrap_err();
    assert_eq!(error, Problem::NotObject.into());
}

#[test]
fn a_list_of_a_kind_needs_no_entry_of_its_own() {
    let item = bytes(1, bytes(1, "a"));
    let raw = message(&[bytes(1, bytes(2, "5")), bytes(2, &item), bytes(2, [])]);
    let found = decode(&body("v1", "NamespaceList", raw)).unwrap();
    assert_eq!(found["metadata"], json!({"resourceVersion": "5"}));
    assert_eq!(found["items"], json!([{"metadata": {"name": "a"}}, {}]));
}
