//! What a delete would do, before it is done (G14): what goes, what only loses a reference, what is
//! shared with others, and what will hold it up.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use landform_graph::NodeId;
use serde_json::{Value, json};

use super::client::{self, Address};
use super::decision::Policy;
use super::kinds::KindId;
use super::observed::Standing;
use super::run::Shared;
use super::state::{State, mark};
use super::view::{failing, object, responsible};

/// So many lines of the tree are shown.
const LINES: usize = 200;
/// So many objects that are held by finalizers are read to name them.
const BLOCKERS: usize = 20;
/// So many shared objects are named.
const SHARED: usize = 50;

/// What becomes of objects.
struct Fate {
    /// Everything that goes, with the object that takes it along; the first one is the one deleted.
    going: BTreeMap<NodeId, Option<NodeId>>,
    /// In the order in which it was found.
    order: Vec<NodeId>,
    /// Dependents that stay and lose a reference.
    staying: BTreeSet<NodeId>,
}

/// Looks ahead.
pub(super) async fn show(shared: &Shared, root: NodeId, policy: Policy) -> Value {
    let (mut answer, mut blockers, unread) = {
        let state = shared.state.lock();
        let fate = foresee(&state, root, policy);
        let (known, unread) = held(&state, &fate);
        (summary(&state, root, policy, &fate), known, unread)
    };
    for (title, address) in unread {
        let Ok(Some(metadata)) = client::metadata(&shared.client, &address).await else {
            continue;
        };
        let finalizers: Vec<Box<str>> = metadata
            .finalizers
            .iter()
            .flatten()
            .map(|text| text.as_str().into())
            .collect();
        let others = mark(&finalizers).others;
        if !others.is_empty() {
            blockers.push(blocker(&title, &others));
        }
    }
    answer["blockers"] = json!(blockers);
    answer
}

/// What goes and what stays, as the rules have it.
fn foresee(state: &State, root: NodeId, policy: Policy) -> Fate {
    let mut fate = Fate {
        going: BTreeMap::from([(root, None)]),
        order: vec![root],
        staying: BTreeSet::new(),
    };
    let mut next = VecDeque::from([root]);
    while let Some(node) = next.pop_front() {
        for dependent in state.graph.dependents(node) {
            let dependent = dependent.node;
            if fate.going.contains_key(&dependent) || state.is_elsewhere(dependent, node) {
                continue;
            }
            let goes = match policy {
                Policy::Cascade => true,
                Policy::Orphan => false,
                Policy::Background | Policy::Foreground => {
                    others_of(state, dependent, &fate).next().is_none()
                }
            };
            if goes {
                fate.staying.remove(&dependent);
                fate.going.insert(dependent, Some(node));
                fate.order.push(dependent);
                next.push_back(dependent);
            } else {
                fate.staying.insert(dependent);
            }
        }
    }
    fate
}

/// Living owners of an object that stay.
fn others_of<'a>(
    state: &'a State,
    node: NodeId,
    fate: &'a Fate,
) -> impl Iterator<Item = NodeId> + 'a {
    state
        .graph
        .owners(node)
        .map(|owner| owner.node)
        .filter(move |owner| {
            !fate.going.contains_key(owner) && state.standing_for(node, *owner) == Standing::Living
        })
}

fn summary(state: &State, root: NodeId, policy: Policy, fate: &Fate) -> Value {
    let mut by_kind: BTreeMap<String, usize> = BTreeMap::new();
    for node in &fate.order {
        if let Some(record) = state.graph.get(*node) {
            *by_kind
                .entry(state.kind(record.kind).kind.resource_name())
                .or_default() += 1;
        }
    }
    let (tree, shown) = tree(state, root, fate);
    let all = fate.order.len() + fate.staying.len();
    json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "DeletionPreview",
        "object": object(&state.title(root)),
        "policy": policy.name(),
        "goes": {"count": fate.order.len(), "byKind": by_kind},
        "losesReference": fate.staying.len(),
        "tree": tree, "omitted": all - shown,
        "shared": shared_objects(state, fate),
        "content": content(state, root),
        "failingKinds": failing(state),
    })
}

