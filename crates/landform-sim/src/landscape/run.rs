//! Runs a random scenario with faults, and compares its end with that of a fresh landscape of the same specs.

use std::sync::Arc;
use std::time::Duration;

use super::{LandscapeWorld, Plan};
use crate::chance::Chance;
use crate::end_state::{EndState, differences};
use crate::fault::{Fault, Rates};
use crate::report::Report;
use crate::simulation::{Action, Failure, Simulation, Template};

/// Runs one seed: what is wanted in the end, on an empty disk; all the changes without faults; and with.
#[must_use]
pub fn run(template: &Template, seed: u64) -> Report {
    run_plan(template, seed, &Plan::random(seed), |world| world)
}

/// The same for a landscape whose numbers tell where they come from: no item is ever deployed with a mix of versions.
#[must_use]
pub fn run_woven(template: &Template, seed: u64) -> Report {
    let plan = super::weave::plan(seed);
    run_plan(template, seed, &plan, LandscapeWorld::without_mixes)
}

fn run_plan(
    template: &Template,
    seed: u64,
    plan: &Plan,
    watched: fn(LandscapeWorld) -> LandscapeWorld,
) -> Report {
    let fresh = watched(LandscapeWorld::new());
    let (straight, end) = go_through(template, seed, fresh, &plan.straight(), Rates::none());
    let Ok(end) = end else {
        return straight;
    };
    let undisturbed = watched(LandscapeWorld::new());
    let (calm, found) = go_through(template, seed, undisturbed, &plan.actions, Rates::none());
    let calm = judged(calm, found, &end, "a fresh landscape");
    if calm.result.is_err() {
        return calm;
    }
    // Clocks that jump let timeouts end that have not been waited for: that is another end.
    let rates = Rates::random(&Chance::new(seed, "rates")).with(Fault::ClockJump, 0);
    let world = watched(LandscapeWorld::lagging());
    let (disturbed, found) = go_through(template, seed, world, &plan.actions, rates);
    judged(disturbed, found, &end, "a fresh landscape without faults")
}

fn judged(
    mut report: Report,
    found: Result<EndState, Failure>,
    end: &EndState,
    what: &str,
) -> Report {
    if let Ok(found) = found {
        let differences = differences(end, &found);
        if !differences.is_empty() {
            let what = format!(
                "it does not end as {what} does:\n  {}",
                differences.join("\n  ")
            );
            report.result = Err(Failure(what));
        }
    }
    report
}

fn go_through(
    template: &Template,
    seed: u64,
    world: LandscapeWorld,
    actions: &[Action],
    rates: Rates,
) -> (Report, Result<EndState, Failure>) {
    let mut simulation = Simulation::new(Arc::new(world), template, seed, rates);
    let end = to_the_end(&mut simulation, actions).map(|()| simulation.end_state());
    let result = end.clone().map(drop);
    let report = Report::of(seed, result, simulation.surroundings());
    (report, end)
}

fn to_the_end(
    simulation: &mut Simulation<LandscapeWorld>,
    actions: &[Action],
) -> Result<(), Failure> {
    for action in actions {
        simulation.perform(action)?;
    }
    for action in [
        Action::Rates(Rates::none()),
        Action::Rest,
        // A restart must find nothing to do: nothing was left to be repaired by one.
        Action::Restart,
        Action::Rest,
        Action::Silence(Duration::from_secs(30 * 60)),
    ] {
        simulation.perform(&action)?;
    }
    Ok(())
}
