//! The machine that runs hooks which are commands: its processes outlive the one that started them.
//!
//! A process is nothing but the time at which it ends: nothing of it needs the runtime, which a crash of the control
//! plane takes away. Signals move that time. The program reads its request, works on it, answers on stdout; it may ignore
//! SIGTERM, have a child in its process group, which may keep the pipes, and one that has left the group. What is killed
//! is not gone at once.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landform_engine::hooks::{CommandLine, Machine, Mark, ProcessGroup, Program, Signal};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::Notify;

use super::hook::{HookServer, PIPE};
use crate::chance::{CERTAIN, Chance};
use crate::clock::SimClock;
use crate::disk::Life;

/// What is killed is gone within this time.
const DYING_MS: u64 = 40;
/// What ends when it is asked to does so within this time.
const ENDING_MS: u64 = 2_000;
/// Children outlive their program by up to this time, unless they are ended.
const CHILD_MS: u64 = 8_000;

/// All that runs on the machine. Clones share it.
#[derive(Clone)]
pub(super) struct SimMachine {
    hook: HookServer,
    clock: SimClock,
    chance: Chance,
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    lives: u64,
    calls: BTreeMap<u64, Call>,
}

struct Call {
    /// Which life of the control plane has begun it.
    owner: u64,
    written_down: bool,
    processes: Arc<Processes>,
}

/// The processes of one call.
struct Processes {
    times: Mutex<Times>,
    changed: Notify,
    /// When the last of them has ended that the call has to answer for, in nanoseconds.
    gone_at: Arc<AtomicU64>,
}

/// When each of them ends; for one that doesn't exist, at the beginning of time.
struct Times {
    leader: Duration,
    child: Duration,
    /// Has left the group.
    stray: Duration,
    /// Whether those that have left the group must end, too: the call was given up, or its owner is dead.
    given_up: bool,
    /// Who does not look at SIGTERM.
    stubborn: [bool; 3],
    /// What has ended the leader, if it has not ended by itself.
    ended_by: Option<Signal>,
    failed: bool,
}

impl Processes {
    fn new() -> Self {
        let times = Times {
            leader: Duration::MAX,
            child: Duration::ZERO,
            stray: Duration::ZERO,
            given_up: false,
            stubborn: [false; 3],
            ended_by: None,
            failed: false,
        };
        Self {
            times: Mutex::new(times),
            changed: Notify::new(),
            gone_at: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Times)) {
        let mut times = self.times.lock();
        change(&mut times);
        let stray = if times.given_up {
            times.stray
        } else {
            Duration::ZERO
        };
        let gone = times.leader.max(times.child).max(stray);
        let gone = u64::try_from(gone.as_nanos()).unwrap_or(u64::MAX);
        self.gone_at.store(gone, Ordering::SeqCst);
        drop(times);
        self.changed.notify_waiters();
    }

    /// A signal reaches the group, or all of them.
    fn signal(&self, signal: Signal, strays_too: bool, now: Duration, chance: &Chance) {
        self.change(|times| {
            times.given_up |= strays_too || signal == Signal::Term;
            let Times {
                leader,
                child,
                stray,
                ..
            } = times;
            let reached = [Some(leader), Some(child), strays_too.then_some(stray)];
            for (index, end) in reached.into_iter().enumerate() {
                let most = match signal {
                    Signal::Kill => DYING_MS,
                    Signal::Term => ENDING_MS,
                };
                let ends = now + Duration::from_millis(1 + chance.below(most));
                let ignored = signal == Signal::Term && times.stubborn[index];
                if let Some(end) = end.filter(|end| ends < **end && !ignored) {
                    *end = ends;
                    if index == 0 {
                        times.ended_by = Some(signal);
                    }
                }
            }
        });
    }

    /// Waits until a time is past that signals may move.
    async fn past(&self, clock: &SimClock, time: impl Fn(&Times) -> Duration) {
        loop {
            let changed = self.changed.notified();
            let end = time(&self.times.lock());
            let now = clock.elapsed();
            if now >= end {
                return;
            }
            let left = (end - now).min(Duration::from_secs(3600));
            tokio::select! {
                biased;
                () = changed => {}
                () = tokio::time::sleep(left) => {}
            }
        }
    }
}

fn group_end(times: &Times) -> Duration {
    times.leader.max(times.child)
}

fn last_end(times: &Times) -> Duration {
    group_end(times).max(times.stray)
}

impl SimMachine {
    pub(super) fn new(hook: HookServer, clock: SimClock, chance: Chance) -> Self {
        Self {
            hook,
            clock,
            chance,
            table: Arc::default(),
        }
    }

    /// The machine as a new process of the control plane sees it.
    pub(super) fn for_process(&self, life: Arc<Life>) -> Arc<dyn Machine> {
        let mut table = self.table.lock();
        table.lives += 1;
        Arc::new(Owner {
            machine: self.clone(),
            number: table.lives,
            life,
        })
    }

    /// The process of the control plane is no more. What it has started goes on.
    pub(super) fn owner_died(&self) {
        let now = self.clock.elapsed();
        for call in self.table.lock().calls.values() {
            if call.written_down {
                call.processes.change(|times| {
                    times.given_up = true;
                    // Half a request is none.
                    if times.leader == Duration::MAX {
                        times.leader = now;
                    }
                });
            }
        }
    }

    fn happens(&self, one_in: u32) -> bool {
        self.chance.happens(CERTAIN / one_in)
    }

