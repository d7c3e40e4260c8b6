//! The machine alone, with reconcilers that do nothing: waves, a hub, and a million objects.
//!
//! One thread, no clock, no I/O. Times are of CPU where others may have used the machine too.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use landform_schedule::{
    Command, Event, ObjectKey, Order, Outcome, Role, RunId, Scheduler, Sight, Version,
};

use crate::report::{Figure, Goal};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Name(Arc<str>);

impl ObjectKey for Name {
    fn namespace(&self) -> &str {
        self.0
            .split_once('/')
            .map_or("", |(namespace, _)| namespace)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn name(at: usize) -> Name {
    Name(format!("namespace-{}/installation-{at:07}", at / 1_000).into())
}

fn sight(at: usize, refs: Vec<Name>, version: u64, content: u64) -> Sight<Name> {
    Sight {
        key: name(at),
        version: Version(version),
        content,
        refs,
        marked: false,
        role: Role::Reconciled,
        order: Order::Strict,
    }
}

/// Returns runs until none is left; counts them.
fn run_dry(machine: &mut Scheduler<Name>, commands: &mut Vec<Command<Name>>) -> usize {
    let mut runs = Vec::new();
    let mut count = 0;
    collect(commands, &mut runs);
    while let Some(run) = runs.pop() {
        count += 1;
        let outcome = Outcome::Succeeded {
            retrigger_at_ms: None,
        };
        let event = Event::Finished {
            run,
            outcome,
            now_ms: 0,
        };
        machine.step([event], commands);
        collect(commands, &mut runs);
    }
    count
}

fn collect(commands: &mut Vec<Command<Name>>, runs: &mut Vec<RunId>) {
    for command in commands.drain(..) {
        if let Command::Start { run, .. } = command {
            runs.push(run);
        }
    }
}

/// A machine that has listed these objects and run them all.
fn settled(sights: Vec<Sight<Name>>) -> Scheduler<Name> {
    let mut machine = Scheduler::new(1);
    let mut commands = machine.handle(Event::Listed(sights));
    run_dry(&mut machine, &mut commands);
    machine
}

/// Changes the first object and runs the wave that follows, many times over. Returns the mean time of
/// CPU, since others may use the machine too.
fn wave(sights: Vec<Sight<Name>>) -> Duration {
    let objects = sights.len();
    let mut machine = settled(sights);
    let mut commands = Vec::new();
    let rounds = u32::try_from(4_000_000 / objects).unwrap_or(1);
    let all = Stopwatch::start();
    for version in 2..u64::from(2 + rounds) {
        let event = Event::Seen(sight(0, Vec::new(), version, version));
        machine.step([event], &mut commands);
        let runs = run_dry(&mut machine, &mut commands);
        assert_eq!(runs, objects, "a wave reaches every object once");
    }
    all.cpu() / rounds
}

fn chain(length: usize) -> Vec<Sight<Name>> {
    let refs = |at: usize| at.checked_sub(1).map(name).into_iter().collect();
    (0..length).map(|at| sight(at, refs(at), 1, 1)).collect()
}

/// Rows of a hundred; each object refers to two in the row above, and the first row to the top.
fn lattice(rows: usize) -> Vec<Sight<Name>> {
    let mut sights = vec![sight(0, Vec::new(), 1, 1)];
    for at in 0..rows * 100 {
        let (row, column) = (at / 100, at % 100);
        let above = |column: usize| name(1 + (row.wrapping_sub(1)) * 100 + column % 100);
        let refs = if row == 0 {
            vec![name(0)]
        } else {
            vec![above(column), above(column + 1)]
        };
        sights.push(sight(1 + at, refs, 1, 1));
    }
    sights
}

/// The median time of a status write on an object that so many refer to.
fn hub(descendants: usize) -> Duration {
    let mut sights = vec![sight(0, Vec::new(), 1, 1)];
    sights.extend((1..=descendants).map(|at| sight(at, vec![name(0)], 1, 1)));
    let mut machine = settled(sights);
    let mut times = Times::default();
    let mut commands = Vec::new();
    for version in 2..100_002 {
        let event = Event::Seen(sight(0, Vec::new(), version, 1));
        times.measure(|| machine.step([event], &mut commands));
    }
    times.at(0.5)
}

#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn measure(&mut self, work: impl FnOnce()) {
        let started = Instant::now();
        work();
        self.0.push(started.elapsed());
    }

    /// The time that this part of all stay below.
    fn at(&mut self, part: f64) -> Duration {
        self.0.sort_unstable();
        let place = (self.0.len().saturating_sub(1)) as f64 * part;
        self.0.get(place as usize).copied().unwrap_or_default()
    }
}

/// The time of CPU that this thread had.
struct Stopwatch {
    cpu: Duration,
}

impl Stopwatch {
    fn start() -> Self {
        Self { cpu: cpu_time() }
    }

    fn cpu(&self) -> Duration {
        cpu_time().saturating_sub(self.cpu)
    }
}

fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = text
        .split_whitespace()
        .next()
        .and_then(|text| text.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// The memory of this process that is resident, and the most that ever was, in MiB.
fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or(0) / 1024
    };
    (field("VmRSS:"), field("VmHWM:"))
}

fn scramble(number: usize) -> usize {
    let mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)) as usize
}

