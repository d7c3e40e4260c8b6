//! Facts in words.

use std::collections::BTreeSet;

use landform_api::GroupVersionKind;
use semver::Version;

use super::conflict::{Fact, FactKind};
use super::gather::Need;
use super::problem::{Problem, Soft};
use crate::graph::Walk;

/// The facts of a conflict, each followed by what explains it.
pub(super) fn facts<'a>(problem: &Problem<'_, 'a>, core: &[Soft<'a>]) -> Vec<Fact> {
    let writer = Writer {
        problem,
        gone: problem
            .softs()
            .into_iter()
            .filter(|soft| !core.contains(soft))
            .collect(),
        core,
    };
    let mut facts: Vec<Fact> = core.iter().flat_map(|soft| writer.fact(*soft)).collect();
    facts.extend(writer.one_version());
    facts
}

struct Writer<'p, 'g, 'a> {
    problem: &'p Problem<'g, 'a>,
    /// What is no part of the conflict.
    gone: BTreeSet<Soft<'a>>,
    core: &'p [Soft<'a>],
}

impl<'a> Writer<'_, '_, 'a> {
    fn fact(&self, soft: Soft<'a>) -> Vec<Fact> {
        let made = |kind, about: &str, message| Fact {
            kind,
            about: about.to_owned(),
            message,
        };
        match soft {
            Soft::Wanted(name) => {
                let mut facts = vec![made(FactKind::Wanted, name, format!("{name} is wanted"))];
                let node = self.problem.node(name);
                if node.is_none_or(|node| node.options.is_empty()) {
                    facts.push(made(FactKind::Supply, name, self.not_offered(name)));
                }
                facts
            }
            Soft::Channel(name) => vec![made(FactKind::Channel, name, self.channel(name))],
            Soft::Range(name) => vec![made(FactKind::Range, name, self.range(name))],
            Soft::Reach(name) => vec![made(FactKind::Reach, name, self.reach(name))],
            Soft::Pinned(name) => {
                let message = format!("{} is installed and stays as it is", self.present(name));
                vec![made(FactKind::Pinned, name, message)]
            }
            Soft::Server(name) => vec![made(FactKind::Server, name, self.server(name))],
            Soft::NeedsPackage(name, needed, range) => {
                let who = self.who_needs(name, soft);
                let message = format!("{who} {needed} in the range {range}");
                let mut facts = vec![made(FactKind::NeedsPackage, name, message)];
                if let Some(message) = self.package_supply(needed, soft) {
                    facts.push(made(FactKind::Supply, needed, message));
                }
                facts
            }
            Soft::NeedsKind(name, kind) => {
                let message = format!("{} {}", self.who_needs(name, soft), kind_name(kind));
                let supply = self.kind_supply(soft, kind);
                vec![
                    made(FactKind::NeedsKind, name, message),
                    made(FactKind::Supply, name, supply),
                ]
            }
            Soft::Exclusive(group, kind) => {
                let owners = self.problem.shared.get(&(group, kind));
                let mut packages: Vec<&str> = owners
                    .into_iter()
                    .flatten()
                    .filter(|owner| self.problem.is_free(**owner, &self.gone))
                    .map(|owner| self.problem.options[*owner].candidate.package)
                    .filter(|package| self.is_mentioned(package))
                    .collect();
                packages.sort_unstable();
                packages.dedup();
                let message = format!(
                    "{} both bring the kind {kind} of the group {group}, and only one may",
                    packages.join(" and ")
                );
                vec![made(
                    FactKind::Exclusive,
                    &format!("{kind}.{group}"),
                    message,
                )]
            }
        }
    }

    /// Whether some fact leads to this package.
    fn is_mentioned(&self, package: &str) -> bool {
        let installed = self.problem.gathering.installed.contains_key(package);
        installed
            || self.core.iter().any(|soft| match soft {
                Soft::Wanted(name) => *name == package,
                Soft::NeedsPackage(_, name, _) => *name == package,
                Soft::NeedsKind(_, kind) => self.needing(*soft).any(|(_, met_by)| {
                    let mut options = met_by.iter().map(|it| self.problem.options[*it].candidate);
                    options.any(|it| it.package == package && it.bundle.owned.contains(kind))
                }),
                _ => false,
            })
    }

    fn not_offered(&self, name: &str) -> String {
        let wanted = self.problem.gathering.wanted.get(name);
        let selector = wanted.and_then(|wanted| wanted.catalogs.as_ref());
        match self.problem.gathering.index.offering(name, selector) {
            Err(error) => error.to_string(),
            Ok(_) => format!("no version of {name} can be gone to"),
        }
    }

