//! Lengths of time as people write them, and as Go reads them: `500ms`, `30s`, `1m30s`, `1.5h`.

use std::time::Duration;

/// What [`parse`] reads, for schemas: numbers, each with its unit.
pub const PATTERN: &str = r"^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";
/// What [`timeout`] reads, for schemas.
pub const TIMEOUT_PATTERN: &str =
    r"^(none|\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+))$";
/// What can be told of a timeout that [`timeout`] doesn't read.
pub const TIMEOUT_EXPECTED: &str =
    "this has to be a length of time such as 90s, 5m or 1h30m, or none";
/// As good as no end: a time that is reckoned from it can still be written.
pub const NO_TIMEOUT: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

const NANOS_PER_SECOND: u128 = 1_000_000_000;
/// `ms` and `ns` before `m` and `s`: the longer unit begins, or ends, with the shorter one.
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", NANOS_PER_SECOND),
    ("m", 60 * NANOS_PER_SECOND),
    ("h", 3_600 * NANOS_PER_SECOND),
];

/// Reads a length of time; `None` when it isn't one, or a negative one.
#[must_use]
pub fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (unit, factor) = UNITS
            .into_iter()
            .find(|(unit, _)| after.starts_with(unit))?;
        rest = &after[unit.len()..];
        let part = number(whole)?.checked_mul(factor)?;
        nanos = nanos
            .checked_add(part)?
            .checked_add(part_of(fraction, factor))?;
    }
    let seconds = u64::try_from(nanos / NANOS_PER_SECOND).ok()?;
    let nanos = u32::try_from(nanos % NANOS_PER_SECOND).ok()?;
    Some(Duration::new(seconds, nanos))
}

/// Reads how long something may take. `none` is no end, and so is no time at all, as in Landscaper.
#[must_use]
pub fn timeout(text: &str) -> Option<Duration> {
    let read = match text {
        "none" => Duration::ZERO,
        text => parse(text)?,
    };
    let endless = read.is_zero() || read > NO_TIMEOUT;
    Some(if endless { NO_TIMEOUT } else { read })
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

fn number(digits: &str) -> Option<u128> {
    if digits.is_empty() {
        return Some(0);
    }
    digits.parse().ok()
}

/// A fraction of a unit, cut at a nanosecond.
fn part_of(fraction: &str, factor: u128) -> u128 {
    let mut scale = factor;
    let mut part = 0;
    for digit in fraction.bytes() {
        scale /= 10;
        part += u128::from(digit - b'0') * scale;
    }
    part
}

/// Writes a length of time so that [`parse`] reads it.
#[must_use]
pub fn write(duration: Duration) -> String {
    let ms = duration.as_millis();
    for (unit, factor) in [("h", 3_600_000), ("m", 60_000), ("s", 1000)] {
        if ms > 0 && ms.is_multiple_of(factor) {
            return format!("{}{unit}", ms / factor);
        }
    }
    format!("{ms}ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let table = [
            ("30s", Some(30_000)),
            ("500ms", Some(500)),
            ("1m30s", Some(90_000)),
            ("2h", Some(7_200_000)),
            ("0s", Some(0)),
            ("0", Some(0)),
            ("+5s", Some(5_000)),
            ("1.5h", Some(5_400_000)),
            (".5s", Some(500)),
            ("1.s", Some(1_000)),
            ("1h30m", Some(5_400_000)),
            ("250000us", Some(250)),
            ("1000µs", Some(1)),
            ("2000000ns", Some(2)),
            (".s", None),
            ("-5s", None),
            ("abc", None),
            ("none", None),
            ("5", None),
            ("1s5", None),
            ("", None),
            ("30", None),
            ("s", None),
            ("-1s", None),
            ("1.5s", Some(1_500)),
            ("1d", None),
            ("1s ", None),
            ("99999999999999999999s", None),
            ("9999999999999999999h", None),
        ];
        for (text, ms) in table {
            assert_eq!(parse(text), ms.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn a_timeout_may_be_none_and_none_is_no_end() {
        assert_eq!(timeout("10m"), Some(Duration::from_secs(600)));
        for endless in ["none", "0s", "0", "9999999999h"] {
            assert_eq!(timeout(endless), Some(NO_TIMEOUT), "{endless}");
        }
        for wrong in ["", "None", "5", "-5s", "abc", "10 m"] {
            assert_eq!(timeout(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_written_time_is_read_back() {
        for (ms, text) in [
            (0, "0ms"),
            (1500, "1500ms"),
            (30_000, "30s"),
            (5_400_000, "90m"),
        ] {
            let duration = Duration::from_millis(ms);
            assert_eq!(write(duration), text);
            assert_eq!(parse(text), Some(duration));
        }
    }
}
