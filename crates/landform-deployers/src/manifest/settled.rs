//! Changes that a target took and that changed nothing, so that they aren't sent again and again.
//!
//! A server may keep a value in another way than it was written: `1000m` becomes `1`, an empty list goes, a
//! field that its schema doesn't know is dropped. The object then never is as wanted, letter by letter. When a
//! change comes back with the resourceVersion that the object had before, it is remembered together with
//! what the object was like; the same change of the same object is not sent any more. It is only a cache: after a restart
//! such a change is sent once.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use parking_lot::Mutex;
use serde_json::Value;

/// More objects than this are forgotten, all at once.
const MOST_OBJECTS: usize = 100_000;

/// By the uid of the object.
#[derive(Debug, Default)]
pub(super) struct Settled(Mutex<BTreeMap<String, u64>>);

impl Settled {
    pub(super) fn contains(&self, uid: &str, fingerprint: u64) -> bool {
        self.0.lock().get(uid) == Some(&fingerprint)
    }

    pub(super) fn put(&self, uid: &str, fingerprint: u64) {
        let mut all = self.0.lock();
        if all.len() >= MOST_OBJECTS {
            all.clear();
        }
        all.insert(uid.to_owned(), fingerprint);
    }
}

/// A change, and all of the object that it could meet.
pub(super) fn fingerprint(change: &Value, live: &Value) -> u64 {
    let mut live = live.clone();
    if let Value::Object(fields) = &mut live {
        fields.remove("status");
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.remove("resourceVersion");
            metadata.remove("managedFields");
        }
    }
    let mut hasher = DefaultHasher::new();
    change.to_string().hash(&mut hasher);
    live.to_string().hash(&mut hasher);
    hasher.finish()
}
