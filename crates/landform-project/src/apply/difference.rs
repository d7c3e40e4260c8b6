//! What differs between an object as it is wanted and as it is there. Pure.

use landform_api::project::ANNOTATION_APPLIED;
use landform_engine::hooks::three_way;
use serde_json::Value;

use crate::applied::LAST_APPLIED;

/// What would have to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// It isn't there: this would be created.
    Create(Value),
    /// This merge patch would be sent.
    Change(Value),
    /// Nothing.
    Same,
}

/// Compares what is wanted, as [`super::prepare`] makes it, with what is there.
#[must_use]
pub fn difference(wanted: &Value, live: Option<&Value>) -> Difference {
    let Some(live) = live else {
        return Difference::Create(wanted.clone());
    };
    match three_way::patch(&last_shape(live), wanted, live) {
        Some(patch) => Difference::Change(patch),
        None => Difference::Same,
    }
}

/// The shape of what was applied last: by us, or else by kubectl.
#[must_use]
pub fn last_shape(live: &Value) -> Value {
    let annotation = |name: &str| {
        let text = live["metadata"]["annotations"][name].as_str()?;
        serde_json::from_str::<Value>(text).ok()
    };
    if let Some(shape) = annotation(ANNOTATION_APPLIED) {
        return shape;
    }
    annotation(LAST_APPLIED).map_or(Value::Null, |applied| three_way::shape(&applied))
}
