//! Trees of owners for a terminal.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use time::OffsetDateTime;

use super::style::{Plain, Style, Tone, tone};
use crate::age::age;
use crate::object;
use crate::tree::{Forest, Node};

/// As plain text; ages are counted from `now`.
#[must_use]
pub fn tree(forest: &Forest, now: OffsetDateTime) -> String {
    tree_styled(forest, now, &Plain)
}

/// With emphasis.
#[must_use]
pub fn tree_styled(forest: &Forest, now: OffsetDateTime, style: &dyn Style) -> String {
    let mut text = String::new();
    let namespaces: BTreeSet<&str> = forest
        .items
        .iter()
        .map(|item| item.object.namespace.as_str())
        .collect();
    // Several namespaces are told apart by a line before each.
    for namespace in &namespaces {
        if namespaces.len() > 1 {
            let title = if namespace.is_empty() {
                "In no namespace:".to_owned()
            } else {
                format!("In namespace {namespace}:")
            };
            let _ = writeln!(text, "{}", style.paint(Tone::Faint, &title));
        }
        let items = forest.items.iter();
        for item in items.filter(|item| item.object.namespace == **namespace) {
            node(&mut text, item, "", "", now, style);
        }
    }
    if forest.items.is_empty() {
        text.push_str("There is nothing.\n");
    }
    if forest.cut_off {
        text.push_str("There is more than could be looked at.\n");
    }
    text
}

/// The depth of trees is limited where they are made.
fn node(
    text: &mut String,
    node: &Node,
    lead: &str,
    indent: &str,
    now: OffsetDateTime,
    style: &dyn Style,
) {
    let name = object::shown(
        &node.object.kind,
        &node.object.name,
        node.known_as.as_deref(),
    );
    let _ = write!(text, "{}{name}", style.paint(Tone::Faint, lead));
    if let Some(phase) = &node.phase {
        let _ = write!(text, " {}", style.paint(tone(phase), phase));
    }
    if let Some(age) = node
        .created
        .as_deref()
        .and_then(|created| age(created, now))
    {
        let _ = write!(text, " {}", style.paint(Tone::Faint, &age));
    }
    let settled = matches!(node.phase.as_deref(), None | Some("Succeeded"));
    if !node.message.is_empty() && !settled {
        let _ = write!(text, ": {}", node.message);
    }
    text.push('\n');
    for (number, below) in node.owns.iter().enumerate() {
        let last = number + 1 == node.owns.len();
        let (branch, next) = if last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        let (lead, indent) = (format!("{indent}{branch}"), format!("{indent}{next}"));
        self::node(text, below, &lead, &indent, now, style);
    }
}
