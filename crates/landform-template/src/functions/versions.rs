//! Semantic versions: `semver`, and `semverCompare` with ranges as Masterminds writes them.

use std::rc::Rc;

use semver::{Prerelease, Version};

use super::{Call, Entry, entry};
use crate::run::Answer;
use crate::value::{Entries, Value};

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("semver", 1, 1, semver),
    entry("semverCompare", 2, 2, |call| {
        let range = parse_range(call.text(0)?)
            .ok_or_else(|| call.problem("argument 1 is no range of versions"))?;
        let version = version(call, 1)?;
        Ok(Value::Bool(
            range
                .iter()
                .any(|all| all.iter().all(|one| one.holds(&version))),
        ))
    }),
];

fn version(call: &Call<'_>, at: usize) -> Answer<Version> {
    let parsed = parse_version(call.text(at)?);
    let parsed = parsed.map(|(version, _)| version);
    parsed.ok_or_else(|| call.problem(format!("argument {} is no version", at + 1)))
}

fn semver(call: &Call<'_>) -> Answer {
    let text = call.text(0)?;
    let version = version(call, 0)?;
    let number = |value: u64| Value::Int(i64::try_from(value).unwrap_or(i64::MAX));
    let entries = Entries::from([
        (Rc::from("Major"), number(version.major)),
        (Rc::from("Minor"), number(version.minor)),
        (Rc::from("Patch"), number(version.patch)),
        (Rc::from("Prerelease"), call.run.text(version.pre.as_str())?),
        (Rc::from("Metadata"), call.run.text(version.build.as_str())?),
        (Rc::from("Original"), call.run.text(text)?),
    ]);
    call.run.map(entries)
}

/// A version, where minor and patch may be missing, and how many numbers were given.
fn parse_version(text: &str) -> Option<(Version, usize)> {
    let text = text.trim().trim_start_matches('v');
    let numbers_end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(numbers_end);
    let given = numbers.split('.').count();
    if given > 3 {
        return None;
    }
    let missing = ".0".repeat(3 - given);
    let version = Version::parse(&format!("{numbers}{missing}{rest}")).ok()?;
    Some((version, given))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Tilde,
    Caret,
}

const OPERATORS: &[(&str, Operator)] = &[
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
];

/// One comparison; `given` numbers of the version count, the others are wild.
#[derive(Debug, Clone)]
struct Constraint {
    operator: Operator,
    version: Version,
    given: usize,
}

fn parse_range(text: &str) -> Option<Vec<Vec<Constraint>>> {
    text.split("||").map(parse_all).collect()
}

/// Comparisons that hold together, separated by commas or spaces.
fn parse_all(text: &str) -> Option<Vec<Constraint>> {
    let text = text.trim();
    if let Some((from, to)) = text.split_once(" - ") {
        let least = constraint(Operator::GreaterOrEqual, from)?;
        return Some(vec![least, constraint(Operator::LessOrEqual, to)?]);
    }
    let mut constraints = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', ',', '\t']);
        if rest.is_empty() {
            break;
        }
        let operator = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign));
        let (length, operator) = operator.map_or((0, Operator::Equal), |(sign, operator)| {
            (sign.len(), *operator)
        });
        rest = rest[length..].trim_start();
        let end = rest.find([' ', ',', '\t']).unwrap_or(rest.len());
        constraints.push(constraint(operator, &rest[..end])?);
        rest = &rest[end..];
    }
    if constraints.is_empty() {
        constraints.push(constraint(Operator::Equal, "*")?);
    }
    Some(constraints)
}

fn constraint(operator: Operator, text: &str) -> Option<Constraint> {
    let text = text.trim().trim_start_matches('v');
    let wild = |part: &&str| !matches!(*part, "x" | "X" | "*");
    let numbers: Vec<&str> = text.split('.').take_while(wild).collect();
    if numbers.is_empty() || text.is_empty() {
        return (!text.is_empty()).then(|| Constraint {
            operator,
            version: Version::new(0, 0, 0),
            given: 0,
        });
    }
    let has_wild = text.split('.').any(|part| matches!(part, "x" | "X" | "*"));
    let plain = if has_wild {
        numbers.join(".")
    } else {
        text.to_owned()
    };
    let (version, given) = parse_version(&plain)?;
    Some(Constraint {
        operator,
        version,
        given,
    })
}

impl Constraint {
    fn holds(&self, version: &Version) -> bool {
        // A range without a pre-release never means one.
        if !version.pre.is_empty() && self.version.pre.is_empty() {
            return false;
        }
        let ordering = version.cmp_precedence(&self.version);
        let partial = self.given < 3;
        match self.operator {
            Operator::Equal if partial => self.within(version, self.given),
            Operator::NotEqual if partial => !self.within(version, self.given),
            Operator::Greater if partial => ordering.is_gt() && !self.within(version, self.given),
            Operator::LessOrEqual if partial => {
                ordering.is_le() || self.within(version, self.given)
            }
            Operator::Equal => ordering.is_eq(),
            Operator::NotEqual => ordering.is_ne(),
            Operator::Greater => ordering.is_gt(),
            Operator::GreaterOrEqual => ordering.is_ge(),
            Operator::Less => ordering.is_lt(),
            Operator::LessOrEqual => ordering.is_le(),
            Operator::Tilde => ordering.is_ge() && self.within(version, self.given.min(2)),
            Operator::Caret => ordering.is_ge() && self.within(version, self.caret()),
        }
    }

    /// Whether the first numbers are the same.
    fn within(&self, version: &Version, numbers: usize) -> bool {
        let own = [self.version.major, self.version.minor, self.version.patch];
        let other = [version.major, version.minor, version.patch];
        let same_pre =
            numbers < 3 || version.pre == Prerelease::EMPTY || self.version.pre == version.pre;
        own[..numbers] == other[..numbers] && same_pre
    }

    /// Up to which number a caret holds: the first that is not zero.
    fn caret(&self) -> usize {
        match (self.given, self.version.major, self.version.minor) {
            (0, _, _) => 0,
            (_, 1.., _) | (1, 0, _) => 1,
            (_, 0, 1..) | (2, 0, 0) => 2,
            (_, 0, 0) => 3,
        }
    }
}
