//! Checks a value against a schema and says what is wrong in the words that Kubernetes' users know.
//!
//! An update is ratcheted: a part of the object that hasn't changed is not held against the writer,
//! so that a schema may become stricter without locking existing objects.

use std::cell::Cell;
use std::fmt;

use landform_api::budget::PROBLEMS_LISTED_MAX;
use landform_api::{FieldError, FieldReason};
use serde_json::{Map, Number, Value};

use super::correlate;
use super::formats::Format;
use super::node::{Additional, Arena, Bound, Checks, ListType, Node, NodeId, Type};
use super::place::Place;
use super::unique;

/// Checking one value takes at most as many steps: junctors and enums make work of the schema's size for each entry.
const STEPS_MAX: usize = 20_000_000;
/// A step looks at as many values of an enum, and at as many required names.
pub(crate) const NAMES_OF_A_STEP: usize = 8;
/// A step looks at as many bytes of a text.
pub(crate) const BYTES_OF_A_STEP: usize = 64;

/// Validates a value, as far as the schema says so without CEL.
pub(crate) fn validate(
    arena: &Arena,
    root: NodeId,
    value: &Value,
    old: Option<&Value>,
    path: &str,
) -> Vec<FieldError> {
    let steps = Cell::new(STEPS_MAX);
    let mut walk = Walk {
        arena,
        steps: &steps,
        found: Found::Listed(Vec::new()),
    };
    let place = Place::root(path);
    walk.value(root, value, old, &place);
    let is_full = walk.is_full();
    let mut errors = match walk.found {
        Found::Listed(errors) => errors,
        Found::Whether(_) => Vec::new(),
    };
    if steps.get() == 0 && !is_full {
        let detail = format!(
            "checking it takes more than {STEPS_MAX} steps: give it fewer entries, or the schema fewer alternatives"
        );
        let error = FieldError::new(&place.path(), FieldReason::Forbidden, &detail);
        errors.push(error);
    }
    errors
}

/// What was found wrong.
enum Found {
    Listed(Vec<FieldError>),
    /// Whether anything is wrong: nothing more is asked of a branch of a junctor.
    Whether(bool),
}

pub(crate) struct Walk<'a> {
    arena: &'a Arena,
    /// What is left for it and all that it begins.
    steps: &'a Cell<usize>,
    found: Found,
}

