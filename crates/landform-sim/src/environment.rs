//! The API server's world: simulated time, uids and chance from the seed.

use landform_apiserver::environment::Environment;
use time::OffsetDateTime;

use crate::chance::Chance;
use crate::clock::SimClock;

/// Time and chance of one simulation. It outlives the processes, so no uid comes twice.
#[derive(Clone, Debug)]
pub struct SimEnvironment {
    clock: SimClock,
    chance: Chance,
}

impl SimEnvironment {
    /// With a stream of chance of its own.
    #[must_use]
    pub fn new(clock: SimClock, seed: u64) -> Self {
        Self {
            clock,
            chance: Chance::new(seed, "server"),
        }
    }
}

impl Environment for SimEnvironment {
    fn now(&self) -> OffsetDateTime {
        self.clock.now()
    }

    fn uid(&self) -> String {
        let (high, low) = (self.chance.number(), self.chance.number());
        format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            low >> 52,
            low & 0xffff_ffff_ffff
        )
    }

    fn random(&self) -> u64 {
        self.chance.number()
    }
}
