//! A JSON patch (RFC 6902), applied within a budget: no operation makes a value that is too deep, and all of them
//! together do a limited amount of work.
//!
//! What an operation costs is known before it is carried out, so nothing is ever built that would be refused: a value
//! of many levels could not even be dropped.

use json_patch::PatchOperation;
use json_patch::jsonptr::Pointer;
use landform_api::Budget;
use landform_api::budget::Size;
use serde_json::Value;

use super::Place;
use crate::error::{ApiError, Reason, Result};

/// The most operations of a JSON patch.
const OPERATIONS_MAX: usize = 10_000;
/// How many values all operations together may look at, copy or move: many times those of the largest object.
const WORK_MAX: usize = 40 * Budget::OBJECT.cells;

/// Reads the operations from a body.
pub(super) fn operations(value: Value) -> Result<Vec<PatchOperation>> {
    let operations: Vec<PatchOperation> = serde_json::from_value(value).map_err(|error| {
        ApiError::bad_request(format!(
            "the body is not a JSON patch, a list of operations with op and path: {error}"
        ))
    })?;
    if operations.len() > OPERATIONS_MAX {
        return Err(too_large(format!(
            "the JSON patch has {} operations; {OPERATIONS_MAX} are allowed",
            operations.len()
        )));
    }
    Ok(operations)
}

/// Applies operations one by one.
pub(super) fn apply(place: &Place, value: &mut Value, operations: &[PatchOperation]) -> Result<()> {
    let mut spent = Spent::default();
    for (index, operation) in operations.iter().enumerate() {
        spent.on(value, operation).map_err(|problem| {
            too_large(format!("operation {index} of the JSON patch {problem}"))
        })?;
        json_patch::patch(value, std::slice::from_ref(operation)).map_err(|error| {
            super::patch::unprocessable(
                place,
                &format!("operation {index} of the JSON patch failed: {error}"),
            )
        })?;
    }
    Ok(())
}

/// What the operations so far have cost.
#[derive(Default)]
struct Spent {
    work: usize,
    /// Copies can double a value each time, so what they add is counted by itself.
    copied_bytes: usize,
}

impl Spent {
    /// Counts what an operation costs; says so when it would be too much.
    fn on(&mut self, value: &Value, operation: &PatchOperation) -> Result<(), String> {
        match operation {
            PatchOperation::Add(add) => self.put(value, &add.path, &add.value),
            PatchOperation::Replace(replace) => self.put(value, &replace.path, &replace.value),
            PatchOperation::Copy(copy) => {
                let Some(source) = copy.from.resolve(value).ok() else {
                    return Ok(());
                };
                self.copied_bytes += self.put(value, &copy.path, source).map(|()| size(source))?;
                let most = Budget::OBJECT.bytes;
                if self.copied_bytes > most {
                    return Err(format!("copies more than {most} bytes"));
                }
                Ok(())
            }
            PatchOperation::Move(moved) => {
                self.shift(value, &moved.from)?;
                match moved.from.resolve(value) {
                    Ok(source) => self.put(value, &moved.path, source),
                    Err(_) => Ok(()),
                }
            }
            PatchOperation::Remove(remove) => self.shift(value, &remove.path),
            PatchOperation::Test(test) => self.work(Size::of(&test.value).cells),
        }
    }

    /// A value is put at a path.
    fn put(&mut self, value: &Value, path: &Pointer, new: &Value) -> Result<(), String> {
        let size = Size::of(new);
        self.work(size.cells)?;
        let most = Budget::OBJECT.depth;
        if path.count() + size.depth > most {
            return Err(format!("makes the object deeper than {most} levels"));
        }
        self.shift(value, path)
    }

    /// Entries of a list behind a place move by one.
    fn shift(&mut self, value: &Value, path: &Pointer) -> Result<(), String> {
        let list = path.parent().and_then(|parent| parent.resolve(value).ok());
        let entries = list.and_then(Value::as_array).map_or(0, Vec::len);
        self.work(1 + entries)
    }

    fn work(&mut self, values: usize) -> Result<(), String> {
        self.work += values;
        if self.work > WORK_MAX {
            return Err(
                "would take too long: the operations before it moved or compared too many values"
                    .into(),
            );
        }
        Ok(())
    }
}

fn size(value: &Value) -> usize {
    Size::of(value).bytes
}

fn too_large(message: String) -> ApiError {
    ApiError::new(Reason::RequestEntityTooLarge, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Applies a patch as a request does; the message when it is refused.
    fn patched(value: &Value, patch: Value) -> Result<Value, String> {
        let operations = operations(patch).map_err(|error| error.message().to_owned())?;
        let mut value = value.clone();
        let mut spent = Spent::default();
        for operation in &operations {
            spent.on(&value, operation)?;
            json_patch::patch(&mut value, std::slice::from_ref(operation))
                .map_err(|error| error.to_string())?;
        }
        Ok(value)
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!(1), |inner, _| json!({ "a": inner }))
    }

    #[test]
    fn no_operation_makes_a_value_too_deep() {
        let half = Budget::OBJECT.depth / 2;
        let value = json!({"x": nested(half), "y": nested(half)});
        let bottom = format!("/x{}", "/a".repeat(half));
        for operation in [
            json!({"op": "add", "path": bottom, "value": nested(half)}),
            json!({"op": "replace", "path": bottom, "value": nested(half)}),
            json!({"op": "copy", "path": bottom, "from": "/y"}),
            json!({"op": "move", "path": bottom, "from": "/y"}),
        ] {
            let refused = patched(&value, json!([operation])).unwrap_err();
            assert!(refused.contains("deeper than 100 levels"), "{refused}");
        }
        let fits = json!([{"op": "add", "path": bottom, "value": nested(half - 1)}]);
        assert_eq!(
            Size::of(&patched(&value, fits).unwrap()).depth,
            Budget::OBJECT.depth
        );
    }

    #[test]
    fn all_operations_together_have_a_budget_of_work() {
        let list = json!({"list": vec![0; 400_000], "big": vec![0; 1000]});
        for operation in [
            json!({"op": "add", "path": "/list/0", "value": 1}),
            json!({"op": "remove", "path": "/list/0"}),
            json!({"op": "move", "from": "/list/0", "path": "/list/1"}),
            json!({"op": "test", "path": "/big", "value": vec![0; 1000]}),
        ] {
            let refused = patched(&list, json!(vec![operation.clone(); 9_000]));
            if operation["op"] == "test" {
                assert!(refused.is_ok());
            } else {
                assert!(refused.unwrap_err().contains("too long"), "{operation}");
            }
        }
    }
}
