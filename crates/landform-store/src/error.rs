//! What can go wrong, as the store's users must tell it apart.

use crate::Revision;

/// A read or write that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The revision asked for is no longer in the history.
    #[error("revision {asked} is compacted; the oldest that can be read is {oldest}")]
    Compacted {
        /// What was asked for.
        asked: Revision,
        /// What could be.
        oldest: Revision,
    },
    /// The revision asked for does not exist yet.
    #[error("revision {asked} is in the future; the newest is {newest}")]
    Future {
        /// What was asked for.
        asked: Revision,
        /// What exists.
        newest: Revision,
    },
    /// A transaction that compares a key after it has written it.
    #[error("the transaction compares key {0} a second time")]
    DuplicateKey(String),
    /// The disk has no room. The write was refused; nothing acknowledged is lost.
    #[error("the disk that holds {path} is full: free some space and try again")]
    DiskFull {
        /// The file that could not grow.
        path: String,
    },
    /// The transaction would make the records larger than it allows. Nothing was written.
    #[error("the records take {bytes} bytes, and would take more than {bytes_max}")]
    Full {
        /// What they take now.
        bytes: u64,
        /// What they may take.
        bytes_max: u64,
    },
    /// The store refuses writes since an earlier failure left the disk in doubt.
    #[error("the store takes no writes since {since}: check the disk, then restart the server")]
    ReadOnly {
        /// What happened.
        since: String,
    },
    /// The data directory is used by another process.
    #[error("the data directory {dir} is in use by {holder}: stop it, or name another --data-dir")]
    Locked {
        /// The directory.
        dir: String,
        /// Who holds it (process id, command, since when), as far as it can be told.
        holder: String,
    },
    /// Records on disk that don't match their checksums, or a damaged file.
    #[error("the store in {dir} is damaged: {}", problems.join("; "))]
    Damaged {
        /// The directory.
        dir: String,
        /// What is affected, one sentence each.
        problems: Vec<String>,
    },
    /// Values that are encrypted, and whose key isn't there. Nothing is wrong with them.
    #[error("what is encrypted in {place} can't be read: {problem}")]
    Sealed {
        /// The directory, or the file of a backup.
        place: String,
        /// Which key is missing, and what to do.
        problem: String,
    },
    /// Reading or writing failed.
    #[error("{action}")]
    Io {
        /// What was being done, to which file.
        action: String,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store is shutting down.
    #[error("the store is closed")]
    Closed,
}

/// Why a watch could not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The watch's position is no longer in the history: list again, then watch from there.
    #[error("revision {asked} is compacted; the oldest to watch from is {oldest}")]
    Compacted {
        /// Where the watch was, or was to start.
        asked: Revision,
        /// Where one could start.
        oldest: Revision,
    },
    /// The store is shutting down.
    #[error("the store is closed")]
    Closed,
}
