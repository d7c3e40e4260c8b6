//! The table of facts: each message's fields, and which messages are kinds.
//!
//! `messages.txt` has one line per message and one line per field below it:
//! ```text
//! core.v1.ServicePort
//!   3 port int32 always
//!   4 targetPort IntOrString
//!   6 appProtocol *string
//! core.v1.Service = v1
//!   1 metadata meta.v1.ObjectMeta
//! ```
//! A message line may end with `= <apiVersion>`: then the last part of its name is a kind (`*` is
//! any apiVersion). A field line has number, JSON name and type; `*` before the type is a pointer in
//! Go, `list` and `map` before it are what they say (keys are strings), `always` after it says that
//! JSON writes it even when zero, and `inline` that its fields stand in the message itself. `#`
//! begins a comment.

use std::collections::BTreeMap;
use std::sync::LazyLock;

static OURS: LazyLock<Result<Table, TableError>> =
    LazyLock::new(|| Table::parse(include_str!("messages.txt")));

/// The table of this crate.
pub(crate) fn ours() -> Result<&'static Table, TableError> {
    OURS.as_ref().map_err(TableError::clone)
}

/// A line of a table that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the table of messages: {message}")]
pub struct TableError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// How Go holds a field, and so what absent and zero mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// A value that JSON leaves out when it is zero.
    Plain,
    /// A value that JSON writes even when it is zero.
    Always,
    /// A pointer: what stands on the wire counts, zero or not.
    Pointer,
    /// A struct whose fields stand in the outer struct in JSON.
    Inline,
    /// Any number of values.
    List,
    /// Values by text.
    Map,
}

/// The type of a field, or of the values of a list or map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Text.
    String,
    /// A truth value.
    Bool,
    /// A number of 32 bits.
    Int32,
    /// A number of 64 bits.
    Int64,
    /// A floating-point number.
    Double,
    /// Bytes; in JSON text in base64.
    Bytes,
    /// A point in time, to the second.
    Time,
    /// A point in time, to the microsecond.
    MicroTime,
    /// A quantity; in JSON text.
    Quantity,
    /// A number or a text.
    IntOrString,
    /// JSON as it is.
    Json,
    /// `items` of a schema: a schema (the message at that place), or a list of them.
    SchemaOrArray(usize),
    /// `additionalProperties` of a schema: a schema, or a truth value.
    SchemaOrBool(usize),
    /// `dependencies` of a schema: a schema, or a list of texts.
    SchemaOrStrings(usize),
    /// A list of texts in a message of its own.
    Strings,
    /// A message of the table, by its place there.
    Message(usize),
}

/// The message of a schema, which the special types of schemas hold.
const SCHEMA: &str = "apiextensions.v1.JSONSchemaProps";

const WORDS: &[(&str, Type)] = &[
    ("string", Type::String),
    ("bool", Type::Bool),
    ("int32", Type::Int32),
    ("int64", Type::Int64),
    ("double", Type::Double),
    ("bytes", Type::Bytes),
    ("Time", Type::Time),
    ("MicroTime", Type::MicroTime),
    ("Quantity", Type::Quantity),
    ("IntOrString", Type::IntOrString),
    ("Json", Type::Json),
    ("Strings", Type::Strings),
];

/// A field of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its number on the wire.
    pub number: u32,
    /// Its name in JSON; of an inline field its name in protobuf.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// How Go holds it.
    pub label: Label,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its name: group, version, name.
    pub name: String,
    /// Its fields, by number.
    pub fields: Vec<Field>,
}

/// All messages and kinds.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    messages: Vec<Message>,
    /// By kind and apiVersion; the apiVersion `*` is any.
    kinds: BTreeMap<(String, String), usize>,
}

