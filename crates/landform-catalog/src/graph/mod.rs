//! Walking a channel: which versions may follow which, and how to get from one to another.
//!
//! An edge always goes up. So there are no loops and no downgrades whatever a catalog says, and what it
//! says in vain is listed by [`problems`]. A bundle that a higher one skips is never gone to.

mod no_path;
mod problems;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use semver::Version;

pub use no_path::{NoPath, Obstacle};
pub use problems::{Problem, ProblemKind, problems};

use crate::edges::{Edges, Replaces};
use crate::model::{Bundle, Channel, Package};
use crate::range::Range;

/// A channel, ready to be walked.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    package: &'a Package,
    channel: &'a Channel,
    /// From the lowest version to the highest.
    nodes: Vec<Node<'a>>,
    /// Who replaces or skips this name.
    named: BTreeMap<&'a str, Vec<usize>>,
    /// Who replaces versions or ranges.
    ranged: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Node<'a> {
    bundle: &'a Bundle,
    edges: &'a Edges,
    /// The higher one that says that nobody should come here.
    skipped_by: Option<&'a Bundle>,
}

/// A version on a way. The first one may be unknown to the catalog.
#[derive(Clone, Copy, Debug)]
pub struct Stop<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a Version,
    /// What the catalog has of it.
    pub bundle: Option<&'a Bundle>,
}

/// The bundles that may take the place of `from`, the highest first.
#[must_use]
pub fn steps<'a>(
    package: &'a Package,
    channel: &'a Channel,
    from: (&str, &Version),
) -> Vec<&'a Bundle> {
    Walk::new(package, channel).steps(from)
}

/// The shortest way from one version to another, both included; among equally short ones the one with
/// the highest versions first.
///
/// # Errors
/// When there is no way. The error says why, and what would make one.
pub fn path<'a>(
    package: &'a Package,
    channel: &'a Channel,
    from: (&'a str, &'a Version),
    to: &Version,
) -> Result<Vec<Stop<'a>>, Box<NoPath>> {
    Walk::new(package, channel).path(from, to)
}

/// The bundles that nothing takes the place of, the highest first. There should be one.
#[must_use]
pub fn heads<'a>(package: &'a Package, channel: &'a Channel) -> Vec<&'a Bundle> {
    Walk::new(package, channel).heads()
}

/// The highest head.
#[must_use]
pub fn head<'a>(package: &'a Package, channel: &'a Channel) -> Option<&'a Bundle> {
    latest(package, channel, None)
}

/// What somebody gets who has nothing yet: the head if it is in the range, else the highest that is.
#[must_use]
pub fn latest<'a>(
    package: &'a Package,
    channel: &'a Channel,
    range: Option<&Range>,
) -> Option<&'a Bundle> {
    Walk::new(package, channel).candidates(range).next()
}

/// The bundle of a version: of several that differ only in build metadata the last one.
#[must_use]
pub fn find<'a>(package: &'a Package, version: &Version) -> Option<&'a Bundle> {
    let mut highest_first = package.bundles.iter().rev();
    highest_first.find(|bundle| bundle.version.cmp_precedence(version).is_eq())
}

impl<'a> Walk<'a> {
    /// Looks at a channel.
    #[must_use]
    pub fn new(package: &'a Package, channel: &'a Channel) -> Self {
        let mut nodes: Vec<Node<'a>> = channel
            .entries
            .iter()
            .filter_map(|entry| {
                Some(Node {
                    bundle: package.bundles.get(entry.bundle?)?,
                    edges: &entry.edges,
                    skipped_by: None,
                })
            })
            .collect();
        nodes.sort_by(|one, other| order(one.bundle, other.bundle));
        let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut ranged = Vec::new();
        for (place, node) in nodes.iter().enumerate() {
            let versions = node.edges.skips.iter().any(|skip| looks_like_version(skip));
            let mut wide = versions || node.edges.skip_range.is_some();
            match &node.edges.replaces {
                Some(Replaces::Name(name)) => named.entry(name).or_default().push(place),
                Some(Replaces::Version(_) | Replaces::Range(_)) => wide = true,
                None => {}
            }
            for skip in &node.edges.skips {
                named.entry(skip).or_default().push(place);
            }
            if wide {
                ranged.push(place);
            }
        }
        let mut walk = Self {
            package,
            channel,
            nodes,
            named,
            ranged,
        };
        walk.mark_skipped();
        walk
    }

