//! Whether a value fits a schema.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use landform_api::budget::{SHOWN_BYTES_MAX, Size};
use landform_pattern::{Pattern, Price};
use serde_json::{Map, Number, Value};

use super::{Place, Schemas, text};
use crate::reader::kind;
use crate::secret::MASK;

/// Something about a value: where in it, and what. The value itself is never shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) message: String,
}

/// How much is looked at before schemas are given up on.
const MOST_STEPS: usize = 1_000_000;
/// Texts of this length cost a step when they are compared.
const BYTES_OF_A_STEP: usize = 256;
/// A step looks for this many required fields.
const NAMES_OF_A_STEP: usize = 8;
/// What is found when no steps are left.
const TOO_COSTLY: &str = "the schemas are too deep or too costly to check, or a schema refers to itself: use shorter enumerations, smaller patterns, or check shorter values";
/// How deep schemas may lead into each other, references included.
const DEEPEST: usize = 150;
/// How many findings are worth telling.
const MOST_FINDINGS: usize = 20;

/// Checks the values of a blueprint, which share what it may cost.
pub(crate) struct Checker<'a> {
    schemas: &'a Schemas,
    steps: Cell<usize>,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(schemas: &'a Schemas) -> Self {
        Checker {
            schemas,
            steps: Cell::new(0),
        }
    }

    /// All that is wrong with the value; nothing when it fits. Of `hidden` names of fields those that the schema doesn't
    /// know are not shown.
    pub(crate) fn validate(
        &self,
        schema: &Value,
        value: &Value,
        hidden: &BTreeSet<String>,
    ) -> Vec<Finding> {
        validate(self, schema, value, hidden)
    }
}

fn validate(
    checker: &Checker<'_>,
    schema: &Value,
    value: &Value,
    hidden: &BTreeSet<String>,
) -> Vec<Finding> {
    let validator = Validator {
        schemas: checker.schemas,
        steps: &checker.steps,
        patterns: RefCell::default(),
        hidden,
    };
    let place = Place {
        document: schema,
        schema,
    };
    let mut found = Found::told();
    validator.value(place, value, "", 0, &mut found);
    let mut findings = found.findings;
    if validator.is_spent() && !findings.iter().any(|finding| finding.message == TOO_COSTLY) {
        findings.truncate(MOST_FINDINGS - 1);
        findings.push(Finding {
            path: String::new(),
            message: TOO_COSTLY.to_owned(),
        });
    }
    findings
}

/// What is wrong with a value, as far as it is asked for.
struct Found {
    findings: Vec<Finding>,
    /// This many are kept.
    most: usize,
    is_well: bool,
}

impl Found {
    /// Collects what is worth telling.
    fn told() -> Self {
        Found {
            findings: Vec::new(),
            most: MOST_FINDINGS,
            is_well: true,
        }
    }

    /// Only notes whether anything is wrong.
    fn noted() -> Self {
        Found {
            most: 0,
            ..Found::told()
        }
    }

    /// Whether nothing else is asked for.
    fn is_full(&self) -> bool {
        !self.is_well && self.findings.len() >= self.most
    }

    fn push(&mut self, path: &str, message: impl FnOnce() -> String) {
        if !self.is_full() && self.most > 0 {
            self.findings.push(Finding {
                path: path.to_owned(),
                message: message(),
            });
        }
        self.is_well = false;
    }
}

struct Validator<'a> {
    schemas: &'a Schemas,
    steps: &'a Cell<usize>,
    /// Patterns that were met before.
    patterns: RefCell<BTreeMap<String, Option<Rc<Pattern>>>>,
    hidden: &'a BTreeSet<String>,
}

fn push(found: &mut Found, path: &str, message: impl Into<String>) {
    found.push(path, || message.into());
}

/// A value of a schema, as far as a message shows it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.len() > SHOWN_BYTES_MAX => {
            let end = text.floor_char_boundary(SHOWN_BYTES_MAX);
            format!("{:?}…", &text[..end])
        }
        Value::Array(_) | Value::Object(_) if Size::of(value).bytes > SHOWN_BYTES_MAX => {
            format!("{} of the schema", kind(value))
        }
        short => short.to_string(),
    }
}

impl<'a> Validator<'a> {
    /// Counts steps. There is an error when they are more than are left; then nothing costly may be done.
    fn work(&self, steps: usize) -> Result<(), ()> {
        let steps = self.steps.get().saturating_add(steps);
        self.steps.set(steps);
        if self.is_spent() { Err(()) } else { Ok(()) }
    }

