//! Finds, for an entry of a list, the entry of the old list that it continues.

use std::collections::BTreeMap;

use serde_json::Value;

use super::node::ListType;
use super::unique::{identity, same_keys};

/// Up to this length, looking at each is cheaper than an index.
const SHORT: usize = 16;

/// The old entries of a list. Only map-like lists identify entries; in others a change of one entry
/// is a change of the list.
pub(crate) enum Entries<'a> {
    None,
    Few(&'a [Box<str>], &'a [Value]),
    Many(&'a [Box<str>], BTreeMap<String, &'a Value>),
}

impl<'a> Entries<'a> {
    pub(crate) fn new(list: &'a ListType, old: Option<&'a Value>) -> Self {
        match (list, old) {
            (ListType::Map(keys), Some(Value::Array(entries))) if entries.len() <= SHORT => {
                Self::Few(keys, entries)
            }
            (ListType::Map(keys), Some(Value::Array(entries))) => {
                let by_identity = entries.iter().filter_map(|entry| {
                    entry
                        .as_object()
                        .map(|fields| (identity(keys, fields), entry))
                });
                Self::Many(keys, by_identity.collect())
            }
            _ => Self::None,
        }
    }

    /// The old entry with the same keys.
    pub(crate) fn find(&self, entry: &Value) -> Option<&'a Value> {
        match self {
            Self::None => None,
            Self::Few(keys, entries) => entries.iter().find(|old| same_keys(keys, old, entry)),
            Self::Many(keys, by_identity) => by_identity
                .get(&identity(keys, entry.as_object()?))
                .copied(),
        }
    }
}
