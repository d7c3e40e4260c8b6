//! The short way for texts that are JSON.
//!
//! JSON is almost a part of YAML; what differs (surrogate pairs, very long keys) is why a text that
//! begins like JSON is tried as JSON first.

use std::cell::Cell;
use std::fmt;

use landform_api::Budget;
use landform_api::budget::{LIST_CELLS, MAP_CELLS};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::{Error, ErrorKind, Place};

/// Reads the text when it is JSON; `None` when it should be read as YAML.
pub(crate) fn parse_if_json(text: &str, budget: &Budget) -> Option<Result<Value, Error>> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let reader = Reader {
        budget: *budget,
        cells: Cell::new(0),
        over_limit: Cell::new(false),
        duplicate: Cell::new(false),
    };
    let mut source = serde_json::Deserializer::from_str(text);
    let answer = Seed {
        reader: &reader,
        depth: 0,
    }
    .deserialize(&mut source)
    .and_then(|value| source.end().map(|()| value));
    match answer {
        // The YAML reader names both lines of a key that is given twice.
        Ok(_) if reader.duplicate.get() => None,
        Ok(value) => Some(Ok(value)),
        Err(error) if reader.over_limit.get() => {
            let place = Place {
                line: error.line().max(1),
                column: error.column().max(1),
            };
            Some(Err(place.error(ErrorKind::Limit, without_place(&error))))
        }
        Err(_) => None,
    }
}

/// serde_json appends the place to its message; ours has it in fields.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ")
        .map_or(text.clone(), |(message, _)| message.to_owned())
}

struct Reader {
    budget: Budget,
    cells: Cell<usize>,
    over_limit: Cell<bool>,
    duplicate: Cell<bool>,
}

#[derive(Clone, Copy)]
struct Seed<'r> {
    reader: &'r Reader,
    depth: usize,
}

impl<'r> Seed<'r> {
    fn deeper<E: serde::de::Error>(self) -> Result<Seed<'r>, E> {
        let limit = self.reader.budget.depth;
        if self.depth >= limit {
            self.reader.over_limit.set(true);
            return Err(E::custom(format_args!(
                "the text is nested more than {limit} levels deep: make it flatter"
            )));
        }
        Ok(Seed {
            depth: self.depth + 1,
            ..self
        })
    }

    fn count<E: serde::de::Error>(self, cells: usize) -> Result<(), E> {
        let (cells, limit) = (self.reader.cells.get() + cells, self.reader.budget.cells);
        self.reader.cells.set(cells);
        if cells > limit {
            self.reader.over_limit.set(true);
            return Err(E::custom(crate::compose::too_many_cells(limit)));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        self.count::<D::Error>(1)?;
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number without a finite value"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        self.count::<A::Error>(LIST_CELLS - 1)?;
        let mut items = Vec::new();
        while let Some(item) = source.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        self.count::<A::Error>(MAP_CELLS - 1)?;
        let mut entries = Map::new();
        while let Some(key) = source.next_key::<String>()? {
            let value = source.next_value_seed(inner)?;
            if entries.insert(key, value).is_some() {
                self.reader.duplicate.set(true);
            }
        }
        Ok(Value::Object(entries))
    }
}
