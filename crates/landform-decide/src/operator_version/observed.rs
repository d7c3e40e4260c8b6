//! Everything that a decision about an operator version may see.

use landform_api::catalog::operator_version::{HigherVersion, Requirement, Upgrade};
use landform_api::catalog::{Phase, RequirementStatus};
use landform_catalog::{Edges, Replaces};
use semver::Version;

/// An operator version, its family, what it needs and what it owns.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// Itself.
    pub me: Member,
    /// Whether the finalizer holds it.
    pub held: bool,
    /// Whether somebody asked that what it owns is left alone, and that has not happened yet.
    pub orphaning: bool,
    /// What is wrong with the spec.
    pub problem: Option<String>,
    /// The other versions of the same package in the namespace, those marked for deletion too.
    pub others: Vec<Member>,
    /// What it needs.
    pub needs: Vec<Need>,
    /// How its operator stands.
    pub install: Install,
    /// How its predecessors' resources come to it.
    pub upgrade: Upgrade,
    /// Resources that it, or one of the others, owns.
    pub resources: Vec<Resource>,
    /// What its app type says of a higher version (O2).
    pub offer: Option<HigherVersion>,
}

/// One version of the family.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its generation.
    pub generation: i64,
    /// Its version.
    pub version: Version,
    /// What it may replace.
    pub edges: Edges,
    /// The one whose place it takes although that one is higher.
    pub rollback_of: Option<String>,
    /// Where it stands.
    pub phase: Option<Phase>,
    /// Whether its status is about its present generation (C3).
    pub up_to_date: bool,
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// Whether installing it has begun: its Execution exists, or its status says that it did. The status alone
    /// won't do: it is written after the Execution, and a crash in between would hide a version that runs.
    pub begun: bool,
    /// Whether it waits for requirements.
    pub stuck: bool,
    /// Whether another version may take its place.
    pub upgradeable: Result<(), String>,
    /// What went wrong with it, for people.
    pub message: String,
    /// Versions whose place it took.
    pub replaced: Vec<Former>,
    /// The [token](Member::token) of the failed successor after which it took its objects back.
    pub reasserted_for: Option<String>,
}

/// A version that is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct Former {
    /// Its name.
    pub name: String,
    /// What it replaced.
    pub edges: Vec<Replaces>,
}

/// Something that the operator needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What, and whether it is there.
    pub requirement: Requirement,
    /// What can be done about it.
    pub remedy: Remedy,
}

impl Need {
    /// Whether it is there and will do.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.requirement.status == RequirementStatus::Present
    }
}

/// What can be done about something that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing, or nothing is necessary.
    Nothing,
    /// The definition is written: it is missing or old.
    WriteDefinition,
    /// The catalog has it: this package is asked for (O11).
    Ask {
        /// The package.
        package: String,
        /// Whether what is needed is there as soon as it was asked for, as a definition is.
        at_once: bool,
    },
    /// It can never be as long as a person doesn't act.
    Refuse,
}

/// How the operator stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Install {
    /// Nothing is there.
    Absent,
    /// Something is there, and should be otherwise.
    Outdated,
    /// It is at work.
    Working,
    /// It runs.
    Ready,
    /// It doesn't, and why.
    Failed(String),
    /// It is being taken down; what is in the way.
    Leaving(Option<String>),
}

/// Something that a version of the family owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its kind and name, for people.
    pub title: String,
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// The versions that own it.
    pub owners: Vec<OwnedBy>,
}

/// A version's place among the owners of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedBy {
    /// The version's uid.
    pub uid: String,
    /// Whether its reference says `controller: true`.
    pub controller: bool,
    /// Whether the version's labels select the resource.
    pub selected: bool,
}

impl Resource {
    /// A version's place among its owners.
    #[must_use]
    pub fn owner(&self, uid: &str) -> Option<&OwnedBy> {
        self.owners.iter().find(|owner| owner.uid == uid)
    }
}

impl Member {
    /// One state of this very object.
    #[must_use]
    pub fn token(&self) -> String {
        format!("{}/{}", self.uid, self.generation)
    }

    /// Whether its operator runs, as far as its phase says.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.begun && matches!(self.phase, Some(Phase::Succeeded | Phase::Replacing))
    }

    /// Whether it came to nothing, and not just before somebody put it right.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.phase == Some(Phase::Failed) && self.up_to_date
    }

    /// Whether it has come to an end that a successor may follow (O5).
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.phase
            .is_some_and(|phase| phase.is_final() || phase == Phase::Replacing)
    }
}

impl Observed {
    /// What it owns.
    pub fn own(&self) -> impl Iterator<Item = (usize, &Resource)> {
        let all = self.resources.iter().enumerate();
        all.filter(|(_, resource)| resource.owner(&self.me.uid).is_some())
    }
}
