//! Texts of others on a terminal: what could move the cursor, change the title or hide something is shown, not done.
//!
//! Names, messages and values come from whoever may write objects. Of control characters only line ends, tabs and the
//! colours that Landform itself uses reach the terminal; others are shown as `\u{1b}`. Characters that nobody sees are shown as
//! well: those that turn the direction of writing round, end a line or stand between letters without a width. A text of others that is part of an answer is shown in one line, without colours of its
//! own: else it could look like lines that Landform wrote.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A text that does nothing to a terminal but show itself.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(length) = colour_length(rest) {
            let (colour, after) = rest.split_at(length);
            shown.push_str(colour);
            rest = after;
            continue;
        }
        if is_harmful(first) {
            let _ = write!(shown, "{}", first.escape_unicode());
        } else {
            shown.push(first);
        }
        rest = &rest[first.len_utf8()..];
    }
    Cow::Owned(shown)
}

/// A text of others as part of a line: its line ends are shown, not done, and it has no colours.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_harmful(c) || c == '\n') {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.trim_end_matches('\n').chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            c if is_harmful(c) => {
                let _ = write!(shown, "{}", c.escape_unicode());
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// An answer of the server whose texts are all [in one line](one_line), to be laid out for people.
pub(crate) fn one_lined<T: Serialize + DeserializeOwned>(answer: &T) -> serde_json::Result<T> {
    let mut value = serde_json::to_value(answer)?;
    flatten(&mut value);
    serde_json::from_value(value)
}

/// Values are as deep as the server's budget allows at most.
fn flatten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(shown) = one_line(text) {
                *text = shown;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(flatten),
        Value::Object(fields) => {
            let harmful = fields
                .keys()
                .any(|key| matches!(one_line(key), Cow::Owned(_)));
            fields.values_mut().for_each(flatten);
            if harmful {
                let all = std::mem::take(fields).into_iter();
                *fields = all
                    .map(|(key, value)| (one_line(&key).into_owned(), value))
                    .collect();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text of which all but the first line is indented, so that none of its lines looks like one of ours.
pub(crate) fn indented_rest(text: &str) -> String {
    harmless(text).replace('\n', "\n    ")
}

fn is_harmful(c: char) -> bool {
    let unseen = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    unseen || (c.is_control() && !matches!(c, '\n' | '\t'))
}

/// How long the colour is that a text begins with. Concealing is no colour.
fn colour_length(text: &str) -> Option<usize> {
    let code = text.strip_prefix("\x1b[")?;
    let (number, _) = code.split_once('m')?;
    let is_colour = number.len() <= 2
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && number.trim_start_matches('0') != "8";
    is_colour.then_some(number.len() + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_stay_in_their_line() {
        for (text, expected) in [
            ("plain é ✓", "plain é ✓"),
            ("a\nb\r\n", "a\\nb\\u{d}"),
            ("\x1b[31mred", "\\u{1b}[31mred"),
        ] {
            assert_eq!(one_line(text), expected);
        }
        let answer = serde_json::json!({"a\n": ["b\nc", {"d": "e\x1b"}], "f": 1});
        let expected = serde_json::json!({"a": ["b\\nc", {"d": "e\\u{1b}"}], "f": 1});
        assert_eq!(one_lined(&answer).unwrap(), expected);
        assert_eq!(indented_rest("a\nb"), "a\n    b");
    }

    #[test]
    fn only_colours_reach_the_terminal() {
        for (text, expected) in [
            ("plain\n\ttext é ✓", "plain\n\ttext é ✓"),
            ("\x1b[31mFailed\x1b[0m", "\x1b[31mFailed\x1b[0m"),
            ("\x1b[2J\x1b[H", "\\u{1b}[2J\\u{1b}[H"),
            ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
            ("\x1b[8mhidden", "\\u{1b}[8mhidden"),
            ("\x1b[1;8mhidden", "\\u{1b}[1;8mhidden"),
            ("a\rb\u{8}c\u{7f}", "a\\u{d}b\\u{8}c\\u{7f}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
            ("a\u{200b}b\u{2028}c", "a\\u{200b}b\\u{2028}c"),
            ("a\u{feff}b\u{ad}c\u{2066}", "a\\u{feff}b\\u{ad}c\\u{2066}"),
            ("\x1b", "\\u{1b}"),
            ("\x1b[", "\\u{1b}["),
        ] {
            assert_eq!(harmless(text), expected);
        }
    }
}
