//! The one writer: gathers transactions, writes them as a batch, then tells everybody.
//!
//! 1. Take what is queued; while a batch syncs, the next one gathers.
//! 2. Apply each transaction in order to a private copy of the state.
//! 3. Write all events in one transaction of the journal, synced.
//! 4. Publish the state, wake the watchers, acknowledge. If 3 failed, the copy is dropped, and
//!    everyone in the batch gets the error: nobody saw anything of it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use super::checkpoint::{Checkpointer, Doubt};
use super::clean::Clean;
use super::directory::{Directory, Witness};
use super::journal::{Failure, Journal, is_full};
use crate::feed::Feed;
use crate::history::History;
use crate::state::{State, Verdict};
use crate::{Error, Event, Op, Revision, Txn, TxnOutcome};

/// A batch ends at so many transactions, or so many bytes of values.
const BATCH_TXNS: usize = 1024;
const BATCH_BYTES: usize = 8 << 20;

/// A disk that was full has room again when this many bytes fit.
const PROBE_BYTES: usize = 1 << 20;

/// So long the writer waits for the rest of a batch, in naps of so long (and a timer's slack).
const MOST_PATIENCE: Duration = Duration::from_millis(1);
const NAP: Duration = Duration::from_micros(50);

/// What the writer is asked to do.
pub(crate) enum Request {
    Commit {
        txn: Txn,
        reply: oneshot::Sender<Result<TxnOutcome, Error>>,
    },
    Compact {
        before: Revision,
        reply: oneshot::Sender<Result<(), Error>>,
    },
    /// Look whether the journal should be written anew; answered when that is done.
    Tend {
        reply: Option<oneshot::Sender<Result<(), Error>>>,
    },
    /// Write what was asked for before this, then end.
    Close {
        reply: oneshot::Sender<Result<(), Error>>,
    },
}

/// Everything that only the writer's thread touches.
pub(crate) struct Writer {
    pub(crate) feed: Arc<Feed>,
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) history: History,
    pub(crate) pace: Pace,
    pub(crate) clean: Clean,
    pub(crate) witness: Witness,
    pub(crate) doubt: Doubt,
    pub(crate) full: FullDisk,
    pub(crate) checkpointer: Checkpointer,
    pub(crate) journal: Journal,
    pub(crate) directory: Directory,
}

/// A transaction that waits for its batch.
type Waiting = (Txn, oneshot::Sender<Result<TxnOutcome, Error>>);

/// A compaction that is under way, step by step.
type Compaction = (Revision, oneshot::Sender<Result<(), Error>>);

/// What was taken from the queue together.
#[derive(Default)]
struct Batch {
    commits: Vec<Waiting>,
    compactions: Vec<Compaction>,
    tends: Vec<oneshot::Sender<Result<(), Error>>>,
    is_tend: bool,
    close: Option<oneshot::Sender<Result<(), Error>>>,
}

impl Writer {
    /// Runs until it is asked to close, or until nobody can ask any more.
    pub(crate) fn run(mut self) {
        // Ends the watches even if this thread panics: a watch must not wait for ever.
        let _close_feed = CloseFeed(Arc::clone(&self.feed));
        let mut compactions = Vec::new();
        let mut tends = Vec::new();
        let mut cleaning = false;
        loop {
            let behind = !compactions.is_empty() || cleaning;
            let Some(mut batch) = self.gather(behind) else {
                break self.end(None);
            };
            for (before, reply) in batch.compactions.drain(..) {
                self.ask_compaction(before, reply, &mut compactions);
            }
            let written = self.process(std::mem::take(&mut batch.commits));
            self.answer_compactions(&mut compactions, written);
            if batch.is_tend && self.full.get() {
                self.look_for_room();
            }
            tends.append(&mut batch.tends);
            cleaning = written && self.clean_up();
            if !cleaning {
                for reply in tends.drain(..) {
                    answer(reply, Ok(()));
                }
            }
            if let Some(reply) = batch.close {
                // Refuses new requests; those that got in before are still taken.
                self.requests.close();
                while let Some(mut rest) = self.gather(false) {
                    self.process(std::mem::take(&mut rest.commits));
                }
                break self.end(Some(reply));
            }
        }
    }

