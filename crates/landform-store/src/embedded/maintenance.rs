//! What the command line offers: check, backup, restore, compact, accept-loss.
//!
//! Restore and compact replace files, so they take the directory first and refuse one that a server
//! is using. A backup only reads: of a running server's store it reads one consistent state beside
//! the server, which `SQLite`'s write-ahead log allows.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;

use super::directory::{Directory, Witness, io};
use super::journal::{Journal, Meta, connect};
use super::load::{Loaded, load};
use super::row::row_id;
use super::{
    Repair, blames_contents, damaged, is_sealed, new_seal, open_journal, open_sealed, snapshot,
    sound,
};
use crate::seal::{Seal, Sealing};
use crate::state::State;
use crate::{Error, Record, Revision};

/// What a check found.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// The data directory.
    pub directory: PathBuf,
    /// The store's own name; a restored copy has another one.
    pub store: String,
    /// The newest revision.
    pub revision: Revision,
    /// The oldest revision that can be read.
    pub compacted: Revision,
    /// Objects, without their history.
    pub keys: usize,
    /// Events that can still be watched.
    pub events: usize,
    /// Rows of the journal.
    pub rows: u64,
    /// The size of the database file and its log.
    pub bytes: u64,
    /// Whether all values that should be encrypted are, with the key that is used today.
    pub is_sealed: bool,
    /// What is wrong, one sentence each; empty when all is well.
    pub problems: Vec<String>,
    /// What whoever asked for the check found in records, which are as they were written.
    pub remarks: Vec<String>,
}

impl CheckReport {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "store {} in {}", self.store, self.directory.display())?;
        writeln!(f, "  objects    {}", self.keys)?;
        writeln!(f, "  revision   {}", self.revision)?;
        writeln!(
            f,
            "  history    {} events after revision {}",
            self.events, self.compacted
        )?;
        writeln!(
            f,
            "  on disk    {} records in {} bytes",
            self.rows, self.bytes
        )?;
        writeln!(
            f,
            "  Secrets    {}",
            if self.is_sealed {
                "encrypted"
            } else {
                "not encrypted with today's key: the server does that when it starts"
            }
        )?;
        if self.is_sound() {
            write!(f, "  all records match their checksums")?;
        } else {
            write!(f, "  DAMAGED:")?;
        }
        for line in self.problems.iter().chain(&self.remarks) {
            write!(f, "\n  - {line}")?;
        }
        Ok(())
    }
}

/// Reads and checks everything in a data directory, and changes nothing.
///
/// # Errors
/// When the directory is in use or can't be read; damage is in the report, not an error.
pub fn check(dir: &Path) -> Result<CheckReport, Error> {
    check_with(dir, None, |_| None)
}

/// As [`check`], and has each of the newest records looked at: what is said of one goes into the report's remarks.
///
/// # Errors
/// As those of [`check`].
pub fn check_with(
    dir: &Path,
    sealing: Option<&Sealing>,
    look: impl Fn(&Record) -> Option<String>,
) -> Result<CheckReport, Error> {
    let directory = existing(dir)?;
    let mut report = CheckReport {
        directory: dir.to_owned(),
        store: "(unknown)".to_owned(),
        revision: Revision::ZERO,
        compacted: Revision::ZERO,
        keys: 0,
        events: 0,
        rows: 0,
        bytes: file_size(&directory.journal()) + file_size(&directory.wal()),
        is_sealed: false,
        problems: Vec::new(),
        remarks: Vec::new(),
    };
    let loaded = match open_journal(&directory, sealing) {
        Ok((_, loaded)) => loaded,
        Err(Error::Damaged { problems, .. }) => {
            report.problems = problems;
            return Ok(report);
        }
        Err(error) => return Err(error),
    };
    report.is_sealed = sealing.is_some_and(|sealing| is_sealed(&loaded, sealing));
    report.store = loaded.meta.store;
    report.revision = loaded.state.revision;
    report.compacted = loaded.state.compacted;
    report.keys = keys(&loaded.state);
    report.events = loaded.state.log.len();
    report.rows = loaded.meta.rows;
    let buckets = loaded.state.buckets.values();
    let records = buckets.flat_map(|bucket| bucket.records.values());
    report.remarks = records.filter_map(|record| look(record)).collect();
    let repair = match &loaded.loss {
        Some(_) => Repair::RestoreOrAccept,
        None => Repair::Restore,
    };
    report.problems = loaded.problems.into_sentences();
    report.problems.extend(loaded.loss);
    if !report.problems.is_empty() {
        report.problems.push(repair.advice(directory.path()));
    }
    Ok(report)
}

