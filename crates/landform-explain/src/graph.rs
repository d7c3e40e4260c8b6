//! Who refers to whom: what the engine has found, and the data that installations give to each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use landform_api::landscaper::{keys, labels, names};
use landform_api::project::LABEL_PROJECT;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object::{self, ObjectRef};
use crate::reader::{ReadError, Reader};
use crate::tree::Scope;

/// So many objects of a kind are read.
const READ: usize = 5_000;

/// A graph of references.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Graph {
    /// `landform.dev/v1alpha1`.
    pub api_version: String,
    /// `Graph`.
    pub kind: String,
    /// The objects.
    pub nodes: Vec<Node>,
    /// Who refers to whom.
    pub edges: Vec<Edge>,
    /// Whether there was more than is looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
}

/// An object of the graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// What edges call it: `Kind.group/namespace/name`.
    pub id: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for objects of the cluster.
    #[serde(default)]
    pub namespace: String,
    /// The name.
    pub name: String,
    /// What people call it, where its name is a sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
    /// The installation that it is nested in, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The phase, as far as it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Whether it is only referred to and doesn't exist.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

/// How objects are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Relation {
    /// It imports what the other one exports; the label is the name of the data.
    Imports,
    /// It refers to the other one.
    Refers,
}

/// One object refers to another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// The one that refers.
    pub from: String,
    /// The one that is referred to.
    pub to: String,
    /// The name of the data, or nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// How they are related.
    pub relation: Relation,
}

fn id(object: &ObjectRef) -> String {
    let group = object.group();
    let dot = if group.is_empty() { "" } else { "." };
    format!(
        "{}{dot}{group}/{}/{}",
        object.kind, object.namespace, object.name
    )
}

/// The graph of a namespace, of a project, or of everything.
///
/// # Errors
/// When something can't be read.
pub async fn graph(reader: &dyn Reader, scope: &Scope) -> Result<Graph, ReadError> {
    let namespace = scope.namespace.as_deref();
    let mut known: BTreeMap<String, Arc<Value>> = BTreeMap::new();
    let mut cut_off = false;
    let mut kinds: Vec<_> = ["Installation", "DataObject", "Target"]
        .iter()
        .filter_map(|kind| object::known(kind))
        .collect();
    kinds.extend(crate::tree::hook_kinds(reader).await?);
    for kind in &kinds {
        let listed = reader
            .list(kind, namespace.filter(|_| kind.namespaced), None, READ)
            .await?;
        cut_off |= !listed.complete;
        let items = listed.items.into_iter().map(Arc::new);
        known.extend(items.map(|item| (id(&ObjectRef::of(&item)), item)));
    }
    let installations = known
        .values()
        .filter(|object| object["kind"] == "Installation");
    let mut edges: BTreeSet<Edge> = wiring(installations.map(|object| &**object));
    let by_data: BTreeSet<String> = edges.iter().map(|edge| edge.from.clone()).collect();
    for (from, to) in reader.references(namespace).await {
        let data = |object: &ObjectRef| matches!(object.kind.as_str(), "DataObject" | "Target");
        // What goes through data objects is told by imports, with names that people gave.
        let told = data(&from) || (data(&to) && by_data.contains(&id(&from)));
        if !told {
            edges.insert(Edge {
                from: id(&from),
                to: id(&to),
                label: String::new(),
                relation: Relation::Refers,
            });
        }
    }
    let mut graph = Graph {
        api_version: crate::why::API_VERSION.to_owned(),
        kind: "Graph".to_owned(),
        nodes: nodes(&known, &edges),
        edges: edges.into_iter().collect(),
        cut_off,
    };
    if let Some(project) = &scope.project {
        let of = |id: &str| {
            let object = known.get(id);
            object.is_some_and(|object| {
                object["metadata"]["labels"][LABEL_PROJECT] == project.as_str()
            })
        };
        graph.edges.retain(|edge| of(&edge.from) || of(&edge.to));
        let ends = graph
            .edges
            .iter()
            .flat_map(|edge| [edge.from.clone(), edge.to.clone()]);
        let ends: BTreeSet<String> = ends.collect();
        graph
            .nodes
            .retain(|node| of(&node.id) || ends.contains(&node.id));
    }
    Ok(graph)
}