    /// What the program does.
    async fn work(self, processes: Arc<Processes>, pipes: [DuplexStream; 3]) {
        let [mut stdin, mut stdout, mut stderr] = pipes;
        let mut request = Vec::new();
        tokio::select! {
            biased;
            () = processes.past(&self.clock, |times| times.leader) => return,
            read = stdin.read_to_end(&mut request) => if read.is_err() { return },
        }
        let request: Value = serde_json::from_slice(&request).unwrap_or_default();
        let (time, keeps_pipes) = (self.hook.time_of(&request), self.happens(2));
        self.begin(&processes, time);
        let call = self
            .hook
            .oracle
            .command_begins(&request, processes.gone_at.clone());
        processes.past(&self.clock, |times| times.leader).await;
        if processes.times.lock().ended_by.is_some() {
            self.hook.oracle.call_answers(call, &Value::Null);
            return;
        }
        // Nobody may read it any more; the work was done all the same.
        match self.hook.answer_to(call, &request) {
            Some(answer) => {
                let _ = stdout.write_all(answer.to_string().as_bytes()).await;
            }
            None => {
                processes.change(|times| times.failed = true);
                let _ = stderr.write_all(b"out of order\n").await;
            }
        }
        if keeps_pipes {
            processes.past(&self.clock, |times| times.child).await;
        }
    }

    fn begin(&self, processes: &Processes, time: Duration) {
        let end = self.clock.elapsed() + time;
        let after = || end + Duration::from_millis(self.chance.below(CHILD_MS));
        processes.change(|times| {
            times.leader = end;
            if self.happens(4) {
                times.child = after();
            }
            if self.happens(8) {
                times.stray = after();
            }
            times.stubborn = [3, 3, 3].map(|one_in| self.happens(one_in));
        });
    }
}

/// The machine as one process of the control plane sees it. What a dead one does has no effect.
struct Owner {
    machine: SimMachine,
    number: u64,
    life: Arc<Life>,
}

fn number(mark: &Mark) -> Option<u64> {
    mark.text().parse().ok()
}

impl Owner {
    fn processes(&self, mark: &Mark) -> Option<Arc<Processes>> {
        let table = self.machine.table.lock();
        let call = table.calls.get(&number(mark)?)?;
        Some(call.processes.clone())
    }

    async fn kill(&self, processes: &Processes) {
        let SimMachine { clock, chance, .. } = &self.machine;
        processes.signal(Signal::Kill, true, clock.elapsed(), chance);
        processes.past(clock, last_end).await;
    }
}

impl Machine for Owner {
    fn end_leftovers(&self) -> BoxFuture<'_, io::Result<()>> {
        async move {
            let left: Vec<(u64, Arc<Processes>)> = {
                let table = self.machine.table.lock();
                let left = table.calls.iter();
                let left = left.filter(|(_, call)| call.written_down && call.owner != self.number);
                left.map(|(mark, call)| (*mark, call.processes.clone()))
                    .collect()
            };
            for (mark, processes) in left {
                self.kill(&processes).await;
                self.machine.table.lock().calls.remove(&mark);
            }
            Ok(())
        }
        .boxed()
    }

    fn begin(&self) -> io::Result<Mark> {
        let mut table = self.machine.table.lock();
        let mark = table.calls.last_key_value().map_or(1, |(last, _)| last + 1);
        let call = Call {
            owner: self.number,
            written_down: true,
            processes: Arc::new(Processes::new()),
        };
        table.calls.insert(mark, call);
        Ok(Mark::Call(mark.to_string()))
    }

    fn forget(&self, mark: &Mark) {
        let mut table = self.machine.table.lock();
        let call = number(mark).and_then(|mark| table.calls.get_mut(&mark));
        if let Some(call) = call.filter(|_| !self.life.is_over()) {
            call.written_down = false;
        }
    }

    fn start(&self, _: &CommandLine, mark: &Mark) -> io::Result<Program> {
        let processes = self.processes(mark);
        let processes = processes.ok_or_else(|| io::Error::other("no such call"))?;
        let ((stdin, their_stdin), (stdout, their_stdout), (stderr, their_stderr)) =
            (duplex(PIPE), duplex(PIPE), duplex(PIPE));
        let pipes = [their_stdin, their_stdout, their_stderr];
        tokio::spawn(self.machine.clone().work(processes.clone(), pipes));
        let group = Group {
            processes: processes.clone(),
            machine: self.machine.clone(),
            life: self.life.clone(),
        };
        let clock = self.machine.clock.clone();
        let exit = async move {
            processes.past(&clock, |times| times.leader).await;
            let times = processes.times.lock();
            Ok(ExitStatus::from_raw(match times.ended_by {
                Some(Signal::Term) => 15,
                Some(Signal::Kill) => 9,
                None => i32::from(times.failed) << 8,
            }))
        };
        Ok(Program {
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            exit: exit.boxed(),
            group: Box::new(group),
        })
    }

    fn kill_marked<'a>(&'a self, mark: &'a Mark) -> BoxFuture<'a, io::Result<()>> {
        async {
            if let Some(processes) = self.processes(mark) {
                self.kill(&processes).await;
            }
            Ok(())
        }
        .boxed()
    }
}

struct Group {
    processes: Arc<Processes>,
    machine: SimMachine,
    life: Arc<Life>,
}

impl ProcessGroup for Group {
    fn leader_ended(&self) -> BoxFuture<'_, ()> {
        self.processes
            .past(&self.machine.clock, |times| times.leader)
            .boxed()
    }

    fn send(&self, signal: Signal) {
        if !self.life.is_over() {
            let SimMachine { clock, chance, .. } = &self.machine;
            self.processes
                .signal(signal, false, clock.elapsed(), chance);
        }
    }

    fn lives(&self) -> bool {
        group_end(&self.processes.times.lock()) > self.machine.clock.elapsed()
    }
}
