//! The values of an enum: what comparing with them costs, and how a message lists them.

use std::fmt::{self, Write};

use serde_json::Value;

use super::cut::Cut;
use super::validate::{BYTES_OF_A_STEP, NAMES_OF_A_STEP, same};

/// At most this many values are listed.
const LISTED_MAX: usize = 100;
/// The values that are listed have at most as many bytes.
const LISTED_BYTES_MAX: usize = 400;

/// The values that an enum allows; none if there is no enum.
#[derive(Clone, Debug, Default)]
pub(crate) struct Enumeration {
    values: Vec<Value>,
    steps: usize,
}

impl Enumeration {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        let steps = values.iter().map(weight).sum::<usize>() / NAMES_OF_A_STEP;
        Self { values, steps }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn has(&self, value: &Value) -> bool {
        self.values.iter().any(|one| same(one, value))
    }

    /// The steps that it takes to compare a value with all of them.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }
}

/// What comparing with a value costs, in values.
fn weight(value: &Value) -> usize {
    let text = |text: &str| text.len() * NAMES_OF_A_STEP / BYTES_OF_A_STEP;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(one) => 1 + text(one),
        Value::Array(entries) => 1 + entries.iter().map(weight).sum::<usize>(),
        Value::Object(map) => {
            let fields = map.iter();
            1 + fields
                .map(|(name, one)| text(name) + weight(one))
                .sum::<usize>()
        }
    }
}

impl fmt::Display for Enumeration {
    /// The first values, as far as there is room for them, and how many others there are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = Cut::after(LISTED_BYTES_MAX);
        let mut listed = 0;
        for value in self.values.iter().take(LISTED_MAX) {
            let separator = if listed == 0 { "" } else { ", " };
            let end = list.text.len();
            if write!(list, "{separator}{value}").is_err() {
                // One that has no room is shown in part if it is the first.
                if listed == 0 {
                    list.text.push('…');
                    listed = 1;
                } else {
                    list.text.truncate(end);
                }
                break;
            }
            listed += 1;
        }
        f.write_str(&list.text)?;
        match self.values.len() - listed {
            0 => Ok(()),
            others => write!(f, ", and {others} others"),
        }
    }
}
