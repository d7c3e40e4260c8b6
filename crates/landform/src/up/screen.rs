//! A piece of the terminal that is drawn again and again, below lines that stay.

use std::io::{IsTerminal as _, Write as _};

use super::frame::Look;
use crate::output::harmless::indented_rest;
use crate::output::live::{height, width};

/// Where `landform up` writes: a terminal with a live part, or plain lines.
pub(crate) struct Screen {
    live: bool,
    colours: bool,
    drawn: usize,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let live = std::io::stdout().is_terminal()
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let colours = live && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self {
            live,
            colours,
            drawn: 0,
        }
    }

    /// Whether somebody looks at a terminal.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    pub(crate) fn look(&self) -> Look {
        Look {
            width: width(),
            height: height(),
            colours: self.colours,
        }
    }

    /// Writes a line that stays. The live part moves below it with the next drawing.
    pub(crate) fn say(&mut self, line: &str) {
        let text = format!("{}{}\n", self.clear(), indented_rest(line));
        write(&text);
    }

    /// Draws the live part anew.
    pub(crate) fn draw(&mut self, lines: &[String]) {
        if !self.live {
            return;
        }
        let mut text = self.clear();
        for line in lines {
            text.push_str(&indented_rest(line));
            text.push('\n');
        }
        self.drawn = lines.len();
        write(&text);
    }

    /// Lets the live part stay as it is.
    pub(crate) fn keep(&mut self) {
        self.drawn = 0;
    }

    /// What takes the live part away: up to its first line, and all below it cleared.
    fn clear(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("\u{1b}[{lines}A\r\u{1b}[J"),
        }
    }
}

/// A reader that has gone away is no reason to stop: what was begun goes on.
fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
