//! The store on one machine's disk: everything in memory for reading, a journal for safety.
//!
//! Reading order:
//! 1. `directory.rs`: the files, who owns them, and the witness of what was acknowledged.
//! 2. `row.rs`, `journal.rs`: what a write looks like on disk; `load.rs`: reading it all back.
//! 3. `writer.rs`: the one thread that writes, in batches; `checkpoint.rs` tends the log beside it.
//! 4. `snapshot.rs`, `maintenance.rs`: copies in one file, and what the command line offers.

mod checkpoint;
mod directory;
mod journal;
mod load;
mod maintenance;
mod row;
mod snapshot;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use self::checkpoint::{Checkpointer, Doubt};
use self::directory::{Directory, Witness, create_private, io};
use self::journal::{Journal, Meta, connect, create_tables, is_blank};
use self::load::{Loaded, Problems, blames_contents, load, structural_faults};
pub(crate) use self::maintenance::backup_state;
use self::maintenance::refuse_own_file;
pub use self::maintenance::{CheckReport, RestoreOptions, backup, check, compact, restore};
use self::row::MOST_WRITES;
use self::writer::{Pace, Request, Writer};
use crate::feed::Feed;
use crate::history::{History, HistoryLimits};
use crate::memory::MemoryStore;
use crate::state::State;
use crate::{
    Bucket, Error, Key, Page, RangeQuery, Record, Revision, Store, Txn, TxnOutcome, Watch,
    WatchError,
};

/// So many transactions may wait for the writer; the next caller waits for room.
const QUEUE: usize = 4096;

/// How an embedded store behaves.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How much history is kept.
    pub history: HistoryLimits,
}

/// A store in a directory of its own. Durable before acknowledged.
pub struct EmbeddedStore {
    feed: Arc<Feed>,
    /// `None` once it is being dropped: the writer ends when nobody can ask it any more.
    requests: Option<mpsc::Sender<Request>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    limits: HistoryLimits,
    directory: PathBuf,
}

impl EmbeddedStore {
    /// Opens the store in a directory, and makes both when they are not there.
    ///
    /// Reads and checks the whole journal. Blocks; call it before serving, or on a thread where
    /// that is fine.
    ///
    /// # Errors
    /// [`Error::Locked`] when another process has it, [`Error::Damaged`] when what is on disk is
    /// not what was written; otherwise what the operating system says.
    pub fn open(dir: &Path, options: Options) -> Result<Self, Error> {
        let directory = Directory::take(dir)?;
        let path = directory.journal();
        let (connection, loaded) = open_journal(&directory)?;
        let Loaded { state, meta, .. } = sound(&directory, loaded)?;
        let doubt = Doubt::default();
        let witness = Witness::open(&directory.witness(), state.revision)?;
        directory.sync()?;
        let checkpointer = Checkpointer::start(&path, doubt.clone())?;
        let feed = Feed::new(state);
        let (sender, requests) = mpsc::channel(QUEUE);
        let writer = Writer {
            feed: Arc::clone(&feed),
            requests,
            history: History::new(options.history.clone()),
            pace: Pace::default(),
            witness,
            doubt,
            checkpointer,
            journal: Journal::new(connection, &path, meta)?,
            directory,
        };
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer.run())
            .map_err(io("starting the writer of", dir))?;
        Ok(Self {
            feed,
            requests: Some(sender),
            writer: Mutex::new(Some(thread)),
            limits: options.history,
            directory: dir.to_owned(),
        })
    }

    /// Where the store's files are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Asks the writer, and waits for its answer.
    fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Request,
    ) -> BoxFuture<'static, Result<T, Error>> {
        let Some(requests) = self.requests.clone() else {
            return ready(Err(Error::Closed)).boxed();
        };
        let (reply, answer) = oneshot::channel();
        let request = request(reply);
        async move {
            requests.send(request).await.map_err(|_| Error::Closed)?;
            answer.await.map_err(|_| Error::Closed)?
        }
        .boxed()
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(writer) = self.writer.lock().take()
            && writer.join().is_err()
        {
            tracing::error!("the store's writer panicked");
        }
    }
}

