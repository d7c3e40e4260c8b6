//! The simulated time.
//!
//! Two clocks, as in reality. *Elapsed* time is tokio's, paused: it moves on by itself, to the next timer,
//! when no task can go on, so an idle hour costs nothing. The *time of day* is elapsed time with a
//! skew that faults may change. Both go on when a process crashes and the next one starts.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use time::OffsetDateTime;
use tokio::runtime::Runtime;
use tokio::time::Instant;

/// When every simulation begins, in milliseconds since 1970: noon of the first day of 2030.
const BEGIN_MS: i64 = 1_893_499_200_000;

/// The clocks of one simulation.
#[derive(Clone, Debug, Default)]
pub struct SimClock {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// What elapsed before the runtime that runs now began, or went on.
    before: Duration,
    /// When it did, by tokio's clock.
    began: Option<Instant>,
    skew_ms: i64,
    /// The farthest that the time of day ever was ahead.
    farthest_ms: i64,
}

impl Inner {
    fn elapsed(&self) -> Duration {
        self.before + self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }
}

impl SimClock {
    /// The time since the simulation began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.inner.lock().elapsed()
    }

    /// The time of day, in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        let inner = self.inner.lock();
        let elapsed = i64::try_from(inner.elapsed().as_millis()).unwrap_or(i64::MAX);
        BEGIN_MS
            .saturating_add(elapsed)
            .saturating_add(inner.skew_ms)
    }

    /// The time of day.
    #[must_use]
    pub fn now(&self) -> OffsetDateTime {
        let nanoseconds = i128::from(self.now_ms()) * 1_000_000;
        OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    /// Sets the time of day forward, or back.
    pub fn jump(&self, by_ms: i64) {
        let mut inner = self.inner.lock();
        inner.skew_ms += by_ms;
        inner.farthest_ms = inner.farthest_ms.max(inner.skew_ms);
    }

    /// Takes all jumps back.
    pub fn correct(&self) {
        self.inner.lock().skew_ms = 0;
    }

    /// How much longer than usual something may take that waits for a time of day: the clock was set back so far.
    #[must_use]
    pub fn behind(&self) -> Duration {
        let inner = self.inner.lock();
        let behind = inner.farthest_ms.saturating_sub(inner.skew_ms);
        Duration::from_millis(u64::try_from(behind).unwrap_or(0))
    }

    /// Time passes while no process runs.
    pub(crate) fn nobody_for(&self, time: Duration) {
        self.inner.lock().before += time;
    }

    /// Runs something on a runtime whose time is this clock's meanwhile. Outside of it time stands still:
    /// tokio's clock would tell the machine's time there.
    pub(crate) fn run<T>(&self, runtime: &Runtime, work: impl Future<Output = T>) -> T {
        runtime.block_on(async {
            self.inner.lock().began = Some(Instant::now());
            let done = work.await;
            let mut inner = self.inner.lock();
            inner.before = inner.elapsed();
            inner.began = None;
            done
        })
    }
}
