//! A Compose file as values with places, and what is noted of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landform_yaml::{Allowed, Budget, parse_placed_with};
use serde_json::Value;

use super::variables::{self, Variables};
use crate::AnyError;

/// The largest file that is read.
const LONGEST: u64 = 4 << 20;

/// What follows from something in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// A person must do something before it works.
    ToDo,
    /// It works in another way here.
    Differs,
    /// It has no meaning here.
    NoEffect,
}

/// Something that a person should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Note {
    pub(crate) weight: Weight,
    pub(crate) place: (usize, usize),
    pub(crate) text: String,
}

/// The file, and what was noted while it was read.
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    pub(crate) value: Value,
    places: BTreeMap<String, (usize, usize)>,
    notes: RefCell<Vec<Note>>,
    problems: RefCell<Vec<((usize, usize), String)>>,
}

impl Source {
    pub(crate) fn load(file: &Path) -> Result<Self, AnyError> {
        let text = read_text(file)?;
        let allowed = Allowed {
            aliases: true,
            repeated_keys: false,
        };
        let placed = parse_placed_with(&text, &Budget::FILE, allowed).map_err(|error| {
            format!(
                "{}:{}:{}: {}",
                file.display(),
                error.line,
                error.column,
                error.message
            )
        })?;
        let beside = file.parent().unwrap_or(Path::new(""));
        let variables = Variables::beside(beside)?;
        let mut source = Self {
            file: file.to_owned(),
            value: Value::Null,
            places: placed.places,
            notes: RefCell::default(),
            problems: RefCell::default(),
        };
        let mut value = placed.value;
        variables::put_into(&mut value, "", &variables, &source);
        source.value = value;
        Ok(source)
    }

    /// The directory that paths of the file begin in.
    pub(crate) fn directory(&self) -> PathBuf {
        let parent = self.file.parent().unwrap_or(Path::new(""));
        let parent = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        parent
            .canonicalize()
            .unwrap_or_else(|_| parent.to_path_buf())
    }

    pub(crate) fn note(&self, weight: Weight, pointer: &str, text: impl Into<String>) {
        let note = Note {
            weight,
            place: self.place(pointer),
            text: text.into(),
        };
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// All notes: what is to be done first, each kind by place.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let mut notes = self.notes.borrow().clone();
        notes.sort();
        notes
    }

    /// Something that makes the file none of Compose's.
    pub(crate) fn wrong(&self, pointer: &str, text: impl Into<String>) {
        let place = self.place(pointer);
        self.problems.borrow_mut().push((place, text.into()));
    }

    /// What is wrong with the file, if anything is.
    pub(crate) fn problems(&self) -> Option<String> {
        let mut problems = self.problems.borrow().clone();
        problems.sort();
        let lines: Vec<_> = problems
            .iter()
            .map(|(place, text)| format!("{}: {text}", self.shown(*place)))
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// A place as compilers write it.
    pub(crate) fn shown(&self, (line, column): (usize, usize)) -> String {
        format!("{}:{line}:{column}", self.file.display())
    }

    /// The place of a value, or of the next thing around it that has one.
    fn place(&self, pointer: &str) -> (usize, usize) {
        let mut around = std::iter::successors(Some(pointer), |pointer| {
            pointer.rfind('/').map(|end| &pointer[..end])
        });
        let found = around.find_map(|pointer| self.places.get(pointer).copied());
        found.unwrap_or((1, 1))
    }

    /// A map; what is something else is wrong.
    pub(crate) fn map<'a>(
        &self,
        pointer: &str,
        value: Option<&'a Value>,
    ) -> Vec<(&'a str, String, &'a Value)> {
        match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Object(fields)) => {
                let fields = fields.iter();
                fields
                    .map(|(name, value)| (name.as_str(), below(pointer, name), value))
                    .collect()
            }
            Some(_) => {
                self.wrong(pointer, "this must be a map");
                Vec::new()
            }
        }
    }

    /// A list of anything, or one thing alone.
    pub(crate) fn list<'a>(
        &self,
        pointer: &str,
        value: Option<&'a Value>,
    ) -> Vec<(String, &'a Value)> {
        match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => {
                let items = items.iter().enumerate();
                items
                    .map(|(at, item)| (format!("{pointer}/{at}"), item))
                    .collect()
            }
            Some(one) => vec![(pointer.to_owned(), one)],
        }
    }

    /// A text, also one that is written as a number or a boolean.
    pub(crate) fn text(&self, pointer: &str, value: Option<&Value>) -> Option<String> {
        match value? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            scalar @ (Value::Number(_) | Value::Bool(_)) => Some(scalar.to_string()),
            Value::Array(_) | Value::Object(_) => {
                self.wrong(pointer, "this must be a text");
                None
            }
        }
    }
}

/// A pointer to a field.
pub(crate) fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// A file's text, within limits.
pub(crate) fn read_text(file: &Path) -> Result<String, AnyError> {
    let shown = file.display();
    let unreadable = |error: std::io::Error| format!("{shown} can't be read: {error}");
    let found = std::fs::metadata(file).map_err(unreadable)?;
    if !found.is_file() {
        return Err(format!("{shown} is no file").into());
    }
    if found.len() > LONGEST {
        return Err(format!("{shown} has more than {LONGEST} bytes").into());
    }
    Ok(std::fs::read_to_string(file).map_err(unreadable)?)
}
