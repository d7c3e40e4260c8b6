//! What a package's graph says in vain, each with what follows from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use landform_api::catalog::source::CatalogProblem;
use semver::Version;

use super::{Walk, is};
use crate::edges::Replaces;
use crate::model::{Channel, Entry, Package};
use crate::range::Range;

/// Something about a channel that doesn't mean what it says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The channel.
    pub channel: Arc<str>,
    /// The entry that it is about.
    pub entry: Arc<str>,
    /// As one word.
    pub kind: ProblemKind,
    /// For people: what is wrong, and what follows from it.
    pub message: String,
}

/// What sort of problem it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// An entry replaces itself, by name or by a range that ends at or above it.
    SelfReplacing,
    /// Entries replace each other in a circle.
    Cycle,
    /// Nothing replaces several entries.
    SeveralHeads,
    /// An entry replaces something that the catalog doesn't have.
    AbsentTarget,
    /// The catalog doesn't have the entry's bundle.
    AbsentBundle,
    /// No lower version of the channel is in an entry's range.
    StaleRange,
    /// An entry's range has no upper bound.
    UnboundedRange,
    /// An entry replaces a higher version.
    Downgrade,
    /// No lower entry leads to an entry.
    Unreachable,
}

/// All problems of a package's channels, in the order of channels and entries.
#[must_use]
pub fn problems(package: &Package) -> Vec<Problem> {
    let channels = package.channels.values();
    channels
        .flat_map(|channel| of_channel(package, channel))
        .collect()
}

