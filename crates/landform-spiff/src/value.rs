//! The values that an evaluation works with. They are shared and never change.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::ast::Lambda;
use crate::document::Node;
use crate::instance::InstanceId;

/// How deep values may be nested.
pub(crate) const DEEPEST_VALUE: usize = 100;

#[derive(Debug, Clone)]
pub(crate) enum Value<'d> {
    /// `~~`: whatever gets it is left out.
    Undefined,
    Nil,
    Bool(bool),
    /// Between the smallest `i64` and the largest `u64`, so that every integer of JSON has a place.
    Int(i128),
    Float(f64),
    Text(Rc<str>),
    List(List<'d>),
    Map(Map<'d>),
    Lambda(Rc<Closure<'d>>),
    /// A node that is evaluated where it is used: `*name`.
    Template(InstanceId),
    /// An entry of a map or list that can be seen, and is left out of the output.
    Temporary(Rc<Value<'d>>),
}

impl<'d> Value<'d> {
    pub(crate) fn text(text: impl AsRef<str>) -> Self {
        Value::Text(Rc::from(text.as_ref()))
    }

    /// What it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Undefined => "undefined",
            Value::Nil => "nil",
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Lambda(_) => "a function",
            Value::Template(_) => "a template",
            Value::Temporary(inner) => inner.kind(),
        }
    }

    /// The value without the mark that it is temporary.
    pub(crate) fn plain(&self) -> &Value<'d> {
        match self {
            Value::Temporary(inner) => inner.plain(),
            other => other,
        }
    }

    /// What counts as true in conditions.
    pub(crate) fn holds(&self) -> bool {
        match self {
            Value::Undefined | Value::Nil => false,
            Value::Bool(value) => *value,
            Value::Int(number) => *number != 0,
            Value::Float(number) => *number != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(list) => !list.items().is_empty(),
            Value::Map(map) => !map.entries().is_empty(),
            Value::Lambda(_) | Value::Template(_) => true,
            Value::Temporary(inner) => inner.holds(),
        }
    }

    pub(crate) fn is_defined(&self) -> bool {
        !matches!(self, Value::Undefined)
    }

    fn depth(&self) -> usize {
        match self {
            Value::List(list) => list.0.depth,
            Value::Map(map) => map.0.depth,
            Value::Lambda(closure) => closure.depth(),
            Value::Temporary(inner) => inner.depth(),
            Value::Undefined
            | Value::Nil
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Template(_) => 0,
        }
    }
}

/// `None` when the values stand too deep in each other: dropping them would need a stack as deep.
fn depth_above<'a, 'd: 'a>(values: impl Iterator<Item = &'a Value<'d>>) -> Option<usize> {
    let depth = values.map(Value::depth).max().unwrap_or(0) + 1;
    (depth <= DEEPEST_VALUE).then_some(depth)
}

#[derive(Debug)]
struct Nested<T> {
    content: T,
    depth: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct List<'d>(Rc<Nested<Vec<Value<'d>>>>);

impl<'d> List<'d> {
    /// `None` when values would be nested too deeply.
    pub(crate) fn new(items: Vec<Value<'d>>) -> Option<Self> {
        let depth = depth_above(items.iter())?;
        Some(List(Rc::new(Nested {
            content: items,
            depth,
        })))
    }

    pub(crate) fn items(&self) -> &[Value<'d>] {
        &self.0.content
    }

    /// The items without marks.
    pub(crate) fn plain(&self) -> impl Iterator<Item = &Value<'d>> {
        self.items().iter().map(Value::plain)
    }

    /// The item at an index; negative ones count from the end.
    pub(crate) fn at(&self, index: i64) -> Option<&Value<'d>> {
        let at = position(index, self.items().len())?;
        self.items().get(at).map(Value::plain)
    }

    /// The first item that has this name.
    pub(crate) fn named(&self, key: &str, name: &str) -> Option<&Value<'d>> {
        self.plain().find(|item| match item {
            Value::Map(map) => matches!(map.get(key), Some(Value::Text(text)) if **text == *name),
            _ => false,
        })
    }
}

/// An index as a position; negative ones count from the end.
pub(crate) fn position(index: i64, length: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => (index < length).then_some(index),
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

/// The content of a map.
pub(crate) type Entries<'d> = BTreeMap<Rc<str>, Value<'d>>;

#[derive(Debug, Clone)]
pub(crate) struct Map<'d>(Rc<Nested<Entries<'d>>>);

impl<'d> Map<'d> {
    /// `None` when values would be nested too deeply.
    pub(crate) fn new(entries: Entries<'d>) -> Option<Self> {
        let depth = depth_above(entries.values())?;
        Some(Map(Rc::new(Nested {
            content: entries,
            depth,
        })))
    }

    pub(crate) fn entries(&self) -> &Entries<'d> {
        &self.0.content
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value<'d>> {
        self.entries().get(key).map(Value::plain)
    }

    /// The entries without marks.
    pub(crate) fn plain(&self) -> impl Iterator<Item = (&Rc<str>, &Value<'d>)> {
        let entries = self.entries().iter();
        entries.map(|(key, value)| (key, value.plain()))
    }
}

/// A function with what it sees.
#[derive(Debug)]
pub(crate) struct Closure<'d> {
    pub(crate) lambda: &'d Lambda,
    /// Parameters that have no value yet, by their number.
    pub(crate) open: Vec<usize>,
    pub(crate) scope: Scope<'d>,
    /// The node whose text it stands in.
    pub(crate) source: &'d Node,
    /// Where it was made.
    pub(crate) place: InstanceId,
}

impl Closure<'_> {
    fn depth(&self) -> usize {
        depth_of(&self.scope) + 1
    }
}

/// Names that an expression gave to values, from the inside to the outside.
pub(crate) type Scope<'d> = Option<Rc<Frame<'d>>>;

#[derive(Debug)]
pub(crate) struct Frame<'d> {
    names: Vec<(Rc<str>, Value<'d>)>,
    outer: Scope<'d>,
    depth: usize,
}

fn depth_of(scope: &Scope<'_>) -> usize {
    scope.as_ref().map_or(0, |frame| frame.depth)
}

impl<'d> Frame<'d> {
    /// `None` when values or scopes would be nested too deeply.
    pub(crate) fn scope(names: Vec<(Rc<str>, Value<'d>)>, outer: Scope<'d>) -> Option<Scope<'d>> {
        let values = depth_above(names.iter().map(|(_, value)| value))?;
        let depth = values.max(depth_of(&outer) + 1);
        (depth <= DEEPEST_VALUE).then(|| {
            Some(Rc::new(Frame {
                names,
                outer,
                depth,
            }))
        })
    }

    pub(crate) fn find<'s>(scope: &'s Scope<'d>, name: &str) -> Option<&'s Value<'d>> {
        let mut next = scope.as_ref();
        while let Some(frame) = next {
            let found = frame.names.iter().rev().find(|(own, _)| **own == *name);
            if let Some((_, value)) = found {
                return Some(value);
            }
            next = frame.outer.as_ref();
        }
        None
    }
}
