//! Moves the write-ahead log into the database file, beside the commits instead of in them.
//!
//! A thread with a connection of its own copies pages while the writer goes on. It can't finish
//! under constant load, because the log grows meanwhile; once the log is long, the writer copies
//! the short rest between two batches, and the log starts anew. So it never grows without bound.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::mpsc::WeakSender;

use super::directory::io;
use super::journal::{Journal, connect, is_full};
use super::writer::{FullDisk, Request};
use crate::Error;

/// The thread is asked once so many pages wait to be copied (4 KiB each: 8 MiB).
const ASK_AT_PAGES: u32 = 2_000;
/// The writer copies the rest itself once the log has so many pages (64 MiB).
const FINISH_AT_PAGES: u32 = 16_000;

/// However much of it waits, the writer copies it before the log gets longer than this (256 MiB).
const LONGEST_PAGES: u32 = 64_000;

/// A store that is not written to is looked after this often.
const TEND_EVERY: Duration = Duration::from_secs(60);
/// While the disk is full, room is looked for this often: who waits for the store to be ready writes nothing meanwhile.
const LOOK_FOR_ROOM_EVERY: Duration = Duration::from_secs(2);

/// Why the store takes no more writes, once something put the disk in doubt.
#[derive(Clone, Default)]
pub(crate) struct Doubt(Arc<Mutex<Option<String>>>);

impl Doubt {
    /// Remembers the first reason.
    pub(crate) fn raise(&self, reason: String) {
        tracing::error!(%reason, "the store takes no more writes");
        self.0.lock().get_or_insert(reason);
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.0.lock().clone()
    }
}

/// The thread that copies, as the writer sees it.
pub(crate) struct Checkpointer {
    /// `None` while it is being dropped: the thread ends when this is gone.
    ask: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Pages of the present log that are copied already.
    copied: Arc<AtomicU32>,
}

impl Checkpointer {
    pub(crate) fn start(
        path: &Path,
        doubt: Doubt,
        full: FullDisk,
        writer: WeakSender<Request>,
    ) -> Result<Self, Error> {
        let connection = connect(path).map_err(io("opening", path))?;
        // One waiting request is enough: the next run copies all there is.
        let (ask, asked) = sync_channel(1);
        let copied = Arc::new(AtomicU32::new(0));
        let shared = Arc::clone(&copied);
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn(move || run(&connection, &asked, &shared, &doubt, &full, &writer))
            .map_err(io("starting a thread for", path))?;
        Ok(Self {
            ask: Some(ask),
            thread: Some(thread),
            copied,
        })
    }

    /// Has the thread see that the disk is full.
    pub(crate) fn wake(&self) {
        // One that is busy sees it afterwards.
        let _ = self.ask.as_ref().map(|ask| ask.try_send(()));
    }

    /// Called by the writer after each commit.
    pub(crate) fn after_commit(&self, journal: &Journal, doubt: &Doubt) {
        let pages = journal.wal_pages();
        if pages < self.copied.load(Ordering::Relaxed) {
            // The log started anew; nothing of it is copied.
            self.copied.store(0, Ordering::Relaxed);
        }
        let waiting = pages.saturating_sub(self.copied.load(Ordering::Relaxed));
        let nearly_done = pages >= FINISH_AT_PAGES && waiting < 2 * ASK_AT_PAGES;
        if nearly_done || pages >= LONGEST_PAGES {
            copy(&journal.connection, &self.copied, doubt);
        } else if waiting >= ASK_AT_PAGES
            && let Some(ask) = &self.ask
        {
            match ask.try_send(()) {
                Ok(()) | Err(TrySendError::Full(())) => {}
                Err(TrySendError::Disconnected(())) => {
                    doubt.raise("the thread that tends the disk ended".to_owned());
                }
            }
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.ask = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that tends the disk panicked");
        }
    }
}

fn run(
    connection: &Connection,
    asked: &Receiver<()>,
    copied: &AtomicU32,
    doubt: &Doubt,
    full: &FullDisk,
    writer: &WeakSender<Request>,
) {
    loop {
        let wait = if full.get() {
            LOOK_FOR_ROOM_EVERY
        } else {
            TEND_EVERY
        };
        match asked.recv_timeout(wait) {
            Ok(()) => copy(connection, copied, doubt),
            Err(RecvTimeoutError::Timeout) => {
                // A writer that has no room for this is busy, and looks by itself.
                let writer = writer.upgrade();
                let _ = writer.map(|writer| writer.try_send(Request::Tend { reply: None }));
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn copy(connection: &Connection, copied: &AtomicU32, doubt: &Doubt) {
    match Journal::checkpoint(connection) {
        Ok(pages) => copied.store(pages, Ordering::Relaxed),
        // Nothing is lost: it is all in the log, and there will be another try.
        Err(error) if error.sqlite_error().is_some_and(|error| is_full(*error)) => {
            tracing::warn!("the disk has no room to move the store's log into its database file");
        }
        Err(error) => doubt.raise(format!(
            "moving the log into the database file failed: {error}"
        )),
    }
}
