//! Graphs of references as text, for Graphviz, and for Mermaid.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::style::{Plain, Style, Tone, tone};
use crate::graph::{Edge, Graph, Node};
use crate::object;

/// As plain text: each object, and below it what it refers to.
#[must_use]
pub fn graph_text(graph: &Graph) -> String {
    graph_text_styled(graph, &Plain)
}

/// With emphasis.
#[must_use]
pub fn graph_text_styled(graph: &Graph, style: &dyn Style) -> String {
    let mut text = String::new();
    let by_id: BTreeMap<&str, &Node> = graph
        .nodes
        .iter()
        .map(|node| (node.id.as_str(), node))
        .collect();
    let mut by_from: BTreeMap<&str, Vec<&Edge>> = BTreeMap::new();
    for edge in &graph.edges {
        by_from.entry(&edge.from).or_default().push(edge);
    }
    for node in &graph.nodes {
        let _ = writeln!(text, "{}", shown(node, style));
        let edges = by_from.remove(node.id.as_str()).unwrap_or_default();
        for (number, edge) in edges.iter().enumerate() {
            let branch = if number + 1 == edges.len() {
                "└─ "
            } else {
                "├─ "
            };
            let to = by_id.get(edge.to.as_str()).map(|to| shown(to, style));
            let label = if edge.label.is_empty() {
                String::new()
            } else {
                format!("{} from ", edge.label)
            };
            let to = to.unwrap_or_else(|| edge.to.clone());
            let _ = writeln!(text, "{}{label}{to}", style.paint(Tone::Faint, branch));
        }
    }
    if graph.nodes.is_empty() {
        text.push_str("There is nothing.\n");
    }
    text
}

fn shown(node: &Node, style: &dyn Style) -> String {
    let state = state(node);
    let emphasis = if node.missing { Tone::Bad } else { tone(state) };
    let name = name(node);
    if state.is_empty() {
        name
    } else {
        format!("{name} {}", style.paint(emphasis, state))
    }
}

/// What a node is called.
pub(super) fn name(node: &Node) -> String {
    object::shown(&node.kind, &node.name, node.known_as.as_deref())
}

/// The phase as one word.
pub(super) fn state(node: &Node) -> &str {
    match &node.phase {
        Some(phase) => phase,
        None if node.missing => "missing",
        None => "",
    }
}

/// The colours of a node: inside and border.
pub(super) fn colours(node: &Node) -> (&'static str, &'static str) {
    if node.missing {
        return ("#fde8e8", "#c81e1e");
    }
    match tone(state(node)) {
        Tone::Good => ("#e6f6ec", "#18794e"),
        Tone::Bad => ("#fde8e8", "#c81e1e"),
        Tone::Busy => ("#fff4d6", "#a16207"),
        Tone::Strong | Tone::Faint => ("#f1f3f5", "#5c6773"),
    }
}

/// In the language of Graphviz. Arrows go from what is needed to what needs it, in the order in which things happen.
#[must_use]
pub fn graph_dot(graph: &Graph) -> String {
    let mut text = String::from(
        "digraph landform {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n",
    );
    for node in &graph.nodes {
        let (inside, border) = colours(node);
        let label = format!("{}\\n{}", quoted(&name(node)), state(node));
        let _ = writeln!(
            text,
            "  \"{}\" [label=\"{label}\", fillcolor=\"{inside}\", color=\"{border}\"];",
            quoted(&node.id)
        );
    }
    for edge in &graph.edges {
        let (from, to) = (quoted(&edge.to), quoted(&edge.from));
        let _ = writeln!(
            text,
            "  \"{from}\" -> \"{to}\" [label=\"{}\"];",
            quoted(&edge.label)
        );
    }
    text.push_str("}\n");
    text
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', " ")
}

/// In the language of Mermaid.
#[must_use]
pub fn graph_mermaid(graph: &Graph) -> String {
    let mut text = String::from("flowchart LR\n");
    let places: BTreeMap<&str, usize> = graph
        .nodes
        .iter()
        .enumerate()
        .map(|(at, node)| (node.id.as_str(), at))
        .collect();
    for (at, node) in graph.nodes.iter().enumerate() {
        let (inside, border) = colours(node);
        let label = format!("{}<br/>{}", escaped(&name(node)), state(node));
        let _ = writeln!(text, "  n{at}[\"{label}\"]");
        let _ = writeln!(text, "  style n{at} fill:{inside},stroke:{border}");
    }
    for edge in &graph.edges {
        let (Some(from), Some(to)) = (places.get(edge.to.as_str()), places.get(edge.from.as_str()))
        else {
            continue;
        };
        if edge.label.is_empty() {
            let _ = writeln!(text, "  n{from} --> n{to}");
        } else {
            let _ = writeln!(text, "  n{from} -->|\"{}\"| n{to}", escaped(&edge.label));
        }
    }
    text
}

/// Without what means something to Mermaid or in XML.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            letter if letter.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}
