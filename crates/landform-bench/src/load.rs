//! Load: so many tasks that each do one thing after the other, and what that costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::Outcome;
use crate::process::{cpu, own_cpu};

/// How a load ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Finished operations in a second.
    pub(crate) rate: f64,
    /// CPU time of the measured process for each operation, in microseconds.
    pub(crate) server_cpu_us: f64,
    /// CPU time of the client for each operation, in microseconds.
    pub(crate) client_cpu_us: f64,
    /// The time that one operation took, in microseconds: the middle one, and the 99th of 100.
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

/// When a load ends.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// After this time.
    Time(Duration),
    /// After so many operations.
    Count(u64),
}

/// Numbers for names, so that no two operations use the same.
pub(crate) type Numbers = Arc<AtomicU64>;

/// Runs an operation again and again in so many tasks. It gets the number of its task (to choose
/// a connection by) and a number of its own (to choose a name by).
pub(crate) async fn drive<F, T>(
    process: u32,
    concurrency: usize,
    until: Until,
    numbers: &Numbers,
    operation: F,
) -> Outcome<Load>
where
    F: Fn(usize) -> T,
    T: Operation,
{
    let first = numbers.load(Ordering::Relaxed);
    let (server_before, client_before) = (cpu(process)?, own_cpu()?);
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for task in 0..concurrency {
        let mut operation = operation(task);
        let numbers = numbers.clone();
        tasks.spawn(async move {
            let mut times = Vec::new();
            loop {
                let begun = Instant::now();
                let number = numbers.fetch_add(1, Ordering::Relaxed);
                let over = match until {
                    Until::Time(time) => begun - started >= time,
                    Until::Count(count) => number - first >= count,
                };
                if over {
                    return Ok::<_, crate::AnyError>(times);
                }
                operation.run(number).await?;
                times.push(begun.elapsed());
            }
        });
    }
    let mut times = Vec::new();
    while let Some(finished) = tasks.join_next().await {
        times.append(&mut finished??);
    }
    let elapsed = started.elapsed();
    let count = times.len().max(1) as f64;
    let each = |before: Duration, after: Duration| (after - before).as_secs_f64() * 1e6 / count;
    times.sort_unstable();
    Ok(Load {
        rate: count / elapsed.as_secs_f64(),
        server_cpu_us: each(server_before, cpu(process)?),
        client_cpu_us: each(client_before, own_cpu()?),
        p50_us: percentile(&times, 50) * 1e6,
        p99_us: percentile(&times, 99) * 1e6,
    })
}

/// An operation that a task repeats.
pub(crate) trait Operation: Send + 'static {
    /// Does it once.
    fn run(&mut self, number: u64) -> impl Future<Output = Outcome> + Send;
}

/// A percentile of sorted times, in seconds.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(0.0, Duration::as_secs_f64)
}

/// The middle one of some figures.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}

/// The load whose rate is the middle one.
pub(crate) fn median_load(mut loads: Vec<Load>) -> Option<Load> {
    loads.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    loads.get(loads.len() / 2).copied()
}
