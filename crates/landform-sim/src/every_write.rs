//! Crash at every write: whatever a controller does, a crash after any single write must not show in the end.
//!
//! The story is run once, undisturbed, to count its writes and to see how it ends. Then it is run once
//! for each write, with a crash right after it: the write is durable, nobody hears of it, and a new process
//! starts on what is stored. Every run must end in the same state, and then write nothing more.

use std::sync::Arc;
use std::time::Duration;

use crate::end_state::{EndState, differences};
use crate::fault::Rates;
use crate::simulation::{Action, Failure, Simulation, Template, World};

/// When all is done, nothing more is written for so long: three times the longest pause before a retry.
const SILENCE: Duration = Duration::from_secs(900);
/// With this variable at n only every n-th write is followed by a crash, beginning with the first: the short
/// version for every day. `cargo xtask sim --stories` crashes after each.
const STRIDE: &str = "LANDFORM_SIM_EVERY";

/// Runs a story with a crash after each of its writes. Returns how many there were.
///
/// `world` makes the controllers anew for each run; what they keep outside of the cluster must be part
/// of [`World::end_state`]. Users in the story do what is left to do after a crash by themselves.
///
/// # Errors
/// When the undisturbed story fails, or a crash changes how it ends. The text names the write.
pub fn crash_at_every_write<W: World>(
    template: &Template,
    world: impl Fn() -> W,
    story: &[Action],
) -> Result<u64, Failure> {
    crash_after_each(template, world, story, 1)
}

/// The same for long stories: with a crash after every write, or only some of them in the short version for
/// every day (the variable `LANDFORM_SIM_EVERY`).
///
/// # Errors
/// As [`crash_at_every_write`].
pub fn crash_at_writes<W: World>(
    template: &Template,
    world: impl Fn() -> W,
    story: &[Action],
) -> Result<u64, Failure> {
    crash_after_each(template, world, story, stride())
}

fn crash_after_each<W: World>(
    template: &Template,
    world: impl Fn() -> W,
    story: &[Action],
    every: usize,
) -> Result<u64, Failure> {
    let (expected, calm) = tell(template, world(), story, None);
    let expected = expected.map_err(|failure| {
        let trace = calm.surroundings().trace.text();
        Failure(format!("{trace}\nthe undisturbed story fails: {failure}"))
    })?;
    let writes = calm.surroundings().disk.writes();
    for write in (1..=writes).step_by(every) {
        let (found, simulation) = tell(template, world(), story, Some(write));
        let problem = match found {
            Err(failure) => failure.to_string(),
            Ok(found) => differences(&expected, &found).join("\n  "),
        };
        if !problem.is_empty() {
            let disk = &simulation.surroundings().disk;
            let what = disk.crashed_on().unwrap_or_default();
            let trace = simulation.surroundings().trace.text();
            return Err(Failure(format!(
                "{trace}\na crash after write {write} of {writes} ({what}) changes the end:\n  {problem}"
            )));
        }
    }
    Ok(writes)
}

fn stride() -> usize {
    let given = std::env::var(STRIDE).ok();
    let given = given.and_then(|text| text.parse().ok());
    given.unwrap_or(1).max(1)
}

fn tell<W: World>(
    template: &Template,
    world: W,
    story: &[Action],
    crash_after: Option<u64>,
) -> (Result<EndState, Failure>, Simulation<W>) {
    let mut simulation = Simulation::new(Arc::new(world), template, 0, Rates::none());
    if let Some(write) = crash_after {
        simulation.surroundings().disk.crash_after(write);
    }
    let end = [Action::Rest, Action::Silence(SILENCE)];
    let mut actions = story.iter().chain(&end);
    let done = actions.try_for_each(|action| simulation.perform(action));
    let done = done.map(|()| simulation.end_state());
    (done, simulation)
}
