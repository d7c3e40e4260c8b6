//! Values of which parts are secret: what may be shown of them, and stand-ins for the rest.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};

/// What is shown in place of a secret.
pub const MASK: &str = "(secret)";

/// A text of fewer characters says nothing about where it comes from, unless it is the whole of a value.
const TELLING: usize = 4;

/// Values by name, with what may be shown of those that have secret parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guarded {
    /// All of them.
    pub values: BTreeMap<String, Value>,
    /// Those with secret parts, and [`MASK`] in place of these.
    pub shown: BTreeMap<String, Value>,
}

impl Guarded {
    /// Values of which nothing is secret.
    #[must_use]
    pub fn plain(values: BTreeMap<String, Value>) -> Self {
        Self {
            values,
            shown: BTreeMap::new(),
        }
    }

    /// What may be shown of a value; all of it if nothing of it is secret.
    #[must_use]
    pub fn shown(&self, name: &str) -> Option<&Value> {
        self.shown.get(name).or_else(|| self.values.get(name))
    }

    /// Adds a value with what may be shown of it.
    pub fn insert(&mut self, name: String, value: Value, shown: Value) {
        if value == shown {
            self.shown.remove(&name);
        } else {
            self.shown.insert(name.clone(), shown);
        }
        self.values.insert(name, value);
    }

    /// Adds others; those of the same name are replaced.
    pub fn extend(&mut self, others: Self) {
        for name in others.values.keys() {
            self.shown.remove(name);
        }
        self.values.extend(others.values);
        self.shown.extend(others.shown);
    }

    /// The same with stand-ins for what is secret; none when nothing is.
    pub(crate) fn twin(&self) -> Option<BTreeMap<String, Value>> {
        (!self.shown.is_empty()).then(|| self.twin_or_same())
    }

    pub(crate) fn twin_or_same(&self) -> BTreeMap<String, Value> {
        let values = self.values.iter();
        let twins = values.map(|(name, value)| {
            let shown = self.shown.get(name);
            let twin = shown.map_or_else(|| value.clone(), |shown| stand_in(value, shown));
            (name.clone(), twin)
        });
        twins.collect()
    }

    /// Real values beside those of the second rendering; when that failed, all of them are secret.
    pub(crate) fn compared(
        real: BTreeMap<String, Value>,
        twin: Option<&BTreeMap<String, Value>>,
    ) -> Self {
        let mut shown = BTreeMap::new();
        for (name, value) in &real {
            let seen = match twin.and_then(|twin| twin.get(name)) {
                Some(twin) => mask(value, twin),
                None => Value::from(MASK),
            };
            if seen != *value {
                shown.insert(name.clone(), seen);
            }
        }
        Self {
            values: real,
            shown,
        }
    }
}

/// A value with a mask wherever the same place of its twin is something else.
#[must_use]
pub fn mask(value: &Value, twin: &Value) -> Value {
    match (value, twin) {
        (Value::Object(fields), Value::Object(twins))
            if fields.len() == twins.len()
                && fields.keys().all(|name| twins.contains_key(name)) =>
        {
            let fields = fields.iter();
            let masked = fields.map(|(name, value)| (name.clone(), mask(value, &twins[name])));
            Value::Object(masked.collect())
        }
        (Value::Array(items), Value::Array(twins)) if items.len() == twins.len() => {
            let both = items.iter().zip(twins);
            Value::Array(both.map(|(value, twin)| mask(value, twin)).collect())
        }
        _ if value == twin => value.clone(),
        _ => Value::from(MASK),
    }
}

/// A value with a mask in place of each text that contains one of these, and of each value that is one of them.
#[must_use]
pub fn mask_known(value: &Value, secrets: &[String]) -> Value {
    let is_known = |text: &str| {
        secrets.iter().any(|secret| {
            text == secret || (secret.chars().count() >= TELLING && text.contains(secret.as_str()))
        })
    };
    match value {
        Value::String(text) if is_known(text) => Value::from(MASK),
        Value::Number(number) if is_known(&number.to_string()) => Value::from(MASK),
        Value::Array(items) => {
            let items = items.iter();
            Value::Array(items.map(|item| mask_known(item, secrets)).collect())
        }
        Value::Object(fields) if fields.keys().any(|name| is_known(name)) => Value::from(MASK),
        Value::Object(fields) => {
            let fields = fields.iter();
            let masked = fields.map(|(name, value)| (name.clone(), mask_known(value, secrets)));
            Value::Object(masked.collect())
        }
        other => other.clone(),
    }
}