/// Opens the journal, makes its tables if it has none yet, and reads it.
fn open_journal(directory: &Directory) -> Result<(rusqlite::Connection, Loaded), Error> {
    let path = directory.journal();
    let witness = Witness::read(&directory.witness());
    let known = matches!(&witness, Ok(Some(revision)) if *revision > Revision::ZERO);
    if known && !path.exists() {
        return Err(damaged(
            directory,
            vec![format!("{} is missing", path.display())],
        ));
    }
    if !path.exists() {
        create_private(&path)?;
    }
    let opened = connect(&path).and_then(|connection| {
        connection.pragma_update(None, "journal_mode", "WAL")?;
        if !known && is_blank(&connection)? {
            create_tables(&connection, &Meta::new(Revision::ZERO))?;
        }
        Ok(connection)
    });
    let connection = match opened {
        Ok(connection) => connection,
        Err(error) if blames_contents(&error) => {
            let problem = format!("{}: {error}", path.display());
            return Err(damaged(directory, vec![problem]));
        }
        Err(error) => return Err(io("opening", &path)(error)),
    };
    // Reading all rows doesn't touch pages that are free, and a list of free pages that names one
    // in use would destroy records later. The check takes as long as reading: do both at once.
    let (loaded, faults) = std::thread::scope(|scope| {
        let faults = scope.spawn(|| structural_faults(&path));
        (load(&connection, &path), faults.join())
    });
    let mut loaded = loaded?;
    for fault in faults.unwrap_or_else(|_| vec!["checking the file's structure failed".into()]) {
        loaded.problems.add(fault);
    }
    if loaded.problems.is_empty() {
        compare_witness(witness, &loaded.state, &mut loaded.problems);
    }
    Ok((connection, loaded))
}

/// The journal must reach at least as far as what was acknowledged.
fn compare_witness(
    witness: Result<Option<Revision>, String>,
    state: &State,
    problems: &mut Problems,
) {
    match witness {
        Ok(Some(acknowledged)) if acknowledged > state.revision => problems.add(format!(
            "revisions {} to {acknowledged} were acknowledged, and the journal has lost them",
            state.revision.0 + 1
        )),
        Ok(_) => {}
        Err(problem) => problems.add(problem),
    }
}

fn sound(directory: &Directory, loaded: Loaded) -> Result<Loaded, Error> {
    if loaded.problems.is_empty() {
        Ok(loaded)
    } else {
        Err(damaged(directory, loaded.problems.into_sentences()))
    }
}

fn damaged(directory: &Directory, problems: Vec<String>) -> Error {
    Error::Damaged {
        dir: directory.path().display().to_string(),
        problems,
    }
}

impl Store for EmbeddedStore {
    fn revision(&self) -> Revision {
        self.feed.state().revision
    }

    fn compacted(&self) -> Revision {
        self.feed.state().compacted
    }

    fn get(&self, key: &Key) -> BoxFuture<'_, Result<Option<Record>, Error>> {
        let record = self.feed.state().get(key).map(|found| Record::clone(found));
        ready(Ok(record)).boxed()
    }

    fn range(&self, query: RangeQuery) -> BoxFuture<'_, Result<Page, Error>> {
        ready(self.feed.state().range(&query)).boxed()
    }

    fn count(&self, bucket: &Bucket) -> BoxFuture<'_, Result<usize, Error>> {
        ready(Ok(self.feed.state().count(bucket))).boxed()
    }

    fn commit(&self, txn: Txn) -> BoxFuture<'_, Result<TxnOutcome, Error>> {
        if let Err(error) = txn.check_keys() {
            return ready(Err(error)).boxed();
        }
        let writes = txn.writes.len();
        if writes > MOST_WRITES {
            return ready(Err(Error::Io {
                action: format!("committing a transaction of {writes} writes"),
                source: format!("at most {MOST_WRITES} fit into one").into(),
            }))
            .boxed();
        }
        self.ask(|reply| Request::Commit { txn, reply })
    }

    fn watch(
        &self,
        bucket: &Bucket,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, WatchError> {
        self.feed.watch_bucket(bucket, prefix, after)
    }

    fn watch_all(&self, after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        self.feed.watch_all(after)
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<(), Error>> {
        self.ask(|reply| Request::Compact { before, reply })
    }

    fn buckets(&self) -> BoxFuture<'_, Result<Vec<Bucket>, Error>> {
        ready(Ok(self.feed.state().bucket_names())).boxed()
    }

    fn backup<'a>(&'a self, file: &'a Path) -> BoxFuture<'a, Result<Revision, Error>> {
        if let Err(error) = refuse_own_file(&self.directory, file) {
            return ready(Err(error)).boxed();
        }
        backup_state(State::clone(&self.feed.state()), file)
    }

    fn fork(&self) -> BoxFuture<'_, Result<MemoryStore, Error>> {
        let state = State::clone(&self.feed.state());
        ready(Ok(MemoryStore::from_state(state, self.limits.clone()))).boxed()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        let closed = self.ask(|reply| Request::Close { reply });
        async move {
            match closed.await {
                // Somebody else closed it before.
                Err(Error::Closed) => Ok(()),
                result => result,
            }
        }
        .boxed()
    }
}
