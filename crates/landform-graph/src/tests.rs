//! The graph against its own naive check, and the cases that people asked for by name.

use proptest::prelude::*;

use crate::{NodeId, ReferenceGraph, Watcher};

type Graph = ReferenceGraph<String>;

fn refer(graph: &mut Graph, from: &str, to: &[&str]) {
    let node = graph.intern(&from.to_owned());
    let refs: Vec<_> = to
        .iter()
        .map(|name| graph.intern_ref(&(*name).to_owned()))
        .collect();
    graph.set_refs(node, &refs, &mut ());
    graph.verify().unwrap();
}

fn path(graph: &Graph, name: &str) -> Option<String> {
    let node = graph.find(&name.to_owned()).unwrap();
    graph.cycle_path(node).map(ToString::to_string)
}

#[test]
fn r7_every_member_of_a_cycle_has_the_same_path() {
    let mut graph = Graph::new();
    refer(&mut graph, "b", &["a"]);
    refer(&mut graph, "c", &["b"]);
    refer(&mut graph, "d", &["c"]);
    refer(&mut graph, "a", &["c", "root"]);
    for member in ["a", "b", "c"] {
        assert_eq!(path(&graph, member).as_deref(), Some("a → c → b → a"));
    }
    assert_eq!(path(&graph, "d"), None);
    assert_eq!(path(&graph, "root"), None);
    refer(&mut graph, "b", &[]);
    assert!(graph.nodes().all(|node| !graph.is_cyclic(node)));
}

#[test]
fn r7_a_cycle_within_a_cycle_is_left_when_the_outer_one_breaks() {
    let mut graph = Graph::new();
    refer(&mut graph, "a", &["b"]);
    refer(&mut graph, "b", &["a", "c"]);
    refer(&mut graph, "c", &["d"]);
    refer(&mut graph, "d", &["b"]);
    refer(&mut graph, "d", &[]);
    assert_eq!(path(&graph, "a").as_deref(), Some("a → b → a"));
    assert_eq!(path(&graph, "c"), None);
}

#[test]
fn r7_an_object_that_refers_to_itself_is_a_cycle() {
    let mut graph = Graph::new();
    refer(&mut graph, "a", &["a"]);
    assert_eq!(path(&graph, "a").as_deref(), Some("a → a"));
    refer(&mut graph, "a", &[]);
    assert_eq!(path(&graph, "a"), None);
}

#[test]
fn r7_a_long_cycle_prints_its_beginning() {
    let mut graph = Graph::new();
    let name = |at: usize| format!("n{at:07}");
    let length = 100_000;
    for at in 0..length {
        let node = graph.intern(&name(at));
        let to = graph.intern_ref(&name((at + 1) % length));
        graph.set_refs(node, &[to], &mut ());
    }
    let printed = path(&graph, &name(0)).unwrap();
    assert!(printed.starts_with("n0000000 → n0000001 → "), "{printed}");
    assert!(printed.ends_with("… 99983 more … → n0000000"), "{printed}");
}

#[test]
fn r11_a_ref_to_a_missing_object_is_kept_until_nobody_needs_it() {
    let mut graph = Graph::new();
    refer(&mut graph, "b", &["a", "a"]);
    assert_eq!(graph.edge_count(), 1);
    let (a, b) = (
        graph.find(&"a".to_owned()).unwrap(),
        graph.find(&"b".to_owned()).unwrap(),
    );
    assert!(!graph.release(a));
    refer(&mut graph, "b", &[]);
    assert!(graph.release(a) && graph.release(b) && graph.is_empty());
    assert_eq!(
        graph.intern(&"c".to_owned()).index().max(1),
        1,
        "ids are reused"
    );
}

#[test]
fn r9b_an_anonymous_node_refers_to_others_and_has_no_name() {
    let mut graph = Graph::new();
    refer(&mut graph, "b", &["a"]);
    let anonymous = graph.add_anonymous();
    // What comes later stands behind it, until it refers to that.
    refer(&mut graph, "c", &["b"]);
    let c = graph.find(&"c".to_owned()).unwrap();
    graph.link(anonymous, c, &mut ());
    graph.verify().unwrap();
    assert!(graph.contains(anonymous) && graph.key(anonymous).is_none());
    assert_eq!((graph.len(), graph.nodes().count()), (4, 4));
    assert!(!graph.release(anonymous), "it has a ref");
    graph.set_refs(anonymous, &[], &mut ());
    assert!(graph.release(anonymous) && !graph.contains(anonymous));
    assert!(!graph.release(anonymous), "only once");
    assert_eq!(graph.intern(&"d".to_owned()), anonymous, "ids are reused");
    graph.verify().unwrap();
}

