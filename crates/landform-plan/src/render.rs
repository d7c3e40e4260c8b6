//! A plan as text, for people.

use std::fmt::Write as _;

use landform_api::words::counted;
use serde_json::Value;

use crate::model::{Action, Change, FieldChange, Plan};

/// Whether text has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colours {
    /// It is plain.
    #[default]
    None,
    /// It has those of a terminal.
    Ansi,
}

/// Longer values are cut.
const LONGEST_VALUE: usize = 80;
/// Of a text that changes so many lines are shown at most, before and after.
const MOST_LINES: usize = 8;

impl Colours {
    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::None => text.to_owned(),
            Self::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

/// All of it, with a line that sums it up at the end.
#[must_use]
pub fn plan(plan: &Plan, colours: Colours) -> String {
    let mut text = String::new();
    if !plan.already_under_way.is_empty() {
        text.push_str("Already under way, with or without this change:\n");
        for change in &plan.already_under_way {
            write_change(&mut text, change, colours);
        }
        text.push('\n');
    }
    if !plan.changes.is_empty() {
        text.push_str("In this order:\n");
        for change in &plan.changes {
            write_change(&mut text, change, colours);
        }
        text.push('\n');
    }
    section(
        &mut text,
        "Can't be known before:",
        plan.unknown.iter().map(|unknown| {
            let mut line = format!("{}: {}", unknown.before.shown(), unknown.reason);
            for affected in &unknown.affects {
                let _ = write!(line, "\n      then {affected}");
            }
            line
        }),
    );
    section(
        &mut text,
        "Assumed:",
        plan.assumed
            .iter()
            .map(|assumed| format!("{}: {}", assumed.object.shown(), assumed.what)),
    );
    section(
        &mut text,
        "Problems:",
        plan.problems.iter().map(|problem| {
            let line = format!("{}: {}", problem.object.shown(), problem.message);
            colours.paint("31", &line)
        }),
    );
    if !plan.settled {
        text.push_str("It did not come to rest: more happens than is told here.\n\n");
    }
    text.push_str(&reach(plan));
    text.push_str(&summary(plan));
    text
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "{title}");
    for line in lines {
        let _ = writeln!(text, "  - {line}");
    }
    text.push('\n');
}

fn reach(plan: &Plan) -> String {
    let reach = &plan.blast_radius;
    if plan.changes.is_empty() {
        return String::new();
    }
    let list = |names: &std::collections::BTreeSet<String>| {
        let shown: Vec<_> = names.iter().take(10).map(String::as_str).collect();
        match names.len() {
            0 => "none".to_owned(),
            count if count > 10 => format!("{} and {} more", shown.join(", "), count - 10),
            _ => shown.join(", "),
        }
    };
    format!(
        "Reaches {} and {}; installations: {}; namespaces: {}.\n",
        counted(reach.objects, "object"),
        counted(reach.items, "deploy item"),
        list(&reach.installations),
        list(&reach.namespaces)
    )
}

/// One line that sums a plan up.
#[must_use]
pub fn summary(plan: &Plan) -> String {
    if plan.is_empty() {
        return "Plan: nothing changes.\n".to_owned();
    }
    let mut parts = vec![
        format!("{} to create", plan.count(Action::Create)),
        format!("{} to change", plan.count(Action::Change)),
        format!("{} to delete", plan.count(Action::Delete)),
    ];
    for (action, words) in [
        (Action::Rename, "to rename"),
        (Action::Deploy, "to deploy"),
        (Action::Remove, "to remove from targets"),
    ] {
        match plan.count(action) {
            0 => {}
            count => parts.push(format!("{count} {words}")),
        }
    }
    let mut line = format!("Plan: {}", parts.join(", "));
    if !plan.unknown.is_empty() {
        let _ = write!(line, "; {} can't be known before", plan.unknown.len());
    }
    if !plan.problems.is_empty() {
        let _ = write!(line, "; {} would not work", plan.problems.len());
    }
    line.push_str(".\n");
    line
}

