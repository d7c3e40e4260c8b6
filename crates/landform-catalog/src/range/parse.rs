//! From text to comparisons: words, operators and versions with parts left out.

use semver::{Prerelease, Version};

use super::{Comparison, Group, Range, RangeError};

/// Longer texts are refused: nobody writes them, and every comparison of one costs.
const MAX_BYTES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Blang,
    Masterminds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Tilde,
    Caret,
}

/// A version as written: some of its numbers may be left out or be `x`.
enum Given {
    Full(Version),
    Any,
    Major(u64),
    Minor(u64, u64),
}

type Reason = String;

pub(super) fn range(text: &str, dialect: Dialect) -> Result<Range, RangeError> {
    let groups = if text.len() > MAX_BYTES {
        Err(format!("it is longer than {MAX_BYTES} bytes"))
    } else {
        text.split("||").map(|part| group(part, dialect)).collect()
    };
    match groups {
        Ok(any) => Ok(Range {
            text: text.into(),
            any,
        }),
        Err(reason) => Err(RangeError {
            text: text.chars().take(100).collect(),
            reason,
        }),
    }
}

fn group(part: &str, dialect: Dialect) -> Result<Group, Reason> {
    let mut all = Vec::new();
    let mut pre_releases = dialect == Dialect::Blang;
    for clause in clauses(part, dialect)? {
        let words: Vec<&str> = clause.split_whitespace().collect();
        if words.is_empty() {
            return Err("a part of it is empty".to_owned());
        }
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let (operator, mut rest) = operator(word, dialect);
            if rest.is_empty() {
                // As in `>= 1.2.3`.
                rest = words
                    .next()
                    .ok_or_else(|| format!("no version follows {word:?}"))?;
            }
            let low = given(rest, dialect)?;
            pre_releases |= low.has_pre_release();
            if dialect == Dialect::Masterminds && words.peek() == Some(&"-") {
                if operator.is_some() {
                    return Err(format!(
                        "{word:?} can't be the end of a range with a hyphen"
                    ));
                }
                words.next();
                let high = words.next().ok_or("no version follows the hyphen")?;
                let high = given(high, dialect)?;
                pre_releases |= high.has_pre_release();
                compare(Operator::GreaterOrEqual, low, dialect, &mut all)?;
                compare(Operator::LessOrEqual, high, dialect, &mut all)?;
            } else {
                let operator = operator.unwrap_or(Operator::Equal);
                compare(operator, low, dialect, &mut all)?;
            }
        }
    }
    Ok(Group {
        all: all.into(),
        pre_releases,
    })
}

fn clauses(part: &str, dialect: Dialect) -> Result<Vec<&str>, Reason> {
    match dialect {
        Dialect::Masterminds => Ok(part.split(',').collect()),
        Dialect::Blang if part.contains(',') => Err("it has a comma".to_owned()),
        Dialect::Blang => Ok(vec![part]),
    }
}

/// The operator that a word starts with, and what follows it.
fn operator(word: &str, dialect: Dialect) -> (Option<Operator>, &str) {
    const BOTH: &[(&str, Operator)] = &[
        (">=", Operator::GreaterOrEqual),
        ("<=", Operator::LessOrEqual),
        ("!=", Operator::NotEqual),
    ];
    const BLANG: &[(&str, Operator)] = &[("==", Operator::Equal), ("!", Operator::NotEqual)];
    const MASTERMINDS: &[(&str, Operator)] = &[
        ("=>", Operator::GreaterOrEqual),
        ("=<", Operator::LessOrEqual),
        ("~>", Operator::Tilde),
        ("~", Operator::Tilde),
        ("^", Operator::Caret),
    ];
    const SHORT: &[(&str, Operator)] = &[
        (">", Operator::Greater),
        ("<", Operator::Less),
        ("=", Operator::Equal),
    ];
    let own = match dialect {
        Dialect::Blang => BLANG,
        Dialect::Masterminds => MASTERMINDS,
    };
    let mut known = BOTH.iter().chain(own).chain(SHORT);
    let found = known.find_map(|(text, operator)| {
        let rest = word.strip_prefix(text)?;
        Some((Some(*operator), rest))
    });
    found.unwrap_or((None, word))
}

