//! OpenAPI documents: made when they are asked for, kept until the kinds change.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use landform_schema::openapi::{self, CustomResourceNames, CustomResourceTypes};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::protobuf;
use crate::registry::{Kinds, Origin, Resource};

/// The documents of one set of kinds.
#[derive(Default)]
pub(crate) struct OpenApiCache(Mutex<Documents>);

#[derive(Default)]
struct Documents {
    kinds: Option<Arc<Kinds>>,
    v2: Option<Bytes>,
    v2_protobuf: Option<Bytes>,
    v3: HashMap<String, (Bytes, String)>,
}

impl OpenApiCache {
    /// The documents of these kinds; those of others are dropped.
    fn documents(&self, kinds: &Arc<Kinds>) -> parking_lot::MutexGuard<'_, Documents> {
        let mut documents = self.0.lock();
        if !documents
            .kinds
            .as_ref()
            .is_some_and(|held| Arc::ptr_eq(held, kinds))
        {
            *documents = Documents {
                kinds: Some(kinds.clone()),
                ..Documents::default()
            };
        }
        documents
    }

    /// `/openapi/v2` as JSON.
    pub(crate) fn v2(&self, kinds: &Arc<Kinds>) -> Bytes {
        let mut documents = self.documents(kinds);
        documents
            .v2
            .get_or_insert_with(|| v2(kinds).to_string().into())
            .clone()
    }

    /// `/openapi/v2` in the form that older clients insist on.
    pub(crate) fn v2_protobuf(&self, kinds: &Arc<Kinds>) -> Bytes {
        let mut documents = self.documents(kinds);
        documents
            .v2_protobuf
            .get_or_insert_with(|| protobuf::document(&v2(kinds)).into())
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
        let (group, version) = match path.split('/').collect::<Vec<_>>().as_slice() {
            ["api", version] => (String::new(), (*version).to_owned()),
            ["apis", group, version] => ((*group).to_owned(), (*version).to_owned()),
            _ => return None,
        };
        let resources = kinds.resources(&group, &version)?;
        let mut documents = self.documents(kinds);
        let entry = documents.v3.entry(path.to_owned());
        Some(
            entry
                .or_insert_with(|| {
                    (
                        v3(&group, &version, resources).to_string().into(),
                        hash(resources),
                    )
                })
                .clone(),
        )
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

fn custom_types(resource: &Resource) -> CustomResourceTypes {
    openapi::custom_resource(
        &resource.schema,
        CustomResourceNames {
            group: &resource.group,
            version: &resource.version,
            kind: &resource.kind,
            list_kind: &resource.list_kind,
        },
    )
}

/// The name of a resource's type in the documents.
fn type_name(resource: &Resource) -> String {
    if resource.is_custom() {
        return custom_types(resource).name;
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

fn v2(kinds: &Kinds) -> Value {
    let mut definitions: Map<String, Value> = openapi::v2_definitions()
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut paths = Map::new();
    for (_, resources) in kinds.groups().values().flatten() {
        for resource in resources {
            if resource.is_custom() {
                definitions.extend(custom_types(resource).v2);
            }
            add_paths(&mut paths, resource, Dialect::V2);
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Landform", "version": format!("v{}", env!("CARGO_PKG_VERSION"))},
        "paths": paths, "definitions": definitions,
    })
}

fn v3(group: &str, version: &str, resources: &[Arc<Resource>]) -> Value {
    let mut schemas: BTreeMap<String, Value> = openapi::v3_schemas_for(group, version)
        .into_iter()
        .chain(openapi::v3_schemas_of_metadata())
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect();
    let mut paths = Map::new();
    for resource in resources {
        if resource.is_custom() {
            schemas.extend(custom_types(resource).v3);
        }
        add_paths(&mut paths, resource, Dialect::V3);
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Landform", "version": format!("v{}", env!("CARGO_PKG_VERSION"))},
        "paths": paths, "components": {"schemas": schemas},
    })
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

/// Adds the paths of a resource: its collection, its objects and their subresources.
fn add_paths(paths: &mut Map<String, Value>, resource: &Resource, dialect: Dialect) {
    let name = type_name(resource);
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
        let all = json!({"get": operation(resource, dialect, &name, "list")});
        paths.insert(format!("{root}/{}", resource.plural), all);
    }
    paths.insert(
        collection.clone(),
        json!({
            "get": operation(resource, dialect, &name, "list"),
            "post": operation(resource, dialect, &name, "post"),
            "delete": operation(resource, dialect, &name, "deletecollection"),
            "parameters": shared,
        }),
    );
    shared.push(dialect.parameter("name", "path", "string"));
    paths.insert(
        format!("{collection}/{{name}}"),
        json!({
            "get": operation(resource, dialect, &name, "get"),
            "put": operation(resource, dialect, &name, "put"),
            "patch": operation(resource, dialect, &name, "patch"),
            "delete": operation(resource, dialect, &name, "delete"),
            "parameters": shared,
        }),
    );
    if resource.status {
        paths.insert(
            format!("{collection}/{{name}}/status"),
            json!({
                "get": operation(resource, dialect, &name, "get"),
                "put": operation(resource, dialect, &name, "put"),
                "patch": operation(resource, dialect, &name, "patch"),
                "parameters": shared,
            }),
        );
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
