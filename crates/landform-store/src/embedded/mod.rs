//! The store on one machine's disk: everything in memory for reading, a journal for safety.
//!
//! Reading order:
//! 1. `directory.rs`: the files, who owns them, and the witness of what was acknowledged.
//! 2. `row.rs`, `journal.rs`: what a write looks like on disk; `load.rs`: reading it all back.
//! 3. `writer.rs`: the one thread that writes, in batches; `checkpoint.rs` tends the log beside it, `clean.rs`
//!    says when the file is written anew.
//! 4. `snapshot.rs`, `maintenance.rs`: copies in one file, and what the command line offers.

mod checkpoint;
mod clean;
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
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use self::checkpoint::{Checkpointer, Doubt};
use self::clean::Clean;
use self::directory::{Directory, Witness, io};
use self::journal::{Journal, Meta, connect, is_blank};
use self::load::{Loaded, blames_contents, load, structural_faults};
pub(crate) use self::maintenance::backup_state;
pub use self::maintenance::{
    CheckReport, Kept, RestoreOptions, accept_loss, backup, check, check_with, compact, rekey,
    restore,
};
use self::maintenance::{refuse_own_file, reseal};
use self::row::MOST_WRITES;
use self::writer::{FullDisk, Pace, Request, Writer};
use crate::feed::Feed;
use crate::history::{History, HistoryLimits};
use crate::memory::MemoryStore;
use crate::seal::{Seal, Sealing};
use crate::state::State;
use crate::{
    Bucket, Error, Key, Page, RangeQuery, Record, Revision, Store, Txn, TxnOutcome, Usage, Watch,
    WatchError,
};

/// So many transactions may wait for the writer; the next caller waits for room.
const QUEUE: usize = 4096;

/// How an embedded store behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much history is kept.
    pub history: HistoryLimits,
    /// How long a value that was deleted or replaced may stay on disk before the journal is written anew without
    /// it. That ends the history before it, too.
    pub clean_after: Duration,
    /// Which values are encrypted on disk. A journal in which they aren't yet, or with a key that isn't current any
    /// more, is written anew when it is opened, without its history.
    pub sealing: Option<Sealing>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            history: HistoryLimits::default(),
            clean_after: Duration::from_secs(3_600),
            sealing: None,
        }
    }
}

