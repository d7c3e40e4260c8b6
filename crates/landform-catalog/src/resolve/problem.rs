//! Everything that could be part of the answer, with what each part needs and what bars it.
//!
//! Each thing that somebody could change is a [`Soft`]: a range, a channel, a need, the server's version.
//! A problem can be solved as if some of them weren't there. That is how conflicts are explained.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use landform_api::GroupVersionKind;

use super::gather::{self, Candidate, Gathering, Need, Selector, staying};
use super::{Because, Chosen, Reach, Wanted, solver};
use crate::graph::Walk;

/// Something that could be changed. The names are those of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Soft<'a> {
    /// Somebody wants it.
    Wanted(&'a str),
    /// It is wanted from a channel.
    Channel(&'a str),
    /// It is wanted in a range.
    Range(&'a str),
    /// It is installed, and only some versions can be reached from there.
    Reach(&'a str),
    /// It is installed and stays as it is.
    Pinned(&'a str),
    /// Some versions need a newer server.
    Server(&'a str),
    /// The first needs the second, in a range.
    NeedsPackage(&'a str, &'a str, &'a str),
    /// It needs a kind.
    NeedsKind(&'a str, &'a GroupVersionKind),
    /// Only one may bring this group and kind.
    Exclusive(&'a str, &'a str),
}

/// How much to look at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// What is allowed.
    Asked,
    /// Also what would be, if something were changed.
    Everything,
}

pub(super) struct Problem<'g, 'a> {
    pub(super) gathering: &'g Gathering<'a>,
    pub(super) packages: Vec<Node<'a>>,
    pub(super) options: Vec<Choice<'a>>,
    /// By group and kind: the options that bring it. Only those of several packages.
    pub(super) shared: BTreeMap<(&'a str, &'a str), Vec<usize>>,
    places: BTreeMap<&'a str, usize>,
}

/// A package that may be part of the answer.
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    /// The preferred one first.
    pub(super) options: Vec<usize>,
    /// Whether it must be part of the answer.
    pub(super) root: Option<Root<'a>>,
    selector: Selector<'a>,
}

/// Why a package must be part of the answer.
#[derive(Clone, Copy)]
pub(super) enum Root<'a> {
    Wanted(&'a Wanted),
    Installed,
}

/// A candidate in a problem.
pub(super) struct Choice<'a> {
    pub(super) candidate: Candidate<'a>,
    pub(super) package: usize,
    /// All of these must be gone before it can be chosen.
    pub(super) barred: Vec<Soft<'a>>,
    pub(super) needs: Vec<Needed<'a>>,
}

/// A need with all that would meet it, the preferred one first.
pub(super) struct Needed<'a> {
    pub(super) need: Need<'a>,
    pub(super) soft: Soft<'a>,
    pub(super) met_by: Vec<usize>,
}

impl<'g, 'a> Problem<'g, 'a> {
    pub(super) fn new(gathering: &'g Gathering<'a>, scope: Scope) -> Self {
        let mut problem = Self {
            gathering,
            packages: Vec::new(),
            options: Vec::new(),
            shared: BTreeMap::new(),
            places: BTreeMap::new(),
        };
        for (name, wanted) in &gathering.wanted {
            let selector = wanted.catalogs.as_ref();
            problem.add(name, Some(Root::Wanted(wanted)), selector, scope);
        }
        for name in gathering.installed.keys() {
            problem.add(name, Some(Root::Installed), None, scope);
        }
        problem.close(scope);
        problem.connect();
        problem.share();
        problem
    }

    fn add(&mut self, name: &'a str, root: Option<Root<'a>>, selector: Selector<'a>, scope: Scope) {
        if self.places.contains_key(name) {
            return;
        }
        let package = self.packages.len();
        self.places.insert(name, package);
        let found = match (scope, root) {
            (Scope::Asked, Some(Root::Wanted(wanted))) => free(self.gathering.for_wanted(wanted)),
            (Scope::Asked, _) => free(self.gathering.for_need(name, selector)),
            (Scope::Everything, _) => everything(self.gathering, name, root, selector),
        };
        let first = self.options.len();
        for (candidate, barred) in found {
            self.options.push(Choice {
                candidate,
                package,
                barred,
                needs: Vec::new(),
            });
        }
        self.packages.push(Node {
            name,
            options: (first..self.options.len()).collect(),
            root,
            selector,
        });
    }

    /// Adds packages until every need can be looked up.
    fn close(&mut self, scope: Scope) {
        let mut next = 0;
        while next < self.options.len() {
            let Choice {
                candidate, package, ..
            } = self.options[next];
            let selector = self.packages[package].selector;
            for need in self.gathering.needs(candidate) {
                match need {
                    Need::Package(required) => self.add(&required.package, None, selector, scope),
                    Need::Kind(kind) => {
                        for owner in self.gathering.owners(kind, candidate, selector) {
                            self.add(owner, None, selector, scope);
                        }
                    }
                }
            }
            next += 1;
        }
    }

    fn connect(&mut self) {
        for place in 0..self.options.len() {
            let choice = &self.options[place];
            let (candidate, selector) = (choice.candidate, self.packages[choice.package].selector);
            let needs = self.gathering.needs(candidate).into_iter();
            let needs = needs.map(|need| match need {
                Need::Package(required) => Needed {
                    need,
                    soft: Soft::NeedsPackage(
                        candidate.package,
                        &required.package,
                        required.range.as_str(),
                    ),
                    met_by: self.meeting([&*required.package], |option| {
                        required.range.contains(&option.bundle.version)
                    }),
                },
                Need::Kind(kind) => Needed {
                    need,
                    soft: Soft::NeedsKind(candidate.package, kind),
                    met_by: self
                        .meeting(self.gathering.owners(kind, candidate, selector), |option| {
                            option.bundle.owned.contains(kind)
                        }),
                },
            });
            self.options[place].needs = needs.collect();
        }
    }

    fn meeting(
        &self,
        packages: impl IntoIterator<Item = &'a str>,
        fits: impl Fn(&Candidate<'a>) -> bool,
    ) -> Vec<usize> {
        let places = packages
            .into_iter()
            .filter_map(|name| self.places.get(name));
        let options = places.flat_map(|place| &self.packages[*place].options);
        let fitting = options.filter(|option| fits(&self.options[**option].candidate));
        fitting.copied().collect()
    }

    fn share(&mut self) {
        let mut shared: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for (place, choice) in self.options.iter().enumerate() {
            for kind in &choice.candidate.bundle.owned {
                let owners = shared.entry((&kind.group, &kind.kind)).or_default();
                if owners.last() != Some(&place) {
                    owners.push(place);
                }
            }
        }
        shared.retain(|_, owners| {
            let mut packages = owners.iter().map(|owner| self.options[*owner].package);
            let first = packages.next();
            packages.any(|package| Some(package) != first)
        });
        self.shared = shared;
    }

    /// Whether an option can be chosen as if `gone` weren't there.
    pub(super) fn is_free(&self, option: usize, gone: &BTreeSet<Soft<'a>>) -> bool {
        let barred = &self.options[option].barred;
        barred.iter().all(|soft| gone.contains(soft))
    }

    /// A package's node.
    pub(super) fn node(&self, name: &str) -> Option<&Node<'a>> {
        self.places.get(name).map(|place| &self.packages[*place])
    }

    /// All that could be changed.
    pub(super) fn softs(&self) -> BTreeSet<Soft<'a>> {
        let wanted = self.gathering.wanted.keys().map(|name| Soft::Wanted(name));
        let bars = self
            .options
            .iter()
            .flat_map(|choice| &choice.barred)
            .copied();
        let needs = self.options.iter().flat_map(|choice| &choice.needs);
        let needs = needs.map(|needed| needed.soft);
        let shared = self.shared.keys();
        let shared = shared.map(|(group, kind)| Soft::Exclusive(group, kind));
        wanted.chain(bars).chain(needs).chain(shared).collect()
    }

    /// Chooses one option of each package that is needed, as if `gone` weren't there.
    pub(super) fn solve(
        &self,
        gone: &BTreeSet<Soft<'a>>,
    ) -> Result<BTreeMap<&'a str, Chosen<'a>>, solver::Unsolved> {
        let options = solver::solve(self, gone)?;
        Ok(self.chosen(&options, gone))
    }

    /// What is wanted, installed, or needed by one of those; why comes along.
    fn chosen(
        &self,
        options: &[usize],
        gone: &BTreeSet<Soft<'a>>,
    ) -> BTreeMap<&'a str, Chosen<'a>> {
        let by_package: BTreeMap<usize, usize> = options
            .iter()
            .map(|option| (self.options[*option].package, *option))
            .collect();
        let mut found = BTreeMap::new();
        let mut queue = VecDeque::new();
        for (package, option) in &by_package {
            let because = match self.packages[*package].root {
                Some(Root::Wanted(_)) => Because::Wanted,
                Some(Root::Installed) => Because::Installed,
                None => continue,
            };
            queue.push_back((*option, because));
        }
        while let Some((option, because)) = queue.pop_front() {
            let choice = &self.options[option];
            let Candidate {
                package,
                bundle,
                from,
            } = choice.candidate;
            if found.contains_key(package) {
                continue;
            }
            let chosen = Chosen {
                package,
                bundle,
                catalog: from.map(|(catalog, _)| catalog),
                channel: from.map(|(_, channel)| channel),
                because,
            };
            found.insert(package, chosen);
            for needed in choice.needs.iter().filter(|it| !gone.contains(&it.soft)) {
                let is_chosen = |option: &&usize| {
                    by_package.get(&self.options[**option].package) == Some(*option)
                };
                if let Some(met_by) = needed.met_by.iter().find(is_chosen) {
                    queue.push_back((*met_by, Because::Needed(&bundle.name)));
                }
            }
        }
        found
    }
}

type Barred<'a> = (Candidate<'a>, Vec<Soft<'a>>);

fn free(candidates: Vec<Candidate<'_>>) -> Vec<Barred<'_>> {
    candidates
        .into_iter()
        .map(|found| (found, Vec::new()))
        .collect()
}

/// All versions of a package that could be chosen if things were different, those with the fewest
/// obstacles first.
fn everything<'a>(
    gathering: &Gathering<'a>,
    name: &'a str,
    root: Option<Root<'a>>,
    selector: Selector<'a>,
) -> Vec<Barred<'a>> {
    let wanted = match root {
        Some(Root::Wanted(wanted)) => Some(wanted),
        _ => None,
    };
    let installed = gathering.installed.get(name).copied();
    let range = wanted.and_then(|wanted| wanted.range.as_ref());
    let mut found: Vec<Barred<'a>> = Vec::new();
    if let Some(installed) = installed {
        let out = range.is_some_and(|range| !range.contains(&installed.bundle.version));
        let bars = if out {
            vec![Soft::Range(name)]
        } else {
            Vec::new()
        };
        found.push((staying(installed), bars));
    }
    if let Ok(offering) = gathering.index.offering(name, selector) {
        let followed = wanted.map(|wanted| wanted.channel.as_deref());
        let followed = followed.or(installed.map(|installed| installed.channel.as_deref()));
        let asked = offering.channel(followed.flatten());
        let others = offering.package.channels.values();
        let others = others.filter(|other| asked.is_none_or(|asked| asked.name != other.name));
        for channel in asked.into_iter().chain(others) {
            let walk = Walk::new(offering.package, channel);
            let reached = installed.map(|installed| {
                let reach = wanted.map_or(Reach::Way, |wanted| wanted.reach);
                let reached = gather::reached(&walk, installed, reach).into_iter();
                reached.map(|bundle| &bundle.name).collect::<BTreeSet<_>>()
            });
            let elsewhere = asked.is_none_or(|asked| asked.name != channel.name);
            for bundle in walk.candidates(None) {
                let mut bars = Vec::new();
                let mut bar = |barred: bool, soft| {
                    if barred {
                        bars.push(soft);
                    }
                };
                let pinned = wanted.is_none() && installed.is_some_and(|found| !found.movable);
                bar(elsewhere && followed.is_some(), Soft::Channel(name));
                bar(
                    range.is_some_and(|range| !range.contains(&bundle.version)),
                    Soft::Range(name),
                );
                let apart = reached
                    .as_ref()
                    .is_some_and(|set| !set.contains(&bundle.name));
                bar(apart, Soft::Reach(name));
                bar(pinned, Soft::Pinned(name));
                bar(!gathering.runs_here(bundle), Soft::Server(name));
                found.push((gather::candidate(offering, channel, bundle), bars));
            }
        }
    }
    // A stable sort: what is preferred stays so among those with as many obstacles.
    found.sort_by_key(|(_, bars)| bars.len());
    found
}
