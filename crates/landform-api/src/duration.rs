//! Lengths of time as people write them: `500ms`, `30s`, `1m30s`.

use std::time::Duration;

/// Reads a length of time; `None` when it isn't one. Whole numbers only, each with its unit.
#[must_use]
pub fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        // `ms` before `m`: the longer unit begins with the shorter one.
        let units = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];
        let (unit, factor) = units.into_iter().find(|(unit, _)| rest.starts_with(unit))?;
        rest = &rest[unit.len()..];
        let part = Duration::from_millis(number.checked_mul(factor)?);
        total = total.checked_add(part)?;
    }
    Some(total)
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
            ("", None),
            ("30", None),
            ("s", None),
            ("-1s", None),
            ("1.5s", None),
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
