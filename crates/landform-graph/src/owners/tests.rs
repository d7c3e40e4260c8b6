//! The cases of seed 004's collector, a model, and what an object costs.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

fn uid(name: &str) -> Uid {
    Uid::new(name)
}

fn owned_by(names: &[&str]) -> Vec<Owner> {
    let owner = |name: &&str| Owner {
        uid: uid(name),
        blocks: true,
    };
    names.iter().map(owner).collect()
}

fn dependents(graph: &OwnerGraph<()>, name: &str) -> Vec<String> {
    let Some(node) = graph.find(&uid(name)) else {
        return Vec::new();
    };
    let name = |found: Neighbour| graph.uid(found.node).map(ToString::to_string);
    graph.dependents(node).filter_map(name).collect()
}

/// Puts `name: owner owner` lines in their order.
fn graph(lines: &[(&str, &[&str])]) -> OwnerGraph<()> {
    let mut graph = OwnerGraph::new();
    for (name, owners) in lines {
        graph.put(&uid(name), &owned_by(owners), ());
    }
    graph
}

#[test]
fn g5_only_direct_dependents_are_dependents() {
    let graph = graph(&[("a", &[]), ("b", &["a"]), ("c", &["b"])]);
    assert_eq!(dependents(&graph, "a"), ["b"]);
    assert_eq!(dependents(&graph, "b"), ["c"]);
    assert_eq!(dependents(&graph, "c"), [""; 0]);
}

#[test]
fn g5_a_leaf_added_before_its_owner_gives_the_same_graph() {
    for lines in [
        [("owner", &[][..]), ("leaf", &["owner"][..])],
        [("leaf", &["owner"][..]), ("owner", &[][..])],
    ] {
        let graph = graph(&lines);
        assert_eq!(dependents(&graph, "owner"), ["leaf"]);
        assert_eq!((graph.len(), graph.edge_count()), (2, 1));
    }
}

#[test]
fn g9_moving_a_dependent_keeps_its_own_dependents_and_names_the_old_owner() {
    let mut graph = graph(&[
        ("a", &[]),
        ("b", &[]),
        ("child", &["a"]),
        ("grandchild", &["child"]),
    ]);
    let put = graph.put(&uid("child"), &owned_by(&["b"]), ());
    assert!(put.moved && !put.added);
    assert_eq!(put.left, [graph.find(&uid("a")).unwrap()]);
    assert_eq!(dependents(&graph, "a"), [""; 0]);
    assert_eq!(dependents(&graph, "b"), ["child"]);
    assert_eq!(dependents(&graph, "child"), ["grandchild"]);
}

#[test]
fn g9_the_same_owners_move_nothing() {
    let mut graph = graph(&[("a", &[]), ("child", &["a"])]);
    let put = graph.put(&uid("child"), &owned_by(&["a"]), ());
    assert!(!put.moved && put.left.is_empty());
}

#[test]
fn g8_a_removed_object_names_its_owners_and_is_remembered_while_referred_to() {
    let mut graph = graph(&[("a", &[]), ("b", &["a"]), ("c", &["b", "a"])]);
    let removed = graph.remove(&uid("b")).unwrap();
    assert_eq!(removed.owners, [graph.find(&uid("a")).unwrap()]);
    let node = removed.node.unwrap();
    assert!(graph.was_here(node) && graph.get(node).is_none());
    assert!(!graph.is_absent(node), "that it left doesn't say so");
    graph.confirm_absent(node);
    assert!(graph.is_absent(node));
    assert_eq!(graph.remove(&uid("b")), None);
    graph.remove(&uid("c")).unwrap();
    assert_eq!(graph.find(&uid("b")), None, "nothing refers to it any more");
    graph.remove(&uid("a")).unwrap();
    assert!(graph.is_empty() && graph.edge_count() == 0);
}

#[test]
fn g11_a_diamond_is_no_cycle_and_a_cycle_is() {
    let mut graph = graph(&[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["b", "c"])]);
    let all = |graph: &OwnerGraph<()>| -> Vec<NodeId> {
        ["a", "b", "c", "d"]
            .iter()
            .filter_map(|name| graph.find(&uid(name)))
            .collect()
    };
    assert_eq!(graph.cycles(all(&graph)), Vec::<Vec<NodeId>>::new());
    graph.put(&uid("a"), &owned_by(&["d"]), ());
    assert_eq!(graph.cycles(all(&graph)), [all(&graph)]);
    let without_d = &all(&graph)[..3];
    assert_eq!(
        graph.cycles(without_d.iter().copied()),
        Vec::<Vec<NodeId>>::new(),
        "only among the named ones"
    );
    graph.put(&uid("a"), &owned_by(&["a"]), ());
    let alone = vec![graph.find(&uid("a")).unwrap()];
    assert_eq!(graph.cycles(all(&graph)), [alone], "it owns itself");
}

