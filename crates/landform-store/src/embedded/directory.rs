//! The data directory: its files, its one owner, and the witness of what was acknowledged.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::{Error, Revision};

const JOURNAL: &str = "journal.db";
const LOCK: &str = "lock";
const WITNESS: &str = "acknowledged";
const CLEANED: &str = "cleaned";

/// A data directory that this process owns for as long as the value lives.
pub(crate) struct Directory {
    path: PathBuf,
    /// The lock is given up with the file, however the process ends.
    lock: File,
}

impl Directory {
    /// Takes the directory, and makes it first when it is not there.
    pub(crate) fn take(path: &Path) -> Result<Self, Error> {
        create(path)?;
        let lock_path = path.join(LOCK);
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock_path)
            .map_err(io("opening", &lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked {
                    dir: path.display().to_string(),
                    holder: holder(&mut lock),
                });
            }
            Err(TryLockError::Error(error)) => return Err(io("locking", &lock_path)(error)),
        }
        lock.set_len(0)
            .and_then(|()| lock.write_all(describe_self().as_bytes()))
            .map_err(io("writing", &lock_path))?;
        Ok(Self {
            path: path.to_owned(),
            lock,
        })
    }

    /// Whether there is a store in a directory, or at least the trace of one.
    pub(crate) fn holds_store(path: &Path) -> bool {
        let log = format!("{JOURNAL}-wal");
        let mut files = [JOURNAL, WITNESS, &log].into_iter();
        files.any(|file| path.join(file).exists())
    }

    /// Whether a path is one of the store's own files, which a copy must not replace.
    pub(crate) fn owns(directory: &Path, file: &Path) -> bool {
        let own = file
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| {
                name.starts_with(JOURNAL) || [LOCK, WITNESS, CLEANED].contains(&name)
            });
        let parent = match file.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        own && parent.canonicalize().ok() == directory.canonicalize().ok()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn journal(&self) -> PathBuf {
        Self::journal_in(&self.path)
    }

    /// Where the journal of a directory is, without taking the directory.
    pub(crate) fn journal_in(path: &Path) -> PathBuf {
        path.join(JOURNAL)
    }

    /// The write-ahead log that belongs to the journal.
    pub(crate) fn wal(&self) -> PathBuf {
        self.path.join(format!("{JOURNAL}-wal"))
    }

    pub(crate) fn shared_memory(&self) -> PathBuf {
        self.path.join(format!("{JOURNAL}-shm"))
    }

    pub(crate) fn witness(&self) -> PathBuf {
        self.path.join(WITNESS)
    }

    /// The note of when the journal was last written anew.
    pub(crate) fn cleaned(&self) -> PathBuf {
        self.path.join(CLEANED)
    }

    /// Makes the names of new, renamed and removed files durable.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        sync_directory(&self.path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Closing is not enough: a process that is just being started has the file, too, for a
        // moment. If unlocking fails, closing does it a little later.
        let _ = self.lock.unlock();
    }
}

/// Makes the names in a directory durable: a synced file without a synced name is lost.
pub(crate) fn sync_directory(path: &Path) -> Result<(), Error> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(io("syncing the directory", path))
}

/// Makes an empty file that nobody else may read: objects hold secrets.
pub(crate) fn create_private(path: &Path) -> Result<(), Error> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map(drop)
        .map_err(io("creating", path))
}

/// Writes a small file that nobody else may read: it is there whole and durable, or as it was before.
pub(crate) fn replace_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)
        .map_err(io("creating", &fresh))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(io("writing", &fresh))?;
    std::fs::rename(&fresh, path).map_err(io("replacing", path))?;
    path.parent().map_or(Ok(()), sync_directory)
}

fn create(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(io("creating the directory", path))?;
    match path.parent() {
        Some(parent) if parent.is_dir() => sync_directory(parent),
        _ => Ok(()),
    }
}

/// What the lock file says of its holder: process, command, start.
fn holder(lock: &mut File) -> String {
    let mut text = String::new();
    match lock.read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}

fn describe_self() -> String {
    let command: Vec<String> = std::env::args().collect();
    let since = OffsetDateTime::now_utc();
    let since = since.replace_nanosecond(0).unwrap_or(since);
    format!(
        "process {} ({}), since {}\n",
        std::process::id(),
        command.join(" "),
        since.format(&Rfc3339).unwrap_or_default()
    )
}

/// Remembers the newest acknowledged revision beside the journal.
///
/// `SQLite` takes a damaged end of its write-ahead log for a write that never finished, and goes
/// on without it. The witness tells the two apart: it is written after each sync, so a journal
/// that ends before it has lost something. It isn't synced itself (after a power loss it may be
/// older than the journal, which is fine; it can never be newer).
///
/// It is made, durably, before the journal is: a journal without a witness has lost it, and with it the
/// proof that nothing else is lost.
pub(crate) struct Witness {
    file: File,
}

const WITNESS_BYTES: usize = 16;
const WITNESS_MAGIC: [u8; 4] = *b"LFw1";

impl Witness {
    /// Sets the witness, durably, and opens it; makes one when there is none.
    pub(crate) fn open(path: &Path, revision: Revision) -> Result<Self, Error> {
        replace_private(path, &encode_witness(revision))?;
        let file = OpenOptions::new()
            .write(true)
            .open(path)
            .map_err(io("opening", path))?;
        Ok(Self { file })
    }

    /// One small write into the page cache: it outlives the process, and costs a microsecond.
    pub(crate) fn set(&self, revision: Revision) -> std::io::Result<()> {
        self.file.write_all_at(&encode_witness(revision), 0)
    }

    /// What a witness says; `None` when there is none. A witness that can't be read is a sentence about what
    /// is wrong with it.
    pub(crate) fn read(path: &Path) -> Result<Option<Revision>, String> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{} can't be read: {error}", path.display())),
        };
        match decode_witness(&bytes) {
            Some(revision) => Ok(Some(revision)),
            None => Err(format!("{} does not match its checksum", path.display())),
        }
    }
}

fn encode_witness(revision: Revision) -> [u8; WITNESS_BYTES] {
    let mut bytes = [0; WITNESS_BYTES];
    bytes[..4].copy_from_slice(&WITNESS_MAGIC);
    bytes[4..12].copy_from_slice(&revision.0.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[..12]);
    bytes[12..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn decode_witness(bytes: &[u8]) -> Option<Revision> {
    let revision = u64::from_le_bytes(bytes.get(4..12)?.try_into().ok()?);
    (bytes == encode_witness(Revision(revision))).then_some(Revision(revision))
}

/// Names what failed; for `map_err`.
pub(crate) fn io<E>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Error
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let action = format!("{action} {}", path.display());
    move |error| Error::Io {
        action,
        source: error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_witness_is_read_back_and_each_flipped_bit_is_noticed() {
        let bytes = encode_witness(Revision(7_000_000_001));
        assert_eq!(decode_witness(&bytes), Some(Revision(7_000_000_001)));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode_witness(&flipped), None, "bit {bit}");
        }
        assert_eq!(decode_witness(&bytes[..8]), None);
    }
}
