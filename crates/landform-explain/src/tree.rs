//! Who owns whom: below one object, or in a namespace or project.
//!
//! Owners are owner references; what an installation or execution exports is found by its label where nobody owns
//! it. Only kinds that Landform reconciles are looked at, and the kinds that a Reconciler is for or owns.

use std::collections::{BTreeMap, BTreeSet};

use landform_api::landscaper::{keys, labels};
use landform_api::project::LABEL_PROJECT;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object::{self, KindRef, ObjectRef};
use crate::reader::{ReadError, Reader};

/// The kinds that are looked at, whether or not somebody owns them.
const ROOTS: [&str; 5] = [
    "Installation",
    "Execution",
    "AppType",
    "OperatorVersion",
    "DeployItem",
];
/// The kinds that are shown where somebody owns them.
const OWNED: [&str; 4] = ["DataObject", "Target", "ConfigMap", "Secret"];
/// So many objects of a kind are read.
const READ: usize = 5_000;
/// So deep a tree is shown.
const DEPTH: usize = 40;

/// Trees of owners.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Forest {
    /// `landform.dev/v1alpha1`.
    pub api_version: String,
    /// `Tree`.
    pub kind: String,
    /// The objects that nobody of these owns, in the order of their names.
    pub items: Vec<Node>,
    /// Whether there was more than is looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
}

/// An object and what it owns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The object.
    pub object: ObjectRef,
    /// What people call it, where its name is a sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
    /// Its phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// When it was created (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// What it waits for or suffers from, in short.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What it owns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owns: Vec<Node>,
}

/// Which trees.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Only in this namespace.
    pub namespace: Option<String>,
    /// Only objects of this project, and what they own.
    pub project: Option<String>,
}

/// The trees of a namespace, of a project, or of everything.
///
/// # Errors
/// When something can't be read.
pub async fn forest(reader: &dyn Reader, scope: &Scope) -> Result<Forest, ReadError> {
    let (objects, cut_off) = gather(reader, scope.namespace.as_deref()).await?;
    let owners = Owners::of(&objects);
    let fits = |object: &Value| match &scope.project {
        Some(project) => object["metadata"]["labels"][LABEL_PROJECT] == project.as_str(),
        None => !OWNED.contains(&object["kind"].as_str().unwrap_or_default()),
    };
    let tops = owners
        .tops(&objects)
        .filter(|at| objects.get(*at).is_some_and(fits));
    let items = tops.map(|at| owners.node(&objects, at, 0)).collect();
    Ok(answer(items, cut_off))
}

