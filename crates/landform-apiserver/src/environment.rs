//! What the server takes from the world besides requests: the time and randomness.
//!
//! Both are behind one trait so that a simulation can run the same server with its own.

use std::time::SystemTime;

use time::OffsetDateTime;
use time::macros::format_description;

/// The time and randomness.
pub trait Environment: Send + Sync + 'static {
    /// The time of day.
    fn now(&self) -> OffsetDateTime;

    /// A uid that no other object has or had.
    fn uid(&self) -> String;

    /// A number that nobody can foresee; for name suffixes and jitter.
    fn random(&self) -> u64;
}

/// The real world.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEnvironment;

impl Environment for SystemEnvironment {
    fn now(&self) -> OffsetDateTime {
        OffsetDateTime::from(SystemTime::now())
    }

    fn uid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }

    fn random(&self) -> u64 {
        uuid::Uuid::new_v4().as_u64_pair().1
    }
}

/// A time as objects carry it: RFC 3339, UTC, whole seconds.
#[must_use]
pub fn timestamp(time: OffsetDateTime) -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
    // The format has no part that a valid time lacks.
    time.to_offset(time::UtcOffset::UTC)
        .format(&format)
        .unwrap_or_default()
}

/// Letters and digits that don't spell words and can't be mixed up.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
/// With its suffix a generated name fits a DNS label.
const LONGEST_BASE: usize = 63 - SUFFIX_LENGTH;

/// A name from `generateName`: its text, cut to fit, and five random characters.
#[must_use]
pub fn generated_name(base: &str, environment: &dyn Environment) -> String {
    let cut = base
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .take_while(|end| *end <= LONGEST_BASE)
        .last();
    let mut name = base[..cut.unwrap_or(0)].to_owned();
    let mut random = environment.random();
    for _ in 0..SUFFIX_LENGTH {
        let length = SUFFIX_ALPHABET.len() as u64;
        let index = usize::try_from(random % length).unwrap_or(0);
        name.push(char::from(SUFFIX_ALPHABET[index]));
        random /= length;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn a_timestamp_has_whole_seconds_in_utc() {
        assert_eq!(
            timestamp(datetime!(2026-11-15 22:30:05.123 +01:00)),
            "2026-11-15T21:30:05Z"
        );
    }

    #[test]
    fn a_generated_name_keeps_its_base_and_fits_a_label() {
        let name = generated_name("web-", &SystemEnvironment);
        assert!(name.starts_with("web-") && name.len() == 9, "{name}");
        let long = generated_name(&"é".repeat(100), &SystemEnvironment);
        assert!(long.len() <= 63, "{long}");
        assert_ne!(
            generated_name("a", &SystemEnvironment),
            generated_name("a", &SystemEnvironment)
        );
    }
}
