//! How long a failed run waits (R12): doubling, capped, with jitter that a seed decides.

/// The pause after the first failure, before jitter.
const FIRST_MS: u64 = 1_000;
/// The longest pause.
pub const LONGEST_MS: u64 = 5 * 60 * 1_000;

/// The pause after so many failures one after the other: between half of the full pause and all of it,
/// so that objects that failed together don't come back together.
pub(crate) fn pause_ms(seed: u64, salt: u64, failures: u32) -> u64 {
    let doublings = failures.saturating_sub(1).min(32);
    let full = FIRST_MS.saturating_mul(1 << doublings).min(LONGEST_MS);
    full / 2 + scramble(seed ^ scramble(salt)) % (full / 2 + 1)
}

/// The finalizer of splitmix64: neighbouring numbers become unrelated ones.
fn scramble(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_MS, pause_ms};

    #[test]
    fn r12_pauses_double_up_to_the_cap() {
        let table = [(1, 1_000), (2, 2_000), (5, 16_000), (9, 256_000)];
        for (failures, full) in table {
            for salt in 0..1_000 {
                let pause = pause_ms(7, salt, failures);
                assert!((full / 2..=full).contains(&pause), "{failures}: {pause}");
            }
        }
        for failures in [10, 20, 33, u32::MAX] {
            assert!((LONGEST_MS / 2..=LONGEST_MS).contains(&pause_ms(7, 7, failures)));
        }
    }

    #[test]
    fn r12_pauses_differ_between_runs_and_repeat_with_the_seed() {
        let pauses = |seed| -> Vec<u64> { (0..50).map(|run| pause_ms(seed, run, 5)).collect() };
        let distinct: std::collections::BTreeSet<_> = pauses(1).into_iter().collect();
        assert!(distinct.len() > 45);
        assert_eq!(pauses(1), pauses(1));
        assert_ne!(pauses(1), pauses(2));
    }
}
