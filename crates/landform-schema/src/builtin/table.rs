//! The text form of the built-in types, and its parser.
//!
//! ```text
//! # a comment
//! package io.k8s.api.apps.v1            prefix of the types that follow
//! group apps/v1                         API group and version of the kinds that follow
//!
//! type Deployment "What it is"          an object type
//!   kind plural=deployments short=deploy categories=all namespaced status scale=.spec.replicas,.status.replicas
//!   request                             sent by clients but not stored (a review, a scale)
//!   request every                       likewise, accepted in every group (DeleteOptions)
//!   atomicmap                           server-side apply treats the whole object as one value
//!   name!  [Type] map=a,b merge=a default={} "What it is for"
//!
//! scalar Time string format=date-time "What it is"
//! ```
//! After the name of a field: `!` required, `~` published as required but not enforced (a typed
//! client always sends it), `!!` enforced though not published. Then its type: `string`, `bool`,
//! `int32`, `int64`, `double`, `bytes`, `object`, the name of a type (of this package, else of
//! meta/v1 or core/v1, else written out), `[T]` for lists, `{T}` for maps. Then attributes:
//! `atomic`, `set`, `map=KEYS`, `unique` (equal keys are refused), `atomicmap`, `granularmap`, `merge`, `merge=KEY`, `retainKeys`,
//! `enum=A,B`, `min=N`, `max=N`, `default=JSON`, `when=FIELD:A|B` (default only if the sibling has
//! one of these values), `when=!FIELD` (only if the author left the sibling out).

use std::collections::BTreeMap;

use serde_json::Value;

/// Types without a package of their own are looked up in these, in this order.
const COMMON_PACKAGES: [&str; 5] = [
    "io.k8s.apimachinery.pkg.apis.meta.v1",
    "io.k8s.api.core.v1",
    "io.k8s.apimachinery.pkg.api.resource",
    "io.k8s.apimachinery.pkg.runtime",
    "io.k8s.apimachinery.pkg.util.intstr",
];

/// A line that couldn't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct TableError {
    /// The file.
    pub file: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// All types of all files.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) types: Vec<TypeDef>,
    pub(crate) index: BTreeMap<String, usize>,
}

/// One named type.
#[derive(Debug)]
pub(crate) struct TypeDef {
    pub(crate) name: String,
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) description: &'static str,
    pub(crate) form: Form,
    pub(crate) role: Role,
    pub(crate) atomic_map: bool,
    pub(crate) fields: Vec<FieldDef>,
}

/// What values of a type look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Fields,
    DateTime,
    Quantity,
    IntOrString,
    FreeObject,
    Json,
    /// One or more JSON schemas, or a boolean, or strings.
    Schemas,
}

/// What a type is for.
#[derive(Debug)]
pub(crate) enum Role {
    /// A part of others.
    Part,
    /// Sent by clients, not stored.
    Request,
    /// Sent by clients to any group.
    RequestEverywhere,
    /// A kind of stored objects.
    Kind(KindDef),
}

/// How a kind is served.
#[derive(Debug, Default)]
pub(crate) struct KindDef {
    pub(crate) plural: &'static str,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<&'static str>,
    pub(crate) categories: Vec<&'static str>,
    pub(crate) namespaced: bool,
    pub(crate) status: bool,
    pub(crate) scale: Option<(&'static str, &'static str)>,
}

/// One field of a type.
#[derive(Debug)]
pub(crate) struct FieldDef {
    pub(crate) name: &'static str,
    pub(crate) ty: TypeRef,
    pub(crate) published_required: bool,
    pub(crate) enforced_required: bool,
    pub(crate) attributes: Attributes,
    pub(crate) description: &'static str,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TypeRef {
    String,
    Bool,
    Int32,
    Int64,
    Double,
    Bytes,
    Object,
    /// The full name of a type.
    Named(String),
    List(Box<TypeRef>),
    Map(Box<TypeRef>),
}

/// What else is known of a field.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    /// `atomic`, `set` or `map`, for lists.
    pub(crate) list_type: Option<&'static str>,
    pub(crate) list_keys: Vec<&'static str>,
    /// Entries with equal keys are refused; most lists of Kubernetes only frown on them.
    pub(crate) unique: bool,
    pub(crate) map_type: Option<&'static str>,
    pub(crate) merge: bool,
    pub(crate) merge_key: Option<&'static str>,
    pub(crate) retain_keys: bool,
    pub(crate) enumeration: Vec<&'static str>,
    pub(crate) minimum: Option<i64>,
    pub(crate) maximum: Option<i64>,
    pub(crate) default: Option<Value>,
    pub(crate) when: Option<When>,
}

/// What a default depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// The sibling has one of these values.
    Is(Box<str>, Vec<Box<str>>),
    /// The author left the sibling out.
    Absent(Box<str>),
}