    fn is_spent(&self) -> bool {
        self.steps.get() > MOST_STEPS
    }

    fn pattern(&self, text: &str) -> Result<Option<Rc<Pattern>>, ()> {
        if let Some(known) = self.patterns.borrow().get(text) {
            return Ok(known.clone());
        }
        let compiled = match Price::of(text) {
            Ok(price) => {
                self.work(price.steps_to_compile())?;
                match Pattern::compile(text, price) {
                    Ok(pattern) => Some(Rc::new(pattern)),
                    Err(_) => return self.work(MOST_STEPS).and(Ok(None)),
                }
            }
            Err(_) => None,
        };
        let mut patterns = self.patterns.borrow_mut();
        patterns.insert(text.to_owned(), compiled.clone());
        Ok(compiled)
    }

    /// Whether a text fits a pattern. What is no pattern was reported with the blueprint, and fits.
    fn fits_pattern(&self, pattern: &str, text: &str) -> bool {
        let fits = self.pattern(pattern).and_then(|pattern| match pattern {
            Some(pattern) => pattern.is_match(text, |steps| self.work(steps)),
            None => Ok(true),
        });
        // When nothing is left that is the finding.
        fits.unwrap_or(true)
    }

    /// Counts this many comparisons with a value.
    fn compare(&self, value: &Value, times: usize) -> Result<(), ()> {
        let size = Size::of(value);
        let each = size.cells.saturating_add(size.bytes / BYTES_OF_A_STEP);
        self.work(each.saturating_mul(times))
    }

    fn fits(&self, place: Place<'a>, value: &Value, depth: usize) -> bool {
        let mut found = Found::noted();
        self.value(place, value, "", depth + 1, &mut found);
        found.is_well
    }

