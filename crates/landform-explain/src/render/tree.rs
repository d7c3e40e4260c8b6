//! Trees of owners for a terminal.

use std::fmt::Write as _;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::style::{Plain, Style, Tone, tone};
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
    for item in &forest.items {
        node(&mut text, item, "", "", now, style);
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
    let _ = write!(text, "{}{}", style.paint(Tone::Faint, lead), node.object);
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

/// `5s`, `3m`, `2h`, `4d`: as kubectl writes ages.
pub(crate) fn age(created: &str, now: OffsetDateTime) -> Option<String> {
    let created = OffsetDateTime::parse(created, &Rfc3339).ok()?;
    let seconds = (now - created).whole_seconds().max(0);
    Some(match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    })
}
