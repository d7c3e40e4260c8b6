//! Everything that a decision about one object may see.

use landform_api::catalog::keys as catalog;
use landform_api::landscaper::keys as landscaper;
use landform_graph::owners::Uid;

/// One object, its owners as they stand, and how many dependents it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Observed {
    /// The deletion mark, when it has one.
    pub(crate) mark: Option<Mark>,
    /// How it is deleted when nobody says how; from finalizers that it carries without a mark.
    pub(crate) preset: Preset,
    /// Whether any finalizer would hold it.
    pub(crate) has_finalizers: bool,
    /// Whether its kind is served no more, so that nothing can be done about it.
    pub(crate) hidden: bool,
    /// Whether a delete was acknowledged that its watch has not shown yet.
    pub(crate) asked: bool,
    /// Its owners, in its own order.
    pub(crate) owners: Vec<SeenOwner>,
    /// Its direct dependents.
    pub(crate) dependents: Dependents,
}

/// What holds a marked object, by finalizers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) cascade: bool,
    pub(crate) foreground: bool,
    pub(crate) orphan: bool,
    /// Finalizers of others: always waited for (G15).
    pub(crate) others: Vec<String>,
}

impl Mark {
    /// What an object with this mark means for its dependents. Installations, executions, deploy items,
    /// app types and operator versions take what they own down themselves, in their order; only when they have done so they let go of
    /// themselves, and what is left goes as the mark says (G15, E10, I31).
    pub(crate) fn standing(&self) -> Standing {
        let mut others = self.others.iter();
        let takes_down =
            others.any(|held| held == landscaper::FINALIZER || held == catalog::FINALIZER);
        if self.orphan && !self.cascade {
            Standing::Orphaning
        } else if takes_down {
            Standing::Living
        } else if self.cascade {
            Standing::Cascading
        } else if self.foreground {
            Standing::WaitingInForeground
        } else {
            Standing::Living
        }
    }
}

/// A policy that an object asks for itself, as Kubernetes reads it from its finalizers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Preset {
    #[default]
    None,
    Foreground,
    Orphan,
}

/// How many dependents there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dependents {
    pub(crate) all: usize,
    /// Those that the object waits for when it is deleted in the foreground.
    pub(crate) blocking: usize,
    /// Whether nothing is left of them but objects that own each other in a circle with this one.
    pub(crate) only_cycle: bool,
}

/// An owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenOwner {
    pub(crate) uid: Uid,
    pub(crate) standing: Standing,
}

/// What an owner means for its dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It exists, and nothing of it asks dependents to go. A marked one that only others hold is so too.
    Living,
    /// Marked and held by `cascade_deletion`: its dependents go (G6).
    Cascading,
    /// Marked and held by `orphan`: its dependents lose their reference.
    Orphaning,
    /// Marked and held by `foregroundDeletion`: it doesn't count as living any more.
    WaitingInForeground,
    /// A live read by its uid found nothing, or it can't be meant.
    Gone,
    /// It isn't here: a live read has to tell whether it exists (G12b).
    Unconfirmed,
}
