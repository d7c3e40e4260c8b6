//! Where the boxes, frames and arrows of a picture are.
//!
//! A column is the longest way from something that needs nothing. Between boxes of neighbouring columns an arrow is in
//! the gap; one that leads further has a place of its own in each column between, so that it meets no box; one that
//! leads back, which only circles have, goes below everything. What is nested has rows of its own, which nothing else
//! is in: a frame around them holds nothing else.

use std::collections::BTreeMap;

pub(super) const WIDTH: usize = 200;
pub(super) const HEIGHT: usize = 46;
const GAP_ACROSS: usize = 130;
const GAP_DOWN: usize = 22;
const MARGIN: usize = 24;
/// The row of an arrow that passes a column.
const PASSING: usize = 14;
/// Between a frame and what is in it, above and elsewhere.
const FRAME_TOP: usize = 26;
const FRAME: usize = 12;
/// Between arrows that lead back.
const LANE: usize = 12;
/// Frames within frames are drawn so deep.
const DEEPEST: usize = 12;

/// The points of an arrow.
pub(super) type Way = Vec<(usize, usize)>;

/// A frame around what is nested in a node, or is in a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) of: Result<usize, &'a str>,
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// A whole picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout<'a> {
    pub(super) width: usize,
    pub(super) height: usize,
    /// The upper left corners of boxes.
    pub(super) corners: Vec<(usize, usize)>,
    pub(super) frames: Vec<Frame<'a>>,
    /// One for each edge.
    pub(super) ways: Vec<Way>,
}

/// What has a row in a column: a box, or an arrow that passes.
#[derive(Clone, Debug)]
struct Item {
    column: usize,
    /// The frames that it is in, outermost first.
    frames: Vec<usize>,
    height: usize,
    y: usize,
    /// What it comes from.
    before: Vec<usize>,
}

/// Lays out nodes `0..parents.len()`. An edge leads from what is needed to what needs it.
pub(super) fn layout<'a>(
    edges: &[(usize, usize)],
    parents: &[Option<usize>],
    namespaces: &[&'a str],
) -> Layout<'a> {
    let count = parents.len();
    let columns = columns(count, edges);
    let (frames_of, owners) = frames(parents, namespaces);
    let column_of = |at: usize| columns.get(at).copied().unwrap_or_default();
    let mut items: Vec<Item> = (0..count)
        .map(|at| Item {
            column: column_of(at),
            frames: frames_of.get(at).cloned().unwrap_or_default(),
            height: HEIGHT,
            y: 0,
            before: Vec::new(),
        })
        .collect();
    // The items that each edge goes along, both ends included.
    let mut along: Vec<Vec<usize>> = Vec::new();
    for (from, to) in edges {
        let mut way = vec![*from];
        let shared = shared(&items, *from, *to);
        for column in column_of(*from) + 1..column_of(*to) {
            let before = way.last().copied().into_iter().collect();
            way.push(items.len());
            items.push(Item {
                column,
                frames: shared.clone(),
                height: PASSING,
                y: 0,
                before,
            });
        }
        if column_of(*from) < column_of(*to)
            && let Some(item) = items.get_mut(*to)
        {
            item.before.extend(way.last());
        }
        way.push(*to);
        along.push(way);
    }
    let mut layout = Layout::default();
    let bottom = place(&mut items, &owners, &[], MARGIN, &mut layout.frames);
    layout.corners = items
        .iter()
        .take(count)
        .map(|item| (x_of(item.column), item.y))
        .collect();
    let mut lanes = 0;
    for way in &along {
        layout.ways.push(points(way, &items, bottom, &mut lanes));
    }
    let last = items
        .iter()
        .map(|item| item.column)
        .max()
        .unwrap_or_default();
    let deepest = items
        .iter()
        .map(|item| item.frames.len())
        .max()
        .unwrap_or_default();
    layout.width = x_of(last) + WIDTH + MARGIN + FRAME * deepest;
    layout.height = bottom + lanes * LANE + MARGIN;
    layout
}

fn x_of(column: usize) -> usize {
    MARGIN + 2 * FRAME + column * (WIDTH + GAP_ACROSS)
}

