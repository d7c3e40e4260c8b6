//! `blueprint.yaml`: what a blueprint imports and exports, and which templates make the rest.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::reader::{Object, Source};

/// The content of `blueprint.yaml`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Definition {
    /// Schemas that imports and exports share, by name.
    pub local_types: BTreeMap<String, Value>,
    /// What the blueprint is given.
    pub imports: Vec<ImportDefinition>,
    /// What it gives.
    pub exports: Vec<ExportDefinition>,
    /// Templates that add to the imports, or refuse them.
    pub import_executions: Vec<Executor>,
    /// Templates of deploy items.
    pub deploy_executions: Vec<Executor>,
    /// Templates of exports.
    pub export_executions: Vec<Executor>,
    /// Nested installations, as they are written.
    pub subinstallations: Vec<SubinstallationEntry>,
    /// Templates of nested installations.
    pub subinstallation_executions: Vec<Executor>,
}

/// What kind of thing an import or export is, with what it has to be.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueKind {
    /// Data that fits the schema.
    Data {
        /// A JSON schema.
        schema: Value,
    },
    /// A target of a type.
    Target {
        /// For instance `landscaper.gardener.cloud/kubernetes-cluster`.
        target_type: String,
    },
    /// Targets of one type.
    TargetList {
        /// The type of all of them.
        target_type: String,
    },
    /// Targets of one type by keys of the importer's choice.
    TargetMap {
        /// The type of all of them.
        target_type: String,
    },
}

/// One import.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportDefinition {
    /// Its name.
    pub name: String,
    /// What it has to be.
    pub kind: ValueKind,
    /// Whether it has to be given.
    pub required: bool,
    /// What stands in for it when it is not given.
    pub default: Option<Value>,
    /// Imports that count only when this one is given.
    pub imports: Vec<ImportDefinition>,
}

/// One export.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportDefinition {
    /// Its name.
    pub name: String,
    /// What it has to be.
    pub kind: ValueKind,
    /// Whether all of it is secret, wherever it comes from.
    pub secret: bool,
}

/// A template.
#[derive(Debug, Clone, PartialEq)]
pub struct Executor {
    /// Its name within its list.
    pub name: String,
    /// What evaluates it.
    pub engine: Engine,
    /// Where its text is.
    pub text: ExecutorText,
}

/// What evaluates a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Go's text/template: the template is a text.
    GoTemplate,
    /// Spiff: the template is YAML, or a text with YAML in it.
    Spiff,
}

/// The text of a template.
#[derive(Debug, Clone, PartialEq)]
pub enum ExecutorText {
    /// A file of the blueprint.
    File(String),
    /// A text in `blueprint.yaml`, with the pointer to it.
    Inline {
        /// The template.
        text: String,
        /// Where it stands in `blueprint.yaml`.
        pointer: String,
    },
    /// YAML in `blueprint.yaml`, with the pointer to it; only Spiff takes that.
    Value {
        /// The template.
        value: Value,
        /// Where it stands in `blueprint.yaml`.
        pointer: String,
    },
}

/// A nested installation in `blueprint.yaml`.
#[derive(Debug, Clone, PartialEq)]
pub enum SubinstallationEntry {
    /// In a file of the blueprint.
    File(String),
    /// Written there, with the pointer to it.
    Inline {
        /// The installation's template.
        value: Value,
        /// Where it stands in `blueprint.yaml`.
        pointer: String,
    },
}

const NOT_YET: &str = "component descriptors are not supported yet: give such values as data";

pub(crate) fn read(source: &Source, value: &Value) -> Definition {
    let object = Object::new(source, "", value);
    for name in [
        "apiVersion",
        "jsonSchema",
        "jsonSchemaVersion",
        "annotations",
        "metadata",
    ] {
        object.value(name);
    }
    if let Some(kind) = object.text("kind")
        && kind != "Blueprint"
    {
        source.problem("/kind", "this has to be `Blueprint`");
    }
    let executors = |name: &str| executors(&object, name);
    let definition = Definition {
        local_types: object.map("localTypes"),
        imports: imports(&object),
        exports: exports(&object),
        import_executions: executors("importExecutions"),
        deploy_executions: executors("deployExecutions"),
        export_executions: executors("exportExecutions"),
        subinstallations: subinstallations(&object),
        subinstallation_executions: executors("subinstallationExecutions"),
    };
    object.warn_about_others();
    let mut names = BTreeSet::new();
    unique_imports(source, &definition.imports, "/imports", &mut names);
    definition
}

fn unique_imports<'a>(
    source: &Source,
    imports: &'a [ImportDefinition],
    pointer: &str,
    names: &mut BTreeSet<&'a str>,
) {
    for (at, import) in imports.iter().enumerate() {
        let pointer = format!("{pointer}/{at}");
        if !import.name.is_empty() && !names.insert(&import.name) {
            source.problem(&pointer, format!("there are two imports {:?}", import.name));
        }
        unique_imports(
            source,
            &import.imports,
            &format!("{pointer}/imports"),
            names,
        );
    }
}

fn imports(object: &Object<'_>) -> Vec<ImportDefinition> {
    let items = object.list("imports");
    items
        .into_iter()
        .map(|(pointer, item)| import(object.source, &pointer, item))
        .collect()
}

fn import(source: &Source, pointer: &str, value: &Value) -> ImportDefinition {
    let object = Object::new(source, pointer, value);
    let name = object.required_text("name");
    let kind = value_kind(&object, true);
    let required = object.boolean("required").unwrap_or(true);
    let default = object.value("default").and_then(|default| {
        let default = Object::new(source, object.pointer("default"), default);
        let value = default.value("value").cloned();
        if value.is_none() {
            source.problem(
                &default.pointer,
                "`value` is missing: write `default: {value: …}`",
            );
        }
        default.warn_about_others();
        value
    });
    let imports = imports(&object);
    if required && default.is_none() && !imports.is_empty() {
        let message =
            "an import with conditional imports has to be optional: write `required: false`";
        source.problem(pointer, message);
    }
    object.warn_about_others();
    ImportDefinition {
        name,
        kind,
        required,
        default,
        imports,
    }
}