impl Tables {
    /// Parses files, then resolves the names of types.
    pub(crate) fn parse(
        files: &'static [(&'static str, &'static str)],
    ) -> Result<Self, TableError> {
        let mut tables = Self::default();
        for (file, text) in files {
            let mut reader = Reader {
                package: "",
                group: "",
                version: "",
            };
            for (number, line) in text.lines().enumerate() {
                let read = reader.line(&mut tables, line);
                read.map_err(|problem| TableError {
                    file,
                    line: number + 1,
                    problem,
                })?;
            }
        }
        for (index, def) in tables.types.iter().enumerate() {
            tables.index.insert(def.name.clone(), index);
        }
        tables.resolve()?;
        Ok(tables)
    }

    /// The type of this full name.
    pub(crate) fn get(&self, name: &str) -> Option<&TypeDef> {
        self.index
            .get(name)
            .and_then(|index| self.types.get(*index))
    }

    fn resolve(&mut self) -> Result<(), TableError> {
        let index = &self.index;
        for def in &mut self.types {
            let package = def
                .name
                .rsplit_once('.')
                .map_or("", |(package, _)| package)
                .to_owned();
            for field in &mut def.fields {
                let problem = |name: &str| TableError {
                    file: "types",
                    line: 0,
                    problem: format!("{}.{} has an unknown type {name}", def.name, field.name),
                };
                resolve_type(&mut field.ty, &package, index).map_err(|name| problem(&name))?;
            }
        }
        Ok(())
    }
}

fn resolve_type(
    ty: &mut TypeRef,
    package: &str,
    index: &BTreeMap<String, usize>,
) -> Result<(), String> {
    match ty {
        TypeRef::Named(name) => {
            if index.contains_key(name) {
                return Ok(());
            }
            let packages = std::iter::once(package).chain(COMMON_PACKAGES);
            let full = packages
                .map(|package| format!("{package}.{name}"))
                .find(|full| index.contains_key(full));
            *name = full.ok_or_else(|| name.clone())?;
            Ok(())
        }
        TypeRef::List(inner) | TypeRef::Map(inner) => resolve_type(inner, package, index),
        TypeRef::String
        | TypeRef::Bool
        | TypeRef::Int32
        | TypeRef::Int64
        | TypeRef::Double
        | TypeRef::Bytes
        | TypeRef::Object => Ok(()),
    }
}

/// The directives that hold for the lines that follow them.
struct Reader {
    package: &'static str,
    group: &'static str,
    version: &'static str,
}

impl Reader {
    fn line(&mut self, tables: &mut Tables, line: &'static str) -> Result<(), String> {
        let (body, description) = split_description(line)?;
        let mut words = body.split_whitespace();
        let Some(first) = words.next().filter(|word| !word.starts_with('#')) else {
            return Ok(());
        };
        if line.starts_with(' ') {
            let def = tables
                .types
                .last_mut()
                .ok_or("a field stands before any type")?;
            return in_type(def, first, words, description);
        }
        match first {
            "package" => {
                self.package = words.next().ok_or("package needs a name")?;
                (self.group, self.version) = ("", "");
            }
            "group" => {
                let text = words.next().ok_or("group needs group/version")?;
                (self.group, self.version) = text.rsplit_once('/').unwrap_or(("", text));
            }
            "type" => {
                let name = words.next().ok_or("type needs a name")?;
                tables
                    .types
                    .push(self.type_def(name, Form::Fields, description));
            }
            "scalar" => {
                let name = words.next().ok_or("scalar needs a name")?;
                let form = form(words.next().unwrap_or(""))?;
                tables.types.push(self.type_def(name, form, description));
            }
            other => return Err(format!("unknown directive {other:?}")),
        }
        Ok(())
    }

    fn type_def(&self, name: &str, form: Form, description: &'static str) -> TypeDef {
        TypeDef {
            name: format!("{}.{name}", self.package),
            group: self.group,
            version: self.version,
            description,
            form,
            role: Role::Part,
            atomic_map: false,
            fields: Vec::new(),
        }
    }
}

fn form(word: &str) -> Result<Form, String> {
    Ok(match word {
        "string" => Form::DateTime,
        "quantity" => Form::Quantity,
        "intorstring" => Form::IntOrString,
        "object" => Form::FreeObject,
        "json" => Form::Json,
        "schemas" => Form::Schemas,
        other => return Err(format!("unknown form of scalar {other:?}")),
    })
}

/// Splits a line into what precedes its description and the description.
fn split_description(line: &'static str) -> Result<(&'static str, &'static str), String> {
    let trimmed = line.trim_end();
    if trimmed.starts_with('#') || !trimmed.ends_with('"') {
        return Ok((trimmed, ""));
    }
    let inner = &trimmed[..trimmed.len() - 1];
    let start = inner
        .rfind(" \"")
        .ok_or("the description has no opening quote")?;
    Ok((&inner[..start], &inner[start + 2..]))
}

