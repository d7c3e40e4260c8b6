//! Whether what is exported, or stands in a file, can be what is imported: by the types that schemas and targets say.

use landform_blueprint::{Blueprint, ValueKind};
use serde_json::Value;

use super::finding::Findings;
use super::wiring::{DATA, Part, Provided, TARGET, key};

/// Whether what others export can be what is imported, as far as schemas say the type.
pub(super) fn fits(
    at: usize,
    part: &Part<'_>,
    blueprint: &Blueprint,
    parts: &[Part<'_>],
    provided: &Provided<'_>,
    findings: &mut Findings,
) {
    let mut check = |import: &str, kind: &'static str, name: &str| {
        let Some(wanted) = blueprint.import(import) else {
            return;
        };
        let key = key(part, kind, name);
        if let Some(object) = provided.objects.get(&key).filter(|_| kind == TARGET) {
            let found = object["spec"]["type"].as_str().unwrap_or_default();
            if let Some(wanted) = target_type(&wanted.kind).filter(|wanted| *wanted != found) {
                findings.error(part.place, format!(
                    "the import {import:?} has to be a target of type {wanted}, and {name:?} is of type {found}"
                ));
            }
        }
        let exporter = provided.exporters.get(&key).and_then(|all| all.first());
        let Some(exporter) = exporter
            .filter(|exporter| **exporter != at)
            .and_then(|at| parts.get(*at))
        else {
            return;
        };
        let Some(given) = export_kind(exporter, kind, name) else {
            return;
        };
        if let Some(why) = differ(given, &wanted.kind) {
            findings.error(
                part.place,
                format!(
                    "the import {import:?} can't be what {} exports as {name:?}: {why}",
                    exporter.place.source.name
                ),
            );
        }
    };
    for import in &part.spec.imports.data {
        if import.secret_ref.is_none() && import.config_map_ref.is_none() {
            check(&import.name, DATA, &import.data_ref);
        }
    }
    for import in part
        .spec
        .imports
        .targets
        .iter()
        .filter(|import| !import.target.is_empty())
    {
        check(&import.name, TARGET, &import.target);
    }
}

fn export_kind<'a>(exporter: &'a Part<'_>, kind: &str, name: &str) -> Option<&'a ValueKind> {
    let spec = &exporter.spec.exports;
    let export = if kind == DATA {
        &spec
            .data
            .iter()
            .find(|export| export.data_ref == name)?
            .name
    } else {
        &spec
            .targets
            .iter()
            .find(|export| export.target == name)?
            .name
    };
    if exporter.spec.export_data_mappings.contains_key(export) {
        return None;
    }
    let exports = &exporter.blueprint.as_ref()?.definition.exports;
    exports
        .iter()
        .find(|found| found.name == *export)
        .map(|found| &found.kind)
}

fn target_type(kind: &ValueKind) -> Option<&str> {
    match kind {
        ValueKind::Target { target_type } => Some(target_type),
        ValueKind::Data { .. } | ValueKind::TargetList { .. } | ValueKind::TargetMap { .. } => None,
    }
}

/// Why the one can never be the other.
fn differ(given: &ValueKind, wanted: &ValueKind) -> Option<String> {
    match (given, wanted) {
        (ValueKind::Data { schema: given }, ValueKind::Data { schema: wanted }) => {
            let (given, wanted) = (types(given)?, types(wanted)?);
            let whole =
                |one: &str| one == "integer" && wanted.iter().any(|other| other == "number");
            let fits = given.iter().any(|one| {
                wanted.contains(one)
                    || whole(one)
                    || one == "number" && wanted.iter().any(|other| other == "integer")
            });
            (!fits).then(|| {
                format!(
                    "that is of type {}, and {} is needed",
                    given.join(" or "),
                    wanted.join(" or ")
                )
            })
        }
        (
            ValueKind::Target { target_type: given },
            ValueKind::Target {
                target_type: wanted,
            },
        ) => (given != wanted)
            .then(|| format!("that is a target of type {given}, and {wanted} is needed")),
        (ValueKind::Data { .. }, ValueKind::Target { .. }) => {
            Some("that is data, and a target is needed".to_owned())
        }
        (ValueKind::Target { .. }, ValueKind::Data { .. }) => {
            Some("that is a target, and data is needed".to_owned())
        }
        _ => None,
    }
}

/// The types that a schema allows, when it says them.
fn types(schema: &Value) -> Option<Vec<String>> {
    match &schema["type"] {
        Value::String(one) => Some(vec![one.clone()]),
        Value::Array(several) => several
            .iter()
            .map(|one| one.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_that_can_never_fit_are_told_apart_from_those_that_may() {
        let data = |type_: Value| ValueKind::Data {
            schema: json!({"type": type_}),
        };
        let target = |type_: &str| ValueKind::Target {
            target_type: type_.to_owned(),
        };
        for (given, wanted, differs) in [
            (data(json!("string")), data(json!("string")), false),
            (data(json!("string")), data(json!("integer")), true),
            (data(json!("integer")), data(json!("number")), false),
            (data(json!("number")), data(json!("integer")), false),
            (data(json!(["string", "null"])), data(json!("null")), false),
            (data(Value::Null), data(json!("string")), false),
            (target("a"), target("a"), false),
            (target("a"), target("b"), true),
            (data(json!("string")), target("a"), true),
        ] {
            assert_eq!(
                differ(&given, &wanted).is_some(),
                differs,
                "{given:?} {wanted:?}"
            );
        }
    }
}