#[test]
fn r16_a_chain_may_come_in_any_order() {
    // Quadratic work would take minutes here.
    for backwards in [false, true] {
        let mut graph = ReferenceGraph::<u32>::new();
        for at in 0..100_000_u32 {
            let at = if backwards { 100_000 - at } else { at };
            let node = graph.intern(&at);
            let to = graph.intern_ref(&(at + 1));
            graph.set_refs(node, &[to], &mut ());
        }
        assert_eq!(graph.len(), 100_001);
    }
}

#[test]
fn r16_a_million_long_chain_is_loaded_without_recursion() {
    let mut graph = ReferenceGraph::<u32>::new();
    let keys: Vec<_> = (0..1_000_000_u32).collect();
    graph.load(keys.iter().zip(keys.chunks(1).skip(1)));
    let nodes: Vec<_> = keys.iter().map(|key| graph.intern(key)).collect();
    assert_eq!(graph.edge_count(), 999_999);
    graph.set_refs(nodes[999_999], &[nodes[0]], &mut ());
    assert!(graph.is_cyclic(nodes[500_000]));
    graph.set_refs(nodes[500_000], &[], &mut ());
    assert!(nodes.iter().all(|node| !graph.is_cyclic(*node)));
}

/// Counts edges between units by what it is told, to see that it is told everything.
#[derive(Default)]
struct Counting {
    edges: usize,
}

impl Counting {
    fn around(graph: &Graph, nodes: &[NodeId]) -> usize {
        let from = nodes.iter().flat_map(|node| {
            let refs = graph.refs(*node).map(move |to| (*node, to));
            refs.chain(graph.dependents(*node).map(move |from| (from, *node)))
        });
        let between = from.filter(|(from, to)| graph.unit(*from) != graph.unit(*to));
        between.collect::<std::collections::BTreeSet<_>>().len()
    }
}

impl Watcher<String> for Counting {
    fn linked(&mut self, _: &Graph, _: NodeId, _: NodeId) {
        self.edges += 1;
    }
    fn unlinked(&mut self, _: &Graph, _: NodeId, _: NodeId) {
        self.edges -= 1;
    }
    fn regrouping(&mut self, graph: &Graph, nodes: &[NodeId]) {
        self.edges -= Self::around(graph, nodes);
    }
    fn regrouped(&mut self, graph: &Graph, nodes: &[NodeId]) {
        self.edges += Self::around(graph, nodes);
    }
}

proptest! {
    #[test]
    fn r7_any_changes_keep_the_order_and_the_cycles(
        changes in proptest::collection::vec(
            (0_u8..8, proptest::collection::vec(0_u8..8, 0..3), any::<bool>()), 1..40)
    ) {
        let mut graph = Graph::new();
        let mut counting = Counting::default();
        for (from, to, release) in changes {
            let node = graph.intern(&from.to_string());
            let refs: Vec<_> = to.iter().map(|to| graph.intern_ref(&to.to_string())).collect();
            graph.set_refs(node, &refs, &mut counting);
            if release {
                let all: Vec<_> = graph.nodes().collect();
                all.into_iter().for_each(|node| { graph.release(node); });
            }
            prop_assert_eq!(graph.verify(), Ok(()));
            let all: Vec<_> = graph.nodes().collect();
            prop_assert_eq!(counting.edges, Counting::around(&graph, &all));
        }
        let all: Vec<_> = graph.nodes().collect();
        let paths = |graph: &Graph| -> Vec<_> {
            all.iter().map(|node| graph.cycle_path(*node).cloned()).collect()
        };
        let before = paths(&graph);
        graph.load([]);
        prop_assert_eq!(graph.verify(), Ok(()));
        for (node, path) in all.iter().zip(before) {
            prop_assert_eq!(graph.is_cyclic(*node), path.is_some());
        }
    }
}
