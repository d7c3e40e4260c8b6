//! The functions that templates of blueprints have beside the library: files, and OCI references.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use landform_template::{Environment, Template};
use serde_json::{Value, json};

use crate::component::Component;
use crate::files::Files;

const NOT_YET: &str = "contents of components can't be read yet: give such values as imports";

/// Functions that need a component descriptor or a cluster.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("getResourceKey", NOT_YET),
    ("getResourceContent", NOT_YET),
    ("resolve", NOT_YET),
    ("generateImageOverwrite", NOT_YET),
    (
        "getShootAdminKubeconfig",
        "templates don't reach clusters: give a target as an import",
    ),
    (
        "getShootAdminKubeconfigWithExpirationTimestamp",
        "templates don't reach clusters: give a target as an import",
    ),
    (
        "getServiceAccountKubeconfigWithExpirationTimestamp",
        "templates don't reach clusters: give a target as an import",
    ),
    (
        "getServiceAccountKubeconfig",
        "templates don't reach clusters: give a target as an import",
    ),
    (
        "getShootAdminKubeconfigWithExpirationTimestamp",
        "templates don't reach clusters: give a target as an import",
    ),
    (
        "getServiceAccountKubeconfigWithExpirationTimestamp",
        "templates don't reach clusters: give a target as an import",
    ),
    (
        "getOidcKubeconfig",
        "templates don't reach clusters: give a target as an import",
    ),
];

/// The environment of all templates of a blueprint.
pub(crate) fn environment(files: &Arc<Files>) -> Environment {
    let mut environment = Environment::default();
    for (name, reason) in UNSUPPORTED {
        environment = environment.with_function(name, |_| Err((*reason).to_owned()));
    }
    // Those of a run replace these; templates are checked against all names that there are.
    environment = Component::default().functions(environment);
    let readable = Arc::clone(files);
    let listable = Arc::clone(files);
    let included = Arc::clone(files);
    // A file that is included in a loop is read once.
    let known: Mutex<BTreeMap<String, Arc<Template>>> = Mutex::default();
    environment
        .with_function("readFile", move |arguments| read_file(&readable, arguments))
        .with_function("readDir", move |arguments| {
            read_directory(&listable, arguments)
        })
        .with_function("parseOCIRef", |arguments| {
            let (repository, version) = oci_reference(arguments)?;
            Ok(json!([repository, version]))
        })
        .with_function("ociRefRepo", |arguments| {
            Ok(json!(oci_reference(arguments)?.0))
        })
        .with_function("ociRefVersion", |arguments| {
            Ok(json!(oci_reference(arguments)?.1))
        })
        .with_includes(move |path| {
            let path = path.trim_start_matches("./").trim_start_matches('/');
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(template) = known.get(path) {
                return Ok(Arc::clone(template));
            }
            let text = file_text(&included, path)?;
            let template = Template::parse(path, text).map_err(|error| error.summary())?;
            let template = Arc::new(template);
            known.insert(path.to_owned(), Arc::clone(&template));
            Ok(template)
        })
}

fn only_text(arguments: &[Value]) -> Result<&str, String> {
    match arguments {
        [Value::String(text)] => Ok(text),
        _ => Err("this function takes one string".to_owned()),
    }
}

/// The messages don't repeat the path: it may be made from data, and the excerpt shows a literal one.
fn file_text<'a>(files: &'a Files, path: &str) -> Result<&'a str, String> {
    let content = files
        .get(path)
        .ok_or("the blueprint has no such file: paths begin at its root")?;
    std::str::from_utf8(content).map_err(|_| "the file is no UTF-8 text".to_owned())
}

fn read_file(files: &Files, arguments: &[Value]) -> Result<Value, String> {
    file_text(files, only_text(arguments)?).map(|text| json!(text))
}

/// A list of `{Name, IsDir}`, the parts of Go's FileInfo that mean something here.
fn read_directory(files: &Files, arguments: &[Value]) -> Result<Value, String> {
    let entries = files.list(only_text(arguments)?);
    let entries = entries.ok_or("the blueprint has no such directory: paths begin at its root")?;
    let entries = entries
        .iter()
        .map(|(name, directory)| json!({"Name": name, "IsDir": directory}));
    Ok(entries.collect())
}

/// Repository and version: `host:5000/a/b:1.0` is `host:5000/a/b` and `1.0`.
fn oci_reference(arguments: &[Value]) -> Result<(String, String), String> {
    let text = only_text(arguments)?;
    let name_start = text.rfind('/').map_or(0, |at| at + 1);
    let split = match text.split_once('@') {
        Some((repository, digest)) => {
            // A tag before a digest says nothing more.
            let tag = repository[name_start.min(repository.len())..].find(':');
            let end = tag.map_or(repository.len(), |at| name_start + at);
            Some((&repository[..end], digest))
        }
        None => text[name_start..].find(':').map(|at| {
            let at = name_start + at;
            (&text[..at], &text[at + 1..])
        }),
    };
    match split {
        Some((repository, version)) if !repository.is_empty() && !version.is_empty() => {
            Ok((repository.to_owned(), version.to_owned()))
        }
        _ => Err("the text is no OCI reference with a version, such as `host/name:1.0`".to_owned()),
    }
}
