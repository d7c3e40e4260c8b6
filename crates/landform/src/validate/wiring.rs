//! What installations import, and what provides it: missing, doubled, in a circle, or of a type that doesn't fit.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use landform_api::landscaper::installation::{
    DataImport, Installation, InstallationSpec, KeyReference,
};
use landform_api::landscaper::{self, names};
use landform_blueprint::Blueprint;
use landform_project::Reading;
use serde::Deserialize as _;
use serde_json::Value;

use super::blueprints::{self, Blueprints};
use super::circles::circles;
use super::finding::{Findings, Place};
use super::fits::fits;

/// An installation of the files.
pub(super) struct Part<'a> {
    pub(super) place: Place<'a>,
    namespace: String,
    pub(super) spec: InstallationSpec,
    pub(super) blueprint: Option<Cow<'a, Blueprint>>,
}

/// Data or targets, by namespace and name of the object.
pub(super) type Key = (String, &'static str, String);

pub(super) const DATA: &str = "DataObject";
pub(super) const TARGET: &str = "Target";

/// What stands in files and is imported.
#[derive(Default)]
pub(super) struct Provided<'a> {
    pub(super) objects: BTreeMap<Key, &'a Value>,
    /// Which installations export something.
    pub(super) exporters: BTreeMap<Key, Vec<usize>>,
    /// Targets may come by themselves.
    syncs: bool,
}

/// Checks all installations; returns how many there are.
pub(super) fn check(reading: &Reading, known: &Blueprints, findings: &mut Findings) -> usize {
    let parts = parts(reading, known, findings);
    let provided = provided(reading, &parts);
    for (key, exporters) in &provided.exporters {
        let mut exporters = exporters.iter().filter_map(|at| parts.get(*at));
        let first = exporters.next().map(|part| part.place.source.name.as_str());
        for other in exporters {
            findings.error(
                other.place,
                format!(
                    "{} {:?} is exported by {} already: one of both needs another name",
                    word(key.1),
                    key.2,
                    first.unwrap_or_default()
                ),
            );
        }
    }
    for (at, part) in parts.iter().enumerate() {
        imports(at, part, &parts, &provided, findings);
        exports(part, findings);
    }
    circles(&parts, &provided, findings);
    parts.len()
}

fn word(kind: &str) -> &'static str {
    if kind == DATA { "data" } else { "target" }
}

fn parts<'a>(
    reading: &'a Reading,
    known: &'a Blueprints,
    findings: &mut Findings,
) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for (file, parsed) in &reading.files {
        for source in &parsed.objects {
            if source.kind.group != landscaper::GROUP || source.kind.kind != "Installation" {
                continue;
            }
            let place = Place { file, source };
            // What doesn't fit the schema is told with the objects.
            let Ok(found) = Installation::deserialize(&*source.object) else {
                continue;
            };
            let blueprint =
                blueprints::of_installation(&found.spec.blueprint, known, place, findings);
            parts.push(Part {
                place,
                namespace: namespace(reading, source.namespace.as_deref()),
                spec: found.spec,
                blueprint,
            });
        }
    }
    parts
}

fn namespace(reading: &Reading, own: Option<&str>) -> String {
    own.unwrap_or(reading.settings.namespace()).to_owned()
}