/// Who imports from whom; from a data object or target where no installation exports it.
fn wiring<'a>(installations: impl Iterator<Item = &'a Value>) -> BTreeSet<Edge> {
    let installations: Vec<&Value> = installations.collect();
    let mut exporters: BTreeMap<(String, &str, String), String> = BTreeMap::new();
    let places = [
        ("data", "dataRef", "DataObject"),
        ("targets", "target", "Target"),
    ];
    let key = |object: &Value, kind: &'static str, name: &str| {
        let parent = labels::in_metadata(&object["metadata"], keys::ENCOMPASSED_BY);
        let context = parent.map(names::installation_context);
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let name = names::data_name(context.as_deref(), name);
        (namespace.to_owned(), kind, name)
    };
    for object in &installations {
        for (list, field, kind) in places {
            let exports = object["spec"]["exports"][list].as_array();
            for name in exports
                .into_iter()
                .flatten()
                .filter_map(|export| export[field].as_str())
            {
                exporters.insert(key(object, kind, name), id(&ObjectRef::of(object)));
            }
        }
    }
    let mut edges = BTreeSet::new();
    for object in &installations {
        for (list, field, kind) in places {
            let imports = object["spec"]["imports"][list].as_array();
            for name in imports
                .into_iter()
                .flatten()
                .filter_map(|import| import[field].as_str())
            {
                let key = key(object, kind, name);
                let to = exporters.get(&key).cloned().or_else(|| {
                    let object = ObjectRef::known(kind, &key.0, &key.2)?;
                    Some(id(&object))
                });
                edges.extend(to.map(|to| Edge {
                    from: id(&ObjectRef::of(object)),
                    to,
                    label: name.to_owned(),
                    relation: Relation::Imports,
                }));
            }
        }
    }
    edges
}

/// The installation that an installation is nested in, or that data is seen in.
fn within(object: &Value) -> Option<String> {
    let metadata = &object["metadata"];
    let parent = match object["kind"].as_str()? {
        "Installation" => labels::in_metadata(metadata, keys::ENCOMPASSED_BY)?,
        "DataObject" | "Target" => {
            labels::in_metadata(metadata, keys::DATA_CONTEXT)?.strip_prefix("Inst.")?
        }
        _ => return None,
    };
    let namespace = metadata["namespace"].as_str()?;
    Some(id(&ObjectRef::known("Installation", namespace, parent)?))
}

/// All installations, objects of hooks, and whatever is at the end of an edge.
fn nodes(known: &BTreeMap<String, Arc<Value>>, edges: &BTreeSet<Edge>) -> Vec<Node> {
    let data = |object: &Value| matches!(object["kind"].as_str(), Some("DataObject" | "Target"));
    let alone = known
        .iter()
        .filter(|(_, object)| !data(object))
        .map(|(id, _)| id.clone());
    let ends = edges
        .iter()
        .flat_map(|edge| [edge.from.clone(), edge.to.clone()]);
    let all: BTreeSet<String> = alone.chain(ends).collect();
    let described = all.into_iter().map(|id| {
        let object = known.get(&id);
        let mut parts = id.splitn(3, '/');
        let kind = parts.next().unwrap_or_default();
        let kind = kind
            .split_once('.')
            .map_or(kind, |(kind, _)| kind)
            .to_owned();
        let namespace = parts.next().unwrap_or_default().to_owned();
        let name = parts.next().unwrap_or_default().to_owned();
        let phase = object.and_then(|object| object["status"]["phase"].as_str());
        let looked_for = matches!(kind.as_str(), "DataObject" | "Target" | "Installation");
        Node {
            known_as: object.and_then(|object| object::known_as(object)),
            within: object.and_then(|object| within(object)),
            phase: phase.map(ToOwned::to_owned),
            missing: object.is_none() && looked_for,
            id,
            kind,
            namespace,
            name,
        }
    });
    described.collect()
}
