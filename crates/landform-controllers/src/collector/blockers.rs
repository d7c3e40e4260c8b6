//! Blockers: the objects at the end of a chain of waiting, which somebody else has to do something about.

use std::collections::BTreeSet;

use landform_graph::NodeId;
use serde_json::{Value, json};

use super::state::{State, mark};
use super::view::{object, responsible};

/// So many blockers are named.
const NAMED: usize = 5;
/// So many objects are looked at for that: a view must not cost what it looks at.
const LOOKED_AT: usize = 5_000;

/// What holds an object back in the end: itself or dependents below it that wait for finalizers of
/// others, whose deletion fails, or whose kind is not served.
pub(super) fn below(state: &State, node: NodeId) -> Vec<Value> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([node]);
    let mut stack = within(state, node);
    stack.push(node);
    while let Some(node) = stack.pop() {
        if let Some(blocker) = blocker(state, node) {
            found.push(blocker);
            if found.len() == NAMED {
                break;
            }
        }
        for dependent in state.graph.dependents(node) {
            if seen.len() >= LOOKED_AT {
                break;
            }
            if !state.is_elsewhere(dependent.node, node) && seen.insert(dependent.node) {
                stack.push(dependent.node);
            }
        }
    }
    found
}

/// What is being deleted in a namespace that is, or of the kind whose definition is: it must go first.
fn within(state: &State, node: NodeId) -> Vec<NodeId> {
    let title = state.title(node);
    let core = title.api_version == "v1" && title.kind == "Namespace";
    let definition = title.kind == "CustomResourceDefinition";
    if !(core || definition) || !state.marked.contains_key(&node) {
        return Vec::new();
    }
    let inside = |other: &NodeId| {
        if core {
            return state.title(*other).namespace == title.name;
        }
        let record = state.graph.get(*other);
        record.is_some_and(|record| state.kind(record.kind).kind.resource_name() == title.name)
    };
    let marked = state.marked.keys().take(LOOKED_AT);
    marked.copied().filter(inside).collect()
}

fn blocker(state: &State, node: NodeId) -> Option<Value> {
    let title = state.title(node);
    if let Some(failure) = state.queue.failure(node) {
        return Some(json!({
            "object": object(&title), "failure": failure,
            "message": format!("deleting {title} fails: {failure}"),
        }));
    }
    if state.subject(node)?.observed.hidden {
        return Some(json!({
            "object": object(&title),
            "message": format!("{title} can't be reached: its kind is not served at the moment"),
        }));
    }
    let others = mark(&state.marked.get(&node)?.finalizers).others;
    let first = others.first()?;
    Some(json!({
        "object": object(&title), "finalizers": others,
        "message": format!("{title} is held by {first}, which {} has to remove", responsible(first)),
    }))
}