/// Copies the newest state of a store to one file, whether a server is using it or not.
///
/// # Errors
/// When the store is damaged, or the file can't be written.
pub fn backup(dir: &Path, file: &Path, sealing: Option<&Sealing>) -> Result<Revision, Error> {
    refuse_own_file(dir, file)?;
    let loaded = match existing(dir) {
        Ok(directory) => {
            let (_connection, loaded) = open_journal(&directory, sealing)?;
            sound(&directory, loaded)?
        }
        Err(Error::Locked { .. }) => loaded_in_use(dir, sealing)?,
        Err(error) => return Err(error),
    };
    let Loaded { state, seal, .. } = loaded;
    // The store may be from before values were encrypted.
    let seal = match (seal, sealing) {
        (None, Some(sealing)) => Some(Seal::make(sealing, &file.display().to_string())?),
        (seal, _) => seal,
    };
    snapshot::write(&state, file, Meta::new(state.revision), seal.as_deref())?;
    Ok(state.revision)
}

/// What is in a store that a server is using, as of its last commit.
fn loaded_in_use(dir: &Path, sealing: Option<&Sealing>) -> Result<Loaded, Error> {
    let path = Directory::journal_in(dir);
    let connection = connect(&path).map_err(io("opening", &path))?;
    // One transaction around everything that is read, so that it is one state.
    let transaction = connection
        .unchecked_transaction()
        .map_err(io("reading", &path))?;
    let loaded = load(&transaction, &path, sealing)?;
    if loaded.problems.is_empty() {
        return Ok(loaded);
    }
    Err(Error::Damaged {
        dir: dir.display().to_string(),
        problems: loaded.problems.into_sentences(),
    })
}

/// A backup replaces the file that it is written to: that must not be the store itself.
pub(crate) fn refuse_own_file(dir: &Path, file: &Path) -> Result<(), Error> {
    if Directory::owns(dir, file) {
        return Err(Error::Io {
            action: format!("writing a backup to {}", file.display()),
            source: "this is a file of the store itself: name another one".into(),
        });
    }
    Ok(())
}

/// Copies a state to a file on a thread where that may take its time.
pub(crate) fn backup_state(
    state: State,
    file: &Path,
    seal: Option<Arc<Seal>>,
) -> BoxFuture<'static, Result<Revision, Error>> {
    let file = file.to_owned();
    Box::pin(async move {
        let written = tokio::task::spawn_blocking(move || {
            let meta = Meta::new(state.revision);
            snapshot::write(&state, &file, meta, seal.as_deref()).map(|()| state.revision)
        });
        written.await.map_err(|error| Error::Io {
            action: "writing a backup".to_owned(),
            source: error.into(),
        })?
    })
}

/// How to restore.
#[derive(Clone, Debug)]
pub struct RestoreOptions {
    /// Replace the store that is in the directory.
    pub replace: bool,
    /// How far the restored store's revision jumps ahead of the backup's.
    ///
    /// The old store went on after the backup was made, and clients remember revisions from then.
    /// With the same revisions given out again, such a client would go on watching a history that
    /// it never saw the beginning of, and its stale writes could match. After the jump all that it
    /// remembers counts as compacted, and it starts afresh.
    pub jump: u64,
}

impl Default for RestoreOptions {
    fn default() -> Self {
        Self {
            replace: false,
            // A thousand writes per second for eleven days.
            jump: 1_000_000_000,
        }
    }
}

/// Makes a store from a backup, whose checksums are verified first. Returns its newest revision.
///
/// # Errors
/// When the backup is damaged, when the directory holds something and it isn't to be replaced,
/// or when the directory is in use.
pub fn restore(
    file: &Path,
    dir: &Path,
    options: &RestoreOptions,
    sealing: Option<&Sealing>,
) -> Result<Revision, Error> {
    let state = read_backup(file, sealing)?;
    let revision = Revision(state.revision.0.saturating_add(options.jump));
    // A jump too far would leave no numbers for new writes.
    row_id(Revision(revision.0.saturating_mul(2)), 0)?;
    if !options.replace && dir.is_dir() {
        let occupied = std::fs::read_dir(dir)
            .map_err(io("reading the directory", dir))?
            .next()
            .is_some();
        if occupied {
            return Err(Error::Io {
                action: format!("restoring into {}", dir.display()),
                source: "the directory is not empty: name another one, or replace what is there \
                         (--replace)"
                    .into(),
            });
        }
    }
    let directory = Directory::take(dir)?;
    let seal = new_seal(&directory, sealing)?;
    replace_journal(&directory, &state, Meta::new(revision), seal.as_deref())?;
    Ok(revision)
}

fn read_backup(file: &Path, sealing: Option<&Sealing>) -> Result<State, Error> {
    // Opening a file that isn't there would make an empty one.
    std::fs::metadata(file).map_err(io("reading", file))?;
    let problem = |problems| Error::Damaged {
        dir: file.display().to_string(),
        problems,
    };
    let connection = connect(file).map_err(|error| match blames_contents(&error) {
        true => problem(vec![error.to_string()]),
        false => io("opening", file)(error),
    })?;
    let Loaded {
        state, problems, ..
    } = load(&connection, file, sealing)?;
    if problems.is_empty() {
        Ok(state)
    } else {
        Err(problem(problems.into_sentences()))
    }
}

