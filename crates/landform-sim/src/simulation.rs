//! A simulation: processes that follow each other on one disk, and what is done to them.
//!
//! A process is a single-threaded runtime whose time is paused. It moves on only while an action is
//! carried out. A crash drops the runtime with all its tasks, wherever they stand; the action that was
//! under way is then carried out again by a user who knows nothing of crashes.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landform_store::Store as _;
use landform_store::memory::MemoryStore;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::chance::Chance;
use crate::clock::SimClock;
use crate::disk::{Disk, Life};
use crate::end_state::{EndState, end_state};
use crate::environment::SimEnvironment;
use crate::fault::{Fault, Faults, Rates};
use crate::process::{Process, Surroundings};
use crate::trace::Trace;
use crate::user::{ObjectName, Wish, grant};

/// Who lives in a simulated process besides the API server, and what they must hold to.
pub trait World: Send + Sync + 'static {
    /// Starts controllers. Called on the runtime of every new process; the tasks that are spawned here die
    /// with it.
    fn start<'a>(&'a self, process: &'a Process) -> BoxFuture<'a, Result<(), String>>;

    /// A number that moves whenever something happens that isn't a write, such as a run. A world is at
    /// rest when neither this nor the disk moves.
    fn activity(&self) -> u64 {
        0
    }

    /// When nothing has happened for this time, nothing will: longer than any pause before a retry, and than
    /// any timeout that this world waits for.
    fn patience(&self) -> Duration {
        REST
    }

    /// The process is over: whatever was under way is no more.
    fn process_ended(&self) {}

    /// A person is about to change something.
    fn wished(&self) {}

    /// What the oracles have found so far. Asked after every action.
    ///
    /// # Errors
    /// The rule that was broken, and how.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// What must hold whenever nothing happens any more.
    ///
    /// # Errors
    /// The rule that was broken, and how.
    fn at_rest(&self) -> Result<(), String> {
        Ok(())
    }

    /// What happened since this was last asked, in short lines without times: for scenario files.
    fn story(&self) -> Vec<String> {
        Vec::new()
    }

    /// Somebody asks for a run of an object.
    fn ask(&self, name: &ObjectName) {
        let _ = name;
    }

    /// What is compared between runs.
    fn end_state(&self, disk: &Disk) -> EndState {
        end_state(disk.store())
    }
}

/// A simulation that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

impl From<String> for Failure {
    fn from(what: String) -> Self {
        Self(what)
    }
}

/// Something that is done to the system.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A user wants something; done when the API server has said yes.
    Wish(Wish),
    /// Somebody asks for a run of an object.
    Ask(ObjectName),
    /// Time passes.
    Wait(Duration),
    /// Time passes until nothing happens any more.
    Rest,
    /// So much time passes, and nothing is written meanwhile.
    Silence(Duration),
    /// The process dies now, and starts again.
    Crash,
    /// The process dies after so many more writes.
    CrashAfterWrites(u64),
    /// The process is stopped in good order, and starts again.
    Restart,
    /// A fault strikes at its next opportunity.
    Once(Fault),
    /// Faults strike with other rates from here on.
    Rates(Rates),
    /// The time of day jumps by so many milliseconds.
    Jump(i64),
}

/// Longer than the timeouts of deploy items.
const REST: Duration = Duration::from_secs(20 * 60);
/// Longer than the longest pause before a retry, which is 5 minutes.
pub const RETRIES: Duration = Duration::from_secs(6 * 60);
/// How often is looked whether something has happened.
const LOOK: Duration = Duration::from_secs(60);
/// What hasn't come to rest after this time never will.
const REST_LIMIT: Duration = Duration::from_secs(33 * 3600);
/// How long a process is down after a crash, at the most.
const LONGEST_DOWNTIME_MS: u64 = 5_000;
/// Nobody else's, so that no uid on the template comes again.
const TEMPLATE_SEED: u64 = u64::MAX;
/// How far the time of day may jump.
const LONGEST_JUMP_MS: u64 = 10 * 60 * 1000;

/// A disk on which a server has been before, so that simulations needn't all begin with its first steps.
pub struct Template {
    store: MemoryStore,
}

