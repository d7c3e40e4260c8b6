//! Texts that are cut while they are written: what would be too long is never made.

use std::fmt::{self, Display, Write};

/// A text that takes what is written until it is full.
pub(crate) struct Cut {
    pub(crate) text: String,
    left: usize,
}

impl Cut {
    /// A text of at most this many bytes.
    pub(crate) fn after(bytes: usize) -> Self {
        Self {
            text: String::new(),
            left: bytes,
        }
    }

    /// The first bytes of what something says.
    pub(crate) fn of(what: &impl Display, bytes: usize) -> String {
        let mut cut = Self::after(bytes);
        if write!(cut, "{what}").is_err() {
            cut.text.push('…');
        }
        cut.text
    }
}

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.floor_char_boundary(self.left);
        self.text.push_str(&text[..end]);
        self.left -= end;
        if end < text.len() {
            // Nothing more is taken, even if it were short enough.
            self.left = 0;
            return Err(fmt::Error);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        for (text, cut) in [
            ("abc", "abc"),
            ("abcd", "abcd"),
            ("abcde", "abcd…"),
            ("abcä", "abc…"),
        ] {
            assert_eq!(Cut::of(&text, 4), cut);
        }
    }
}
