//! The query string: options of a list, a watch, a write or a delete.

use super::path::percent_decode;
use crate::error::{ApiError, Result};

/// The pairs of a query string, in order. A key may stand more than once; the first one counts.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Takes a query string apart.
    pub fn parse(text: Option<&str>) -> Result<Self> {
        let decode = |part: &str| {
            percent_decode(&part.replace('+', " ")).ok_or_else(|| {
                ApiError::bad_request(format!("the query has a broken escape in {part:?}"))
            })
        };
        text.unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                Ok((decode(key)?, decode(value)?))
            })
            .collect::<Result<Vec<_>>>()
            .map(Self)
    }

    /// A value; `None` when the key is absent or empty.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(found, _)| found == key)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// All values of a key.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(found, _)| found == key)
            .map(|(_, value)| value.as_str())
    }

    /// A yes or no; absent is no.
    pub fn flag(&self, key: &str) -> Result<bool> {
        Ok(self.optional_flag(key)?.unwrap_or(false))
    }

    /// A yes or no, or nothing.
    pub fn optional_flag(&self, key: &str) -> Result<Option<bool>> {
        match self.get(key) {
            None => Ok(None),
            Some("true" | "1" | "t" | "T" | "True" | "TRUE") => Ok(Some(true)),
            Some("false" | "0" | "f" | "F" | "False" | "FALSE") => Ok(Some(false)),
            Some(other) => Err(ApiError::bad_request(format!(
                "{key}={other}: must be true or false"
            ))),
        }
    }

    /// A whole number that isn't negative.
    pub fn number(&self, key: &str) -> Result<Option<u64>> {
        self.get(key)
            .map(|text| {
                text.parse().map_err(|_| {
                    ApiError::bad_request(format!("{key}={text}: must be a whole number from 0"))
                })
            })
            .transpose()
    }

    /// Whether this write is only to be tried.
    pub fn dry_run(&self) -> Result<bool> {
        dry_run(self.all("dryRun"))
    }
}

/// Reads the values of `dryRun`, from a query or from a body.
pub fn dry_run<'a>(values: impl Iterator<Item = &'a str>) -> Result<bool> {
    let mut on = false;
    for value in values {
        match value {
            "All" => on = true,
            "" => {}
            other => {
                return Err(ApiError::bad_request(format!(
                    "dryRun={other}: the only supported value is \"All\""
                )));
            }
        }
    }
    Ok(on)
}

/// What is done about fields that the schema doesn't know, or that stand twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped, and the answer has a warning for each.
    Warn,
    /// The request is refused.
    Strict,
}

impl FieldValidation {
    /// Reads `fieldValidation`; absent is `Warn`.
    pub fn from_query(query: &Query) -> Result<Self> {
        match query.get("fieldValidation") {
            None | Some("Warn") => Ok(Self::Warn),
            Some("Ignore") => Ok(Self::Ignore),
            Some("Strict") => Ok(Self::Strict),
            Some(other) => Err(ApiError::bad_request(format!(
                "fieldValidation={other}: must be Ignore, Warn or Strict"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_decoded_and_flags_read() {
        let query = Query::parse(Some(
            "labelSelector=a%3Db%2Cc&watch=1&limit=500&dryRun=All&empty=",
        ))
        .unwrap();
        assert_eq!(query.get("labelSelector"), Some("a=b,c"));
        assert!(query.flag("watch").unwrap());
        assert!(!query.flag("absent").unwrap());
        assert_eq!(query.number("limit").unwrap(), Some(500));
        assert!(query.dry_run().unwrap());
        assert_eq!(query.get("empty"), None);
    }

    #[test]
    fn bad_values_are_refused_by_name() {
        let query = Query::parse(Some("watch=maybe&limit=-1&dryRun=Some")).unwrap();
        assert_eq!(
            query.flag("watch").unwrap_err().message(),
            "watch=maybe: must be true or false"
        );
        assert!(
            query
                .number("limit")
                .unwrap_err()
                .message()
                .starts_with("limit=-1")
        );
        assert!(query.dry_run().is_err());
        assert!(Query::parse(Some("a=%zz")).is_err());
    }

    proptest! {
        #[test]
        fn no_query_panics(text in ".*") {
            let _ = Query::parse(Some(&text));
        }
    }
}
