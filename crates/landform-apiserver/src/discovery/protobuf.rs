//! The OpenAPI v2 document in the protobuf form that kubectl before 1.27 insists on.
//!
//! Only the parts of the message that such a document has are written; the numbers are those of the
//! published message `openapi.v2.Document`. No crate writes this form from JSON, and it takes
//! nothing but varints and length-prefixed fields, so it is written here.

use serde_json::{Map, Value};

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        loop {
            let byte = u8::try_from(value & 0x7f).unwrap_or(0);
            value >>= 7;
            if value == 0 {
                self.0.push(byte);
                return;
            }
            self.0.push(byte | 0x80);
        }
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, value: Option<&Value>) {
        if let Some(text) = value.and_then(Value::as_str) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn flag(&mut self, field: u64, value: Option<&Value>) {
        if value.and_then(Value::as_bool) == Some(true) {
            self.varint(field << 3);
            self.varint(1);
        }
    }

    fn number(&mut self, field: u64, value: Option<&Value>) {
        if let Some(number) = value.and_then(Value::as_u64) {
            self.varint(field << 3);
            self.varint(number);
        }
    }

    fn double(&mut self, field: u64, value: Option<&Value>) {
        if let Some(number) = value.and_then(Value::as_f64) {
            self.varint(field << 3 | 1);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn texts(&mut self, field: u64, value: Option<&Value>) {
        for text in value
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            self.bytes(field, text.as_bytes());
        }
    }

    /// A nested message, written even when it is empty.
    fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }

    /// Fields that begin with `x-`, as named values.
    fn extensions(&mut self, field: u64, map: &Map<String, Value>) {
        for (name, value) in map.iter().filter(|(name, _)| name.starts_with("x-")) {
            self.message(field, &named(name, &any(value)));
        }
    }
}

/// A name (1) and a message (2): how maps are written.
fn named(name: &str, value: &Message) -> Message {
    let mut message = Message::default();
    message.bytes(1, name.as_bytes());
    message.message(2, value);
    message
}

/// Any value, as YAML text; JSON is YAML.
fn any(value: &Value) -> Message {
    let mut message = Message::default();
    message.bytes(2, value.to_string().as_bytes());
    message
}

