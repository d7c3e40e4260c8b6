//! Phases and operations: what the three reconciled kinds can be in, and can be asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::keys::OPERATION;
use crate::budget::shown;

/// Where an installation stands.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum InstallationPhase {
    /// It has not been looked at.
    Init,
    /// It needs an update and can't have it yet (I14).
    PendingDependencies,
    /// Its nested objects are at work (I11).
    Progressing,
    /// Its nested objects are being taken down (I33).
    Deleting,
    /// Somebody stopped it (I12).
    Aborted,
    /// All is as it should be.
    Succeeded,
    /// A person must act.
    Failed,
}

impl InstallationPhase {
    /// Whether nothing moves on by itself: Succeeded, Failed, Aborted.
    #[must_use]
    pub fn is_final(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Aborted => true,
            Self::Init | Self::PendingDependencies | Self::Progressing | Self::Deleting => false,
        }
    }
}

/// Where an execution or a deploy item stands.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum ExecutionPhase {
    /// It was taken up, and nothing was done yet.
    Init,
    /// It is at work.
    Progressing,
    /// It is being taken down.
    Deleting,
    /// All is as it should be.
    Succeeded,
    /// A person must act.
    Failed,
}

impl ExecutionPhase {
    /// Whether it has come to an end: Succeeded, Failed (E1).
    #[must_use]
    pub fn is_completed(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed => true,
            Self::Init | Self::Progressing | Self::Deleting => false,
        }
    }
}

impl From<ExecutionPhase> for InstallationPhase {
    fn from(phase: ExecutionPhase) -> Self {
        match phase {
            ExecutionPhase::Init => Self::Init,
            ExecutionPhase::Progressing => Self::Progressing,
            ExecutionPhase::Deleting => Self::Deleting,
            ExecutionPhase::Succeeded => Self::Succeeded,
            ExecutionPhase::Failed => Self::Failed,
        }
    }
}

/// What the annotation [`super::keys::OPERATION`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// The standard flow.
    Reconcile,
    /// The force flow: dependencies' phases don't matter.
    ForceReconcile,
    /// Stop what is going on, and wait until it has stopped.
    Abort,
    /// Let everything that has not come to an end fail, without waiting for it.
    Interrupt,
}

impl Operation {
    /// All that can be asked for.
    pub const ALL: [Self; 4] = [
        Self::Reconcile,
        Self::ForceReconcile,
        Self::Abort,
        Self::Interrupt,
    ];

    /// The annotation's value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reconcile => "reconcile",
            Self::ForceReconcile => "force-reconcile",
            Self::Abort => "abort",
            Self::Interrupt => "interrupt",
        }
    }

    /// Reads the annotation's value; an unknown one asks for nothing, and [`Operation::unknown`] says so.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|operation| operation.as_str() == text)
    }

    /// What is wrong with the annotation's value, for people; `None` when it is an operation, or empty.
    #[must_use]
    pub fn unknown(text: &str) -> Option<String> {
        if text.is_empty() || Self::parse(text).is_some() {
            return None;
        }
        let text = shown(text);
        Some(format!(
            "the annotation {OPERATION} is {text:?}, which is no operation, and nothing is done about it"
        ))
    }

    /// What to do about an unknown one.
    #[must_use]
    pub fn advice() -> String {
        let all: Vec<_> = Self::ALL.iter().map(|known| known.as_str()).collect();
        format!(
            "set the annotation {OPERATION} to one of {}, or remove it",
            all.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i4_only_what_is_no_operation_is_unknown() {
        for operation in Operation::ALL {
            assert_eq!(Operation::parse(operation.as_str()), Some(operation));
            assert_eq!(Operation::unknown(operation.as_str()), None);
            assert!(Operation::advice().contains(operation.as_str()));
        }
        assert_eq!(Operation::unknown(""), None);
        let long = "x".repeat(100_000);
        for unknown in ["reconcil", "Reconcile", "abort ", &long] {
            let told = Operation::unknown(unknown).unwrap_or_default();
            assert!(!told.is_empty() && told.len() < 2_000, "{unknown}");
        }
    }
}
