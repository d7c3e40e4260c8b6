//! Floods: a client without credentials may try as often as it likes, and must not push everything else out of the log.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Lines are counted anew after this time.
pub(super) const WINDOW: Duration = Duration::from_secs(10);
/// One address gets this many lines in a window.
const LINES_OF_ADDRESS: u64 = 20;
/// All addresses together get this many.
const LINES: u64 = 200;
/// This many addresses are told apart.
const ADDRESSES: usize = 256;

/// The requests without credentials of one window.
#[derive(Default)]
pub(super) struct Floods {
    began: Option<Instant>,
    lines: u64,
    addresses: BTreeMap<Option<IpAddr>, Counted>,
}

#[derive(Default)]
struct Counted {
    lines: u64,
    missing: u64,
}

/// What to do about one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Admitted {
    /// It gets a line.
    pub(super) line: bool,
    /// It is the first one of the window that gets none.
    pub(super) first: bool,
}

impl Floods {
    /// Counts a request, and says whether it gets a line.
    pub(super) fn admit(&mut self, source: Option<IpAddr>, now: Instant) -> Admitted {
        let is_missing = self.addresses.values().any(|counted| counted.missing > 0);
        let is_over = self
            .began
            .is_none_or(|began| now.duration_since(began) >= WINDOW);
        // What is missing is reported before it is forgotten; until then nothing is admitted that wasn't before.
        if is_over && !is_missing {
            self.end();
            self.began = Some(now);
        }
        let known = self.addresses.len() < ADDRESSES || self.addresses.contains_key(&source);
        let counted = self.addresses.entry(source.filter(|_| known)).or_default();
        if self.lines < LINES && counted.lines < LINES_OF_ADDRESS {
            self.lines += 1;
            counted.lines += 1;
            return Admitted {
                line: true,
                first: false,
            };
        }
        counted.missing += 1;
        Admitted {
            line: false,
            first: !is_missing,
        }
    }

    /// Ends the window: how many requests got no line, by address.
    pub(super) fn end(&mut self) -> Vec<(Option<IpAddr>, u64)> {
        self.began = None;
        self.lines = 0;
        std::mem::take(&mut self.addresses)
            .into_iter()
            .filter(|(_, counted)| counted.missing > 0)
            .map(|(source, counted)| (source, counted.missing))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(number: u32) -> Option<IpAddr> {
        Some(IpAddr::V4(Ipv4Addr::from_bits(number)))
    }

    #[test]
    fn one_address_gets_few_lines_and_leaves_others_theirs() {
        let (mut floods, now) = (Floods::default(), Instant::now());
        let admitted = (0..1_000).filter(|_| floods.admit(address(1), now).line);
        assert_eq!(admitted.count() as u64, LINES_OF_ADDRESS);
        assert!(floods.admit(address(2), now).line);
        let missing = 1_000 - LINES_OF_ADDRESS;
        assert_eq!(floods.end(), [(address(1), missing)]);
        assert!(floods.admit(address(1), now).line, "a new window");
    }

    #[test]
    fn many_addresses_share_a_limit_and_cost_little() {
        let (mut floods, now) = (Floods::default(), Instant::now());
        let admitted = (0..100_000).filter(|n| floods.admit(address(*n), now).line);
        assert_eq!(admitted.count() as u64, LINES);
        assert!(floods.addresses.len() <= ADDRESSES + 1);
        let missing: u64 = floods.end().iter().map(|(_, count)| count).sum();
        assert_eq!(missing, 100_000 - LINES);
    }

    #[test]
    fn the_first_one_without_a_line_is_known_and_a_quiet_window_starts_anew() {
        let (mut floods, now) = (Floods::default(), Instant::now());
        for _ in 0..LINES_OF_ADDRESS {
            assert!(floods.admit(address(1), now).line);
        }
        let later = now + WINDOW;
        assert!(floods.admit(address(1), later).line, "nothing was missing");
        for _ in 1..LINES_OF_ADDRESS {
            floods.admit(address(1), later);
        }
        assert!(floods.admit(address(1), later).first);
        assert!(!floods.admit(address(1), later).first);
    }
}