fn exports(object: &Object<'_>) -> Vec<ExportDefinition> {
    let source = object.source;
    let mut exports: Vec<ExportDefinition> = Vec::new();
    for (pointer, item) in object.list("exports") {
        let object = Object::new(source, pointer.as_str(), item);
        let name = object.required_text("name");
        let kind = value_kind(&object, false);
        let secret = object.boolean("secret").unwrap_or(false);
        object.warn_about_others();
        if !name.is_empty() && exports.iter().any(|export| export.name == name) {
            source.problem(&pointer, format!("there are two exports {name:?}"));
        }
        exports.push(ExportDefinition { name, kind, secret });
    }
    exports
}

/// The kind: as `type` says, or as the other fields show when there is none.
fn value_kind(object: &Object<'_>, import: bool) -> ValueKind {
    let source = object.source;
    let schema = object.value("schema");
    let target_type = object.text("targetType");
    let kind = object.text("type").unwrap_or(if target_type.is_some() {
        "target"
    } else {
        "data"
    });
    let target_type = || match target_type {
        Some(target_type) => target_type.to_owned(),
        None => {
            source.problem(&object.pointer, "`targetType` is missing");
            String::new()
        }
    };
    match kind {
        "data" => {
            let schema = schema.cloned().unwrap_or_else(|| {
                source.problem(
                    &object.pointer,
                    "`schema` is missing: write a JSON schema, `{}` for anything",
                );
                Value::Bool(true)
            });
            ValueKind::Data { schema }
        }
        "target" => ValueKind::Target {
            target_type: target_type(),
        },
        "targetList" if import => ValueKind::TargetList {
            target_type: target_type(),
        },
        "targetMap" if import => ValueKind::TargetMap {
            target_type: target_type(),
        },
        other => {
            let message = match other {
                "componentDescriptor" | "componentDescriptorList" => NOT_YET.to_owned(),
                "targetList" => "lists of targets can't be exported: export each target".to_owned(),
                "targetMap" => "maps of targets can't be exported: export each target".to_owned(),
                _ if import => {
                    "this has to be `data`, `target`, `targetList` or `targetMap`".to_owned()
                }
                _ => "this has to be `data` or `target`".to_owned(),
            };
            source.problem(&object.pointer("type"), message);
            ValueKind::Data {
                schema: Value::Bool(true),
            }
        }
    }
}

fn executors(object: &Object<'_>, name: &str) -> Vec<Executor> {
    let source = object.source;
    let mut executors: Vec<Executor> = Vec::new();
    for (at, (pointer, item)) in object.list(name).into_iter().enumerate() {
        let object = Object::new(source, pointer.as_str(), item);
        let name = executor_name(&object, at);
        let engine = match object.text("type") {
            Some("GoTemplate") => Engine::GoTemplate,
            Some("Spiff") => Engine::Spiff,
            Some(_) => {
                let message = "this has to be `GoTemplate` or `Spiff`";
                source.problem(&object.pointer("type"), message);
                Engine::Spiff
            }
            None => {
                let message = "`type` is missing: write `type: GoTemplate` or `type: Spiff`";
                source.problem(&pointer, message);
                Engine::Spiff
            }
        };
        let text = executor_text(&object, engine);
        object.warn_about_others();
        if !name.is_empty() && executors.iter().any(|executor| executor.name == name) {
            source.problem(
                &pointer,
                format!("there are two executors {name:?} in this list"),
            );
        }
        if let Some(text) = text {
            executors.push(Executor { name, engine, text });
        }
    }
    executors
}

/// The name, or the place in the list for one that has none: Landscaper asks for no name.
fn executor_name(object: &Object<'_>, at: usize) -> String {
    let given = object.value("name").is_some();
    if given {
        return object.required_text("name");
    }
    let message = "`name` is missing: state and messages call it by its place in the list";
    object.source.warning(&object.pointer, message);
    at.to_string()
}

fn executor_text(object: &Object<'_>, engine: Engine) -> Option<ExecutorText> {
    let file = object
        .text("file")
        .map(|file| ExecutorText::File(file.to_owned()));
    let inline = match object.value("template") {
        None => None,
        Some(Value::String(text)) => Some(ExecutorText::Inline {
            text: text.clone(),
            pointer: object.pointer("template"),
        }),
        Some(value) if engine == Engine::Spiff => Some(ExecutorText::Value {
            value: value.clone(),
            pointer: object.pointer("template"),
        }),
        Some(_) => {
            let message = "a Go template is a text: write `template: |` and indent it below";
            object.source.problem(&object.pointer("template"), message);
            return None;
        }
    };
    match (file, inline) {
        (Some(text), None) | (None, Some(text)) => Some(text),
        (Some(_), Some(_)) => {
            object
                .source
                .problem(&object.pointer, "`file` and `template` exclude each other");
            None
        }
        (None, None) => {
            object
                .source
                .problem(&object.pointer, "`file` or `template` is missing");
            None
        }
    }
}

fn subinstallations(object: &Object<'_>) -> Vec<SubinstallationEntry> {
    let items = object.list("subinstallations").into_iter();
    let entries = items.map(|(pointer, item)| match item.get("file") {
        Some(Value::String(file)) => SubinstallationEntry::File(file.clone()),
        _ => SubinstallationEntry::Inline {
            value: item.clone(),
            pointer,
        },
    });
    entries.collect()
}