impl Table {
    /// The table of this crate, for those who want to check it.
    ///
    /// # Errors
    /// Never, as its tests show.
    pub fn of_this_crate() -> Result<&'static Table, TableError> {
        ours()
    }

    /// Its messages; the lists of kinds, which are made by rule, come last.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The message at a place that a [`Type`] or [`Table::kind`] names.
    pub(crate) fn message(&self, place: usize) -> &Message {
        &self.messages[place]
    }

    /// The place of the message of a kind.
    pub(crate) fn kind(&self, api_version: &str, kind: &str) -> Option<usize> {
        let find = |version: &str| {
            let key = (kind.to_owned(), version.to_owned());
            self.kinds.get(&key).copied()
        };
        find(api_version).or_else(|| find("*"))
    }

    /// Reads a table.
    ///
    /// # Errors
    /// At the first line that can't be read.
    pub fn parse(text: &str) -> Result<Table, TableError> {
        let places = places(text)?;
        let mut table = Table {
            messages: Vec::with_capacity(places.len()),
            kinds: BTreeMap::new(),
        };
        for (line, code) in lines(text) {
            let at = |message: String| TableError { line, message };
            if code.starts_with(' ') {
                let message = table
                    .messages
                    .last_mut()
                    .ok_or_else(|| at("a field before the first message".to_owned()))?;
                let field = field(code, &places).map_err(at)?;
                if message.fields.last().map_or(0, |last| last.number) >= field.number {
                    return Err(at(format!("{} is not in order", field.number)));
                }
                message.fields.push(field);
            } else {
                table.add_message(code).map_err(at)?;
            }
        }
        table.add_lists(&places);
        Ok(table)
    }

    fn add_message(&mut self, code: &str) -> Result<(), String> {
        let (name, api_version) = match code.split_once(" = ") {
            Some((name, api_version)) => (name, Some(api_version)),
            None => (code, None),
        };
        if let Some(api_version) = api_version {
            let kind = name.rsplit('.').next().unwrap_or(name);
            let key = (kind.to_owned(), api_version.to_owned());
            if self.kinds.insert(key, self.messages.len()).is_some() {
                return Err(format!("{api_version} {kind} stands twice"));
            }
        }
        self.messages.push(Message {
            name: name.to_owned(),
            fields: Vec::new(),
        });
        Ok(())
    }

    /// Every kind with an object's metadata has a list: metadata and items.
    fn add_lists(&mut self, places: &BTreeMap<&str, usize>) {
        let Some(list_meta) = places.get("meta.v1.ListMeta") else {
            return;
        };
        let object_meta = places.get("meta.v1.ObjectMeta").copied();
        let is_object = |message: &Message| {
            let first = message.fields.first();
            first.is_some_and(|field| object_meta.map(Type::Message) == Some(field.kind))
        };
        let kinds: Vec<_> = self
            .kinds
            .iter()
            .map(|(key, at)| (key.clone(), *at))
            .collect();
        for ((kind, api_version), place) in kinds {
            let Some(message) = self
                .messages
                .get(place)
                .filter(|message| is_object(message))
            else {
                continue;
            };
            let field = |number, name: &str, label, place| Field {
                number,
                name: name.to_owned(),
                kind: Type::Message(place),
                label,
            };
            let list = Message {
                name: format!("{}List", message.name),
                fields: vec![
                    field(1, "metadata", Label::Plain, *list_meta),
                    field(2, "items", Label::List, place),
                ],
            };
            let key = (format!("{kind}List"), api_version);
            self.kinds.insert(key, self.messages.len());
            self.messages.push(list);
        }
    }
}

/// The lines that say something, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim_end()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Each message's place in the table, so that fields can name messages further down.
fn places(text: &str) -> Result<BTreeMap<&str, usize>, TableError> {
    let mut places = BTreeMap::new();
    for (line, code) in lines(text).filter(|(_, code)| !code.starts_with(' ')) {
        let name = code.split(' ').next().unwrap_or_default();
        let next = places.len();
        if places.insert(name, next).is_some() {
            return Err(TableError {
                line,
                message: format!("{name} stands twice"),
            });
        }
    }
    Ok(places)
}

