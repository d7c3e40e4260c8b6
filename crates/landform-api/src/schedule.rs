//! When something is done again: in equal intervals, or as a crontab says (in UTC).

use std::time::Duration;

use time::{Date, OffsetDateTime};

use crate::duration;

/// What is done again in shorter intervals keeps others from their turn.
pub const SHORTEST: Duration = Duration::from_secs(1);

/// The times at which something is done again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// In equal intervals.
    Every(Duration),
    /// As a crontab says.
    Cron(Cron),
}

impl Schedule {
    /// An interval as people write it: `90s`, `24h`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn every(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no length of time such as 90s, 5m or 24h");
        Self::in_intervals(duration::parse(text).ok_or_else(wrong)?)
    }

    /// Equal intervals.
    ///
    /// # Errors
    /// When they are shorter than [`SHORTEST`].
    pub fn in_intervals(interval: Duration) -> Result<Self, String> {
        if interval < SHORTEST {
            return Err("must be at least 1s".into());
        }
        Ok(Self::Every(interval))
    }

    /// A crontab: `minute hour day month weekday`, a word such as `@daily`, or `@every 90s`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn cron(text: &str) -> Result<Self, String> {
        match text.trim().strip_prefix("@every ") {
            Some(interval) => Self::every(interval.trim()),
            None => Cron::parse(text).map(Self::Cron),
        }
    }

    /// The first time after another one, both in milliseconds since 1970.
    #[must_use]
    pub fn next_after(&self, after_ms: u64) -> Option<u64> {
        match self {
            Self::Every(period) => {
                after_ms.checked_add(u64::try_from(period.as_millis()).unwrap_or(u64::MAX))
            }
            Self::Cron(cron) => cron.next_after(after_ms),
        }
    }
}

/// The five fields of a crontab, each as a set of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// With both given, either is enough; a star leaves it to the other.
    either_day: bool,
}

const MINUTE_MS: u64 = 60_000;
const DAY_MINUTES: u64 = 24 * 60;
/// A day such as the 29th of February comes within eight years, or never.
const FARTHEST_DAYS: u64 = 366 * 8 + 2;
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Cron {
    /// Reads `minute hour day month weekday`, or a word such as `@daily`.
    fn parse(text: &str) -> Result<Self, String> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
            return Err("can't name a time zone: its times are UTC".into());
        }
        let fields: Vec<_> = text.split_ascii_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else {
            return Err("must have five fields: minute hour day month weekday".into());
        };
        let weekday_bits = set("weekday", weekdays, 0, 7, &WEEKDAYS)?;
        let cron = Self {
            minutes: set("minute", minutes, 0, 59, &[])?,
            hours: set("hour", hours, 0, 23, &[])?,
            days: set("day", days, 1, 31, &[])?,
            months: set("month", months, 1, 12, &MONTHS)?,
            // Sunday is 0 and 7.
            weekdays: (weekday_bits | (weekday_bits >> 7)) & 0x7f,
            either_day: !is_star(days) && !is_star(weekdays),
        };
        match cron.next_after(0) {
            Some(_) => Ok(cron),
            None => Err("never comes".into()),
        }
    }

    fn next_after(&self, after_ms: u64) -> Option<u64> {
        let mut minute = after_ms / MINUTE_MS + 1;
        let end = minute + FARTHEST_DAYS * DAY_MINUTES;
        while minute < end {
            let seconds = i64::try_from(minute * 60).ok()?;
            let time = OffsetDateTime::from_unix_timestamp(seconds).ok()?;
            if !self.has_day(time.date()) {
                minute = (minute / DAY_MINUTES + 1) * DAY_MINUTES;
            } else if !has(self.hours, time.hour()) {
                minute = (minute / 60 + 1) * 60;
            } else if !has(self.minutes, time.minute()) {
                minute += 1;
            } else {
                return minute.checked_mul(MINUTE_MS);
            }
        }
        None
    }

    fn has_day(&self, date: Date) -> bool {
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().number_days_from_sunday());
        let fits = if self.either_day {
            day || weekday
        } else {
            day && weekday
        };
        fits && has(self.months, u8::from(date.month()))
    }
}

fn has(bits: u64, number: u8) -> bool {
    bits & (1 << number) != 0
}

