//! Lengths of time as people read them: the same everywhere, and as the server's tables have them.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// How long ago a point in time is; `None` when the text is none.
#[must_use]
pub fn age(then: &str, now: OffsetDateTime) -> Option<String> {
    let then = OffsetDateTime::parse(then, &Rfc3339).ok()?;
    Some(span((now - then).whole_seconds()))
}

/// Seconds in two units at the most, and in one where the smaller doesn't matter.
#[must_use]
pub fn span(seconds: i64) -> String {
    let two = |large: i64, large_unit: &str, small: i64, small_unit: &str| {
        let (whole, rest) = (seconds / large, seconds % large / small);
        if rest == 0 {
            format!("{whole}{large_unit}")
        } else {
            format!("{whole}{large_unit}{rest}{small_unit}")
        }
    };
    match seconds {
        ..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(MINUTE, "m", 1, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(HOUR, "h", MINUTE, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(DAY, "d", HOUR, "h"),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(YEAR, "y", DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_the_units_that_matter() {
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
            (176_400, "2d1h"),
            (700_000, "8d"),
            (63_158_400, "2y1d"),
        ] {
            assert_eq!(span(seconds), expected);
        }
        let now = OffsetDateTime::parse("2026-01-01T00:01:00Z", &Rfc3339).unwrap();
        assert_eq!(age("2026-01-01T00:00:00.500Z", now).as_deref(), Some("59s"));
        assert_eq!(age("?", now), None);
    }
}