impl Template {
    /// A disk on which these objects exist, definitions of kinds above all.
    ///
    /// # Errors
    /// When the server refuses one of them.
    pub fn new(objects: &[Value]) -> Result<Self, Failure> {
        struct Nobody;
        impl World for Nobody {
            fn start<'a>(&'a self, _: &'a Process) -> BoxFuture<'a, Result<(), String>> {
                futures::future::ready(Ok(())).boxed()
            }
        }
        let empty = Self {
            store: MemoryStore::new(),
        };
        let mut simulation =
            Simulation::new(Arc::new(Nobody), &empty, TEMPLATE_SEED, Rates::none());
        for object in objects {
            simulation.perform(&Action::Wish(Wish::Applied(object.clone())))?;
        }
        simulation.perform(&Action::Wait(Duration::from_secs(1)))?;
        Ok(Self {
            store: copy(simulation.surroundings.disk.store()),
        })
    }
}

/// A copy of a store, for as good as nothing.
fn copy(store: &MemoryStore) -> MemoryStore {
    // A store in memory is copied at once, and can't fail to be.
    let copy = store.fork().now_or_never();
    copy.and_then(Result::ok).unwrap_or_default()
}

/// A simulation.
pub struct Simulation<W: World> {
    world: Arc<W>,
    surroundings: Surroundings,
    running: Option<Running>,
    downtimes: Chance,
    who: Arc<str>,
}

/// A process and what it runs on.
struct Running {
    runtime: Runtime,
    process: Process,
}

/// How an action ended that a crash may interrupt.
enum Ended<T> {
    Done(T),
    Crashed,
}

impl<W: World> Simulation<W> {
    /// A world on a copy of a disk, at the beginning of time. Nothing runs yet.
    #[must_use]
    pub fn new(world: Arc<W>, template: &Template, seed: u64, rates: Rates) -> Self {
        let clock = SimClock::default();
        let trace = Trace::new(clock.clone());
        Self {
            world,
            surroundings: Surroundings {
                seed,
                faults: Faults::new(rates, seed, trace.clone()),
                disk: Disk::new(copy(&template.store), trace.clone()),
                environment: SimEnvironment::new(clock.clone(), seed),
                clock,
                trace,
            },
            running: None,
            downtimes: Chance::new(seed, "downtimes"),
            who: "process".into(),
        }
    }

    /// What outlives the processes.
    #[must_use]
    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Who lives in it.
    #[must_use]
    pub fn world(&self) -> &Arc<W> {
        &self.world
    }

    /// What is compared between runs.
    #[must_use]
    pub fn end_state(&self) -> EndState {
        self.world.end_state(&self.surroundings.disk)
    }

    /// Carries out an action, through as many crashes as there are on the way.
    ///
    /// # Errors
    /// When it can't be carried out, or an oracle finds a broken rule.
    pub fn perform(&mut self, action: &Action) -> Result<(), Failure> {
        match action {
            Action::Wish(wish) => {
                let wish = wish.clone();
                self.world.wished();
                self.maybe_jump();
                self.run_on(move |process, _| {
                    let wish = wish.clone();
                    async move { grant(&process, &process.client("user"), &wish).await }.boxed()
                })?;
            }
            Action::Ask(name) => {
                let name = name.clone();
                self.run_on(move |_, world| {
                    world.ask(&name);
                    futures::future::ready(Ok(())).boxed()
                })?;
            }
            Action::Wait(time) => {
                let clock = self.surroundings.clock.clone();
                let until = clock.elapsed() + *time;
                self.run_on(move |_, _| {
                    let left = until.saturating_sub(clock.elapsed());
                    async move {
                        tokio::time::sleep(left).await;
                        Ok(())
                    }
                    .boxed()
                })?;
            }
            Action::Rest => self.run_on(|process, world| rest(process, world).boxed())?,
            Action::Silence(time) => {
                let time = *time;
                self.run_on(move |process, _| silence(process, time).boxed())?;
            }
            Action::Crash => self.stop("crashes"),
            Action::CrashAfterWrites(more) => self.surroundings.disk.crash_after(*more),
            Action::Restart => self.restart()?,
            Action::Once(fault) => self.surroundings.faults.once(*fault),
            Action::Rates(rates) => self.surroundings.faults.set(rates.clone()),
            Action::Jump(by_ms) => self.surroundings.clock.jump(*by_ms),
        }
        Ok(self.world.check()?)
    }

