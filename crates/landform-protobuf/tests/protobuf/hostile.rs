//! Bodies that no client should send: none of them may panic, and the limits hold.

use std::sync::LazyLock;

use landform_protobuf::{CELLS, DEPTH, Error, Problem, Table, decode};
use proptest::prelude::*;
use serde_json::Value;

use crate::bodies::stored;
use crate::writer::{body, bytes, message, number, varint};

fn problem(body: &[u8]) -> (String, Problem) {
    match decode(body) {
        Err(Error::Malformed { path, problem }) => (path, problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn envelopes_that_are_not_read_say_why() {
    let pod = body("v1", "Pod", []);
    let with = |more: Vec<u8>| message(&[pod.clone(), more]);
    let table = [
        (
            b"{}".to_vec(),
            "it does not begin with the four bytes \"k8s\\0\"",
        ),
        (vec![], "it does not begin with the four bytes \"k8s\\0\""),
        (b"k8s\0".to_vec(), "it does not say its apiVersion and kind"),
        (
            body("example.org/v1", "Box", []),
            "Box of example.org/v1 can't be read as protobuf: send JSON",
        ),
        (
            with(bytes(3, "gzip")),
            "its content encoding \"gzip\" is not read: send the object as it is",
        ),
        (
            with(bytes(4, "application/cbor")),
            "its content type \"application/cbor\" is not read: send protobuf or JSON",
        ),
        (with(vec![0x1a]), "the object: the bytes end too early"),
        (
            with(vec![0x2b, 0x2c]),
            "the object: wire type 3 is not read",
        ),
    ];
    for (body, expected) in table {
        assert_eq!(decode(&body).unwrap_err().to_string(), expected);
    }
}

#[test]
fn faults_inside_the_object_are_placed() {
    let container = |fields: Vec<u8>| bytes(2, message(&[bytes(2, []), bytes(2, fields)]));
    let table = [
        (
            container(bytes(1, [0xff])),
            "spec.containers[1].name: its text is not UTF-8",
        ),
        (
            container(number(1, 5)),
            "spec.containers[1].name: it is written in the wrong wire type",
        ),
        (
            container(vec![0x0a, 9]),
            "spec.containers[1]: the bytes end too early",
        ),
        (
            container(vec![0x0b]),
            "spec.containers[1]: wire type 3 is not read",
        ),
        (
            bytes(1, bytes(12, message(&[bytes(1, "a"), bytes(2, [0xff])]))),
            "metadata.annotations[\"a\"]: its text is not UTF-8",
        ),
        (
            bytes(1, bytes(8, number(1, u64::MAX >> 1))),
            "metadata.creationTimestamp: its time is out of range",
        ),
        (
            bytes(1, bytes(17, bytes(7, bytes(1, "{")))),
            "metadata.managedFields[0].fieldsV1: its raw bytes are not JSON: \
             EOF while parsing an object at line 1 column 1",
        ),
    ];
    for (raw, expected) in table {
        let error = decode(&body("v1", "Pod", raw)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

/// A CRD whose schema has so many levels of `not`.
fn nested_schema(levels: usize) -> Vec<u8> {
    let schema = (0..levels).fold(Vec::new(), |inner, _| bytes(28, inner));
    let version = message(&[bytes(1, "v1"), bytes(4, bytes(1, schema))]);
    let raw = bytes(2, bytes(7, version));
    body("apiextensions.k8s.io/v1", "CustomResourceDefinition", raw)
}

fn height(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(height).max().unwrap_or(0),
        Value::Object(object) => 1 + object.values().map(height).max().unwrap_or(0),
        _ => 0,
    }
}

#[test]
fn depth_is_limited_as_in_json() {
    // Object, spec, versions, version, schema, openAPIV3Schema: six levels come before.
    let deepest = decode(&nested_schema(DEPTH - 6)).unwrap();
    assert_eq!(height(&deepest), DEPTH);
    assert_eq!(problem(&nested_schema(DEPTH - 5)).1, Problem::TooDeep);
    assert_eq!(problem(&nested_schema(20_000)).1, Problem::TooDeep);
    let raw = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let revision = body("apps/v1", "ControllerRevision", bytes(2, bytes(1, raw)));
    let expected = ("data".to_owned(), Problem::TooDeep);
    assert_eq!(problem(&revision), expected);
}

#[test]
fn cells_are_counted() {
    let containers = |count: usize| body("v1", "Pod", bytes(2, bytes(2, []).repeat(count)));
    // Each has a name that JSON always writes, so an empty one counts ten times.
    assert!(decode(&containers(CELLS / 10 - 4)).is_ok());
    assert_eq!(problem(&containers(CELLS / 10)).1, Problem::TooMany);
    let packed = body("v1", "Pod", bytes(2, bytes(14, bytes(4, vec![0; CELLS]))));
    assert_eq!(problem(&packed).1, Problem::TooMany);
}

#[test]
fn a_body_that_ends_early_is_refused() {
    for (name, body, _) in stored() {
        let (start, end) = raw_of(&body);
        for cut in start..end {
            assert!(decode(&body[..cut]).is_err(), "{name} cut at {cut}");
        }
    }
}

/// Where the length of a body's object begins and its bytes end; all stored bodies are short in
/// their first part and have two empty fields at the end.
fn raw_of(body: &[u8]) -> (usize, usize) {
    let after_type_meta = 6 + usize::from(body[5]);
    assert_eq!(body[after_type_meta], 0x12);
    (after_type_meta + 1, body.len() - 4)
}

static STORED: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| stored().into_iter().map(|(_, body, _)| body).collect());

/// An apiVersion and kind of the table; the list of them comes from the stored bodies.
fn kinds() -> impl Strategy<Value = (String, String)> {
    let found: Vec<_> = stored()
        .into_iter()
        .map(|(_, _, json)| {
            let text = |name: &str| json[name].as_str().unwrap().to_owned();
            (text("apiVersion"), text("kind"))
        })
        .collect();
    prop::sample::select(found)
}

/// Bytes that look like fields: small numbers, any wire type, short lengths, inside each other.
fn fields() -> impl Strategy<Value = Vec<u8>> {
    let scalar = (1_u64..50, any::<u64>()).prop_map(|(field, value)| number(field, value));
    let text = (1_u64..50, "[a-z{}\\[\\]0-9]{0,6}").prop_map(|(field, text)| bytes(field, text));
    let odd = (0_u64..400, prop::collection::vec(any::<u8>(), 0..9))
        .prop_map(|(tag, rest)| message(&[varint(tag), rest]));
    let leaf = prop_oneof![4 => scalar, 4 => text, 1 => odd];
    leaf.prop_recursive(6, 60, 6, |inner| {
        (1_u64..50, prop::collection::vec(inner, 0..6))
            .prop_map(|(field, inner)| bytes(field, inner.concat()))
    })
}

fn check(body: &[u8]) {
    if let Ok(value) = decode(body) {
        assert!(value.is_object());
        assert!(height(&value) <= DEPTH);
        assert!(value["kind"].is_string() || value.get("kind").is_none());
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(tail in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&tail);
        check(&message(&[b"k8s\0".to_vec(), tail]));
    }

    #[test]
    fn no_object_panics(
        (api_version, kind) in kinds(),
        raw in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        check(&body(&api_version, &kind, raw));
    }

    #[test]
    fn no_fields_panic(
        (api_version, kind) in kinds(),
        parts in prop::collection::vec(fields(), 0..8),
    ) {
        check(&body(&api_version, &kind, parts.concat()));
    }

    #[test]
    fn no_changed_body_panics(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        twice in any::<bool>(),
    ) {
        let mut body = which.get(&STORED).clone();
        for (place, byte) in changes {
            let place = place.index(body.len());
            body[place] = byte;
        }
        if twice {
            let place = cut.index(body.len());
            let tail = body[place..].to_vec();
            body.extend(tail);
        } else {
            check(&body[..cut.index(body.len())]);
        }
        check(&body);
    }
}

#[test]
fn the_table_never_leads_into_itself_without_a_pointer() {
    // Absent structs are filled in with what JSON always writes: that must come to an end.
    let table = Table::of_this_crate().unwrap();
    for message in table.messages() {
        let name = message.name.rsplit('.').next().unwrap();
        assert!(!name.is_empty());
        assert!(
            reach(table, &message.name, 0),
            "{} has no end",
            message.name
        );
    }
}

fn reach(table: &Table, name: &str, depth: usize) -> bool {
    use landform_protobuf::{Label, Type};
    let message = table.messages().iter().find(|message| message.name == name);
    depth < 20
        && message
            .unwrap()
            .fields
            .iter()
            .all(|field| match (field.label, field.kind) {
                (Label::Always | Label::Inline, Type::Message(place)) => {
                    reach(table, &table.messages()[place].name, depth + 1)
                }
                _ => true,
            })
}
