//! What is decided about an operator version.

use std::fmt;

use landform_api::catalog::Phase;
use landform_api::catalog::operator_version::HigherVersion;
use landform_api::landscaper::WaitingOn;

use crate::Rule;

/// What to do now, and by which rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The rule that decided.
    pub rule: Rule,
    /// The phase from now on; none leaves it.
    pub phase: Option<Phase>,
    /// Why, as one word.
    pub reason: Reason,
    /// Why, for people.
    pub message: String,
    /// Carried out in this order, before the status is written.
    pub actions: Vec<Action>,
    /// Carried out after the status was written.
    pub afterwards: Vec<Action>,
    /// What it waits for.
    pub waiting_on: Vec<WaitingOn>,
    /// Names of versions that it takes the place of, to be remembered.
    pub replaces: Vec<String>,
    /// A higher version that can't be had (O2).
    pub higher: Option<HigherVersion>,
    /// Whether to look again at once.
    pub again: bool,
}

/// One thing to do. Numbers are places in what was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The finalizer is added.
    Hold,
    /// The finalizer is removed.
    LetGo,
    /// The annotation of a rollback that is over is removed.
    ForgetRollback,
    /// The definition of a need is written.
    WriteDefinition(usize),
    /// The package that brings a need is asked for.
    Ask(usize),
    /// The operator is installed, or brought up to date.
    Install,
    /// The operator is taken down.
    Uninstall,
    /// Its objects are written again, because this failed successor may have changed them.
    Reassert(String),
    /// A resource gets this version as a second owner.
    AddOwner(usize),
    /// This version becomes the controller of a resource, and the one with this uid is an owner no more. In one
    /// write, in which no other version stays controller; if a stranger is, that one stays (O15).
    Adopt(usize, String),
    /// A resource is deleted; when it has other owners it only loses this one.
    DeleteResource(usize),
    /// The operator version itself is deleted.
    DeleteSelf,
}

/// Why a phase is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The spec can't be.
    InvalidSpec,
    /// Another version comes first.
    AnotherFirst,
    /// Nothing leads from the version that runs to this one.
    NoPath,
    /// A higher version runs.
    Downgrade,
    /// The version that runs may not be replaced at present.
    NotUpgradeable,
    /// Something that it needs is missing.
    RequirementsNotMet,
    /// Something that it needs can't be.
    RequirementsRefused,
    /// All that it needs is there.
    RequirementsMet,
    /// It is being installed.
    Installing,
    /// Installing it failed, or it runs no more.
    InstallFailed,
    /// It runs.
    Running,
    /// It runs, and takes over from its predecessors.
    TakingOver,
    /// A successor runs.
    Replaced,
    /// It is marked for deletion.
    Deleted,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Decision {
    pub(super) fn new(rule: Rule, phase: Phase, reason: Reason, message: String) -> Self {
        Self {
            rule,
            phase: Some(phase),
            reason,
            message,
            actions: Vec::new(),
            afterwards: Vec::new(),
            waiting_on: Vec::new(),
            replaces: Vec::new(),
            higher: None,
            again: false,
        }
    }
}
