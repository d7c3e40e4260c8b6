//! A line that shows how it goes, on a terminal; elsewhere nothing, or plain lines.

use std::io::{IsTerminal as _, Write as _};
use std::time::Instant;

use super::harmless::harmless;

/// Shorter work shows nothing.
const PATIENCE_MS: u128 = 300;
const FRAMES: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// A line on stderr that is written over and over, and is gone at the end.
pub(crate) struct Live {
    since: Instant,
    terminal: bool,
    shown: bool,
    frame: usize,
}

impl Live {
    pub(crate) fn new() -> Self {
        Self {
            since: Instant::now(),
            terminal: std::io::stderr().is_terminal(),
            shown: false,
            frame: 0,
        }
    }

    /// Whether there is somebody to look.
    pub(crate) fn is_shown(&self) -> bool {
        self.terminal
    }

    /// Shows a text with the time that has passed.
    pub(crate) fn show(&mut self, text: &str) {
        let passed = self.since.elapsed();
        if !self.terminal || passed.as_millis() < PATIENCE_MS {
            return;
        }
        self.frame = (self.frame + 1) % FRAMES.len();
        let frame = FRAMES.get(self.frame).copied().unwrap_or_default();
        let line = fitted(
            &harmless(&format!("{frame} {text}  {:.1}s", passed.as_secs_f32())),
            width(),
        );
        // A terminal that can't be written to is no reason to fail.
        let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
        let _ = std::io::stderr().flush();
        self.shown = true;
    }

    /// Makes room for other output.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
            let _ = std::io::stderr().flush();
            self.shown = false;
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.clear();
    }
}

/// How many letters a line of the terminal has.
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { 100 } else { columns }
}

/// How many lines the terminal has.
pub(crate) fn height() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let rows = size.map_or(0, |size| usize::from(size.ws_row));
    if rows == 0 { 40 } else { rows }
}

/// A text that fits into a line.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let text = text.replace(['\n', '\r'], " ");
    if text.chars().count() < width {
        return text;
    }
    let kept: String = text.chars().take(width.saturating_sub(2)).collect();
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn a_line_fits_the_terminal() {
        assert_eq!(fitted("short", 20), "short");
        assert_eq!(fitted("two\nlines", 20), "two lines");
        assert_eq!(fitted("0123456789", 6), "0123…");
    }
}
