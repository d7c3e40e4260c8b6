//! JSONPath as Kubernetes writes it in printer columns, scale paths and references.
//!
//! Supported: `.field`, `['field']`, `\.` inside a field, `[0]`, `[-1]`, `[1:3]`, `[*]`, `.*`,
//! `..field`, and filters `[?(@.type=="Ready")]` with `==`, `!=`, `<`, `<=`, `>`, `>=` or mere
//! existence. Braces around the whole path and a missing leading dot are accepted.
//!
//! A step gives each value once, even if it is reached in several ways, and a path that has to look at more than
//! [`LOOKS_MAX`] values finds nothing: paths and values come from clients, and `..a..a..a` would multiply.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::ptr;

use serde_json::Value;

/// A compiled path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    Slice(Option<i64>, Option<i64>),
    All,
    Descend(String),
    Filter(Filter),
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: JsonPath,
    test: Option<(Comparison, Value)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A path that can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPathError {
    /// The byte at which reading stopped.
    pub at: usize,
    /// What was expected.
    pub problem: String,
}

impl fmt::Display for JsonPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.at + 1, self.problem)
    }
}

impl std::error::Error for JsonPathError {}

/// Filters may be nested this deep.
const DEEPEST_FILTER: usize = 8;
/// A path looks at this many values at most.
pub const LOOKS_MAX: usize = 2_000_000;

/// How many values may still be looked at.
struct Looks(Cell<usize>);

impl Looks {
    /// None when they are used up.
    fn take(&self, count: usize) -> Option<()> {
        self.0.set(self.0.get().checked_sub(count)?);
        Some(())
    }
}

impl JsonPath {
    /// Compiles a path.
    ///
    /// # Errors
    /// Says where the text stops being a path.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        let inner = text.trim();
        let inner = inner
            .strip_prefix('{')
            .and_then(|t| t.strip_suffix('}'))
            .unwrap_or(inner);
        let offset = text.find(inner).unwrap_or(0);
        let mut reader = Reader {
            text: inner,
            at: 0,
            depth: 0,
        };
        let steps = reader
            .steps(true)
            .and_then(|steps| {
                if reader.rest().is_empty() {
                    Ok(steps)
                } else {
                    Err(reader.error("expected '.' or '['"))
                }
            })
            .map_err(|error| JsonPathError {
                at: error.at + offset,
                ..error
            })?;
        Ok(Self { steps })
    }

    /// The values that the path leads to, in document order.
    #[must_use]
    pub fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let looks = Looks(Cell::new(LOOKS_MAX));
        self.search(value, &looks).unwrap_or_default()
    }

    /// None when there are no looks left.
    fn search<'a>(&self, value: &'a Value, looks: &Looks) -> Option<Vec<&'a Value>> {
        let mut found = vec![value];
        for step in &self.steps {
            looks.take(found.len())?;
            let mut next = Vec::new();
            for value in found {
                step.follow(value, &mut next, looks)?;
            }
            if matches!(step, Step::Descend(_)) {
                let mut seen = HashSet::new();
                next.retain(|value| seen.insert(ptr::from_ref(*value)));
            }
            found = next;
        }
        Some(found)
    }

    /// The first value that the path leads to.
    #[must_use]
    pub fn first<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.find(value).into_iter().next()
    }

    /// The field that the path begins with, if it begins with one.
    #[must_use]
    pub fn first_field(&self) -> Option<&str> {
        match self.steps.first()? {
            Step::Field(name) => Some(name),
            Step::Index(_) | Step::Slice(..) | Step::All | Step::Descend(_) | Step::Filter(_) => {
                None
            }
        }
    }

    /// The names of the path when it is fields only, as in `.spec.replicas`.
    #[must_use]
    pub fn fields(&self) -> Option<Vec<&str>> {
        self.steps
            .iter()
            .map(|step| match step {
                Step::Field(name) => Some(name.as_str()),
                _ => None,
            })
            .collect()
    }
}

