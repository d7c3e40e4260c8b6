//! Reads one file: its objects with their places, or what is wrong with it.

use std::sync::Arc;

use landform_api::GroupVersionKind;
use landform_api::kind::split_api_version;
use landform_api::project::ProjectProblem;
use landform_template::{Environment, Template};
use landform_yaml::{Budget, Document, parse_many};
use serde_json::Value;

use crate::object::Source;
use crate::place;

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// Its objects; none of them when there is any problem with the text itself.
    pub objects: Vec<Source>,
    /// What is wrong.
    pub problems: Vec<ProjectProblem>,
}

/// Reads a file of YAML documents, or of JSON.
#[must_use]
pub fn parse(file: &str, text: &str) -> Parsed {
    documents(&Text {
        file,
        source: text,
        rendered: None,
    })
}

/// Renders a template, and reads what comes out of it as a file.
#[must_use]
pub fn render(file: &str, text: &str, data: &Value) -> Parsed {
    let template = Template::parse(file, text);
    let rendered = template.and_then(|template| template.render(data, &Environment::default()));
    match rendered {
        Ok(rendered) => documents(&Text {
            file,
            source: text,
            rendered: Some(&rendered),
        }),
        Err(error) => {
            let place = (error.line, error.column);
            let problem = place::at(file, text, place, error.message);
            Parsed {
                objects: Vec::new(),
                problems: vec![problem],
            }
        }
    }
}

/// A file's text, and what became of it if it is a template.
struct Text<'a> {
    file: &'a str,
    source: &'a str,
    rendered: Option<&'a str>,
}

impl Text<'_> {
    fn text(&self) -> &str {
        self.rendered.unwrap_or(self.source)
    }

    /// Where a place of the text is in the file. A line of what a template renders is looked for in the
    /// template; when it is there exactly once, that is the place.
    fn place(&self, (line, column): (usize, usize)) -> Option<(usize, usize)> {
        let Some(rendered) = self.rendered else {
            return Some((line, column));
        };
        let wanted = rendered.lines().nth(line.saturating_sub(1))?;
        let mut same = self.source.lines().enumerate();
        let mut same = same.by_ref().filter(|(_, found)| *found == wanted);
        match (same.next(), same.next()) {
            (Some((at, _)), None) => Some((at + 1, column)),
            _ => None,
        }
    }

    fn problem(&self, at: (usize, usize), message: &str) -> ProjectProblem {
        if let Some(place) = self.place(at) {
            return place::at(self.file, self.source, place, message);
        }
        let (line, column) = at;
        let excerpt = place::excerpt(self.text(), line);
        let message =
            format!("in what the template renders, line {line}, column {column}: {message}");
        ProjectProblem {
            excerpt,
            ..place::of_file(self.file, message)
        }
    }
}

fn documents(text: &Text<'_>) -> Parsed {
    let documents = match parse_many(text.text(), &Budget::FILE) {
        Ok(documents) => documents,
        Err(error) => {
            return Parsed {
                objects: Vec::new(),
                problems: vec![text.problem((error.line, error.column), &error.message)],
            };
        }
    };
    let mut parsed = Parsed::default();
    for Document { value, line } in documents {
        let at = (line, column(text.text(), line));
        take(text, value, at, 0, &mut parsed);
    }
    parsed
}

/// The column at which a document begins that begins on this line.
fn column(text: &str, line: usize) -> usize {
    let content = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let rest = content.strip_prefix("---").unwrap_or(content);
    let before = content.len() - rest.trim_start().len();
    1 + content[..before].chars().count()
}

/// So deep may lists stand in lists.
const NESTED_LISTS: usize = 8;

fn take(text: &Text<'_>, value: Value, at: (usize, usize), depth: usize, parsed: &mut Parsed) {
    let is_list = value["kind"] == "List" && value["apiVersion"] == "v1";
    if is_list && depth < NESTED_LISTS {
        let Some(items) = value["items"].as_array() else {
            let message = "a List needs items: a list of objects";
            parsed.problems.push(text.problem(at, message));
            return;
        };
        for item in items {
            take(text, item.clone(), at, depth + 1, parsed);
        }
        return;
    }
    match object(value) {
        Ok((kind, namespace, name, object)) => {
            let (line, column) = text.place(at).unwrap_or_default();
            let excerpt = place::excerpt(text.source, line);
            parsed.objects.push(Source {
                kind,
                namespace,
                name,
                object: Arc::new(object),
                line,
                column,
                excerpt: if line == 0 { String::new() } else { excerpt },
            });
        }
        Err(message) => parsed.problems.push(text.problem(at, &message)),
    }
}

type Named = (GroupVersionKind, Option<String>, String, Value);

/// Whether a document is an object that can be applied.
fn object(value: Value) -> Result<Named, String> {
    if !value.is_object() {
        return Err("this is no object: it needs apiVersion, kind and metadata.name".into());
    }
    let text = |value: &Value| {
        let text = value.as_str().filter(|text| !text.is_empty());
        text.map(ToOwned::to_owned)
    };
    let Some(api_version) = text(&value["apiVersion"]) else {
        return Err("apiVersion is missing: for instance v1, or apps/v1".into());
    };
    let Some((group, version)) = split_api_version(&api_version) else {
        return Err(format!(
            "apiVersion {api_version:?} must be GROUP/VERSION, or VERSION"
        ));
    };
    let Some(kind) = text(&value["kind"]) else {
        return Err("kind is missing: for instance ConfigMap".into());
    };
    let metadata = &value["metadata"];
    let Some(name) = text(&metadata["name"]) else {
        let generated = metadata.get("generateName").is_some();
        return Err(if generated {
            "metadata.name is missing: generateName would make another object each time, give it a name".into()
        } else {
            format!("metadata.name of this {kind} is missing, or is no text")
        });
    };
    let namespace = match metadata.get("namespace") {
        None | Some(Value::Null) => None,
        Some(Value::String(namespace)) if !namespace.is_empty() => Some(namespace.clone()),
        Some(_) => return Err("metadata.namespace must be a text".into()),
    };
    let plain = |name: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
        name.len() <= 253 && name.chars().all(allowed) && !matches!(name, "." | "..")
    };
    for (field, name) in [("name", Some(&name)), ("namespace", namespace.as_ref())] {
        if name.is_some_and(|name| !plain(name)) {
            return Err(format!(
                "metadata.{field} has characters that no {field} may have, or is too long: use a-z, 0-9 and -"
            ));
        }
    }
    for field in ["labels", "annotations"] {
        let texts = match metadata.get(field) {
            None | Some(Value::Null) => true,
            Some(Value::Object(fields)) => fields.values().all(Value::is_string),
            Some(_) => false,
        };
        if !texts {
            return Err(format!(
                "metadata.{field} must be a mapping of texts: put numbers and booleans in quotes"
            ));
        }
    }
    let kind = GroupVersionKind::new(group, version, &kind);
    Ok((kind, namespace, name, value))
}
