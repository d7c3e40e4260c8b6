//! From the bytes of a file to its documents, each with its line.
//!
//! Documents are read one by one, so that a broken one costs only itself. In YAML a new one begins after a
//! line with `---`. A stream of JSON objects goes on, after a broken one, with the next line that begins
//! with `{`: that is where tools start an object, indented or not.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use landform_api::budget::Size;
use landform_yaml::Budget;
use serde_json::Value;
use serde_json::value::RawValue;

use super::problem::Problems;

/// A document and where it is.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) value: Value,
    pub(super) source: Source<'a>,
}

/// Where a document is.
#[derive(Debug)]
pub(super) struct Source<'a> {
    file: &'a str,
    /// The line of the first character of the text; none when lines mean nothing.
    first: Option<usize>,
    /// The line of the document itself, counted from the first one.
    offset: usize,
    text: &'a str,
    places: OnceCell<BTreeMap<String, (usize, usize)>>,
}

impl<'a> Source<'a> {
    /// A document that isn't from a text.
    pub(super) fn whole(file: &'a str) -> Self {
        Self {
            file,
            first: None,
            offset: 0,
            text: "",
            places: OnceCell::new(),
        }
    }

    /// The file.
    pub(super) fn file(&self) -> &'a str {
        self.file
    }

    /// Where a value is, by its JSON pointer; what holds it, when the value itself isn't there.
    pub(super) fn place(&self, pointer: &str) -> String {
        let Some(first) = self.first else {
            return self.file.to_owned();
        };
        let whole = || format!("{}:{}", self.file, first + self.offset);
        if pointer.is_empty() {
            return whole();
        }
        let places = self.places.get_or_init(|| {
            landform_yaml::parse_placed(self.text, &Budget::FILE)
                .map(|placed| placed.places)
                .unwrap_or_default()
        });
        let mut pointer = pointer;
        loop {
            if let Some((line, _)) = places.get(pointer).filter(|_| !pointer.is_empty()) {
                return format!("{}:{}", self.file, first + line.saturating_sub(1));
            }
            match pointer.rsplit_once('/') {
                Some((outer, _)) => pointer = outer,
                None => return whole(),
            }
        }
    }
}

/// Hands every document of a file on; what can't be read becomes a problem.
pub(super) fn each(
    file: &str,
    bytes: &[u8],
    problems: &mut Problems,
    mut take: impl FnMut(Document<'_>, &mut Problems),
) {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let at = error.valid_up_to();
            let reason =
                format!("byte {at} is no UTF-8 text: the file is left out; save it as UTF-8");
            problems.error(file, "", reason);
            return;
        }
    };
    if text.trim_start().starts_with(['{', '[']) {
        json(file, text, problems, &mut take);
    } else {
        yaml(file, text, problems, &mut take);
    }
}

fn yaml(
    file: &str,
    text: &str,
    problems: &mut Problems,
    take: &mut impl FnMut(Document<'_>, &mut Problems),
) {
    for (first, part) in yaml_parts(text) {
        let source = Source {
            first: Some(first),
            text: part,
            ..Source::whole(file)
        };
        match landform_yaml::parse_many(part, &Budget::FILE) {
            Ok(documents) => {
                for document in documents {
                    let source = Source {
                        offset: document.line.saturating_sub(1),
                        ..source_of(&source)
                    };
                    flatten(document.value, source, problems, take);
                }
            }
            Err(error) => {
                let place = format!("{file}:{}", first + error.line.saturating_sub(1));
                let reason = format!(
                    "this document is left out since it can't be read: {}",
                    error.message
                );
                problems.error(place, "", reason);
            }
        }
    }
}

/// The parts between lines with `---`, with the number of their first line. Parts with nothing but
/// comments and directives are left out.
fn yaml_parts(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut first, mut at) = (0, 1, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let marks = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if marks {
            parts.push((first, &text[start..at]));
            (start, first) = (at, number + 1);
        }
        at += line.len();
    }
    parts.push((first, &text[start..]));
    let says_something = |part: &str| {
        part.lines()
            .map(|line| line.strip_prefix("---").unwrap_or(line).trim())
            .any(|line| !(line.is_empty() || line.starts_with(['#', '%'])))
    };
    parts.retain(|(_, part)| says_something(part));
    parts
}

