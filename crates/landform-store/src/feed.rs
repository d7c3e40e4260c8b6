//! How readers and watchers see the state: published whole, read without locks.
//!
//! A watch is a position in the log of the published state, nothing more. Replaying the past and
//! following the present are the same read, so nothing can be lost between them, and a watcher
//! that stands still costs the writer nothing: sooner or later its position is compacted, and its
//! next read says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::{ArcSwap, Guard};
use futures::future::BoxFuture;
use imbl::Vector;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::state::{State, first_after};
use crate::{Bucket, Event, Revision, Watch, WatchError};

/// A watcher takes about this many events at a time.
const EVENTS_AT_ONCE: usize = 256;

/// The published state and those who wait for the next one.
pub(crate) struct Feed {
    state: ArcSwap<State>,
    closed: AtomicBool,
    everything: Arc<Notify>,
    buckets: Mutex<BTreeMap<Bucket, Arc<Notify>>>,
}

impl Feed {
    pub(crate) fn new(state: State) -> Arc<Self> {
        Arc::new(Self {
            state: ArcSwap::from_pointee(state),
            closed: AtomicBool::new(false),
            everything: Arc::default(),
            buckets: Mutex::default(),
        })
    }

    /// The newest published state.
    pub(crate) fn state(&self) -> Guard<Arc<State>> {
        self.state.load()
    }

    /// Makes a state the newest, then wakes the watchers of the buckets that its new events are in.
    ///
    /// Only one thread at a time may publish. Writers acknowledge after this, so that whoever saw
    /// the acknowledgement reads the write.
    pub(crate) fn publish(&self, state: State, events: &[Arc<Event>]) {
        self.state.store(Arc::new(state));
        if events.is_empty() {
            return;
        }
        let mut touched: Vec<&Bucket> = Vec::new();
        for event in events {
            let bucket = &event.record.key.bucket;
            if !touched.contains(&bucket) {
                touched.push(bucket);
            }
        }
        let waiting: Vec<_> = {
            let buckets = self.buckets.lock();
            touched
                .into_iter()
                .filter_map(|bucket| buckets.get(bucket).cloned())
                .collect()
        };
        for notify in &waiting {
            notify.notify_waiters();
        }
        self.everything.notify_waiters();
    }

    /// Ends all watches once they have delivered what there is.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.everything.notify_waiters();
        for notify in self.buckets.lock().values() {
            notify.notify_waiters();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Starts a watch of one bucket.
    pub(crate) fn watch_bucket(
        self: &Arc<Self>,
        bucket: &Bucket,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, WatchError> {
        self.check_start(after)?;
        let notify = Arc::clone(self.buckets.lock().entry(bucket.clone()).or_default());
        Ok(Box::new(Cursor {
            feed: Arc::clone(self),
            notify,
            scope: Scope::Bucket {
                bucket: bucket.clone(),
                prefix: prefix.to_owned(),
            },
            position: after,
        }))
    }

    /// Starts a watch of everything.
    pub(crate) fn watch_all(
        self: &Arc<Self>,
        after: Revision,
    ) -> Result<Box<dyn Watch>, WatchError> {
        self.check_start(after)?;
        Ok(Box::new(Cursor {
            feed: Arc::clone(self),
            notify: Arc::clone(&self.everything),
            scope: Scope::Everything,
            position: after,
        }))
    }

    fn check_start(&self, after: Revision) -> Result<(), WatchError> {
        let oldest = self.state().compacted;
        if after < oldest {
            return Err(WatchError::Compacted {
                asked: after,
                oldest,
            });
        }
        Ok(())
    }
}

/// What a watch is about.
enum Scope {
    Everything,
    Bucket { bucket: Bucket, prefix: String },
}

impl Scope {
    /// The log to read and the newest revision that is missing from it.
    fn log<'a>(&self, state: &'a State) -> Option<(&'a Vector<Arc<Event>>, Revision)> {
        match self {
            Self::Everything => Some((&state.log, state.compacted)),
            Self::Bucket { bucket, .. } => state
                .buckets
                .get(bucket)
                .map(|bucket| (&bucket.log, bucket.dropped)),
        }
    }

    fn matches(&self, event: &Event) -> bool {
        match self {
            Self::Everything => true,
            Self::Bucket { prefix, .. } => event.record.key.name.starts_with(prefix.as_str()),
        }
    }
}

/// A watch: a position in the log.
struct Cursor {
    feed: Arc<Feed>,
    notify: Arc<Notify>,
    scope: Scope,
    /// Every matching event up to here was delivered.
    position: Revision,
}

/// The events that a watch delivers next, and where it stands then.
struct Step {
    events: Vec<Arc<Event>>,
    position: Revision,
}

impl Cursor {
    /// Reads on from the position. Events of one revision, which journals of former versions have, are never
    /// split between two steps.
    fn read(&self, state: &State, at_most: usize) -> Result<Step, WatchError> {
        let mut events: Vec<Arc<Event>> = Vec::new();
        if let Some((log, dropped)) = self.scope.log(state) {
            if self.position < dropped {
                return Err(WatchError::Compacted {
                    asked: self.position,
                    oldest: state.compacted,
                });
            }
            for index in first_after(log, self.position)..log.len() {
                let Some(event) = log.get(index) else { break };
                if let Some(last) = events.last()
                    && events.len() >= at_most
                    && last.revision < event.revision
                {
                    let position = Revision(event.revision.0 - 1);
                    return Ok(Step { events, position });
                }
                if self.scope.matches(event) {
                    events.push(Arc::clone(event));
                }
            }
        }
        Ok(Step {
            events,
            position: self.position.max(state.revision),
        })
    }

    async fn wait(&mut self) -> Result<Vec<Arc<Event>>, WatchError> {
        loop {
            // Registered before the state is read: a wake-up in between is not lost.
            let notified = self.notify.notified();
            let closed = self.feed.is_closed();
            let step = self.read(&self.feed.state(), EVENTS_AT_ONCE)?;
            if !step.events.is_empty() {
                self.position = step.position;
                return Ok(step.events);
            }
            if closed {
                return Err(WatchError::Closed);
            }
            // No event up to there matched; the position may move on.
            self.position = step.position;
            notified.await;
        }
    }
}

impl Watch for Cursor {
    fn next(&mut self) -> BoxFuture<'_, Result<Vec<Arc<Event>>, WatchError>> {
        Box::pin(self.wait())
    }

    fn progress(&self) -> Revision {
        match self.read(&self.feed.state(), 1) {
            Ok(step) => match step.events.first() {
                Some(next) => self.position.max(Revision(next.revision.0 - 1)),
                None => step.position,
            },
            Err(_) => self.position,
        }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        let Scope::Bucket { bucket, .. } = &self.scope else {
            return;
        };
        let mut buckets = self.feed.buckets.lock();
        // This cursor's and the table's: nobody else waits for the bucket.
        if Arc::strong_count(&self.notify) == 2 {
            buckets.remove(bucket);
        }
    }
}
