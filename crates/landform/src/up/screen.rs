//! A piece of the terminal that is drawn again and again, below lines that stay.

use std::io::{IsTerminal as _, Write as _};

use super::frame::Look;
use crate::output::harmless::indented_rest;
use crate::output::live::{columns, size};

/// Where `landform up` writes: a terminal with a live part, or plain lines.
pub(crate) struct Screen {
    live: bool,
    colours: bool,
    canvas: Canvas,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let live = std::io::stdout().is_terminal()
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let colours = live && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self {
            live,
            colours,
            canvas: Canvas::default(),
        }
    }

    /// Whether somebody looks at a terminal.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    pub(crate) fn look(&self) -> Look {
        let (width, height) = size();
        Look {
            width,
            height,
            colours: self.colours,
        }
    }

    /// Writes a line that stays. The live part moves below it with the next drawing.
    pub(crate) fn say(&mut self, line: &str) {
        let text = self.canvas.clear(self.look());
        write(&format!("{text}{}\n", indented_rest(line)));
    }

    /// Draws the live part anew.
    pub(crate) fn draw(&mut self, lines: &[String]) {
        if self.live {
            write(&self.canvas.draw(lines, self.look()));
        }
    }

    /// Lets the live part stay as it is.
    pub(crate) fn keep(&mut self) {
        self.canvas = Canvas::default();
    }
}

/// What is drawn, as the terminal has it: how many columns each line takes.
#[derive(Default)]
pub(super) struct Canvas {
    drawn: Vec<usize>,
}

impl Canvas {
    /// What takes the former lines away and draws these.
    pub(super) fn draw(&mut self, lines: &[String], look: Look) -> String {
        let mut text = self.clear(look);
        for line in lines {
            let line = indented_rest(line);
            self.drawn.push(columns(&without_colours(&line)));
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    /// What takes the live part away: up to its first line, and all below it cleared. In a terminal that has become narrower
    /// a line may take several by now.
    pub(super) fn clear(&mut self, look: Look) -> String {
        let width = look.width.max(1);
        let lines = std::mem::take(&mut self.drawn).into_iter();
        let lines: usize = lines.map(|columns| columns.div_ceil(width).max(1)).sum();
        match lines.min(look.height.saturating_sub(1)) {
            0 => String::new(),
            lines => format!("\u{1b}[{lines}A\r\u{1b}[J"),
        }
    }
}

/// The text alone: of what does something to a terminal only colours are in lines.
fn without_colours(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    text
}

/// A reader that has gone away is no reason to stop: what was begun goes on.
fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
