//! Numbers that tell where they come from: which version of each source they were made of, and by how many ways.
//!
//! A source has versions; in version `v` its number has a one as its digit `v`. Items add up what they take, so the
//! digit `v` of a sum says by how many ways version `v` has come. A sum with two digits of one source is a *mix*, and so is
//! one of versions of different sources that never stood together: no state of the sources has ever given that.

use std::collections::{BTreeMap, BTreeSet};

/// The sources that a landscape can have.
pub(super) const SOURCES: usize = 3;
/// The versions that a source can have.
pub(super) const VERSIONS: u32 = 5;
/// Each digit counts up to this many ways.
pub(super) const WAYS: u64 = (1 << BITS) - 1;
const BITS: u32 = 3;

/// The number of a source in one of its versions.
pub(super) fn number(source: usize, version: u32) -> u64 {
    1 << (BITS * (place(source) + version % VERSIONS))
}

fn place(source: usize) -> u32 {
    u32::try_from(source).unwrap_or_default() * VERSIONS
}

/// The source and the version that a number is of, if it is of one alone.
fn version(number: u64) -> Option<(usize, u32)> {
    let digits = versions(number);
    let mut all = digits.into_iter();
    let (source, found) = all.next()?;
    let of_one = all.next().is_none() && found.len() == 1;
    let version = found.into_iter().next().filter(|_| of_one)?;
    (self::number(source, version) == number).then_some((source, version))
}

/// The versions in a number, by source.
fn versions(sum: u64) -> BTreeMap<usize, Vec<u32>> {
    let digit = |at: u32| (sum >> (BITS * at)) & WAYS;
    let all = (0..SOURCES).map(|source| {
        let versions = 0..VERSIONS;
        let found = versions.filter(|version| digit(place(source) + version) > 0);
        (source, found.collect::<Vec<_>>())
    });
    all.filter(|(_, found)| !found.is_empty()).collect()
}

/// Which versions of the sources stood together, at any moment.
#[derive(Default)]
pub(super) struct Moments {
    /// The object that states each source now, with the version.
    now: BTreeMap<usize, (String, u32)>,
    ever: BTreeSet<BTreeMap<usize, u32>>,
}

impl Moments {
    /// An object states these numbers from now on, and no others.
    pub(super) fn state(&mut self, object: &str, numbers: impl IntoIterator<Item = u64>) {
        self.now.retain(|_, (stated_by, _)| stated_by != object);
        for (source, version) in numbers.into_iter().filter_map(version) {
            self.now.insert(source, (object.to_owned(), version));
        }
        let now = self.now.iter();
        self.ever.insert(
            now.map(|(source, (_, version))| (*source, *version))
                .collect(),
        );
    }

    /// What is mixed in a number, in words.
    pub(super) fn mix(&self, sum: u64) -> Option<String> {
        let found = versions(sum);
        if let Some((source, versions)) = found.iter().find(|(_, found)| found.len() > 1) {
            return Some(format!("source {source} in versions {versions:?}"));
        }
        let stood = |moment: &BTreeMap<usize, u32>| {
            let mut found = found.iter();
            found.all(|(source, versions)| moment.get(source) == versions.first())
        };
        if found.is_empty() || self.ever.iter().any(stood) {
            return None;
        }
        let words = found.iter();
        let words: Vec<_> = words
            .map(|(source, versions)| format!("source {source} in version {versions:?}"))
            .collect();
        Some(format!(
            "{}, which never stood together",
            words.join(" with ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_told_from_one_version_that_came_by_many_ways() {
        let mut moments = Moments::default();
        moments.state("a", [number(0, 2), number(2, 0)]);
        moments.state("b", [number(1, 4)]);
        let one = number(0, 2) * WAYS + number(1, 4) * 3 + number(2, 0);
        assert_eq!(moments.mix(one), None);
        assert_eq!(moments.mix(0), None);
        let two = number(0, 2) + number(0, 3) + number(1, 1);
        assert_eq!(moments.mix(two).unwrap(), "source 0 in versions [2, 3]");
        let last = number(2, 0) * WAYS + number(2, VERSIONS - 1);
        assert!(moments.mix(last).is_some());
        assert!(number(SOURCES - 1, VERSIONS - 1) < 1 << 53, "a JSON number");
    }

    #[test]
    fn versions_that_never_stood_together_are_a_mix() {
        let mut moments = Moments::default();
        moments.state("a", [number(0, 0)]);
        moments.state("b", [number(1, 0)]);
        moments.state("a", [number(0, 1)]);
        moments.state("b", [number(1, 1)]);
        for (one, other, mixed) in [(0, 0, false), (1, 0, false), (0, 1, true), (1, 1, false)] {
            let sum = number(0, one) + number(1, other);
            assert_eq!(moments.mix(sum).is_some(), mixed, "{one} {other}");
        }
        // One that no longer states it has taken it along.
        moments.state("b", [0, 7]);
        moments.state("a", [number(0, 2)]);
        assert!(moments.mix(number(0, 2) + number(1, 1)).is_some());
        assert_eq!(moments.mix(number(0, 2)), None);
    }
}