fn fields(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

/// A document that is being written.
pub(super) struct Document {
    head: Message,
    paths: Message,
    definitions: Message,
}

impl Document {
    pub(super) fn new(info: &Value) -> Self {
        let mut head = Message::default();
        head.bytes(1, b"2.0");
        let mut about = Message::default();
        about.text(1, info.get("title"));
        about.text(2, info.get("version"));
        head.message(2, &about);
        Self {
            head,
            paths: Message::default(),
            definitions: Message::default(),
        }
    }

    pub(super) fn path(&mut self, path: &str, item: &Value) {
        self.paths.message(2, &named(path, &path_item(item)));
    }

    pub(super) fn definition(&mut self, name: &str, definition: &Value) {
        self.definitions
            .message(1, &named(name, &schema(definition)));
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        self.head.message(8, &self.paths);
        drop(self.paths);
        self.head.message(9, &self.definitions);
        self.head.0
    }
}

fn path_item(item: &Value) -> Message {
    let mut message = Message::default();
    for (verb, field) in [
        ("get", 2),
        ("put", 3),
        ("post", 4),
        ("delete", 5),
        ("patch", 8),
    ] {
        if let Some(found) = item.get(verb) {
            message.message(field, &operation(found));
        }
    }
    for found in item["parameters"].as_array().into_iter().flatten() {
        message.message(9, &parameter(found));
    }
    message
}

fn operation(operation: &Value) -> Message {
    let mut message = Message::default();
    message.text(5, operation.get("operationId"));
    for found in operation["parameters"].as_array().into_iter().flatten() {
        message.message(8, &parameter(found));
    }
    let mut responses = Message::default();
    for (code, response) in fields(operation.get("responses")) {
        let mut content = Message::default();
        content.text(1, response.get("description"));
        if let Some(found) = response.get("schema") {
            let mut item = Message::default();
            item.message(1, &schema(found));
            content.message(2, &item);
        }
        let mut value = Message::default();
        value.message(1, &content);
        responses.message(1, &named(code, &value));
    }
    message.message(9, &responses);
    if let Some(map) = operation.as_object() {
        message.extensions(13, map);
    }
    message
}

/// A parameter in the query or the path, within the four messages that wrap it.
fn parameter(parameter: &Value) -> Message {
    let in_path = parameter["in"] == "path";
    let mut content = Message::default();
    content.flag(1, parameter.get("required"));
    content.text(2, parameter.get("in"));
    content.text(3, parameter.get("description"));
    content.text(4, parameter.get("name"));
    content.text(if in_path { 5 } else { 6 }, parameter.get("type"));
    content.flag(if in_path { 19 } else { 20 }, parameter.get("uniqueItems"));
    let mut message = content;
    for field in [if in_path { 4 } else { 3 }, 2, 1] {
        let mut outer = Message::default();
        outer.message(field, &message);
        message = outer;
    }
    message
}

fn schema(schema_value: &Value) -> Message {
    let mut message = Message::default();
    let Some(map) = schema_value.as_object() else {
        return message;
    };
    message.text(1, map.get("$ref"));
    message.text(2, map.get("format"));
    message.text(3, map.get("title"));
    message.text(4, map.get("description"));
    if let Some(default) = map.get("default") {
        message.message(5, &any(default));
    }
    message.double(6, map.get("multipleOf"));
    message.double(7, map.get("maximum"));
    message.flag(8, map.get("exclusiveMaximum"));
    message.double(9, map.get("minimum"));
    message.flag(10, map.get("exclusiveMinimum"));
    message.number(11, map.get("maxLength"));
    message.number(12, map.get("minLength"));
    message.text(13, map.get("pattern"));
    message.number(14, map.get("maxItems"));
    message.number(15, map.get("minItems"));
    message.flag(16, map.get("uniqueItems"));
    message.number(17, map.get("maxProperties"));
    message.number(18, map.get("minProperties"));
    message.texts(19, map.get("required"));
    for value in map
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        message.message(20, &any(value));
    }
    match map.get("additionalProperties") {
        Some(Value::Bool(allowed)) => {
            let mut item = Message::default();
            item.varint(2 << 3);
            item.varint(u64::from(*allowed));
            message.message(21, &item);
        }
        Some(found @ Value::Object(_)) => {
            let mut item = Message::default();
            item.message(1, &schema(found));
            message.message(21, &item);
        }
        _ => {}
    }
    if let Some(type_) = map.get("type") {
        let mut item = Message::default();
        item.text(1, Some(type_));
        item.texts(1, Some(type_));
        message.message(22, &item);
    }
    if let Some(items) = map.get("items") {
        let mut item = Message::default();
        item.message(1, &schema(items));
        message.message(23, &item);
    }
    for part in map
        .get("allOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        message.message(24, &schema(part));
    }
    if map.contains_key("properties") {
        let mut properties = Message::default();
        for (name, property) in fields(map.get("properties")) {
            properties.message(1, &named(name, &schema(property)));
        }
        message.message(25, &properties);
    }
    message.extensions(31, map);
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_has_tags_lengths_and_varints() {
        let mut message = Message::default();
        message.text(1, Some(&json!("ab")));
        message.number(11, Some(&json!(300)));
        message.flag(8, Some(&json!(true)));
        assert_eq!(message.0, [0x0a, 2, b'a', b'b', 0x58, 0xac, 0x02, 0x40, 1]);
    }

    #[test]
    fn a_schema_keeps_its_reference_and_extensions() {
        let bytes = schema(&json!({"$ref": "#/x", "x-y": [1]})).0;
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            text.contains("#/x") && text.contains("x-y") && text.contains("[1]"),
            "{text:?}"
        );
    }
}