    fn value(&self, place: Place<'a>, value: &Value, path: &str, depth: usize, found: &mut Found) {
        if found.is_full() {
            return;
        }
        if self.work(1).is_err() || depth > DEEPEST {
            return push(found, path, TOO_COSTLY);
        }
        let fields = match place.schema {
            Value::Object(fields) => fields,
            Value::Bool(false) => return push(found, path, "nothing is allowed here"),
            _ => return,
        };
        if let Some(Value::String(reference)) = fields.get("$ref") {
            match self.schemas.resolve(place.document, reference) {
                Ok(inner) => self.value(inner, value, path, depth + 1, found),
                Err(message) => push(found, path, message),
            }
        }
        if !type_fits(fields, value) {
            // What else is wrong follows from this.
            return push(
                found,
                path,
                format!("has to be {}, and is {}", types(fields), kind(value)),
            );
        }
        self.any_kind(place, fields, value, path, depth, found);
        match value {
            Value::String(text) => {
                let messages =
                    text::violations(fields, text, |pattern| self.fits_pattern(pattern, text));
                messages
                    .into_iter()
                    .for_each(|message| push(found, path, message));
            }
            Value::Number(number) => numbers(fields, number, path, found),
            Value::Array(items) => self.array(place, fields, items, path, depth, found),
            Value::Object(entries) => self.object(place, fields, entries, path, depth, found),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn inner(&self, place: Place<'a>, schema: &'a Value) -> Place<'a> {
        Place {
            document: place.document,
            schema,
        }
    }

    fn any_kind(
        &self,
        place: Place<'a>,
        fields: &'a Map<String, Value>,
        value: &Value,
        path: &str,
        depth: usize,
        found: &mut Found,
    ) {
        if let Some(Value::Array(allowed)) = fields.get("enum")
            && self.compare(value, allowed.len()).is_ok()
            && !allowed.iter().any(|allowed| same(allowed, value))
        {
            found.push(path, || {
                let words: Vec<_> = allowed.iter().take(10).map(shown).collect();
                let more = if allowed.len() > 10 { ", …" } else { "" };
                format!("has to be one of {}{more}", words.join(", "))
            });
        }
        if let Some(only) = fields.get("const")
            && self.compare(value, 1).is_ok()
            && !same(only, value)
        {
            found.push(path, || format!("has to be {}", shown(only)));
        }
        let list = |word: &str| {
            fields
                .get(word)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        for schema in list("allOf") {
            self.value(self.inner(place, schema), value, path, depth + 1, found);
        }
        let fitting = |word: &str| {
            let schemas = list(word).map(|schema| self.inner(place, schema));
            schemas
                .filter(|schema| self.fits(*schema, value, depth))
                .count()
        };
        if fields.contains_key("anyOf") && fitting("anyOf") == 0 {
            push(found, path, "fits none of the schemas under `anyOf`");
        }
        if fields.contains_key("oneOf") {
            let count = fitting("oneOf");
            if count != 1 {
                let message = format!(
                    "has to fit exactly one of the schemas under `oneOf`, and fits {count}"
                );
                push(found, path, message);
            }
        }
        if let Some(schema) = fields.get("not")
            && self.fits(self.inner(place, schema), value, depth)
        {
            push(found, path, "fits the schema under `not`, and must not");
        }
        if let Some(condition) = fields.get("if") {
            let holds = self.fits(self.inner(place, condition), value, depth);
            if let Some(schema) = fields.get(if holds { "then" } else { "else" }) {
                self.value(self.inner(place, schema), value, path, depth + 1, found);
            }
        }
    }

    fn array(
        &self,
        place: Place<'a>,
        fields: &'a Map<String, Value>,
        items: &[Value],
        path: &str,
        depth: usize,
        found: &mut Found,
    ) {
        counts(
            fields,
            ("minItems", "maxItems", "items"),
            items.len(),
            path,
            found,
        );
        if fields.get("uniqueItems") == Some(&Value::Bool(true)) {
            let twice = items.iter().enumerate().find(|(at, item)| {
                self.compare(item, *at).is_ok()
                    && items[..*at].iter().any(|other| same(other, item))
            });
            if let Some((at, _)) = twice {
                push(found, &format!("{path}[{at}]"), "stands in the list twice");
            }
        }
        let (first, rest) = match (fields.get("prefixItems"), fields.get("items")) {
            (Some(Value::Array(first)), rest) => (first.as_slice(), rest),
            (_, Some(Value::Array(first))) => (first.as_slice(), fields.get("additionalItems")),
            (_, rest) => (&[][..], rest),
        };
        for (at, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(at).or(rest) {
                let path = format!("{path}[{at}]");
                self.value(self.inner(place, schema), item, &path, depth + 1, found);
            }
        }
        if let Some(schema) = fields.get("contains") {
            let schema = self.inner(place, schema);
            if !items.iter().any(|item| self.fits(schema, item, depth)) {
                push(
                    found,
                    path,
                    "has no item that fits the schema under `contains`",
                );
            }
        }
    }

    fn object(
        &self,
        place: Place<'a>,
        fields: &'a Map<String, Value>,
        entries: &Map<String, Value>,
        path: &str,
        depth: usize,
        found: &mut Found,
    ) {
        counts(
            fields,
            ("minProperties", "maxProperties", "fields"),
            entries.len(),
            path,
            found,
        );
        let names = |value: &'a Value| {
            value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
        };
        let required = fields.get("required").and_then(Value::as_array);
        if self
            .work(required.map_or(0, Vec::len) / NAMES_OF_A_STEP)
            .is_err()
        {
            return;
        }
        for name in fields.get("required").into_iter().flat_map(names) {
            if !entries.contains_key(name) {
                found.push(path, || format!("the field `{name}` is missing"));
            }
            if found.is_full() {
                return;
            }
        }
        let properties = fields.get("properties").and_then(Value::as_object);
        let patterns = fields.get("patternProperties").and_then(Value::as_object);
        let patterns: Vec<_> = patterns
            .into_iter()
            .flatten()
            .filter(|(name, _)| matches!(self.pattern(name), Ok(Some(_))))
            .collect();
        for (name, value) in entries {
            let is_written = properties.is_some_and(|properties| properties.contains_key(name));
            let shown = if is_written || !self.hidden.contains(name) {
                name
            } else {
                MASK
            };
            let inner = field_path(path, shown);
            let mut known = false;
            if let Some(schema) = properties.and_then(|properties| properties.get(name)) {
                known = true;
                self.value(self.inner(place, schema), value, &inner, depth + 1, found);
            }
            for (_, schema) in patterns
                .iter()
                .filter(|(pattern, _)| self.fits_pattern(pattern, name))
            {
                known = true;
                self.value(self.inner(place, schema), value, &inner, depth + 1, found);
            }
            match fields.get("additionalProperties") {
                Some(Value::Bool(false)) if !known => {
                    push(found, path, format!("the field `{shown}` is not allowed"));
                }
                Some(schema) if !known => {
                    self.value(self.inner(place, schema), value, &inner, depth + 1, found);
                }
                _ => {}
            }
            if let Some(schema) = fields.get("propertyNames") {
                let text = Value::String(name.clone());
                if !self.fits(self.inner(place, schema), &text, depth) {
                    push(found, path, format!("a field must not be called `{shown}`"));
                }
            }
        }
        for word in ["dependencies", "dependentRequired", "dependentSchemas"] {
            let dependencies = fields
                .get(word)
                .and_then(Value::as_object)
                .into_iter()
                .flatten();
            for (name, dependency) in dependencies.filter(|(name, _)| entries.contains_key(*name)) {
                if dependency.is_array() {
                    for other in names(dependency).filter(|other| !entries.contains_key(*other)) {
                        let message = format!("with the field `{name}`, `{other}` is needed too");
                        push(found, path, message);
                    }
                } else {
                    let value = Value::Object(entries.clone());
                    if self.compare(&value, 1).is_err() {
                        return;
                    }
                    self.value(
                        self.inner(place, dependency),
                        &value,
                        path,
                        depth + 1,
                        found,
                    );
                }
            }
        }
    }
}

/// `.name`, or `["strange name"]`.
pub(crate) fn field_path(path: &str, name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if name == MASK || (!name.is_empty() && name.chars().all(plain)) {
        format!("{path}.{name}")
    } else {
        format!("{path}[{name:?}]")
    }
}

fn type_names(fields: &Map<String, Value>) -> Vec<&str> {
    match fields.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn type_fits(fields: &Map<String, Value>, value: &Value) -> bool {
    let names = type_names(fields);
    names.is_empty()
        || names.iter().any(|name| match (*name, value) {
            ("integer", Value::Number(number)) => {
                !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
            }
            ("string", Value::String(_))
            | ("number", Value::Number(_))
            | ("boolean", Value::Bool(_))
            | ("object", Value::Object(_))
            | ("array", Value::Array(_))
            | ("null", Value::Null) => true,
            _ => false,
        })
}

fn types(fields: &Map<String, Value>) -> String {
    let words = type_names(fields).into_iter().map(|name| match name {
        "integer" => "an integer",
        "string" => "a string",
        "number" => "a number",
        "boolean" => "a boolean",
        "object" => "a map",
        "array" => "a list",
        other => other,
    });
    words.collect::<Vec<_>>().join(" or ")
}

/// JSON schema knows one kind of numbers: 1 and 1.0 are the same.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64() == right.as_f64()
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

fn counts(
    fields: &Map<String, Value>,
    (least, most, what): (&str, &str, &str),
    count: usize,
    path: &str,
    found: &mut Found,
) {
    let limit = |name: &str| fields.get(name).and_then(Value::as_u64);
    let count = count as u64;
    if let Some(least) = limit(least).filter(|least| count < *least) {
        push(
            found,
            path,
            format!("has to have at least {least} {what}, and has {count}"),
        );
    }
    if let Some(most) = limit(most).filter(|most| count > *most) {
        push(
            found,
            path,
            format!("may have at most {most} {what}, and has {count}"),
        );
    }
}

fn numbers(fields: &Map<String, Value>, number: &Number, path: &str, found: &mut Found) {
    let Some(value) = number.as_f64() else { return };
    let bound = |name: &str| fields.get(name).and_then(Value::as_f64);
    // In draft 4 the exclusive words are booleans that sharpen the others.
    let sharp = |name: &str| fields.get(name) == Some(&Value::Bool(true));
    if let Some(least) = bound("minimum") {
        let sharp = sharp("exclusiveMinimum");
        if value < least || (sharp && value <= least) {
            let word = if sharp { "more than" } else { "at least" };
            push(found, path, format!("has to be {word} {least}"));
        }
    }
    if let Some(most) = bound("maximum") {
        let sharp = sharp("exclusiveMaximum");
        if value > most || (sharp && value >= most) {
            let word = if sharp { "less than" } else { "at most" };
            push(found, path, format!("has to be {word} {most}"));
        }
    }
    if let Some(above) = bound("exclusiveMinimum").filter(|above| value <= *above) {
        push(found, path, format!("has to be more than {above}"));
    }
    if let Some(below) = bound("exclusiveMaximum").filter(|below| value >= *below) {
        push(found, path, format!("has to be less than {below}"));
    }
    if let Some(step) = bound("multipleOf").filter(|step| *step > 0.0) {
        let ratio = value / step;
        if (ratio - ratio.round()).abs() > 1e-9 {
            push(found, path, format!("has to be a multiple of {step}"));
        }
    }
}
