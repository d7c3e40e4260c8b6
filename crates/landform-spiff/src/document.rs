//! A document as it was read: a tree of nodes, whose expressions are understood.

use std::collections::BTreeMap;

use landform_yaml::{Budget, Word};
use serde_json::Value as Json;

use crate::ast::{Expression, Formula, Kind, Markers, MergeSource, Span};
use crate::error::{ErrorKind, SpiffError, excerpt, floor_boundary};
use crate::parse;
use crate::path::Path;

/// A YAML document whose expressions were understood.
#[derive(Debug, Clone)]
pub struct Document {
    /// Words that stay strings here and are booleans for others.
    pub words: Vec<Word>,
    name: String,
    pub(crate) root: Node,
}

/// A part of the document.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) path: Path,
    pub(crate) content: Content,
    /// Those of its expression, or of what is inserted into it.
    pub(crate) markers: Markers,
    place: Option<(usize, usize)>,
    /// Whether the text stands in the file as it is, from the place on.
    as_written: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    Plain(Json),
    Formula {
        text: String,
        formula: Formula,
    },
    Map {
        entries: Vec<(String, Node)>,
        /// `<<<: (( … ))`
        insertion: Option<Box<Node>>,
    },
    List {
        items: Vec<Item>,
        /// The field by which items are named: `name`, or the one that is marked with `key:`.
        key: String,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) node: Node,
    /// `- <<<: (( … ))`
    pub(crate) insertion: bool,
}

impl Node {
    /// The expression, when the node is one.
    pub(crate) fn formula(&self) -> Option<&Formula> {
        match &self.content {
            Content::Formula { formula, .. } => Some(formula),
            Content::Plain(_) | Content::Map { .. } | Content::List { .. } => None,
        }
    }

    /// Whether nothing of the state gets in: `<<<: (( merge none ))`.
    pub(crate) fn merges_nothing(&self) -> bool {
        let expression = self
            .formula()
            .and_then(|formula| formula.expression.as_ref());
        matches!(
            expression,
            Some(Expression { kind: Kind::Merge(merge), .. }) if merge.source == MergeSource::Nothing
        )
    }

    /// An error about the node, or about a part of its expression.
    pub(crate) fn error(
        &self,
        name: &str,
        kind: ErrorKind,
        span: Option<Span>,
        message: String,
    ) -> SpiffError {
        let text = match &self.content {
            Content::Formula { text, .. } => Some(text.as_str()),
            Content::Plain(Json::String(text)) => Some(text.as_str()),
            Content::Plain(_) | Content::Map { .. } | Content::List { .. } => None,
        };
        let (place, excerpt) = match (span, text) {
            (Some(span), Some(text)) => (self.place_in(text, span), excerpt(text, span)),
            _ => (self.place, String::new()),
        };
        SpiffError {
            name: name.to_owned(),
            place,
            path: self.path.to_string(),
            message,
            kind,
            excerpt,
        }
    }

    fn place_in(&self, text: &str, span: Span) -> Option<(usize, usize)> {
        let (line, column) = self.place?;
        let before = &text[..floor_boundary(text, span.start)];
        if !self.as_written || before.contains('\n') {
            return Some((line, column));
        }
        Some((line, column + before.chars().count()))
    }
}

impl Document {
    /// Reads a document. The name is shown in errors; use the path of its file where there is one.
    ///
    /// # Errors
    /// When the text is no YAML, and with all expressions that can't be read.
    pub fn parse(name: &str, text: &str) -> Result<Self, Vec<SpiffError>> {
        Document::parse_within(name, text, 0, 0)
    }

