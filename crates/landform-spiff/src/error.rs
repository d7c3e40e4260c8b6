//! What is wrong with a document or with its evaluation, and where.
//!
//! An error tells of the document's own text, of names and of types. It never repeats a value that
//! the document was given: values may come from Secrets, and errors go to conditions, events and
//! logs. Only `error("…")` adds a text, and that is the author's.

use std::fmt;

use crate::ast::Span;

/// The kinds of errors, for callers that answer them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is no YAML, or an expression can't be read.
    Syntax,
    /// A value is not what an operation or a function takes.
    Value,
    /// A reference leads to nothing.
    NotFound,
    /// The document called `error`.
    Failed,
    /// Nodes refer to each other in a circle.
    Cycle,
    /// One of the [`Limits`](landform_template::Limits) was passed.
    Limit,
}

impl ErrorKind {
    /// Whether `||` and its like go on after such an error. A circle stays one from wherever it is
    /// looked at, and no document gets around its limits.
    pub(crate) fn can_be_caught(self) -> bool {
        match self {
            ErrorKind::Syntax | ErrorKind::Value | ErrorKind::NotFound | ErrorKind::Failed => true,
            ErrorKind::Cycle | ErrorKind::Limit => false,
        }
    }
}

/// Why a document could not be read or evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpiffError {
    /// The name of the document or of its file.
    pub name: String,
    /// Line and column, from 1, where they are known.
    pub place: Option<(usize, usize)>,
    /// The node of the document (`deployItems[0].config`), empty for the whole of it.
    pub path: String,
    /// What is wrong and what to do about it.
    pub message: String,
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The line of the expression with a mark under the place; empty when no expression is at fault.
    pub excerpt: String,
}

impl std::error::Error for SpiffError {}

impl fmt::Display for SpiffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.message)?;
        if !self.excerpt.is_empty() {
            write!(f, "\n{}", self.excerpt)?;
        }
        Ok(())
    }
}

/// What an operation or a function has to complain about; its caller knows the place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Complaint {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
}

impl Complaint {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Complaint {
            kind,
            message: message.into(),
        }
    }

    pub(crate) fn value(message: impl Into<String>) -> Self {
        Complaint::new(ErrorKind::Value, message)
    }

    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Complaint::new(ErrorKind::Limit, message)
    }
}

/// A complaint about a part of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SyntaxFault {
    pub(crate) span: Span,
    pub(crate) message: String,
}

const LONGEST_LINE: usize = 160;

/// The line of the text that holds the span, with a mark under it.
pub(crate) fn excerpt(text: &str, span: Span) -> String {
    let start = floor_boundary(text, span.start);
    let end = floor_boundary(text, span.end).max(start);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let column = text[line_start..start].chars().count();
    let length = text[start..end.min(line_end)].chars().count().max(1);
    // A very long line is shown from a little before the place.
    let skipped = column.saturating_sub(LONGEST_LINE / 2);
    let line = &text[line_start..line_end];
    let shown: String = line.chars().skip(skipped).take(LONGEST_LINE).collect();
    let marks = "^".repeat(length.min(LONGEST_LINE));
    format!(
        "{}\n{:>2$}{marks}",
        shown.replace('\t', " ").trim_end(),
        "",
        column - skipped
    )
}

pub(crate) fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
