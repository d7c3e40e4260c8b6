//! Finds, for an entry of a list, the entry of the old list that it continues.

use std::collections::BTreeMap;

use serde_json::Value;

use super::node::ListType;
use super::unique::identity;

/// The old entries of a list. Only map-like lists identify entries; in others a change of one entry
/// is a change of the list.
pub(crate) struct Entries<'a> {
    keys: &'a [Box<str>],
    by_identity: BTreeMap<String, &'a Value>,
}

impl<'a> Entries<'a> {
    pub(crate) fn new(list: &'a ListType, old: Option<&'a Value>) -> Self {
        let (ListType::Map(keys), Some(Value::Array(entries))) = (list, old) else {
            return Self {
                keys: &[],
                by_identity: BTreeMap::new(),
            };
        };
        let fields = |entry: &'a Value| entry.as_object().map(|map| (identity(keys, map), entry));
        Self {
            keys,
            by_identity: entries.iter().filter_map(fields).collect(),
        }
    }

    /// The old entry with the same keys.
    pub(crate) fn find(&self, entry: &Value) -> Option<&'a Value> {
        if self.by_identity.is_empty() {
            return None;
        }
        let fields = entry.as_object()?;
        self.by_identity.get(&identity(self.keys, fields)).copied()
    }
}
