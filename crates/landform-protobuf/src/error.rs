//! What is wrong with a body, and where.

use crate::table::TableError;

/// Why a body was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The body lacks the prefix of the form.
    #[error("it does not begin with the four bytes \"k8s\\0\"")]
    NoPrefix,
    /// The envelope does not name a kind.
    #[error("it does not say its apiVersion and kind")]
    NoKind,
    /// The kind has no protobuf form here: it is a custom resource, or newer than our table.
    #[error("{kind} of {api_version} can't be read as protobuf: send JSON")]
    UnknownKind {
        /// The group and version, as in `apiVersion`.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// The object's bytes are compressed or otherwise encoded.
    #[error("its content encoding {0:?} is not read: send the object as it is")]
    ContentEncoding(String),
    /// The object's bytes are neither protobuf nor JSON.
    #[error("its content type {0:?} is not read: send protobuf or JSON")]
    ContentType(String),
    /// The bytes are at fault.
    #[error("{}: {problem}", shown(.path))]
    Malformed {
        /// The field, as a path in the JSON object; empty for the envelope or the object itself.
        path: String,
        /// What is wrong with it.
        problem: Problem,
    },
    /// Our own table is at fault.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl Error {
    /// The same error, one step further up: `step` is a field's name or an index in brackets.
    pub(crate) fn within(self, step: &str) -> Self {
        match self {
            Error::Malformed { path, problem } => {
                let dot = if path.is_empty() || path.starts_with('[') {
                    ""
                } else {
                    "."
                };
                Error::Malformed {
                    path: format!("{step}{dot}{path}"),
                    problem,
                }
            }
            other => other,
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Error::Malformed {
            path: String::new(),
            problem,
        }
    }
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "the object" } else { path }
}

/// What can be wrong with the bytes of a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The bytes end inside a field.
    #[error("the bytes end too early")]
    Truncated,
    /// A number has more bytes than 64 bits need.
    #[error("a number is longer than 64 bits")]
    LongNumber,
    /// A field number that protobuf does not allow.
    #[error("{0} is not a field number")]
    FieldNumber(u64),
    /// A wire type that is not read: a group, or one that does not exist.
    #[error("wire type {0} is not read")]
    WireType(u8),
    /// A field is written in another wire type than its own.
    #[error("it is written in the wrong wire type")]
    OtherWireType,
    /// Text that is not UTF-8.
    #[error("its text is not UTF-8")]
    NotUtf8,
    /// Raw JSON that is not JSON.
    #[error("its raw bytes are not JSON: {0}")]
    NotJson(String),
    /// Something that must be an object is not.
    #[error("it is not an object")]
    NotObject,
    /// A time that no RFC 3339 text can show.
    #[error("its time is out of range")]
    Time,
    /// A number that JSON does not have.
    #[error("its number is not finite")]
    NotFinite,
    /// Too deep.
    #[error("it is nested deeper than {} levels", crate::DEPTH)]
    TooDeep,
    /// Too many values.
    #[error(
        "the body takes more than {} cells (a message counts 8, any other value 1): split it into several objects",
        crate::CELLS
    )]
    TooMany,
}
