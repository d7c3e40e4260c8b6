//! Times as people say them: how long ago.

pub(crate) use landform_explain::age::span;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A point in time of an object.
pub(crate) fn parse(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok()
}

/// Now.
pub(crate) fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

/// How long ago something was, as kubectl writes ages.
pub(crate) fn age(then: &str, now: OffsetDateTime) -> String {
    landform_explain::age::age(then, now).unwrap_or_else(|| "<unknown>".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_time_has_an_unknown_age() {
        let now = parse("2026-01-01T00:01:00Z").unwrap();
        assert_eq!(age("2026-01-01T00:00:00.500Z", now), "59s");
        assert_eq!(age("?", now), "<unknown>");
    }
}
