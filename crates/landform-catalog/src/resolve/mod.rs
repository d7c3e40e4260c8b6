//! Which versions of which packages go together.
//!
//! 1. [`Request`] says what is wanted, what is installed, and what the cluster has.
//! 2. `gather` lists the candidates of a package, the preferred one first, and what each needs.
//! 3. `obvious` takes the preferred candidate everywhere. Mostly that is already the answer.
//! 4. `solver` looks for another answer when the preferred ones don't fit together.
//! 5. `conflict` finds the fewest facts that leave no answer, and `fixes` what would give one.
//!
//! Preferred is, in this order: what is installed; for a kind the catalog of the one who needs it, then
//! the catalog with the higher priority, then the lower name; the default channel; what isn't deprecated;
//! the higher version. What is wanted has a channel, and there only the version counts. The order in
//! which anything is listed in a request never matters.
//!
//! At most one version of a package is chosen, and no two packages that bring the same kind. What is
//! installed and already lacks something, or already shares a kind, is no reason to refuse others.

mod conflict;
mod fixes;
mod gather;
mod obvious;
mod problem;
mod sentences;
mod solver;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use landform_api::GroupVersionKind;
use landform_api::catalog::app_type::CatalogSelector;
use semver::Version;

pub use conflict::{Conflict, Fact, FactKind};
pub use fixes::{Change, Fix};

use crate::index::Index;
use crate::model::Bundle;
use crate::range::Range;

/// What is asked for in a namespace.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Packages that somebody wants, each once.
    pub wanted: Vec<Wanted>,
    /// What is installed in the namespace, wanted or not; one version of a package.
    pub installed: Vec<Installed>,
    /// The kinds that the cluster has.
    pub kinds: Arc<BTreeSet<GroupVersionKind>>,
    /// The server's version; when it isn't known, every minimum is met.
    pub server: Option<Version>,
}

/// A package that somebody wants. When it is installed, only versions that can be reached from there are
/// candidates, and the installed one itself as the last resort.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The package.
    pub package: Arc<str>,
    /// The channel; the default one when absent.
    pub channel: Option<Arc<str>>,
    /// The versions that will do; all when absent.
    pub range: Option<Range>,
    /// The catalogs that count, also for what it needs.
    pub catalogs: Option<CatalogSelector>,
    /// How far to go at once.
    pub reach: Reach,
}

/// How far to go at once from an installed version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// As far as the channel leads.
    #[default]
    Way,
    /// One step.
    Step,
}

/// A version that is installed.
#[derive(Clone, Debug)]
pub struct Installed {
    /// The package.
    pub package: Arc<str>,
    /// What is known of the version, from where it is installed: a catalog may no longer have it.
    pub bundle: Arc<Bundle>,
    /// The channel that it follows; the default one when absent.
    pub channel: Option<Arc<str>>,
    /// Whether a higher version may take its place when something needs that. It has no meaning for
    /// what is wanted.
    pub movable: bool,
}

/// Versions that go together.
#[derive(Clone, Debug)]
pub struct Resolution<'a> {
    /// By package: all that is wanted, installed or needed.
    pub chosen: BTreeMap<&'a str, Chosen<'a>>,
    /// Whether the preferred candidates didn't fit together.
    pub solved: bool,
}

/// A version that was chosen.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    /// The package.
    pub package: &'a str,
    /// The version.
    pub bundle: &'a Bundle,
    /// The catalog; none for what stays as it is installed.
    pub catalog: Option<&'a Arc<str>>,
    /// The channel; none for what stays as it is installed.
    pub channel: Option<&'a Arc<str>>,
    /// Why it is there.
    pub because: Because<'a>,
}

/// Why something was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because<'a> {
    /// Somebody wants the package.
    Wanted,
    /// It was there before.
    Installed,
    /// A bundle of this name needs it.
    Needed(&'a str),
}

impl Chosen<'_> {
    /// Whether this version is installed already.
    #[must_use]
    pub fn stays(&self) -> bool {
        self.catalog.is_none()
    }
}

impl<'a> Resolution<'a> {
    /// The version that was chosen of a package.
    #[must_use]
    pub fn bundle(&self, package: &str) -> Option<&'a Bundle> {
        self.chosen.get(package).map(|chosen| chosen.bundle)
    }

    /// What has to be installed or upgraded.
    pub fn changes(&self) -> impl Iterator<Item = &Chosen<'a>> {
        self.chosen.values().filter(|chosen| !chosen.stays())
    }
}

impl Request {
    /// The same with one version given of a package that is wanted: whether it is possible to go there,
    /// what comes with it, or why it isn't.
    #[must_use]
    pub fn going_to(mut self, package: &str, to: &Version) -> Self {
        for wanted in &mut self.wanted {
            if &*wanted.package == package {
                wanted.range = Some(Range::exactly(to));
            }
        }
        self
    }
}

/// Chooses versions that go together.
///
/// # Errors
/// When none do. The error has the facts that conflict and changes that would help.
pub fn resolve<'a>(
    index: &'a Index,
    request: &'a Request,
) -> Result<Resolution<'a>, Box<Conflict>> {
    match choose(index, request) {
        Ok(resolution) => Ok(resolution),
        Err(solver::Unsolved::Impossible) => Err(Box::new(conflict::explain(index, request))),
        Err(solver::Unsolved::TooHard) => Err(Box::new(conflict::too_hard())),
    }
}

/// The same without a reason when there is no answer, which costs less.
#[must_use]
pub fn attempt<'a>(index: &'a Index, request: &'a Request) -> Option<Resolution<'a>> {
    choose(index, request).ok()
}

fn choose<'a>(index: &'a Index, request: &'a Request) -> Result<Resolution<'a>, solver::Unsolved> {
    let gathering = gather::Gathering::new(index, request);
    if let Some(chosen) = obvious::choose(&gathering) {
        return Ok(Resolution {
            chosen,
            solved: false,
        });
    }
    let problem = problem::Problem::new(&gathering, problem::Scope::Asked);
    let chosen = problem.solve(&BTreeSet::new())?;
    Ok(Resolution {
        chosen,
        solved: true,
    })
}
