//! Where a walk over an object is, without allocating until somebody asks.
//!
//! Most walks find nothing to report, so the way from the root is a chain of stack frames that is
//! spelled out only for an error.

use landform_api::FieldPath;

/// A step of a walk and the steps before it.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    before: Option<&'a Place<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    /// Where the walk began.
    Root(&'a str),
    Field(&'a str),
    /// A key of a map, which is data and not a field name.
    Key(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    /// The beginning of a walk, at this path.
    pub(crate) fn root(path: &'a str) -> Self {
        Self {
            before: None,
            step: Step::Root(path),
        }
    }

    pub(crate) fn field<'b>(&'b self, name: &'b str) -> Place<'b> {
        Place {
            before: Some(self),
            step: Step::Field(name),
        }
    }

    pub(crate) fn key<'b>(&'b self, key: &'b str) -> Place<'b> {
        Place {
            before: Some(self),
            step: Step::Key(key),
        }
    }

    pub(crate) fn index(&self, index: usize) -> Place<'_> {
        Place {
            before: Some(self),
            step: Step::Index(index),
        }
    }

    /// The path in the form of errors: `spec.list[0].map[key]`.
    pub(crate) fn path(&self) -> FieldPath {
        let mut path = match self.before {
            Some(before) => before.path(),
            None => FieldPath::root(),
        };
        match self.step {
            Step::Root(text) => return FieldPath::of(text),
            Step::Field(name) => path.push_field(name),
            Step::Key(key) => path.push_key(key),
            Step::Index(index) => path.push_index(index),
        };
        path
    }
}
