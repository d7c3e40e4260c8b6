//! OpenAPI documents: made when they are asked for, kept until what they are made from changes.
//!
//! A document can be as large as all definitions together, so it is written type by type: as a value it would take twenty
//! times as much.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use landform_schema::openapi::{self, CustomResourceNames};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::protobuf;
use crate::registry::{Kinds, Origin, Resource};

/// The documents of one set of kinds.
#[derive(Default)]
pub(crate) struct OpenApiCache(Mutex<Documents>);

#[derive(Default)]
struct Documents {
    /// What the documents of version 2 are made from.
    kinds: Weak<Kinds>,
    v2: Option<Bytes>,
    v2_protobuf: Option<Bytes>,
    /// By path, with the hash of what they are made from.
    v3: HashMap<String, (Bytes, String)>,
}

impl OpenApiCache {
    /// The documents of these kinds; those of others are dropped.
    fn documents(&self, kinds: &Arc<Kinds>) -> parking_lot::MutexGuard<'_, Documents> {
        let mut documents = self.0.lock();
        if !std::ptr::eq(documents.kinds.as_ptr(), Arc::as_ptr(kinds)) {
            documents.kinds = Arc::downgrade(kinds);
            documents.v2 = None;
            documents.v2_protobuf = None;
            documents.v3.retain(|path, (_, made)| {
                resources(kinds, path).is_some_and(|of| hash(of) == *made)
            });
        }
        documents
    }

    /// `/openapi/v2` as JSON.
    pub(crate) fn v2(&self, kinds: &Arc<Kinds>) -> Bytes {
        let mut documents = self.documents(kinds);
        documents.v2.get_or_insert_with(|| v2(kinds).into()).clone()
    }

    /// `/openapi/v2` in the form that older clients insist on.
    pub(crate) fn v2_protobuf(&self, kinds: &Arc<Kinds>) -> Bytes {
        let mut documents = self.documents(kinds);
        documents
            .v2_protobuf
            .get_or_insert_with(|| v2_protobuf(kinds).into())
            .clone()
    }

    /// `/openapi/v3`.
    pub(crate) fn v3_index(&self, kinds: &Arc<Kinds>) -> Bytes {
        let mut paths = Map::new();
        for (group, versions) in kinds.groups() {
            for (version, resources) in versions {
                let path = document_path(group, version);
                let address = format!("/openapi/v3/{path}?hash={}", hash(resources));
                paths.insert(path, json!({"serverRelativeURL": address}));
            }
        }
        json!({"paths": paths}).to_string().into()
    }

    /// One document of `/openapi/v3/…` and its hash.
    pub(crate) fn v3(&self, kinds: &Arc<Kinds>, path: &str) -> Option<(Bytes, String)> {
        let resources = resources(kinds, path)?;
        let mut documents = self.documents(kinds);
        let entry = documents.v3.entry(path.to_owned());
        Some(
            entry
                .or_insert_with(|| (v3(resources).into(), hash(resources)))
                .clone(),
        )
    }
}

/// What a document of version 3 is about.
fn resources<'a>(kinds: &'a Kinds, path: &str) -> Option<&'a [Arc<Resource>]> {
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["api", version] => kinds.resources("", version),
        ["apis", group, version] => kinds.resources(group, version),
        _ => None,
    }
}

fn document_path(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

/// What a document is made from, as a short text: the server's version and the definitions' revisions.
fn hash(resources: &[Arc<Resource>]) -> String {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    for resource in resources {
        resource.plural.hash(&mut hasher);
        if let Origin::Custom { revision, .. } = &resource.origin {
            revision.0.hash(&mut hasher);
        }
    }
    format!("{:016X}", hasher.finish())
}

fn names(resource: &Resource) -> CustomResourceNames<'_> {
    CustomResourceNames {
        group: &resource.group,
        version: &resource.version,
        kind: &resource.kind,
        list_kind: &resource.list_kind,
    }
}