fn json(
    file: &str,
    text: &str,
    problems: &mut Problems,
    take: &mut impl FnMut(Document<'_>, &mut Problems),
) {
    let mut lines = Lines::default();
    let mut start = 0;
    while start < text.len() {
        let rest = &text[start..];
        // As texts first: a value takes memory, and is measured before it is made.
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let mut begun = 0;
        let failed = loop {
            match stream.next() {
                None => break None,
                Some(Ok(raw)) => {
                    let ended = stream.byte_offset();
                    let source = Source {
                        first: Some(lines.at(text, start + begun)),
                        offset: blank_lines(&rest[begun..ended]),
                        text: &rest[begun..ended],
                        ..Source::whole(file)
                    };
                    begun = ended;
                    match within_budget(raw.get()) {
                        Ok(value) => flatten(value, source, problems, take),
                        Err(reason) => {
                            let place = format!("{file}:{}", source.first.unwrap_or(1));
                            problems.error(
                                place,
                                "",
                                format!("this document is left out: {reason}"),
                            );
                        }
                    }
                }
                Some(Err(error)) => break Some(error),
            }
        };
        let Some(error) = failed else { return };
        let line = lines.at(text, start) + error.line().saturating_sub(1);
        let reason = format!(
            "the object that begins on line {} is left out since it is no valid JSON: {}",
            lines.at(text, start + begun) + blank_lines(&rest[begun..]),
            without_place(&error)
        );
        problems.error(format!("{file}:{line}"), "", reason);
        let after = begun + blank(&rest[begun..]);
        match rest[after..].find("\n{") {
            Some(next) => start += after + next + 1,
            None => return,
        }
    }
}

fn within_budget(text: &str) -> Result<Value, String> {
    let size = Size::of_text(text.as_bytes());
    Budget::FILE
        .holds(&size)
        .map_err(|exceeded| exceeded.to_string())?;
    serde_json::from_str(text).map_err(|error| without_place(&error))
}

/// Arrays and lists of Kubernetes are taken apart.
fn flatten(
    value: Value,
    source: Source<'_>,
    problems: &mut Problems,
    take: &mut impl FnMut(Document<'_>, &mut Problems),
) {
    let items = match value {
        Value::Null => return,
        Value::Array(items) => items,
        Value::Object(mut fields) if is_list(&fields) => match fields.remove("items") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        },
        value => {
            take(Document { value, source }, problems);
            return;
        }
    };
    for value in items {
        // A pointer into one item says nothing in the whole.
        let source = Source {
            text: "",
            ..source_of(&source)
        };
        take(Document { value, source }, problems);
    }
}

fn is_list(fields: &serde_json::Map<String, Value>) -> bool {
    fields.get("kind").is_some_and(|kind| kind == "List")
        && fields.get("apiVersion").is_some_and(|found| found == "v1")
}

fn source_of<'a>(source: &Source<'a>) -> Source<'a> {
    Source {
        file: source.file,
        first: source.first,
        offset: source.offset,
        text: source.text,
        places: OnceCell::new(),
    }
}

/// Counts lines; offsets only grow, so that every byte is looked at once.
#[derive(Default)]
struct Lines {
    offset: usize,
    ends: usize,
}

impl Lines {
    fn at(&mut self, text: &str, offset: usize) -> usize {
        if offset < self.offset {
            *self = Self::default();
        }
        let between = text.as_bytes().get(self.offset..offset).unwrap_or_default();
        self.ends += between.iter().filter(|byte| **byte == b'\n').count();
        self.offset = offset;
        self.ends + 1
    }
}

fn blank(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

fn blank_lines(text: &str) -> usize {
    text[..blank(text)].matches('\n').count()
}

/// serde_json appends the place to its message; ours has its own.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ")
        .map_or(text.clone(), |(message, _)| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let mut problems = Problems::default();
        let mut found = Vec::new();
        each("f", text.as_bytes(), &mut problems, |document, _| {
            found.push(format!("{} {}", document.source.place(""), document.value));
        });
        let problems = problems.finish();
        let shown = problems
            .iter()
            .map(|one| format!("{} {}", one.file, one.reason));
        (found, shown.collect())
    }

    #[test]
    fn a_broken_document_costs_only_itself() {
        let (found, problems) = read("# start\na: 1\n---\nb: [1\n---\n\nc: 3\n");
        assert_eq!(found, ["f:2 {\"a\":1}", "f:7 {\"c\":3}"]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].starts_with("f:4 ") || problems[0].starts_with("f:3 "),
            "{problems:?}"
        );

        let (found, problems) =
            read("{\"a\": 1}\n{\"b\": [2,\n  {\"x\": }\n]}\n{\n  \"c\": 3\n}\n");
        assert_eq!(found, ["f:1 {\"a\":1}", "f:5 {\"c\":3}"]);
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].starts_with("f:3 the object that begins on line 2 is left out"),
            "{problems:?}"
        );
    }

    #[test]
    fn a_cut_object_does_not_swallow_the_next() {
        let (found, problems) = read("{\"a\": [1,\n{\"b\": 2}\n{\"c\": 3}\n");
        assert_eq!(found, ["f:2 {\"b\":2}", "f:3 {\"c\":3}"]);
        assert_eq!(problems.len(), 1);
    }

    #[test]
    fn directives_comments_and_a_byte_order_mark_are_no_documents() {
        let (found, problems) =
            read("\u{feff}%YAML 1.1\n---\na: 1\n--- # second\nb: 2\n---\n# end\n");
        assert_eq!(found, ["f:3 {\"a\":1}", "f:5 {\"b\":2}"], "{problems:?}");
        assert!(problems.is_empty(), "{problems:?}");
    }

    #[test]
    fn lists_are_taken_apart() {
        let (found, _) = read("apiVersion: v1\nkind: List\nitems:\n- a: 1\n- b: 2\n");
        assert_eq!(found.len(), 2);
        let (found, _) = read("[{\"a\": 1}, {\"b\": 2}]");
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn values_have_their_lines() {
        let mut lines = Vec::new();
        each(
            "f",
            b"x: 0\n---\na:\n- b: 1\n- c: 2\n",
            &mut Problems::default(),
            |document, _| {
                lines.push(document.source.place("/a/1/c"));
                lines.push(document.source.place("/a/7/z"));
            },
        );
        assert_eq!(lines, ["f:1", "f:1", "f:5", "f:4"]);
    }
}
