//! Label selectors as text: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use landform_api::budget;

use crate::error::{ApiError, Result};
use crate::object::names::{is_label_value, is_qualified_name};

/// Requirements on labels, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Reads a selector; absent or empty selects everything.
    pub fn parse(text: Option<&str>) -> Result<Self> {
        let text = text.unwrap_or_default();
        parse(text).map(Self).map_err(|problem| {
            ApiError::bad_request(format!(
                "unable to parse requirement: {} in labelSelector {:?}",
                budget::shown(&problem),
                budget::shown(text)
            ))
        })
    }

    /// Whether it selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether these labels are selected.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.get(&requirement.key);
            match &requirement.operator {
                Operator::In(values) => value.is_some_and(|value| values.contains(value)),
                Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Operator::Exists => value.is_some(),
                Operator::Absent => value.is_none(),
                Operator::Greater(limit) => value
                    .and_then(|v| v.parse::<i64>().ok())
                    .is_some_and(|v| v > *limit),
                Operator::Less(limit) => value
                    .and_then(|v| v.parse::<i64>().ok())
                    .is_some_and(|v| v < *limit),
            }
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Comma,
    Open,
    Close,
    Not,
    Equal,
    NotEqual,
    Greater,
    Less,
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            ',' => (Token::Comma, 1),
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '>' => (Token::Greater, 1),
            '<' => (Token::Less, 1),
            '!' if rest.starts_with("!=") => (Token::NotEqual, 2),
            '!' => (Token::Not, 1),
            '=' if rest.starts_with("==") => (Token::Equal, 2),
            '=' => (Token::Equal, 1),
            _ => {
                let end = rest
                    .find(|c: char| c.is_whitespace() || ",()!=<>".contains(c))
                    .unwrap_or(rest.len());
                (Token::Word(&rest[..end]), end)
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let tokens = tokens(text)?;
    let mut rest = tokens.as_slice();
    let mut requirements = Vec::new();
    while !rest.is_empty() {
        let (requirement, after) = parse_requirement(rest)?;
        requirements.push(requirement);
        rest = match after {
            [] => after,
            [Token::Comma, next @ ..] if !next.is_empty() => next,
            [Token::Comma] => return Err("nothing follows the last ','".into()),
            [other, ..] => return Err(format!("found {other:?} where ',' was expected")),
        };
    }
    Ok(requirements)
}

fn parse_requirement<'a, 't>(
    tokens: &'a [Token<'t>],
) -> Result<(Requirement, &'a [Token<'t>]), String> {
    if let [Token::Not, Token::Word(name), rest @ ..] = tokens {
        return Ok((
            Requirement {
                key: key(name)?,
                operator: Operator::Absent,
            },
            rest,
        ));
    }
    let [Token::Word(name), rest @ ..] = tokens else {
        return Err(format!(
            "found {:?} where a label was expected",
            tokens.first()
        ));
    };
    let (operator, rest) = match rest {
        [Token::Equal, rest @ ..] => {
            let (one, rest) = single(rest)?;
            (Operator::In(BTreeSet::from([value(one)?])), rest)
        }
        [Token::NotEqual, rest @ ..] => {
            let (one, rest) = single(rest)?;
            (Operator::NotIn(BTreeSet::from([value(one)?])), rest)
        }
        [Token::Greater, Token::Word(number), rest @ ..] => {
            (Operator::Greater(whole_number(number)?), rest)
        }
        [Token::Less, Token::Word(number), rest @ ..] => {
            (Operator::Less(whole_number(number)?), rest)
        }
        [Token::Word("in"), Token::Open, rest @ ..] => {
            let (values, rest) = set(rest)?;
            (Operator::In(values), rest)
        }
        [Token::Word("notin"), Token::Open, rest @ ..] => {
            let (values, rest) = set(rest)?;
            (Operator::NotIn(values), rest)
        }
        [] | [Token::Comma, ..] => (Operator::Exists, rest),
        [other, ..] => {
            return Err(format!(
                "found {other:?} after {name:?}, where an operator was expected"
            ));
        }
    };
    Ok((
        Requirement {
            key: key(name)?,
            operator,
        },
        rest,
    ))
}

