//! From the parser's events to values: one loop with a stack of its own, so that depth is counted
//! and no text can exhaust the call stack.

use std::borrow::Cow;
use std::collections::BTreeMap;

use landform_api::Budget;
use landform_api::budget::{LIST_CELLS, MAP_CELLS};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};
use serde_json::{Map, Value};

use crate::anchors::{Anchors, merged};
use crate::error::{Error, ErrorKind, Place};
use crate::scalar::{self, Scalar};
use crate::{Allowed, Document, RepeatedKey, Word};

/// Reads all documents of a text; those without any content are left out.
pub(crate) fn compose(text: &str, budget: &Budget) -> Result<Vec<Document>, Error> {
    let composer = Composer::new(budget, Allowed::default(), None);
    Ok(composer.read(text)?.documents)
}

/// Reads a text as [`compose`] does, and notes where everything stands; words that YAML 1.1 takes for
/// booleans stay as they are written.
pub(crate) fn compose_placed(
    text: &str,
    budget: &Budget,
    allowed: Allowed,
) -> Result<(Vec<Document>, Notes), Error> {
    let composer = Composer::new(budget, allowed, Some(Notes::default()));
    let read = composer.read(text)?;
    Ok((read.documents, read.notes.unwrap_or_default()))
}

/// What is noted beside the values.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) places: BTreeMap<String, (usize, usize)>,
    pub(crate) words: Vec<Word>,
    pub(crate) repeated: Vec<RepeatedKey>,
    /// The bytes of all pointers. A long key stands in the pointer of all below it.
    pointer_bytes: usize,
}

/// No more places are noted when their pointers have this many bytes.
const MOST_POINTER_BYTES: usize = 32 << 20;

/// A mapping or a sequence that is not complete yet.
enum Open {
    Sequence(Vec<Value>),
    Mapping(Mapping),
}

#[derive(Default)]
struct Mapping {
    entries: Map<String, Value>,
    /// The line of each key, for what is said about the second one of the same name.
    lines: BTreeMap<String, usize>,
    /// The key whose value comes next.
    key: Option<Key>,
    /// What merge keys bring.
    merged: Vec<Map<String, Value>>,
}

enum Key {
    Name(String),
    Merge,
}

impl Mapping {
    /// Keys that are written win over merged ones, and those of earlier merges over later ones.
    fn finish(self) -> Value {
        let mut entries = self.entries;
        for (key, value) in self.merged.into_iter().flatten() {
            entries.entry(key).or_insert(value);
        }
        Value::Object(entries)
    }
}

struct Frame {
    open: Open,
    place: Place,
    /// What aliases call it; 0 is no name.
    anchor: usize,
}

struct Composer<'budget> {
    budget: &'budget Budget,
    allowed: Allowed,
    cells: usize,
    stack: Vec<Frame>,
    anchors: Anchors,
    documents: Vec<Document>,
    notes: Option<Notes>,
}

impl<'budget> Composer<'budget> {
    fn new(budget: &'budget Budget, allowed: Allowed, notes: Option<Notes>) -> Self {
        Self {
            budget,
            allowed,
            cells: 0,
            stack: Vec::new(),
            anchors: Anchors::default(),
            documents: Vec::new(),
            notes,
        }
    }

    fn read(mut self, text: &str) -> Result<Self, Error> {
        refuse_control_characters(text)?;
        let mut parser = Parser::new_from_str(text);
        while let Some(next) = parser.next_event() {
            let (event, span) =
                next.map_err(|error| syntax_error(text, &error, self.allowed.aliases))?;
            self.take(event, Place::from(&span.start))?;
        }
        Ok(self)
    }