/// The name of a resource's type in the documents.
fn type_name(resource: &Resource) -> String {
    if resource.is_custom() {
        return openapi::custom_type_name(names(resource));
    }
    landform_schema::builtin::kinds()
        .iter()
        .find(|kind| {
            kind.group == resource.group
                && kind.version == resource.version
                && kind.kind == resource.kind
        })
        .map_or_else(String::new, |kind| kind.definition.to_owned())
}

/// `"name":value,…` of a JSON map that is being written.
struct Entries<'a> {
    text: &'a mut String,
    is_first: bool,
}

impl Entries<'_> {
    fn put(&mut self, name: &str, value: &Value) {
        if !std::mem::take(&mut self.is_first) {
            self.text.push(',');
        }
        self.text.push_str(&Value::from(name).to_string());
        self.text.push(':');
        self.text.push_str(&value.to_string());
    }
}

/// Writes a map.
fn map(text: &mut String, fill: impl FnOnce(&mut Entries<'_>)) {
    text.push('{');
    fill(&mut Entries {
        text,
        is_first: true,
    });
    text.push('}');
}

fn info() -> Value {
    json!({"title": "Landform", "version": format!("v{}", env!("CARGO_PKG_VERSION"))})
}

fn v2(kinds: &Kinds) -> String {
    let mut text = format!(r#"{{"swagger":"2.0","info":{},"paths":"#, info());
    map(&mut text, |paths| {
        v2_paths(kinds, |path, item| paths.put(path, item));
    });
    text.push_str(r#","definitions":"#);
    map(&mut text, |definitions| {
        v2_definitions(kinds, |name, definition| definitions.put(name, definition));
    });
    text.push('}');
    text
}

fn v2_protobuf(kinds: &Kinds) -> Vec<u8> {
    let mut document = protobuf::Document::new(&info());
    v2_paths(kinds, |path, item| document.path(path, item));
    v2_definitions(kinds, |name, definition| {
        document.definition(name, definition);
    });
    document.end()
}

fn v2_paths(kinds: &Kinds, mut take: impl FnMut(&str, &Value)) {
    for (_, resources) in kinds.groups().values().flatten() {
        for resource in resources {
            each_path(resource, Dialect::V2, &mut take);
        }
    }
}

fn v2_definitions(kinds: &Kinds, mut take: impl FnMut(&str, &Value)) {
    let built_in = openapi::v2_definitions();
    for (name, value) in built_in {
        take(name, value);
    }
    for (_, resources) in kinds.groups().values().flatten() {
        for resource in resources.iter().filter(|resource| resource.is_custom()) {
            for (name, value) in openapi::custom_types_v2(&resource.schema, names(resource)) {
                // A group can be named so that its types have the names of built-in ones.
                if !built_in.contains_key(&name) {
                    take(&name, &value);
                }
            }
        }
    }
}

fn v3(resources: &[Arc<Resource>]) -> String {
    let mut text = format!(r#"{{"openapi":"3.0.0","info":{},"paths":"#, info());
    map(&mut text, |paths| {
        for resource in resources {
            each_path(resource, Dialect::V3, &mut |path, item| {
                paths.put(path, item);
            });
        }
    });
    text.push_str(r#","components":{"schemas":"#);
    map(&mut text, |schemas| {
        let (group, version) = resources
            .first()
            .map_or(("", ""), |resource| (&resource.group, &resource.version));
        let mut built_in = openapi::v3_schemas_for(group, version);
        built_in.extend(openapi::v3_schemas_of_metadata());
        for (name, value) in &built_in {
            schemas.put(name, value);
        }
        for resource in resources.iter().filter(|resource| resource.is_custom()) {
            for (name, value) in openapi::custom_types_v3(&resource.schema, names(resource)) {
                if !built_in.contains_key(name.as_str()) {
                    schemas.put(&name, &value);
                }
            }
        }
    });
    text.push_str("}}");
    text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    V2,
    V3,
}

impl Dialect {
    fn reference(self, name: &str) -> Value {
        match self {
            Self::V2 => json!({"$ref": format!("#/definitions/{name}")}),
            Self::V3 => json!({"$ref": format!("#/components/schemas/{name}")}),
        }
    }

    fn parameter(self, name: &str, place: &str, type_: &str) -> Value {
        match self {
            Self::V2 => {
                json!({"name": name, "in": place, "type": type_, "uniqueItems": true, "required": place == "path"})
            }
            Self::V3 => {
                json!({"name": name, "in": place, "schema": {"type": type_, "uniqueItems": true}, "required": place == "path"})
            }
        }
    }

    fn response(self, name: &str) -> Value {
        match self {
            Self::V2 => json!({"200": {"description": "OK", "schema": self.reference(name)}}),
            Self::V3 => {
                json!({"200": {"description": "OK", "content": {"application/json": {"schema": self.reference(name)}}}})
            }
        }
    }
}

/// The paths of a resource: its collection, its objects and their subresources.
fn each_path(resource: &Resource, dialect: Dialect, take: &mut impl FnMut(&str, &Value)) {
    let name = type_name(resource);
    let operation = |action| operation(resource, dialect, &name, action);
    let root = format!("/{}", document_path(&resource.group, &resource.version));
    let place = if resource.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{root}{place}/{}", resource.plural);
    let mut shared = Vec::new();
    if resource.namespaced {
        shared.push(dialect.parameter("namespace", "path", "string"));
        let all = json!({"get": operation("list")});
        take(&format!("{root}/{}", resource.plural), &all);
    }
    let of_collection = json!({
        "get": operation("list"),
        "post": operation("post"),
        "delete": operation("deletecollection"),
        "parameters": shared,
    });
    take(&collection, &of_collection);
    shared.push(dialect.parameter("name", "path", "string"));
    let of_object = json!({
        "get": operation("get"),
        "put": operation("put"),
        "patch": operation("patch"),
        "delete": operation("delete"),
        "parameters": shared,
    });
    take(&format!("{collection}/{{name}}"), &of_object);
    if resource.status {
        let of_status = json!({
            "get": operation("get"),
            "put": operation("put"),
            "patch": operation("patch"),
            "parameters": shared,
        });
        take(&format!("{collection}/{{name}}/status"), &of_status);
    }
}

fn operation(resource: &Resource, dialect: Dialect, name: &str, action: &str) -> Value {
    let query: &[(&str, &str)] = match action {
        "list" => &[
            ("allowWatchBookmarks", "boolean"),
            ("continue", "string"),
            ("fieldSelector", "string"),
            ("labelSelector", "string"),
            ("limit", "integer"),
            ("resourceVersion", "string"),
            ("resourceVersionMatch", "string"),
            ("sendInitialEvents", "boolean"),
            ("timeoutSeconds", "integer"),
            ("watch", "boolean"),
        ],
        "post" | "put" | "patch" => &[
            ("dryRun", "string"),
            ("fieldManager", "string"),
            ("fieldValidation", "string"),
        ],
        "delete" | "deletecollection" => &[
            ("dryRun", "string"),
            ("gracePeriodSeconds", "integer"),
            ("propagationPolicy", "string"),
        ],
        _ => &[],
    };
    let parameters: Vec<Value> = query
        .iter()
        .map(|(name, type_)| dialect.parameter(name, "query", type_))
        .collect();
    json!({
        "operationId": format!("{action}{}{}{}", title(&resource.group), title(&resource.version), resource.kind),
        "parameters": parameters,
        "responses": dialect.response(name),
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {
            "group": resource.group, "version": resource.version, "kind": resource.kind,
        },
    })
}

/// A part of an operation's id: letters and digits, beginning in upper case.
fn title(text: &str) -> String {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .map(|word| {
            let mut chars = word.chars();
            chars.next().map_or_else(String::new, |first| {
                first.to_ascii_uppercase().to_string() + chars.as_str()
            })
        })
        .collect()
}
