//! Turns: a write that lost to others several times writes next (C4).
//!
//! Writes of one key don't wait for each other: each reads, computes and commits if nothing was written in
//! between, and tries again otherwise. One that has lost [`PATIENCE`] times opens a queue for its key. From then on
//! every write of that key takes its place in the queue, so that the first one competes only with writes that
//! were under way before: at most as many as the server lets in. So every write ends, and a key that few
//! write costs one look at an empty table.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use landform_store::Key;
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

/// A write competes this many times before it opens a queue.
pub(super) const PATIENCE: usize = 3;

type Line = Arc<tokio::sync::Mutex<()>>;

/// The keys that have a queue.
#[derive(Default)]
pub(crate) struct Turns {
    lines: Mutex<HashMap<Key, Line>>,
    /// How many there are, so that a write needn't lock the table to find it empty.
    count: AtomicUsize,
}

/// One write's way to its turn. Its turn ends when this is dropped.
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    key: Key,
    losses: usize,
    /// Whether it waits in the queue, or has its turn.
    queued: bool,
    held: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    /// Begins a write that takes its place in the queue of its key from the start.
    pub(crate) async fn take(&self, key: &Key) -> Turn<'_> {
        let mut turn = self.begin(key).await;
        turn.queue().await;
        turn
    }

    /// Begins a write: at once, or when those in the queue of its key are done.
    pub(crate) async fn begin(&self, key: &Key) -> Turn<'_> {
        let mut turn = Turn {
            turns: self,
            key: key.clone(),
            losses: 0,
            queued: false,
            held: None,
        };
        if self.count.load(Ordering::Acquire) > 0 {
            let line = self.lines.lock().get(key).cloned();
            if let Some(line) = line {
                turn.queued = true;
                turn.held = Some(line.lock_owned().await);
            }
        }
        turn
    }
}

impl Turn<'_> {
    /// Another write was faster; resolves when it is time to try again.
    pub(crate) async fn lost(&mut self) {
        self.losses += 1;
        if self.losses >= PATIENCE {
            self.queue().await;
        }
    }

    async fn queue(&mut self) {
        if self.queued {
            return;
        }
        self.queued = true;
        let line = {
            let mut lines = self.turns.lines.lock();
            let line = lines.entry(self.key.clone()).or_default().clone();
            self.turns.count.store(lines.len(), Ordering::Release);
            line
        };
        self.held = Some(line.lock_owned().await);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.queued {
            return;
        }
        self.held = None;
        let mut lines = self.turns.lines.lock();
        // Only the table knows it: no write waits for it, or has it.
        if lines
            .get(&self.key)
            .is_some_and(|line| Arc::strong_count(line) == 1)
        {
            lines.remove(&self.key);
            self.turns.count.store(lines.len(), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use landform_store::Bucket;

    use super::*;

    fn key(name: &str) -> Key {
        Key::new(&Bucket::new("configmaps"), name)
    }

    #[tokio::test]
    async fn c4_a_write_that_lost_often_has_its_turn_before_later_ones() {
        let (turns, contended) = (Turns::default(), key("a"));
        let mut loser = turns.begin(&contended).await;
        for _ in 0..PATIENCE {
            assert!(turns.begin(&contended).now_or_never().is_some());
            loser.lost().await;
        }
        assert!(
            turns.begin(&key("b")).now_or_never().is_some(),
            "another key"
        );
        let mut next = Box::pin(turns.begin(&contended));
        let mut last = Box::pin(turns.begin(&contended));
        assert!((&mut next).now_or_never().is_none());
        assert!((&mut last).now_or_never().is_none());
        drop(loser);
        let next = (&mut next).now_or_never().expect("its turn");
        assert!((&mut last).now_or_never().is_none(), "in their order");
        drop(next);
        drop((&mut last).now_or_never().expect("its turn"));
        assert!(turns.lines.lock().is_empty());
        assert_eq!(turns.count.load(Ordering::Acquire), 0);
    }

    #[tokio::test]
    async fn c4_a_write_that_is_given_up_leaves_no_queue_behind() {
        let (turns, contended) = (Turns::default(), key("a"));
        let mut first = turns.begin(&contended).await;
        for _ in 0..PATIENCE {
            first.lost().await;
        }
        let mut second = turns.begin(&key("b")).await;
        second.lost().await;
        let mut waiting = Box::pin(turns.begin(&contended));
        assert!((&mut waiting).now_or_never().is_none());
        drop((first, second));
        drop(waiting);
        assert!(turns.lines.lock().is_empty());
    }
}
