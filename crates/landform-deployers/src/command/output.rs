//! The end of what a command writes, without the secrets that it was given.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::secrets::Secrets;

/// So much of the end is shown.
const SHOWN_BYTES: usize = 4 << 10;
/// What stands in the place of a secret.
const REDACTED: &[u8] = b"***";

/// The end of an output.
pub(crate) struct Tail {
    secrets: Secrets,
    bytes: Vec<u8>,
    /// Whether there was more before it.
    cut: bool,
}

impl Tail {
    pub(crate) fn new(secrets: Secrets) -> Self {
        Self {
            secrets,
            bytes: Vec::new(),
            cut: false,
        }
    }

    /// Reads to the end and keeps the last part.
    pub(crate) async fn read(&mut self, mut pipe: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut part = [0; 4096];
        loop {
            let count = pipe.read(&mut part).await?;
            if count == 0 {
                return Ok(());
            }
            self.push(part.get(..count).unwrap_or_default());
        }
    }

    fn push(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
        // A secret that begins before what is shown must be seen as a whole to be known.
        let kept = SHOWN_BYTES + 2 * self.secrets.longest();
        if self.bytes.len() > 2 * kept {
            self.cut = true;
            self.bytes.drain(..self.bytes.len() - kept);
        }
    }

    /// The text that may be shown.
    pub(crate) fn text(&self) -> String {
        let mut shown = Vec::new();
        let mut position = 0;
        // Of what stands at the very beginning of a cut text nobody can tell whether it ends a secret.
        let begin = if self.cut { self.secrets.longest() } else { 0 };
        while let Some(rest) = self.bytes.get(position..).filter(|rest| !rest.is_empty()) {
            if let Some(length) = self.secrets.at(rest) {
                if position + length > begin {
                    shown.extend_from_slice(REDACTED);
                }
                position += length;
            } else {
                if position >= begin {
                    shown.extend(rest.first());
                }
                position += 1;
            }
        }
        let surplus = shown.len().saturating_sub(SHOWN_BYTES);
        let text = String::from_utf8_lossy(shown.get(surplus..).unwrap_or_default());
        text.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(secrets: &[&str], parts: &[&[u8]]) -> String {
        let mut tail = Tail::new(Secrets::new(secrets.iter().copied()));
        for part in parts {
            tail.push(part);
        }
        tail.text()
    }

    #[test]
    fn secrets_are_not_shown() {
        let table: [(&[&str], &str, &str); 8] = [
            (
                &["hunter2"],
                "the password is hunter2!",
                "the password is ***!",
            ),
            (
                &["hunter2", "hunter2-longer"],
                "hunter2-longer hunter2",
                "*** ***",
            ),
            (&["abc"], "abc is too short", "abc is too short"),
            (&["one line\nother line"], "got other line", "got ***"),
            (&["password=hunter2"], "got hunter2", "got ***"),
            (&["password: \"hunter2\","], "got hunter2", "got ***"),
            (&["a\"quote"], r#"{"x":"a\"quote"}"#, r#"{"x":"***"}"#),
            (&["aaaa"], "aaaaaaaaa", "******a"),
        ];
        for (secrets, text, expected) in table {
            assert_eq!(shown(secrets, &[text.as_bytes()]), expected, "{secrets:?}");
        }
    }

    #[test]
    fn a_secret_is_known_wherever_the_text_is_cut() {
        let secret = "canary".repeat(50);
        let line = format!("{secret} and some more text\n");
        for offset in 0..40 {
            let mut text = "x".repeat(offset);
            while text.len() < 100_000 {
                text.push_str(&line);
            }
            for size in [1000, 4096] {
                let parts: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
                let shown = shown(&[&secret], &parts);
                assert!(!shown.contains("canary"), "{offset}: {shown}");
                assert!(shown.contains("and some more text"));
                assert!(shown.len() <= SHOWN_BYTES);
            }
        }
    }
}