#[test]
fn a_cycle_of_a_hundred_thousand_is_found_without_recursion() {
    const LENGTH: usize = 100_000;
    let mut graph = OwnerGraph::new();
    for number in 0..LENGTH {
        let owner = ((number + LENGTH - 1) % LENGTH).to_string();
        graph.put(&uid(&number.to_string()), &owned_by(&[&owner]), ());
    }
    let nodes: Vec<NodeId> = (0..LENGTH)
        .filter_map(|number| graph.find(&uid(&number.to_string())))
        .collect();
    let cycles = graph.cycles(nodes);
    assert_eq!((cycles.len(), cycles[0].len()), (1, LENGTH));
}

/// As large as what the collector keeps about an object.
type Kept = [u64; 5];

#[test]
fn g5_an_object_costs_at_most_two_hundred_bytes_beside_its_name() {
    for objects in [11_111, 66_000, 100_000] {
        let each = bytes_each(objects);
        assert!(
            (80..=200).contains(&each),
            "{each} bytes for each of {objects}"
        );
    }
}

fn bytes_each(objects: usize) -> usize {
    let mut graph: OwnerGraph<Kept> = OwnerGraph::new();
    let name = |number: usize| {
        let hash = (number as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let hex = format!("{hash:032x}");
        let parts = [
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..],
        ];
        Uid::new(&parts.join("-"))
    };
    for number in 0..objects {
        let owner = Owner {
            uid: name(number / 10),
            blocks: true,
        };
        graph.put(&name(number), &[owner], Kept::default());
    }
    graph.bytes() / objects
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, Vec<(u8, bool)>),
    Remove(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let owners = prop::collection::vec((0..12u8, any::<bool>()), 0..4);
    let step = prop_oneof![
        3 => (0..12u8, owners).prop_map(|(name, owners)| Step::Put(name, owners)),
        1 => (0..12u8).prop_map(Step::Remove),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #[test]
    fn g5_the_graph_is_what_a_plain_map_says(steps in steps()) {
        let mut graph = OwnerGraph::new();
        let mut plain: BTreeMap<u8, Vec<(u8, bool)>> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Put(name, owners) => {
                    let list: Vec<Owner> = owners
                        .iter()
                        .map(|(name, blocks)| Owner { uid: uid(&name.to_string()), blocks: *blocks })
                        .collect();
                    graph.put(&uid(&name.to_string()), &list, name);
                    let mut once: Vec<(u8, bool)> = Vec::new();
                    for owner in owners {
                        if once.iter().all(|known| known.0 != owner.0) {
                            once.push(owner);
                        }
                    }
                    plain.insert(name, once);
                }
                Step::Remove(name) => {
                    let removed = graph.remove(&uid(&name.to_string())).is_some();
                    prop_assert_eq!(removed, plain.remove(&name).is_some());
                }
            }
            prop_assert_eq!(graph.len(), plain.len());
            for name in 0..12u8 {
                let expected: BTreeSet<(u8, bool)> = plain
                    .iter()
                    .flat_map(|(from, owners)| owners.iter().map(move |(to, blocks)| (*from, *to, *blocks)))
                    .filter(|(_, to, _)| *to == name)
                    .map(|(from, _, blocks)| (from, blocks))
                    .collect();
                let Some(node) = graph.find(&uid(&name.to_string())) else {
                    prop_assert!(expected.is_empty() && !plain.contains_key(&name));
                    continue;
                };
                let found: BTreeSet<(u8, bool)> = graph
                    .dependents(node)
                    .map(|found| (*graph.get(found.node).unwrap(), found.blocks))
                    .collect();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(graph.dependent_count(node), expected.len());
                let blocking = expected.iter().filter(|(_, blocks)| *blocks).count();
                prop_assert_eq!(graph.blocking_count(node), blocking);
            }
        }
    }
}