    /// Reads a document that is a part of a file, such as a text in YAML: errors then show the place
    /// in the file. All its lines have to be indented by the same number of columns there.
    ///
    /// # Errors
    /// As for [`Document::parse`].
    pub fn parse_within(
        name: &str,
        text: &str,
        lines_before: usize,
        columns_before: usize,
    ) -> Result<Self, Vec<SpiffError>> {
        let shift = |(line, column): (usize, usize)| (line + lines_before, column + columns_before);
        let placed = landform_yaml::parse_placed(text, &Budget::RUN).map_err(|error| {
            let error = SpiffError {
                name: name.to_owned(),
                place: Some(shift((error.line, error.column))),
                path: String::new(),
                message: error.message,
                kind: ErrorKind::Syntax,
                excerpt: String::new(),
            };
            vec![error]
        })?;
        let mut reader = Reader {
            name,
            lines: text.lines().collect(),
            places: &placed.places,
            pointer: String::new(),
            pointer_bytes: 0,
            shift: (lines_before, columns_before),
            errors: Vec::new(),
        };
        let root = reader.node(Path::default(), &placed.value);
        let words = placed.words.into_iter().map(|word| {
            let (line, column) = shift((word.line, word.column));
            Word {
                line,
                column,
                ..word
            }
        });
        let words = words.collect();
        reader.finish(root, words)
    }

    /// Takes a value that was read already, whose places are known by JSON pointer. The text is that
    /// of the file, which the value may be a part of.
    ///
    /// # Errors
    /// With all expressions that can't be read.
    pub fn from_value(
        name: &str,
        value: &Json,
        places: &BTreeMap<String, (usize, usize)>,
        pointer: &str,
        text: &str,
    ) -> Result<Self, Vec<SpiffError>> {
        let mut reader = Reader {
            name,
            lines: text.lines().collect(),
            places,
            pointer: pointer.to_owned(),
            pointer_bytes: 0,
            shift: (0, 0),
            errors: Vec::new(),
        };
        let root = reader.node(Path::default(), value);
        reader.finish(root, Vec::new())
    }

