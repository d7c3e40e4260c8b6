//! Running many seeds, and telling about the first that fails.

use landform_sim::report::Report;

/// How many seeds a test runs: so many, or what `LANDFORM_SIM_SEEDS` says.
pub(crate) fn count(usual: u64) -> u64 {
    let asked = std::env::var("LANDFORM_SIM_SEEDS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Runs seeds and panics with the trace of the first that fails.
pub(crate) fn all_hold(usual: u64, run: impl Fn(u64) -> Report) {
    for seed in 0..count(usual) {
        let report = run(seed);
        if let Err(failure) = report.result {
            panic!("{}\nseed {seed}: {failure}", report.trace.text());
        }
    }
}

/// Runs seeds that have failed once.
pub(crate) fn these_hold(seeds: &[u64], run: impl Fn(u64) -> Report) {
    for seed in seeds {
        let report = run(*seed);
        if let Err(failure) = report.result {
            panic!("{}\nseed {seed}: {failure}", report.trace.text());
        }
    }
}

/// Runs seeds twice: the traces must not differ in a byte.
pub(crate) fn all_repeat(usual: u64, run: impl Fn(u64) -> Report) {
    for seed in 0..count(usual) {
        let (first, second) = (run(seed).trace.text(), run(seed).trace.text());
        if let Some((at, (one, other))) = first
            .lines()
            .zip(second.lines())
            .enumerate()
            .find(|(_, (one, other))| one != other)
        {
            let before = first
                .lines()
                .skip(at.saturating_sub(12))
                .take(12)
                .collect::<Vec<_>>()
                .join("\n");
            panic!("{before}\nseed {seed} differs in line {at}:\n{one}\n{other}");
        }
        assert_eq!(first.len(), second.len(), "seed {seed}");
    }
}