fn given(text: &str, dialect: Dialect) -> Result<Given, Reason> {
    let wrong = || format!("{text:?} is no version");
    let bare = match dialect {
        Dialect::Blang => text,
        Dialect::Masterminds => text.strip_prefix(['v', 'V']).unwrap_or(text),
    };
    if let Ok(version) = Version::parse(bare) {
        return Ok(Given::Full(version));
    }
    let parts: Vec<Option<u64>> = bare
        .split('.')
        .map(|part| match part {
            "x" | "X" | "*" => Some(None),
            number => plain_number(number).map(Some),
        })
        .collect::<Option<_>>()
        .ok_or_else(wrong)?;
    // In blang's dialect a part is never left out. A lone letter is rather a name than a range.
    let complete = dialect == Dialect::Masterminds || parts.contains(&None);
    if !complete || matches!(bare, "x" | "X") {
        return Err(wrong());
    }
    match parts.as_slice() {
        [None] | [None, None] | [None, None, None] => Ok(Given::Any),
        [Some(major)] | [Some(major), None] | [Some(major), None, None] => Ok(Given::Major(*major)),
        [Some(major), Some(minor)] | [Some(major), Some(minor), None] => {
            Ok(Given::Minor(*major, *minor))
        }
        _ => Err(wrong()),
    }
}

fn plain_number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = digits && (text == "0" || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten()
}

fn compare(
    operator: Operator,
    given: Given,
    dialect: Dialect,
    all: &mut Vec<Comparison>,
) -> Result<(), Reason> {
    // Masterminds compares the numbers alone, so that 2.0.0-rc.1 is above every 1.x.
    let limit = |version: Version| match dialect {
        Dialect::Blang => version,
        Dialect::Masterminds => below_pre_releases(version),
    };
    if let Given::Full(version) = given {
        match operator {
            Operator::Equal => all.push(Comparison::Equal(version)),
            Operator::NotEqual => all.push(Comparison::NotEqual(version)),
            Operator::Less => all.push(Comparison::Less(version)),
            Operator::LessOrEqual => all.push(Comparison::LessOrEqual(version)),
            Operator::Greater => all.push(Comparison::Greater(version)),
            Operator::GreaterOrEqual => all.push(Comparison::GreaterOrEqual(version)),
            Operator::Tilde => {
                let end = Version::new(version.major, up(version.minor)?, 0);
                all.push(Comparison::GreaterOrEqual(version));
                all.push(Comparison::Less(limit(end)));
            }
            Operator::Caret => {
                let end = match (version.major, version.minor) {
                    (0, 0) => Version::new(0, 0, up(version.patch)?),
                    (0, minor) => Version::new(0, up(minor)?, 0),
                    (major, _) => Version::new(up(major)?, 0, 0),
                };
                all.push(Comparison::GreaterOrEqual(version));
                all.push(Comparison::Less(limit(end)));
            }
        }
        return Ok(());
    }
    let (start, end) = match (&given, operator) {
        (Given::Any | Given::Full(_), _) => {
            if matches!(
                operator,
                Operator::NotEqual | Operator::Less | Operator::Greater
            ) {
                all.push(Comparison::Never);
            }
            return Ok(());
        }
        // A major version of 0 that is all that is given means all of 0.
        (Given::Major(major), _) => (Version::new(*major, 0, 0), Version::new(up(*major)?, 0, 0)),
        (Given::Minor(major, minor), Operator::Caret) if *major > 0 => (
            Version::new(*major, *minor, 0),
            Version::new(up(*major)?, 0, 0),
        ),
        (Given::Minor(major, minor), _) => (
            Version::new(*major, *minor, 0),
            Version::new(*major, up(*minor)?, 0),
        ),
    };
    match operator {
        Operator::Equal | Operator::Tilde | Operator::Caret => {
            all.push(Comparison::GreaterOrEqual(start));
            all.push(Comparison::Less(limit(end)));
        }
        Operator::NotEqual => all.push(Comparison::Outside(Box::new((start, end)))),
        Operator::Less => all.push(Comparison::Less(start)),
        Operator::LessOrEqual => all.push(Comparison::Less(limit(end))),
        Operator::Greater => all.push(Comparison::GreaterOrEqual(end)),
        Operator::GreaterOrEqual => all.push(Comparison::GreaterOrEqual(start)),
    }
    Ok(())
}

fn up(number: u64) -> Result<u64, Reason> {
    let next = number.checked_add(1);
    next.ok_or_else(|| format!("{number} is too high a number"))
}

/// The lowest version that is still above everything before this one: 2.0.0 becomes 2.0.0-0.
fn below_pre_releases(mut version: Version) -> Version {
    if let Ok(lowest) = Prerelease::new("0") {
        version.pre = lowest;
    }
    version
}

impl Given {
    fn has_pre_release(&self) -> bool {
        matches!(self, Self::Full(version) if !version.pre.is_empty())
    }
}
