//! A kind made for simulations: nodes that refer to each other, own config maps and leave marks outside.
//!
//! A node's status is the sum of its own value and of its refs' numbers, so a wave through the graph
//! has one fixed point, which can be computed from the specs alone.
//!
//! Reading order: `outside.rs` is the world outside of the cluster, `reconciler.rs` serves the kind,
//! `oracle.rs` holds the engine to its rules while it runs, `world.rs` puts them into a process, `plan.rs`
//! makes random scenarios and `run.rs` runs them.

mod oracle;
mod outside;
mod plan;
mod reconciler;
mod run;
mod world;

use std::collections::BTreeMap;

use landform_api::GroupVersionKind;
use serde_json::{Value, json};

use crate::end_state::EndState;

pub use oracle::Oracle;
pub use outside::Outside;
pub use plan::{Plan, node_name};
pub use reconciler::{Flaw, NodeReconciler};
pub use run::run;
pub use world::NodeWorld;

/// Group and version of nodes.
pub const API_VERSION: &str = "sim.landform.dev/v1";
/// Where nodes are stored.
pub const BUCKET: &str = "nodes.sim.landform.dev";

/// The kind.
#[must_use]
pub fn kind() -> GroupVersionKind {
    GroupVersionKind::new("sim.landform.dev", "v1", "Node")
}

/// The definition of the kind.
#[must_use]
pub fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": BUCKET},
        "spec": {
            "group": "sim.landform.dev", "scope": "Namespaced",
            "names": {"plural": "nodes", "singular": "node", "kind": "Node", "listKind": "NodeList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "value": {"type": "integer"},
                        "refs": {"type": "array", "items": {"type": "string"}},
                        "children": {"type": "integer"}, "pause": {"type": "integer"},
                    }},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}},
            }],
        },
    })
}

/// What a user writes into a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    /// Its own value.
    pub value: u64,
    /// The names of the nodes that it refers to.
    pub refs: Vec<String>,
    /// How many config maps it owns.
    pub children: u64,
    /// The time in seconds for which a change is not carried out, because the node waits for something.
    pub pause: u64,
}

impl Spec {
    /// The spec of a stored node.
    #[must_use]
    pub fn of(spec: &Value) -> Self {
        let refs = spec["refs"].as_array().into_iter().flatten();
        Self {
            value: spec["value"].as_u64().unwrap_or(0),
            refs: refs.filter_map(Value::as_str).map(str::to_owned).collect(),
            children: spec["children"].as_u64().unwrap_or(0),
            pause: spec["pause"].as_u64().unwrap_or(0),
        }
    }

    /// A node with this spec.
    #[must_use]
    pub fn object(&self, name: &str) -> Value {
        let mut object = json!({
            "apiVersion": API_VERSION, "kind": "Node", "metadata": {"name": name},
            "spec": {"value": self.value, "refs": self.refs, "children": self.children},
        });
        if self.pause > 0 {
            object["spec"]["pause"] = json!(self.pause);
        }
        object
    }

    /// The number of a node whose refs have these numbers: their sum with its own value, so that people
    /// can check it. A missing one counts as nothing.
    #[must_use]
    pub fn sum(&self, refs: impl IntoIterator<Item = Option<u64>>) -> u64 {
        let refs = refs.into_iter().flatten();
        let sum = refs.fold(self.value, u64::wrapping_add);
        // Numbers in JSON are exact up to 53 bits for everybody.
        sum & ((1 << 53) - 1)
    }
}

/// The number that every node has in the end; none for those on a cycle or above one.
#[must_use]
pub fn fixed_point(specs: &BTreeMap<String, Spec>) -> BTreeMap<String, u64> {
    let mut numbers = BTreeMap::new();
    let mut left: Vec<&String> = specs.keys().collect();
    loop {
        let before = left.len();
        left.retain(|name| {
            let Some(spec) = specs.get(*name) else {
                return false;
            };
            let ready = |to: &&String| !specs.contains_key(*to) || numbers.contains_key(*to);
            if !spec.refs.iter().all(|to| ready(&to)) {
                return true;
            }
            let sum = spec.sum(spec.refs.iter().map(|to| numbers.get(to).copied()));
            numbers.insert((*name).clone(), sum);
            false
        });
        if left.len() == before {
            return numbers;
        }
    }
}

/// Everything that these specs lead to: nodes, config maps, and what is outside.
fn expected(specs: &BTreeMap<String, Spec>) -> EndState {
    let mut state = EndState::new();
    for (name, number) in fixed_point(specs) {
        let Some(spec) = specs.get(&name) else {
            continue;
        };
        let mut node = spec.object(&name);
        node["metadata"]["namespace"] = json!("default");
        node["metadata"]["finalizers"] = json!([reconciler::FINALIZER]);
        node["status"] = json!({"number": number});
        for child in 0..spec.children {
            let child = format!("{name}-{child}");
            let map = reconciler::expected_child(&name, &child, number);
            state.insert(format!("configmaps default/{child}"), map.to_string());
        }
        state.insert(format!("{BUCKET} default/{name}"), node.to_string());
        state.insert(format!("outside {name}"), number.to_string());
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(value: u64, refs: &[&str]) -> Spec {
        Spec {
            value,
            refs: refs.iter().map(|name| (*name).to_owned()).collect(),
            children: 0,
            pause: 0,
        }
    }

    #[test]
    fn a_change_moves_the_numbers_of_all_dependents_and_of_nobody_else() {
        let mut specs = BTreeMap::from([
            ("a".to_owned(), spec(1, &[])),
            ("b".to_owned(), spec(1, &["a", "missing"])),
            ("c".to_owned(), spec(1, &["b"])),
            ("d".to_owned(), spec(1, &[])),
        ]);
        let before = fixed_point(&specs);
        specs.insert("a".to_owned(), spec(2, &[]));
        let after = fixed_point(&specs);
        let moved = before
            .iter()
            .filter(|(name, number)| after[*name] != **number);
        let moved: Vec<_> = moved.map(|(name, _)| name.as_str()).collect();
        assert_eq!(moved, ["a", "b", "c"]);
        specs.insert("a".to_owned(), spec(2, &["c"]));
        assert_eq!(fixed_point(&specs).into_keys().collect::<Vec<_>>(), ["d"]);
    }
}
