//! JSON schemas of imports and exports: draft 7 with the words of later drafts that are in use, and
//! Landscaper's references.
//!
//! landform-schema knows structural schemas, which have no `$ref`, no types side by side and no
//! `patternProperties`; the `jsonschema` crate brings 45 others and patterns that may take exponential
//! time. What is here takes linear patterns only, counts its steps, and never shows a value.

mod check;
mod formats;
mod text;
mod validate;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::files::Files;

pub(crate) use check::check;
pub(crate) use validate::Checker;

/// Where references lead: the types of the blueprint, and its files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Schemas {
    pub(crate) local_types: BTreeMap<String, Value>,
    /// Files that schemas refer to, already read.
    pub(crate) files: BTreeMap<String, Value>,
}

/// A schema with the document that `#/…` in it is about.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) document: &'a Value,
    pub(crate) schema: &'a Value,
}

impl Schemas {
    /// Follows a reference.
    pub(crate) fn resolve<'a>(
        &'a self,
        document: &'a Value,
        reference: &str,
    ) -> Result<Place<'a>, String> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let document = if base.is_empty() {
            document
        } else if let Some(name) = base.strip_prefix("local://") {
            self.local_types
                .get(name)
                .ok_or_else(|| format!("there is no type {name:?} under `localTypes`"))?
        } else if let Some(path) = base.strip_prefix("blueprint://") {
            self.files
                .get(path.trim_start_matches('/'))
                .ok_or_else(|| format!("the blueprint has no file {path:?}"))?
        } else if base.starts_with("cd://") {
            return Err(
                "component descriptors are not supported yet: put the schema into the \
                        blueprint and refer to it with `blueprint://`"
                    .to_owned(),
            );
        } else {
            return Err("only `#/…`, `local://…` and `blueprint://…` are followed".to_owned());
        };
        let schema = document
            .pointer(fragment)
            .ok_or_else(|| format!("there is nothing at `#{fragment}`"))?;
        Ok(Place { document, schema })
    }
}

/// The paths of files that a schema refers to.
pub(crate) fn files_of(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref")
                && let Some(path) = reference.strip_prefix("blueprint://")
            {
                let path = path.split('#').next().unwrap_or_default();
                found.push(path.trim_start_matches('/').to_owned());
            }
            fields.values().for_each(|value| files_of(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| files_of(item, found)),
        _ => {}
    }
}

/// Reads all files that schemas refer to, also those that such files refer to. Files that are not
/// there or no schema are left out; `check` reports the references.
pub(crate) fn load_files(files: &Files, roots: &[&Value]) -> BTreeMap<String, Value> {
    let mut loaded = BTreeMap::new();
    let mut wanted = Vec::new();
    roots.iter().for_each(|root| files_of(root, &mut wanted));
    while let Some(path) = wanted.pop() {
        if loaded.contains_key(&path) {
            continue;
        }
        let text = files
            .get(&path)
            .and_then(|bytes| std::str::from_utf8(bytes).ok());
        let limits = landform_yaml::Budget::RUN;
        let allowed = landform_yaml::Allowed {
            aliases: true,
            repeated_keys: false,
        };
        let placed =
            text.and_then(|text| landform_yaml::parse_placed_with(text, &limits, allowed).ok());
        if let Some(schema) = placed.map(|placed| placed.value) {
            files_of(&schema, &mut wanted);
            loaded.insert(path, schema);
        }
    }
    loaded
}