    fn mark_skipped(&mut self) {
        let any = |node: &&Node<'_>| !node.edges.skips.is_empty();
        if self.nodes.iter().find(any).is_none() {
            return;
        }
        let skipping: Vec<_> = self.nodes.iter().filter(any).cloned().collect();
        for node in &mut self.nodes {
            let (name, version) = (&*node.bundle.name, &node.bundle.version);
            let by = skipping.iter().rev().find(|by| {
                let higher = by.bundle.version.cmp_precedence(version).is_gt();
                higher && by.edges.skips.iter().any(|skip| is(skip, name, version))
            });
            node.skipped_by = by.map(|by| by.bundle);
        }
    }

    /// The bundles that may take the place of `from`, the highest first.
    #[must_use]
    pub fn steps(&self, from: (&str, &Version)) -> Vec<&'a Bundle> {
        let places = self.step_places(from);
        places
            .iter()
            .map(|place| self.nodes[*place].bundle)
            .collect()
    }

    fn step_places(&self, from: (&str, &Version)) -> Vec<usize> {
        // Only what is higher can follow.
        let lower = |node: &Node<'_>| node.bundle.version.cmp_precedence(from.1).is_le();
        let first = self.nodes.partition_point(lower);
        let ranged = &self.ranged[self.ranged.partition_point(|place| *place < first)..];
        let by_name = self.named.get(from.0).into_iter().flatten();
        let mut places: Vec<usize> = by_name
            .chain(ranged)
            .copied()
            .filter(|place| {
                let node = &self.nodes[*place];
                let to = (&*node.bundle.name, &node.bundle.version);
                node.skipped_by.is_none() && node.edges.lead(from, to)
            })
            .collect();
        places.sort_unstable_by(|one, other| other.cmp(one));
        places.dedup_by_key(|place| &self.nodes[*place].bundle.name);
        places
    }

    /// Every pair of which the second may take the place of the first.
    pub fn edges(&self) -> impl Iterator<Item = (&'a Bundle, &'a Bundle)> {
        self.nodes.iter().flat_map(|node| {
            let steps = self.steps((&node.bundle.name, &node.bundle.version));
            steps.into_iter().map(|to| (node.bundle, to))
        })
    }

    /// The bundles that nothing takes the place of, the highest first.
    #[must_use]
    pub fn heads(&self) -> Vec<&'a Bundle> {
        let highest_first = self.nodes.iter().rev();
        highest_first
            .filter(|node| {
                let from = (&*node.bundle.name, &node.bundle.version);
                node.skipped_by.is_none() && self.step_places(from).is_empty()
            })
            .map(|node| node.bundle)
            .collect()
    }

    /// What somebody may get who has nothing yet, the best first. The highest one that isn't skipped is
    /// always a head.
    pub fn candidates(&self, range: Option<&Range>) -> impl Iterator<Item = &'a Bundle> {
        let highest_first = self.nodes.iter().rev();
        highest_first
            .filter(|node| node.skipped_by.is_none())
            .map(|node| node.bundle)
            .filter(move |bundle| range.is_none_or(|range| range.contains(&bundle.version)))
    }

    /// The bundles that nobody goes to, each with the higher one that skips it.
    pub fn skipped(&self) -> impl Iterator<Item = (&'a Bundle, &'a Bundle)> {
        let nodes = self.nodes.iter();
        nodes.filter_map(|node| Some((node.bundle, node.skipped_by?)))
    }

    /// All that can be reached from a version in one or more steps, the highest first.
    #[must_use]
    pub fn reachable(&self, from: (&str, &Version)) -> Vec<&'a Bundle> {
        let mut reached = vec![false; self.nodes.len()];
        for place in self.step_places(from) {
            reached[place] = true;
        }
        // Steps go up, so whoever reaches a node was seen before it.
        for place in 0..self.nodes.len() {
            if reached[place] {
                let bundle = self.nodes[place].bundle;
                for next in self.step_places((&bundle.name, &bundle.version)) {
                    reached[next] = true;
                }
            }
        }
        let places = (0..self.nodes.len()).rev().filter(|place| reached[*place]);
        places.map(|place| self.nodes[place].bundle).collect()
    }

    /// The shortest way from one version to another, both included.
    ///
    /// # Errors
    /// When there is no way.
    pub fn path(
        &self,
        from: (&'a str, &'a Version),
        to: &Version,
    ) -> Result<Vec<Stop<'a>>, Box<NoPath>> {
        let start = Stop {
            name: from.0,
            version: from.1,
            bundle: self.package.bundle(from.0),
        };
        if from.1.cmp_precedence(to).is_eq() {
            return Ok(vec![start]);
        }
        let refuse = |obstacle| Err(Box::new(NoPath::new(self, from, to, obstacle)));
        if from.1.cmp_precedence(to).is_gt() {
            return refuse(Obstacle::Downgrade);
        }
        let is_target = |node: &Node<'_>| node.bundle.version.cmp_precedence(to).is_eq();
        let Some(target) = self.nodes.iter().rposition(is_target) else {
            return refuse(Obstacle::NotInChannel);
        };
        if let Some(by) = self.nodes[target].skipped_by {
            let by = by.version.clone();
            return refuse(Obstacle::Skipped { by });
        }
        let distances = self.distances(target);
        let mut way = vec![start];
        let mut here = from;
        while way.len() <= self.nodes.len() + 1 {
            let steps = self.step_places(here).into_iter();
            // The first of the nearest is the highest of them.
            let next = steps
                .filter_map(|place| Some((place, (*distances.get(place)?)?)))
                .min_by_key(|(_, distance)| *distance);
            let Some((place, distance)) = next else { break };
            let bundle = self.nodes[place].bundle;
            here = (&bundle.name, &bundle.version);
            way.push(Stop {
                name: here.0,
                version: here.1,
                bundle: Some(bundle),
            });
            if distance == 0 {
                return Ok(way);
            }
        }
        refuse(self.apart(from, target, &distances))
    }

    /// For every node up to the target: how many steps it is away.
    fn distances(&self, target: usize) -> Vec<Option<usize>> {
        let mut distances = vec![None; target + 1];
        distances[target] = Some(0);
        for place in (0..target).rev() {
            let bundle = self.nodes[place].bundle;
            let steps = self.step_places((&bundle.name, &bundle.version));
            let nearest = steps.iter().filter_map(|step| *distances.get(*step)?).min();
            distances[place] = nearest.map(|distance| distance + 1);
        }
        distances
    }

    fn apart(
        &self,
        from: (&str, &Version),
        target: usize,
        distances: &[Option<usize>],
    ) -> Obstacle {
        let to = &self.nodes[target].bundle.version;
        let reached = self.reachable(from).into_iter();
        let reached = reached
            .map(|bundle| &bundle.version)
            .find(|version| version.cmp_precedence(to).is_lt());
        let floor = reached.unwrap_or(from.1);
        let leading = (0..=target).find(|place| {
            let version = &self.nodes[*place].bundle.version;
            distances[*place].is_some() && version.cmp_precedence(floor).is_gt()
        });
        let leading = &self.nodes[leading.unwrap_or(target)];
        let missing = match &leading.edges.replaces {
            Some(Replaces::Name(name)) if self.package.bundle(name).is_none() => Some(name.clone()),
            _ => None,
        };
        Obstacle::Apart {
            reached: reached.cloned(),
            leading: leading.bundle.version.clone(),
            missing,
        }
    }
}

/// From the lowest to the highest.
fn order(one: &Bundle, other: &Bundle) -> Ordering {
    let by_version = one.version.cmp_precedence(&other.version);
    by_version.then_with(|| (&one.version, &one.name).cmp(&(&other.version, &other.name)))
}

/// Whether a name or version means this bundle.
fn is(text: &str, name: &str, version: &Version) -> bool {
    text == name || Version::parse(text).is_ok_and(|found| found.cmp_precedence(version).is_eq())
}

fn looks_like_version(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && Version::parse(text).is_ok()
}
