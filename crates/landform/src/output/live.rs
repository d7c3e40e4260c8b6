//! A line that shows how it goes, on a terminal; elsewhere nothing, or plain lines.

use std::io::{IsTerminal as _, Write as _};
use std::time::Instant;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

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

/// How many letters a line of the terminal has that errors go to.
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { 100 } else { columns }
}

/// How many letters a line of the terminal has that answers go to, and how many lines it has.
pub(crate) fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let (columns, rows) = size.map_or((0, 0), |size| (size.ws_col, size.ws_row));
    let known = |number: u16, usual| match usize::from(number) {
        0 => usual,
        number => number,
    };
    (known(columns, 100), known(rows, 40))
}

/// How many columns a text takes on a terminal.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The beginning of a text, within so many columns.
pub(crate) fn beginning(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, letter) in text.char_indices() {
        used += letter.width().unwrap_or(0);
        if used > width {
            return &text[..at];
        }
    }
    text
}

/// The end of a text, within so many columns.
fn ending(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, letter) in text.char_indices().rev() {
        used += letter.width().unwrap_or(0);
        if used > width {
            return &text[at + letter.len_utf8()..];
        }
    }
    text
}

/// A text within so many columns, with a sign at its end where some were left out.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    match width {
        0 => String::new(),
        width => format!("{}…", beginning(text, width - 1)),
    }
}

/// A name within so many columns: what is left out is in its middle, because names that belong together differ at
/// their end.
pub(crate) fn cut_in_the_middle(text: &str, width: usize) -> String {
    if columns(text) <= width || width < 3 {
        return cut(text, width);
    }
    let end = (width - 1).div_ceil(2);
    format!("{}…{}", beginning(text, width - 1 - end), ending(text, end))
}

/// A text in lines of so many columns, broken between words where that is possible.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word = word;
        let space = usize::from(!line.is_empty());
        if columns(&line) + space + columns(word) <= width {
            if space == 1 {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        while columns(word) > width {
            let part = beginning(word, width);
            if part.is_empty() {
                // Its next letter is wider than the line: nothing of it can be shown.
                word = "";
                break;
            }
            lines.push(part.to_owned());
            word = &word[part.len()..];
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
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
    use super::{columns, cut, cut_in_the_middle, fitted, wrapped};

    #[test]
    fn names_keep_their_ends_and_lines_their_width() {
        assert_eq!(cut_in_the_middle("worker-eu-17", 12), "worker-eu-17");
        assert_eq!(
            cut_in_the_middle("payments-worker-eu-17", 11),
            "payme…eu-17"
        );
        assert_eq!(cut_in_the_middle("payments", 2), "p…");
        assert_eq!(cut("世界世界", 5), "世界…");
        assert_eq!(columns("世界…"), 5);
        assert_eq!(
            wrapped("no such file: /a/very/long/path", 12),
            ["no such", "file:", "/a/very/long", "/path"]
        );
        assert_eq!(wrapped("", 12), Vec::<String>::new());
        assert_eq!(wrapped("世 a", 1), ["a"]);
    }

    #[test]
    fn a_line_fits_the_terminal() {
        assert_eq!(fitted("short", 20), "short");
        assert_eq!(fitted("two\nlines", 20), "two lines");
        assert_eq!(fitted("0123456789", 6), "0123…");
    }
}
