//! What is decided about a deploy item.

use crate::Rule;

/// What to do now, and by which rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The rule that decided.
    pub rule: Rule,
    /// What to do.
    pub action: Action,
}

/// What to do with a deploy item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// Wait for its deployer, until this time.
    Wait {
        /// When it is late, in milliseconds since 1970; none when there is no limit.
        until_ms: Option<u64>,
        /// What is waited for, for people.
        on: String,
    },
    /// It has come to its end: its status no longer says that it waits.
    StopWaiting,
    /// It is late: it fails, and the deployer that was expected to act is named.
    Fail(Late),
    /// Its work has stopped: it fails as aborted, and the annotation goes.
    AcknowledgeAbort,
    /// It ends as failed, whatever its deployer does, and the annotation goes.
    Interrupt,
    /// There is nothing to abort: the annotation goes.
    DropOperation,
    /// It is taken up, then deployed until this time.
    PickUp,
    /// It was taken up before; it is deployed until this time.
    Deploy {
        /// When it is late, in milliseconds since 1970.
        until_ms: u64,
    },
    /// It has succeeded; its deployer looks after it.
    Keep,
    /// What it deployed is taken away, then the finalizer goes.
    Remove,
    /// The finalizer goes.
    LetGo,
}

/// In which way an item is late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Late {
    /// Nobody picked it up.
    Pickup {
        /// Who was expected to.
        expected: String,
    },
    /// The work takes too long.
    Progressing {
        /// Who works on it.
        expected: String,
        /// How long it may take.
        timeout_ms: u64,
    },
    /// It doesn't stop.
    Aborting {
        /// Who was expected to stop.
        expected: String,
    },
}