fn field(code: &str, places: &BTreeMap<&str, usize>) -> Result<Field, String> {
    let words: Vec<&str> = code.split_whitespace().collect();
    let (number, name, label, word) = match words.as_slice() {
        [number, name, "list", word] => (number, name, Label::List, *word),
        [number, name, "map", word] => (number, name, Label::Map, *word),
        [number, name, word, "always"] => (number, name, Label::Always, *word),
        [number, name, word, "inline"] => (number, name, Label::Inline, *word),
        [number, name, word] => match word.strip_prefix('*') {
            Some(word) => (number, name, Label::Pointer, word),
            None => (number, name, Label::Plain, *word),
        },
        _ => return Err("not a field: number, name, type".to_owned()),
    };
    let kind = kind(word, places).ok_or_else(|| format!("{word} is no type and no message"))?;
    if label == Label::Inline && !matches!(kind, Type::Message(_)) {
        return Err("only a message can be inline".to_owned());
    }
    Ok(Field {
        number: number
            .parse()
            .map_err(|_| format!("{number} is not a number"))?,
        name: (*name).to_owned(),
        kind,
        label,
    })
}

fn kind(word: &str, places: &BTreeMap<&str, usize>) -> Option<Type> {
    let place = |name| places.get(name).copied();
    match word {
        "SchemaOrArray" => place(SCHEMA).map(Type::SchemaOrArray),
        "SchemaOrBool" => place(SCHEMA).map(Type::SchemaOrBool),
        "SchemaOrStrings" => place(SCHEMA).map(Type::SchemaOrStrings),
        _ => match WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, kind)) => Some(*kind),
            None => place(word).map(Type::Message),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_table_can_be_read() {
        let table = ours().unwrap();
        assert!(table.messages.len() > 500, "{}", table.messages.len());
        let empty: Vec<_> = table
            .messages
            .iter()
            .filter(|message| message.fields.is_empty())
            .map(|message| message.name.as_str())
            .collect();
        // This one has none in Kubernetes either.
        assert_eq!(empty, ["apiextensions.v1.CustomResourceSubresourceStatus"]);
    }

    #[test]
    fn kinds_and_their_lists_are_found() {
        let table = ours().unwrap();
        for (api_version, kind) in [
            ("v1", "Pod"),
            ("v1", "PodList"),
            ("apps/v1", "Deployment"),
            ("apps/v1", "DeploymentList"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            ("v1", "DeleteOptions"),
            ("example.org/v7", "DeleteOptions"),
        ] {
            assert!(
                table.kind(api_version, kind).is_some(),
                "{api_version} {kind}"
            );
        }
        for (api_version, kind) in [
            ("v1", "Deployment"),
            ("apps/v1beta1", "Deployment"),
            ("example.org/v1", "Pod"),
            ("v1", "StatusList"),
            ("v1", "Container"),
        ] {
            assert!(
                table.kind(api_version, kind).is_none(),
                "{api_version} {kind}"
            );
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let table = [
            ("# c\n  1 a string", 2, "a field before the first message"),
            ("m\n  1 a", 2, "not a field: number, name, type"),
            ("m\n  x a string", 2, "x is not a number"),
            ("m\n  1 a text", 2, "text is no type and no message"),
            ("m\n  2 a string\n  2 b string", 3, "2 is not in order"),
            ("m\n  1 a string inline", 2, "only a message can be inline"),
            ("m\nn\nm", 3, "m stands twice"),
            ("a.m = v1\nb.m = v1", 2, "v1 m stands twice"),
        ];
        for (text, line, message) in table {
            let message = message.to_owned();
            assert_eq!(
                Table::parse(text),
                Err(TableError { line, message }),
                "{text}"
            );
        }
    }

    #[test]
    fn fields_have_labels() {
        let text = "m\n  1 a *string\n  2 b list n\n  3 c map bytes\n  4 d int32 always\n  5 n n inline\nn\n";
        let table = Table::parse(text).unwrap();
        let found: Vec<_> = table.messages[0]
            .fields
            .iter()
            .map(|field| (field.name.as_str(), field.kind, field.label))
            .collect();
        let expected = [
            ("a", Type::String, Label::Pointer),
            ("b", Type::Message(1), Label::List),
            ("c", Type::Bytes, Label::Map),
            ("d", Type::Int32, Label::Always),
            ("n", Type::Message(1), Label::Inline),
        ];
        assert_eq!(found, expected);
    }
}
