//! What one value may cost, wherever it comes from: a body, the result of a patch or a template, a hook's answer, a
//! stored object.
//!
//! Every path into the store measures what it is about to keep with the same [`Budget`]. What is reported about a
//! value is limited too: the first hundred problems, each with at most 200 bytes of what the sender wrote.
//!
//! What a value costs in memory is counted in cells of about 32 to 80 bytes. A map takes a whole node of a tree, however
//! little is in it, so that a megabyte of small maps takes eighty times as much when it is decoded.

mod decode;

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

pub use decode::decode;

/// A report lists at most this many problems.
pub const PROBLEMS_LISTED_MAX: usize = 100;
/// A report shows at most this much of a text that the sender wrote.
pub const SHOWN_BYTES_MAX: usize = 200;

/// A map counts as many cells, beside those of what is in it.
pub const MAP_CELLS: usize = 8;
/// So does a list.
pub const LIST_CELLS: usize = 4;

/// How many cells a value takes, without those of its entries.
#[must_use]
pub fn own_cells(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        Value::Array(_) => LIST_CELLS,
        Value::Object(_) => MAP_CELLS,
    }
}

/// The largest value that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many maps and lists may stand inside each other.
    pub depth: usize,
    /// How many cells there may be: 8 for a map, 4 for a list, 1 for any other value.
    pub cells: usize,
    /// How many bytes the value may have as text.
    pub bytes: usize,
}

impl Budget {
    /// Of an object, and of whatever becomes part of one.
    pub const OBJECT: Self = Self {
        depth: 100,
        cells: 500_000,
        bytes: 3 * 1024 * 1024,
    };
    /// Of all values that a run works with, and of what it makes of them.
    pub const RUN: Self = Self {
        depth: 100,
        cells: 1_000_000,
        bytes: 64 * 1024 * 1024,
    };
    /// Of a file with many objects in it, which the operator of the server chose.
    pub const FILE: Self = Self {
        depth: 100,
        cells: 4_000_000,
        bytes: 64 * 1024 * 1024,
    };

    /// Measures a value, without recursion and no further than the budget reaches.
    ///
    /// # Errors
    /// What the value has too much of.
    pub fn check(&self, value: &Value) -> Result<Size, Exceeded> {
        let mut size = Size::default();
        let mut open: Vec<Entries<'_>> = Vec::new();
        let mut next = Some(value);
        loop {
            while let Some(value) = next.take() {
                size.cells += own_cells(value);
                size.bytes += own_bytes(value);
                self.holds(&size)?;
                if let Some(entries) = Entries::of(value) {
                    open.push(entries);
                    size.depth = size.depth.max(open.len());
                    self.holds(&size)?;
                }
                next = open.last_mut().and_then(|entries| entries.next(&mut size));
            }
            open.pop();
            if open.is_empty() {
                return Ok(size);
            }
            next = open.last_mut().and_then(|entries| entries.next(&mut size));
        }
    }

    /// Whether something of this size is within the budget.
    ///
    /// # Errors
    /// What it has too much of.
    pub fn holds(&self, size: &Size) -> Result<(), Exceeded> {
        if size.depth > self.depth {
            return Err(Exceeded::Depth(self.depth));
        }
        if size.cells > self.cells {
            return Err(Exceeded::Cells(self.cells));
        }
        if size.bytes > self.bytes {
            return Err(Exceeded::Bytes(self.bytes));
        }
        Ok(())
    }
}

/// How large a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// How many maps and lists stand inside each other.
    pub depth: usize,
    /// How many cells they take: 8 for a map, 4 for a list, 1 for any other value.
    pub cells: usize,
    /// About how many bytes it has as JSON text.
    pub bytes: usize,
}

impl Size {
    /// The size of a value that is known to be within a budget's depth; nothing is refused.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        let unlimited = Budget {
            depth: usize::MAX,
            cells: usize::MAX,
            bytes: usize::MAX,
        };
        unlimited.check(value).unwrap_or_default()
    }

    /// The size of what a JSON text says, at most, without building it. A text that is no JSON is measured like one.
    #[must_use]
    pub fn of_text(text: &[u8]) -> Self {
        let mut size = Self {
            depth: 0,
            cells: 1,
            bytes: text.len(),
        };
        let mut depth = 0_usize;
        let mut bytes = text.iter();
        while let Some(byte) = bytes.next() {
            match byte {
                b'{' | b'[' => {
                    size.cells += if *byte == b'{' { MAP_CELLS } else { LIST_CELLS };
                    depth += 1;
                    size.depth = size.depth.max(depth);
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                b',' => size.cells += 1,
                b'"' => skip_string(&mut bytes),
                _ => {}
            }
        }
        size
    }
}

/// Goes to the end of a string that was begun.
fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