    fn channel(&self, name: &str) -> String {
        let gathering = self.problem.gathering;
        let Some(wanted) = gathering.wanted.get(name) else {
            return format!("{} follows its channel", self.present(name));
        };
        let Ok(offering) = gathering.index.offering(name, wanted.catalogs.as_ref()) else {
            return self.not_offered(name);
        };
        let channels: Vec<&str> = offering.package.channels.keys().map(|key| &**key).collect();
        match (offering.channel(wanted.channel.as_deref()), &wanted.channel) {
            (Some(channel), asked) => {
                let named = if asked.is_some() { "" } else { "default " };
                let walk = Walk::new(offering.package, channel);
                let versions = walk.candidates(None).map(|bundle| &bundle.version);
                format!(
                    "{name} is wanted from the {named}channel {}, which has {}",
                    channel.name,
                    listed(versions.collect())
                )
            }
            (None, Some(asked)) => format!(
                "{name} is wanted from the channel {asked}, but only has {}",
                channels.join(" and ")
            ),
            (None, None) => format!(
                "no channel of {name} is named, and it has no default among {}",
                channels.join(" and ")
            ),
        }
    }

    fn range(&self, name: &'a str) -> String {
        let wanted = self.problem.gathering.wanted.get(name);
        let range = wanted.and_then(|wanted| wanted.range.as_ref());
        let range = range.map_or("", |range| range.as_str());
        let mut without: BTreeSet<_> = self.gone.clone();
        without.insert(Soft::Range(name));
        format!(
            "{name} is wanted in the range {range}, out of {}{}",
            listed(self.versions_of(name, &without)),
            self.skipped(name).unwrap_or_default()
        )
    }

    /// Why a version in the range doesn't count.
    fn skipped(&self, name: &str) -> Option<String> {
        let gathering = self.problem.gathering;
        let wanted = gathering.wanted.get(name)?;
        let range = wanted.range.as_ref()?;
        let offering = gathering.index.offering(name, wanted.catalogs.as_ref());
        let offering = offering.ok()?;
        let walk = Walk::new(
            offering.package,
            offering.channel(wanted.channel.as_deref())?,
        );
        let (skipped, by) = walk.skipped().find(|(it, _)| range.contains(&it.version))?;
        Some(format!(
            " ({} is skipped by {})",
            skipped.version, by.version
        ))
    }

    fn reach(&self, name: &'a str) -> String {
        let mut others = self.versions_of(name, &self.gone);
        let installed = self.problem.gathering.installed.get(name);
        others.retain(|version| {
            installed.is_none_or(|installed| installed.bundle.version != **version)
        });
        if others.is_empty() {
            format!(
                "{} is installed, and no way leads from there to others",
                self.present(name)
            )
        } else {
            format!(
                "{} is installed, and from there the ways only lead to {}",
                self.present(name),
                listed(others)
            )
        }
    }

    fn server(&self, name: &'a str) -> String {
        let mut without = self.gone.clone();
        without.insert(Soft::Server(name));
        let node = self.problem.node(name);
        let options = node.into_iter().flat_map(|node| &node.options);
        let barred: Vec<_> = options
            .filter(|option| {
                let free = self.problem.is_free(**option, &without);
                free && !self.problem.is_free(**option, &self.gone)
            })
            .map(|option| self.problem.options[*option].candidate.bundle)
            .collect();
        let least = barred
            .iter()
            .filter_map(|bundle| bundle.min_server_version.as_ref());
        let least = least.min_by(|one, other| one.cmp_precedence(other));
        let server = self.problem.gathering.request.server.as_ref();
        let verb = if barred.len() == 1 { "needs" } else { "need" };
        format!(
            "{name} {} {verb} a server of at least {}, and this one is {}",
            listed(barred.iter().map(|bundle| &bundle.version).collect()),
            least.map_or_else(String::new, Version::to_string),
            server.map_or_else(String::new, Version::to_string)
        )
    }

    /// Each option with this need that is left, and what would meet it.
    fn needing(&self, soft: Soft<'a>) -> impl Iterator<Item = (usize, &Vec<usize>)> {
        let options = self.problem.options.iter().enumerate();
        options
            .filter(|(place, _)| self.problem.is_free(*place, &self.gone))
            .flat_map(move |(place, choice)| {
                let needs = choice
                    .needs
                    .iter()
                    .filter(move |needed| needed.soft == soft);
                needs.map(move |needed| (place, &needed.met_by))
            })
    }

