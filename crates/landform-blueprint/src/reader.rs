//! Reads objects field by field, and notes what is wrong with the place where it stands.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use landform_api::Budget;
use landform_yaml::Allowed;
use serde_json::{Map, Value};

use crate::problem::{BlueprintError, Problem};

/// One YAML text that is read, with what was found in it.
pub(crate) struct Source {
    pub(crate) file: String,
    places: BTreeMap<String, (usize, usize)>,
    problems: RefCell<Vec<Problem>>,
    warnings: RefCell<Vec<Problem>>,
}

impl Source {
    /// Reads the text; words that YAML 1.1 takes for booleans stay strings, with a warning. Templates may
    /// render a key more than once: the last one counts, with a warning.
    pub(crate) fn parse(
        file: &str,
        text: &str,
        shows: bool,
    ) -> Result<(Self, Value), BlueprintError> {
        let allowed = Allowed {
            aliases: true,
            repeated_keys: !shows,
        };
        let placed = landform_yaml::parse_placed_with(text, &Budget::RUN, allowed);
        let placed = placed.map_err(|error| {
            // Output of templates may hold secrets, which messages about it could repeat.
            let message = if shows {
                error.message
            } else {
                hidden(error.kind).to_owned()
            };
            Problem::new(file, message).at(Some((error.line, error.column)))
        })?;
        let words = placed.words.iter();
        let warnings = words.map(|word| word_warning(file, word, shows));
        let repeated = placed.repeated.iter().map(|key| {
            let message = format!(
                "this key is given more than once, also on line {}, and the last one counts: remove the others",
                key.first_line
            );
            Problem::new(file, message)
                .at(Some((key.line, key.column)))
                .field(path_of(&key.pointer))
        });
        let source = Source {
            file: file.to_owned(),
            warnings: RefCell::new(warnings.chain(repeated).collect()),
            places: placed.places,
            problems: RefCell::default(),
        };
        Ok((source, placed.value))
    }

    /// What has no text of its own: no places are known.
    pub(crate) fn without_text(file: &str) -> Self {
        Source {
            file: file.to_owned(),
            places: BTreeMap::new(),
            problems: RefCell::default(),
            warnings: RefCell::default(),
        }
    }

    pub(crate) fn places(&self) -> &BTreeMap<String, (usize, usize)> {
        &self.places
    }

    pub(crate) fn place(&self, pointer: &str) -> Option<(usize, usize)> {
        self.places.get(pointer).copied()
    }

    pub(crate) fn problem(&self, pointer: &str, message: impl Into<String>) {
        let problem = self.at(pointer, message);
        self.problems.borrow_mut().push(problem);
    }

    pub(crate) fn add(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }

    pub(crate) fn add_warnings(&self, warnings: impl IntoIterator<Item = Problem>) {
        self.warnings.borrow_mut().extend(warnings);
    }

    pub(crate) fn warning(&self, pointer: &str, message: impl Into<String>) {
        let problem = self.at(pointer, message);
        self.warnings.borrow_mut().push(problem);
    }

    fn at(&self, pointer: &str, message: impl Into<String>) -> Problem {
        let place = ancestors(pointer).find_map(|pointer| self.place(pointer));
        Problem::new(&self.file, message)
            .at(place)
            .field(path_of(pointer))
    }

    /// The warnings, or all that is wrong.
    pub(crate) fn finish(self) -> Result<Vec<Problem>, BlueprintError> {
        let problems = self.problems.into_inner();
        if problems.is_empty() {
            return Ok(self.warnings.into_inner());
        }
        Err(BlueprintError { problems })
    }
}

/// What is said of a word that others take for a boolean.
pub(crate) fn word_warning(file: &str, word: &landform_yaml::Word, shows: bool) -> Problem {
    let shown = if shows {
        format!("{:?}", word.text)
    } else {
        "a word".to_owned()
    };
    let message = format!(
        "{shown} is a boolean in YAML 1.1 and is read as a string here: write true or false, or put \
         it in quotes"
    );
    Problem::new(file, message).at(Some((word.line, word.column)))
}

fn hidden(kind: landform_yaml::ErrorKind) -> &'static str {
    use landform_yaml::ErrorKind as Kind;
    match kind {
        Kind::Syntax => {
            "this is no YAML: look at the quotes and the indentation that the template makes"
        }
        Kind::DuplicateKey => "a key is given twice",
        Kind::Unsupported => {
            "aliases that contain themselves, tags, and keys that are no strings are not supported"
        }
        Kind::Limit => "the text is nested too deeply or has too many values",
        Kind::DocumentCount => "there is more than one document, and only one is taken",
    }
}

/// The pointer and those of what holds it, from the inside.
fn ancestors(pointer: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(pointer), |pointer| {
        pointer.rfind('/').map(|end| &pointer[..end])
    })
}

/// `/imports/2/schema` as `imports[2].schema`.
pub(crate) fn path_of(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
            continue;
        }
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&part.replace("~1", "/").replace("~0", "~"));
    }
    path
}

