//! Everything that a decision about an app type may see.

use landform_api::catalog::app_type::{Installed, Offer};
use landform_api::catalog::{DefinitionPolicy, Phase, UpgradePolicy};
use semver::Version;

/// An app type, its versions, and what the catalogs offer.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// Whether the finalizer holds it.
    pub held: bool,
    /// What is wrong with the spec.
    pub problem: Option<String>,
    /// An older app type of the same package in the namespace.
    pub rival: Option<String>,
    /// When a higher version takes the place of the installed one.
    pub policy: UpgradePolicy,
    /// Up to which version a person approved.
    pub approved: Option<Version>,
    /// What becomes of kinds when it goes.
    pub definition_policy: DefinitionPolicy,
    /// The version to go back to, or `previous`.
    pub rollback: Option<String>,
    /// The version that the last rollback left.
    pub rolled_back_from: Option<Version>,
    /// Versions that ran before, the latest last.
    pub history: Vec<Installed>,
    /// The versions of the package in the namespace.
    pub versions: Vec<OwnVersion>,
    /// What the catalogs offer from where it [stands](base).
    pub offering: Offering,
    /// The version that a [rollback](super::rollback_target) goes to, as the catalogs have it.
    pub rollback_candidate: Option<Candidate>,
    /// The kinds that the package owns, as far as they exist.
    pub definitions: Vec<DefinitionState>,
}

/// An operator version of the package.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnVersion {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// Where it stands.
    pub phase: Option<Phase>,
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// Whether installing it has begun.
    pub begun: bool,
    /// Whether this app type owns it.
    pub mine: bool,
    /// The one whose place it takes although that one is higher.
    pub rollback_of: Option<String>,
    /// Whether another version may take its place.
    pub upgradeable: Result<(), String>,
    /// What it says about itself.
    pub message: String,
}

/// What the catalogs offer.
#[derive(Clone, Debug, PartialEq)]
pub enum Offering {
    /// Not all catalogs were read yet: which.
    Unread(String),
    /// Nothing, and what would change that.
    Nothing(Trouble),
    /// Something.
    Found(Offered),
}

/// What there is.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// The latest version that it may have.
    pub latest: Candidate,
    /// Versions that can be gone to in one step, the best first.
    pub next: Vec<Offer>,
    /// The first step on the way to the latest; none when that is here, or a higher one is. An error when
    /// no way leads there.
    pub step: Result<Option<Candidate>, Trouble>,
}

/// A version that could be created.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// What is in the way of installing it: requirements that can't be met, kinds that would break, nothing
    /// to install.
    pub troubles: Vec<Trouble>,
}

/// Something that is in the way, and what would change that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// As one word.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// What would unblock it.
    pub unblock: String,
}

/// A kind that the package owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionState {
    /// The definition's name.
    pub name: String,
    /// Whether this app type is its owner.
    pub mine: bool,
    /// Another app type of the package that could be its owner.
    pub heir: Option<String>,
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// What is in the way of its deletion.
    pub blocker: String,
}

/// The version that runs, as far as one does.
#[must_use]
pub fn installed(versions: &[OwnVersion]) -> Option<&OwnVersion> {
    let unmarked = || versions.iter().filter(|found| !found.marked && found.begun);
    let succeeded = || unmarked().filter(|found| found.phase == Some(Phase::Succeeded));
    let lives = |name: &String| versions.iter().any(|found| found.name == *name);
    let rolled_back = succeeded().find(|found| found.rollback_of.as_ref().is_some_and(lives));
    rolled_back
        .or_else(|| highest(succeeded()))
        .or_else(|| highest(unmarked().filter(|found| found.phase == Some(Phase::Replacing))))
        // A version that came to nothing counts when there is no other: it can be replaced (O5).
        .or_else(|| {
            let failed = unmarked().filter(|found| found.phase == Some(Phase::Failed));
            failed.min_by(|a, b| a.version.cmp_precedence(&b.version))
        })
}

/// The version that is about to take the place of the installed one, or to be the first.
#[must_use]
pub fn upgrading(versions: &[OwnVersion]) -> Option<&OwnVersion> {
    let runs = installed(versions).map(|found| found.name.as_str());
    let coming = versions.iter().filter(|found| {
        let over = matches!(found.phase, Some(Phase::Succeeded | Phase::Replacing));
        !found.marked && !over && Some(found.name.as_str()) != runs
    });
    highest(coming)
}

/// From where the next step is: a failed upgrade, or what is installed.
#[must_use]
pub fn base(versions: &[OwnVersion]) -> Option<&OwnVersion> {
    let failed =
        upgrading(versions).filter(|found| found.phase == Some(Phase::Failed) && found.begun);
    failed.or_else(|| installed(versions))
}

fn highest<'a>(versions: impl Iterator<Item = &'a OwnVersion>) -> Option<&'a OwnVersion> {
    versions.max_by(|a, b| a.version.cmp_precedence(&b.version))
}
