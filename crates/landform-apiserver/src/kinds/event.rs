//! Events: the same objects in the words of the core group and of events.k8s.io.
//!
//! They are stored as core events. Only names of top-level fields differ, so both directions are
//! one table.

use crate::object::Object;

/// Core name, events.k8s.io name.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// From events.k8s.io to core.
pub fn to_core(object: &mut Object) {
    for (core, new) in NAMES {
        rename(object, new, core);
    }
}

/// From core to events.k8s.io.
pub fn from_core(object: &mut Object) {
    for (core, new) in NAMES {
        rename(object, core, new);
    }
}

fn rename(object: &mut Object, from: &str, to: &str) {
    if let Some(value) = object.remove(from) {
        object.insert(to.into(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_translates_there_and_back() {
        let new = json!({"regarding": {"name": "x"}, "note": "hi", "reason": "R", "reportingController": "c"});
        let mut object = new.as_object().unwrap().clone();
        to_core(&mut object);
        assert_eq!(
            serde_json::Value::Object(object.clone()),
            json!({"involvedObject": {"name": "x"}, "message": "hi", "reason": "R", "reportingComponent": "c"})
        );
        from_core(&mut object);
        assert_eq!(serde_json::Value::Object(object), new);
    }
}
