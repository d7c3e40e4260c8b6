//! The fewest facts that leave no answer.
//!
//! Whatever could be changed is taken away until there is an answer; what can't be taken away is the
//! conflict. It is minimal: without any one of its facts there would be an answer.

use std::collections::BTreeSet;
use std::fmt;

use super::fixes::{self, Fix};
use super::gather::Gathering;
use super::problem::{Problem, Scope, Soft};
use super::{Request, sentences};
use crate::index::Index;

/// Why there is no answer, and what would give one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// All of these together are the conflict; without any one of them there would be none. Facts of
    /// the kinds `Supply` and `OneVersion` only explain the others.
    pub facts: Vec<Fact>,
    /// Changes after which there is an answer, each tried; the smallest ones.
    pub fixes: Vec<Fix>,
}

/// Something that is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub kind: FactKind,
    /// The package that it is about; for `Exclusive` the kind.
    pub about: String,
    /// A sentence without a full stop.
    pub message: String,
}

/// What a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactKind {
    /// Somebody wants a package.
    Wanted,
    /// It is wanted from a channel.
    Channel,
    /// It is wanted in a range.
    Range,
    /// It is installed, and only some versions can be reached from there.
    Reach,
    /// It is installed and stays as it is.
    Pinned,
    /// It needs a newer server.
    Server,
    /// It needs another package.
    NeedsPackage,
    /// It needs a kind.
    NeedsKind,
    /// Only one package may bring a kind.
    Exclusive,
    /// What the catalogs have of something that is needed.
    Supply,
    /// Only one version of a package can be installed.
    OneVersion,
    /// It wasn't found out in time whether there is an answer.
    TooHard,
}

/// Sets this small are looked through for the smallest conflict, not just a minimal one.
const LOOKED_THROUGH: usize = 12;

/// Why there is no answer. Only to be asked when there is none.
pub(super) fn explain(index: &Index, request: &Request) -> Conflict {
    let gathering = Gathering::new(index, request);
    let problem = Problem::new(&gathering, Scope::Everything);
    let all = problem.softs();
    let cores = cores(&problem, &all);
    let facts = match cores.first() {
        Some(core) => sentences::facts(&problem, core),
        None => Vec::new(),
    };
    Conflict {
        facts,
        fixes: fixes::find(&problem, &cores),
    }
}

/// For the case that nobody knows whether there is an answer.
pub(super) fn too_hard() -> Conflict {
    Conflict {
        facts: vec![Fact {
            kind: FactKind::TooHard,
            about: String::new(),
            message:
                "what is wanted depends on each other in too many ways to find an answer in time"
                    .to_owned(),
        }],
        fixes: Vec::new(),
    }
}

/// Conflicts that have nothing in common, the first one as small as can be told.
fn cores<'a>(problem: &Problem<'_, 'a>, all: &BTreeSet<Soft<'a>>) -> Vec<Vec<Soft<'a>>> {
    const MOST: usize = 3;
    let mut cores: Vec<Vec<Soft<'a>>> = Vec::new();
    let mut left = all.clone();
    while cores.len() < MOST {
        let Some(core) = (Search { problem, all }).smallest(&left) else {
            break;
        };
        for soft in &core {
            left.remove(soft);
        }
        cores.push(core);
    }
    cores
}

/// The first of them.
#[cfg(test)]
pub(super) fn core<'a>(
    problem: &Problem<'_, 'a>,
    all: &BTreeSet<Soft<'a>>,
) -> Option<Vec<Soft<'a>>> {
    cores(problem, all).into_iter().next()
}

struct Search<'p, 'g, 'a> {
    problem: &'p Problem<'g, 'a>,
    all: &'p BTreeSet<Soft<'a>>,
}

impl<'a> Search<'_, '_, 'a> {
    /// Whether these alone leave no answer.
    fn conflicts(&self, kept: &[Soft<'a>]) -> bool {
        let kept: BTreeSet<_> = kept.iter().copied().collect();
        let gone = self.all.difference(&kept).copied().collect();
        self.problem.solve(&gone).is_err()
    }

    fn smallest(&self, among: &BTreeSet<Soft<'a>>) -> Option<Vec<Soft<'a>>> {
        let forward: Vec<_> = among.iter().copied().collect();
        if !self.conflicts(&forward) {
            return None;
        }
        // What is found depends on the order, so two are tried.
        let backward: Vec<_> = among.iter().rev().copied().collect();
        let one = self.minimal(&[], &forward, false);
        let other = self.minimal(&[], &backward, false);
        let mut best = if other.len() < one.len() { other } else { one };
        if forward.len() <= LOOKED_THROUGH {
            best = self.look_through(&forward, best);
        }
        best.sort_unstable();
        Some(best)
    }

    /// Splits in halves, so that many facts that don't matter cost little.
    fn minimal(&self, kept: &[Soft<'a>], rest: &[Soft<'a>], grown: bool) -> Vec<Soft<'a>> {
        if grown && self.conflicts(kept) {
            return Vec::new();
        }
        if rest.len() <= 1 {
            return rest.to_vec();
        }
        let (first, second) = rest.split_at(rest.len() / 2);
        let with_first = [kept, first].concat();
        let from_second = self.minimal(&with_first, second, true);
        let with_second = [kept, &from_second].concat();
        let mut found = self.minimal(&with_second, first, !from_second.is_empty());
        found.extend(from_second);
        found
    }

    fn look_through(&self, among: &[Soft<'a>], best: Vec<Soft<'a>>) -> Vec<Soft<'a>> {
        for size in 1..best.len() {
            for mask in 0_u32..1 << among.len() {
                if mask.count_ones() as usize != size {
                    continue;
                }
                let chosen = among.iter().enumerate();
                let chosen: Vec<_> = chosen
                    .filter(|(place, _)| mask & (1 << place) != 0)
                    .map(|(_, soft)| *soft)
                    .collect();
                if self.conflicts(&chosen) {
                    return chosen;
                }
            }
        }
        best
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts: Vec<&str> = self.facts.iter().map(|fact| &*fact.message).collect();
        if facts.is_empty() {
            return f.write_str("what is wanted doesn't go together.");
        }
        write!(f, "{}.", facts.join("; "))?;
        if !self.fixes.is_empty() {
            let fixes: Vec<String> = self.fixes.iter().map(Fix::to_string).collect();
            write!(f, " What would help: {}.", fixes.join("; or "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Conflict {}