    /// The name that was given when the document was read.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Whether any string of a value is an expression.
#[must_use]
pub fn has_expressions(value: &Json) -> bool {
    match value {
        Json::String(text) => parse::is_expression(text),
        Json::Array(items) => items.iter().any(has_expressions),
        Json::Object(fields) => fields
            .iter()
            .any(|(name, value)| insertion_key(name) || has_expressions(value)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

fn insertion_key(key: &str) -> bool {
    matches!(key, "<<" | "<<<")
}

/// `<<<!` is the key `<<<`, and `<<<!!` is `<<<!`.
fn unescaped_key(key: &str) -> &str {
    let marks = key.trim_end_matches('!');
    match key.strip_suffix('!') {
        Some(rest) if insertion_key(marks) => rest,
        _ => key,
    }
}

/// Further to the right, the place of an expression is all that is said of it: columns are counted
/// from the beginning of the line.
const LONGEST_LINE: usize = 2_000;
/// No more places are looked for when their pointers have this many bytes.
const MOST_POINTER_BYTES: usize = 32 << 20;

struct Reader<'a> {
    name: &'a str,
    lines: Vec<&'a str>,
    places: &'a BTreeMap<String, (usize, usize)>,
    /// The JSON pointer of the node that is being read.
    pointer: String,
    /// The bytes of all pointers that were looked up: a long key stands in those of all below it.
    pointer_bytes: usize,
    shift: (usize, usize),
    errors: Vec<SpiffError>,
}

impl Reader<'_> {
    fn finish(self, root: Node, words: Vec<Word>) -> Result<Document, Vec<SpiffError>> {
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        Ok(Document {
            words,
            name: self.name.to_owned(),
            root,
        })
    }

    /// Reads what is below the present node.
    fn child(&mut self, step: &str, path: Path, value: &Json) -> Node {
        let length = self.pointer.len();
        self.pointer.push('/');
        for character in step.chars() {
            match character {
                '~' => self.pointer.push_str("~0"),
                '/' => self.pointer.push_str("~1"),
                other => self.pointer.push(other),
            }
        }
        let node = self.node(path, value);
        self.pointer.truncate(length);
        node
    }

    fn node(&mut self, path: Path, value: &Json) -> Node {
        let mut node = Node {
            path,
            content: Content::Plain(Json::Null),
            markers: Markers::default(),
            place: None,
            as_written: false,
        };
        self.find(&mut node, value);
        match value {
            Json::String(text) if parse::is_expression(text) => self.formula(&mut node, text),
            Json::Object(fields) => self.map(&mut node, fields),
            Json::Array(items) => self.list(&mut node, items),
            other => node.content = Content::Plain(other.clone()),
        }
        node
    }

    /// Notes where the node stands.
    fn find(&mut self, node: &mut Node, value: &Json) {
        self.pointer_bytes += self.pointer.len();
        if self.pointer_bytes > MOST_POINTER_BYTES {
            return;
        }
        let Some((line, column)) = self.places.get(&self.pointer).copied() else {
            return;
        };
        let shifted = |column: usize| Some((line + self.shift.0, column + self.shift.1));
        node.place = shifted(column);
        let Json::String(text) = value else { return };
        if !parse::is_expression(text) || column > LONGEST_LINE {
            return;
        }
        let written = self.lines.get(line.saturating_sub(1));
        let from = |column: usize| -> Option<&str> {
            let (start, _) = written?.char_indices().nth(column - 1)?;
            Some(&written?[start..])
        };
        let first = text.lines().next().unwrap_or_default();
        for quotes in 0..=1 {
            if from(column + quotes).is_some_and(|rest| rest.starts_with(first)) {
                node.place = shifted(column + quotes);
                node.as_written = true;
                return;
            }
        }
    }

    fn formula(&mut self, node: &mut Node, text: &str) {
        if let Some(plain) = parse::unescaped(text) {
            node.content = Content::Plain(Json::String(plain));
            return;
        }
        match parse::parse(text) {
            Ok(formula) => {
                node.markers = formula.markers;
                node.content = Content::Formula {
                    text: text.to_owned(),
                    formula,
                };
            }
            Err(fault) => {
                node.content = Content::Plain(Json::String(text.to_owned()));
                let span = Some(fault.span);
                self.errors
                    .push(node.error(self.name, ErrorKind::Syntax, span, fault.message));
            }
        }
    }

    fn map(&mut self, node: &mut Node, fields: &serde_json::Map<String, Json>) {
        let mut entries = Vec::new();
        let mut insertion: Option<Box<Node>> = None;
        for (key, value) in fields {
            if insertion_key(key) {
                let inserted = self.child(key, node.path.key(key), value);
                node.markers = node.markers.and(inserted.markers);
                if insertion.replace(Box::new(inserted)).is_some() {
                    let message = "there are two insertions, << and <<<: one is taken".to_owned();
                    self.errors
                        .push(node.error(self.name, ErrorKind::Syntax, None, message));
                }
                continue;
            }
            let own = unescaped_key(key);
            let child = self.child(key, node.path.key(own), value);
            entries.push((own.to_owned(), child));
        }
        node.content = Content::Map { entries, insertion };
    }

    fn list(&mut self, node: &mut Node, values: &[Json]) {
        let mut items = Vec::new();
        let mut key = "name".to_owned();
        for (at, value) in values.iter().enumerate() {
            let path = node.path.index(at);
            if let Some((name, inserted)) = only_insertion(value) {
                let length = self.pointer.len();
                self.pointer.push_str(&format!("/{at}"));
                let inserted = self.child(name, path.key(name), inserted);
                self.pointer.truncate(length);
                node.markers = node.markers.and(inserted.markers);
                items.push(Item {
                    node: inserted,
                    insertion: true,
                });
                continue;
            }
            let mut item = self.child(&at.to_string(), path, value);
            if let Content::Map { entries, .. } = &mut item.content {
                for (name, _) in entries {
                    if let Some(marked) = name.strip_prefix("key:") {
                        key = marked.to_owned();
                        *name = marked.to_owned();
                    }
                }
            }
            items.push(Item {
                node: item,
                insertion: false,
            });
        }
        node.content = Content::List { items, key };
    }
}

/// The insertion of a list item that is nothing else.
fn only_insertion(value: &Json) -> Option<(&str, &Json)> {
    let fields = value.as_object()?;
    let (name, inserted) = fields.iter().next()?;
    (fields.len() == 1 && insertion_key(name)).then_some((name.as_str(), inserted))
}
