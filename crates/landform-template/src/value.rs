//! The values that a template works with.
//!
//! Maps are shared and can be changed, as in Go: sprig's `set` changes the map that its argument
//! names, and everybody who holds it sees that. Therefore maps belong to one run, which empties
//! them at its end; so neither a map that holds itself nor a long chain of maps does harm.

use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use time::OffsetDateTime;

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Rc<str>),
    List(List),
    Map(Map),
    Time(OffsetDateTime),
}

/// A list that never changes.
#[derive(Debug, Clone)]
pub(crate) struct List {
    items: Rc<Vec<Value>>,
    /// How many lists stand inside each other, maps not counted.
    depth: usize,
}

impl List {
    /// `None` when lists would be nested too deeply.
    pub(crate) fn new(items: Vec<Value>) -> Option<Self> {
        let inner = items.iter().map(|item| match item {
            Value::List(list) => list.depth,
            _ => 0,
        });
        let depth = inner.max().unwrap_or(0) + 1;
        (depth <= DEEPEST_VALUE).then(|| List {
            items: Rc::new(items),
            depth,
        })
    }

    pub(crate) fn items(&self) -> &[Value] {
        &self.items
    }
}

/// How deep values may be nested.
pub(crate) const DEEPEST_VALUE: usize = 100;

/// The content of a map.
pub(crate) type Entries = BTreeMap<Rc<str>, Value>;

/// A map that can be changed by all who hold it.
#[derive(Debug, Clone)]
pub(crate) struct Map(Rc<RefCell<Entries>>);

impl Map {
    pub(crate) fn entries(&self) -> Ref<'_, Entries> {
        self.0.borrow()
    }

    pub(crate) fn get(&self, key: &str) -> Option<Value> {
        self.0.borrow().get(key).cloned()
    }

    pub(crate) fn insert(&self, key: &str, value: Value) {
        self.0.borrow_mut().insert(Rc::from(key), value);
    }

    pub(crate) fn remove(&self, key: &str) {
        // What was removed is dropped after the borrow ends.
        let removed = self.0.borrow_mut().remove(key);
        drop(removed);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    pub(crate) fn same(&self, other: &Map) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

/// All maps of a run; they stay until the run ends.
#[derive(Debug, Default)]
pub(crate) struct Maps {
    all: RefCell<Vec<Map>>,
    count: Cell<usize>,
}

impl Maps {
    pub(crate) fn create(&self, entries: Entries) -> Map {
        let map = Map(Rc::new(RefCell::new(entries)));
        self.all.borrow_mut().push(map.clone());
        self.count.set(self.count.get() + 1);
        map
    }
}

impl Drop for Maps {
    fn drop(&mut self) {
        // Emptied one by one, and their content dropped only then: the depth of what is dropped at
        // once is that of lists, which is limited.
        let maps = std::mem::take(&mut *self.all.borrow_mut());
        let contents: Vec<Entries> = maps.iter().map(|map| map.0.take()).collect();
        drop(contents);
    }
}

impl Value {
    pub(crate) fn text(text: impl AsRef<str>) -> Self {
        Value::Text(Rc::from(text.as_ref()))
    }

    /// The type in Go's words, as errors and `kindOf` name it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float64",
            Value::Text(_) => "string",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Time(_) => "time",
        }
    }

    /// Whether `if`, `and` and sprig's `default` take it for something.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Value::Nil => false,
            Value::Bool(value) => *value,
            Value::Int(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(list) => !list.items().is_empty(),
            Value::Map(map) => map.len() > 0,
            Value::Time(_) => true,
        }
    }
}
