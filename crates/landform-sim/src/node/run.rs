//! Runs a random scenario twice, with faults and without, and compares.

use std::sync::Arc;
use std::time::Duration;

use super::{NodeWorld, Plan};
use crate::chance::Chance;
use crate::end_state::{EndState, differences};
use crate::fault::Rates;
use crate::report::Report;
use crate::simulation::{Action, Failure, Simulation, Template};

/// Runs one seed: the undisturbed scenario, then the same with faults.
#[must_use]
pub fn run(template: &Template, seed: u64) -> Report {
    let plan = Plan::random(seed);
    let (calm, end) = go_through(template, seed, &plan, Rates::none());
    let end = match end {
        Ok(end) if calm.result.is_ok() => end,
        Ok(_) | Err(_) => return calm,
    };
    let rates = Rates::random(&Chance::new(seed, "rates"));
    let (mut disturbed, found) = go_through(template, seed, &plan, rates);
    if let Ok(found) = found {
        let differences = differences(&end, &found);
        if !differences.is_empty() {
            let what = format!(
                "it does not end as the undisturbed run does:\n  {}",
                differences.join("\n  ")
            );
            disturbed.result = Err(Failure(what));
        }
    }
    disturbed
}

fn go_through(
    template: &Template,
    seed: u64,
    plan: &Plan,
    rates: Rates,
) -> (Report, Result<EndState, Failure>) {
    let world = Arc::new(NodeWorld::new());
    let calm = rates == Rates::none();
    let mut simulation = Simulation::new(world, template, seed, rates);
    let end = to_the_end(&mut simulation, plan, calm).map(|()| simulation.end_state());
    let result = end.clone().map(drop);
    let report = Report::of(seed, result, simulation.surroundings());
    (report, end)
}

fn to_the_end(
    simulation: &mut Simulation<NodeWorld>,
    plan: &Plan,
    calm: bool,
) -> Result<(), Failure> {
    for action in &plan.actions {
        simulation.perform(action)?;
    }
    simulation.perform(&Action::Rates(Rates::none()))?;
    simulation.perform(&Action::Rest)?;
    let (world, disk) = (
        simulation.world().clone(),
        simulation.surroundings().disk.clone(),
    );
    world.judge_nodes(&disk, &plan.wanted)?;
    if calm {
        // The disturbed run goes on from here; what is calm twice is calm.
        return Ok(world.judge_maps(&disk, &plan.wanted)?);
    }
    // Orphans whose owner went before they came are found by the next process.
    simulation.perform(&Action::Restart)?;
    simulation.perform(&Action::Rest)?;
    world.judge_nodes(&disk, &plan.wanted)?;
    world.judge_maps(&disk, &plan.wanted)?;
    // Longer than any pause after a failure, and several times as long as a watch lasts.
    simulation.perform(&Action::Silence(Duration::from_secs(15 * 60)))
}
