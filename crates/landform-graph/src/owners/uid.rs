//! What an object is known by for its whole life.

use std::fmt::{self, Debug, Display, Write as _};

/// A uid. Those that are UUIDs, as nearly all are, take no memory of their own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(Form);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Form {
    Uuid([u8; 16]),
    Text(Box<str>),
}

/// After so many bytes a UUID's text has a hyphen.
const HYPHENS: [usize; 4] = [4, 6, 8, 10];

impl Uid {
    /// The uid with this text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(uuid(text).map_or_else(|| Form::Text(text.into()), Form::Uuid))
    }
}

/// The bytes of a UUID in the one form that gives the same text again: lower case, with hyphens.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let mut rest = text.as_bytes();
    let mut bytes = [0; 16];
    for (index, byte) in bytes.iter_mut().enumerate() {
        if HYPHENS.contains(&index) {
            rest = rest.strip_prefix(b"-")?;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        *byte = digit(digits[0])? << 4 | digit(digits[1])?;
        rest = after;
    }
    rest.is_empty().then_some(bytes)
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}

impl Display for Uid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Text(text) => formatter.write_str(text),
            Form::Uuid(bytes) => {
                for (index, byte) in bytes.iter().enumerate() {
                    if HYPHENS.contains(&index) {
                        formatter.write_char('-')?;
                    }
                    write!(formatter, "{byte:02x}")?;
                }
                Ok(())
            }
        }
    }
}

impl Debug for Uid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_as_it_was() {
        for (text, packed) in [
            ("0f8fad5b-d9cb-469f-a165-70867728950e", true),
            ("0F8FAD5B-d9cb-469f-a165-70867728950e", false),
            ("0f8fad5bd9cb-469f-a165-70867728950e-", false),
            ("0f8fad5b-d9cb-469f-a165-70867728950e0", false),
            ("", false),
            ("äöü", false),
        ] {
            let uid = Uid::new(text);
            assert_eq!(uid.to_string(), text);
            assert_eq!(matches!(uid.0, Form::Uuid(_)), packed, "{text}");
        }
    }

    #[test]
    fn a_uid_is_small() {
        assert_eq!(size_of::<Option<Uid>>(), 24);
    }
}
