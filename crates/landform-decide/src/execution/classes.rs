//! The classes of items (E7).

use landform_api::landscaper::ExecutionPhase;

use super::observed::{Item, Observed, Wanted};

/// Where an item of the spec stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// 1A: up to date and Succeeded.
    Succeeded,
    /// 1B: up to date and Failed.
    Failed,
    /// 1C: up to date, and in work.
    InWork,
    /// 2A: must be updated, and nothing is in the way.
    Ready,
    /// 2B: must be updated, after what it depends on.
    Pending,
}

/// What of an execution's items is done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// What has changed.
    Changed,
    /// That, and what has failed (I16b).
    Failed,
    /// Everything.
    All,
}

/// The class of every item of the spec, in the spec's order.
pub(super) fn classes(seen: &Observed, how: Effort) -> Vec<(&Wanted, Class)> {
    let find = |name: &str| seen.items.iter().find(|item| item.name == name);
    let first = |name: &str| find(name).and_then(|item| first_class(seen, item, how));
    let class = |wanted: &Wanted| {
        first(&wanted.name).unwrap_or_else(|| {
            let mut depends_on = wanted.depends_on.iter();
            if depends_on.all(|name| first(name) == Some(Class::Succeeded)) {
                Class::Ready
            } else {
                Class::Pending
            }
        })
    };
    let wanted = seen.wanted.iter();
    wanted.map(|wanted| (wanted, class(wanted))).collect()
}

/// 1A, 1B or 1C, if the item's spec is up to date (E5). One that somebody deleted must be gone before it
/// can be made anew.
fn first_class(seen: &Observed, item: &Item, how: Effort) -> Option<Class> {
    let failed = item.is_completed() && item.phase == Some(ExecutionPhase::Failed);
    let again = match how {
        Effort::Changed => false,
        Effort::Failed => failed,
        Effort::All => true,
    };
    if !item.marked && (again || !spec_up_to_date(seen, item)) {
        return None;
    }
    Some(match item.phase.filter(|_| item.status_up_to_date()) {
        Some(ExecutionPhase::Succeeded) if !item.marked => Class::Succeeded,
        // Its removal is tried again (I35b).
        Some(ExecutionPhase::Failed) if again => Class::InWork,
        Some(ExecutionPhase::Failed) => Class::Failed,
        None
        | Some(
            ExecutionPhase::Init
            | ExecutionPhase::Progressing
            | ExecutionPhase::Deleting
            | ExecutionPhase::Succeeded,
        ) => Class::InWork,
    })
}

/// E5: neither the execution nor the item changed since the item was last written.
pub(super) fn spec_up_to_date(seen: &Observed, item: &Item) -> bool {
    item.stored
        .is_some_and(|stored| stored.execution == seen.generation && stored.item == item.generation)
}
