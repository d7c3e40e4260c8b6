//! Where a version stands among the other versions of its package in the namespace.
//!
//! Only what exists counts, and what those that exist remember of versions whose place they took: so that
//! versions may be created in any order, and a latecomer that was replaced long ago is recognised.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use landform_api::catalog::Phase;
use landform_catalog::Replaces;
use semver::Version;

use super::decision::Reason;
use super::observed::Member;

/// The versions of a package in a namespace, seen from one of them.
#[derive(Clone, Copy, Debug)]
pub struct Family<'a> {
    me: &'a Member,
    others: &'a [Member],
}

/// Where a version stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing<'a> {
    /// It was not installed, and a successor runs: it isn't needed any more.
    Superseded(&'a Member),
    /// It was installed, and a successor runs.
    Replaced(&'a Member),
    /// Another one must move first, or a person act.
    Waits {
        /// The one that it waits for.
        on: &'a Member,
        /// Why, as one word.
        reason: Reason,
        /// Why, for people.
        message: String,
    },
    /// It may be installed, or is.
    Turn,
}

impl<'a> Family<'a> {
    /// A family.
    #[must_use]
    pub fn new(me: &'a Member, others: &'a [Member]) -> Self {
        Self { me, others }
    }

    fn all(self) -> impl Iterator<Item = &'a Member> {
        std::iter::once(self.me).chain(self.others)
    }

    fn unmarked(self) -> impl Iterator<Item = &'a Member> {
        self.others.iter().filter(|member| !member.marked)
    }

    /// Whether `to` may take the place of `from` along these versions, and what they remember of others.
    #[must_use]
    pub fn reaches(self, to: &Member, from: &Member) -> bool {
        let mut seen = BTreeSet::from([to.name.as_str()]);
        let mut open = vec![to];
        while let Some(member) = open.pop() {
            if leads(member, from) || remembers(member, from) {
                return true;
            }
            let next = self.all().filter(|found| leads(member, found));
            for found in next {
                if seen.insert(&found.name) {
                    open.push(found);
                }
            }
        }
        false
    }

    /// Where the version stands.
    #[must_use]
    pub fn standing(self) -> Standing<'a> {
        let me = self.me;
        let successors = || self.unmarked().filter(|found| self.reaches(found, me));
        if let Some(successor) = best(successors().filter(|found| found.runs())) {
            return if me.begun {
                Standing::Replaced(successor)
            } else {
                Standing::Superseded(successor)
            };
        }
        if me.begun {
            return Standing::Turn;
        }
        if let Some(successor) = best(successors().filter(|found| found.begun)) {
            return waits(
                successor,
                Reason::AnotherFirst,
                format!("{} replaces it and is being installed", successor.version),
            );
        }
        let current = |found: &&Member| {
            let replaced = self
                .unmarked()
                .any(|other| other.runs() && self.reaches(other, found));
            found.begun && !replaced
        };
        let currents = || self.unmarked().filter(current);
        if let Some(predecessor) = best(currents().filter(|found| leads(me, found))) {
            return self.after(predecessor);
        }
        if let Some(running) = best(currents()) {
            return self.unconnected(running);
        }
        self.first()
    }

    /// It replaces one that runs.
    fn after(self, predecessor: &'a Member) -> Standing<'a> {
        let me = self.me;
        if !predecessor.is_final() {
            return waits(
                predecessor,
                Reason::AnotherFirst,
                format!("{} must come to an end first", predecessor.version),
            );
        }
        if let Err(reason) = &predecessor.upgradeable {
            let message = format!(
                "{} may not be replaced at present: {reason}",
                predecessor.version
            );
            return waits(predecessor, Reason::NotUpgradeable, message);
        }
        let rivals = self.unmarked().filter(|found| {
            !found.begun && !found.stuck && leads(found, predecessor) && order(found, me).is_gt()
        });
        if let Some(rival) = best(rivals) {
            let message = format!(
                "{} replaces {} as well, and is higher",
                rival.version, predecessor.version
            );
            return waits(rival, Reason::AnotherFirst, message);
        }
        Standing::Turn
    }

    /// It doesn't replace the one that runs.
    fn unconnected(self, running: &'a Member) -> Standing<'a> {
        let me = self.me;
        let between = self.unmarked().filter(|found| {
            !found.begun && self.reaches(me, found) && self.reaches(found, running)
        });
        if let Some(between) = between.min_by(|a, b| order(a, b)) {
            let message = format!(
                "the way from {} leads over {}",
                running.version, between.version
            );
            return waits(between, Reason::AnotherFirst, message);
        }
        if order(running, me).is_gt() {
            let message = format!(
                "{} runs, and a lower version doesn't take its place; go back with `landform rollback`",
                running.version
            );
            return waits(running, Reason::Downgrade, message);
        }
        let message = format!(
            "it doesn't replace {}, which runs, and no version in between is here",
            running.version
        );
        waits(running, Reason::NoPath, message)
    }

    /// None runs.
    fn first(self) -> Standing<'a> {
        let me = self.me;
        if let Some(leaving) = self.others.iter().find(|found| found.marked && found.begun) {
            let message = format!(
                "{} is being deleted, and must be gone first",
                leaving.version
            );
            return waits(leaving, Reason::AnotherFirst, message);
        }
        let older = self.unmarked().filter(|found| order(found, me).is_lt());
        match older.min_by(|a, b| order(a, b)) {
            Some(older) => {
                let message = format!("{} is lower and comes first", older.version);
                waits(older, Reason::AnotherFirst, message)
            }
            None => Standing::Turn,
        }
    }

    /// Who takes over what `from` owns: the highest that runs and reaches it; when it is marked for
    /// deletion and there is none, the highest that it would have replaced.
    #[must_use]
    pub fn heir(self, from: &Member) -> Option<&'a Member> {
        let able = || {
            let all = self.all().filter(|found| found.uid != from.uid);
            all.filter(|found| !found.marked && found.begun)
        };
        let successor = best(able().filter(|found| found.runs() && self.reaches(found, from)));
        let former = || best(able().filter(|found| self.reaches(from, found)));
        successor.or_else(|| former().filter(|_| from.marked))
    }

    /// Everybody that it replaces, directly or not.
    pub fn predecessors(self) -> impl Iterator<Item = &'a Member> {
        let all = self.others.iter();
        all.filter(move |found| self.reaches(self.me, found))
    }

    /// A successor whose install began and came to nothing.
    #[must_use]
    pub fn failed_successor(self) -> Option<&'a Member> {
        let failed = |found: &&Member| {
            found.begun
                && !found.runs()
                && (found.marked || found.phase == Some(Phase::Failed))
                && self.reaches(found, self.me)
        };
        best(self.others.iter().filter(failed))
    }

    /// The highest version that waits or has failed, above this one.
    #[must_use]
    pub fn held_back(self) -> Option<&'a Member> {
        let held_back = self.unmarked().filter(|found| {
            let waits = matches!(found.phase, Some(Phase::Pending | Phase::Failed));
            waits && order(found, self.me).is_gt()
        });
        best(held_back)
    }
}

