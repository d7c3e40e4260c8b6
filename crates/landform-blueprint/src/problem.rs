//! What is wrong with a blueprint or with the values it is given, and where.
//!
//! No problem holds a value: they go to conditions, events and logs, and values may be secret.

use std::fmt;

/// Something about a file of a blueprint, or about what one of its templates made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, or the output of which executor.
    pub file: String,
    /// Line and column, from 1, where they are known.
    pub place: Option<(usize, usize)>,
    /// The field (`imports[2].schema`), where it is one.
    pub path: String,
    /// What is wrong and what to do about it.
    pub message: String,
    /// The lines around the place, where they are known.
    pub excerpt: String,
}

impl Problem {
    pub(crate) fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        Problem {
            file: file.into(),
            place: None,
            path: String::new(),
            message: message.into(),
            excerpt: String::new(),
        }
    }

    pub(crate) fn at(mut self, place: Option<(usize, usize)>) -> Self {
        self.place = place;
        self
    }

    pub(crate) fn field(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }
}

impl From<landform_template::TemplateError> for Problem {
    fn from(error: landform_template::TemplateError) -> Self {
        Problem {
            file: error.name,
            place: Some((error.line, error.column)),
            path: String::new(),
            message: error.message,
            excerpt: error.excerpt,
        }
    }
}

impl From<landform_spiff::SpiffError> for Problem {
    fn from(error: landform_spiff::SpiffError) -> Self {
        Problem {
            file: error.name,
            place: error.place,
            path: error.path,
            message: error.message,
            excerpt: error.excerpt,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Why a blueprint can't be read, or can't be rendered: at least one problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlueprintError {
    /// All that was found, in the order of the files.
    pub problems: Vec<Problem>,
}

impl std::error::Error for BlueprintError {}

impl fmt::Display for BlueprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.problems.iter().map(ToString::to_string).collect();
        write!(f, "{}", texts.join("; "))
    }
}

impl From<Problem> for BlueprintError {
    fn from(problem: Problem) -> Self {
        BlueprintError {
            problems: vec![problem],
        }
    }
}

impl From<Vec<landform_spiff::SpiffError>> for BlueprintError {
    fn from(errors: Vec<landform_spiff::SpiffError>) -> Self {
        BlueprintError {
            problems: errors.into_iter().map(Problem::from).collect(),
        }
    }
}

impl From<landform_template::TemplateError> for BlueprintError {
    fn from(error: landform_template::TemplateError) -> Self {
        Problem::from(error).into()
    }
}

/// Whether an import or an export is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What the blueprint is given.
    Import,
    /// What it gives.
    Export,
}

/// Something about a value that was given for an import, or made for an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueProblem {
    /// Import or export.
    pub side: Side,
    /// Its name.
    pub name: String,
    /// The place in its value (`.ports[0]`), empty for the whole of it.
    pub path: String,
    /// The reason, without the value.
    pub message: String,
}

/// A problem with an import.
pub type ImportProblem = ValueProblem;
/// A problem with an export.
pub type ExportProblem = ValueProblem;

impl fmt::Display for ValueProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Import => "import",
            Side::Export => "export",
        };
        write!(f, "{side} {:?}", self.name)?;
        if !self.path.is_empty() {
            write!(f, " at {}", self.path)?;
        }
        write!(f, ": {}", self.message)
    }
}
