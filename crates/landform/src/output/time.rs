//! Times as people say them: how long ago.

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
    match parse(then) {
        Some(then) => span((now - then).whole_seconds()),
        None => "<unknown>".to_owned(),
    }
}

/// Seconds in the two largest units that matter.
pub(crate) fn span(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minute, hour, day) = (60, 3600, 86_400);
    let two = |large: i64, unit: &str, small: i64, rest: &str| {
        if small == 0 {
            format!("{large}{unit}")
        } else {
            format!("{large}{unit}{small}{rest}")
        }
    };
    match seconds {
        ..120 => format!("{seconds}s"),
        120..600 => two(seconds / minute, "m", seconds % minute, "s"),
        600..10_800 => format!("{}m", seconds / minute),
        10_800..28_800 => two(seconds / hour, "h", seconds % hour / minute, "m"),
        28_800..172_800 => format!("{}h", seconds / hour),
        _ => format!("{}d", seconds / day),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_the_units_that_matter() {
        for (seconds, expected) in [
            (-5, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (150, "2m30s"),
            (600, "10m"),
            (10_800, "3h"),
            (11_100, "3h5m"),
            (90_000, "25h"),
            (200_000, "2d"),
        ] {
            assert_eq!(span(seconds), expected);
        }
        let now = parse("2026-01-01T00:01:00Z").unwrap();
        assert_eq!(age("2026-01-01T00:00:00.500Z", now), "59s");
        assert_eq!(age("?", now), "<unknown>");
    }
}
