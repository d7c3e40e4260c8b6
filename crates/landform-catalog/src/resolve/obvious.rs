//! The preferred candidate everywhere, as long as they fit together.

use std::collections::{BTreeMap, VecDeque};

use super::gather::{Candidate, Gathering, Need, Selector, staying};
use super::{Because, Chosen};

struct Choice<'g, 'a> {
    gathering: &'g Gathering<'a>,
    chosen: BTreeMap<&'a str, Chosen<'a>>,
    /// Who brings a kind, by group and kind.
    owners: BTreeMap<(&'a str, &'a str), &'a str>,
    packages: VecDeque<(Candidate<'a>, Need<'a>, Selector<'a>)>,
    kinds: VecDeque<(Candidate<'a>, Need<'a>, Selector<'a>)>,
}

/// The answer, unless a preferred candidate is in the way of another one.
pub(super) fn choose<'a>(gathering: &Gathering<'a>) -> Option<BTreeMap<&'a str, Chosen<'a>>> {
    let mut choice = Choice {
        gathering,
        chosen: BTreeMap::new(),
        owners: BTreeMap::new(),
        packages: VecDeque::new(),
        kinds: VecDeque::new(),
    };
    for wanted in gathering.wanted.values() {
        let best = gathering.for_wanted(wanted).into_iter().next()?;
        choice.take(best, Because::Wanted, wanted.catalogs.as_ref())?;
    }
    for (package, installed) in &gathering.installed {
        if !choice.chosen.contains_key(package) {
            choice.take(staying(installed), Because::Installed, None)?;
        }
    }
    choice.meet_needs()?;
    Some(choice.chosen)
}

impl<'a> Choice<'_, 'a> {
    fn take(
        &mut self,
        candidate: Candidate<'a>,
        because: Because<'a>,
        selector: Selector<'a>,
    ) -> Option<()> {
        let Candidate {
            package,
            bundle,
            from,
        } = candidate;
        for kind in &bundle.owned {
            let other = self.owners.insert((&kind.group, &kind.kind), package);
            let shared = other.filter(|other| *other != package);
            if let Some(other) = shared {
                // Two that share a kind already are left in peace.
                let both_stay = from.is_none() && self.chosen.get(other).is_some_and(Chosen::stays);
                if !both_stay {
                    return None;
                }
            }
        }
        self.chosen.insert(
            package,
            Chosen {
                package,
                bundle,
                catalog: from.map(|(catalog, _)| catalog),
                channel: from.map(|(_, channel)| channel),
                because,
            },
        );
        for need in self.gathering.needs(candidate) {
            let queue = match need {
                Need::Package(_) => &mut self.packages,
                Need::Kind(_) => &mut self.kinds,
            };
            queue.push_back((candidate, need, selector));
        }
        Some(())
    }

    fn meet_needs(&mut self) -> Option<()> {
        // Packages first: one of them may bring a kind that is needed too.
        while let Some((needing, need, selector)) =
            self.packages.pop_front().or_else(|| self.kinds.pop_front())
        {
            let by = Because::Needed(&needing.bundle.name);
            match need {
                Need::Package(required) => {
                    if let Some(chosen) = self.chosen.get(&*required.package) {
                        if !required.range.contains(&chosen.bundle.version) {
                            return None;
                        }
                        continue;
                    }
                    let candidates = self.gathering.for_need(&required.package, selector);
                    let mut candidates = candidates.into_iter();
                    let best =
                        candidates.find(|found| required.range.contains(&found.bundle.version))?;
                    self.take(best, by, selector)?;
                }
                Need::Kind(kind) => {
                    let mut chosen = self.chosen.values();
                    if chosen.any(|chosen| chosen.bundle.owned.contains(kind)) {
                        continue;
                    }
                    let owners = self.gathering.owners(kind, needing, selector);
                    let mut candidates = owners
                        .into_iter()
                        .filter(|owner| !self.chosen.contains_key(owner))
                        .flat_map(|owner| self.gathering.for_need(owner, selector));
                    let best = candidates.find(|found| found.bundle.owned.contains(kind))?;
                    self.take(best, by, selector)?;
                }
            }
        }
        Some(())
    }
}
