//! Anchors, aliases and merge keys, where they are allowed: an alias costs what writing its content again would.

use std::collections::BTreeMap;

use landform_api::Budget;
use landform_api::budget::Size;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Place};

/// What anchors name, by the parser's number for them.
#[derive(Default)]
pub(crate) struct Anchors {
    values: BTreeMap<usize, (Value, Size)>,
    /// How much anchors keep and aliases have brought so far.
    copied_bytes: usize,
}

impl Anchors {
    /// Keeps what an anchor names; 0 is no anchor.
    pub(crate) fn keep(
        &mut self,
        anchor: usize,
        value: &Value,
        budget: &Budget,
        place: Place,
    ) -> Result<(), Error> {
        if anchor != 0 {
            let size = Size::of(value);
            // Anchors may stand inside each other, and each keeps all that is in it.
            self.count(size, budget, place)?;
            self.values.insert(anchor, (value.clone(), size));
        }
        Ok(())
    }

    fn count(&mut self, size: Size, budget: &Budget, place: Place) -> Result<(), Error> {
        self.copied_bytes = self.copied_bytes.saturating_add(size.bytes);
        let limit = budget.bytes;
        if self.copied_bytes > limit {
            let problem = format!(
                "anchors and aliases make the text longer than {limit} bytes: use fewer of them"
            );
            return Err(place.error(ErrorKind::Limit, problem));
        }
        Ok(())
    }

    pub(crate) fn forget(&mut self) {
        self.values.clear();
    }

    /// A copy of what an anchor names, with its size. Bytes are counted here, values and depth by the caller.
    pub(crate) fn copy(
        &mut self,
        anchor: usize,
        budget: &Budget,
        place: Place,
    ) -> Result<(Value, Size), Error> {
        let Some(size) = self.values.get(&anchor).map(|(_, size)| *size) else {
            // The parser knows the name, so its content has begun and has no end yet.
            return Err(place.error(
                ErrorKind::Unsupported,
                "this alias stands inside of what it names: a value can't contain itself",
            ));
        };
        // What passes the budget is not copied first.
        if size.cells > budget.cells {
            let limit = budget.cells;
            let problem = format!("aliases make more than {limit} cells: use fewer of them");
            return Err(place.error(ErrorKind::Limit, problem));
        }
        self.count(size, budget, place)?;
        let value = self.values.get(&anchor).map(|(value, _)| value.clone());
        Ok((value.unwrap_or_default(), size))
    }
}

/// The maps that the value of a merge key brings.
pub(crate) fn merged(value: Value, place: Place) -> Result<Vec<Map<String, Value>>, Error> {
    let wrong = || {
        place.error(
            ErrorKind::Unsupported,
            "the merge key << takes a mapping, or a list of mappings: write an alias of one, or quote \
             the key",
        )
    };
    match value {
        Value::Object(map) => Ok(vec![map]),
        Value::Array(items) => items
            .into_iter()
            .map(|item| match item {
                Value::Object(map) => Ok(map),
                _ => Err(wrong()),
            })
            .collect(),
        _ => Err(wrong()),
    }
}