fn provided<'a>(reading: &'a Reading, parts: &[Part<'_>]) -> Provided<'a> {
    let mut provided = Provided::default();
    for source in reading.files.values().flat_map(|parsed| &parsed.objects) {
        let kind = match source.kind.kind.as_str() {
            "DataObject" => DATA,
            "Target" => TARGET,
            "Secret" => "Secret",
            "ConfigMap" => "ConfigMap",
            "TargetSync" => {
                provided.syncs = true;
                continue;
            }
            _ => continue,
        };
        let namespace = namespace(reading, source.namespace.as_deref());
        provided
            .objects
            .insert((namespace, kind, source.name.clone()), &source.object);
    }
    for (at, part) in parts.iter().enumerate() {
        let data = part
            .spec
            .exports
            .data
            .iter()
            .map(|export| (DATA, &export.data_ref));
        let targets = part
            .spec
            .exports
            .targets
            .iter()
            .map(|export| (TARGET, &export.target));
        for (kind, name) in data.chain(targets) {
            let exporters = provided.exporters.entry(key(part, kind, name)).or_default();
            exporters.push(at);
        }
    }
    provided
}

pub(super) fn key(part: &Part<'_>, kind: &'static str, name: &str) -> Key {
    (part.namespace.clone(), kind, names::data_name(None, name))
}

/// What is known of a value that is imported.
enum Given<'a> {
    /// It stands in a file.
    Value(&'a Value),
    /// Something else will give it.
    Later,
}

fn imports(
    at: usize,
    part: &Part<'_>,
    parts: &[Part<'_>],
    provided: &Provided<'_>,
    findings: &mut Findings,
) {
    let mut given: BTreeMap<&str, Given<'_>> = BTreeMap::new();
    let mut parsed: BTreeMap<String, Value> = BTreeMap::new();
    for import in &part.spec.imports.data {
        // What is missing is told once.
        let found = data(part, import, provided, findings);
        given.insert(&import.name, found.unwrap_or(Given::Later));
        if let Some(value) = config_map_value(part, import, provided) {
            parsed.insert(import.name.clone(), value);
        }
    }
    for import in &part.spec.imports.targets {
        given.insert(&import.name, Given::Later);
        let several = import.targets.iter().flatten();
        let map = import.target_map.iter().flat_map(BTreeMap::values);
        let one = Some(&import.target).filter(|name| !name.is_empty());
        for name in one.into_iter().chain(several).chain(map) {
            let key = key(part, TARGET, name);
            if !provided.objects.contains_key(&key) && !provided.exporters.contains_key(&key) {
                missing(part, &import.name, &key, provided, findings);
            }
        }
    }
    let Some(blueprint) = &part.blueprint else {
        return;
    };
    let mapped = &part.spec.import_data_mappings;
    let is_given = |name: &str| given.contains_key(name) || mapped.contains_key(name);
    for import in &blueprint.definition.imports {
        if !is_given(&import.name) && !blueprint.may_be_absent(&import.name, is_given) {
            findings.error(part.place, format!(
                "its blueprint needs the import {:?}, which is given nothing: add it to spec.imports",
                import.name
            ));
        }
    }
    if mapped.is_empty() {
        for name in given.keys().filter(|name| blueprint.import(name).is_none()) {
            findings.warning(
                part.place,
                format!("its blueprint has no import {name:?}, which has no effect"),
            );
        }
    }
    fits(at, part, blueprint, parts, provided, findings);
    values(part, blueprint, &given, parsed, findings);
}

/// Where a data import comes from; none when that is missing.
fn data<'a>(
    part: &Part<'_>,
    import: &DataImport,
    provided: &Provided<'a>,
    findings: &mut Findings,
) -> Option<Given<'a>> {
    for (kind, reference) in [
        ("Secret", &import.secret_ref),
        ("ConfigMap", &import.config_map_ref),
    ] {
        if let Some(reference) = reference {
            let key = reference_key(part, kind, reference);
            if !provided.objects.contains_key(&key) {
                findings.warning(part.place, format!(
                    "the import {:?} comes from the {kind} {:?}, which is in no file: it has to be there already",
                    import.name, reference.name
                ));
            }
            return Some(Given::Later);
        }
    }
    let key = key(part, DATA, &import.data_ref);
    if provided.exporters.contains_key(&key) {
        return Some(Given::Later);
    }
    if let Some(object) = provided.objects.get(&key) {
        return Some(Given::Value(&object["data"]));
    }
    missing(part, &import.name, &key, provided, findings);
    None
}

fn reference_key(part: &Part<'_>, kind: &'static str, reference: &KeyReference) -> Key {
    let namespace = Some(&reference.namespace).filter(|namespace| !namespace.is_empty());
    let namespace = namespace.unwrap_or(&part.namespace).clone();
    (namespace, kind, reference.name.clone())
}

/// The value in a ConfigMap of the files.
fn config_map_value(
    part: &Part<'_>,
    import: &DataImport,
    provided: &Provided<'_>,
) -> Option<Value> {
    let reference = import.config_map_ref.as_ref()?;
    let object = provided
        .objects
        .get(&reference_key(part, "ConfigMap", reference))?;
    let text = object["data"][&reference.key].as_str()?;
    landform_yaml::parse_one(text, &landform_yaml::Budget::FILE).ok()
}

