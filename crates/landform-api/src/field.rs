//! What is wrong with one field of an object, and where.
//!
//! The reasons and the wording follow what Kubernetes clients know from `Status.details.causes`,
//! so that a message reads the same whether a built-in rule or a schema found the problem.

use std::fmt;

use crate::budget::{self, SHOWN_BYTES_MAX};

/// Why a field was refused. The text form is the `reason` of a `StatusCause`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldReason {
    /// The field must be there and isn't.
    Required,
    /// The value is well-formed but not allowed here.
    Invalid,
    /// The value has the wrong JSON type.
    TypeInvalid,
    /// The value is not one of those supported.
    NotSupported,
    /// The same value stands twice where it may stand once.
    Duplicate,
    /// The field may not be set in this state.
    Forbidden,
    /// The text is too long.
    TooLong,
    /// The list or map has too many entries.
    TooMany,
    /// The value names something that doesn't exist.
    NotFound,
}

impl FieldReason {
    /// The `reason` of a `StatusCause`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::NotFound => "FieldValueNotFound",
        }
    }

    fn phrase(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::NotFound => "Not found",
        }
    }
}

/// The way from an object's root to one field: `spec.containers[0].name`, `data[a.b]`.
///
/// A stack that a walk pushes to and pops from; it allocates only for the names it holds, and holds no more than a
/// report shows of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath {
    text: String,
}

impl FieldPath {
    /// The object itself.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// The path that this text spells.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut path = Self::root();
        path.push(text);
        path
    }

    /// Steps into a named field and returns what [`FieldPath::pop`] needs to step back out.
    pub fn push_field(&mut self, name: &str) -> usize {
        let mark = self.text.len();
        if mark > 0 {
            self.push(".");
        }
        self.push(name);
        mark
    }

    /// Steps into a list entry.
    pub fn push_index(&mut self, index: usize) -> usize {
        let mark = self.text.len();
        self.push(&format!("[{index}]"));
        mark
    }

    /// Steps into a map entry whose keys are data, not field names.
    pub fn push_key(&mut self, key: &str) -> usize {
        let mark = self.text.len();
        self.push("[");
        self.push(key);
        self.push("]");
        mark
    }

    /// Adds text as far as there is room: a path that is too long ends where it was cut.
    fn push(&mut self, text: &str) {
        if self.text.len() < SHOWN_BYTES_MAX {
            let room = SHOWN_BYTES_MAX - self.text.len();
            let cut = text.floor_char_boundary(room);
            self.text.push_str(&text[..cut]);
            if cut < text.len() {
                self.text.push('…');
            }
        }
    }

    /// Steps back to where a push was made.
    pub fn pop(&mut self, mark: usize) {
        self.text.truncate(mark);
    }

    /// This path with one more named field.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        let mut path = self.clone();
        path.push_field(name);
        path
    }

    /// This path with one more list index.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        let mut path = self.clone();
        path.push_index(index);
        path
    }

    /// This path with one more map key.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut path = self.clone();
        path.push_key(key);
        path
    }

    /// The text form; empty for the root.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.text.is_empty() {
            "<root>"
        } else {
            &self.text
        })
    }
}

/// One problem with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Where.
    pub path: FieldPath,
    /// Why.
    pub reason: FieldReason,
    /// The offending value as text, already quoted if it is a string; `None` when there is none to show.
    pub value: Option<String>,
    /// What is wrong and what would be right.
    pub detail: String,
}

impl FieldError {
    /// A problem without a value to show.
    #[must_use]
    pub fn new(path: &FieldPath, reason: FieldReason, detail: impl Into<String>) -> Self {
        Self {
            path: path.clone(),
            reason,
            value: None,
            detail: shown_detail(detail.into()),
        }
    }

    /// A problem that shows the offending value, cut to a readable length.
    #[must_use]
    pub fn with_value(
        path: &FieldPath,
        reason: FieldReason,
        value: &serde_json::Value,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            path: path.clone(),
            reason,
            value: Some(shown_value(value)),
            detail: shown_detail(detail.into()),
        }
    }
}

/// Details are our own sentences, some of which repeat what was sent.
fn shown_detail(mut detail: String) -> String {
    const DETAIL_BYTES_MAX: usize = 5 * SHOWN_BYTES_MAX;
    if detail.len() > DETAIL_BYTES_MAX {
        detail.truncate(detail.floor_char_boundary(DETAIL_BYTES_MAX));
        detail.push('…');
    }
    detail
}

/// A value as an error shows it: JSON, as much of it as a report shows.
fn shown_value(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(_) => "{…}".to_owned(),
        serde_json::Value::Array(_) => "[…]".to_owned(),
        other => budget::shown(&other.to_string()).into_owned(),
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason.phrase())?;
        if let Some(value) = &self.value {
            write!(f, ": {value}")?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_spells_fields_indexes_and_keys() {
        let path = FieldPath::root()
            .field("spec")
            .field("ports")
            .index(2)
            .field("name");
        assert_eq!(path.to_string(), "spec.ports[2].name");
        assert_eq!(FieldPath::of("data").key("a.b").to_string(), "data[a.b]");
        assert_eq!(FieldPath::root().to_string(), "<root>");
    }

    #[test]
    fn an_error_reads_like_those_of_kubernetes() {
        let error = FieldError::with_value(
            &FieldPath::of("spec.replicas"),
            FieldReason::Invalid,
            &json!(-1),
            "must be greater than or equal to 0",
        );
        assert_eq!(
            error.to_string(),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        );
        let missing = FieldError::new(&FieldPath::of("spec.size"), FieldReason::Required, "");
        assert_eq!(missing.to_string(), "spec.size: Required value");
    }

    #[test]
    fn a_long_path_is_cut_and_can_be_stepped_back_from() {
        let mut path = FieldPath::of("spec");
        let mark = path.push_key(&"é".repeat(500_000));
        path.push_field("more");
        path.push_index(7);
        assert!(path.as_str().len() < 210, "{path}");
        assert!(path.as_str().ends_with('…'), "{path}");
        path.pop(mark);
        assert_eq!(path.as_str(), "spec");
    }

    #[test]
    fn a_long_value_is_cut() {
        let error = FieldError::with_value(
            &FieldPath::of("data"),
            FieldReason::TooLong,
            &json!("x".repeat(5000)),
            "",
        );
        assert!(error.to_string().chars().count() < 260, "{error}");
    }
}
