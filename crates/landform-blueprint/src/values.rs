//! Imports and exports: whether values are what the blueprint declares.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::definition::{ExportDefinition, ImportDefinition, ValueKind};
use crate::problem::{ExportProblem, ImportProblem, Side, ValueProblem};
use crate::reader::kind;
use crate::schema::{Checker, Schemas};
use crate::secret::hidden_names;

/// The imports that count, with their defaults; or everything that is wrong with them.
pub(crate) fn complete_imports(
    definitions: &[ImportDefinition],
    schemas: &Schemas,
    given: &BTreeMap<String, Value>,
    shown: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, Vec<ImportProblem>> {
    let mut complete = BTreeMap::new();
    let mut problems = Vec::new();
    let check = Check {
        side: Side::Import,
        checker: Checker::new(schemas),
        shown,
    };
    complete_level(definitions, &check, given, &mut complete, &mut problems);
    if problems.is_empty() {
        Ok(complete)
    } else {
        Err(problems)
    }
}

fn complete_level(
    definitions: &[ImportDefinition],
    check: &Check<'_>,
    given: &BTreeMap<String, Value>,
    complete: &mut BTreeMap<String, Value>,
    problems: &mut Vec<ImportProblem>,
) {
    for definition in definitions {
        let value = given.get(&definition.name).or(definition.default.as_ref());
        let Some(value) = value else {
            if definition.required {
                problems.push(ValueProblem {
                    side: Side::Import,
                    name: definition.name.clone(),
                    path: String::new(),
                    message: "it is required, and nothing provides it".to_owned(),
                });
            }
            continue;
        };
        check.value(&definition.name, &definition.kind, value, problems);
        complete.insert(definition.name.clone(), value.clone());
        // Conditional imports count only below an import that is there.
        complete_level(&definition.imports, check, given, complete, problems);
    }
}

/// Whether nothing has to provide an import.
pub(crate) fn may_be_absent(
    definitions: &[ImportDefinition],
    name: &str,
    given: &impl Fn(&str) -> bool,
) -> bool {
    definitions.iter().any(|definition| {
        let optional = !definition.required || definition.default.is_some();
        if definition.name == name {
            return optional;
        }
        let absent = definition.default.is_none() && !given(&definition.name);
        if absent {
            let mut below = BTreeSet::new();
            all_names(&definition.imports, &mut below);
            return below.contains(name);
        }
        may_be_absent(&definition.imports, name, given)
    })
}

/// The names of given values that the blueprint doesn't ask for.
pub(crate) fn undeclared(
    definitions: &[ImportDefinition],
    given: &BTreeMap<String, Value>,
) -> Vec<String> {
    let mut names = BTreeSet::new();
    all_names(definitions, &mut names);
    given
        .keys()
        .filter(|name| !names.contains(name.as_str()))
        .cloned()
        .collect()
}

fn all_names<'a>(definitions: &'a [ImportDefinition], names: &mut BTreeSet<&'a str>) {
    for definition in definitions {
        names.insert(&definition.name);
        all_names(&definition.imports, names);
    }
}

/// Imports that may be absent: optional ones, and those that depend on one.
pub(crate) fn optional_names(definitions: &[ImportDefinition]) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for definition in definitions {
        if !definition.required {
            names.insert(definition.name.as_str());
        }
        all_names(&definition.imports, &mut names);
    }
    names
}

/// Declared exports without a value, values without a declaration, and values that don't fit.
pub(crate) fn check_exports(
    definitions: &[ExportDefinition],
    schemas: &Schemas,
    values: &BTreeMap<String, Value>,
    shown: &BTreeMap<String, Value>,
) -> Vec<ExportProblem> {
    let check = Check {
        side: Side::Export,
        checker: Checker::new(schemas),
        shown,
    };
    let mut problems = Vec::new();
    let problem = |name: &str, message: &str| ValueProblem {
        side: Side::Export,
        name: name.to_owned(),
        path: String::new(),
        message: message.to_owned(),
    };
    for definition in definitions {
        match values.get(&definition.name) {
            Some(value) => check.value(&definition.name, &definition.kind, value, &mut problems),
            None => problems.push(problem(
                &definition.name,
                "the blueprint declares it, and no export execution gives it",
            )),
        }
    }
    for name in values.keys() {
        if !definitions
            .iter()
            .any(|definition| definition.name == *name)
        {
            problems.push(problem(
                name,
                "the blueprint doesn't declare it under `exports`",
            ));
        }
    }
    problems
}

/// What values are checked with.
struct Check<'a> {
    side: Side,
    checker: Checker<'a>,
    /// What may be shown of those that have secret parts.
    shown: &'a BTreeMap<String, Value>,
}

impl Check<'_> {
    fn value(
        &self,
        name: &str,
        expected: &ValueKind,
        value: &Value,
        problems: &mut Vec<ValueProblem>,
    ) {
        let side = self.side;
        let mut push = |path: &str, message: String| {
            problems.push(ValueProblem {
                side,
                name: name.to_owned(),
                path: path.to_owned(),
                message,
            });
        };
        match expected {
            ValueKind::Data { schema } => {
                let shown = self.shown.get(name).unwrap_or(value);
                let hidden = hidden_names(value, shown);
                for finding in self.checker.validate(schema, value, &hidden) {
                    push(&finding.path, finding.message);
                }
            }
            ValueKind::Target { target_type } => {
                check_target(side, target_type, value, "", &mut push);
            }
            ValueKind::TargetList { target_type } => match value.as_array() {
                Some(targets) => {
                    for (at, target) in targets.iter().enumerate() {
                        check_target(side, target_type, target, &format!("[{at}]"), &mut push);
                    }
                }
                None => push(
                    "",
                    format!("has to be a list of targets, and is {}", kind(value)),
                ),
            },
            ValueKind::TargetMap { target_type } => match value.as_object() {
                Some(targets) => {
                    for (key, target) in targets {
                        check_target(side, target_type, target, &format!("[{key}]"), &mut push);
                    }
                }
                None => push(
                    "",
                    format!("has to be a map of targets, and is {}", kind(value)),
                ),
            },
        }
    }
}

/// An imported target is the whole object. An exported one is what its spec will be, or a whole object: that
/// is how templates see the targets of nested installations.
fn check_target(
    side: Side,
    target_type: &str,
    value: &Value,
    path: &str,
    push: &mut impl FnMut(&str, String),
) {
    let pointer = match side {
        Side::Import => "/spec/type",
        Side::Export if value.get("type").is_none() && value.get("spec").is_some() => "/spec/type",
        Side::Export => "/type",
    };
    let shown = format!("{path}{}", pointer.replace('/', "."));
    if !value.is_object() {
        return push(path, format!("has to be a target, and is {}", kind(value)));
    }
    match value.pointer(pointer).and_then(Value::as_str) {
        Some(given) if given == target_type => {}
        Some(_) => push(
            &shown,
            format!("has to be `{target_type}`, and is another type"),
        ),
        None => push(&shown, format!("has to be `{target_type}`, and is missing")),
    }
    let name = value.pointer("/metadata/name").and_then(Value::as_str);
    if side == Side::Import && name.is_none() {
        push(
            &format!("{path}.metadata.name"),
            "is missing: targets are given as whole objects".to_owned(),
        );
    }
}