impl Walk<'_> {
    /// Whether as much was found as is ever reported.
    fn is_full(&self) -> bool {
        match &self.found {
            Found::Listed(errors) => errors.len() >= PROBLEMS_LISTED_MAX,
            Found::Whether(is_wrong) => *is_wrong,
        }
    }

    /// Takes steps, if they are left.
    fn may_take(&self, steps: usize) -> bool {
        let left = self.steps.get().saturating_sub(steps);
        self.steps.set(left);
        left > 0
    }

    fn value(&mut self, id: NodeId, value: &Value, old: Option<&Value>, place: &Place<'_>) {
        let node = self.arena.get(id);
        if self.is_full() || !self.may_take(steps(node, value)) || old == Some(value) {
            return;
        }
        if value.is_null() && (node.nullable || node.ty == Type::Any) {
            return;
        }
        if !self.type_fits(node, value, place) {
            return;
        }
        if let Some(checks) = &node.checks {
            self.checks(checks, value, place);
        }
        match value {
            Value::Object(map) => self.object(node, map, old.and_then(Value::as_object), place),
            Value::Array(entries) => self.array(node, entries, old, place),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn object(
        &mut self,
        node: &Node,
        map: &Map<String, Value>,
        old: Option<&Map<String, Value>>,
        place: &Place<'_>,
    ) {
        for name in &node.required {
            if !map.contains_key(name.as_ref()) {
                self.refuse(
                    &place.field(name),
                    FieldReason::Required,
                    None,
                    format_args!(""),
                );
            }
        }
        if node.embedded {
            self.embedded(map, place);
        }
        for (name, value) in map {
            let before = old.and_then(|old| old.get(name));
            match (node.property(name), node.additional) {
                (Some(property), _) => self.value(property.node, value, before, &place.field(name)),
                (None, Additional::Schema(child)) => {
                    self.value(child, value, before, &place.key(name));
                }
                (None, Additional::Any | Additional::No) => {}
            }
        }
    }

    /// A whole object inside another must say what it is.
    fn embedded(&mut self, map: &Map<String, Value>, place: &Place<'_>) {
        for name in ["apiVersion", "kind"] {
            if map
                .get(name)
                .and_then(Value::as_str)
                .is_none_or(str::is_empty)
            {
                self.refuse(
                    &place.field(name),
                    FieldReason::Required,
                    None,
                    format_args!("must not be empty"),
                );
            }
        }
    }

    fn array(&mut self, node: &Node, entries: &[Value], old: Option<&Value>, place: &Place<'_>) {
        match &node.list {
            ListType::Set if node.unique => unique::set(self, entries, place),
            ListType::Map(keys) if node.unique => unique::map(self, keys, entries, place),
            ListType::Set | ListType::Map(_) | ListType::Unset | ListType::Atomic => {}
        }
        let Some(items) = node.items else { return };
        let old = correlate::Entries::new(&node.list, old);
        for (index, entry) in entries.iter().enumerate() {
            self.value(items, entry, old.find(entry), &place.index(index));
        }
    }

    fn type_fits(&mut self, node: &Node, value: &Value, place: &Place<'_>) -> bool {
        let fits = match node.ty {
            Type::Any => true,
            Type::Object => value.is_object(),
            Type::Array => value.is_array(),
            Type::String => value.is_string(),
            Type::Boolean => value.is_boolean(),
            Type::Number => value.is_number(),
            Type::Integer => is_integer(value),
            Type::IntOrString => value.is_string() || is_integer(value),
            Type::Quantity => value.is_string() || value.is_number(),
        };
        if !fits {
            let given = type_name(value);
            let detail = format_args!("must be of type {}: \"{given}\"", node.ty.name());
            let reason = FieldReason::TypeInvalid;
            self.refuse_in_body(place, reason, &Value::from(given), detail);
        }
        fits
    }

    fn checks(&mut self, checks: &Checks, value: &Value, place: &Place<'_>) {
        let enumeration = &checks.enumeration;
        if !enumeration.is_empty() && !enumeration.has(value) {
            let detail = format_args!("supported values: {enumeration}");
            self.refuse(place, FieldReason::NotSupported, Some(value), detail);
        }
        match value {
            Value::String(text) => self.string(checks, text, value, place),
            Value::Number(number) => self.number(checks, number, value, place),
            Value::Array(entries) => {
                let limits = (checks.min_items, checks.max_items);
                self.length(entries.len() as u64, limits, "items", place);
            }
            Value::Object(map) => {
                let limits = (checks.min_properties, checks.max_properties);
                self.length(map.len() as u64, limits, "properties", place);
            }
            Value::Null | Value::Bool(_) => {}
        }
        if checks.has_junctors() {
            self.junctors(checks, value, place);
        }
    }

    fn string(&mut self, checks: &Checks, text: &str, value: &Value, place: &Place<'_>) {
        if let Some(format) = checks.format
            && !format.matches(text)
        {
            let encoded = if format == Format::Byte {
                " (base64)"
            } else {
                ""
            };
            let detail = format_args!("must be of type {}{encoded}: {value}", format.name());
            self.refuse_in_body(place, FieldReason::Invalid, value, detail);
        }
        if let Some(pattern) = &checks.pattern
            && self.may_take(pattern.steps(text))
            && !pattern.is_match(text)
        {
            let detail = format_args!("should match '{}'", pattern.as_str());
            self.refuse_in_body(place, FieldReason::Invalid, value, detail);
        }
        if checks.min_length.is_none() && checks.max_length.is_none() {
            return;
        }
        let length = text.chars().count() as u64;
        if let Some(least) = checks.min_length.filter(|least| length < *least) {
            let detail = format_args!("should be at least {least} chars long");
            self.refuse_in_body(place, FieldReason::Invalid, value, detail);
        }
        if let Some(most) = checks.max_length.filter(|most| length > *most) {
            let detail = format_args!("may not be more than {most} bytes");
            self.refuse(place, FieldReason::TooLong, None, detail);
        }
    }

    fn number(&mut self, checks: &Checks, number: &Number, value: &Value, place: &Place<'_>) {
        let out_of_range = match checks.format {
            Some(Format::Int32) => number.as_i64().is_none_or(|n| i32::try_from(n).is_err()),
            Some(Format::Int64) => number.as_i64().is_none(),
            _ => false,
        };
        if out_of_range {
            let name = checks.format.map_or("integer", Format::name);
            let detail = format_args!("must be of type {name}: {value}");
            self.refuse_in_body(place, FieldReason::Invalid, value, detail);
        }
        if let Some(Bound {
            value: limit,
            exclusive,
        }) = &checks.minimum
        {
            let order = compare(number, limit);
            if order.is_lt() || *exclusive && order.is_eq() {
                let or_equal = if *exclusive { "" } else { " or equal to" };
                let detail = format_args!("should be greater than{or_equal} {limit}");
                self.refuse_in_body(place, FieldReason::Invalid, value, detail);
            }
        }
        if let Some(Bound {
            value: limit,
            exclusive,
        }) = &checks.maximum
        {
            let order = compare(number, limit);
            if order.is_gt() || *exclusive && order.is_eq() {
                let or_equal = if *exclusive { "" } else { " or equal to" };
                let detail = format_args!("should be less than{or_equal} {limit}");
                self.refuse_in_body(place, FieldReason::Invalid, value, detail);
            }
        }
        if let Some(factor) = checks.multiple_of {
            let quotient = number.as_f64().unwrap_or(0.0) / factor;
            if (quotient - quotient.round()).abs() > 1e-9 {
                let detail = format_args!("should be a multiple of {factor}");
                self.refuse_in_body(place, FieldReason::Invalid, value, detail);
            }
        }
    }

    fn length(
        &mut self,
        length: u64,
        (least, most): (Option<u64>, Option<u64>),
        what: &str,
        place: &Place<'_>,
    ) {
        if let Some(least) = least.filter(|least| length < *least) {
            let detail = format_args!("should have at least {least} {what}");
            self.refuse_in_body(place, FieldReason::Invalid, &Value::from(length), detail);
        }
        if let Some(most) = most.filter(|most| length > *most) {
            let detail = format_args!("must have at most {most} {what}");
            self.refuse(
                place,
                FieldReason::TooMany,
                Some(&Value::from(length)),
                detail,
            );
        }
    }

    fn junctors(&mut self, checks: &Checks, value: &Value, place: &Place<'_>) {
        for branch in &checks.all_of {
            self.value(*branch, value, None, place);
        }
        if !checks.any_of.is_empty() && !checks.any_of.iter().any(|id| self.accepts(*id, value)) {
            let rule = format_args!("must validate at least one schema (anyOf)");
            self.junctor(value, rule, place);
        }
        if !checks.one_of.is_empty() {
            let rule = "must validate one and only one schema (oneOf). Found";
            match checks
                .one_of
                .iter()
                .filter(|id| self.accepts(**id, value))
                .count()
            {
                1 => {}
                0 => self.junctor(value, format_args!("{rule} none valid"), place),
                many => {
                    let rule = format_args!("{rule} {many} valid alternatives");
                    self.junctor(value, rule, place);
                }
            }
        }
        if checks.not.is_some_and(|id| self.accepts(id, value)) {
            let rule = format_args!("must not validate the schema (not)");
            self.junctor(value, rule, place);
        }
    }

    fn junctor(&mut self, value: &Value, rule: fmt::Arguments<'_>, place: &Place<'_>) {
        if self.says_only_whether() {
            return;
        }
        let detail = format_args!("\"{}\" {rule}", place.path());
        self.refuse(place, FieldReason::Invalid, Some(value), detail);
    }

    /// Whether a branch of a junctor holds; its own errors are not reported.
    fn accepts(&self, id: NodeId, value: &Value) -> bool {
        let mut branch = Walk {
            arena: self.arena,
            steps: self.steps,
            found: Found::Whether(false),
        };
        branch.value(id, value, None, &Place::root(""));
        // Without steps it is not known, and the whole value is refused for that.
        !branch.is_full()
    }

    /// Notes that something is wrong, if nothing is to be said about it.
    fn says_only_whether(&mut self) -> bool {
        match &mut self.found {
            Found::Listed(_) => false,
            Found::Whether(is_wrong) => {
                *is_wrong = true;
                true
            }
        }
    }

    /// Refuses a value in the words that begin with its path.
    fn refuse_in_body(
        &mut self,
        place: &Place<'_>,
        reason: FieldReason,
        value: &Value,
        detail: fmt::Arguments<'_>,
    ) {
        if self.says_only_whether() || self.is_full() {
            return;
        }
        let path = place.path();
        let detail = format_args!("{} in body {detail}", path.as_str());
        self.refuse(place, reason, Some(value), detail);
    }

    pub(crate) fn refuse(
        &mut self,
        place: &Place<'_>,
        reason: FieldReason,
        value: Option<&Value>,
        detail: fmt::Arguments<'_>,
    ) {
        if self.says_only_whether() || self.is_full() {
            return;
        }
        let path = place.path();
        let detail = detail.to_string();
        let error = match value {
            Some(value) => FieldError::with_value(&path, reason, value, detail),
            None => FieldError::new(&path, reason, detail),
        };
        if let Found::Listed(errors) = &mut self.found {
            errors.push(error);
        }
    }
}

/// What looking at a value costs, without what is in it.
fn steps(node: &Node, value: &Value) -> usize {
    let checks = node.checks.as_ref();
    let compared = checks.map_or(0, |checks| checks.enumeration.steps());
    let text = value.as_str().map_or(0, str::len);
    1 + node.required.len() / NAMES_OF_A_STEP + compared + text / BYTES_OF_A_STEP
}

/// A whole number; `1.0` counts, since JSON doesn't tell it from `1`.
pub(crate) fn is_integer(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            number.is_i64()
                || number.is_u64()
                || number
                    .as_f64()
                    .is_some_and(|float| float.fract() == 0.0 && float.is_finite())
        }
        _ => false,
    }
}

/// The name of a value's type in messages.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if is_integer(value) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Equality in which `1` and `1.0` are the same number.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b).is_eq(),
        _ => a == b,
    }
}

/// The order of two numbers, exact for integers.
fn compare(a: &Number, b: &Number) -> std::cmp::Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    if let (Some(a), Some(b)) = (a.as_u64(), b.as_u64()) {
        return a.cmp(&b);
    }
    let (a, b) = (
        a.as_f64().unwrap_or(f64::NAN),
        b.as_f64().unwrap_or(f64::NAN),
    );
    a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal)
}