    fn who_needs(&self, name: &str, soft: Soft<'a>) -> String {
        let versions: Vec<&Version> = self
            .needing(soft)
            .map(|(place, _)| &self.problem.options[place].candidate.bundle.version)
            .collect();
        let count = versions.iter().collect::<BTreeSet<_>>().len();
        let verb = if count == 1 { "needs" } else { "need" };
        format!("{name} {} {verb}", listed(versions))
    }

    fn package_supply(&self, needed: &'a str, soft: Soft<'a>) -> Option<String> {
        let all = self.versions_of(needed, &self.problem.softs());
        if all.is_empty() {
            return Some(self.not_offered(needed));
        }
        let met = self.needing(soft).any(|(_, met_by)| !met_by.is_empty());
        (!met).then(|| format!("the catalogs only have {needed} {}", listed(all)))
    }

    fn kind_supply(&self, soft: Soft<'a>, kind: &GroupVersionKind) -> String {
        let mut owners: Vec<(&str, &Version)> = self
            .needing(soft)
            .flat_map(|(_, met_by)| met_by)
            .map(|option| self.problem.options[*option].candidate)
            .map(|candidate| (candidate.package, &candidate.bundle.version))
            .collect();
        owners.sort_unstable();
        owners.dedup();
        if owners.is_empty() {
            return format!(
                "nothing in the catalogs that count brings {}",
                kind_name(kind)
            );
        }
        let mut packages: Vec<&str> = owners.iter().map(|(package, _)| *package).collect();
        packages.dedup();
        let parts: Vec<String> = packages
            .iter()
            .map(|package| {
                let own = owners.iter().filter(|(other, _)| other == package);
                format!(
                    "{package} {}",
                    listed(own.map(|(_, version)| *version).collect())
                )
            })
            .collect();
        let verb = if owners.len() == 1 { "brings" } else { "bring" };
        format!("only {} {verb} {}", parts.join(" and "), kind_name(kind))
    }

    /// Packages of which the facts ask for different versions.
    fn one_version(&self) -> Vec<Fact> {
        let mut asked: Vec<&str> = Vec::new();
        let mut bound: BTreeSet<&str> = BTreeSet::new();
        for soft in self.core {
            match soft {
                Soft::NeedsPackage(_, needed, _) => asked.push(needed),
                Soft::Range(name)
                | Soft::Pinned(name)
                | Soft::Channel(name)
                | Soft::Reach(name) => {
                    bound.insert(name);
                }
                _ => {}
            }
        }
        let mut counted: Vec<&str> = asked.clone();
        counted.sort_unstable();
        counted.dedup();
        counted.retain(|name| {
            let times = asked.iter().filter(|other| *other == name).count();
            times + usize::from(bound.contains(name)) > 1
        });
        let facts = counted.into_iter().map(|name| Fact {
            kind: FactKind::OneVersion,
            about: name.to_owned(),
            message: format!("only one version of {name} can be installed"),
        });
        facts.collect()
    }

    fn present(&self, name: &str) -> String {
        let installed = self.problem.gathering.installed.get(name);
        let version = installed.map(|installed| installed.bundle.version.to_string());
        format!("{name} {}", version.unwrap_or_default())
    }

    fn versions_of(&self, name: &str, gone: &BTreeSet<Soft<'a>>) -> Vec<&'a Version> {
        let node = self.problem.node(name);
        let options = node.into_iter().flat_map(|node| &node.options);
        options
            .filter(|option| self.problem.is_free(**option, gone))
            .map(|option| &self.problem.options[*option].candidate.bundle.version)
            .collect()
    }
}

/// As in `the kind EtcdBackup v1 of the group etcd.database.coreos.com`.
pub(super) fn kind_name(kind: &GroupVersionKind) -> String {
    let GroupVersionKind {
        group,
        version,
        kind,
    } = kind;
    format!("the kind {kind} {version} of the group {group}")
}

/// What a need asks for, in words.
pub(super) fn need_name(need: Need<'_>) -> String {
    match need {
        Need::Package(required) => format!("{} in the range {}", required.package, required.range),
        Need::Kind(kind) => kind_name(kind),
    }
}

/// A few versions one by one, many as from the lowest to the highest.
pub(super) fn listed(mut versions: Vec<&Version>) -> String {
    versions.sort_unstable();
    versions.dedup();
    match versions.as_slice() {
        [] => "none".to_owned(),
        [only] => only.to_string(),
        [first, .., last] if versions.len() > 3 => {
            format!("{first} to {last} ({} versions)", versions.len())
        }
        [before @ .., last] => {
            let before: Vec<String> = before.iter().map(ToString::to_string).collect();
            format!("{} and {last}", before.join(", "))
        }
    }
}
