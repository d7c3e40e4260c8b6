//! The table against others' knowledge of the same facts; run by hand, since neither is ours.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landform_protobuf::{Error, Label, Table, Type, decode};
use serde_json::Value;

/// The folders that an environment variable names.
fn folders(variable: &str) -> Vec<PathBuf> {
    let text = std::env::var(variable).unwrap_or_else(|_| panic!("set {variable}"));
    text.split(':').map(PathBuf::from).collect()
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|_, value| !value.is_null());
            object.values_mut().for_each(without_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

/// Where two values differ.
fn differences(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let (x, y) = (a.get(key), b.get(key));
                let path = format!("{path}.{key}");
                differences(
                    &path,
                    x.unwrap_or(&Value::Null),
                    y.unwrap_or(&Value::Null),
                    found,
                );
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (x, y)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}[{index}]"), x, y, found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(format!("{path}: ours {a}, theirs {b}")),
    }
}

#[test]
#[ignore = "needs LANDFORM_KUBERNETES_TESTDATA=<k8s.io/api>/testdata/HEAD[:<another folder>]"]
fn kubernetes_own_round_trip_objects_read_as_their_json() {
    let (mut read, mut skipped, mut wrong) = (0, Vec::new(), Vec::new());
    for folder in folders("LANDFORM_KUBERNETES_TESTDATA") {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let json = path.with_extension("json");
            if path.extension().is_none_or(|ending| ending != "pb") || !json.exists() {
                continue;
            }
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            match decode(&std::fs::read(&path).unwrap()) {
                Ok(ours) => {
                    let text = std::fs::read(&json).unwrap();
                    let mut theirs: Value = serde_json::from_slice(&text).unwrap();
                    without_nulls(&mut theirs);
                    differences(&name, &ours, &theirs, &mut wrong);
                    read += 1;
                }
                Err(Error::UnknownKind { .. } | Error::NoKind) => skipped.push(name),
                Err(error) => wrong.push(format!("{name}: {error}")),
            }
        }
    }
    skipped.sort();
    println!("{read} read; not in the table: {}", skipped.join(" "));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 60, "only {read} objects were found");
}

/// Fields that one release had and the next took away again.
const GONE: &[(&str, u32)] = &[("core.v1.PodSpec", 42)];

/// What `k8s-pb` says of a field: its type in prost's words and how often it may stand.
type Facts = BTreeMap<u32, (String, String)>;

/// The fields of all structs in a source of `k8s-pb`.
fn structs(source: &str) -> BTreeMap<String, Facts> {
    let mut all: BTreeMap<String, Facts> = BTreeMap::new();
    let (mut name, mut attribute) = (String::new(), None);
    for line in source.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("pub struct ") {
            name = bare(rest.split([' ', '{']).next().unwrap_or_default());
            all.entry(name.clone()).or_default();
        } else if let Some(rest) = line.strip_prefix("#[prost(") {
            let number = rest.split("tag = \"").nth(1).unwrap();
            let number: u32 = number.split('"').next().unwrap().parse().unwrap();
            attribute = Some((number, rest.split(", tag").next().unwrap().to_owned()));
        } else if let Some(rest) = line.strip_prefix("pub ")
            && let Some((number, kind)) = attribute.take()
        {
            let field = rest.split(':').next().unwrap_or_default().to_owned();
            all.get_mut(&name).unwrap().insert(number, (field, kind));
        }
    }
    all
}

/// Letters and digits only, in lower case: what JSON's and prost's names have in common.
fn bare(name: &str) -> String {
    let name = name.strip_prefix("r#").unwrap_or(name);
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

fn expected(label: Label, kind: Type) -> String {
    let word = match kind {
        Type::String => "string",
        Type::Bool => "bool",
        Type::Int32 => "int32",
        Type::Int64 => "int64",
        Type::Double => "double",
        Type::Bytes => "bytes",
        _ => "message",
    };
    match label {
        Label::Map => format!("btree_map = \"string, {word}\""),
        Label::List => format!("{word}, repeated"),
        Label::Plain | Label::Always | Label::Pointer | Label::Inline => {
            format!("{word}, optional")
        }
    }
}

/// A type in prost's words, without what only matters to Rust.
fn without_details(kind: &str) -> String {
    let details = ["boxed, ", ", boxed", " = \"vec\"", ", packed = \"false\""];
    details
        .iter()
        .fold(kind.to_owned(), |kind, detail| kind.replace(detail, ""))
}

fn source_of(root: &Path, message: &str) -> (PathBuf, String) {
    let (package, name) = message.rsplit_once('.').unwrap();
    let folder = match package.split_once('.').unwrap() {
        ("meta", version) => format!("apimachinery/pkg/apis/meta/{version}"),
        ("apiextensions", version) => {
            format!("apiextensions_apiserver/pkg/apis/apiextensions/{version}")
        }
        (group, version) => format!("api/{group}/{version}"),
    };
    (root.join(folder).join("mod.rs"), bare(name))
}

#[test]
#[ignore = "needs LANDFORM_K8S_PB=<sources of the crate k8s-pb>/src"]
fn numbers_and_types_are_those_of_k8s_pb() {
    let root = &folders("LANDFORM_K8S_PB")[0];
    let mut sources: BTreeMap<PathBuf, BTreeMap<String, Facts>> = BTreeMap::new();
    let (mut compared, mut newer, mut wrong) = (0, Vec::new(), Vec::new());
    for message in Table::of_this_crate().unwrap().messages() {
        let (path, name) = source_of(root, &message.name);
        let source = sources
            .entry(path.clone())
            .or_insert_with(|| structs(&std::fs::read_to_string(&path).unwrap()));
        let Some(theirs) = source.get(&name) else {
            newer.push(message.name.clone());
            continue;
        };
        for field in &message.fields {
            let place = format!("{} {} {}", message.name, field.number, field.name);
            let Some((their_name, kind)) = theirs.get(&field.number) else {
                newer.push(place);
                continue;
            };
            compared += 1;
            let ours = expected(field.label, field.kind);
            if without_details(kind) != ours {
                wrong.push(format!("{place}: ours {ours}, theirs {kind}"));
            }
            if bare(&field.name) != bare(their_name) {
                wrong.push(format!("{place}: their name is {their_name}"));
            }
        }
        for (number, (field, _)) in theirs {
            let known = message.fields.iter().any(|ours| ours.number == *number);
            if !known && !GONE.contains(&(message.name.as_str(), *number)) {
                wrong.push(format!("{}: we lack {number} {field}", message.name));
            }
        }
    }
    println!(
        "{compared} fields compared; not in k8s-pb: {}",
        newer.join(", ")
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 1_500, "only {compared} fields were found");
}
