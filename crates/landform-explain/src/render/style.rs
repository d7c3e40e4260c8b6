//! How text is emphasised: not at all, or with the colours of a terminal.

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A heading or the name of an object that matters.
    Strong,
    /// Something is well.
    Good,
    /// Something is being worked on.
    Busy,
    /// Something is wrong.
    Bad,
    /// Lines, times, rules: what is looked at second.
    Faint,
}

/// Emphasises pieces of text.
pub trait Style {
    /// The text as it is shown.
    fn paint(&self, tone: Tone, text: &str) -> String;
}

/// No emphasis.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Style for Plain {
    fn paint(&self, _: Tone, text: &str) -> String {
        text.to_owned()
    }
}

/// The colours of a terminal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ansi;

impl Style for Ansi {
    fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Strong => "1",
            Tone::Good => "32",
            Tone::Busy => "33",
            Tone::Bad => "31",
            Tone::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// The tone of a phase.
pub(crate) fn tone(phase: &str) -> Tone {
    match phase {
        "Succeeded" | "Ready" | "Synced" | "Active" => Tone::Good,
        "Failed" | "Aborted" | "Stuck" | "Cyclic" => Tone::Bad,
        "" => Tone::Faint,
        _ => Tone::Busy,
    }
}
