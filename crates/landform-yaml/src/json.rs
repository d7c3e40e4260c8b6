//! The short way for texts that are JSON, and the search for keys that JSON texts give twice.
//!
//! JSON is almost a part of YAML; what differs (surrogate pairs, very long keys) is why a text that
//! begins like JSON is tried as JSON first.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::Limits;
use crate::error::{Error, ErrorKind, Place};

/// Reads the text when it is JSON; `None` when it should be read as YAML.
pub(crate) fn parse_if_json(text: &str, limits: &Limits) -> Option<Result<Value, Error>> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let reader = Reader::new(*limits);
    let mut source = serde_json::Deserializer::from_str(text);
    let answer = Seed {
        reader: &reader,
        depth: 0,
    }
    .deserialize(&mut source)
    .and_then(|value| source.end().map(|()| value));
    match answer {
        // The YAML reader names both lines of a key that is given twice.
        Ok(_) if !reader.duplicates.borrow().is_empty() => None,
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

/// The paths (`spec.ports[0].name`) of the keys that a JSON text gives more than once, in order.
///
/// A text that is not JSON has none up to the place where it stops being JSON.
#[must_use]
pub fn json_duplicate_keys(text: &[u8]) -> Vec<String> {
    let reader = Reader::new(Limits {
        max_depth: usize::MAX,
        max_nodes: usize::MAX,
    });
    let mut source = serde_json::Deserializer::from_slice(text);
    // What is wrong with the text apart from that is for others to say.
    let _ = Seed {
        reader: &reader,
        depth: 0,
    }
    .deserialize(&mut source);
    reader.duplicates.into_inner()
}

/// serde_json appends the place to its message; ours has it in fields.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ")
        .map_or(text.clone(), |(message, _)| message.to_owned())
}

/// A step of the path to the value that is being read.
enum Step {
    Key(String),
    Index(usize),
}

struct Reader {
    limits: Limits,
    nodes: Cell<usize>,
    over_limit: Cell<bool>,
    path: RefCell<Vec<Step>>,
    duplicates: RefCell<Vec<String>>,
}

impl Reader {
    fn new(limits: Limits) -> Self {
        Reader {
            limits,
            nodes: Cell::new(0),
            over_limit: Cell::new(false),
            path: RefCell::default(),
            duplicates: RefCell::default(),
        }
    }

    fn path_to(&self, key: &str) -> String {
        let mut text = String::new();
        for step in self.path.borrow().iter() {
            match step {
                Step::Key(key) if text.is_empty() => text.push_str(key),
                Step::Key(key) => text.extend([".", key]),
                Step::Index(index) => text.push_str(&format!("[{index}]")),
            }
        }
        if !text.is_empty() {
            text.push('.');
        }
        text + key
    }
}

#[derive(Clone, Copy)]
struct Seed<'r> {
    reader: &'r Reader,
    depth: usize,
}

impl<'r> Seed<'r> {
    fn deeper<E: serde::de::Error>(self) -> Result<Seed<'r>, E> {
        let limit = self.reader.limits.max_depth;
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

    fn count<E: serde::de::Error>(self) -> Result<(), E> {
        let (nodes, limit) = (self.reader.nodes.get() + 1, self.reader.limits.max_nodes);
        self.reader.nodes.set(nodes);
        if nodes > limit {
            self.reader.over_limit.set(true);
            return Err(E::custom(format_args!(
                "the text has more than {limit} values: split it into several"
            )));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        self.count::<D::Error>()?;
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
        let mut items = Vec::new();
        loop {
            self.reader.path.borrow_mut().push(Step::Index(items.len()));
            let item = source.next_element_seed(inner)?;
            self.reader.path.borrow_mut().pop();
            match item {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut entries = Map::new();
        while let Some(key) = source.next_key::<String>()? {
            self.count::<A::Error>()?;
            if entries.contains_key(&key) {
                let path = self.reader.path_to(&key);
                self.reader.duplicates.borrow_mut().push(path);
            }
            self.reader.path.borrow_mut().push(Step::Key(key.clone()));
            let value = source.next_value_seed(inner)?;
            self.reader.path.borrow_mut().pop();
            entries.insert(key, value);
        }
        Ok(Value::Object(entries))
    }
}