impl Step {
    fn follow<'a>(&self, value: &'a Value, out: &mut Vec<&'a Value>, looks: &Looks) -> Option<()> {
        match (self, value) {
            (Self::Field(name), Value::Object(map)) => out.extend(map.get(name)),
            (Self::Index(index), Value::Array(list)) => {
                out.extend(resolve(*index, list.len()).and_then(|index| list.get(index)));
            }
            (Self::Slice(from, to), Value::Array(list)) => {
                let clamp = |index: i64| {
                    let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
                    let absolute = if index < 0 {
                        index.saturating_add(length)
                    } else {
                        index
                    };
                    usize::try_from(absolute.clamp(0, length)).unwrap_or(0)
                };
                let (from, to) = (from.map_or(0, clamp), to.map_or(list.len(), clamp));
                if from < to {
                    out.extend(&list[from..to]);
                }
            }
            (Self::All, Value::Array(list)) => out.extend(list),
            (Self::All, Value::Object(map)) => out.extend(map.values()),
            (Self::Descend(name), _) => descend(value, name, out, looks)?,
            (Self::Filter(filter), Value::Array(list)) => {
                for entry in list {
                    if filter.accepts(entry, looks)? {
                        out.push(entry);
                    }
                }
            }
            _ => {}
        }
        Some(())
    }
}

fn resolve(index: i64, length: usize) -> Option<usize> {
    if index >= 0 {
        usize::try_from(index).ok()
    } else {
        usize::try_from(i64::try_from(length).ok()?.checked_add(index)?).ok()
    }
}

