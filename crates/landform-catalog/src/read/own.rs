//! Our own format: OperatorVersion manifests.

use landform_api::GroupVersionKind;
use landform_api::catalog::{API_VERSION, OperatorVersionSpec};
use semver::Version;
use serde_json::Value;

use super::definition;
use super::document::{Document, Source};
use super::draft::{Membership, Needs, OwnDraft, Said};
use super::problem::{Note, Problems};
use super::value::{comma_separated, no_version, server_version, text};
use crate::edges::{Edges, Replaces};
use crate::range::Range;

/// On an OperatorVersion in a catalog: its channels, separated by commas.
pub const CHANNELS: &str = "catalog.landform.dev/channels";
/// On an OperatorVersion in a catalog: `true` when its first channel is the package's default.
pub const DEFAULT_CHANNEL: &str = "catalog.landform.dev/default-channel";
/// The channel of versions that name none.
const USUAL_CHANNEL: &str = "stable";

/// Whether a document is an OperatorVersion.
pub(super) fn is_own(value: &Value) -> bool {
    text(value, "apiVersion") == API_VERSION && text(value, "kind") == "OperatorVersion"
}

/// Reads an OperatorVersion.
pub(super) fn read(mut document: Document<'_>, problems: &mut Problems) -> Option<Said> {
    let source = &document.source;
    let spec = document
        .value
        .get_mut("spec")
        .map_or(Value::Null, Value::take);
    let metadata = document.value.get("metadata").unwrap_or(&Value::Null);
    let (name, package) = (text(metadata, "name"), text(&spec, "package").to_owned());
    let mut lost = |pointer: &str, reason: String| {
        let reason = format!("{reason}: the OperatorVersion is left out");
        problems.error(source.place(pointer), &package, reason);
        None
    };
    let spec: OperatorVersionSpec = match serde_json::from_value(spec) {
        Ok(spec) => spec,
        Err(error) => return lost("/spec", format!("its spec can't be read ({error})")),
    };
    if name.is_empty() {
        return lost("/metadata", "it has no metadata.name".to_owned());
    }
    if package.is_empty() {
        return lost("/spec", format!("{name} has no spec.package"));
    }
    let Ok(version) = Version::parse(&spec.version) else {
        let reason = match spec.version.as_str() {
            "" => format!("{name} has no spec.version"),
            text => no_version(text),
        };
        let said = lost("/spec/version", reason);
        debug_assert!(said.is_none());
        return Some(Said::Lost {
            package,
            name: name.to_owned(),
        });
    };
    Some(Said::Own(Box::new(draft(
        name, version, spec, metadata, source,
    ))))
}

fn draft(
    name: &str,
    version: Version,
    mut spec: OperatorVersionSpec,
    metadata: &Value,
    source: &Source<'_>,
) -> OwnDraft {
    let mut notes = Vec::new();
    let annotations = metadata.get("annotations").unwrap_or(&Value::Null);
    let mut channels = comma_separated(text(annotations, CHANNELS));
    if channels.is_empty() {
        channels.push(USUAL_CHANNEL.to_owned());
    }
    let is_default = match annotations.get(DEFAULT_CHANNEL) {
        Some(Value::Bool(is_default)) => *is_default,
        _ => text(annotations, DEFAULT_CHANNEL) == "true",
    };
    let membership = Membership {
        default_channel: channels.first().filter(|_| is_default).cloned(),
        channels,
        edges: edges(&mut spec, source, &mut notes),
        home: None,
    };
    let mut definitions = Vec::new();
    for owned in &mut spec.owned {
        if let Some(found) = owned.definition.take() {
            let source = Source::whole(source.file());
            let mut read = definition::read(&found, &source);
            // Where it stands says what it defines.
            read.group.clone_from(&owned.group);
            read.kind.clone_from(&owned.kind);
            definitions.push(read);
        }
    }
    let mut needs = Needs::default();
    for kind in &spec.requirements.definitions {
        let kind = GroupVersionKind::new(&kind.group, &kind.version, &kind.kind);
        if !needs.kinds.contains(&kind) {
            needs.kinds.push(kind);
        }
    }
    for (number, needed) in spec.requirements.packages.iter().enumerate() {
        let place = source.place(&format!("/spec/requirements/packages/{number}"));
        needs.package_in_range(&needed.package, &needed.range, &place);
    }
    if let Some(wanted) = &spec.requirements.min_server_version
        && server_version(wanted).is_none()
    {
        notes.push(Note::error(
            source.place("/spec/requirements/minServerVersion"),
            format!(
                "minServerVersion {wanted:?} is no version: nobody checks the server's version"
            ),
        ));
        spec.requirements.min_server_version = None;
    }
    notes.append(&mut needs.notes);
    OwnDraft {
        name: name.to_owned(),
        version,
        spec,
        definitions,
        membership,
        needs,
        notes,
    }
}

/// What it may replace; edges that can't be read are taken out of the spec too.
fn edges(spec: &mut OperatorVersionSpec, source: &Source<'_>, notes: &mut Vec<Note>) -> Edges {
    let mut replaces = spec.replaces.as_deref().map(Replaces::parse);
    // A name has none of these characters, so this was meant for a range.
    if let Some(Replaces::Name(name)) = &replaces
        && name.contains(['<', '>', '=', '|', '!', '^', '~', ' ', ','])
    {
        notes.push(Note::error(
            source.place("/spec/replaces"),
            format!(
                "replaces {name:?} is neither a name, a version nor a range of versions: nothing can be \
                 replaced by it; the version stays"
            ),
        ));
        replaces = None;
        spec.replaces = None;
    }
    let mut skip_range = None;
    if let Some(written) = &spec.skip_range {
        match Range::parse(written) {
            Ok(range) => skip_range = Some(range),
            Err(error) => {
                notes.push(Note::error(
                    source.place("/spec/skipRange"),
                    format!(
                        "{error}: nothing can be replaced by this skipRange; the version stays"
                    ),
                ));
                spec.skip_range = None;
            }
        }
    }
    Edges {
        replaces,
        skips: spec.skips.iter().map(|name| name.as_str().into()).collect(),
        skip_range,
    }
}
