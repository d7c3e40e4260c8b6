//! When objects want to run again, by the time of day.

use std::collections::{BTreeMap, BTreeSet};

use crate::key::Key;

/// At most one time per object.
#[derive(Default)]
pub(crate) struct Timers {
    by_key: BTreeMap<Key, u64>,
    by_time: BTreeSet<(u64, Key)>,
}

impl Timers {
    pub(crate) fn set(&mut self, key: Key, at_ms: u64) {
        self.clear(&key);
        self.by_time.insert((at_ms, key.clone()));
        self.by_key.insert(key, at_ms);
    }

    pub(crate) fn clear(&mut self, key: &Key) {
        if let Some(at_ms) = self.by_key.remove(key) {
            self.by_time.remove(&(at_ms, key.clone()));
        }
    }

    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.by_time.first().map(|(at_ms, _)| *at_ms)
    }

    /// Takes out all whose time has come.
    pub(crate) fn take_due(&mut self, now_ms: u64) -> Vec<(Key, u64)> {
        let mut due = Vec::new();
        while self.next_ms().is_some_and(|at_ms| at_ms <= now_ms)
            && let Some((at_ms, key)) = self.by_time.pop_first()
        {
            self.by_key.remove(&key);
            due.push((key, at_ms));
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use landform_api::GroupKind;

    use super::*;

    #[test]
    fn r12_a_later_time_replaces_an_earlier_one() {
        let kind = Arc::new(GroupKind {
            group: String::new(),
            kind: "Secret".into(),
        });
        let key = |name: &str| Key::new(kind.clone(), "n", name);
        let mut timers = Timers::default();
        timers.set(key("a"), 10);
        timers.set(key("b"), 20);
        timers.set(key("a"), 30);
        timers.set(key("c"), 5);
        timers.clear(&key("c"));
        assert_eq!(timers.take_due(25), [(key("b"), 20)]);
        assert_eq!(timers.next_ms(), Some(30));
        assert_eq!(timers.take_due(30), [(key("a"), 30)]);
        assert_eq!(timers.next_ms(), None);
    }
}
