//! `landform get --sort-by`: objects in the order of one of their fields, as kubectl sorts them.

use std::cmp::Ordering;

use serde_json::Value;

use crate::output::format::unbraced;
use crate::output::jsonpath::Path;

/// Reads what stands after `--sort-by`.
pub(super) fn path(text: &str) -> Result<Path, String> {
    Path::parse(unbraced(text))
}

/// Sorts the rows of a table or the items of a list. Those that are alike stay as they were.
pub(super) fn sort(answer: &mut Value, path: &Path) {
    for field in ["rows", "items"] {
        let Some(list) = answer.get_mut(field).and_then(Value::as_array_mut) else {
            continue;
        };
        list.sort_by(|left, right| order(key(left, path), key(right, path)));
    }
}

fn key<'a>(found: &'a Value, path: &Path) -> Option<&'a Value> {
    // A row of a table has its object.
    let object = found.get("cells").and(found.get("object")).unwrap_or(found);
    let found = path.find(object, object).into_iter().next();
    found.filter(|value| !value.is_null())
}

/// What has no value comes first.
fn order(left: Option<&Value>, right: Option<&Value>) -> Ordering {
    match (left, right) {
        (Some(Value::Number(left)), Some(Value::Number(right))) => {
            let (left, right) = (left.as_f64(), right.as_f64());
            left.partial_cmp(&right).unwrap_or(Ordering::Equal)
        }
        (Some(Value::String(left)), Some(Value::String(right))) => natural(left, right),
        (Some(left), Some(right)) => left.to_string().cmp(&right.to_string()),
        (left, right) => left.is_some().cmp(&right.is_some()),
    }
}

/// `a2` before `a10`.
fn natural(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        let (number, other) = (digits(left), digits(right));
        if number > 0 && other > 0 {
            let plain = |text: &str, end: usize| text[..end].trim_start_matches('0').to_owned();
            let (a, b) = (plain(left, number), plain(right, other));
            let by_value = a.len().cmp(&b.len()).then_with(|| a.cmp(&b));
            if by_value != Ordering::Equal {
                return by_value;
            }
            (left, right) = (&left[number..], &right[other..]);
            continue;
        }
        let (mut letters, mut others) = (left.chars(), right.chars());
        match (letters.next(), others.next()) {
            (Some(a), Some(b)) if a == b => (left, right) = (letters.as_str(), others.as_str()),
            (a, b) => return a.cmp(&b),
        }
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_with_numbers_are_sorted_by_the_numbers() {
        for (left, right, expected) in [
            ("a2", "a10", Ordering::Less),
            ("a10", "a2", Ordering::Greater),
            ("a", "b", Ordering::Less),
            ("a", "a", Ordering::Equal),
            ("a1", "a1b", Ordering::Less),
            ("", "a", Ordering::Less),
            (
                "2026-01-02T00:00:00Z",
                "2026-01-10T00:00:00Z",
                Ordering::Less,
            ),
        ] {
            assert_eq!(natural(left, right), expected, "{left} {right}");
        }
    }

    #[test]
    fn rows_and_items_are_sorted_and_what_has_no_value_comes_first() {
        let item = |name: &str, n: Value| json!({"metadata": {"name": name}, "n": n});
        let mut list =
            json!({"items": [item("a", json!(3)), item("b", json!(20)), item("c", Value::Null)]});
        sort(&mut list, &path("{.n}").unwrap());
        let names = list["items"].as_array().unwrap().iter();
        let names: Vec<_> = names
            .map(|item| item["metadata"]["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["c", "a", "b"]);
        let row = |n: i64| json!({"cells": [n], "object": {"n": n}});
        let mut table = json!({"rows": [row(10), row(9)]});
        sort(&mut table, &path(".n").unwrap());
        assert_eq!(table["rows"][0]["cells"][0], 9);
    }
}