/// What a value has too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// It is nested deeper than this.
    Depth(usize),
    /// It takes more cells than this.
    Cells(usize),
    /// It has more bytes than this.
    Bytes(usize),
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(most) => write!(f, "it is nested deeper than {most} levels"),
            Self::Cells(most) => write!(
                f,
                "it takes more than {most} cells (a map counts {MAP_CELLS}, a list {LIST_CELLS}, any other value 1): split it into several objects"
            ),
            Self::Bytes(most) => write!(f, "it has more than {most} bytes"),
        }
    }
}

impl std::error::Error for Exceeded {}

/// A text of the sender's as a report shows it: its beginning, cut at a character.
#[must_use]
pub fn shown(text: &str) -> Cow<'_, str> {
    if text.len() <= SHOWN_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!(
        "{}…",
        &text[..text.floor_char_boundary(SHOWN_BYTES_MAX)]
    ))
}

/// What a map or list still has to be looked at.
enum Entries<'v> {
    List(std::slice::Iter<'v, Value>),
    Map(serde_json::map::Iter<'v>),
}

impl<'v> Entries<'v> {
    fn of(value: &'v Value) -> Option<Self> {
        match value {
            Value::Array(list) => Some(Self::List(list.iter())),
            Value::Object(map) => Some(Self::Map(map.iter())),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }

    fn next(&mut self, size: &mut Size) -> Option<&'v Value> {
        match self {
            Self::List(list) => list.next(),
            Self::Map(map) => map.next().map(|(key, value)| {
                size.bytes += key.len() + 4;
                value
            }),
        }
    }
}

/// A value's own bytes, without those of its entries.
fn own_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(_) | Value::Object(_) => 2,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!(1), |inner, _| json!([inner]))
    }

    #[test]
    fn a_value_is_measured_by_depth_values_and_bytes() {
        for (value, depth, cells) in [
            (json!(1), 0, 1),
            (json!([]), 1, 4),
            (json!({"a": {}, "b": [1, [2]]}), 3, 26),
            (nested(50), 50, 201),
        ] {
            let size = Size::of(&value);
            assert_eq!((size.depth, size.cells), (depth, cells), "{value}");
        }
        assert!(Size::of(&json!({"abc": "defg"})).bytes >= 11);
    }

    #[test]
    fn each_limit_is_held_alone() {
        let budget = Budget {
            depth: 3,
            cells: 17,
            bytes: 100,
        };
        for (value, expected) in [
            (nested(3), None),
            (nested(4), Some(Exceeded::Depth(3))),
            (json!(vec![true; 13]), None),
            (json!(vec![true; 14]), Some(Exceeded::Cells(17))),
            (json!({"a": {}}), None),
            (json!({"a": {"b": {}}}), Some(Exceeded::Cells(17))),
            (json!("x".repeat(99)), Some(Exceeded::Bytes(100))),
            (json!({"x".repeat(99): 1}), Some(Exceeded::Bytes(100))),
        ] {
            assert_eq!(budget.check(&value).err(), expected, "{value}");
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        assert_eq!(shown("short"), "short");
        let long = format!("{}é", "x".repeat(SHOWN_BYTES_MAX - 1));
        assert_eq!(
            shown(&long),
            format!("{}…", "x".repeat(SHOWN_BYTES_MAX - 1))
        );
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c]{0,5}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
                prop::collection::btree_map("[a-c]{0,3}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// The same by recursion.
    fn measured(value: &Value) -> (usize, usize) {
        let entries: Vec<&Value> = match value {
            Value::Array(list) => list.iter().collect(),
            Value::Object(map) => map.values().collect(),
            _ => return (0, 1),
        };
        let inner = entries.into_iter().map(measured);
        let (depth, cells) = inner.fold((0, 0), |(d, n), (depth, cells)| (d.max(depth), n + cells));
        (depth + 1, cells + own_cells(value))
    }

    #[test]
    fn a_text_is_measured_whether_or_not_it_is_json() {
        for (text, depth, cells) in [
            ("1", 0, 1),
            ("[]", 1, 5),
            (r#"{"a": {}, "b": [1, [2]]}"#, 3, 27),
            (r#"["a\"{[,", 2]"#, 1, 6),
            ("[[[", 3, 13),
            ("]]]}[", 1, 5),
            (r#"["{{{{"#, 1, 5),
            ("", 0, 1),
        ] {
            let size = Size::of_text(text.as_bytes());
            assert_eq!(
                (size.depth, size.cells, size.bytes),
                (depth, cells, text.len()),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_text_has_the_size_of_its_value(value in any_value()) {
            let (text, value) = (Size::of_text(value.to_string().as_bytes()), Size::of(&value));
            prop_assert_eq!(text.depth, value.depth);
            // Scalars of a text are counted by the commas: an empty map or list counts one more.
            prop_assert!(text.cells >= value.cells && text.cells <= value.cells * 5 / 4 + 1, "{:?} {:?}", text, value);
        }

        #[test]
        fn measuring_agrees_with_recursion(value in any_value()) {
            let size = Size::of(&value);
            prop_assert_eq!((size.depth, size.cells), measured(&value));
            prop_assert!(size.bytes + size.cells * 20 >= value.to_string().len());
        }
    }
}