/// Objects refer to three others among the hundred before them, in groups of a thousand.
fn refs_of(at: usize) -> Vec<usize> {
    let place = at % 1_000;
    let back = |salt: usize| 1 + scramble(at * 3 + salt) % 100;
    let mut refs: Vec<_> = (0..3)
        .map(back)
        .filter(|back| *back <= place)
        .map(|back| at - back)
        .collect();
    refs.sort_unstable();
    refs.dedup();
    refs
}

/// What a large graph costs.
struct Large {
    edges: usize,
    memory_mib: u64,
    load: Duration,
    first_wave: Duration,
    event_p99: Duration,
}

fn large(objects: usize) -> Large {
    let (before, _) = memory();
    let names: Vec<_> = (0..objects).map(name).collect();
    let (keys, _) = memory();
    let sights = (0..objects).map(|at| Sight {
        key: names[at].clone(),
        refs: refs_of(at)
            .into_iter()
            .map(|to| names[to].clone())
            .collect(),
        ..sight(0, Vec::new(), 1, 1)
    });
    let sights: Vec<_> = sights.collect();
    drop(names);
    let edges: usize = sights.iter().map(|sight| sight.refs.len()).sum();
    let (input, _) = memory();
    let mut machine = Scheduler::new(1);
    let started = Stopwatch::start();
    let mut commands = machine.handle(Event::Listed(sights));
    let load = started.cpu();
    let (_, peak) = memory();
    let started = Stopwatch::start();
    run_dry(&mut machine, &mut commands);
    Large {
        edges,
        // The list that was loaded is the benchmark's own; its keys are the machine's from then on.
        memory_mib: (peak + keys).saturating_sub(input + before),
        load,
        first_wave: started.cpu(),
        event_p99: events(&mut machine, objects),
    }
}

/// A mix of events, one at a time: changes of refs, status writes, requests, and the runs that follow.
fn events(machine: &mut Scheduler<Name>, objects: usize) -> Duration {
    let mut times = Times::default();
    let mut commands = Vec::new();
    let mut runs: Vec<RunId> = Vec::new();
    for turn in 0..200_000_usize {
        let at = scramble(turn) % objects;
        let version = 2 + turn as u64;
        match turn % 4 {
            0 => {
                let refs = refs_of(at).into_iter().map(name).collect();
                let event = Event::Seen(sight(at, refs, version, 1));
                times.measure(|| machine.step([event], &mut commands));
            }
            1 => {
                // Objects near the end of their group have few descendants, as most objects do.
                let at = at - at % 1_000 + 900 + at % 100;
                let mut refs = refs_of(at);
                refs.pop();
                refs.push(at - 1 - turn % 50);
                let refs = refs.into_iter().map(name).collect();
                let event = Event::Seen(sight(at, refs, version, version));
                times.measure(|| machine.step([event], &mut commands));
            }
            _ => {
                if let Some(run) = runs.pop() {
                    let outcome = Outcome::Succeeded {
                        retrigger_at_ms: None,
                    };
                    let event = Event::Finished {
                        run,
                        outcome,
                        now_ms: 0,
                    };
                    times.measure(|| machine.step([event], &mut commands));
                }
            }
        }
        for command in commands.drain(..) {
            if let Command::Start { run, .. } = command {
                runs.push(run);
            }
        }
    }
    times.at(0.99)
}

/// Everything, as figures beside their goals, and notes.
pub(super) fn measure(quick: bool) -> (Vec<Figure>, Vec<String>) {
    let scale = if quick { 100 } else { 1 };
    let million = 1_000_000 / scale;
    let large = large(million);
    let short = wave(chain(10_000 / scale));
    let long = wave(chain(100_000 / scale));
    let diamonds = wave(lattice(1_000 / scale));
    let (small_hub, large_hub) = (hub(1_000), hub(100_000 / scale));
    let at_most = |what: &str, unit, goal: f64, reached: f64| Figure {
        what: what.to_owned(),
        unit,
        goal: Goal::AtMost(goal),
        reached,
    };
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let figures = vec![
        at_most("wave through a chain of 10,000", "ms", 500.0, ms(short)),
        at_most(
            "a chain ten times as long takes",
            "times as much",
            11.0,
            ms(long) / ms(short),
        ),
        at_most(
            "wave through a diamond lattice of 100,000",
            "ms",
            1_000.0,
            ms(diamonds),
        ),
        at_most(
            "status write on a hub with 100,000 descendants, p50",
            "µs",
            5.0,
            us(large_hub),
        ),
        at_most("the same with 1,000 descendants", "µs", 5.0, us(small_hub)),
        at_most(
            "memory of 1,000,000 objects",
            "MiB",
            300.0,
            large.memory_mib as f64,
        ),
        at_most("loading them", "ms", 3_000.0, ms(large.load)),
        at_most("one event among them, p99", "µs", 50.0, us(large.event_p99)),
    ];
    let notes = vec![
        format!(
            "The large graph has {million} objects and {} references; its first wave, all objects once, takes {:.0} ms of CPU.",
            large.edges,
            ms(large.first_wave)
        ),
        "For comparison, a faithful model of Rill's controller on such a machine: a chain of 1,000 takes 4–5 s, one of 2,000 takes 23 s, one write on a hub of 100,000 takes 241 ms.".to_owned(),
    ];
    (figures, notes)
}
