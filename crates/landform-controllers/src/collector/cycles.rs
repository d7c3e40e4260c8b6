//! Cycles of owners that were there before anybody could refuse them (G11).
//!
//! Members of a cycle that are all marked wait for each other. That is looked for when nothing else is
//! left to do, and only among marked objects that wait for dependents.

use std::collections::BTreeSet;

use landform_graph::NodeId;

use super::events::Title;
use super::state::State;

/// Finds cycles that wait for nothing but themselves, and queues their members; returns a title of
/// each member with the cycle that it is in.
pub(super) fn free(state: &mut State) -> Vec<(Title, String)> {
    state.cycles_unchecked = false;
    let waiting: Vec<NodeId> = state
        .marked
        .keys()
        .copied()
        .filter(|node| state.dependent_count(*node) > 0)
        .collect();
    let mut found = Vec::new();
    for members in state.graph.cycles(waiting) {
        let set: BTreeSet<NodeId> = members.iter().copied().collect();
        let alone = members.iter().all(|member| {
            state
                .graph
                .dependents(*member)
                .all(|dependent| set.contains(&dependent.node))
        });
        if !alone
            || members
                .iter()
                .all(|node| state.released_cycles.contains(node))
        {
            continue;
        }
        found.extend(described(state, &members));
        for member in members {
            state.released_cycles.insert(member);
            state.queue.push(member);
        }
    }
    found
}

/// Every cycle there is; looked for once, after the first list.
pub(super) fn all(state: &State) -> Vec<(Title, String)> {
    let owned_owners: Vec<NodeId> = state
        .kinds
        .iter()
        .flat_map(|kind| kind.members.iter().copied())
        .filter(|node| {
            state.graph.dependent_count(*node) > 0 && state.graph.owners(*node).next().is_some()
        })
        .collect();
    let cycles = state.graph.cycles(owned_owners);
    cycles
        .iter()
        .flat_map(|members| described(state, members))
        .collect()
}

/// Each member with the cycle in words.
fn described(state: &State, members: &[NodeId]) -> Vec<(Title, String)> {
    /// Longer cycles are told by their beginning.
    const SHOWN: usize = 10;
    let mut names: Vec<String> = members
        .iter()
        .take(SHOWN)
        .map(|member| state.title(*member).to_string())
        .collect();
    if members.len() > SHOWN {
        names.push(format!("{} more", members.len() - SHOWN));
    }
    let text = names.join(", ");
    members
        .iter()
        .map(|member| (state.title(*member), text.clone()))
        .collect()
}