    fn take(&mut self, event: Event<'_>, place: Place) -> Result<(), Error> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.check_anchor(anchor, place)?;
                self.scalar(&text, style, tag.as_deref(), anchor, place)
            }
            Event::SequenceStart(anchor, tag) => {
                self.check_anchor(anchor, place)?;
                refuse_tag_other_than("seq", "a list", tag.as_deref(), place)?;
                self.open(Open::Sequence(Vec::new()), anchor, place)
            }
            Event::MappingStart(anchor, tag) => {
                self.check_anchor(anchor, place)?;
                refuse_tag_other_than("map", "a mapping", tag.as_deref(), place)?;
                self.open(Open::Mapping(Mapping::default()), anchor, place)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(frame) = self.stack.pop() else {
                    return Ok(());
                };
                let value = match frame.open {
                    Open::Sequence(items) => Value::Array(items),
                    Open::Mapping(mapping) => mapping.finish(),
                };
                self.anchors
                    .keep(frame.anchor, &value, self.budget, frame.place)?;
                self.place(value, frame.place)
            }
            Event::Alias(_) if !self.allowed.aliases => Err(alias_error(place)),
            Event::Alias(anchor) => self.alias(anchor, place),
            // Names count in their own document.
            Event::DocumentStart(_) => {
                self.anchors.forget();
                Ok(())
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn check_anchor(&self, anchor: usize, place: Place) -> Result<(), Error> {
        if anchor == 0 || self.allowed.aliases {
            return Ok(());
        }
        Err(place.error(
            ErrorKind::Unsupported,
            "anchors (&name) are not supported: remove the anchor and repeat the content where it is \
             used",
        ))
    }

    /// Puts a copy of what an anchor names, as if it were written here: it costs what that would.
    fn alias(&mut self, anchor: usize, place: Place) -> Result<(), Error> {
        let (value, size) = self.anchors.copy(anchor, self.budget, place)?;
        self.count(size.cells, place)?;
        self.check_depth(self.stack.len() + size.depth, place)?;
        if let Some(Frame {
            open: Open::Mapping(Mapping { key: None, .. }),
            ..
        }) = self.stack.last()
        {
            let name = key_text(value, place)?;
            return self.key(name, place);
        }
        self.place(value, place)
    }

    /// Takes the name of the entry whose value comes next.
    fn key(&mut self, name: String, place: Place) -> Result<(), Error> {
        let Some(Frame {
            open: Open::Mapping(mapping),
            ..
        }) = self.stack.last_mut()
        else {
            return Ok(());
        };
        let first = mapping.lines.insert(name.clone(), place.line);
        mapping.key = Some(Key::Name(name.clone()));
        let Some(first) = first else {
            return Ok(());
        };
        if !self.allowed.repeated_keys {
            return Err(place.error(
                ErrorKind::DuplicateKey,
                format!(
                    "the key {name:?} is given twice, on lines {first} and {}: remove one",
                    place.line
                ),
            ));
        }
        let pointer = self.pointer();
        if let Some(notes) = &mut self.notes {
            notes.repeated.push(RepeatedKey {
                pointer,
                first_line: first,
                line: place.line,
                column: place.column,
            });
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        anchor: usize,
        place: Place,
    ) -> Result<(), Error> {
        let keeps = tag.is_none() && style == ScalarStyle::Plain && self.keeps_word(text, place);
        let style = if keeps {
            ScalarStyle::DoubleQuoted
        } else {
            style
        };
        if let Some(Frame {
            open: Open::Mapping(mapping @ Mapping { key: None, .. }),
            ..
        }) = self.stack.last_mut()
        {
            if text == "<<" && style == ScalarStyle::Plain && tag.is_none() {
                if self.allowed.aliases {
                    mapping.key = Some(Key::Merge);
                    return Ok(());
                }
                return Err(place.error(
                    ErrorKind::Unsupported,
                    "the merge key << is not supported: write the merged keys out, or quote it",
                ));
            }
            let value = scalar_value(text, style, tag, place)?;
            self.anchors.keep(anchor, &value, self.budget, place)?;
            let name = key_text(value, place)?;
            return self.key(name, place);
        }
        self.count(1, place)?;
        let untouched = text.is_empty() && style == ScalarStyle::Plain && tag.is_none();
        if untouched && self.stack.is_empty() {
            return Ok(()); // a document of comments only
        }
        let value = scalar_value(text, style, tag, place)?;
        self.anchors.keep(anchor, &value, self.budget, place)?;
        self.place(value, place)
    }

    fn open(&mut self, open: Open, anchor: usize, place: Place) -> Result<(), Error> {
        let cells = match open {
            Open::Sequence(_) => LIST_CELLS,
            Open::Mapping(_) => MAP_CELLS,
        };
        self.count(cells, place)?;
        if let Some(Frame {
            open: Open::Mapping(Mapping { key: None, .. }),
            ..
        }) = self.stack.last()
        {
            return Err(place.error(
                ErrorKind::Unsupported,
                "a list or mapping can't be a key: write a string (if this is a template like \
                 {{ x }}, put it in quotes)",
            ));
        }
        self.check_depth(self.stack.len() + 1, place)?;
        self.stack.push(Frame {
            open,
            place,
            anchor,
        });
        Ok(())
    }

    fn check_depth(&self, depth: usize, place: Place) -> Result<(), Error> {
        let limit = self.budget.depth;
        if depth <= limit {
            return Ok(());
        }
        Err(place.error(
            ErrorKind::Limit,
            format!("the text is nested more than {limit} levels deep: make it flatter"),
        ))
    }

    /// Whether a word stays a string because the caller wants them so; it is noted then.
    fn keeps_word(&mut self, text: &str, place: Place) -> bool {
        let Some(notes) = &mut self.notes else {
            return false;
        };
        let keeps = scalar::is_word_of_yaml_1_1(text);
        if keeps {
            notes.words.push(Word {
                line: place.line,
                column: place.column,
                text: text.to_owned(),
            });
        }
        keeps
    }

    /// The JSON pointer of the value that is complete now.
    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for frame in &self.stack {
            pointer.push('/');
            match &frame.open {
                Open::Sequence(items) => pointer.push_str(&items.len().to_string()),
                Open::Mapping(mapping) => {
                    let key = match &mapping.key {
                        Some(Key::Name(name)) => name,
                        Some(Key::Merge) => "<<",
                        None => "",
                    };
                    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                }
            }
        }
        pointer
    }

    /// Puts a complete value where it belongs.
    fn place(&mut self, value: Value, place: Place) -> Result<(), Error> {
        let notes = self.notes.as_ref();
        if notes.is_some_and(|notes| notes.pointer_bytes < MOST_POINTER_BYTES) {
            let pointer = self.pointer();
            if let Some(notes) = &mut self.notes {
                notes.pointer_bytes += pointer.len();
                notes.places.insert(pointer, (place.line, place.column));
            }
        }
        match self.stack.last_mut().map(|frame| &mut frame.open) {
            Some(Open::Sequence(items)) => items.push(value),
            Some(Open::Mapping(mapping)) => match mapping.key.take() {
                Some(Key::Name(key)) => {
                    mapping.entries.insert(key, value);
                }
                Some(Key::Merge) => mapping.merged.extend(merged(value, place)?),
                None => return Err(place.error(ErrorKind::Syntax, "a key is missing here")),
            },
            None => self.documents.push(Document {
                value,
                line: place.line,
            }),
        }
        Ok(())
    }

    fn count(&mut self, cells: usize, place: Place) -> Result<(), Error> {
        self.cells = self.cells.saturating_add(cells);
        let limit = self.budget.cells;
        if self.cells > limit {
            return Err(place.error(ErrorKind::Limit, too_many_cells(limit)));
        }
        Ok(())
    }
}

pub(crate) fn too_many_cells(limit: usize) -> String {
    format!(
        "the text takes more than {limit} cells (a mapping counts {MAP_CELLS}, a list {LIST_CELLS}, any other value 1): split it into several"
    )
}

/// The value of a scalar with its quotes and its tag.
fn scalar_value(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    place: Place,
) -> Result<Value, Error> {
    let string = || Value::String(text.to_owned());
    let Some(tag) = tag else {
        return match (style, scalar::resolve(text)) {
            (ScalarStyle::Plain, Scalar::NotFinite) => Err(not_finite(text, place)),
            (ScalarStyle::Plain, meaning) => {
                Ok(Option::<Value>::from(meaning).unwrap_or_else(string))
            }
            (_, _) => Ok(string()),
        };
    };
    let name = full_name(tag);
    let mismatch = || {
        place.error(
            ErrorKind::Unsupported,
            format!(
                "{text:?} is not what its tag {} says: remove the tag",
                short_name(&name)
            ),
        )
    };
    match (
        name.strip_prefix(YAML_TAGS).unwrap_or(&name),
        scalar::resolve(text),
    ) {
        ("str" | "timestamp" | "!", _) => Ok(string()),
        ("int", Scalar::Number(number)) if !number.is_f64() => Ok(Value::Number(number)),
        ("float", Scalar::Number(number)) => Ok(number
            .as_f64()
            .and_then(serde_json::Number::from_f64)
            .map_or(Value::Null, Value::Number)),
        ("float", Scalar::NotFinite) => Err(not_finite(text, place)),
        ("bool", Scalar::Bool(bool)) => Ok(Value::Bool(bool)),
        ("null", Scalar::Null) => Ok(Value::Null),
        ("int" | "float" | "bool" | "null", _) => Err(mismatch()),
        ("binary", _) => Err(place.error(
            ErrorKind::Unsupported,
            "the tag !!binary is not supported: write the base64 text as a string, without the tag",
        )),
        _ => Err(unknown_tag(&name, place)),
    }
}

/// Keys of JSON are strings: numbers and booleans become their text.
fn key_text(key: Value, place: Place) -> Result<String, Error> {
    match key {
        Value::String(text) => Ok(text),
        Value::Bool(bool) => Ok(bool.to_string()),
        Value::Number(number) => scalar::number_as_key(&number).ok_or_else(|| {
            place.error(
                ErrorKind::Unsupported,
                "this number can't be a key: put it in quotes",
            )
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(place.error(
            ErrorKind::Unsupported,
            "null can't be a key: write a name before the colon, or put it in quotes",
        )),
    }
}

const YAML_TAGS: &str = "tag:yaml.org,2002:";

fn full_name(tag: &Tag) -> Cow<'_, str> {
    if tag.handle.is_empty() {
        Cow::Borrowed(&tag.suffix)
    } else {
        Cow::Owned(format!("{}{}", tag.handle, tag.suffix))
    }
}

fn short_name(name: &str) -> String {
    match name.strip_prefix(YAML_TAGS) {
        Some(short) => format!("!!{short}"),
        None => name.to_owned(),
    }
}

fn refuse_tag_other_than(
    allowed: &str,
    what: &str,
    tag: Option<&Tag>,
    place: Place,
) -> Result<(), Error> {
    let Some(tag) = tag else { return Ok(()) };
    let name = full_name(tag);
    match name.strip_prefix(YAML_TAGS) {
        Some(short) if short == allowed => Ok(()),
        Some("str" | "int" | "float" | "bool" | "null" | "seq" | "map") => Err(place.error(
            ErrorKind::Unsupported,
            format!(
                "{what} can't have the tag {}: remove the tag",
                short_name(&name)
            ),
        )),
        _ => Err(unknown_tag(&name, place)),
    }
}

fn unknown_tag(name: &str, place: Place) -> Error {
    let name = short_name(name);
    place.error(
        ErrorKind::Unsupported,
        format!("the tag {name} has no meaning in JSON: remove it and write the plain value"),
    )
}

fn not_finite(text: &str, place: Place) -> Error {
    place.error(
        ErrorKind::Unsupported,
        format!("{text} can't be written in JSON: use a finite number, or put it in quotes"),
    )
}

fn alias_error(place: Place) -> Error {
    place.error(
        ErrorKind::Unsupported,
        "aliases (*name) are not supported: repeat the content here (put a text that begins with \
         * in quotes)",
    )
}

/// YAML allows no control characters but tab and line ends; the parser would take a zero byte for
/// the end of the text and say nothing.
fn refuse_control_characters(text: &str) -> Result<(), Error> {
    let allowed = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    let Some((at, found)) = text.char_indices().find(|(_, c)| !allowed(*c)) else {
        return Ok(());
    };
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let place = Place {
        line: 1 + before.bytes().filter(|byte| *byte == b'\n').count(),
        column: 1 + before[line_start..].chars().count(),
    };
    Err(place.error(
        ErrorKind::Syntax,
        format!(
            "the character U+{:04X} is not allowed: write it as an escape like \"\\x{:02x}\"",
            u32::from(found),
            u32::from(found)
        ),
    ))
}

fn syntax_error(text: &str, error: &ScanError, aliases: bool) -> Error {
    let place = within(text, Place::from(error.marker()));
    if error.info().contains("unknown anchor") {
        return if aliases {
            place.error(
                ErrorKind::Syntax,
                "no anchor (&name) before this alias (*name) has its name: look at the spelling (put \
                 a text that begins with * in quotes)",
            )
        } else {
            alias_error(place)
        };
    }
    if error.info().contains("recursion limit") {
        return place.error(
            ErrorKind::Limit,
            "the text is nested too deeply: make it flatter",
        );
    }
    let line = text.lines().nth(place.line - 1).unwrap_or_default();
    let indent = &line[..line.len() - line.trim_start().len()];
    let hint = if indent.contains('\t') {
        ": this line is indented with a tab; use spaces"
    } else {
        ""
    };
    place.error(
        ErrorKind::Syntax,
        format!("not valid YAML: {}{hint}", error.info()),
    )
}

/// The parser places an unexpected end on a line after the last one; editors have none there.
fn within(text: &str, place: Place) -> Place {
    let lines = text.lines().count().max(1);
    if place.line <= lines {
        return place;
    }
    let last = text.lines().next_back().unwrap_or_default();
    Place {
        line: lines,
        column: 1 + last.chars().count(),
    }
}
