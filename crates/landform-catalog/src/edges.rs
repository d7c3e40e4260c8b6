//! Which versions one may replace.

use std::sync::Arc;

use semver::Version;

use crate::range::Range;

/// What an entry of a channel, or an operator version, may replace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edges {
    /// What it replaces first of all.
    pub replaces: Option<Replaces>,
    /// Names or versions that it may replace as well, and that nobody should go to.
    pub skips: Vec<Arc<str>>,
    /// Versions that it may replace as well.
    pub skip_range: Option<Range>,
}

/// What is replaced first of all.
#[derive(Clone, Debug, PartialEq)]
pub enum Replaces {
    /// The one of this name.
    Name(Arc<str>),
    /// The one of this version.
    Version(Version),
    /// Every one in this range.
    Range(Range),
}

impl Replaces {
    /// Reads what stands in `replaces`: a version, a range of versions, or else a name.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if let Ok(version) = Version::parse(text) {
            return Self::Version(version);
        }
        Range::parse(text).map_or_else(|_| Self::Name(text.into()), Self::Range)
    }
}

impl Edges {
    /// Whether `to`, which has these edges, may take the place of `from`. Never of itself and never of a
    /// higher or equal version, whatever a range without an upper bound says.
    #[must_use]
    pub fn lead(&self, from: (&str, &Version), to: (&str, &Version)) -> bool {
        let (name, version) = from;
        if name == to.0 || version.cmp_precedence(to.1).is_ge() {
            return false;
        }
        let named = |text: &str| {
            text == name
                || Version::parse(text).is_ok_and(|found| found.cmp_precedence(version).is_eq())
        };
        let replaced = match &self.replaces {
            None => false,
            Some(Replaces::Name(replaced)) => &**replaced == name,
            Some(Replaces::Version(replaced)) => replaced.cmp_precedence(version).is_eq(),
            Some(Replaces::Range(range)) => range.contains(version),
        };
        replaced
            || self.skips.iter().any(|skipped| named(skipped))
            || self
                .skip_range
                .as_ref()
                .is_some_and(|range| range.contains(version))
    }
}