/// A store in a directory of its own. Durable before acknowledged.
pub struct EmbeddedStore {
    feed: Arc<Feed>,
    /// `None` once it is being dropped: the writer ends when nobody can ask it any more.
    requests: Option<mpsc::Sender<Request>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    limits: HistoryLimits,
    directory: PathBuf,
    doubt: Doubt,
    full: FullDisk,
    seal: Option<Arc<Seal>>,
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
        let sealing = options.sealing.as_ref();
        let (connection, loaded) = open_sealed(&directory, sealing)?;
        let Loaded {
            state, meta, seal, ..
        } = loaded;
        let doubt = Doubt::default();
        let witness = Witness::open(&directory.witness(), state.revision)?;
        directory.sync()?;
        let (sender, requests) = mpsc::channel(QUEUE);
        let full = FullDisk::default();
        let checkpointer =
            Checkpointer::start(&path, doubt.clone(), full.clone(), sender.downgrade())?;
        let (note, now) = (directory.cleaned(), SystemTime::now());
        let clean = Clean::new(note, options.clean_after, state.revision, now)?;
        let feed = Feed::new(state);
        let writer = Writer {
            full: full.clone(),
            feed: Arc::clone(&feed),
            requests,
            history: History::new(options.history.clone()),
            pace: Pace::default(),
            clean,
            witness,
            doubt: doubt.clone(),
            checkpointer,
            journal: Journal::new(connection, &path, meta, seal.clone())?,
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
            doubt,
            full,
            seal,
        })
    }

    /// Where the store's files are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Looks whether the journal should be written anew, and does it. The store does so by itself, at most once
    /// within [`Options::clean_after`]; this is for those who want to know when it is done.
    ///
    /// # Errors
    /// When the store is closed.
    pub async fn tend(&self) -> Result<(), Error> {
        self.ask(|reply| Request::Tend { reply: Some(reply) }).await
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

/// Opens a journal that is sound and whose values are encrypted as they should be; if they aren't, writes it anew.
fn open_sealed(
    directory: &Directory,
    sealing: Option<&Sealing>,
) -> Result<(rusqlite::Connection, Loaded), Error> {
    let (connection, loaded) = open_journal(directory, sealing)?;
    let loaded = sound(directory, loaded)?;
    let Some(sealing) = sealing.filter(|sealing| !is_sealed(&loaded, sealing)) else {
        return Ok((connection, loaded));
    };
    tracing::info!(
        directory = %directory.path().display(),
        "encrypting the store: it is written anew, without its history"
    );
    reseal(directory, connection, loaded, sealing)?;
    let (connection, loaded) = open_journal(directory, Some(sealing))?;
    Ok((connection, sound(directory, loaded)?))
}

fn is_sealed(loaded: &Loaded, sealing: &Sealing) -> bool {
    let seal = loaded.seal.as_ref();
    loaded.unsealed == 0 && seal.is_some_and(|seal| sealing.keys.is_current(seal.wrapped()))
}

/// Opens the journal, makes it if the directory is new, and reads it.
fn open_journal(
    directory: &Directory,
    sealing: Option<&Sealing>,
) -> Result<(rusqlite::Connection, Loaded), Error> {
    let path = directory.journal();
    let witness = Witness::read(&directory.witness());
    if !path.exists() {
        if !is_new(directory, &witness) {
            let problem = format!("{} is missing", path.display());
            return Err(damaged(directory, vec![problem], Repair::Restore));
        }
        create(directory, sealing)?;
        return open_journal(directory, sealing);
    }
    let opened = connect(&path).and_then(|connection| {
        let blank = is_blank(&connection)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        Ok((connection, blank))
    });
    let connection = match opened {
        Ok((connection, false)) => connection,
        Ok((_, true)) => {
            let problem = format!("{} has nothing in it", path.display());
            return Err(damaged(directory, vec![problem], Repair::Restore));
        }
        Err(error) if blames_contents(&error) => {
            let problem = format!("{}: {error}", path.display());
            return Err(damaged(directory, vec![problem], Repair::Restore));
        }
        Err(error) => return Err(io("opening", &path)(error)),
    };
    // Reading all rows doesn't touch pages that are free, and a list of free pages that names one
    // in use would destroy records later. The check takes as long as reading: do both at once.
    let (loaded, faults) = std::thread::scope(|scope| {
        let faults = scope.spawn(|| structural_faults(&path));
        (load(&connection, &path, sealing), faults.join())
    });
    let mut loaded = loaded?;
    for fault in faults.unwrap_or_else(|_| vec!["checking the file's structure failed".into()]) {
        loaded.problems.add(fault);
    }
    if loaded.problems.is_empty() {
        loaded.loss = loss(directory, witness, &loaded.state);
    }
    Ok((connection, loaded))
}

/// Whether nothing was ever written here: a crash during the first start leaves a witness of nothing. The note of
/// the last cleaning is made by a store that was open.
fn is_new(directory: &Directory, witness: &Result<Option<Revision>, String>) -> bool {
    let logged = std::fs::metadata(directory.wal()).is_ok_and(|log| log.len() > 0);
    let was_open = directory.cleaned().exists();
    let nothing = match witness {
        Ok(None) => !was_open,
        Ok(Some(acknowledged)) => *acknowledged == Revision::ZERO,
        Err(_) => false,
    };
    nothing && !logged
}

/// Makes an empty store: the witness first, then the journal, which is there whole or not at all.
fn create(directory: &Directory, sealing: Option<&Sealing>) -> Result<(), Error> {
    // Without a key nothing is made.
    let seal = new_seal(directory, sealing)?;
    Witness::open(&directory.witness(), Revision::ZERO)?;
    let meta = Meta::new(Revision::ZERO);
    snapshot::write(
        &State::default(),
        &directory.journal(),
        meta,
        seal.as_deref(),
    )
}

/// A new data key for the store of a directory.
fn new_seal(directory: &Directory, sealing: Option<&Sealing>) -> Result<Option<Arc<Seal>>, Error> {
    let place = directory.path().display().to_string();
    sealing
        .map(|sealing| Seal::make(sealing, &place))
        .transpose()
}

/// The journal must reach at least as far as what was acknowledged, and that must be known.
fn loss(
    directory: &Directory,
    witness: Result<Option<Revision>, String>,
    state: &State,
) -> Option<String> {
    let unproven = "so nothing proves that the newest writes are all here";
    match witness {
        Ok(Some(acknowledged)) if acknowledged > state.revision => Some(format!(
            "revisions {} to {acknowledged} were acknowledged, and the journal has lost them",
            state.revision.0 + 1
        )),
        Ok(Some(_)) => None,
        Ok(None) => {
            let path = directory.witness();
            Some(format!("{} is missing, {unproven}", path.display()))
        }
        Err(problem) => Some(format!("{problem}, {unproven}")),
    }
}

fn sound(directory: &Directory, loaded: Loaded) -> Result<Loaded, Error> {
    if !loaded.problems.is_empty() {
        let problems = loaded.problems.into_sentences();
        return Err(damaged(directory, problems, Repair::Restore));
    }
    match loaded.loss {
        Some(loss) => Err(damaged(directory, vec![loss], Repair::RestoreOrAccept)),
        None => Ok(loaded),
    }
}

/// What can be done about a damaged store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repair {
    Restore,
    /// What is there is sound, and somebody may go on with it.
    RestoreOrAccept,
}

impl Repair {
    /// What to do about the store in this directory, which is `store` in the data directory.
    pub(crate) fn advice(self, store: &Path) -> String {
        let data = store.parent().unwrap_or(store).display();
        let restore =
            format!("restore a backup: `landform store restore FILE --replace --data-dir {data}`");
        match self {
            Self::Restore => restore,
            Self::RestoreOrAccept => format!(
                "{restore}; or go on without what is lost: `landform store accept-loss --data-dir {data}`"
            ),
        }
    }
}

fn damaged(directory: &Directory, mut problems: Vec<String>, repair: Repair) -> Error {
    problems.push(repair.advice(directory.path()));
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

    fn usage(&self) -> Usage {
        self.feed.state().usage()
    }

    fn trouble(&self) -> Option<Error> {
        match self.doubt.reason() {
            Some(since) => Some(Error::ReadOnly { since }),
            None => self.full.get().then(|| Error::DiskFull {
                path: self.directory.display().to_string(),
            }),
        }
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
        backup_state(State::clone(&self.feed.state()), file, self.seal.clone())
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