fn waits(on: &Member, reason: Reason, message: String) -> Standing<'_> {
    Standing::Waits {
        on,
        reason,
        message,
    }
}

/// By version; the same version by name.
pub(super) fn order(a: &Member, b: &Member) -> Ordering {
    let versions = a.version.cmp_precedence(&b.version);
    versions.then_with(|| a.name.cmp(&b.name))
}

fn best<'a>(members: impl Iterator<Item = &'a Member>) -> Option<&'a Member> {
    members.max_by(|a, b| order(a, b))
}

/// Whether `to` says itself that it takes the place of `from`.
fn leads(to: &Member, from: &Member) -> bool {
    if from.rollback_of.as_ref() == Some(&to.name) || to.uid == from.uid {
        return false;
    }
    to.rollback_of.as_ref() == Some(&from.name)
        || to
            .edges
            .lead((&from.name, &from.version), (&to.name, &to.version))
}

/// Whether a version whose place `member` took replaced this one, or was this one.
fn remembers(member: &Member, from: &Member) -> bool {
    if from.rollback_of.as_ref() == Some(&member.name) || order(from, member).is_ge() {
        return false;
    }
    member.replaced.iter().any(|former| {
        let mut edges = former.edges.iter();
        former.name == from.name || edges.any(|edge| covers(edge, from))
    })
}

fn covers(edge: &Replaces, from: &Member) -> bool {
    let same = |version: &Version| version.cmp_precedence(&from.version).is_eq();
    match edge {
        Replaces::Name(name) => **name == *from.name,
        Replaces::Version(version) => same(version),
        Replaces::Range(range) => range.contains(&from.version),
    }
}