/// The value of `a=b`; in `a=` it is empty.
fn single<'a, 't>(tokens: &'a [Token<'t>]) -> Result<(&'t str, &'a [Token<'t>]), String> {
    match tokens {
        [] | [Token::Comma, ..] => Ok(("", tokens)),
        [Token::Word(word), rest @ ..] => Ok((word, rest)),
        [other, ..] => Err(format!("found {other:?} where a value was expected")),
    }
}

/// The values of `in (a,b)`, after the opening parenthesis.
fn set<'a, 't>(tokens: &'a [Token<'t>]) -> Result<(BTreeSet<String>, &'a [Token<'t>]), String> {
    let mut values = BTreeSet::new();
    let mut rest = tokens;
    let mut expects_value = true;
    loop {
        rest = match rest {
            [Token::Close, after @ ..] => {
                if expects_value {
                    values.insert(String::new());
                }
                return Ok((values, after));
            }
            [Token::Comma, after @ ..] => {
                if expects_value {
                    values.insert(String::new());
                }
                expects_value = true;
                after
            }
            [Token::Word(word), after @ ..] if expects_value => {
                values.insert(value(word)?);
                expects_value = false;
                after
            }
            [other, ..] => return Err(format!("found {other:?} in a set of values")),
            [] => return Err("a set of values is not closed by ')'".into()),
        };
    }
}

fn key(name: &str) -> Result<String, String> {
    if is_qualified_name(name) {
        Ok(name.into())
    } else {
        Err(format!("{name:?} is not a label key"))
    }
}

fn value(text: &str) -> Result<String, String> {
    if is_label_value(text) {
        Ok(text.into())
    } else {
        Err(format!("{text:?} is not a label value"))
    }
}

fn whole_number(text: &str) -> Result<i64, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not a whole number"))
}

/// A selector as text: it is one already, or it is an object with matchLabels and matchExpressions.
#[must_use]
pub fn selector_text(selector: &Value) -> String {
    if let Some(text) = selector.as_str() {
        return text.to_owned();
    }
    let mut parts: Vec<String> = selector["matchLabels"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    for expression in selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let key = expression["key"].as_str().unwrap_or_default();
        let values: Vec<&str> = expression["values"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        parts.push(match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({})", values.join(",")),
            Some("NotIn") => format!("{key} notin ({})", values.join(",")),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels = labels
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        LabelSelector::parse(Some(selector))
            .unwrap()
            .matches(&labels)
    }

    #[test]
    fn each_operator_selects_and_does_not() {
        let labels = [("app", "web"), ("tier", "3")];
        for (selector, expected) in [
            ("", true),
            ("app", true),
            ("app,tier", true),
            ("nope", false),
            ("!nope", true),
            ("!app", false),
            ("app=web", true),
            ("app==web", true),
            ("app = web , tier = 3", true),
            ("app=db", false),
            ("app!=db", true),
            ("nope!=x", true),
            ("app!=web", false),
            ("app in (db, web)", true),
            ("app in (db)", false),
            ("app notin (db)", true),
            ("nope notin (db)", true),
            ("app notin (web,db)", false),
            ("tier>2", true),
            ("tier<3", false),
            ("app in (web),tier notin (4),!x", true),
            ("nope=", false),
            ("in=in", false),
        ] {
            assert_eq!(selects(selector, &labels), expected, "{selector}");
        }
        assert!(selects("empty=", &[("empty", "")]));
        assert!(selects("empty in (,a)", &[("empty", "")]));
    }

    #[test]
    fn a_bad_selector_says_what_is_wrong() {
        for (selector, expected) in [
            ("a=b,", "nothing follows the last ','"),
            ("a in (b", "not closed"),
            ("=b", "where a label was expected"),
            ("a=b c=d", "where ',' was expected"),
            ("a b", "after \"a\""),
            ("a=b=c", "where ',' was expected"),
            ("_a=b", "not a label key"),
            ("a=é", "not a label value"),
            ("a>x", "not a whole number"),
        ] {
            let error = LabelSelector::parse(Some(selector)).unwrap_err();
            assert!(error.message().contains(expected), "{selector}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_selector_panics(text in ".*") {
            let _ = LabelSelector::parse(Some(&text));
        }

        #[test]
        fn no_likely_selector_panics(text in "[a-c!=<>(), in.notin/]{0,30}") {
            let _ = LabelSelector::parse(Some(&text));
        }
    }
}