fn in_type(
    def: &mut TypeDef,
    first: &'static str,
    mut words: std::str::SplitWhitespace<'static>,
    description: &'static str,
) -> Result<(), String> {
    // A field may be called `kind`: directives of a type have no description.
    if description.is_empty() {
        match first {
            "atomicmap" => def.atomic_map = true,
            "request" if words.next() == Some("every") => def.role = Role::RequestEverywhere,
            "request" => def.role = Role::Request,
            "kind" => {
                let mut kind = kind(words)?;
                kind.singular = def
                    .name
                    .rsplit('.')
                    .next()
                    .unwrap_or_default()
                    .to_lowercase();
                def.role = Role::Kind(kind);
            }
            other => return Err(format!("{other:?} needs a description")),
        }
        return Ok(());
    }
    let name = first.trim_end_matches(['!', '~']);
    let ty = type_ref(words.next().ok_or_else(|| format!("{name} needs a type"))?)?;
    def.fields.push(FieldDef {
        name,
        ty,
        published_required: matches!(&first[name.len()..], "!" | "~"),
        enforced_required: matches!(&first[name.len()..], "!" | "!!"),
        attributes: attributes(words)?,
        description,
    });
    Ok(())
}

fn kind(words: std::str::SplitWhitespace<'static>) -> Result<KindDef, String> {
    let mut kind = KindDef::default();
    for word in words {
        match word.split_once('=') {
            Some(("plural", plural)) => kind.plural = plural,
            Some(("short", names)) => kind.short_names = names.split(',').collect(),
            Some(("categories", names)) => kind.categories = names.split(',').collect(),
            Some(("scale", paths)) => kind.scale = paths.split_once(','),
            None if word == "namespaced" => kind.namespaced = true,
            None if word == "status" => kind.status = true,
            _ => return Err(format!("unknown attribute of a kind {word:?}")),
        }
    }
    if kind.plural.is_empty() {
        return Err("a kind needs plural=".to_owned());
    }
    Ok(kind)
}

fn type_ref(word: &str) -> Result<TypeRef, String> {
    let inside = |open: char, close: char| word.strip_prefix(open)?.strip_suffix(close);
    if let Some(inner) = inside('[', ']') {
        return Ok(TypeRef::List(Box::new(type_ref(inner)?)));
    }
    if let Some(inner) = inside('{', '}') {
        return Ok(TypeRef::Map(Box::new(type_ref(inner)?)));
    }
    Ok(match word {
        "string" => TypeRef::String,
        "bool" => TypeRef::Bool,
        "int32" => TypeRef::Int32,
        "int64" => TypeRef::Int64,
        "double" => TypeRef::Double,
        "bytes" => TypeRef::Bytes,
        "object" => TypeRef::Object,
        name if name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-') =>
        {
            TypeRef::Named(name.to_owned())
        }
        other => return Err(format!("{other:?} is no type")),
    })
}

fn attributes(words: std::str::SplitWhitespace<'static>) -> Result<Attributes, String> {
    let mut attributes = Attributes::default();
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || {
            value
                .parse::<i64>()
                .map_err(|_| format!("{word:?} needs a number"))
        };
        match key {
            "atomic" | "set" => attributes.list_type = Some(key),
            "map" => {
                attributes.list_type = Some("map");
                attributes.list_keys = value.split(',').collect();
            }
            "unique" => attributes.unique = true,
            "atomicmap" => attributes.map_type = Some("atomic"),
            "granularmap" => attributes.map_type = Some("granular"),
            "merge" => {
                attributes.merge = true;
                attributes.merge_key = Some(value).filter(|key| !key.is_empty());
            }
            "retainKeys" => attributes.retain_keys = true,
            "enum" => attributes.enumeration = value.split(',').collect(),
            "min" => attributes.minimum = Some(number()?),
            "max" => attributes.maximum = Some(number()?),
            "default" => {
                let json = serde_json::from_str(value);
                attributes.default = Some(json.map_err(|error| format!("{word:?}: {error}"))?);
            }
            "when" => attributes.when = Some(when(value)?),
            _ => return Err(format!("unknown attribute {word:?}")),
        }
    }
    Ok(attributes)
}

fn when(text: &str) -> Result<When, String> {
    if let Some(field) = text.strip_prefix('!') {
        return Ok(When::Absent(field.into()));
    }
    let (field, values) = text
        .split_once(':')
        .ok_or("when needs FIELD:VALUE or !FIELD")?;
    Ok(When::Is(
        field.into(),
        values.split('|').map(Into::into).collect(),
    ))
}
