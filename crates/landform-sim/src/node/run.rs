//! Runs a random scenario with faults, and compares its end with what users asked for.

use std::sync::Arc;
use std::time::Duration;

use super::{NodeWorld, Plan};
use crate::chance::{CERTAIN, Chance};
use crate::end_state::differences;
use crate::fault::{Fault, Rates};
use crate::report::Report;
use crate::simulation::{Action, Failure, Simulation, Template};

/// One seed of this many has a network without faults, and is held to narrower bounds.
const CALM_SEEDS: u64 = 3;

/// Runs one seed.
#[must_use]
pub fn run(template: &Template, seed: u64) -> Report {
    let calm = seed.is_multiple_of(CALM_SEEDS);
    let (world, rates) = if calm {
        // The network is in order; runs and commits take their time.
        let rates = Rates::none().with(Fault::SlowCommit, CERTAIN / 2);
        (NodeWorld::calm(), rates.with(Fault::SlowRun, CERTAIN / 4))
    } else {
        let rates = Rates::random(&Chance::new(seed, "rates"));
        (NodeWorld::new(), rates)
    };
    let mut simulation = Simulation::new(Arc::new(world), template, seed, rates);
    let result = to_the_end(&mut simulation, &Plan::random(seed));
    Report::of(seed, result, simulation.surroundings())
}

fn to_the_end(simulation: &mut Simulation<NodeWorld>, plan: &Plan) -> Result<(), Failure> {
    let before = simulation.end_state();
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
    // Orphans whose owner went before they came are found by the next process.
    simulation.perform(&Action::Restart)?;
    simulation.perform(&Action::Rest)?;
    world.judge_nodes(&disk, &plan.wanted)?;
    // All that is stored, to the last field: what was there before, and what the plan wants.
    let mut expected = before;
    expected.extend(super::expected(&plan.wanted));
    let differences = differences(&expected, &simulation.end_state());
    if !differences.is_empty() {
        let lines = differences.join("\n  ");
        return Err(Failure(format!("it does not end as it should:\n  {lines}")));
    }
    // Longer than any pause after a failure, and several times as long as a watch lasts.
    simulation.perform(&Action::Silence(Duration::from_secs(15 * 60)))
}