/// The tree as lines with a depth, in the order in which they are shown.
fn tree(state: &State, root: NodeId, fate: &Fate) -> (Vec<Value>, usize) {
    let mut children: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for node in fate.order.iter().rev() {
        if let Some(Some(parent)) = fate.going.get(node) {
            children.entry(*parent).or_default().push(*node);
        }
    }
    for node in &fate.staying {
        let parent = state.graph.owners(*node).map(|owner| owner.node);
        if let Some(parent) = parent
            .into_iter()
            .find(|owner| fate.going.contains_key(owner))
        {
            children.entry(parent).or_default().push(*node);
        }
    }
    let mut lines = Vec::new();
    let mut stack = vec![(root, 0_usize)];
    while let Some((node, depth)) = stack.pop() {
        if lines.len() == LINES {
            break;
        }
        let fate = if fate.going.contains_key(&node) {
            "goes"
        } else {
            "losesReference"
        };
        lines.push(json!({"depth": depth, "object": object(&state.title(node)), "fate": fate}));
        for child in children.remove(&node).unwrap_or_default() {
            stack.push((child, depth + 1));
        }
    }
    let shown = lines.len();
    (lines, shown)
}

/// Objects that others own as well, and what happens to them.
fn shared_objects(state: &State, fate: &Fate) -> Vec<Value> {
    let going = fate.order.iter().skip(1);
    going
        .chain(&fate.staying)
        .filter_map(|node| {
            let others: Vec<String> = others_of(state, *node, fate)
                .map(|owner| state.title(owner).to_string())
                .collect();
            let goes = fate.going.contains_key(node);
            let fate = if goes { "goes" } else { "losesReference" };
            (!others.is_empty()).then(|| {
                json!({"object": object(&state.title(*node)), "fate": fate, "otherOwners": others})
            })
        })
        .take(SHARED)
        .collect()
}

/// What goes with a namespace or a definition besides dependents, by number.
fn content(state: &State, root: NodeId) -> Vec<Value> {
    let Some(record) = state.graph.get(root) else {
        return Vec::new();
    };
    let kind = &state.kind(record.kind).kind.resource.kind;
    if kind == "CustomResourceDefinition" {
        let defined = |kind: &KindId| state.kind(*kind).kind.resource_name() == *record.name;
        let found = state.by_type.values().copied().find(defined);
        return found
            .map(|kind| json!({"resource": *record.name, "count": state.kind(kind).members.len()}))
            .into_iter()
            .collect();
    }
    super::view::content(state, root)
}

/// Objects that go and are held: those whose finalizers are known, and those to be read.
fn held(state: &State, fate: &Fate) -> (Vec<Value>, Vec<(String, Address)>) {
    let mut known = Vec::new();
    let mut unread = Vec::new();
    for node in &fate.order {
        if known.len() + unread.len() == BLOCKERS {
            break;
        }
        let Some(subject) = state.subject(*node) else {
            continue;
        };
        let title = state.title(*node).to_string();
        if subject.observed.hidden {
            known.push(hidden(state, *node, "will stay"));
            continue;
        }
        match subject.observed.mark {
            Some(mark) if !mark.others.is_empty() => known.push(blocker(&title, &mark.others)),
            Some(_) => {}
            None if subject.observed.has_finalizers => unread.push((title, subject.address)),
            None => {}
        }
    }
    let unreachable = |node: &&NodeId| {
        let subject = state.subject(**node);
        subject.is_some_and(|subject| subject.observed.hidden)
    };
    let left = BLOCKERS.saturating_sub(known.len() + unread.len());
    let staying = fate.staying.iter().filter(unreachable).take(left);
    known.extend(staying.map(|node| hidden(state, *node, "will keep its reference")));
    (known, unread)
}

/// An object that can't be written, since its kind isn't served.
fn hidden(state: &State, node: NodeId, what: &str) -> Value {
    let title = state.title(node).to_string();
    let record = state.graph.get(node);
    let kind = record.map(|record| state.kind(record.kind).kind.resource_name());
    let kind = kind.unwrap_or_default();
    let message = format!("{title} {what} until a version of {kind} is served");
    json!({"object": title, "message": message})
}

fn blocker(title: &str, finalizers: &[String]) -> Value {
    let by: Vec<String> = finalizers
        .iter()
        .map(|name| format!("{name} ({})", responsible(name)))
        .collect();
    json!({
        "object": title, "finalizers": finalizers,
        "message": format!("{title} will stay until {} is removed", by.join(" and ")),
    })
}