    /// The next batch; `None` when there will never be one. With work left over from an earlier
    /// one, it doesn't wait.
    fn gather(&mut self, behind: bool) -> Option<Batch> {
        let mut batch = Batch::default();
        let mut bytes = 0;
        let mut patience = self.pace.patience();
        let mut next = match behind {
            false => Some(self.requests.blocking_recv()?),
            true => self.requests.try_recv().ok(),
        };
        while let Some(request) = next {
            match request {
                Request::Commit { txn, reply } => {
                    bytes += size(&txn);
                    batch.commits.push((txn, reply));
                }
                Request::Compact { before, reply } => batch.compactions.push((before, reply)),
                Request::Tend { reply } => {
                    batch.is_tend = true;
                    batch.tends.extend(reply);
                }
                Request::Close { reply } => {
                    batch.close = Some(reply);
                    break;
                }
            }
            if batch.commits.len() >= BATCH_TXNS || bytes >= BATCH_BYTES {
                break;
            }
            next = self.next_of_batch(batch.commits.len(), &mut patience);
        }
        Some(batch)
    }

    /// What else belongs into a batch of so many: whatever is queued, and, if there seem to be more
    /// writers, what they will send in a moment.
    fn next_of_batch(&mut self, gathered: usize, patience: &mut Duration) -> Option<Request> {
        loop {
            match self.requests.try_recv() {
                Ok(request) => return Some(request),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {}
            }
            if gathered >= self.pace.expected() || patience.is_zero() {
                return None;
            }
            std::thread::sleep(NAP);
            *patience = patience.saturating_sub(2 * NAP);
        }
    }

    /// Applies, writes, publishes and acknowledges; also drops a step's worth of old history.
    /// Says whether that went well.
    fn process(&mut self, commits: Vec<Waiting>) -> bool {
        let mut state = State::clone(&self.feed.state());
        let mut events: Vec<Arc<Event>> = Vec::new();
        let mut outcomes = Vec::with_capacity(commits.len());
        if let Some(since) = self.doubt.reason() {
            for (_, reply) in commits {
                let since = since.clone();
                answer(reply, Err(Error::ReadOnly { since }));
            }
            return false;
        }
        for (txn, _) in &commits {
            outcomes.push(match state.apply(txn) {
                Verdict::Conflict { index, current } => Ok(TxnOutcome::Conflict { index, current }),
                Verdict::Full { bytes, bytes_max } => Err(Error::Full { bytes, bytes_max }),
                Verdict::Applied(mut applied) => {
                    events.append(&mut applied);
                    Ok(TxnOutcome::Committed(state.revision))
                }
            });
        }
        let started = Instant::now();
        let persisted = self.persist(state, &events);
        // Whoever was in this batch writes again soon; whoever is queued by now came too late for it.
        let writers = commits.len() + self.requests.len();
        self.pace.record(writers, started.elapsed());
        match persisted {
            Ok(()) => {
                if !events.is_empty() {
                    self.full.set(false);
                }
                for ((_, reply), outcome) in commits.into_iter().zip(outcomes) {
                    answer(reply, outcome);
                }
                // After the answers: now and then this copies a good part of the log.
                self.checkpointer.after_commit(&self.journal, &self.doubt);
                true
            }
            Err(failure) => {
                self.refuse(commits, failure);
                false
            }
        }
    }

    /// Whether a disk that was full has room again, for those who wait for that before they write.
    fn look_for_room(&self) {
        let probe = self.directory.path().join("probe");
        let written = std::fs::write(&probe, vec![0; PROBE_BYTES]);
        let _ = std::fs::remove_file(&probe);
        if written.is_ok() {
            self.full.set(false);
        }
    }

    /// Takes the next step of writing the journal anew, if that is due. Returns whether there are more: history is
    /// dropped a step with each batch, so that no commit waits for all of it.
    fn clean_up(&mut self) -> bool {
        let now = SystemTime::now();
        let Some(dead) = self.clean.due(now) else {
            return false;
        };
        let state = self.feed.state();
        self.history.ask(dead.max(self.history.aged()));
        if self.history.is_behind(&state) {
            return true;
        }
        match self.journal.renew() {
            Ok(true) => {
                let left = (!state.log.is_empty()).then_some(state.revision);
                if let Err(error) = self.clean.done(left, now) {
                    tracing::warn!(
                        error = describe(&error),
                        "noting when the store was cleaned"
                    );
                }
            }
            Ok(false) => {
                tracing::info!("the store's log is being read, and is emptied later");
                self.clean.postpone(now);
            }
            Err(error) if error.sqlite_error().is_some_and(|error| is_full(*error)) => {
                tracing::warn!("the disk has no room to write the store's journal anew");
                self.clean.postpone(now);
            }
            Err(error) => {
                let reason = format!("writing the journal anew failed: {error}");
                self.doubt.raise(reason);
            }
        }
        false
    }

