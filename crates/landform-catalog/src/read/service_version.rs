//! From a ClusterServiceVersion to the spec of an OperatorVersion.

use std::collections::BTreeMap;

use landform_api::catalog::OperatorVersionSpec;
use landform_api::catalog::operator_version::{Definition, KindVersion, Managed, Requirements};
use landform_api::catalog::strategy::{DeploymentStrategy, InstallStrategy};
use semver::Version;
use serde_json::Value;

use super::document::Source;
use super::draft::ServiceVersion;
use super::problem::Note;
use super::value::{items, no_version, server_version, text, texts};
use crate::edges::{Edges, Replaces};
use crate::range::Range;

/// Whether a document is a ClusterServiceVersion.
pub(super) fn is_service_version(value: &Value) -> bool {
    text(value, "kind") == "ClusterServiceVersion"
        && text(value, "apiVersion").starts_with("operators.coreos.com/")
}

/// Reads a ClusterServiceVersion.
pub(super) fn read(value: &Value, source: &Source<'_>) -> ServiceVersion {
    let null = Value::Null;
    let metadata = value.get("metadata").unwrap_or(&null);
    let spec = value.get("spec").unwrap_or(&null);
    let mut notes = Vec::new();
    let (edges, skip_range) = edges(metadata, spec, source, &mut notes);
    let min_server_version = min_server_version(spec, source, &mut notes);
    let definitions = spec.get("customresourcedefinitions").unwrap_or(&null);
    let owned = kinds(definitions, "owned").map(|kind| Definition {
        group: kind.group,
        version: kind.version,
        kind: kind.kind,
        definition: None,
    });
    let made = OperatorVersionSpec {
        version: text(spec, "version").to_owned(),
        replaces: Some(text(spec, "replaces").to_owned()).filter(|replaces| !replaces.is_empty()),
        skips: texts(spec, "skips"),
        skip_range,
        requirements: Requirements {
            definitions: kinds(definitions, "required").collect(),
            min_server_version: min_server_version.as_ref().map(Version::to_string),
            ..Requirements::default()
        },
        owned: owned.collect(),
        manages: Managed {
            match_labels: labels(spec, source, &mut notes),
            kinds: Vec::new(),
        },
        install: install(spec, source, &mut notes),
        ..OperatorVersionSpec::default()
    };
    unsupported(spec, source, &mut notes);
    ServiceVersion {
        name: text(metadata, "name").to_owned(),
        version: version(spec, source, &mut notes),
        edges,
        spec: made,
        min_server_version,
        notes,
    }
}

fn version(spec: &Value, source: &Source<'_>, notes: &mut Vec<Note>) -> Option<Version> {
    // YAML takes 1.0 for a number.
    let number = spec.get("version").filter(|found| found.is_number());
    let number = number.map(Value::to_string);
    let found = number.as_deref().unwrap_or_else(|| text(spec, "version"));
    if found.is_empty() {
        notes.push(Note::error(
            source.place("/spec"),
            "the ClusterServiceVersion has no spec.version: it is left out",
        ));
        return None;
    }
    let version = Version::parse(found).ok();
    if version.is_none() {
        let reason = format!(
            "{}; the ClusterServiceVersion is left out",
            no_version(found)
        );
        notes.push(Note::error(source.place("/spec/version"), reason));
    }
    version
}

/// What it replaces, and the range's text when it is one.
fn edges(
    metadata: &Value,
    spec: &Value,
    source: &Source<'_>,
    notes: &mut Vec<Note>,
) -> (Edges, Option<String>) {
    let annotations = metadata.get("annotations").unwrap_or(&Value::Null);
    let written = text(annotations, "olm.skipRange");
    let mut skip_range = None;
    if !written.trim().is_empty() {
        match Range::parse(written) {
            Ok(range) => skip_range = Some(range),
            Err(error) => notes.push(Note::error(
                source.place("/metadata/annotations/olm.skipRange"),
                format!("{error}: nothing can be replaced by this skipRange; the version stays"),
            )),
        }
    }
    let text_of_range = skip_range.as_ref().map(|_| written.to_owned());
    let replaces = text(spec, "replaces");
    let edges = Edges {
        // Here it is always a name, also one that looks like a version.
        replaces: (!replaces.is_empty()).then(|| Replaces::Name(replaces.into())),
        skips: texts(spec, "skips")
            .iter()
            .map(|name| name.as_str().into())
            .collect(),
        skip_range,
    };
    (edges, text_of_range)
}

