//! What goes wrong, and how often.
//!
//! Every place where something may go wrong asks [`Faults::strikes`]. A fault strikes with its rate, or
//! once when it was asked for by name; each one is noted in the trace.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::chance::{CERTAIN, Chance};
use crate::trace::Trace;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Requests and answers take a random time, most of them a few milliseconds.
    Latency,
    /// A write is refused with 409 though nobody else wrote.
    Conflict,
    /// A write is refused with 500 and changes nothing.
    FailedWrite,
    /// A write happens, but its answer is lost.
    LostAnswer,
    /// A write whose client gave up is carried out nonetheless.
    LateWrite,
    /// A read fails with 500.
    FailedRead,
    /// A list that allows it shows an older state.
    StaleList,
    /// Events of a watch come late.
    WatchDelay,
    /// A watch breaks off, perhaps in the middle of an event.
    WatchBreak,
    /// A watch ends with 410, so that the client must list again.
    WatchGone,
    /// The time of day jumps.
    ClockJump,
    /// The process dies right after a write: the write is durable, nobody hears of it.
    Crash,
    /// A run takes long.
    SlowRun,
    /// A run fails.
    FailedRun,
    /// A run does not look at its cancellation for a while.
    HungRun,
    /// A run panics.
    Panic,
    /// A commit takes a few milliseconds, as on a disk.
    SlowCommit,
}

/// The number of faults.
const COUNT: usize = 17;

impl Fault {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); COUNT] = [
        (Self::Latency, "latency"),
        (Self::Conflict, "conflict"),
        (Self::FailedWrite, "failed-write"),
        (Self::LostAnswer, "lost-answer"),
        (Self::LateWrite, "late-write"),
        (Self::FailedRead, "failed-read"),
        (Self::StaleList, "stale-list"),
        (Self::WatchDelay, "watch-delay"),
        (Self::WatchBreak, "watch-break"),
        (Self::WatchGone, "watch-gone"),
        (Self::ClockJump, "clock-jump"),
        (Self::Crash, "crash"),
        (Self::SlowRun, "slow-run"),
        (Self::FailedRun, "failed-run"),
        (Self::HungRun, "hung-run"),
        (Self::Panic, "panic"),
        (Self::SlowCommit, "slow-commit"),
    ];

    /// The fault of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(fault, _)| *fault)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// How often each fault strikes, of [`CERTAIN`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates([u32; COUNT]);

impl Rates {
    /// Nothing goes wrong.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The same with another rate for one fault.
    #[must_use]
    pub fn with(mut self, fault: Fault, rate: u32) -> Self {
        self.0[fault as usize] = rate;
        self
    }

    /// Rates from a seed: some faults are off, so that rare combinations get their turn, and the others
    /// rare or frequent.
    #[must_use]
    pub fn random(chance: &Chance) -> Self {
        let mut rates = Self::default();
        for (fault, _) in Fault::ALL {
            if chance.happens(CERTAIN / 2) {
                let most = match fault {
                    Fault::Latency | Fault::SlowCommit => CERTAIN,
                    Fault::Conflict | Fault::WatchDelay | Fault::StaleList | Fault::SlowRun => {
                        2_000
                    }
                    Fault::FailedWrite
                    | Fault::LostAnswer
                    | Fault::LateWrite
                    | Fault::FailedRead
                    | Fault::WatchBreak
                    | Fault::FailedRun => 1_000,
                    Fault::WatchGone | Fault::HungRun | Fault::Panic => 300,
                    Fault::ClockJump => 100,
                    Fault::Crash => 150,
                };
                rates = rates.with(fault, u32::try_from(chance.below(most.into())).unwrap_or(0));
            }
        }
        rates
    }
}

/// The faults of one simulation. Clones share their state.
#[derive(Clone, Debug)]
pub struct Faults {
    inner: Arc<Mutex<Inner>>,
    chance: Chance,
    trace: Trace,
    who: Arc<str>,
}

#[derive(Debug)]
struct Inner {
    rates: Rates,
    /// Asked for by name, each for one time.
    once: Vec<Fault>,
    /// The number of those that struck, without the frequent ones.
    struck: u64,
}

impl Faults {
    /// Faults with these rates.
    #[must_use]
    pub fn new(rates: Rates, seed: u64, trace: Trace) -> Self {
        Self {
            inner: Arc::new(Mutex::new(Inner {
                rates,
                once: Vec::new(),
                struck: 0,
            })),
            chance: Chance::new(seed, "faults"),
            trace,
            who: "fault".into(),
        }
    }

    /// From here on, other rates.
    pub fn set(&self, rates: Rates) {
        self.inner.lock().rates = rates;
    }

    /// Lets a fault strike at its next opportunity, once.
    pub fn once(&self, fault: Fault) {
        self.inner.lock().once.push(fault);
    }

    /// Whether a fault strikes here and now; `where_` is for the trace.
    #[must_use]
    pub fn strikes(&self, fault: Fault, where_: impl FnOnce() -> String) -> bool {
        if !self.is_due(fault) {
            return false;
        }
        self.note(fault, &where_());
        true
    }

    /// Notes that a fault struck that was decided on before.
    pub fn note(&self, fault: Fault, where_: &str) {
        self.inner.lock().struck += 1;
        let what = format!("{}: {where_}", fault.name());
        self.trace.note(&self.who, what);
    }

    /// The number of faults that struck and were noted.
    #[must_use]
    pub fn struck(&self) -> u64 {
        self.inner.lock().struck
    }

    /// As [`Faults::strikes`], for what is too frequent to be noted.
    #[must_use]
    pub fn strikes_silently(&self, fault: Fault) -> bool {
        self.is_due(fault)
    }

    fn is_due(&self, fault: Fault) -> bool {
        let mut inner = self.inner.lock();
        if let Some(index) = inner.once.iter().position(|asked| *asked == fault) {
            inner.once.remove(index);
            return true;
        }
        let rate = inner.rates.0[fault as usize];
        drop(inner);
        rate > 0 && self.chance.happens(rate)
    }

    /// The chance that faults are drawn from, for how long or how bad they are.
    #[must_use]
    pub fn chance(&self) -> &Chance {
        &self.chance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SimClock;

    #[test]
    fn names_lead_back_to_their_faults() {
        for (fault, name) in Fault::ALL {
            assert_eq!(fault.name(), name);
            assert_eq!(Fault::named(name), Some(fault));
        }
        assert_eq!(Fault::named("earthquake"), None);
    }

    #[test]
    fn a_fault_that_was_asked_for_strikes_once_and_is_noted() {
        let trace = Trace::new(SimClock::default());
        let faults = Faults::new(Rates::none(), 1, trace.clone());
        let strikes = || faults.strikes(Fault::Conflict, || "PUT a".into());
        assert!(!strikes());
        faults.once(Fault::Conflict);
        assert!(!faults.strikes(Fault::Crash, String::new));
        assert!(strikes());
        assert!(!strikes());
        assert_eq!(trace.text(), "00:00:00.000 fault     conflict: PUT a\n");
    }
}
