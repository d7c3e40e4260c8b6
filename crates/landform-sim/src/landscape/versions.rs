//! Numbers that tell where they come from: which version of each source they were made of, and by how many ways.
//!
//! A source has versions; in version `v` its number has a one as its digit `v`. Items add up what they take, so the
//! digit `v` of a sum says by how many ways version `v` has come. A sum with two digits of one source is a *mix*: no
//! state of the sources has ever given that.

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

/// What is mixed in a number, in words.
pub(super) fn mix(sum: u64) -> Option<String> {
    let digit = |at: u32| (sum >> (BITS * at)) & WAYS;
    (0..SOURCES).find_map(|source| {
        let versions = 0..VERSIONS;
        let found: Vec<u32> = versions
            .filter(|version| digit(place(source) + version) > 0)
            .collect();
        (found.len() > 1).then(|| format!("source {source} in versions {found:?}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_told_from_one_version_that_came_by_many_ways() {
        let one = number(0, 2) * WAYS + number(1, 4) * 3 + number(2, 0);
        assert_eq!(mix(one), None);
        assert_eq!(mix(0), None);
        let two = number(0, 2) + number(0, 3) + number(1, 1);
        assert_eq!(mix(two).unwrap(), "source 0 in versions [2, 3]");
        let last = number(2, 0) * WAYS + number(2, VERSIONS - 1);
        assert!(mix(last).is_some());
        assert!(number(SOURCES - 1, VERSIONS - 1) < 1 << 53, "a JSON number");
    }
}
