//! Which versions one may replace.

use std::fmt;
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

/// As `replaces` has it.
impl fmt::Display for Replaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Version(version) => write!(f, "{version}"),
            Self::Range(range) => write!(f, "{range}"),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    fn leads(edges: &Edges, from: &str, to: &str) -> bool {
        let (from_name, to_name) = (format!("foo.v{from}"), format!("foo.v{to}"));
        edges.lead((&from_name, &version(from)), (&to_name, &version(to)))
    }

    fn replaces(text: &str) -> Edges {
        Edges {
            replaces: Some(Replaces::parse(text)),
            ..Edges::default()
        }
    }

    #[test]
    fn what_is_replaced_is_a_version_a_range_or_a_name() {
        assert_eq!(
            Replaces::parse("1.2.3"),
            Replaces::Version(version("1.2.3"))
        );
        assert!(matches!(
            Replaces::parse(">=1.0.0 <2.0.0"),
            Replaces::Range(_)
        ));
        assert!(matches!(Replaces::parse("1.2"), Replaces::Range(_)));
        for name in ["foo.v1.2.3", "x", "foo-1.2", "foo"] {
            assert_eq!(Replaces::parse(name), Replaces::Name(name.into()));
        }
        assert!(leads(&replaces("foo.v1.0.0"), "1.0.0", "1.1.0"));
        assert!(leads(&replaces("1.0.0"), "1.0.0", "1.1.0"));
        assert!(leads(&replaces("<1.1.0"), "1.0.0", "1.1.0"));
        assert!(!leads(&replaces("<1.0.0"), "1.0.0", "1.1.0"));
    }

    #[test]
    fn nothing_replaces_itself_or_goes_down() {
        for edges in [
            replaces("foo.v1.1.0"),
            replaces("1.1.0"),
            replaces(">=0.0.1"),
        ] {
            assert!(!leads(&edges, "1.1.0", "1.1.0"));
            assert!(!leads(&edges, "1.1.0", "1.0.0"));
        }
        // Build metadata makes no higher version.
        assert!(!leads(&replaces(">=0.0.1"), "1.1.0+a", "1.1.0+b"));
    }

    #[test]
    fn a_range_without_an_upper_bound_ends_at_the_version_itself() {
        let edges = Edges {
            skip_range: Some(Range::parse(">=0.0.1").unwrap()),
            ..Edges::default()
        };
        assert!(leads(&edges, "1.0.9", "1.1.0"));
        assert!(leads(&edges, "1.1.0-rc.1", "1.1.0"));
        assert!(!leads(&edges, "1.1.0", "1.1.0"));
        assert!(!leads(&edges, "1.2.0", "1.1.0"));
        assert!(!leads(&edges, "0.0.0", "1.1.0"));
    }

    #[test]
    fn skips_are_names_or_versions() {
        let edges = Edges {
            skips: vec!["foo.v1.0.0".into(), "1.0.1".into()],
            ..Edges::default()
        };
        assert!(leads(&edges, "1.0.0", "1.1.0"));
        assert!(leads(&edges, "1.0.1", "1.1.0"));
        assert!(leads(&edges, "1.0.1+build", "1.1.0"));
        assert!(!leads(&edges, "1.0.2", "1.1.0"));
        assert!(!leads(&edges, "1.0.1", "1.0.0"));
    }
}
