//! Files of bundle directories besides objects: annotations, dependencies, package manifests, `ci.yaml`.

use serde_json::Value;

use super::document::{Document, Source};
use super::draft::{Annotations, Needs, PackageManifest, Said, UpdateGraph};
use super::problem::{Note, Problems};
use super::value::{comma_separated, items, text};

const PACKAGE: &str = "operators.operatorframework.io.bundle.package.v1";
const CHANNELS: &str = "operators.operatorframework.io.bundle.channels.v1";
const DEFAULT: &str = "operators.operatorframework.io.bundle.channel.default.v1";

/// Reads a document that is no object and has no schema, if it is one of these.
pub(super) fn read(document: &Document<'_>, problems: &mut Problems) -> Option<Said> {
    let Document { value, source } = document;
    let fields = value.as_object()?;
    if let Some(annotations) = fields.get("annotations")
        && annotations.get(PACKAGE).is_some()
    {
        let default = text(annotations, DEFAULT);
        return Some(Said::Annotations(Annotations {
            package: text(annotations, PACKAGE).to_owned(),
            channels: comma_separated(text(annotations, CHANNELS)),
            default_channel: (!default.is_empty()).then(|| default.to_owned()),
        }));
    }
    if fields.get("dependencies").is_some_and(Value::is_array) {
        return Some(Said::Dependencies(dependencies(value, source)));
    }
    if fields.contains_key("packageName") && fields.contains_key("channels") {
        let channels = items(value, "channels").filter_map(|channel| {
            let (name, head) = (text(channel, "name"), text(channel, "currentCSV"));
            (!name.is_empty() && !head.is_empty()).then(|| (name.to_owned(), head.to_owned()))
        });
        let default = text(value, "defaultChannel");
        return Some(Said::PackageManifest(PackageManifest {
            package: text(value, "packageName").to_owned(),
            channels: channels.collect(),
            default_channel: (!default.is_empty()).then(|| default.to_owned()),
        }));
    }
    if fields.contains_key("updateGraph") {
        let graph = match text(value, "updateGraph") {
            "replaces-mode" | "replaces" | "" => UpdateGraph::Replaces,
            "semver-mode" | "semver" => UpdateGraph::Semver,
            "semver-skippatch-mode" | "semver-skippatch" => UpdateGraph::SemverSkipPatch,
            other => {
                let reason = format!(
                    "updateGraph {other:?} is not known: versions replace what they say themselves; it \
                     can be replaces-mode, semver-mode or semver-skippatch"
                );
                problems.error(source.place("/updateGraph"), "", reason);
                UpdateGraph::Replaces
            }
        };
        return Some(Said::Graph(graph));
    }
    None
}

fn dependencies(value: &Value, source: &Source<'_>) -> Needs {
    let mut needs = Needs::default();
    for (number, dependency) in items(value, "dependencies").enumerate() {
        let place = source.place(&format!("/dependencies/{number}"));
        let wanted = dependency.get("value").unwrap_or(&Value::Null);
        match text(dependency, "type") {
            "olm.gvk" => needs.kind(wanted, &place),
            "olm.package" => needs.package(wanted, &place),
            "olm.constraint" => needs.constraint(wanted, &place),
            other => needs.notes.push(Note::warning(
                place,
                format!("a dependency of type {other:?} is not known: nobody checks it"),
            )),
        }
    }
    needs
}