fn write_change(text: &mut String, change: &Change, colours: Colours) {
    let (sign, colour, word) = match change.action {
        Action::Create => ("+", "32", "create"),
        Action::Change => ("~", "33", "change"),
        Action::Delete => ("-", "31", "delete"),
        Action::Deploy => (">", "36", "deploy"),
        Action::Remove => ("<", "35", "remove"),
        Action::Rename => ("=", "33", "rename"),
    };
    let path = change.object.shown();
    let head = format!("{sign} {word} {path}");
    let _ = write!(text, "{:>4} {}", change.order, colours.paint(colour, &head));
    match &change.object.namespace[..] {
        "" => {}
        namespace => {
            let _ = write!(text, "  in {namespace}");
        }
    }
    // That a part of something changes because of it goes without saying.
    let outermost = change.object.path.first();
    if let Some(because) = change
        .because
        .as_ref()
        .filter(|cause| outermost != Some(*cause))
    {
        let _ = write!(text, "  because of {because}");
    }
    text.push('\n');
    for field in &change.diff {
        let _ = writeln!(text, "         {}", line(field));
    }
    for object in &change.target_objects {
        let _ = writeln!(text, "         applies {object}");
    }
}

fn line(field: &FieldChange) -> String {
    let path = &field.path;
    match (&field.from, &field.to) {
        _ if field.hidden => format!("{path}: (changed)"),
        (None, None) => format!("{path}: (changed)"),
        (None, Some(to)) => format!("{path}: {}", short(to)),
        (Some(from), None) => format!("{path}: {} → gone", short(from)),
        (Some(Value::String(from)), Some(Value::String(to))) if from.lines().count() > 1 => {
            format!("{path}:{}", lines(from, to))
        }
        (Some(from), Some(to)) => format!("{path}: {} → {}", short(from), short(to)),
    }
}

/// The lines of a text that differ, without those before and after that are the same.
fn lines(from: &str, to: &str) -> String {
    let (from, to): (Vec<_>, Vec<_>) = (from.lines().collect(), to.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(from, to)| from == to).count()
    };
    let begin = same(&mut from.iter().zip(&to));
    let shorter = from.len().min(to.len());
    let end = same(&mut from.iter().rev().zip(to.iter().rev())).min(shorter - begin);
    let mut text = String::new();
    for (sign, all) in [("-", &from), ("+", &to)] {
        let changed = all.get(begin..all.len() - end).unwrap_or_default();
        for line in changed.iter().take(MOST_LINES) {
            let _ = write!(text, "\n           {sign} {}", cut(line));
        }
        if changed.len() > MOST_LINES {
            let more = changed.len() - MOST_LINES;
            let _ = write!(text, "\n           {sign} … {more} lines more");
        }
    }
    text
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) if text.lines().count() > 1 => {
            return format!("({} lines)", text.lines().count());
        }
        other => other.to_string(),
    };
    cut(&text)
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LONGEST_VALUE {
        return text.to_owned();
    }
    let cut: String = text.chars().take(LONGEST_VALUE).collect();
    format!("{cut}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn change(from: &str, to: &str) -> String {
        line(&FieldChange {
            path: "p".into(),
            from: Some(json!(from)),
            to: Some(json!(to)),
            hidden: false,
        })
    }

    #[test]
    fn of_a_long_text_only_the_lines_that_differ_are_shown() {
        let shown = change("a\nb\nc\nd", "a\nx\ny\nc\nd");
        let expected = "p:\n           - b\n           + x\n           + y";
        assert_eq!(shown, expected);
        assert_eq!(change("b", "c"), r#"p: "b" → "c""#);
        assert_eq!(change("a\na", "a\na\na"), "p:\n           + a");
    }

    proptest! {
        #[test]
        fn any_two_texts_can_be_compared(from in "[ab\n]{0,12}", to in "[ab\n]{0,12}") {
            prop_assert!(change(&from, &to).starts_with("p:"));
        }
    }
}