/// Drops all history, and gives the space back to the disk. Returns the bytes before and after.
///
/// # Errors
/// When the store is in use or damaged, or there is no room for the copy that replaces it.
pub fn compact(dir: &Path, sealing: Option<&Sealing>) -> Result<(u64, u64), Error> {
    let directory = existing(dir)?;
    let before = file_size(&directory.journal()) + file_size(&directory.wal());
    let (connection, loaded) = open_sealed(&directory, sealing)?;
    let Loaded {
        state, meta, seal, ..
    } = loaded;
    rewrite(&directory, connection, &state, meta, state.revision, seal)?;
    Ok((before, file_size(&directory.journal())))
}

/// What a store has after its losses were accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What was wrong; none when nothing was, and nothing was changed.
    pub loss: Option<String>,
    /// How many objects there are.
    pub objects: usize,
    /// The newest revision that is still there.
    pub newest: Revision,
    /// The revision at which the store goes on.
    pub revision: Revision,
}

/// Goes on with a store that has lost its newest writes, or can't prove that it has not.
///
/// Its revisions jump, as those of a restored backup do and for the same reason.
///
/// # Errors
/// When the store is in use, or when what is there isn't sound by itself.
pub fn accept_loss(dir: &Path, sealing: Option<&Sealing>) -> Result<Kept, Error> {
    let directory = existing(dir)?;
    let (connection, loaded) = open_journal(&directory, sealing)?;
    let Loaded {
        state,
        meta,
        problems,
        seal,
        loss,
        ..
    } = loaded;
    if !problems.is_empty() {
        let problems = problems.into_sentences();
        return Err(damaged(&directory, problems, Repair::Restore));
    }
    let mut kept = Kept {
        loss,
        objects: keys(&state),
        newest: state.revision,
        revision: state.revision,
    };
    if kept.loss.is_some() {
        let jump = RestoreOptions::default().jump;
        kept.revision = Revision(state.revision.0.saturating_add(jump));
        rewrite(&directory, connection, &state, meta, kept.revision, seal)?;
    }
    Ok(kept)
}

/// Puts a journal without history in the place of one that was read and is sound.
fn rewrite(
    directory: &Directory,
    connection: rusqlite::Connection,
    state: &State,
    meta: Meta,
    revision: Revision,
    seal: Option<Arc<Seal>>,
) -> Result<(), Error> {
    let fresh = Meta {
        store: meta.store.clone(),
        ..Meta::new(revision)
    };
    // Moves the log into the file, so that the file alone is the store while it is replaced.
    Journal::new(connection, &directory.journal(), meta, None)?.close()?;
    replace_journal(directory, state, fresh, seal.as_deref())
}

/// Writes a journal that was read and is sound anew, encrypted with a new data key.
pub(crate) fn reseal(
    directory: &Directory,
    connection: rusqlite::Connection,
    loaded: Loaded,
    sealing: &Sealing,
) -> Result<(), Error> {
    let Loaded { state, meta, .. } = loaded;
    let seal = new_seal(directory, Some(sealing))?;
    rewrite(directory, connection, &state, meta, state.revision, seal)
}

/// Encrypts a store that no server is using with a new data key.
///
/// # Errors
/// When the store is in use or damaged, or when a key is missing.
pub fn rekey(dir: &Path, sealing: &Sealing) -> Result<(), Error> {
    let directory = existing(dir)?;
    let (connection, loaded) = open_journal(&directory, Some(sealing))?;
    let loaded = sound(&directory, loaded)?;
    reseal(&directory, connection, loaded, sealing)
}

/// Puts a journal with one state in the place of whatever is there.
fn replace_journal(
    directory: &Directory,
    state: &State,
    meta: Meta,
    seal: Option<&Seal>,
) -> Result<(), Error> {
    let revision = meta.revision;
    let fresh = directory.path().join("journal.new");
    snapshot::write(state, &fresh, meta, seal)?;
    // The old log must be gone before the new journal is there: SQLite would replay one into the
    // other. A crash in between leaves a journal that the witness calls damaged, and a fresh one
    // beside it; doing it again repairs that.
    for leftover in [directory.wal(), directory.shared_memory()] {
        match std::fs::remove_file(&leftover) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io("removing", &leftover)(error));
            }
            _ => {}
        }
    }
    if !directory.witness().exists() {
        // A journal without a witness would not be believed.
        Witness::open(&directory.witness(), Revision::ZERO)?;
    }
    directory.sync()?;
    let journal = directory.journal();
    std::fs::rename(&fresh, &journal).map_err(io("replacing", &journal))?;
    directory.sync()?;
    Witness::open(&directory.witness(), revision)?;
    directory.sync()
}

/// Takes a directory that holds a store: a mistyped path must not make one.
fn existing(dir: &Path) -> Result<Directory, Error> {
    if Directory::holds_store(dir) {
        return Directory::take(dir);
    }
    Err(Error::Io {
        action: format!("opening {}", dir.display()),
        source: "there is no store in this directory".into(),
    })
}

fn keys(state: &State) -> usize {
    state
        .buckets
        .iter()
        .map(|(_, bucket)| bucket.records.len())
        .sum()
}

fn file_size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}
