//! Tables: what `kubectl get` shows. Rows are made here so that every client shows the same.

mod builtin;
mod duration;

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::error::{ApiError, Result};
use crate::object::{Object, meta};
use crate::registry::Resource;
use crate::request::query::Query;
use crate::verbs::present::partial;

pub(crate) use duration::age;

/// A cell of a custom column shows this much of a text.
const CELL_BYTES_MAX: usize = 1024;

/// What each row carries besides its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    /// Nothing.
    None,
    /// The object's metadata.
    Metadata,
    /// The object.
    Object,
}

impl Include {
    /// Reads `includeObject`; absent is the metadata.
    pub(crate) fn from_query(query: &Query) -> Result<Self> {
        match query.get("includeObject") {
            None | Some("Metadata") => Ok(Self::Metadata),
            Some("None") => Ok(Self::None),
            Some("Object") => Ok(Self::Object),
            Some(other) => Err(ApiError::bad_request(format!(
                "includeObject={other}: must be None, Metadata or Object"
            ))),
        }
    }
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) type_: String,
    pub(crate) format: String,
    pub(crate) description: String,
    /// Zero is shown always, more only with `-o wide`.
    pub(crate) priority: i64,
}

/// A built-in column: a text, shown always or only when wide.
fn column(name: &str, priority: i64) -> Column {
    Column {
        name: name.into(),
        type_: "string".into(),
        format: if name == "Name" {
            "name".into()
        } else {
            String::new()
        },
        description: String::new(),
        priority,
    }
}

/// The columns of a resource.
fn columns(resource: &Resource) -> Vec<Column> {
    if !resource.is_custom() {
        return builtin::columns(resource);
    }
    let mut columns = vec![column("Name", 0)];
    columns.extend(resource.columns.iter().map(|custom| Column {
        name: custom.name.clone(),
        type_: custom.type_.clone(),
        format: custom.format.clone(),
        description: custom.description.clone(),
        priority: custom.priority,
    }));
    if resource.columns.is_empty() {
        columns.push(Column {
            type_: "date".into(),
            ..column("Age", 0)
        });
    }
    columns
}

/// The cells of an object.
fn cells(resource: &Resource, whole: &Value) -> Vec<Value> {
    let Value::Object(object) = whole else {
        return Vec::new();
    };
    if !resource.is_custom() {
        return builtin::cells(resource, object);
    }
    let mut cells = vec![json!(meta::name(object))];
    for column in &resource.columns {
        cells.push(custom_cell(&column.type_, &column.path.find(whole)));
    }
    if resource.columns.is_empty() {
        cells.push(json!(age(meta::text(object, "creationTimestamp"))));
    }
    cells
}

/// A cell of a custom column: of its type, or nothing when what was found is not of its type.
fn custom_cell(type_: &str, found: &[&Value]) -> Value {
    let Some(first) = found.first() else {
        return Value::Null;
    };
    match (type_, first) {
        ("integer", Value::Number(number)) if number.is_i64() || number.is_u64() => {
            (*first).clone()
        }
        ("integer", Value::Number(number)) => number
            .as_f64()
            .map_or(Value::Null, |float| json!(float.trunc())),
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => (*first).clone(),
        ("date", Value::String(text)) => json!(age(text)),
        ("string", Value::String(text)) if found.len() == 1 => json!(cut(text)),
        ("string", _) if found.len() > 1 => {
            let mut text = String::new();
            for (index, value) in found.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&text_of(value));
                if text.len() > CELL_BYTES_MAX {
                    break;
                }
            }
            json!(cut(&text))
        }
        ("string", Value::Null) => Value::Null,
        ("string", other) => json!(cut(&text_of(other))),
        _ => Value::Null,
    }
}

/// The beginning of a long text: a cell is one line on a screen.
fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= CELL_BYTES_MAX {
        return text.into();
    }
    format!("{}…", &text[..text.floor_char_boundary(CELL_BYTES_MAX)]).into()
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// A row.
pub(crate) fn row(resource: &Resource, object: Object, include: Include) -> Value {
    // Paths of columns are followed in a value; to copy a large object for that would cost as much as to decode it.
    let whole = Value::Object(object);
    let mut row = json!({"cells": cells(resource, &whole)});
    match (include, &whole) {
        (Include::Metadata, Value::Object(object)) => row["object"] = partial(object),
        (Include::Object, _) => row["object"] = whole,
        (Include::None | Include::Metadata, _) => {}
    }
    row
}

/// A table.
pub(crate) fn table(
    resource: &Resource,
    rows: Vec<Value>,
    metadata: &Value,
    with_columns: bool,
) -> Value {
    let columns: Vec<Value> = if with_columns {
        columns(resource)
            .into_iter()
            .map(|column| {
                json!({
                    "name": column.name, "type": column.type_, "format": column.format,
                    "description": column.description, "priority": column.priority,
                })
            })
            .collect()
    } else {
        Vec::new()
    };
    let mut table = json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": columns,
    });
    // Moved: the macro would copy the objects in the rows.
    table["rows"] = Value::Array(rows);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_custom_cell_has_the_type_of_its_column() {
        for (type_, found, expected) in [
            ("integer", json!(3), json!(3)),
            ("integer", json!("3"), Value::Null),
            ("string", json!("a"), json!("a")),
            ("string", json!({"a": 1}), json!("{\"a\":1}")),
            ("string", json!(true), json!("true")),
            ("boolean", json!(false), json!(false)),
            ("boolean", json!("x"), Value::Null),
            ("number", json!(1.5), json!(1.5)),
            ("date", json!("not a time"), json!("<unknown>")),
        ] {
            assert_eq!(custom_cell(type_, &[&found]), expected, "{type_} {found}");
        }
        assert_eq!(
            custom_cell("string", &[&json!("a"), &json!("b")]),
            json!("a,b")
        );
        assert_eq!(custom_cell("string", &[]), Value::Null);
        let long = json!("x".repeat(2 * CELL_BYTES_MAX));
        for found in [vec![&long], vec![&long, &long]] {
            let cell = custom_cell("string", &found);
            assert_eq!(cell, json!(format!("{}…", "x".repeat(CELL_BYTES_MAX))));
        }
    }
}
