//! A why chain for a terminal: the state, the chain as a tree, the roots with what to do.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::style::{Plain, Style, Tone, tone};
use crate::object::ObjectRef;
use crate::why::{Link, Rank, Root, Wait, Why};

/// Longer runs of links that each wait for one other are shortened in the middle.
const LONGEST_RUN: usize = 12;
/// So many of a link's causes are drawn.
const DRAWN: usize = 20;

/// So far is looked whether something is drawn elsewhere.
const LOOKED_AT: usize = 200;

/// As plain text.
#[must_use]
pub fn why(why: &Why) -> String {
    why_styled(why, &Plain)
}

/// With emphasis.
#[must_use]
pub fn why_styled(why: &Why, style: &dyn Style) -> String {
    let mut text = format!("{}\n", style.paint(Tone::Strong, &why.message));
    if why.well {
        return text;
    }
    if why.chain.len() > 1 {
        let mut drawing = Drawing {
            why,
            style,
            text: String::from("\n"),
            drawn: BTreeSet::new(),
        };
        drawing.chain();
        text.push_str(&drawing.text);
    }
    let heading = if why.roots.len() == 1 {
        "Root cause"
    } else {
        "Root causes"
    };
    let _ = write!(text, "\n{}\n", style.paint(Tone::Strong, heading));
    for (at, root) in why.roots.iter().enumerate() {
        let number = if why.roots.len() == 1 {
            String::new()
        } else {
            format!("{}. ", at + 1)
        };
        text.push_str(&described(why, root, &number, style));
    }
    if why.cut_off {
        text.push_str("\nThere is more than could be looked at.\n");
    }
    text
}

/// A root: what, since when, what to do.
fn described(why: &Why, root: &Root, number: &str, style: &dyn Style) -> String {
    let object = name(why, &root.object);
    let named = root.message.contains(&root.object.to_string());
    let what = if named {
        root.message.clone()
    } else {
        format!("{object}: {}", root.message)
    };
    let tone = match root.rank {
        Rank::Person => Tone::Bad,
        Rank::Outside | Rank::InWork => Tone::Busy,
    };
    let indent = " ".repeat(2 + number.len());
    let mut text = format!("  {number}{}\n", style.paint(tone, &what));
    let mut facts = Vec::new();
    if !root.reason.is_empty() {
        facts.push(root.reason.clone());
    }
    facts.extend(root.since.as_ref().map(|since| format!("since {since}")));
    facts.extend(root.rule.as_ref().map(|rule| format!("rule {rule}")));
    facts.extend(
        root.next_retry
            .as_ref()
            .map(|again| format!("next try at {again}")),
    );
    if !facts.is_empty() {
        let facts = style.paint(Tone::Faint, &facts.join(", "));
        let _ = writeln!(text, "{indent}{facts}");
    }
    let _ = writeln!(text, "{indent}→ {}", root.act);
    text
}

/// Names an object, with its namespace where that is not the one asked about.
fn name(why: &Why, object: &ObjectRef) -> String {
    if object.namespace.is_empty() || object.namespace == why.object.namespace {
        object.to_string()
    } else {
        format!("{object} in {}", object.namespace)
    }
}

struct Drawing<'a> {
    why: &'a Why,
    style: &'a dyn Style,
    text: String,
    drawn: BTreeSet<usize>,
}

