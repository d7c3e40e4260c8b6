//! Chance that repeats itself: everything random in a simulation comes from one seed.
//!
//! Each user of chance has a stream of its own, named in words, so that one that draws more often
//! doesn't change what the others draw.

use std::sync::Arc;

use parking_lot::Mutex;

/// A stream of numbers, the same for the same seed and name.
#[derive(Clone, Debug)]
pub struct Chance {
    stream: Arc<Mutex<u64>>,
}

/// Chances are given as so many of this.
pub const CERTAIN: u32 = 10_000;

impl Chance {
    /// The stream of this name.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        // FNV-1a of the name, so that streams differ; the generator mixes the rest.
        let mut state = 0xcbf2_9ce4_8422_2325_u64;
        for byte in name.bytes().chain(seed.to_le_bytes()) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Self {
            stream: Arc::new(Mutex::new(state)),
        }
    }

    /// The next number (SplitMix64).
    #[must_use]
    pub fn number(&self) -> u64 {
        let mut state = self.stream.lock();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit; zero when the limit is zero.
    #[must_use]
    pub fn below(&self, limit: u64) -> u64 {
        // The bias is far below anything that a simulation could notice.
        self.number().checked_rem(limit).unwrap_or(0)
    }

    /// An index of a list that isn't empty.
    #[must_use]
    pub fn index(&self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// Whether something with this chance, of [`CERTAIN`], happens.
    #[must_use]
    pub fn happens(&self, chance: u32) -> bool {
        self.below(u64::from(CERTAIN)) < u64::from(chance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seed: u64, name: &str) -> Vec<u64> {
        let chance = Chance::new(seed, name);
        (0..4).map(|_| chance.number()).collect()
    }

    #[test]
    fn streams_repeat_and_differ_by_seed_and_name() {
        assert_eq!(first(7, "network"), first(7, "network"));
        assert_ne!(first(7, "network"), first(8, "network"));
        assert_ne!(first(7, "network"), first(7, "user"));
    }

    #[test]
    fn a_chance_happens_about_as_often_as_it_says() {
        let chance = Chance::new(1, "coin");
        let heads = (0..10_000).filter(|_| chance.happens(CERTAIN / 4)).count();
        assert!((2_300..2_700).contains(&heads), "{heads}");
        assert!(!chance.happens(0));
        assert!(chance.happens(CERTAIN));
    }
}
