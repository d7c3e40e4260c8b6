//! Ranges of versions, as catalogs write them.

use std::fmt;

use semver::Version;

/// A range of versions, with the text that it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    text: Box<str>,
    /// One of these must hold in full.
    any: Vec<Vec<Comparison>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Comparison {
    operator: Operator,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Why a text is no range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no range of versions: {reason}")]
pub struct RangeError {
    text: String,
    reason: String,
}

impl Range {
    /// Reads a range.
    ///
    /// # Errors
    /// When the text is no range.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        let error = |reason: &str| RangeError {
            text: text.to_owned(),
            reason: reason.to_owned(),
        };
        let mut any = Vec::new();
        for part in text.split("||") {
            let mut all = Vec::new();
            for word in part.split_whitespace() {
                let (operator, rest) = operator(word);
                let version = Version::parse(rest).map_err(|_| error("it holds no version"))?;
                all.push(Comparison { operator, version });
            }
            if all.is_empty() {
                return Err(error("a part of it is empty"));
            }
            any.push(all);
        }
        Ok(Self {
            text: text.into(),
            any,
        })
    }

    /// Whether a version is in the range.
    #[must_use]
    pub fn contains(&self, version: &Version) -> bool {
        self.any
            .iter()
            .any(|all| all.iter().all(|one| one.holds(version)))
    }
}

fn operator(word: &str) -> (Operator, &str) {
    let operators = [
        (">=", Operator::GreaterOrEqual),
        ("<=", Operator::LessOrEqual),
        ("!=", Operator::NotEqual),
        ("==", Operator::Equal),
        (">", Operator::Greater),
        ("<", Operator::Less),
        ("=", Operator::Equal),
        ("!", Operator::NotEqual),
    ];
    let found = operators.iter().find_map(|(text, operator)| {
        let rest = word.strip_prefix(text)?;
        Some((*operator, rest))
    });
    found.unwrap_or((Operator::Equal, word))
}

impl Comparison {
    fn holds(&self, version: &Version) -> bool {
        let order = version.cmp_precedence(&self.version);
        match self.operator {
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
            Operator::Greater => order.is_gt(),
            Operator::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
