//! The time of day, behind a trait so that a simulation can have its own.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Tells the time of day. Waiting is done by tokio's clock, which a simulation pauses.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since 1970, UTC.
    fn now_ms(&self) -> u64;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        millis(since.unwrap_or_default())
    }
}

/// A duration in whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A time as people and objects write it: RFC 3339, UTC, to the millisecond.
#[must_use]
pub fn write_time(ms: u64) -> String {
    let nanos = i128::from(ms) * 1_000_000;
    let time = OffsetDateTime::from_unix_timestamp_nanos(nanos);
    let text = time.ok().and_then(|time| time.format(&Rfc3339).ok());
    text.unwrap_or_default()
}

/// Reads a time that [`write_time`] or a person wrote; `None` when it isn't one.
#[must_use]
pub fn read_time(text: &str) -> Option<u64> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    u64::try_from(time.unix_timestamp_nanos() / 1_000_000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_survives_being_written() {
        for ms in [0, 1, 1_700_000_000_123, 4_102_444_800_000] {
            assert_eq!(read_time(&write_time(ms)), Some(ms));
        }
        assert_eq!(write_time(1_700_000_000_000), "2023-11-14T22:13:20Z");
        assert_eq!(
            read_time("2023-11-14T23:13:20+01:00"),
            Some(1_700_000_000_000)
        );
        assert_eq!(read_time("tomorrow"), None);
    }
}
