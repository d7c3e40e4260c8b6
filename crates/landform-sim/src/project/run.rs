//! Runs a random scenario, without faults or with them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::directory::Directory;
use super::oracle::{CALM_RUN, DISTURBED_RUN, Oracle};
use super::plan::{self, Step, THEIRS};
use super::{ProjectWorld, manifest};
use crate::chance::{CERTAIN, Chance};
use crate::fault::{Fault, Rates};
use crate::report::Report;
use crate::simulation::{Action, Failure, Simulation, Template};
use crate::user::Wish;

/// Consent is asked for at most this often: deletions that were agreed to may be asked for again after a crash.
const CONSENTS: usize = 5;

/// A start reads all kinds, in some sixty requests: with more failures than these it would never come to an end.
const READS_FAIL: u64 = 150;
/// What goes wrong goes on for this long after the last edit.
const TROUBLED: Duration = Duration::from_secs(20);

/// Runs one seed. An even one is a calm day, with people and crashes only; on others everything goes wrong.
#[must_use]
pub fn run(template: &Template, seed: u64) -> Report {
    let calm = seed.is_multiple_of(2);
    let rates = if calm {
        Rates::none().with(Fault::SlowCommit, CERTAIN / 2)
    } else {
        // The grace is one of the time of day.
        let chance = Chance::new(seed, "rates");
        let reads = u32::try_from(chance.below(READS_FAIL)).unwrap_or(0);
        Rates::random(&chance)
            .with(Fault::ClockJump, 0)
            .with(Fault::FailedRead, reads)
    };
    let world = Arc::new(ProjectWorld::new(Directory::default()));
    let simulation = Simulation::new(world, template, seed, rates.clone());
    let oracle = Oracle::new(
        &simulation.surroundings().disk,
        if calm { CALM_RUN } else { DISTURBED_RUN },
    );
    let mut scenario = Scenario {
        simulation,
        oracle,
        rates,
    };
    let result = scenario.go_through(&plan::random(seed));
    Report::of(seed, result, scenario.simulation.surroundings())
}

struct Scenario {
    simulation: Simulation<ProjectWorld>,
    oracle: Oracle,
    rates: Rates,
}

impl Scenario {
    fn go_through(&mut self, steps: &[Step]) -> Result<(), Failure> {
        let begun = self.simulation.world().directory().begin();
        begun.map_err(|error| Failure(format!("no directory: {error}")))?;
        for step in steps {
            self.take(step)?;
        }
        self.settle()?;
        // A restart finds nothing to do.
        self.act(&Action::Restart)?;
        self.settle()?;
        self.act(&Action::Rates(Rates::none()))?;
        self.act(&Action::Silence(Duration::from_secs(10 * 60)))
    }

    fn now(&self) -> Duration {
        self.simulation.surroundings().clock.elapsed()
    }

    fn act(&mut self, action: &Action) -> Result<(), Failure> {
        self.simulation.perform(action)?;
        Ok(self.oracle.follow(self.now())?)
    }

    fn take(&mut self, step: &Step) -> Result<(), Failure> {
        let disk = self.simulation.surroundings().disk.clone();
        match step {
            Step::Edit(touches, said) => {
                let directory = self.simulation.world().directory().clone();
                for touch in touches {
                    let what = format!("{touch:?}");
                    self.simulation
                        .surroundings()
                        .trace
                        .note(&"editor".into(), what);
                    let touched = directory.touch(touch);
                    touched.map_err(|error| Failure(format!("{touch:?}: {error}")))?;
                }
                self.oracle.files_say(said.clone(), self.now());
            }
            Step::Act(action) => self.act(action)?,
            Step::Write(who, wish) => {
                let theirs = match wish {
                    Wish::Applied(object) => object["metadata"]["annotations"][THEIRS].as_str(),
                    _ => None,
                };
                self.oracle.others_write(*who, theirs.map(str::to_owned));
                self.act(&Action::Wish(wish.clone()))?;
            }
            Step::Delete(who, wish) => {
                self.oracle.others_delete(*who);
                self.act(&Action::Wish(wish.clone()))?;
            }
            Step::Foreign(wish, place) => {
                self.act(&Action::Wish(wish.clone()))?;
                self.oracle.foreign(place.clone(), &disk);
            }
            Step::Settle => self.settle()?,
            Step::End(wish) => {
                self.oracle.ends();
                self.act(&Action::Wish(wish.clone()))?;
            }
        }
        Ok(())
    }

    /// Waits until nothing happens any more, agrees to what is asked for, and judges.
    fn settle(&mut self) -> Result<(), Failure> {
        let disk = self.simulation.surroundings().disk.clone();
        self.act(&Action::Wait(TROUBLED))?;
        self.act(&Action::Rates(Rates::none()))?;
        self.act(&Action::Rest)?;
        for _ in 0..CONSENTS {
            let Some(token) = self.oracle.asks_for(&disk)? else {
                break;
            };
            let mut project = manifest();
            project["metadata"]["annotations"] = json!({"landform.dev/approved-deletions": token});
            self.oracle.people_agree();
            self.act(&Action::Wish(Wish::Applied(project)))?;
            self.act(&Action::Rest)?;
        }
        self.oracle.judge(&disk, self.now())?;
        self.act(&Action::Rates(self.rates.clone()))
    }
}