fn is_star(text: &str) -> bool {
    text.starts_with('*') || text == "?"
}

/// The numbers that a field stands for: `*`, `3`, `1-5`, `*/15`, `mon,wed`.
fn set(what: &str, text: &str, first: u8, last: u8, names: &[&str]) -> Result<u64, String> {
    let wrong = || format!("the {what} isn't a number, list, range or step of {first}-{last}");
    let number = |text: &str| -> Option<u8> {
        let lower = text.to_ascii_lowercase();
        let named = names.iter().position(|name| *name == lower);
        // Months begin at 1, weekdays at 0, as their fields do.
        let named = named.and_then(|index| u8::try_from(index).ok());
        let number = named
            .map(|index| index + first)
            .or_else(|| lower.parse().ok())?;
        (first..=last).contains(&number).then_some(number)
    };
    let mut bits = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse().ok().filter(|step| *step > 0)),
            None => (part, Some(1_usize)),
        };
        let step = step.ok_or_else(wrong)?;
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (number(from), number(to)),
            None if range == "*" || range == "?" => (Some(first), Some(last)),
            None if part.contains('/') => (number(range), Some(last)),
            None => (number(range), number(range)),
        };
        let (from, to) = from
            .zip(to)
            .filter(|(from, to)| from <= to)
            .ok_or_else(wrong)?;
        for number in (from..=to).step_by(step) {
            bits |= 1 << number;
        }
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use time::format_description::well_known::Rfc3339;

    fn ms(text: &str) -> u64 {
        let time = OffsetDateTime::parse(text, &Rfc3339).unwrap();
        u64::try_from(time.unix_timestamp()).unwrap() * 1000
    }

    #[test]
    fn a_crontab_says_when() {
        // 2026-01-01 is a Thursday.
        for (cron, after, expected) in [
            ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
            (
                "*/15 * * * *",
                "2026-01-01T00:15:10Z",
                "2026-01-01T00:30:00Z",
            ),
            ("0 3 * * *", "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z"),
            (
                "30 8 * * mon-fri",
                "2026-01-02T09:00:00Z",
                "2026-01-05T08:30:00Z",
            ),
            ("0 0 * * 7", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
            (
                "0 0 13 * fri",
                "2026-01-03T00:00:00Z",
                "2026-01-09T00:00:00Z",
            ),
            (
                "0 0 29 feb *",
                "2026-01-01T00:00:00Z",
                "2028-02-29T00:00:00Z",
            ),
            (
                "0 0 1,15 * *",
                "2026-01-02T00:00:00Z",
                "2026-01-15T00:00:00Z",
            ),
            (
                "5/20 * * * *",
                "2026-01-01T00:06:00Z",
                "2026-01-01T00:25:00Z",
            ),
            ("@yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            (
                "@every 1h30m",
                "2026-01-01T00:00:00Z",
                "2026-01-01T01:30:00Z",
            ),
        ] {
            let schedule = Schedule::cron(cron).unwrap();
            assert_eq!(schedule.next_after(ms(after)), Some(ms(expected)), "{cron}");
        }
    }

    #[test]
    fn a_broken_crontab_is_refused() {
        for cron in [
            "",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "5-1 * * * *",
            "*/0 * * * *",
            "a * * * *",
            "0 0 31 2 *",
            "@sometimes",
            "@every 5",
            "@every 0s",
            "@every 999ms",
            "TZ=Asia/Tokyo 0 3 * * *",
        ] {
            assert!(Schedule::cron(cron).is_err(), "{cron}");
        }
    }

    #[test]
    fn an_interval_that_is_none_is_refused() {
        for interval in ["", "abc", "-5s", "5", "0s", "1ns", "999ms"] {
            assert!(Schedule::every(interval).is_err(), "{interval}");
        }
        let hour = Schedule::Every(Duration::from_secs(3600));
        assert_eq!(Schedule::every("1h"), Ok(hour));
    }

    proptest! {
        #[test]
        fn the_next_time_is_later_and_no_text_panics(text in "[-0-9*/, ]{0,24}", after in 0..4_000_000_000_000_u64) {
            if let Ok(cron) = Cron::parse(&text) {
                let next = cron.next_after(after).unwrap();
                prop_assert!(next > after && next % MINUTE_MS == 0);
            }
        }
    }
}