/// Nothing provides what is imported.
fn missing(
    part: &Part<'_>,
    import: &str,
    key: &Key,
    provided: &Provided<'_>,
    findings: &mut Findings,
) {
    let word = word(key.1);
    let known = provided.exporters.keys().chain(provided.objects.keys());
    let names: BTreeSet<&str> = known
        .filter(|(namespace, kind, _)| *namespace == key.0 && *kind == key.1)
        .map(|(_, _, name)| name.as_str())
        .collect();
    let near = names.iter().filter(|name| is_near(name, &key.2)).copied();
    let near: Vec<_> = near.collect();
    let hint = if !near.is_empty() {
        format!("; did you mean {}?", near.join(" or "))
    } else if names.is_empty() {
        format!("; no {word} is provided in namespace {}", key.0)
    } else {
        format!(
            "; in namespace {} there are {}",
            key.0,
            names.into_iter().collect::<Vec<_>>().join(", ")
        )
    };
    let message = format!(
        "the import {import:?} is the {word} {:?}, which no installation exports and no {} in the files is called{hint}",
        key.2, key.1
    );
    if key.1 == TARGET && provided.syncs {
        findings.warning(part.place, message + "; a TargetSync may bring it");
    } else {
        findings.error_in(part.place, &key.2, message);
    }
}

fn is_near(left: &str, right: &str) -> bool {
    let limit = (right.chars().count() / 3).max(1);
    crate::client::kind::distance(left, right) <= limit
}

/// Exports that the blueprint doesn't have.
fn exports(part: &Part<'_>, findings: &mut Findings) {
    let Some(blueprint) = &part.blueprint else {
        return;
    };
    let declared: BTreeSet<&str> = blueprint
        .definition
        .exports
        .iter()
        .map(|export| export.name.as_str())
        .collect();
    let mapped = &part.spec.export_data_mappings;
    let data = part.spec.exports.data.iter().map(|export| &export.name);
    let targets = part.spec.exports.targets.iter().map(|export| &export.name);
    for name in data.chain(targets) {
        if !declared.contains(name.as_str()) && !mapped.contains_key(name) {
            let known: Vec<_> = declared.iter().copied().collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            findings.error(
                part.place,
                format!("its blueprint has no export {name:?}; it has {known}"),
            );
        }
    }
}

/// Checks the values that stand in files, and runs the templates when there are no others.
fn values(
    part: &Part<'_>,
    blueprint: &Blueprint,
    given: &BTreeMap<&str, Given<'_>>,
    parsed: BTreeMap<String, Value>,
    findings: &mut Findings,
) {
    let mut known = parsed;
    for (name, given) in given {
        if let Given::Value(value) = given {
            known.insert((*name).to_owned(), (*value).clone());
        }
    }
    let all = part.spec.import_data_mappings.is_empty()
        && given.keys().all(|name| known.contains_key(*name));
    match blueprint.complete_imports(&known) {
        Ok(imports) if all => {
            let name = &part.place.source.name;
            for problem in blueprints::render(blueprint, &part.spec, name, imports) {
                findings.error(
                    part.place,
                    format!("its blueprint, with these imports: {problem}"),
                );
            }
        }
        Ok(_) => {}
        Err(problems) => {
            // What is missing here comes later, or is told already.
            for problem in problems
                .iter()
                .filter(|problem| known.contains_key(&problem.name))
            {
                findings.error(part.place, problem.to_string());
            }
        }
    }
}

/// Nested installations get what the blueprint imports, and what those beside them export.
pub(super) fn nested(blueprint: &Blueprint, within: &str, say: &mut dyn FnMut(String)) {
    let templates = blueprint.written_subinstallations();
    // What templates make is known when they run.
    if !blueprint.definition.subinstallation_executions.is_empty()
        || !blueprint.definition.import_executions.is_empty()
    {
        return;
    }
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut imports: Vec<_> = blueprint.definition.imports.iter().collect();
    while let Some(import) = imports.pop() {
        known.insert(&import.name);
        imports.extend(&import.imports);
    }
    for template in templates {
        known.extend(
            template
                .exports
                .data
                .iter()
                .map(|export| export.data_ref.as_str()),
        );
        known.extend(
            template
                .exports
                .targets
                .iter()
                .map(|export| export.target.as_str()),
        );
    }
    for template in templates {
        let data = template.imports.data.iter();
        let data =
            data.filter(|import| import.secret_ref.is_none() && import.config_map_ref.is_none());
        let data = data.map(|import| (&import.name, &import.data_ref));
        let targets = template
            .imports
            .targets
            .iter()
            .filter(|import| !import.target.is_empty());
        let targets = targets.map(|import| (&import.name, &import.target));
        for (name, from) in data.chain(targets) {
            if !from.starts_with('#') && !known.contains(from.as_str()) {
                say(format!(
                    "{within}nested installation {:?}: the import {name:?} is {from:?}, which is no import of the blueprint and no export of another nested installation",
                    template.name
                ));
            }
        }
    }
}
