//! What the rules say about one object.

use landform_graph::owners::Uid;

/// The rule that decided, what to do, and what the object waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// `None` when no rule has anything to say.
    pub(crate) rule: Option<Rule>,
    pub(crate) action: Action,
    pub(crate) waiting_on: Waiting,
}

/// The rules that decide about objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    G6,
    G7,
    G11,
    G12,
    G12b,
    G13,
    G15,
}

/// One request, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Nothing,
    /// The API's delete, with this policy.
    Delete(Policy),
    /// One of the collector's own finalizers is removed.
    Release(Finalizer),
    /// References to these owners are removed.
    DropReferences(Vec<Uid>),
}

/// What a delete does about dependents (G13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Cascade,
    Background,
    Foreground,
    Orphan,
}

impl Policy {
    /// As `propagationPolicy` has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cascade => "Cascade",
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }

    /// The policy of this name, whatever its case.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        [
            Self::Cascade,
            Self::Background,
            Self::Foreground,
            Self::Orphan,
        ]
        .into_iter()
        .find(|policy| policy.name().eq_ignore_ascii_case(name))
    }
}

/// The collector's own finalizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finalizer {
    Cascade,
    Foreground,
    Orphan,
}

impl Finalizer {
    pub(crate) fn name(self) -> &'static str {
        use landform_api::keys;
        match self {
            Self::Cascade => keys::FINALIZER_CASCADE,
            Self::Foreground => keys::FINALIZER_FOREGROUND,
            Self::Orphan => keys::FINALIZER_ORPHAN,
        }
    }
}

/// What a deletion waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    Nothing,
    /// For all direct dependents to be gone, or to let go of it.
    Dependents(usize),
    /// For the dependents that block it.
    BlockingDependents(usize),
    /// For others to remove their finalizers.
    Finalizers(Vec<String>),
    /// For an answer whether these owners exist.
    Owners(Vec<Uid>),
    /// For its kind to be served again: nothing can be done about it.
    Kind,
}
