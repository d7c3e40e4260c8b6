//! Dates. `now` is what the caller says; zones are UTC and fixed offsets.

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime, UtcOffset};

use super::{Call, Entry, entry};
use crate::run::{Answer, Problem};
use crate::value::Value;

mod layout;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("now", 0, 0, |call| now(call).map(Value::Time)),
    entry("date", 2, 2, |call| {
        call.run
            .text(layout::format(call.text(0)?, moment(call, 1)?))
    }),
    entry("dateInZone", 3, 3, date_in_zone),
    entry("date_in_zone", 3, 3, date_in_zone),
    entry("dateModify", 2, 2, date_modify),
    entry("date_modify", 2, 2, date_modify),
    entry("mustDateModify", 2, 2, date_modify),
    entry("must_date_modify", 2, 2, date_modify),
    entry("htmlDate", 1, 1, |call| {
        call.run
            .text(layout::format("2006-01-02", moment(call, 0)?))
    }),
    entry("htmlDateInZone", 2, 2, |call| {
        let moment = in_zone(call, moment(call, 0)?, call.text(1)?)?;
        call.run.text(layout::format("2006-01-02", moment))
    }),
    entry("toDate", 2, 2, to_date),
    entry("mustToDate", 2, 2, to_date),
    entry("unixEpoch", 1, 1, |call| {
        call.run.text(moment(call, 0)?.unix_timestamp().to_string())
    }),
    entry("ago", 1, 1, |call| {
        let passed = (now(call)? - moment(call, 0)?).whole_seconds();
        call.run.text(duration_text(passed))
    }),
    entry("duration", 1, 1, |call| {
        call.run.text(duration_text(call.cast_int(0)))
    }),
    entry("durationRound", 1, 1, |call| {
        let seconds = match call.argument(0) {
            Value::Text(text) => parse_duration(text).map_or(0, Duration::whole_seconds),
            Value::Time(moment) => (now(call)? - *moment).whole_seconds(),
            Value::Int(nanoseconds) => nanoseconds / 1_000_000_000,
            _ => 0,
        };
        call.run.text(rounded(seconds))
    }),
];

fn now(call: &Call<'_>) -> Answer<OffsetDateTime> {
    call.run.environment.now.ok_or_else(|| {
        Problem::value(format!(
            "`{}` needs the time, and this template is rendered without a clock: give times as data",
            call.name
        ))
    })
}

/// A time, or seconds since 1970.
fn moment(call: &Call<'_>, at: usize) -> Answer<OffsetDateTime> {
    match call.argument(at) {
        Value::Time(moment) => Ok(*moment),
        Value::Int(seconds) => OffsetDateTime::from_unix_timestamp(*seconds)
            .map_err(|_| call.problem("the time is out of range")),
        other => Err(call.problem(format!(
            "argument {} has to be a time or seconds since 1970, and is a {}: use `toDate`",
            at + 1,
            other.kind()
        ))),
    }
}

fn date_in_zone(call: &Call<'_>) -> Answer {
    let moment = in_zone(call, moment(call, 1)?, call.text(2)?)?;
    call.run.text(layout::format(call.text(0)?, moment))
}

fn in_zone(call: &Call<'_>, moment: OffsetDateTime, zone: &str) -> Answer<OffsetDateTime> {
    let offset = match zone {
        "" | "UTC" | "Local" | "GMT" | "Etc/UTC" => UtcOffset::UTC,
        zone => layout::offset(zone).ok_or_else(|| {
            call.problem("only UTC and offsets such as `+02:00` are known as zones")
        })?,
    };
    moment
        .checked_to_offset(offset)
        .ok_or_else(|| call.problem("the time is out of range"))
}

fn date_modify(call: &Call<'_>) -> Answer {
    let change = parse_duration(call.text(0)?)
        .ok_or_else(|| call.problem("the change is no duration, such as `-1.5h` or `2h45m`"))?;
    let moment = moment(call, 1)?.checked_add(change);
    moment
        .map(Value::Time)
        .ok_or_else(|| call.problem("the time is out of range"))
}

fn to_date(call: &Call<'_>) -> Answer {
    let moment = layout::parse(call.text(0)?, call.text(1)?)
        .ok_or_else(|| call.problem("the text doesn't fit the layout"))?;
    Ok(Value::Time(moment))
}

/// `2h45m`, `-1.5h`, `300ms`.
fn parse_duration(text: &str) -> Option<Duration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut seconds = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let length = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        seconds += amount
            * match &rest[..length] {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = &rest[length..];
    }
    Duration::checked_seconds_f64(if negative { -seconds } else { seconds })
}

/// Seconds as Go writes a duration: `1h2m3s`.
fn duration_text(seconds: i64) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    let total = seconds.unsigned_abs();
    let (hours, minutes, seconds) = (total / 3600, total / 60 % 60, total % 60);
    match (hours, minutes) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

/// The largest unit only: `2mo`, `3d`.
fn rounded(seconds: i64) -> String {
    const UNITS: [(u64, &str); 5] = [
        (365 * 24 * 3600, "y"),
        (30 * 24 * 3600, "mo"),
        (24 * 3600, "d"),
        (3600, "h"),
        (60, "m"),
    ];
    let total = seconds.unsigned_abs();
    let unit = UNITS.iter().find(|(length, _)| total > *length);
    unit.map_or_else(
        || format!("{total}s"),
        |(length, unit)| format!("{}{unit}", total / length),
    )
}

/// The time in JSON.
pub(crate) fn rfc3339(moment: OffsetDateTime) -> String {
    moment.format(&Rfc3339).unwrap_or_default()
}

/// The time as Go prints it.
pub(crate) fn plain(moment: OffsetDateTime) -> String {
    layout::format("2006-01-02 15:04:05.999999999 -0700 MST", moment)
}