    /// Makes a state durable, then visible.
    fn persist(&mut self, mut state: State, events: &[Arc<Event>]) -> Result<(), Failure> {
        let before = state.compacted;
        let dropped = self.history.step(&mut state, events.len(), Instant::now());
        if events.is_empty() && state.compacted == before {
            return Ok(());
        }
        self.journal.write(events, &dropped, &state)?;
        let dead = events.iter().map(|event| &**event);
        self.clean.written(dead, SystemTime::now());
        let revision = state.revision;
        self.feed.publish(state, events);
        if let Err(error) = self.witness.set(revision) {
            tracing::warn!(%error, "the witness of acknowledged writes could not be updated");
        }
        Ok(())
    }

    /// Tells a whole batch that it was not written. Conflicts too: they were found in a state
    /// that never came to be.
    fn refuse(&self, commits: Vec<Waiting>, failure: Failure) {
        let path = self.journal.path();
        match failure {
            Failure::Full => {
                if !self.full.get() {
                    self.full.set(true);
                    self.checkpointer.wake();
                }
                for (_, reply) in commits {
                    answer(reply, Err(disk_full(path)));
                }
            }
            Failure::Doubt(error) => {
                let reason = describe(&error);
                self.doubt.raise(reason.clone());
                for (_, reply) in commits {
                    answer(
                        reply,
                        Err(Error::Io {
                            action: format!("writing {}", path.display()),
                            source: reason.clone().into(),
                        }),
                    );
                }
            }
        }
    }

    fn ask_compaction(
        &mut self,
        before: Revision,
        reply: oneshot::Sender<Result<(), Error>>,
        waiting: &mut Vec<Compaction>,
    ) {
        let newest = self.feed.state().revision;
        if before > newest {
            let future = Error::Future {
                asked: before,
                newest,
            };
            return answer(reply, Err(future));
        }
        self.history.ask(before);
        waiting.push((before, reply));
    }

    /// Answers the compactions that are done, and all of them when the disk refuses.
    fn answer_compactions(&self, waiting: &mut Vec<Compaction>, written: bool) {
        let compacted = self.feed.state().compacted;
        for (before, reply) in std::mem::take(waiting) {
            if before <= compacted {
                answer(reply, Ok(()));
            } else if written {
                waiting.push((before, reply));
            } else if let Some(since) = self.doubt.reason() {
                answer(reply, Err(Error::ReadOnly { since }));
            } else {
                answer(reply, Err(disk_full(self.journal.path())));
            }
        }
    }

    /// Ends the watches and closes the files; the lock goes last.
    fn end(self, reply: Option<oneshot::Sender<Result<(), Error>>>) {
        self.feed.close();
        drop(self.checkpointer);
        let result = match self.doubt.reason() {
            // What is on disk is in doubt: leave the files as they are for the next start.
            Some(_) => Ok(()),
            None => self.journal.close(),
        };
        if let Err(error) = &result {
            tracing::error!(error = describe(error), "closing the store failed");
        }
        drop(self.directory);
        if let Some(reply) = reply {
            answer(reply, result);
        }
    }
}

/// How many writers there seem to be and how long the last batch took, to see when waiting a little
/// for the next one pays.
///
/// Writers that were just acknowledged send their next write within microseconds, but one by one:
/// without a short wait the first of them gets a sync for itself, and the others wait for it. Nor
/// is it enough to wait for as many as last time: then two halves of the writers take turns, and
/// each write waits for two syncs.
#[derive(Default)]
pub(crate) struct Pace {
    writers: [usize; 2],
    took: Duration,
}

impl Pace {
    fn record(&mut self, writers: usize, took: Duration) {
        self.writers = [self.writers[1], writers];
        self.took = took;
    }

    fn expected(&self) -> usize {
        self.writers[0].max(self.writers[1])
    }

    /// Never longer than a part of what a sync takes.
    fn patience(&self) -> Duration {
        (self.took / 4).min(MOST_PATIENCE)
    }
}

/// Whether the disk refused the last write because it is full.
#[derive(Clone, Default)]
pub(crate) struct FullDisk(Arc<AtomicBool>);

impl FullDisk {
    fn set(&self, is_full: bool) {
        self.0.store(is_full, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct CloseFeed(Arc<Feed>);

impl Drop for CloseFeed {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn size(txn: &Txn) -> usize {
    txn.writes
        .iter()
        .map(|(key, _, op)| {
            key.name.len()
                + match op {
                    Op::Put(value) => value.len(),
                    Op::Delete | Op::Check => 0,
                }
        })
        .sum()
}

/// Nobody may be waiting any more; the write stands all the same.
fn answer<T>(reply: oneshot::Sender<T>, result: T) {
    let _ = reply.send(result);
}

fn disk_full(path: &Path) -> Error {
    Error::DiskFull {
        path: path.display().to_string(),
    }
}

/// An error with its causes, in one line.
fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