/// The texts and numbers of a value that are masked.
pub fn secrets_of(value: &Value, shown: &Value, found: &mut Vec<String>) {
    let nothing = Value::Null;
    match value {
        Value::String(text) if value != shown && !text.is_empty() => found.push(text.clone()),
        Value::Number(number) if value != shown => found.push(number.to_string()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                secrets_of(item, shown.get(at).unwrap_or(&nothing), found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                secrets_of(value, shown.get(name).unwrap_or(&nothing), found);
            }
        }
        Value::String(_) | Value::Number(_) | Value::Null | Value::Bool(_) => {}
    }
}

/// The names of fields in those parts of a value that are masked as a whole.
pub(crate) fn hidden_names(value: &Value, shown: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    note_hidden_names(value, shown, &mut found);
    found
}

fn note_hidden_names(value: &Value, shown: &Value, found: &mut BTreeSet<String>) {
    let nothing = Value::Null;
    match value {
        _ if value == shown => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                if shown.get(name).is_none() {
                    found.insert(name.clone());
                }
                note_hidden_names(value, shown.get(name).unwrap_or(&nothing), found);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                note_hidden_names(item, shown.get(at).unwrap_or(&nothing), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A value with others in place of what isn't shown: of the same length and the same kinds of characters.
#[must_use]
pub fn stand_in(value: &Value, shown: &Value) -> Value {
    match (value, shown) {
        (Value::Object(fields), Value::Object(seen)) => {
            let fields = fields.iter();
            let twins = fields.map(|(name, value)| {
                let twin = seen.get(name).map(|seen| stand_in(value, seen));
                (name.clone(), twin.unwrap_or_else(|| other(value)))
            });
            Value::Object(twins.collect())
        }
        (Value::Array(items), Value::Array(seen)) if items.len() == seen.len() => {
            let both = items.iter().zip(seen);
            Value::Array(both.map(|(value, seen)| stand_in(value, seen)).collect())
        }
        _ if value == shown => value.clone(),
        _ => other(value),
    }
}

pub(crate) fn all_stand_ins(values: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let values = values.iter();
    values
        .map(|(name, value)| (name.clone(), other(value)))
        .collect()
}

/// A value of the same shape with other texts and numbers.
fn other(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(other_text(text)),
        Value::Number(number) => Value::Number(other_number(number)),
        Value::Array(items) => Value::Array(items.iter().map(other).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            let twins: Map<String, Value> = fields
                .map(|(name, value)| (name.clone(), other(value)))
                .collect();
            Value::Object(twins)
        }
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

fn other_text(text: &str) -> String {
    if let Some(twin) = other_base64(text) {
        return twin;
    }
    let twin: String = text.chars().map(other_letter).collect();
    if twin != text || text.is_empty() {
        return twin;
    }
    // Nothing but punctuation: that has to differ, too.
    let marks = text.chars().map(|mark| if mark == '-' { '_' } else { '-' });
    marks.collect()
}

/// Of a text in base64 one that can be decoded, too.
fn other_base64(text: &str) -> Option<String> {
    let decoded = STANDARD.decode(text).ok().filter(|_| text.len() > 4)?;
    let decoded = String::from_utf8(decoded).ok()?;
    Some(STANDARD.encode(other_text(&decoded))).filter(|twin| twin.len() == text.len())
}

fn other_letter(letter: char) -> char {
    let turned = |first: u8, count: u8| {
        let at = u8::try_from(u32::from(letter)).unwrap_or(first) - first;
        char::from(first + (at + 1) % count)
    };
    match letter {
        'a'..='z' => turned(b'a', 26),
        'A'..='Z' => turned(b'A', 26),
        '0'..='9' => turned(b'0', 10),
        'é' => 'è',
        _ if letter.is_alphanumeric() => 'é',
        _ => letter,
    }
}

/// Another number of as many digits, none of them a zero, so that it has no fewer when it is read.
fn other_number(number: &Number) -> Number {
    let turned = |digit| match digit {
        '0'..='8' => char::from(u8::try_from(u32::from(digit)).unwrap_or(b'0') + 1),
        '9' => '1',
        other => other,
    };
    let digits: String = number.to_string().chars().map(turned).collect();
    let twin: Result<Number, _> = serde_json::from_str(&digits);
    twin.ok()
        .filter(|twin| twin != number)
        .unwrap_or_else(|| Number::from(u8::from(number.as_i64() != Some(1))))
}