    fn maybe_jump(&self) {
        let Surroundings { clock, faults, .. } = &self.surroundings;
        if faults.strikes_silently(Fault::ClockJump) {
            let chance = faults.chance();
            let by_ms = i64::try_from(chance.below(2 * LONGEST_JUMP_MS)).unwrap_or(0)
                - i64::try_from(LONGEST_JUMP_MS).unwrap_or(0);
            faults.note(Fault::ClockJump, &format!("{by_ms} ms"));
            clock.jump(by_ms);
        }
    }

    /// Runs something on the present process, and again on the next one when a crash interrupts it.
    fn run_on<T>(
        &mut self,
        mut work: impl FnMut(Process, Arc<W>) -> BoxFuture<'static, Result<T, String>>,
    ) -> Result<T, Failure> {
        loop {
            let Some(running) = self.running()? else {
                self.stop("crashes");
                continue;
            };
            let process = running.process.clone();
            let life = process.life().clone();
            let work = work(process, self.world.clone());
            let running = self.running.as_ref().ok_or_else(nothing_runs)?;
            let ended = self
                .surroundings
                .clock
                .run(&running.runtime, until_crash(&life, work));
            match ended {
                Ended::Done(result) => return Ok(result?),
                Ended::Crashed => self.stop("crashes"),
            }
        }
    }

    /// The present process, or a new one; `None` when it crashed while it started.
    fn running(&mut self) -> Result<Option<&Running>, Failure> {
        if self.running.is_none() {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .map_err(|error| Failure(format!("no runtime: {error}")))?;
            let life = Arc::new(Life::default());
            let (surroundings, world) = (self.surroundings.clone(), self.world.clone());
            let boot = async {
                let process = Process::boot(&surroundings, life.clone()).await;
                let process =
                    process.map_err(|error| format!("the API server does not start: {error}"))?;
                world.start(&process).await?;
                Ok::<_, String>(process)
            };
            surroundings.trace.note(&self.who, "starts".into());
            match surroundings.clock.run(&runtime, until_crash(&life, boot)) {
                Ended::Done(process) => {
                    let process = process?;
                    self.running = Some(Running { runtime, process });
                }
                Ended::Crashed => return Ok(None),
            }
        }
        Ok(self.running.as_ref())
    }

    /// Ends the process wherever it stands.
    fn stop(&mut self, how: &str) {
        let clock = &self.surroundings.clock;
        if let Some(running) = self.running.take() {
            running.process.life().end();
        }
        self.world.process_ended();
        self.surroundings.trace.note(&self.who, how.into());
        let downtime = Duration::from_millis(self.downtimes.below(LONGEST_DOWNTIME_MS));
        clock.nobody_for(downtime);
    }

    fn restart(&mut self) -> Result<(), Failure> {
        self.run_on(|process, _| {
            async move {
                process.server().stop();
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(())
            }
            .boxed()
        })?;
        self.stop("is stopped");
        Ok(())
    }
}

impl<W: World> Drop for Simulation<W> {
    fn drop(&mut self) {
        // What tasks do while they are dropped must have no effect.
        if let Some(running) = &self.running {
            running.process.life().end();
        }
    }
}

fn nothing_runs() -> Failure {
    Failure("nothing runs".into())
}

async fn until_crash<T>(life: &Life, work: impl Future<Output = T>) -> Ended<T> {
    tokio::select! {
        biased;
        () = life.ended() => Ended::Crashed,
        done = work => Ended::Done(done),
    }
}

async fn rest<W: World>(process: Process, world: Arc<W>) -> Result<(), String> {
    let disk = &process.surroundings().disk;
    let clock = &process.surroundings().clock;
    let began = clock.elapsed();
    let (mut before, mut quiet) = ((disk.writes(), world.activity()), Duration::ZERO);
    while clock.elapsed() < began + REST_LIMIT {
        tokio::time::sleep(LOOK).await;
        world.check()?;
        let now = (disk.writes(), world.activity());
        quiet = if now == before {
            quiet + LOOK
        } else {
            Duration::ZERO
        };
        before = now;
        if quiet >= world.patience() + clock.behind() {
            return world.at_rest();
        }
    }
    Err(format!(
        "it does not come to rest; the last write: {}",
        disk.last_write()
    ))
}

async fn silence(process: Process, time: Duration) -> Result<(), String> {
    let disk = &process.surroundings().disk;
    let before = disk.writes();
    tokio::time::sleep(time).await;
    if disk.writes() == before {
        Ok(())
    } else {
        Err(format!(
            "{} writes though it was at rest; the last: {}",
            disk.writes() - before,
            disk.last_write()
        ))
    }
}
