//! Graphs of references as a picture, laid out by hand: what is needed is on the left of what needs it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::graph::{colours, escaped, state};
use crate::graph::Graph;

const WIDTH: usize = 200;
const HEIGHT: usize = 46;
const GAP_ACROSS: usize = 130;
const GAP_DOWN: usize = 22;
const MARGIN: usize = 20;
/// Longer names are cut.
const LETTERS: usize = 26;

/// As an SVG picture that needs nothing else.
#[must_use]
pub fn graph_svg(graph: &Graph) -> String {
    let places: BTreeMap<&str, usize> = graph
        .nodes
        .iter()
        .enumerate()
        .map(|(at, node)| (node.id.as_str(), at))
        .collect();
    let edges: Vec<(usize, usize, &str)> = graph
        .edges
        .iter()
        .filter_map(|edge| {
            let (from, to) = (
                places.get(edge.to.as_str())?,
                places.get(edge.from.as_str())?,
            );
            Some((*from, *to, edge.label.as_str()))
        })
        .collect();
    let spots = layout(graph.nodes.len(), &edges);
    let columns = spots.iter().map(|spot| spot.0 + 1).max().unwrap_or(1);
    let rows = spots.iter().map(|spot| spot.1 + 1).max().unwrap_or(1);
    let width = 2 * MARGIN + columns * (WIDTH + GAP_ACROSS) - GAP_ACROSS;
    let height = 2 * MARGIN + rows * (HEIGHT + GAP_DOWN) - GAP_DOWN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#5c6773\"/></marker></defs>\n"
    );
    let corner = |at: usize| {
        let (column, row) = spots.get(at).copied().unwrap_or_default();
        (
            MARGIN + column * (WIDTH + GAP_ACROSS),
            MARGIN + row * (HEIGHT + GAP_DOWN),
        )
    };
    for (from, to, label) in &edges {
        let ((x1, y1), (x2, y2)) = (corner(*from), corner(*to));
        let (x1, y1, y2) = (x1 + WIDTH, y1 + HEIGHT / 2, y2 + HEIGHT / 2);
        let bend = GAP_ACROSS / 2;
        let _ = writeln!(
            text,
            "<path d=\"M{x1} {y1} C{} {y1} {} {y2} {x2} {y2}\" fill=\"none\" stroke=\"#5c6773\" marker-end=\"url(#arrow)\"/>",
            x1 + bend,
            x2.saturating_sub(bend)
        );
        if !label.is_empty() {
            // Beside the end of the arrow, where arrows from one object lie apart.
            let (x, y) = (x2.saturating_sub(10), (y1 + 3 * y2) / 4 - 4);
            let _ = writeln!(
                text,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\" fill=\"#3b4450\" font-size=\"11\">{}</text>",
                escaped(&cut(label))
            );
        }
    }
    for (at, node) in graph.nodes.iter().enumerate() {
        let (x, y) = corner(at);
        let (inside, border) = colours(node);
        let name = cut(&format!("{}/{}", node.kind, node.name));
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\" fill=\"{inside}\" stroke=\"{border}\"/>\
             <text x=\"{}\" y=\"{}\" fill=\"#1c2127\">{}</text>\
             <text x=\"{}\" y=\"{}\" fill=\"{border}\" font-size=\"11\">{}</text>",
            x + 12,
            y + 20,
            escaped(&name),
            x + 12,
            y + 36,
            escaped(state(node)),
        );
    }
    text.push_str("</svg>\n");
    text
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LETTERS {
        return text.to_owned();
    }
    let kept: String = text.chars().take(LETTERS - 1).collect();
    format!("{kept}…")
}

/// Column and row of each node. A column is the longest way from something that needs nothing; edges that close a
/// circle don't count. Rows follow the middle of what is needed, so that arrows rarely cross.
fn layout(count: usize, edges: &[(usize, usize, &str)]) -> Vec<(usize, usize)> {
    let mut column = vec![0_usize; count];
    for _ in 0..count {
        let mut moved = false;
        for (from, to, _) in edges {
            let wanted = column.get(*from).map_or(0, |column| column + 1);
            // No way is longer than there are nodes: beyond that it is a circle.
            if let Some(place) = column
                .get_mut(*to)
                .filter(|place| **place < wanted && wanted < count)
            {
                *place = wanted;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    let mut used: Vec<usize> = column.clone();
    used.sort_unstable();
    used.dedup();
    let mut rows = vec![0_usize; count];
    for (place, level) in used.iter().enumerate() {
        let mut here: Vec<usize> = (0..count)
            .filter(|at| column.get(*at) == Some(level))
            .collect();
        let middle = |at: &usize| {
            let needs = edges.iter().filter(|(_, to, _)| to == at);
            let needs: Vec<usize> = needs
                .filter_map(|(from, ..)| rows.get(*from).copied())
                .collect();
            (needs.iter().sum::<usize>() * 16) / needs.len().max(1)
        };
        if place > 0 {
            let keys: BTreeMap<usize, usize> = here.iter().map(|at| (*at, middle(at))).collect();
            here.sort_by_key(|at| (keys.get(at).copied(), *at));
        }
        for (row, at) in here.into_iter().enumerate() {
            if let Some(found) = rows.get_mut(at) {
                *found = row;
            }
        }
    }
    let place = |level: &usize| used.binary_search(level).unwrap_or_default();
    column
        .iter()
        .zip(rows)
        .map(|(level, row)| (place(level), row))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_on_the_left_and_a_circle_ends() {
        let spots = layout(4, &[(0, 1, ""), (1, 2, ""), (0, 2, "")]);
        let columns: Vec<usize> = spots.iter().map(|spot| spot.0).collect();
        assert_eq!(columns, [0, 1, 2, 0]);
        assert_ne!(spots[0].1, spots[3].1);
        let circle = layout(2, &[(0, 1, ""), (1, 0, "")]);
        assert_ne!(circle[0], circle[1]);
    }
}