fn min_server_version(spec: &Value, source: &Source<'_>, notes: &mut Vec<Note>) -> Option<Version> {
    let found = text(spec, "minKubeVersion");
    if found.trim().is_empty() {
        return None;
    }
    let version = server_version(found);
    if version.is_none() {
        notes.push(Note::error(
            source.place("/spec/minKubeVersion"),
            format!("minKubeVersion {found:?} is no version: nobody checks the server's version"),
        ));
    }
    version
}

/// Kinds by `name` (plural and group), `version` and `kind`.
fn kinds<'a>(definitions: &'a Value, field: &'a str) -> impl Iterator<Item = KindVersion> + 'a {
    items(definitions, field).map(|found| KindVersion {
        group: text(found, "name")
            .split_once('.')
            .map_or("", |(_, group)| group)
            .to_owned(),
        version: text(found, "version").to_owned(),
        kind: text(found, "kind").to_owned(),
    })
}

fn labels(spec: &Value, source: &Source<'_>, notes: &mut Vec<Note>) -> BTreeMap<String, String> {
    let selector = spec.get("selector").unwrap_or(&Value::Null);
    if items(selector, "matchExpressions").next().is_some() {
        notes.push(Note::warning(
            source.place("/spec/selector/matchExpressions"),
            "matchExpressions of spec.selector are not supported: only matchLabels say which \
             resources the operator manages",
        ));
    }
    let found = selector
        .get("matchLabels")
        .or_else(|| spec.get("labels"))
        .and_then(Value::as_object);
    let pairs = found.into_iter().flatten();
    pairs
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

fn install(spec: &Value, source: &Source<'_>, notes: &mut Vec<Note>) -> InstallStrategy {
    let Some(install) = spec.get("install").filter(|found| !found.is_null()) else {
        return InstallStrategy::default();
    };
    let strategy = text(install, "strategy");
    if strategy != "deployment" {
        notes.push(Note::warning(
            source.place("/spec/install/strategy"),
            format!(
                "the install strategy {strategy:?} is not known, only `deployment` is: the version is \
                 listed, and nothing is installed for it but its definitions"
            ),
        ));
        return InstallStrategy::default();
    }
    let wanted = install.get("spec").cloned().unwrap_or_default();
    match serde_json::from_value::<DeploymentStrategy>(wanted) {
        Ok(deployment) => InstallStrategy {
            deployment: Some(deployment),
            ..InstallStrategy::default()
        },
        Err(error) => {
            notes.push(Note::error(
                source.place("/spec/install/spec"),
                format!(
                    "the install strategy can't be read: {error}; the version is listed, and nothing \
                     is installed for it but its definitions"
                ),
            ));
            InstallStrategy::default()
        }
    }
}

/// What Landform doesn't do.
fn unsupported(spec: &Value, source: &Source<'_>, notes: &mut Vec<Note>) {
    let hooks = items(spec, "webhookdefinitions").count();
    if hooks > 0 {
        notes.push(Note::warning(
            source.place("/spec/webhookdefinitions"),
            format!(
                "{hooks} webhook(s) of the ClusterServiceVersion are not installed, which Landform \
                 doesn't support: the version is listed, and objects are neither checked, defaulted \
                 nor converted by them"
            ),
        ));
    }
    let services = spec.get("apiservicedefinitions").unwrap_or(&Value::Null);
    for (field, follows) in [
        ("owned", "they are not served"),
        ("required", "nobody checks that they are there"),
    ] {
        let names: Vec<&str> = items(services, field)
            .map(|found| text(found, "kind"))
            .collect();
        if !names.is_empty() {
            notes.push(Note::warning(
                source.place(&format!("/spec/apiservicedefinitions/{field}")),
                format!(
                    "{field} API services ({}) are not supported: the version is listed, and {follows}",
                    names.join(", ")
                ),
            ));
        }
    }
}
