//! Words as messages need them.

use std::borrow::Cow;
use std::fmt::Display;

/// A number of things: `1 object`, `2 objects`. For nouns whose plural ends in `s`.
#[must_use]
pub fn counted(number: impl Display, noun: &str) -> String {
    let number = number.to_string();
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// A message in a status (`lastError`, conditions) has at most this many bytes. A message may hold what a template or an API
/// said, which can be larger than an object may be; then the failure could not be stored at all.
pub const STATUS_MESSAGE_BYTES: usize = 4 * 1024;

/// The text as a status may hold it: its beginning, and how long it was.
#[must_use]
pub fn status_message(text: &str) -> Cow<'_, str> {
    if text.len() <= STATUS_MESSAGE_BYTES {
        return Cow::Borrowed(text);
    }
    let end = format!("… (cut; it has {} bytes)", text.len());
    let begin = text.floor_char_boundary(STATUS_MESSAGE_BYTES - end.len());
    Cow::Owned(format!("{}{end}", &text[..begin]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_for_a_status_is_cut_between_characters() {
        let text = "ä".repeat(3_000_000);
        let cut = status_message(&text);
        assert!(cut.len() <= STATUS_MESSAGE_BYTES, "{}", cut.len());
        assert!(cut.ends_with("ä… (cut; it has 6000000 bytes)"), "{cut}");
        let fits = "b".repeat(STATUS_MESSAGE_BYTES);
        assert_eq!(status_message(&fits), fits);
        assert_eq!(status_message(&cut), cut, "what was cut stays");
    }

    #[test]
    fn one_is_no_plural() {
        let told: Vec<_> = [0, 1, 2, 11].map(|at| counted(at, "object")).into();
        assert_eq!(told, ["0 objects", "1 object", "2 objects", "11 objects"]);
    }
}