/// The tree below one object.
///
/// # Errors
/// When the object doesn't exist, or something can't be read.
pub async fn below(reader: &dyn Reader, object: &ObjectRef) -> Result<Forest, ReadError> {
    let found = reader.get(object).await?;
    let found = found.ok_or_else(|| ReadError::NotFound(object.to_string()))?;
    let namespace = Some(object.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let (mut objects, cut_off) = gather(reader, namespace).await?;
    let uid = uid(&found).to_owned();
    let at = match objects.iter().position(|other| self::uid(other) == uid) {
        Some(at) => at,
        None => {
            objects.push(found);
            objects.len() - 1
        }
    };
    let owners = Owners::of(&objects);
    Ok(answer(vec![owners.node(&objects, at, 0)], cut_off))
}

fn answer(items: Vec<Node>, cut_off: bool) -> Forest {
    Forest {
        api_version: crate::why::API_VERSION.to_owned(),
        kind: "Tree".to_owned(),
        items,
        cut_off,
    }
}

async fn gather(
    reader: &dyn Reader,
    namespace: Option<&str>,
) -> Result<(Vec<Value>, bool), ReadError> {
    let known = ROOTS
        .iter()
        .chain(&OWNED)
        .filter_map(|kind| object::known(kind));
    let mut kinds: Vec<KindRef> = known.collect();
    for kind in hook_kinds(reader).await? {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let (mut objects, mut cut_off) = (Vec::new(), false);
    for kind in &kinds {
        let within = namespace.filter(|_| kind.namespaced);
        let listed = reader.list(kind, within, None, READ).await?;
        cut_off |= !listed.complete;
        objects.extend(listed.items);
    }
    Ok((objects, cut_off))
}

/// The kinds that Reconcilers are for, and those that they own.
pub(crate) async fn hook_kinds(reader: &dyn Reader) -> Result<Vec<KindRef>, ReadError> {
    let Some(kind) = object::known("Reconciler") else {
        return Ok(Vec::new());
    };
    let mut kinds = Vec::new();
    for found in reader.list(&kind, None, None, READ).await?.items {
        let spec = &found["spec"];
        let owned = spec["owns"].as_array().into_iter().flatten();
        for name in std::iter::once(&spec["for"]).chain(owned) {
            let (group, kind) = (name["group"].as_str(), name["kind"].as_str());
            let resolved = reader
                .kind(group.unwrap_or_default(), kind.unwrap_or_default())
                .await;
            // A kind that isn't installed has no objects.
            kinds.extend(resolved.ok());
        }
    }
    Ok(kinds)
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Who owns whom, by place in the list of objects.
struct Owners {
    owned: BTreeSet<usize>,
    below: BTreeMap<usize, Vec<usize>>,
}

impl Owners {
    fn of(objects: &[Value]) -> Self {
        let places = objects.iter().enumerate();
        let by_uid: BTreeMap<&str, usize> = places.map(|(at, object)| (uid(object), at)).collect();
        let places = objects.iter().enumerate();
        let by_name: BTreeMap<(String, String, String), usize> = places
            .map(|(at, object)| {
                let name = ObjectRef::of(object);
                ((name.kind, name.namespace, name.name), at)
            })
            .collect();
        let (mut owned, mut below) = (BTreeSet::new(), BTreeMap::<usize, Vec<usize>>::new());
        for (at, object) in objects.iter().enumerate() {
            let owners = object["metadata"]["ownerReferences"].as_array();
            let owners = owners.into_iter().flatten();
            let mut owners = owners.filter_map(|owner| by_uid.get(owner["uid"].as_str()?));
            let owner = owners.next().copied();
            let owner = owner.or_else(|| by_name.get(&source(object)?).copied());
            if let Some(owner) = owner.filter(|owner| *owner != at) {
                owned.insert(at);
                below.entry(owner).or_default().push(at);
            }
        }
        Self { owned, below }
    }

    fn tops<'a>(&'a self, objects: &'a [Value]) -> impl Iterator<Item = usize> + 'a {
        (0..objects.len()).filter(|at| !self.owned.contains(at))
    }

    fn node(&self, objects: &[Value], at: usize, depth: usize) -> Node {
        let object = objects.get(at).unwrap_or(&Value::Null);
        let below = self.below.get(&at).into_iter().flatten();
        let below = below.filter(|_| depth < DEPTH);
        let mut owns: Vec<Node> = below.map(|at| self.node(objects, *at, depth + 1)).collect();
        owns.sort_by(|a, b| a.object.cmp(&b.object));
        let status = &object["status"];
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
        let waits = text(&status["waitingOn"][0]["reason"]);
        let error = text(&status["lastError"]["message"]).or_else(|| text(&status["lastError"]));
        Node {
            object: ObjectRef::of(object),
            known_as: object::known_as(object),
            phase: match status["providerStatus"]["stopped"] == true {
                true if status["phase"] == "Succeeded" => Some("Stopped".to_owned()),
                _ => text(&status["phase"]),
            },
            created: text(&object["metadata"]["creationTimestamp"]),
            message: error.or(waits).unwrap_or_default(),
            owns,
        }
    }
}

/// Who wrote a data object, by its label: kind, namespace, name.
fn source(object: &Value) -> Option<(String, String, String)> {
    let label = labels::in_metadata(&object["metadata"], keys::DATA_SOURCE)?;
    let (kind, name) = label.split_once('.')?;
    let kind = match kind {
        "Inst" => "Installation",
        "Exec" => "Execution",
        _ => return None,
    };
    let namespace = object["metadata"]["namespace"].as_str()?;
    Some((kind.to_owned(), namespace.to_owned(), name.to_owned()))
}