impl Problem {
    /// As a catalog's status lists it.
    #[must_use]
    pub fn in_catalog(self, package: &Package) -> CatalogProblem {
        let bundle = package.bundle(&self.entry);
        CatalogProblem {
            file: bundle.map_or_else(String::new, |bundle| bundle.file.to_string()),
            package: package.name.to_string(),
            reason: self.message,
            warning: true,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

struct Finder<'a> {
    package: &'a Package,
    channel: &'a Channel,
    found: Vec<Problem>,
}

fn of_channel(package: &Package, channel: &Channel) -> Vec<Problem> {
    let mut finder = Finder {
        package,
        channel,
        found: Vec::new(),
    };
    for entry in &channel.entries {
        finder.look_at(entry);
    }
    finder.cycles();
    let walk = Walk::new(package, channel);
    finder.heads(&walk);
    finder.unreachable(&walk);
    finder.found
}

impl Finder<'_> {
    fn report(&mut self, entry: &Arc<str>, kind: ProblemKind, message: String) {
        self.found.push(Problem {
            channel: self.channel.name.clone(),
            entry: entry.clone(),
            kind,
            message,
        });
    }

    fn look_at(&mut self, entry: &Entry) {
        let (name, channel) = (&entry.name, &self.channel.name);
        let Some(own) = self.version(entry).cloned() else {
            let message = format!(
                "the channel {channel} names {name}, which the catalog doesn't have: it can't be \
                 installed or gone through"
            );
            self.report(name, ProblemKind::AbsentBundle, message);
            return;
        };
        match &entry.edges.replaces {
            Some(Replaces::Name(replaced)) => self.named(entry, &own, replaced),
            Some(Replaces::Version(version)) => self.named(entry, &own, &version.to_string()),
            Some(Replaces::Range(range)) => self.ranged(entry, &own, range, "replaces"),
            None => {}
        }
        for skipped in &entry.edges.skips {
            self.compared(entry, &own, skipped, "skips");
        }
        if let Some(range) = &entry.edges.skip_range {
            self.ranged(entry, &own, range, "skipRange");
        }
    }

    fn named(&mut self, entry: &Entry, own: &Version, replaced: &str) {
        self.compared(entry, own, replaced, "replaces");
        let known = self.find(replaced).is_some() || is(replaced, &entry.name, own);
        if !known {
            let message = format!(
                "{} replaces {replaced}, which the catalog doesn't have: who runs that can go on, but \
                 no other version leads here by it",
                entry.name
            );
            self.report(&entry.name, ProblemKind::AbsentTarget, message);
        }
    }

    fn compared(&mut self, entry: &Entry, own: &Version, other: &str, verb: &str) {
        let name = &entry.name;
        if is(other, name, own) {
            let message = format!("{name} {verb} itself: that counts for nothing");
            self.report(name, ProblemKind::SelfReplacing, message);
            return;
        }
        let found = self.find(other).cloned();
        if found.is_some_and(|found| found.cmp_precedence(own).is_ge()) {
            let message = format!(
                "{name} {verb} {other}, which isn't lower: that counts for nothing, since no way goes \
                 down"
            );
            self.report(name, ProblemKind::Downgrade, message);
        }
    }

    fn ranged(&mut self, entry: &Entry, own: &Version, range: &Range, field: &str) {
        let name = &entry.name;
        if range.is_unbounded_above() {
            let message = format!(
                "the {field} of {name}, {range}, has no upper bound: only what is lower than {own} \
                 counts"
            );
            self.report(name, ProblemKind::UnboundedRange, message);
        } else if range.contains(own) {
            let message = format!(
                "the {field} of {name}, {range}, has {own} itself in it: only what is lower counts"
            );
            self.report(name, ProblemKind::SelfReplacing, message);
        }
        let mut versions = self
            .channel
            .entries
            .iter()
            .filter_map(|it| self.version(it));
        let useful =
            versions.any(|version| version.cmp_precedence(own).is_lt() && range.contains(version));
        if !useful {
            let message = format!(
                "no lower version of the channel {} is in the {field} of {name}, {range}: it leads \
                 here from none of them",
                self.channel.name
            );
            self.report(name, ProblemKind::StaleRange, message);
        }
    }

    /// Follows names and versions as they are written, without a look at which is higher.
    fn cycles(&mut self) {
        let entries = &self.channel.entries;
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (place, entry) in entries.iter().enumerate() {
            if let Some(version) = self.version(entry) {
                places.entry(version.to_string()).or_insert(place);
            }
        }
        for (place, entry) in entries.iter().enumerate() {
            places.insert(entry.name.to_string(), place);
        }
        let replaced: Vec<Vec<usize>> = entries
            .iter()
            .enumerate()
            .map(|(own, entry)| {
                let first = match &entry.edges.replaces {
                    Some(Replaces::Name(name)) => places.get(&**name),
                    Some(Replaces::Version(version)) => places.get(&version.to_string()),
                    Some(Replaces::Range(_)) | None => None,
                };
                let skips = entry.edges.skips.iter();
                let all = first
                    .into_iter()
                    .chain(skips.filter_map(|skip| places.get(&**skip)));
                all.copied().filter(|place| *place != own).collect()
            })
            .collect();
        for cycle in circles(&replaced) {
            let names: Vec<&str> = cycle.iter().map(|place| &*entries[*place].name).collect();
            let message = format!(
                "{} replace each other in a circle: only the steps up count",
                names.join(" → ")
            );
            self.report(&entries[cycle[0]].name, ProblemKind::Cycle, message);
        }
    }

    fn heads(&mut self, walk: &Walk<'_>) {
        let heads = walk.heads();
        let [best, others @ ..] = heads.as_slice() else {
            return;
        };
        if others.is_empty() {
            return;
        }
        let shown: Vec<&str> = others.iter().take(5).map(|head| &*head.name).collect();
        let more = others.len() - shown.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let message = format!(
            "the channel {} has {} heads: new installations get {}, and who runs {}{more} stays there",
            self.channel.name,
            heads.len(),
            best.name,
            shown.join(", ")
        );
        self.report(&best.name, ProblemKind::SeveralHeads, message);
    }

    fn unreachable(&mut self, walk: &Walk<'_>) {
        let reached: BTreeSet<&str> = walk.edges().map(|(_, to)| &*to.name).collect();
        for node in walk.nodes.iter().skip(1) {
            let name = &node.bundle.name;
            if node.skipped_by.is_none() && !reached.contains(&**name) {
                let message = format!(
                    "no lower version of the channel {} leads to {name}: it can only be installed \
                     afresh",
                    self.channel.name
                );
                self.report(name, ProblemKind::Unreachable, message);
            }
        }
    }

    fn version(&self, entry: &Entry) -> Option<&Version> {
        Some(&self.package.bundles.get(entry.bundle?)?.version)
    }

    /// The version of what a name or version means, anywhere in the package.
    fn find(&self, text: &str) -> Option<&Version> {
        let mut versions = self.package.bundles.iter();
        let found = versions.find(|bundle| is(text, &bundle.name, &bundle.version));
        found.map(|bundle| &bundle.version)
    }
}

/// Circles along these edges, each once, starting and ending with the same one. Depth first, without
/// recursion: a chain may be long.
fn circles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        OnTheWay,
        Done,
    }
    let mut seen = vec![Seen::Never; edges.len()];
    let mut found = Vec::new();
    for start in 0..edges.len() {
        if seen[start] != Seen::Never {
            continue;
        }
        seen[start] = Seen::OnTheWay;
        let mut way = vec![(start, 0)];
        while let Some((here, next)) = way.last_mut() {
            let (from, edge) = (*here, *next);
            *next += 1;
            let Some(to) = edges[from].get(edge).copied() else {
                seen[from] = Seen::Done;
                way.pop();
                continue;
            };
            match seen[to] {
                Seen::Done => {}
                Seen::Never => {
                    seen[to] = Seen::OnTheWay;
                    way.push((to, 0));
                }
                Seen::OnTheWay => {
                    let circle = way.iter().map(|(place, _)| *place);
                    let mut circle: Vec<usize> = circle.skip_while(|place| *place != to).collect();
                    circle.push(to);
                    found.push(circle);
                }
            }
        }
    }
    found
}
