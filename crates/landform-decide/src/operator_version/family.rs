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
            if !self.gave_way(member, from) && (leads(member, from) || remembers(member, from)) {
                return true;
            }
            let next = self.all().filter(|found| leads(member, found));
            let next = next.filter(|found| !self.gave_way(member, found));
            for found in next {
                if seen.insert(&found.name) {
                    open.push(found);
                }
            }
        }
        false
    }

    /// Whether a version says of itself that it takes the place of another one, or has taken it.
    #[must_use]
    pub fn claims(to: &Member, from: &Member) -> bool {
        leads(to, from) || remembers(to, from)
    }

    /// Whether `from` came back for the place of `to`, or of one above it: then `to` is no successor,
    /// whatever lies between them.
    fn gave_way(self, to: &Member, from: &Member) -> bool {
        let mut all = self.all();
        let left = all.find(|found| takes_back(from, found));
        left.is_some_and(|left| order(to, from).is_gt() && order(to, left).is_le())
    }

    /// The one among them whose place none of the others takes. After a rollback it isn't the highest.
    fn last(self, members: &[&'a Member]) -> Option<&'a Member> {
        let replaced = |found: &Member| members.iter().any(|other| self.reaches(other, found));
        let last = members.iter().copied().filter(|found| !replaced(found));
        best(last).or_else(|| best(members.iter().copied()))
    }

    /// Where the version stands.
    #[must_use]
    pub fn standing(self) -> Standing<'a> {
        let me = self.me;
        let successors = || self.unmarked().filter(|found| self.reaches(found, me));
        let running: Vec<_> = successors().filter(|found| found.runs()).collect();
        if let Some(successor) = self.last(&running) {
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
        let unconnected = best(currents().filter(|found| !self.reaches(me, found)));
        let predecessor = best(currents().filter(|found| leads(me, found)));
        match (predecessor, unconnected) {
            (Some(predecessor), None) => return self.after(predecessor),
            (Some(predecessor), Some(rival)) => {
                let message = format!(
                    "{} takes the place of {} already",
                    rival.version, predecessor.version
                );
                return waits(rival, Reason::AnotherFirst, message);
            }
            (None, _) => {}
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
            !found.begun
                && !found.stuck
                && !found.has_failed()
                && leads(found, predecessor)
                && order(found, me).is_gt()
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
        if running.version.cmp_precedence(&me.version).is_gt() {
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

    /// Who takes over what `from` owns: the last of those that run and reach it. When it is marked for
    /// deletion and none is about to, the one that it would have replaced.
    #[must_use]
    pub fn heir(self, from: &Member) -> Option<&'a Member> {
        let running: Vec<_> = self.successors(from).filter(|found| found.runs()).collect();
        if let Some(successor) = self.last(&running) {
            return Some(successor);
        }
        if !from.marked || self.successors(from).any(|found| !found.has_failed()) {
            return None;
        }
        let former = |found: &&Member| !found.marked && found.begun && self.reaches(from, found);
        let formers: Vec<_> = self.all().filter(former).collect();
        let running: Vec<_> = formers
            .iter()
            .copied()
            .filter(|found| found.runs())
            .collect();
        self.last(&running).or_else(|| self.last(&formers))
    }

    /// Those that are to take the place of `from`, and whose install has begun.
    pub(super) fn successors(self, from: &Member) -> impl Iterator<Item = &'a Member> {
        let all = self.all().filter(|found| !found.marked && found.begun);
        all.filter(move |found| found.uid != from.uid && self.reaches(found, from))
    }

    /// Everybody that it replaces, directly or not.
    pub fn predecessors(self) -> impl Iterator<Item = &'a Member> {
        let all = self.others.iter();
        all.filter(move |found| self.reaches(self.me, found))
    }

    /// A higher version that came to nothing or whose place this one takes back: it may have changed the
    /// objects that both install. Those that go come first, because they wait for it.
    #[must_use]
    pub fn failed_successor(self) -> Option<&'a Member> {
        if self.successors(self.me).any(|found| !found.has_failed()) {
            return None;
        }
        let failed = |found: &&Member| {
            let failed = !found.runs() && (found.marked || found.has_failed());
            found.begun
                && order(found, self.me).is_gt()
                && (failed && self.reaches(found, self.me) || self.reaches(self.me, found))
        };
        let failed = self.others.iter().filter(failed);
        failed.max_by(|a, b| a.marked.cmp(&b.marked).then_with(|| order(a, b)))
    }

    /// Another one whose place `by` takes back together with that of this one. `by` knows of it only by way
    /// of this one, which must not go before it.
    pub(super) fn goes_before_me(self, by: &Member) -> Option<&'a Member> {
        let together = self.others.iter().filter(|found| {
            found.uid != by.uid && order(found, by).is_gt() && self.reaches(by, found)
        });
        together
            .filter(|_| takes_back(by, self.me))
            .max_by(|a, b| order(a, b))
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
    if takes_back(from, to) || to.uid == from.uid {
        return false;
    }
    let (its, of) = ((&*to.name, &to.version), (&*from.name, &from.version));
    takes_back(to, from) || to.edges.lead(of, its)
}

/// Whether `to` takes its place back from `from`. Two that ask it of each other cancel it.
fn takes_back(to: &Member, from: &Member) -> bool {
    let names = |member: &Member, other: &Member| member.rollback_of.as_ref() == Some(&other.name);
    names(to, from) && !names(from, to)
}

/// Whether a version whose place `member` took replaced this one, or was this one.
fn remembers(member: &Member, from: &Member) -> bool {
    if takes_back(from, member) || order(from, member).is_ge() {
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