/// The column of each node. Edges that close a circle don't count.
fn columns(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut column = vec![0_usize; count];
    for _ in 0..count {
        let mut moved = false;
        for (from, to) in edges {
            let wanted = column.get(*from).map_or(0, |column| column + 1);
            // No way is longer than there are nodes: beyond that it is a circle.
            let place = column.get_mut(*to);
            if let Some(place) = place.filter(|place| **place < wanted && wanted < count) {
                *place = wanted;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    // Circles leave columns that nothing is in.
    let mut used = column.clone();
    used.sort_unstable();
    used.dedup();
    let place = |level: &usize| used.binary_search(level).unwrap_or_default();
    column.iter().map(place).collect()
}

/// The frames of each node, outermost first; and what each frame is around.
fn frames<'a>(
    parents: &[Option<usize>],
    namespaces: &[&'a str],
) -> (Vec<Vec<usize>>, Vec<Result<usize, &'a str>>) {
    let mut owners: Vec<Result<usize, &'a str>> = Vec::new();
    let mut known: BTreeMap<Result<usize, &'a str>, usize> = BTreeMap::new();
    let mut number = |owner: Result<usize, &'a str>| {
        *known.entry(owner).or_insert_with(|| {
            owners.push(owner);
            owners.len() - 1
        })
    };
    let several = namespaces
        .iter()
        .any(|name| Some(name) != namespaces.first());
    let mut all = Vec::new();
    for at in 0..parents.len() {
        let mut up = Vec::new();
        // A node that others are nested in is within its own frame.
        if parents.contains(&Some(at)) {
            up.push(at);
        }
        let mut next = parents.get(at).copied().flatten();
        while let Some(parent) = next.filter(|_| up.len() < DEEPEST) {
            up.push(parent);
            next = parents.get(parent).copied().flatten();
        }
        let mut frames = Vec::new();
        let namespace = namespaces.get(at).copied().unwrap_or_default();
        if several && !namespace.is_empty() {
            frames.push(number(Err(namespace)));
        }
        frames.extend(up.into_iter().rev().map(|owner| number(Ok(owner))));
        all.push(frames);
    }
    (all, owners)
}

/// The frames that two items have in common.
fn shared(items: &[Item], left: usize, right: usize) -> Vec<usize> {
    let frames = |at: usize| items.get(at).map_or(&[][..], |item| item.frames.as_slice());
    let pairs = frames(left).iter().zip(frames(right));
    pairs.take_while(|(a, b)| a == b).map(|(a, _)| *a).collect()
}

/// Gives all items within these frames their rows, from `top` on; returns where they end.
fn place<'a>(
    items: &mut [Item],
    owners: &[Result<usize, &'a str>],
    within: &[usize],
    top: usize,
    frames: &mut Vec<Frame<'a>>,
) -> usize {
    let here: Vec<usize> = (0..items.len())
        .filter(|at| items.get(*at).is_some_and(|item| item.frames == within))
        .collect();
    let last = here
        .iter()
        .filter_map(|at| Some(items.get(*at)?.column))
        .max();
    let mut bottom = top;
    for column in 0..=last.unwrap_or_default() {
        let mut here: Vec<usize> = here
            .iter()
            .copied()
            .filter(|at| items.get(*at).is_some_and(|item| item.column == column))
            .collect();
        // In the middle of what they come from, so that arrows rarely cross.
        here.sort_by_key(|at| (middle(items, *at), *at));
        let mut y = top;
        for at in here {
            if let Some(item) = items.get_mut(at) {
                item.y = y;
                y += item.height + GAP_DOWN;
            }
        }
        bottom = bottom.max(y);
    }
    let mut below: Vec<usize> = items
        .iter()
        .filter(|item| item.frames.starts_with(within))
        .filter_map(|item| item.frames.get(within.len()).copied())
        .collect();
    below.sort_unstable();
    below.dedup();
    for frame in below {
        let mut inner = within.to_vec();
        inner.push(frame);
        let end = place(items, owners, &inner, bottom + FRAME_TOP, frames) - GAP_DOWN + FRAME;
        let members = items.iter().filter(|item| item.frames.starts_with(&inner));
        let columns: Vec<usize> = members.clone().map(|item| item.column).collect();
        let deeper = members.map(|item| item.frames.len() - inner.len()).max();
        let pad = FRAME * (deeper.unwrap_or_default() + 1);
        let first = x_of(columns.iter().copied().min().unwrap_or_default());
        let last = x_of(columns.iter().copied().max().unwrap_or_default()) + WIDTH;
        if let Some(of) = owners.get(frame) {
            let x = first.saturating_sub(pad);
            frames.push(Frame {
                of: *of,
                x,
                y: bottom,
                width: last + pad - x,
                height: end - bottom,
            });
        }
        bottom = end + GAP_DOWN;
    }
    bottom
}

/// The middle of what an item comes from, as far as that has its place.
fn middle(items: &[Item], at: usize) -> usize {
    let before = items.get(at).map_or(&[][..], |item| item.before.as_slice());
    let rows: Vec<usize> = before
        .iter()
        .filter_map(|at| Some(items.get(*at)?.y))
        .collect();
    rows.iter().sum::<usize>() / rows.len().max(1)
}

/// The points of an arrow along its items.
fn points(way: &[usize], items: &[Item], bottom: usize, lanes: &mut usize) -> Way {
    let ends = (
        way.first().and_then(|at| items.get(*at)),
        way.last().and_then(|at| items.get(*at)),
    );
    let (Some(from), Some(to)) = ends else {
        return Way::new();
    };
    let middle = |item: &Item| item.y + item.height / 2;
    if from.column >= to.column {
        // Back: down beside the boxes, below all of them, and up again.
        let lane = bottom + *lanes * LANE;
        let aside = 14 + (*lanes % 4) * 6;
        *lanes += 1;
        let right = x_of(from.column) + WIDTH + aside;
        let left = x_of(to.column).saturating_sub(aside);
        return vec![
            (x_of(from.column) + WIDTH, middle(from)),
            (right, middle(from)),
            (right, lane),
            (left, lane),
            (left, middle(to)),
            (x_of(to.column), middle(to)),
        ];
    }
    let mut points = vec![(x_of(from.column) + WIDTH, middle(from))];
    for item in way.iter().skip(1).filter_map(|at| items.get(*at)) {
        points.push((x_of(item.column), middle(item)));
        if item.height == PASSING {
            points.push((x_of(item.column) + WIDTH, middle(item)));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_needed_is_on_the_left_and_a_circle_ends() {
        assert_eq!(columns(4, &[(0, 1), (1, 2), (0, 2)]), [0, 1, 2, 0]);
        let circle = columns(2, &[(0, 1), (1, 0)]);
        assert_ne!(circle[0], circle[1]);
    }

    #[test]
    fn a_frame_is_around_what_is_nested() {
        let found = layout(&[(1, 2)], &[None, Some(0), Some(0), None], &["a"; 4]);
        let [frame] = found.frames.as_slice() else {
            panic!("{:?}", found.frames);
        };
        assert_eq!(frame.of, Ok(0));
        let inside = |at: usize| {
            let (x, y) = found.corners[at];
            x >= frame.x
                && y >= frame.y
                && x + WIDTH <= frame.x + frame.width
                && y + HEIGHT <= frame.y + frame.height
        };
        assert_eq!([0, 1, 2, 3].map(inside), [true, true, true, false]);
    }

    /// Whether a part of a way meets a box. Curves stay between the heights of their ends.
    fn meets((x1, y1): (usize, usize), (x2, y2): (usize, usize), (x, y): (usize, usize)) -> bool {
        let (left, right) = (x1.min(x2), x1.max(x2));
        let (upper, lower) = (y1.min(y2), y1.max(y2));
        left < x + WIDTH && right > x && upper < y + HEIGHT && lower > y
    }

    proptest! {
        #[test]
        fn no_arrow_goes_through_a_box_and_no_two_boxes_meet(
            edges in prop::collection::vec((0_usize..9, 0_usize..9), 0..14),
            parents in prop::collection::vec(prop::option::of(0_usize..9), 9),
            namespaces in prop::collection::vec(prop::sample::select(vec!["a", "b", ""]), 9),
        ) {
            // Only earlier ones have children: what is nested is a tree.
            let parents: Vec<_> = parents.iter().enumerate()
                .map(|(at, parent)| parent.filter(|parent| *parent < at)).collect();
            let namespaces: Vec<&str> = (0..9).map(|at| {
                let mut top = at;
                while let Some(parent) = parents[top] { top = parent; }
                namespaces[top]
            }).collect();
            let edges: Vec<_> = edges.into_iter().filter(|(from, to)| from != to).collect();
            let found = layout(&edges, &parents, &namespaces);
            for (at, (x, y)) in found.corners.iter().enumerate() {
                prop_assert!(x + WIDTH <= found.width && y + HEIGHT <= found.height);
                for (other_x, other_y) in found.corners.iter().skip(at + 1) {
                    prop_assert!(x != other_x || y.abs_diff(*other_y) >= HEIGHT);
                }
            }
            for way in &found.ways {
                for pair in way.windows(2) {
                    for corner in &found.corners {
                        prop_assert!(!meets(pair[0], pair[1], *corner), "{pair:?} {corner:?}");
                    }
                }
            }
        }
    }
}