fn descend<'a>(
    value: &'a Value,
    name: &str,
    out: &mut Vec<&'a Value>,
    looks: &Looks,
) -> Option<()> {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        looks.take(1)?;
        match value {
            Value::Object(map) => {
                out.extend(map.get(name));
                waiting.extend(map.values().rev());
            }
            Value::Array(list) => waiting.extend(list.iter().rev()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Some(())
}

impl Filter {
    fn accepts(&self, entry: &Value, looks: &Looks) -> Option<bool> {
        looks.take(1)?;
        let found = self.left.search(entry, looks)?.into_iter().next();
        Some(match (&self.test, found) {
            (None, found) => found.is_some(),
            (Some(_), None) => false,
            (Some((comparison, right)), Some(left)) => match comparison {
                Comparison::Equal => left == right,
                Comparison::NotEqual => left != right,
                Comparison::Less => compare(left, right) == Some(Ordering::Less),
                Comparison::LessOrEqual => {
                    matches!(compare(left, right), Some(Ordering::Less | Ordering::Equal))
                }
                Comparison::Greater => compare(left, right) == Some(Ordering::Greater),
                Comparison::GreaterOrEqual => {
                    matches!(
                        compare(left, right),
                        Some(Ordering::Greater | Ordering::Equal)
                    )
                }
            },
        })
    }
}

fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(l), Value::Number(r)) => l.as_f64()?.partial_cmp(&r.as_f64()?),
        (Value::String(l), Value::String(r)) => Some(l.cmp(r)),
        _ => None,
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error(&self, problem: &str) -> JsonPathError {
        JsonPathError {
            at: self.at,
            problem: problem.into(),
        }
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn steps(&mut self, bare_start: bool) -> Result<Vec<Step>, JsonPathError> {
        let mut steps = Vec::new();
        self.take("$");
        if bare_start
            && self
                .rest()
                .starts_with(|c: char| c.is_alphanumeric() || c == '_')
        {
            steps.push(Step::Field(self.name()?));
        }
        loop {
            if self.take("..") {
                steps.push(Step::Descend(self.name()?));
            } else if self.take(".") {
                if self.take("*") {
                    steps.push(Step::All);
                } else if self.rest().is_empty() && steps.is_empty() {
                    return Ok(steps);
                } else if !self.rest().starts_with('[') {
                    steps.push(Step::Field(self.name()?));
                }
            } else if self.take("[") {
                steps.push(self.bracket()?);
            } else {
                return Ok(steps);
            }
        }
    }

    fn name(&mut self) -> Result<String, JsonPathError> {
        let mut name = String::new();
        let mut chars = self.rest().char_indices();
        let mut end = self.rest().len();
        while let Some((index, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, escaped)) => name.push(escaped),
                    None => return Err(self.error("nothing follows the last '\\'")),
                },
                '.' | '[' | ']' | '(' | ')' | '=' | '!' | '<' | '>' | ' ' | '"' | '\'' | '{'
                | '}' => {
                    end = index;
                    break;
                }
                c => name.push(c),
            }
        }
        if name.is_empty() {
            return Err(self.error("expected a field name"));
        }
        self.at += end;
        Ok(name)
    }

    fn bracket(&mut self) -> Result<Step, JsonPathError> {
        self.spaces();
        let step = if self.take("?(") {
            self.depth += 1;
            if self.depth > DEEPEST_FILTER {
                return Err(self.error("filters are nested too deep"));
            }
            let filter = self.filter()?;
            self.depth -= 1;
            if !self.take(")") {
                return Err(self.error("expected ')'"));
            }
            Step::Filter(filter)
        } else if self.take("*") {
            Step::All
        } else if self.rest().starts_with(['\'', '"']) {
            Step::Field(self.quoted()?)
        } else {
            self.index_or_slice()?
        };
        self.spaces();
        if self.take("]") {
            Ok(step)
        } else {
            Err(self.error("expected ']'"))
        }
    }

    fn index_or_slice(&mut self) -> Result<Step, JsonPathError> {
        let from = self.integer()?;
        if self.take(":") {
            return Ok(Step::Slice(from, self.integer()?));
        }
        from.map(Step::Index)
            .ok_or_else(|| self.error("expected an index, '*', a filter or a quoted name"))
    }

    fn integer(&mut self) -> Result<Option<i64>, JsonPathError> {
        let rest = self.rest();
        let length = rest
            .char_indices()
            .find(|(index, c)| !(c.is_ascii_digit() || (*index == 0 && *c == '-')))
            .map_or(rest.len(), |(index, _)| index);
        if length == 0 {
            return Ok(None);
        }
        let number = rest[..length]
            .parse()
            .map_err(|_| self.error("expected a whole number"))?;
        self.at += length;
        Ok(Some(number))
    }

    fn quoted(&mut self) -> Result<String, JsonPathError> {
        let mut chars = self.rest().char_indices();
        let Some((_, quote)) = chars.next() else {
            return Err(self.error("expected a quote"));
        };
        let mut text = String::new();
        while let Some((index, c)) = chars.next() {
            match c {
                '\\' => text.extend(chars.next().map(|(_, escaped)| escaped)),
                c if c == quote => {
                    self.at += index + c.len_utf8();
                    return Ok(text);
                }
                c => text.push(c),
            }
        }
        Err(self.error("the quote is not closed"))
    }

    fn filter(&mut self) -> Result<Filter, JsonPathError> {
        self.spaces();
        if !self.take("@") {
            return Err(self.error("expected '@'"));
        }
        let left = JsonPath {
            steps: self.steps(false)?,
        };
        self.spaces();
        let comparison = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ]
        .into_iter()
        .find(|(token, _)| self.take(token));
        let Some((_, comparison)) = comparison else {
            return Ok(Filter { left, test: None });
        };
        self.spaces();
        let right = if self.rest().starts_with(['\'', '"']) {
            Value::String(self.quoted()?)
        } else {
            let end = self.rest().find([')', ' ']).unwrap_or(self.rest().len());
            let literal = &self.rest()[..end];
            let value = serde_json::from_str(literal)
                .map_err(|_| self.error("expected a quoted text, a number, true, false or null"))?;
            self.at += end;
            value
        };
        self.spaces();
        Ok(Filter {
            left,
            test: Some((comparison, right)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn find(path: &str, value: &Value) -> Value {
        JsonPath::parse(path)
            .unwrap()
            .find(value)
            .into_iter()
            .cloned()
            .collect()
    }

    #[test]
    fn each_kind_of_step_finds_what_it_names() {
        let object = json!({
            "spec": {"replicas": 3, "list": [1, 2, 3, 4], "a.b": "dotted"},
            "status": {"conditions": [
                {"type": "Ready", "status": "True", "n": 5},
                {"type": "Synced", "status": "False"},
            ]},
        });
        for (path, expected) in [
            (".spec.replicas", json!([3])),
            ("{.spec.replicas}", json!([3])),
            ("spec.replicas", json!([3])),
            ("$.spec.replicas", json!([3])),
            (".spec.absent", json!([])),
            (r".spec.a\.b", json!(["dotted"])),
            (".spec['a.b']", json!(["dotted"])),
            (".spec.list[0]", json!([1])),
            (".spec.list[-1]", json!([4])),
            (".spec.list[9]", json!([])),
            (".spec.list[1:3]", json!([2, 3])),
            (".spec.list[-2:]", json!([3, 4])),
            (".spec.list[*]", json!([1, 2, 3, 4])),
            (".status.conditions[*].type", json!(["Ready", "Synced"])),
            (
                r#".status.conditions[?(@.type=="Ready")].status"#,
                json!(["True"]),
            ),
            (
                ".status.conditions[?(@.type != 'Ready')].status",
                json!(["False"]),
            ),
            (".status.conditions[?(@.n)].type", json!(["Ready"])),
            (".status.conditions[?(@.n>=5)].type", json!(["Ready"])),
            (".status.conditions[?(@.n<5)].type", json!([])),
            ("..type", json!(["Ready", "Synced"])),
        ] {
            assert_eq!(find(path, &object), expected, "{path}");
        }
        assert_eq!(find(".", &json!(1)), json!([1]));
    }

    #[test]
    fn paths_that_multiply_end_and_give_each_value_once() {
        let deep = (0..90).fold(json!({"a": 1}), |inner, _| json!({"a": inner}));
        assert_eq!(
            JsonPath::parse(&"..a".repeat(30))
                .unwrap()
                .find(&deep)
                .len(),
            62
        );
        let twice = json!({"a": {"a": {"a": 1}}});
        assert_eq!(find("..a..a", &twice), json!([{"a": 1}, 1]));
        // Filters search what is below each entry again, on every level.
        let list = (0..60).fold(json!([{"b": 1}]), |inner, _| json!([{"b": 1, "a": inner}]));
        let filters = (0..6).fold("..b".to_owned(), |inner, _| format!("..a[?(@{inner})]"));
        let found = JsonPath::parse(&filters).unwrap().find(&list).len();
        assert!(found <= 61, "{found}");
        let wide: Vec<_> = (0..300_000).map(|n| json!({"a": n})).collect();
        assert_eq!(find("[*]", &json!(wide)).as_array().unwrap().len(), 300_000);
        assert_eq!(find(&"..a".repeat(8), &json!(wide)), json!([]));
    }

    #[test]
    fn a_broken_path_says_where() {
        for path in [
            ".spec.",
            ".a[",
            ".a[x]",
            ".a[?(@.b=='c')",
            ".a['b",
            ".a b",
            ".a[?(b)]",
            ".a]",
        ] {
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
        assert_eq!(
            JsonPath::parse(".a[x]").unwrap_err().to_string(),
            "at character 4: expected an index, '*', a filter or a quoted name"
        );
    }

    proptest! {
        #[test]
        fn no_path_panics(text in ".*", likely in r#"[.a\[\]?(@=="')*0-9:-]{0,20}"#) {
            let value = json!({"a": [{"a": 1}, 2]});
            for path in [JsonPath::parse(&text), JsonPath::parse(&likely)].into_iter().flatten() {
                let _ = path.find(&value);
            }
        }
    }
}
