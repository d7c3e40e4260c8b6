//! Ages: how long ago something was, as short as it can be said.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// How long ago a timestamp is; `<unknown>` when it is none.
pub(crate) fn age(timestamp: &str) -> String {
    match OffsetDateTime::parse(timestamp, &Rfc3339) {
        Ok(time) => short((OffsetDateTime::now_utc() - time).whole_seconds()),
        Err(_) => "<unknown>".into(),
    }
}

/// How long something took, from one timestamp to another.
pub(super) fn between(start: &str, end: &str) -> String {
    match (
        OffsetDateTime::parse(start, &Rfc3339),
        OffsetDateTime::parse(end, &Rfc3339),
    ) {
        (Ok(start), Ok(end)) => short((end - start).whole_seconds()),
        _ => String::new(),
    }
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Two units at the most, and only one once the smaller doesn't matter.
fn short(seconds: i64) -> String {
    let two = |large: i64, large_unit: &str, small: i64, small_unit: &str| {
        let (whole, rest) = (seconds / large, seconds % large / small);
        if rest == 0 {
            format!("{whole}{large_unit}")
        } else {
            format!("{whole}{large_unit}{rest}{small_unit}")
        }
    };
    match seconds {
        ..0 => "0s".into(),
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
    fn ages_are_short() {
        for (seconds, expected) in [
            (-5, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (601, "10m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (30_000, "8h"),
            (200_000, "2d7h"),
            (800_000, "9d"),
            (64_000_000, "2y10d"),
            (300_000_000, "9y"),
        ] {
            assert_eq!(short(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn what_is_no_time_has_no_age() {
        assert_eq!(age(""), "<unknown>");
        assert_eq!(
            between("2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z"),
            "90s"
        );
    }
}
