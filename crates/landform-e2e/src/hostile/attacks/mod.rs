//! The table of attacks: what is sent, and what it may cost.

mod callers;
mod connections;
mod definitions;
mod maps;
mod room;
mod streams;
mod targets;
mod values;

use std::collections::BTreeMap;
use std::io::Result;

use super::Outcome;
use super::stage::Stage;
use super::wire::Answer;

/// One attack with its bounds.
pub(super) struct Attack {
    pub(super) name: &'static str,
    /// What is sent, and by whom.
    pub(super) sends: &'static str,
    /// Done before anything is measured.
    pub(super) prepare: fn(&Stage) -> Outcome,
    pub(super) run: fn(&Stage, &mut Seen) -> Outcome,
    /// The codes that may come back; 0 is a connection that was closed without an answer.
    pub(super) answers: &'static [u16],
    /// The server's memory may grow by this much.
    pub(super) memory_mib: u64,
    /// The bystander's p99; generous, because machines are busy.
    pub(super) probe_ms: u64,
    /// How many files the server may open, if it is ours.
    pub(super) files: Option<u32>,
    /// The store's quota, whole and quick, in MiB, if the server is ours.
    pub(super) store_quota_mib: Option<(u32, u32)>,
}

impl Attack {
    /// The options of the server.
    pub(super) fn quota(&self, quick: bool) -> Vec<String> {
        let Some((whole, short)) = self.store_quota_mib else {
            return Vec::new();
        };
        let quota = if quick { short } else { whole };
        vec!["--store-quota".to_owned(), format!("{quota}Mi")]
    }
}

/// An attack that needs nothing special.
const PLAIN: Attack = Attack {
    name: "",
    sends: "",
    prepare: |_| Ok(()),
    run: |_, _| Ok(()),
    answers: &[],
    memory_mib: 256,
    probe_ms: 2_000,
    files: None,
    store_quota_mib: None,
};

/// What came back.
#[derive(Default)]
pub(super) struct Seen {
    /// How often which code; 0 for a connection that was closed without an answer.
    pub(super) codes: BTreeMap<u16, usize>,
    /// What else was found, as a sentence that must hold.
    pub(super) checks: Vec<(String, bool)>,
    /// What can't be judged on this server.
    pub(super) left_out: Vec<&'static str>,
}

impl Seen {
    /// Counts an answer.
    pub(super) fn answer(&mut self, answer: &Result<Answer>) {
        let code = answer.as_ref().map_or(0, |answer| answer.code);
        *self.codes.entry(code).or_default() += 1;
    }

    pub(super) fn check(&mut self, sentence: String, holds: bool) {
        self.checks.push((sentence, holds));
    }

    fn add(&mut self, other: Self) {
        for (code, count) in other.codes {
            *self.codes.entry(code).or_default() += count;
        }
        self.checks.extend(other.checks);
        self.left_out.extend(other.left_out);
    }

    /// Does something on several threads at once; each gets its number.
    fn together(&mut self, threads: usize, work: impl Fn(usize, &mut Self) + Sync) {
        let work = &work;
        let all = std::thread::scope(|scope| {
            let run = |number| {
                scope.spawn(move || {
                    let mut seen = Self::default();
                    work(number, &mut seen);
                    seen
                })
            };
            let running: Vec<_> = (0..threads).map(run).collect();
            let ended = running.into_iter().map(std::thread::ScopedJoinHandle::join);
            ended.collect::<Vec<_>>()
        });
        for seen in all {
            match seen {
                Ok(seen) => self.add(seen),
                Err(_) => self.check("the attacker's threads go on".to_owned(), false),
            }
        }
    }
}

/// All attacks.
pub(super) fn table() -> Vec<Attack> {
    let parts = [
        values::table(),
        maps::table(),
        connections::table(),
        streams::table(),
        room::table(),
        callers::table(),
        targets::table(),
        definitions::table(),
    ];
    parts.into_iter().flatten().collect()
}
