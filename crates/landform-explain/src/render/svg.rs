//! Graphs of references as a picture, laid out by hand: what is needed is on the left of what needs it.
//!
//! `layout.rs` says where boxes, frames and the ways of arrows are; this file writes them down. Nested installations
//! are within the frame of the one that they belong to, and arrows lead around boxes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::graph::{colours, escaped, name, state};
use super::layout::{HEIGHT, Layout, WIDTH, Way, layout};
use crate::graph::{Graph, Node};

/// Longer names are cut in the middle: what tells them apart is at both ends.
const LETTERS: usize = 27;

/// As an SVG picture that needs nothing else.
#[must_use]
pub fn graph_svg(graph: &Graph) -> String {
    let places: BTreeMap<&str, usize> = graph
        .nodes
        .iter()
        .enumerate()
        .map(|(at, node)| (node.id.as_str(), at))
        .collect();
    let found: Vec<_> = graph
        .edges
        .iter()
        .filter_map(|edge| {
            let from = places.get(edge.to.as_str())?;
            let to = places.get(edge.from.as_str())?;
            Some((*from, *to, edge.label.as_str()))
        })
        .collect();
    let edges: Vec<(usize, usize)> = found.iter().map(|(from, to, _)| (*from, *to)).collect();
    let parents: Vec<Option<usize>> = graph
        .nodes
        .iter()
        .map(|node| places.get(node.within.as_deref()?).copied())
        .collect();
    let namespaces: Vec<&str> = graph
        .nodes
        .iter()
        .map(|node| node.namespace.as_str())
        .collect();
    let layout = layout(&edges, &parents, &namespaces);
    let mut text = head(&layout);
    for frame in &layout.frames {
        let title = match frame.of {
            Ok(at) => graph
                .nodes
                .get(at)
                .map_or(String::new(), |node| node.name.clone()),
            Err(namespace) => format!("namespace {namespace}"),
        };
        let _ = writeln!(
            text,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"12\" fill=\"#5c6773\" fill-opacity=\"0.06\" stroke=\"#9aa4b0\" stroke-dasharray=\"5 4\"/>\
             <text x=\"{}\" y=\"{}\" fill=\"#5c6773\" font-size=\"11\">{}</text>",
            frame.x,
            frame.y,
            frame.width,
            frame.height,
            frame.x + 10,
            frame.y + 15,
            escaped(&title)
        );
    }
    for way in &layout.ways {
        let _ = writeln!(
            text,
            "<path d=\"{}\" fill=\"none\" stroke=\"#5c6773\" marker-end=\"url(#arrow)\"/>",
            line(way)
        );
    }
    for (at, node) in graph.nodes.iter().enumerate() {
        let (x, y) = layout.corners.get(at).copied().unwrap_or_default();
        text.push_str(&node_box(node, x, y));
    }
    // Labels come last, so that no arrow is drawn over them.
    for ((_, _, label), way) in found.iter().zip(&layout.ways) {
        if label.is_empty() {
            continue;
        }
        let (x, y) = way.last().copied().unwrap_or_default();
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#3b4450\" font-size=\"11\" stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
            x.saturating_sub(11),
            y.saturating_sub(5),
            escaped(&cut(label, LETTERS_OF_LABELS))
        );
    }
    text.push_str("</svg>\n");
    text
}

/// So much of a label has room between two columns.
const LETTERS_OF_LABELS: usize = 18;

fn head(layout: &Layout<'_>) -> String {
    let Layout { width, height, .. } = layout;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#5c6773\"/></marker></defs>\n"
    )
}

fn node_box(node: &Node, x: usize, y: usize) -> String {
    let (inside, border) = colours(node);
    let called = node.known_as.as_deref().unwrap_or(&node.name);
    let state = state(node);
    let below = if state.is_empty() {
        node.kind.clone()
    } else {
        format!("{} · {state}", node.kind)
    };
    format!(
        "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\" fill=\"{inside}\" stroke=\"{border}\"/>\
         <text x=\"{}\" y=\"{}\" fill=\"#1c2127\">{}</text>\
         <text x=\"{}\" y=\"{}\" fill=\"{border}\" font-size=\"11\">{}</text></g>\n",
        escaped(&name(node)),
        x + 12,
        y + 20,
        escaped(&cut(called, LETTERS)),
        x + 12,
        y + 36,
        escaped(&below),
    )
}

/// A curve through the points: they are in pairs, from the right side of one column to the left side of the next.
fn line(way: &Way) -> String {
    let mut points = way.iter().copied();
    let Some((mut x, mut y)) = points.next() else {
        return String::new();
    };
    let mut text = format!("M{x} {y}");
    for (next_x, next_y) in points {
        if next_y == y || next_x == x {
            let _ = write!(text, " L{next_x} {next_y}");
        } else {
            let middle = usize::midpoint(x, next_x);
            let _ = write!(text, " C{middle} {y} {middle} {next_y} {next_x} {next_y}");
        }
        (x, y) = (next_x, next_y);
    }
    text
}

fn cut(text: &str, letters: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= letters {
        return text.to_owned();
    }
    let (begin, end) = ((letters - 1).div_ceil(2), (letters - 1) / 2);
    let begin: String = all.iter().take(begin).collect();
    let end: String = all.iter().skip(all.len() - end).collect();
    format!("{begin}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(cut("short", 9), "short");
        assert_eq!(cut("abcdefghijkl", 9), "abcd…ijkl");
    }
}
