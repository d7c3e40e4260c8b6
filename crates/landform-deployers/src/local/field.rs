//! Reads configuration, and says which field is wrong without saying what it holds.
//!
//! The errors of serde quote what they refuse, and configuration may hold secrets.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use crate::DeployError;

/// Longer times are slips of the pen, and could not be added to the time of day.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// One field of a configuration, and the way to it.
pub(crate) struct Field<'a> {
    path: String,
    value: &'a Value,
}

impl<'a> Field<'a> {
    /// The whole configuration.
    pub(crate) fn root(value: &'a Value) -> Self {
        let path = "config".to_owned();
        Self { path, value }
    }

    /// What is wrong with this field.
    pub(crate) fn problem(&self, problem: &str) -> DeployError {
        DeployError::configuration("InvalidConfiguration", format!("{}: {problem}", self.path))
    }

    /// Refuses fields that nobody reads: one of them may be a slip of the pen.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), DeployError> {
        for (name, field) in self.entries()? {
            if !known.contains(&name) {
                let known = known.join(", ");
                return Err(field.problem(&format!("unknown field; there are {known}")));
            }
        }
        Ok(())
    }

    /// A field of this object; `null` is as good as nothing.
    pub(crate) fn get(&self, name: &str) -> Option<Field<'a>> {
        let value = self.value.get(name)?;
        let path = format!("{}.{name}", self.path);
        (!value.is_null()).then_some(Self { path, value })
    }

    /// A field that must be there.
    pub(crate) fn require(&self, name: &str) -> Result<Field<'a>, DeployError> {
        self.get(name)
            .ok_or_else(|| self.problem(&format!("{name} is missing")))
    }

    /// The fields of this object.
    pub(crate) fn entries(&self) -> Result<Vec<(&'a str, Field<'a>)>, DeployError> {
        let object = self.value.as_object();
        let object = object.ok_or_else(|| self.problem("must be an object"))?;
        let entries = object.iter().map(|(name, value)| {
            let path = format!("{}.{name}", self.path);
            (name.as_str(), Self { path, value })
        });
        Ok(entries.collect())
    }

    /// The members of this list.
    pub(crate) fn items(&self) -> Result<Vec<Field<'a>>, DeployError> {
        let list = self.value.as_array();
        let list = list.ok_or_else(|| self.problem("must be a list"))?;
        let items = list.iter().enumerate().map(|(index, value)| {
            let path = format!("{}[{index}]", self.path);
            Self { path, value }
        });
        Ok(items.collect())
    }

    /// Whatever it is.
    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    /// A text that is not empty.
    pub(crate) fn text(&self) -> Result<&'a str, DeployError> {
        let text = self.value.as_str();
        let text = text.ok_or_else(|| self.problem("must be a string"))?;
        if text.is_empty() {
            return Err(self.problem("must not be empty"));
        }
        Ok(text)
    }

    /// A text for a program: numbers and booleans, which templates like to make, are written out.
    pub(crate) fn scalar(&self) -> Result<String, DeployError> {
        let text = match self.value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(self.problem("must be a string, a number or a boolean"));
            }
        };
        if text.contains('\0') {
            return Err(self.problem("must not hold a NUL character"));
        }
        Ok(text)
    }

    /// Texts for a program.
    pub(crate) fn scalars(&self) -> Result<Vec<String>, DeployError> {
        self.items()?.iter().map(Field::scalar).collect()
    }

    /// A whole number.
    pub(crate) fn whole(&self, range: RangeInclusive<u64>) -> Result<u64, DeployError> {
        let number = self.value.as_u64().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (first, last) = (range.start(), range.end());
            self.problem(&format!("must be a whole number from {first} to {last}"))
        })
    }

    /// A length of time.
    pub(crate) fn duration(&self) -> Result<Duration, DeployError> {
        let duration = self.value.as_str().and_then(landform_api::duration::parse);
        if duration.is_some_and(|duration| duration > LONGEST) {
            return Err(self.problem("must not be longer than a year"));
        }
        duration
            .ok_or_else(|| self.problem("must be a length of time, for instance 500ms or 1m30s"))
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, DeployError> {
        let text = self.value.as_str().unwrap_or_default();
        let chosen = choices.iter().find(|(word, _)| *word == text);
        chosen.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            self.problem(&format!("must be one of {}", words.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn problems_name_the_field_and_not_its_value() {
        let value = json!({
            "a": {"text": 5, "number": "hunter2", "time": "hunter2", "long": "9999999h", "word": "hunter2"},
            "list": ["fine", ["hunter2"]],
        });
        let root = Field::root(&value);
        let a = root.require("a").unwrap();
        let field = |name| a.require(name).unwrap();
        let table = [
            (
                a.only(&["text"]).unwrap_err(),
                "config.a.long: unknown field; there are text",
            ),
            (
                root.only(&["list", "b"]).unwrap_err(),
                "config.a: unknown field; there are list, b",
            ),
            (
                field("text").text().unwrap_err(),
                "config.a.text: must be a string",
            ),
            (
                field("number").whole(1..=9).unwrap_err(),
                "config.a.number: must be a whole number from 1 to 9",
            ),
            (
                field("time").duration().unwrap_err(),
                "config.a.time: must be a length of time, for instance 500ms or 1m30s",
            ),
            (
                field("long").duration().unwrap_err(),
                "config.a.long: must not be longer than a year",
            ),
            (
                field("word")
                    .choice(&[("Never", 1), ("Always", 2)])
                    .unwrap_err(),
                "config.a.word: must be one of Never, Always",
            ),
            (
                root.require("list").unwrap().scalars().unwrap_err(),
                "config.list[1]: must be a string, a number or a boolean",
            ),
            (root.require("c").err().unwrap(), "config: c is missing"),
        ];
        for (error, message) in table {
            assert_eq!(error.message, message);
            assert!(error.is_fatal());
        }
    }
}
