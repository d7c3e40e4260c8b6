//! Reads maps field by field, so that an error names the field and nothing of what it holds.

use std::collections::BTreeSet;
use std::time::Duration;

use landform_api::duration;
use serde_json::{Map, Value};

use crate::DeployError;

/// `none` as a timeout: as long as nobody cancels.
const NO_TIMEOUT: Duration = Duration::from_secs(366 * 24 * 3600);

/// A map, and which of its fields were asked for.
pub(super) struct Fields<'a> {
    path: String,
    map: &'a Map<String, Value>,
    known: BTreeSet<&'static str>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(path: impl Into<String>, value: &'a Value) -> Result<Self, DeployError> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Self {
                path,
                map,
                known: BTreeSet::new(),
            }),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(invalid(&path, "must be a map")),
        }
    }

    /// The path of one of its fields.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// A field that is there and not null.
    pub(super) fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.insert(name);
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<&'a str>, DeployError> {
        self.read(name, "must be a string", Value::as_str)
    }

    /// A text that must be there.
    pub(super) fn required(&mut self, name: &'static str) -> Result<&'a str, DeployError> {
        let text = self.text(name)?.filter(|text| !text.is_empty());
        text.ok_or_else(|| invalid(&self.path(name), "is missing"))
    }

    pub(super) fn boolean(&mut self, name: &'static str) -> Result<bool, DeployError> {
        let value = self.read(name, "must be true or false", Value::as_bool)?;
        Ok(value.unwrap_or(false))
    }

    pub(super) fn duration(&mut self, name: &'static str) -> Result<Option<Duration>, DeployError> {
        let problem = "must be a length of time such as 90s, 5m or 1h30m, or none";
        self.read(name, problem, |value| {
            let text = value.as_str()?;
            if text == "none" {
                return Some(NO_TIMEOUT);
            }
            duration::parse(text)
        })
    }

    pub(super) fn list(&mut self, name: &'static str) -> Result<&'a [Value], DeployError> {
        let list = self.read(name, "must be a list", Value::as_array)?;
        Ok(list.map(Vec::as_slice).unwrap_or_default())
    }

    /// A field that is a map itself.
    pub(super) fn fields(&mut self, name: &'static str) -> Result<Option<Self>, DeployError> {
        let path = self.path(name);
        self.value(name)
            .map(|value| Self::of(path, value))
            .transpose()
    }

    /// Fields that nobody asked for are told, not refused: a newer Landscaper may have more of them.
    pub(super) fn finish(self, unknown: &mut Vec<String>) {
        let names = self.map.keys();
        let names = names.filter(|name| !self.known.contains(name.as_str()));
        unknown.extend(names.map(|name| self.path(name)));
    }

    fn read<T>(
        &mut self,
        name: &'static str,
        problem: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, DeployError> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(invalid(&self.path(name), problem)),
        }
    }
}

/// A field can't be as it is.
pub(super) fn invalid(path: &str, problem: &str) -> DeployError {
    DeployError::configuration("InvalidConfiguration", format!("{path}: {problem}"))
}