/// An object whose fields are taken one by one.
pub(crate) struct Object<'a> {
    pub(crate) source: &'a Source,
    pub(crate) pointer: String,
    fields: Option<&'a Map<String, Value>>,
    known: RefCell<BTreeSet<String>>,
    checked: Cell<bool>,
}

impl<'a> Object<'a> {
    /// Notes a problem when the value is no object; it then has no fields.
    pub(crate) fn new(source: &'a Source, pointer: impl Into<String>, value: &'a Value) -> Self {
        let pointer = pointer.into();
        let fields = value.as_object();
        if fields.is_none() {
            source.problem(
                &pointer,
                format!("this has to be a map, and is {}", kind(value)),
            );
        }
        Object {
            source,
            pointer,
            fields,
            known: RefCell::default(),
            checked: Cell::new(false),
        }
    }

    pub(crate) fn pointer(&self, name: &str) -> String {
        format!(
            "{}/{}",
            self.pointer,
            name.replace('~', "~0").replace('/', "~1")
        )
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        #[cfg(test)]
        note_asked(&self.pointer, name);
        self.known.borrow_mut().insert(name.to_owned());
        self.fields?.get(name).filter(|value| !value.is_null())
    }

    /// A field whose name is taken in any case, as Go's JSON does.
    pub(crate) fn value_in_any_case(&self, name: &str) -> Option<(String, &'a Value)> {
        let (own, value) = self
            .fields?
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name))?;
        self.known.borrow_mut().insert(own.clone());
        (!value.is_null()).then(|| (self.pointer(own), value))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        let value = self.value(name)?;
        let text = value.as_str();
        if text.is_none() {
            self.wrong(name, "a string", value);
        }
        text
    }

    /// A text that has to be there and not to be empty.
    pub(crate) fn required_text(&self, name: &str) -> String {
        match self.text(name) {
            Some(text) if !text.is_empty() => text.to_owned(),
            Some(_) => {
                self.source
                    .problem(&self.pointer(name), "this must not be empty");
                String::new()
            }
            None => {
                if self
                    .fields
                    .is_some_and(|fields| fields.get(name).is_none_or(Value::is_null))
                {
                    self.source
                        .problem(&self.pointer, format!("`{name}` is missing"));
                }
                String::new()
            }
        }
    }

    /// A boolean; words of YAML 1.1 count here, where nothing else can be meant.
    pub(crate) fn boolean(&self, name: &str) -> Option<bool> {
        let value = self.value(name)?;
        match value {
            Value::Bool(value) => Some(*value),
            Value::String(word) => match word.to_ascii_lowercase().as_str() {
                "y" | "yes" | "on" => Some(true),
                "n" | "no" | "off" => Some(false),
                _ => {
                    self.wrong(name, "true or false", value);
                    None
                }
            },
            other => {
                self.wrong(name, "true or false", other);
                None
            }
        }
    }

    /// The items of a list with their pointers.
    pub(crate) fn list(&self, name: &str) -> Vec<(String, &'a Value)> {
        match self.value(name) {
            None => Vec::new(),
            Some(Value::Array(items)) => {
                let pointer = self.pointer(name);
                let items = items.iter().enumerate();
                items
                    .map(|(at, item)| (format!("{pointer}/{at}"), item))
                    .collect()
            }
            Some(other) => {
                self.wrong(name, "a list", other);
                Vec::new()
            }
        }
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for (pointer, item) in self.list(name) {
            match item.as_str() {
                Some(text) => texts.push(text.to_owned()),
                None => self.source.problem(&pointer, "this has to be a string"),
            }
        }
        texts
    }

    pub(crate) fn map(&self, name: &str) -> BTreeMap<String, Value> {
        match self.value(name) {
            None => BTreeMap::new(),
            Some(Value::Object(fields)) => {
                let fields = fields.iter();
                fields
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect()
            }
            Some(other) => {
                self.wrong(name, "a map", other);
                BTreeMap::new()
            }
        }
    }

    fn wrong(&self, name: &str, expected: &str, value: &Value) {
        let message = format!("this has to be {expected}, and is {}", kind(value));
        self.source.problem(&self.pointer(name), message);
    }

    /// Warns about fields that nobody asked for.
    pub(crate) fn warn_about_others(&self) {
        if self.checked.replace(true) {
            return;
        }
        let known = self.known.borrow();
        for name in self.fields.into_iter().flat_map(|fields| fields.keys()) {
            if !known.contains(name) {
                let message =
                    "this field is not known and has no effect: remove it or look at its spelling";
                self.source.warning(&self.pointer(name), message);
            }
        }
    }
}

#[cfg(test)]
thread_local! {
    /// The fields that were asked for, as `.imports.*.name`: the schema for editors must have them.
    pub(crate) static ASKED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

#[cfg(test)]
fn note_asked(pointer: &str, name: &str) {
    let is_place = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = pointer.split('/').skip(1);
    let parts = parts.map(|part| if is_place(part) { "*" } else { part });
    let path: String = parts.chain([name]).map(|part| format!(".{part}")).collect();
    ASKED.with_borrow_mut(|asked| asked.insert(path));
}

/// What a value is, in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
