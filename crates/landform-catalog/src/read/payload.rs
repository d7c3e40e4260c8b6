//! What is installed for a bundle: its spec and the definitions that it owns.

use std::collections::BTreeSet;
use std::sync::Arc;

use landform_api::catalog::OperatorVersionSpec;
use landform_api::catalog::operator_version::{KindVersion, PackageRange};

use super::draft::{DefinitionDraft, Needs, ServiceVersion};
use super::problem::Note;
use crate::model::{Manifest, Payload};

/// The payload, or only facts when a definition that must be there isn't.
pub(super) fn payload(
    spec: &OperatorVersionSpec,
    definitions: &[&DefinitionDraft],
    place: &str,
    notes: &mut Vec<Note>,
) -> Payload {
    let mut found = Vec::new();
    let mut complete = true;
    let owned: BTreeSet<(&str, &str)> = spec
        .owned
        .iter()
        .map(|owned| (owned.group.as_str(), owned.kind.as_str()))
        .collect();
    for (group, kind) in owned {
        let definition = definitions
            .iter()
            .find(|definition| definition.group == group && definition.kind == kind);
        let missing = match definition {
            None => Some(format!(
                "the definition of {kind} in {group}, which it owns, isn't there"
            )),
            Some(definition) => definition.unusable.clone(),
        };
        if let Some(missing) = missing {
            let reason = format!("{missing}; the version is listed, and can't be installed");
            notes.push(Note::error(place, reason));
            complete = false;
            continue;
        }
        if let Some(definition) = definition {
            notes.extend(definition.note.clone());
            found.push(definition.text.clone());
        }
    }
    let text = match serde_json::to_string(spec) {
        Ok(text) if complete => text,
        Ok(_) => return Payload::Facts,
        Err(error) => {
            let reason = format!("it can't be written as JSON: {error}; it can't be installed");
            notes.push(Note::error(place, reason));
            return Payload::Facts;
        }
    };
    Payload::Manifest(Arc::new(Manifest {
        spec: text.into_boxed_str(),
        definitions: found,
    }))
}

/// The payload of a ClusterServiceVersion with everything that lies beside it.
pub(super) fn of_service_version(
    version: &mut ServiceVersion,
    package: &str,
    needs: &Needs,
    definitions: &[&DefinitionDraft],
    others: &[String],
    place: &str,
) -> Payload {
    package.clone_into(&mut version.spec.package);
    for needed in &needs.packages {
        version.spec.requirements.packages.push(PackageRange {
            package: needed.package.to_string(),
            range: needed.range.to_string(),
        });
    }
    for kind in &needs.kinds {
        let kind = KindVersion {
            group: kind.group.clone(),
            version: kind.version.clone(),
            kind: kind.kind.clone(),
        };
        if !version.spec.requirements.definitions.contains(&kind) {
            version.spec.requirements.definitions.push(kind);
        }
    }
    for definition in definitions {
        let owned = |kind: &&landform_api::catalog::Definition| {
            kind.group == definition.group && kind.kind == definition.kind
        };
        if !version.spec.owned.iter().any(|kind| owned(&kind)) {
            version.notes.push(Note::warning(
                definition.place.as_str(),
                format!(
                    "the definition of {} in {} lies beside the ClusterServiceVersion {}, which \
                     doesn't own it: it is not installed",
                    definition.kind, definition.group, version.name
                ),
            ));
        }
    }
    if !others.is_empty() {
        version.notes.push(Note::warning(
            place,
            format!(
                "only the ClusterServiceVersion and its definitions are installed, not: {}",
                others.join(", ")
            ),
        ));
    }
    payload(&version.spec, definitions, place, &mut version.notes)
}
