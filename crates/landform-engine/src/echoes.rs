//! Tells a change of an owned object that the owner's run made from one that somebody else made (R5).
//!
//! The machine does this for a run's own object; here it is done for the others that a run writes. While
//! a write of the run is under way nobody knows whose a change is, so it waits for the answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use landform_api::GroupKind;
use landform_schedule::Version;

use crate::key::Key;

/// More own versions than these are not remembered for one owner; forgetting one costs a run.
const REMEMBERED: usize = 1024;

/// What runs have written to objects that lead to theirs.
#[derive(Default)]
pub(crate) struct Echoes(BTreeMap<Key, Owner>);

#[derive(Default)]
struct Owner {
    under_way: usize,
    own: Vec<(GroupKind, Version)>,
    held: Vec<(Arc<GroupKind>, Version)>,
}

impl Echoes {
    pub(crate) fn write_began(&mut self, owner: &Key) {
        self.0.entry(owner.clone()).or_default().under_way += 1;
    }

    /// A write is over. Says whether a change that was held back turned out to be somebody else's.
    pub(crate) fn write_ended(
        &mut self,
        owner: &Key,
        written: Option<(GroupKind, Version)>,
    ) -> bool {
        let Some(known) = self.0.get_mut(owner) else {
            return false;
        };
        known.under_way = known.under_way.saturating_sub(1);
        if let Some((kind, version)) = written {
            let seen = |held: &(Arc<GroupKind>, Version)| *held.0 == kind && held.1 == version;
            if let Some(at) = known.held.iter().position(seen) {
                known.held.remove(at);
            } else {
                if known.own.len() >= REMEMBERED {
                    known.own.remove(0);
                }
                known.own.push((kind, version));
            }
        }
        let foreign = known.under_way == 0 && !std::mem::take(&mut known.held).is_empty();
        self.tidy(owner);
        foreign
    }

    /// A change was seen. Says whether it is somebody else's; if nobody knows yet it is held back.
    pub(crate) fn is_foreign(
        &mut self,
        owner: &Key,
        kind: &Arc<GroupKind>,
        version: Version,
    ) -> bool {
        let Some(known) = self.0.get_mut(owner) else {
            return true;
        };
        let own = known
            .own
            .iter()
            .any(|(own, at)| own == &**kind && *at == version);
        // A watch shows versions in their order: older ones won't come any more.
        known
            .own
            .retain(|(own, at)| own != &**kind || *at > version);
        let foreign = !own && known.under_way == 0;
        if !own && known.under_way > 0 {
            known.held.push((kind.clone(), version));
        }
        self.tidy(owner);
        foreign
    }

    /// The owner is gone.
    pub(crate) fn forget(&mut self, owner: &Key) {
        self.0.remove(owner);
    }

    fn tidy(&mut self, owner: &Key) {
        let empty =
            |known: &Owner| known.under_way == 0 && known.own.is_empty() && known.held.is_empty();
        if self.0.get(owner).is_some_and(empty) {
            self.0.remove(owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind() -> Arc<GroupKind> {
        Arc::new(GroupKind {
            group: String::new(),
            kind: "ConfigMap".into(),
        })
    }

    fn written(version: u64) -> Option<(GroupKind, Version)> {
        Some(((*kind()).clone(), Version(version)))
    }

    #[test]
    fn r5_an_own_write_of_a_child_is_known_in_both_orders() {
        let owner = Key::new(kind(), "n", "owner");
        let mut echoes = Echoes::default();
        echoes.write_began(&owner);
        assert!(!echoes.write_ended(&owner, written(5)));
        assert!(
            !echoes.is_foreign(&owner, &kind(), Version(5)),
            "answer first"
        );
        echoes.write_began(&owner);
        assert!(!echoes.is_foreign(&owner, &kind(), Version(6)), "held");
        assert!(!echoes.write_ended(&owner, written(6)), "watch first");
        assert!(echoes.0.is_empty());
    }

    #[test]
    fn r5_what_others_do_meanwhile_is_told_when_the_write_is_over() {
        let owner = Key::new(kind(), "n", "owner");
        let mut echoes = Echoes::default();
        echoes.write_began(&owner);
        assert!(!echoes.is_foreign(&owner, &kind(), Version(7)));
        assert!(echoes.write_ended(&owner, written(8)));
        assert!(!echoes.is_foreign(&owner, &kind(), Version(8)));
        assert!(echoes.is_foreign(&owner, &kind(), Version(9)));
        echoes.write_began(&owner);
        assert!(!echoes.is_foreign(&owner, &kind(), Version(10)));
        assert!(
            echoes.write_ended(&owner, None),
            "a refused write vouches for nothing"
        );
    }
}
