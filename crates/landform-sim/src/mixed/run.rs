//! Runs a random scenario, without faults or with them.

use std::sync::Arc;
use std::time::Duration;

use super::{MixedWorld, Plan};
use crate::chance::{CERTAIN, Chance};
use crate::fault::{Fault, Rates};
use crate::report::Report;
use crate::simulation::{Action, Failure, Simulation, Template};

/// Runs one seed. An even one is a calm day, which is held to far narrower bounds; on others everything goes wrong.
#[must_use]
pub fn run(template: &Template, seed: u64) -> Report {
    let calm = seed.is_multiple_of(2);
    let rates = if calm {
        // Even on a good day a commit takes its time, and others write meanwhile.
        Rates::none().with(Fault::SlowCommit, CERTAIN / 2)
    } else {
        Rates::random(&Chance::new(seed, "rates"))
    };
    let plan = Plan::random(seed);
    let world = Arc::new(MixedWorld::new(calm));
    let mut simulation = Simulation::new(world, template, seed, rates);
    let result = to_the_end(&mut simulation, &plan, calm);
    Report::of(seed, result, simulation.surroundings())
}

fn to_the_end(
    simulation: &mut Simulation<MixedWorld>,
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
    world.judge(&disk, plan)?;
    if calm {
        return Ok(());
    }
    simulation.perform(&Action::Restart)?;
    simulation.perform(&Action::Rest)?;
    world.judge(&disk, plan)?;
    simulation.perform(&Action::Silence(Duration::from_secs(15 * 60)))
}
