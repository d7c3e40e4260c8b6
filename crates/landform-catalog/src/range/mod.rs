//! Ranges of versions, as catalogs write them.
//!
//! Two dialects are in use. Catalogs of operators have blang's: a space means *and*, `||` means *or*,
//! `!` excludes, `x` stands for any number, and a pre-release is compared like every other version.
//! People and charts have Masterminds': a comma or a space means *and*, there are `~`, `^` and
//! `1.2 - 2`, numbers may be left out, and a pre-release is only in a range that mentions one.
//! Build metadata never counts.

mod parse;
#[cfg(test)]
mod tests;

use std::fmt;

use semver::Version;

/// A range of versions, with the text that it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    text: Box<str>,
    /// One of these must hold.
    any: Box<[Group]>,
}

/// Comparisons that must all hold.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    all: Box<[Comparison]>,
    /// Whether pre-releases count at all.
    pre_releases: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Comparison {
    Equal(Version),
    NotEqual(Version),
    Less(Version),
    LessOrEqual(Version),
    Greater(Version),
    GreaterOrEqual(Version),
    /// Lower than the first, or at least the second.
    Outside(Box<(Version, Version)>),
    /// No version at all.
    Never,
}

/// Why a text is no range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no range of versions: {reason}")]
pub struct RangeError {
    text: String,
    reason: String,
}

impl Range {
    /// Reads a range of either dialect: a text with a comma, `~`, `^`, a range with a hyphen or a number
    /// left out is Masterminds', every other is blang's.
    ///
    /// # Errors
    /// When the text is no range of either.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        let marked = text.contains([',', '~', '^'])
            || text.split_whitespace().any(|word| word == "-")
            || text.contains("=>")
            || text.contains("=<");
        if marked {
            return Self::parse_masterminds(text);
        }
        // `1.2` is nothing in blang's dialect, so it can only mean the other one.
        Self::parse_blang(text).or_else(|error| Self::parse_masterminds(text).map_err(|_| error))
    }

    /// Reads a range as blang's library does.
    ///
    /// # Errors
    /// When the text is no such range.
    pub fn parse_blang(text: &str) -> Result<Self, RangeError> {
        parse::range(text, parse::Dialect::Blang)
    }

    /// Reads a range as Masterminds' library does.
    ///
    /// # Errors
    /// When the text is no such range.
    pub fn parse_masterminds(text: &str) -> Result<Self, RangeError> {
        parse::range(text, parse::Dialect::Masterminds)
    }

    /// The range that has only this version.
    #[must_use]
    pub fn exactly(version: &Version) -> Self {
        Self {
            text: version.to_string().into(),
            any: Box::new([Group {
                all: Box::new([Comparison::Equal(version.clone())]),
                pre_releases: true,
            }]),
        }
    }

    /// Whether a version is in the range.
    #[must_use]
    pub fn contains(&self, version: &Version) -> bool {
        self.any.iter().any(|group| {
            (group.pre_releases || version.pre.is_empty())
                && group.all.iter().all(|one| one.holds(version))
        })
    }

    /// Whether there is no highest version: whatever comes later is in the range too.
    #[must_use]
    pub fn is_unbounded_above(&self) -> bool {
        self.any.iter().any(|group| {
            group.all.iter().all(|one| match one {
                Comparison::Equal(_)
                | Comparison::Less(_)
                | Comparison::LessOrEqual(_)
                | Comparison::Never => false,
                Comparison::NotEqual(_)
                | Comparison::Greater(_)
                | Comparison::GreaterOrEqual(_)
                | Comparison::Outside(_) => true,
            })
        })
    }

    /// The text that it was read from.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Comparison {
    fn holds(&self, version: &Version) -> bool {
        match self {
            Self::Equal(than) => version.cmp_precedence(than).is_eq(),
            Self::NotEqual(than) => version.cmp_precedence(than).is_ne(),
            Self::Less(than) => version.cmp_precedence(than).is_lt(),
            Self::LessOrEqual(than) => version.cmp_precedence(than).is_le(),
            Self::Greater(than) => version.cmp_precedence(than).is_gt(),
            Self::GreaterOrEqual(than) => version.cmp_precedence(than).is_ge(),
            Self::Outside(ends) => {
                version.cmp_precedence(&ends.0).is_lt() || version.cmp_precedence(&ends.1).is_ge()
            }
            Self::Never => false,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
