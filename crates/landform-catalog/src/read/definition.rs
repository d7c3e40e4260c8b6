//! CustomResourceDefinitions, as far as a catalog must know them.

use serde_json::Value;

use super::document::Source;
use super::draft::{DefinitionDraft, to_text};
use super::problem::Note;
use super::value::text;

/// Whether a document is a definition.
pub(super) fn is_definition(value: &Value) -> bool {
    text(value, "kind") == "CustomResourceDefinition"
        && text(value, "apiVersion").starts_with("apiextensions.k8s.io/")
}

/// Reads a definition; what is wrong with it is for those who want to use it.
pub(super) fn read(value: &Value, source: &Source<'_>) -> DefinitionDraft {
    let spec = value.get("spec").unwrap_or(&Value::Null);
    let kind = spec.get("names").map_or("", |names| text(names, "kind"));
    let api_version = text(value, "apiVersion");
    let name = value
        .get("metadata")
        .map_or("", |found| text(found, "name"));
    let unusable = if api_version == "apiextensions.k8s.io/v1" {
        None
    } else {
        Some(format!(
            "the definition {name} is of {api_version}, which servers no longer take: write it as \
             apiextensions.k8s.io/v1"
        ))
    };
    let converts = spec
        .get("conversion")
        .is_some_and(|conversion| text(conversion, "strategy") == "Webhook");
    let note = converts.then(|| {
        Note::warning(
            source.place("/spec/conversion"),
            format!(
                "the definition {name} converts between versions by a webhook, which Landform doesn't \
                 install: the version is listed, and objects of other versions of the kind can't be \
                 read"
            ),
        )
    });
    DefinitionDraft {
        group: text(spec, "group").to_owned(),
        kind: kind.to_owned(),
        text: to_text(value),
        unusable,
        note,
        place: source.place(""),
    }
}
