//! What is wrong with a template or with a run of it, and where, shown as compilers do.
//!
//! An error tells of the template's own text, of names of fields and of types. It never repeats a
//! value that the template was given: values may come from Secrets, and errors go to conditions,
//! events and logs. Only `fail` adds a text, and that is the author's.

use std::fmt::{self, Write as _};

use crate::ast::Span;

/// The kinds of errors, for callers that answer them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is no template, or uses a function, variable or template that doesn't exist.
    Syntax,
    /// A function got a number or a type of arguments that it doesn't take, or can't do its work.
    Value,
    /// A field of nothing was read, or nothing was printed.
    NoValue,
    /// The template called `fail`.
    Failed,
    /// One of the [`Limits`](crate::Limits) was passed.
    Limit,
}

/// Why a template could not be parsed or run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// The name of the template or of its file.
    pub name: String,
    /// The line of the template's text, from 1.
    pub line: usize,
    /// The column in that line, from 1, in characters.
    pub column: usize,
    /// The part of the template that failed.
    pub expression: String,
    /// What is wrong and what to do about it.
    pub message: String,
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The lines around the place, with a mark under it.
    pub excerpt: String,
}

impl std::error::Error for TemplateError {}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TemplateError {
            name,
            line,
            column,
            message,
            excerpt,
            ..
        } = self;
        write!(f, "{name}:{line}:{column}: {message}\n{excerpt}")
    }
}

impl TemplateError {
    /// The error in one line, without the excerpt.
    #[must_use]
    pub fn summary(&self) -> String {
        let TemplateError {
            name,
            line,
            column,
            message,
            ..
        } = self;
        format!("{name}:{line}:{column}: {message}")
    }
}

/// An error whose place in the text is known, but not yet the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) span: Span,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind, span: Span, message: impl Into<String>) -> Self {
        Fault {
            kind,
            span,
            message: message.into(),
        }
    }

    pub(crate) fn in_text(
        self,
        name: &str,
        text: &str,
        (lines_before, columns_before): (usize, usize),
    ) -> TemplateError {
        let start = floor_boundary(text, self.span.start);
        let end = floor_boundary(text, self.span.end.max(self.span.start)).max(start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        let expression = shortened(&text[start..end]);
        TemplateError {
            name: name.to_owned(),
            line: line + lines_before,
            column: column + columns_before,
            message: self.message,
            kind: self.kind,
            excerpt: excerpt(text, line, column, lines_before, &text[start..end]),
            expression,
        }
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

const LONGEST_EXPRESSION: usize = 120;

fn shortened(expression: &str) -> String {
    let one_line = expression.split_whitespace().collect::<Vec<_>>().join(" ");
    if one_line.chars().count() <= LONGEST_EXPRESSION {
        return one_line;
    }
    let kept: String = one_line.chars().take(LONGEST_EXPRESSION).collect();
    kept + "…"
}

const LONGEST_LINE: usize = 160;

fn excerpt(text: &str, line: usize, column: usize, lines_before: usize, marked: &str) -> String {
    let last = line + 1;
    let width = (last + lines_before).to_string().len();
    let mut out = String::new();
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let shown = lines.filter(|(number, _)| (line.saturating_sub(1)..=last).contains(number));
    let mut seen = false;
    for (number, content) in shown {
        // A very long line is shown from a little before the place.
        let skipped = if number == line && column > LONGEST_LINE {
            column - LONGEST_LINE / 2
        } else {
            0
        };
        let visible: String = content.chars().skip(skipped).take(LONGEST_LINE).collect();
        let _ = writeln!(
            out,
            "{:>width$} | {}",
            number + lines_before,
            visible.replace('\t', " ").trim_end()
        );
        if number == line {
            seen = true;
            mark(&mut out, width, column - skipped, marked);
        }
    }
    if !seen {
        let _ = writeln!(out, "{:>width$} |", line + lines_before);
        mark(&mut out, width, column, "");
    }
    out.truncate(out.trim_end().len());
    out
}

fn mark(out: &mut String, width: usize, column: usize, marked: &str) {
    let length = marked.lines().next().unwrap_or_default().chars().count();
    let carets = "^".repeat(length.clamp(1, LONGEST_LINE));
    let _ = writeln!(out, "{:>width$} | {:>2$}{carets}", "", "", column - 1);
}
