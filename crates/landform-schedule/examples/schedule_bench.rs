//! Measures the machine with reconcilers that do nothing: waves, a hub, and a million objects.
//!
//! `cargo run --release -p landform-schedule --example schedule_bench [million|chain|lattice|hub]`

#![expect(clippy::print_stdout, reason = "the figures are the output")]

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use landform_schedule::{
    Command, Event, ObjectKey, Outcome, Role, RunId, Scheduler, Sight, Version,
};

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
fn wave(title: &str, sights: Vec<Sight<Name>>) -> Duration {
    let objects = sights.len();
    let mut machine = settled(sights);
    let mut commands = Vec::new();
    let mut shortest = Duration::MAX;
    let mut runs = 0;
    let rounds = u32::try_from(4_000_000 / objects).unwrap_or(1);
    let all = Stopwatch::start();
    for version in 2..u64::from(2 + rounds) {
        let started = Instant::now();
        let event = Event::Seen(sight(0, Vec::new(), version, version));
        machine.step([event], &mut commands);
        runs = run_dry(&mut machine, &mut commands);
        shortest = shortest.min(started.elapsed());
    }
    let mean = all.cpu() / rounds;
    println!("{title}: {runs} of {objects} objects in {mean:.1?} of CPU, shortest {shortest:.1?}");
    mean
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

fn hub(descendants: usize) {
    let mut sights = vec![sight(0, Vec::new(), 1, 1)];
    sights.extend((1..=descendants).map(|at| sight(at, vec![name(0)], 1, 1)));
    let mut machine = settled(sights);
    let mut times = Times::default();
    let mut commands = Vec::new();
    for version in 2..100_002 {
        let event = Event::Seen(sight(0, Vec::new(), version, 1));
        times.measure(|| machine.step([event], &mut commands));
    }
    times.print(&format!("status write on a hub of {descendants}"));
}

#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn measure(&mut self, work: impl FnOnce()) {
        let started = Instant::now();
        work();
        self.0.push(started.elapsed());
    }

    fn print(&mut self, title: &str) {
        self.0.sort_unstable();
        let at = |part: f64| self.0[((self.0.len() - 1) as f64 * part) as usize];
        println!(
            "{title}: p50 {:.2?}, p99 {:.2?}, max {:.2?} of {}",
            at(0.5),
            at(0.99),
            at(1.0),
            self.0.len()
        );
    }
}

/// Time that passed, and time that this process had of it: others may use the machine too.
struct Stopwatch {
    wall: Instant,
    cpu: Duration,
}

impl Stopwatch {
    fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu: cpu_time(),
        }
    }

    fn cpu(&self) -> Duration {
        cpu_time().saturating_sub(self.cpu)
    }
}

impl fmt::Display for Stopwatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wall, cpu) = (self.wall.elapsed(), self.cpu());
        write!(f, "{wall:.1?} ({cpu:.1?} of CPU)")
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

fn million(objects: usize) {
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
    let time = started.to_string();
    let (_, peak) = memory();
    println!("{objects} objects, {edges} edges: loaded in {time}");
    println!(
        "  memory: at most {} MiB, of which keys {} (process: {input} with the list, peak {peak})",
        peak - input + keys - before,
        keys - before,
    );
    let started = Stopwatch::start();
    let runs = run_dry(&mut machine, &mut commands);
    println!("first wave: {runs} runs in {started}");
    events(&mut machine, objects);
}

/// A mix of events, one at a time: changes of refs, status writes, requests, and the runs that follow.
fn events(machine: &mut Scheduler<Name>, objects: usize) {
    let (mut seen, mut status, mut finished) =
        (Times::default(), Times::default(), Times::default());
    let mut commands = Vec::new();
    let mut runs: Vec<RunId> = Vec::new();
    for turn in 0..200_000_usize {
        let at = scramble(turn) % objects;
        let version = 2 + turn as u64;
        match turn % 4 {
            0 => {
                let refs = refs_of(at).into_iter().map(name).collect();
                let event = Event::Seen(sight(at, refs, version, 1));
                status.measure(|| machine.step([event], &mut commands));
            }
            1 => {
                // Objects near the end of their group have few descendants, as most objects do.
                let at = at - at % 1_000 + 900 + at % 100;
                let mut refs = refs_of(at);
                refs.pop();
                refs.push(at - 1 - turn % 50);
                let refs = refs.into_iter().map(name).collect();
                let event = Event::Seen(sight(at, refs, version, version));
                seen.measure(|| machine.step([event], &mut commands));
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
                    finished.measure(|| machine.step([event], &mut commands));
                }
            }
        }
        for command in commands.drain(..) {
            if let Command::Start { run, .. } = command {
                runs.push(run);
            }
        }
    }
    status.print("  status write");
    seen.print("  changed refs");
    finished.print("  finished run");
    let mut all = Times([status.0, seen.0, finished.0].concat());
    all.print("  any event");
}

fn chains() {
    let short = wave("wave through a chain", chain(10_000));
    let long = wave("wave through a chain", chain(100_000));
    println!(
        "  ten times as long takes {:.1} times as much",
        long.as_secs_f64() / short.as_secs_f64()
    );
}

fn main() {
    let wanted = std::env::args().nth(1);
    let wants = |part: &str| wanted.as_deref().is_none_or(|wanted| wanted == part);
    if wants("million") {
        million(1_000_000);
    }
    if wants("chain") {
        chains();
    }
    if wants("lattice") {
        wave("wave through a lattice", lattice(1_000));
    }
    if wants("hub") {
        hub(1_000);
        hub(100_000);
    }
}
