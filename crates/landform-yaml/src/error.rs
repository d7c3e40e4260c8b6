//! What is wrong with a text, and where.

/// Why a text was refused; the place is 1-based, as editors count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct Error {
    /// The line of the first character that is at fault.
    pub line: usize,
    /// The column of that character.
    pub column: usize,
    /// What is wrong and what to do about it.
    pub message: String,
    /// The kind of the fault, for callers that answer them differently.
    pub kind: ErrorKind,
}

/// The kinds of faults that a text can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is not YAML.
    Syntax,
    /// A key is given twice in one mapping.
    DuplicateKey,
    /// The text is YAML, but means something that a JSON object can't hold.
    Unsupported,
    /// The text is nested too deeply or has too many values.
    Limit,
    /// There is no document, or more than one where one was asked for.
    DocumentCount,
}

/// A place in the text, 1-based.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Place {
    pub(crate) fn error(self, kind: ErrorKind, message: impl Into<String>) -> Error {
        Error {
            line: self.line,
            column: self.column,
            message: message.into(),
            kind,
        }
    }
}

impl From<&saphyr_parser::Marker> for Place {
    fn from(marker: &saphyr_parser::Marker) -> Self {
        // The parser counts lines from 1 and columns from 0.
        Place {
            line: marker.line().max(1),
            column: marker.col() + 1,
        }
    }
}
