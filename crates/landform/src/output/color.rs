//! Colours by phase: only where they help, and never where they were refused.

use std::io::IsTerminal as _;

use clap::ValueEnum;

/// When there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What a word is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Busy,
    Bad,
    Dim,
    Bold,
}

/// Whether there are colours on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint(bool);

impl Paint {
    pub(crate) fn new(when: When) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self::decide(when, refused, std::io::stdout().is_terminal())
    }

    fn decide(when: When, refused: bool, terminal: bool) -> Self {
        Self(match when {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && !refused,
        })
    }

    /// Whether there are colours.
    pub(crate) fn is_on(self) -> bool {
        self.0
    }

    /// A text in a tone.
    pub(crate) fn tone(self, tone: Tone, text: &str) -> String {
        if !self.0 || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Good => "32",
            Tone::Busy => "33",
            Tone::Bad => "31",
            Tone::Dim => "2",
            Tone::Bold => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// A phase or a condition in its colour.
    pub(crate) fn phase(self, text: &str) -> String {
        match tone_of(text) {
            Some(tone) => self.tone(tone, text),
            None => text.to_owned(),
        }
    }
}

/// How a phase is felt.
fn tone_of(phase: &str) -> Option<Tone> {
    Some(match phase {
        "Succeeded" | "Running" | "Ready" | "Active" | "Bound" | "True" | "Established"
        | "Completed" | "Healthy" => Tone::Good,
        "Init"
        | "Pending"
        | "PendingDependencies"
        | "Progressing"
        | "Deleting"
        | "Terminating"
        | "Installing"
        | "Upgrading"
        | "Queued"
        | "Cancelling"
        | "Unknown"
        | "Waiting" => Tone::Busy,
        "Failed" | "Error" | "Aborted" | "CrashLoopBackOff" | "Stuck" | "Cyclic" | "Lost"
        | "Warning" => Tone::Bad,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_where_they_are_wanted() {
        for (when, refused, terminal, expected) in [
            (When::Auto, false, true, true),
            (When::Auto, true, true, false),
            (When::Auto, false, false, false),
            (When::Always, true, false, true),
            (When::Never, false, true, false),
        ] {
            assert_eq!(
                Paint::decide(when, refused, terminal),
                Paint(expected),
                "{when:?}"
            );
        }
        assert_eq!(Paint(true).phase("Failed"), "\x1b[31mFailed\x1b[0m");
        assert_eq!(Paint(true).phase("db"), "db");
        assert_eq!(Paint(false).phase("Failed"), "Failed");
    }
}