impl Drawing<'_> {
    /// Draws with a stack of its own: chains can be longer than a thread's stack.
    fn chain(&mut self) {
        let mut stack = vec![(0_usize, String::new(), String::new(), String::new())];
        let mut run = 0_usize;
        let mut left_out = 0_usize;
        while let Some((at, lead, indent, reason)) = stack.pop() {
            let Some(link) = self.why.chain.get(at) else {
                continue;
            };
            let again = !self.drawn.insert(at);
            let alone = stack.is_empty() && link.waits_for.len() == 1 && !again;
            run = if alone { run + 1 } else { 0 };
            let next = link
                .waits_for
                .first()
                .and_then(|wait| self.why.chain.get(wait.link));
            let goes_on = next.is_some_and(|next| next.waits_for.len() == 1);
            if run > LONGEST_RUN && goes_on {
                left_out += 1;
                let wait = &link.waits_for[0];
                stack.push((wait.link, lead, indent, shown(wait)));
                continue;
            }
            if left_out > 0 {
                let line = format!("{lead}… {left_out} more that each wait for the next");
                let _ = writeln!(self.text, "{}", self.style.paint(Tone::Faint, &line));
                left_out = 0;
            }
            self.link(link, &lead, &reason, again);
            if again {
                continue;
            }
            let waits = self.worth_drawing(link);
            let count = waits.len();
            for (number, wait) in waits.into_iter().enumerate().rev() {
                let last = number + 1 == count;
                let (branch, below) = if last {
                    ("└─ ", "   ")
                } else {
                    ("├─ ", "│  ")
                };
                stack.push((
                    wait.link,
                    format!("{indent}{branch}"),
                    format!("{indent}{below}"),
                    shown(wait),
                ));
            }
        }
    }

    /// What a link waits for, without what another part of it leads to anyway, and without missing data whose
    /// exporters are waited for themselves.
    fn worth_drawing<'l>(&self, link: &'l Link) -> Vec<&'l Wait> {
        let all: Vec<&Wait> = link.waits_for.iter().take(DRAWN).collect();
        if all.len() < 2 {
            return all;
        }
        let reached: BTreeMap<usize, BTreeSet<usize>> = all
            .iter()
            .map(|wait| (wait.link, self.reached(wait.link)))
            .collect();
        let leads = |from: &Wait, to: &Wait| {
            let found = reached.get(&from.link);
            from.link != to.link && found.is_some_and(|found| found.contains(&to.link))
        };
        let missing = |wait: &Wait| {
            let found = self.why.chain.get(wait.link);
            found.is_some_and(|found| found.state.missing)
        };
        let passed_on = |wait: &Wait| missing(wait) && all.iter().any(|other| leads(wait, other));
        let all: Vec<&Wait> = all
            .iter()
            .copied()
            .filter(|wait| !passed_on(wait))
            .collect();
        let covered = |at: usize, wait: &Wait| {
            all.iter()
                .enumerate()
                .any(|(other, ahead)| leads(ahead, wait) && (!leads(wait, ahead) || other < at))
        };
        let kept = all
            .iter()
            .enumerate()
            .filter(|(at, wait)| !covered(*at, wait));
        kept.map(|(_, wait)| *wait).collect()
    }

    /// Everything that a link leads to, itself included, as far as it is worth it.
    fn reached(&self, from: usize) -> BTreeSet<usize> {
        let (mut seen, mut stack) = (BTreeSet::from([from]), vec![from]);
        while let Some(at) = stack.pop() {
            let waits = self
                .why
                .chain
                .get(at)
                .map_or(&[][..], |link| &link.waits_for);
            for wait in waits {
                if seen.len() < LOOKED_AT && seen.insert(wait.link) {
                    stack.push(wait.link);
                }
            }
        }
        seen
    }

    fn link(&mut self, link: &Link, lead: &str, reason: &str, again: bool) {
        let state = &link.state;
        let object = state.object.as_ref().map(|object| name(self.why, object));
        let phase = match (&state.phase, state.missing) {
            (_, true) => "missing".to_owned(),
            (Some(phase), _) => phase.clone(),
            (None, _) => String::new(),
        };
        let going = state.deleting && phase != "Deleting";
        let mut line = self.style.paint(Tone::Faint, lead);
        line.push_str(&object.unwrap_or_default());
        if !phase.is_empty() {
            let tone = if state.missing {
                Tone::Bad
            } else {
                tone(&phase)
            };
            let _ = write!(line, " {}", self.style.paint(tone, &phase));
        }
        if going {
            let _ = write!(line, ", {}", self.style.paint(Tone::Busy, "being deleted"));
        }
        if !reason.is_empty() {
            let _ = write!(line, ": {reason}");
        }
        if again {
            line.push_str(" (see above)");
        }
        let _ = writeln!(self.text, "{line}");
    }
}

fn shown(wait: &Wait) -> String {
    match &wait.rule {
        Some(rule) => format!("{} [{rule}]", wait.reason),
        None => wait.reason.clone(),
    }
}
