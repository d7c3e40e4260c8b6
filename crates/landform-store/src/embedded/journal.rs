//! The journal on disk: a table in `SQLite` to which each write appends one row.
//!
//! The rows in order *are* the store: replaying them gives the records, and the history as far as
//! it was not compacted. A row is checked by its checksum; a row that is missing or doubled is
//! noticed because the `meta` row counts them and sums their checksums, in the same transaction.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::directory::io;
use super::row::{Row, RowKind, ids_of, rows_superseded_by};
use crate::seal::Seal;
use crate::state::State;
use crate::{Error, Event, Key, Revision};

/// What `SQLite` files of ours say they are ("LFst").
const APPLICATION: i32 = 0x4c46_7374;
/// The layout of the tables below.
const FORMAT: i32 = 2;
/// The same without the table `seal`, from before values were encrypted.
const FORMAT_WITHOUT_SEAL: i32 = 1;

/// How long a connection waits for another one.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same while writers wait.
const RENEW_PATIENCE: Duration = Duration::from_millis(200);

const SCHEMA: &str = "
    CREATE TABLE journal (
        id INTEGER PRIMARY KEY,
        kind INTEGER NOT NULL,
        created INTEGER NOT NULL,
        bucket TEXT NOT NULL,
        name TEXT NOT NULL,
        checksum INTEGER NOT NULL,
        value BLOB NOT NULL
    ) STRICT;
    CREATE TABLE meta (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        store TEXT NOT NULL,
        revision INTEGER NOT NULL,
        compacted INTEGER NOT NULL,
        rows INTEGER NOT NULL,
        digest INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE seal (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        wrapped TEXT NOT NULL
    ) STRICT;
";

const INSERT: &str = "INSERT INTO journal (id, kind, created, bucket, name, checksum, value)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const REMOVE: &str = "DELETE FROM journal
    WHERE id >= ?1 AND id < ?2 AND name = ?3 AND bucket = ?4 RETURNING checksum";
const SET_SEAL: &str = "INSERT INTO seal (id, wrapped) VALUES (1, ?1)";
const SELECT_SEAL: &str = "SELECT wrapped FROM seal WHERE id = 1";
const SET_META: &str = "INSERT OR REPLACE INTO meta
    (id, store, revision, compacted, rows, digest, checksum) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)";

/// What the journal says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Names this store; a restored copy gets a name of its own.
    pub(crate) store: String,
    /// The newest revision; it never goes back, even when all rows of it are gone.
    pub(crate) revision: Revision,
    pub(crate) compacted: Revision,
    pub(crate) rows: u64,
    /// The sum of the rows' checksums.
    pub(crate) digest: u64,
}

impl Meta {
    /// For a journal that starts at a revision, without history before it.
    pub(crate) fn new(revision: Revision) -> Self {
        Self {
            store: uuid::Uuid::new_v4().to_string(),
            revision,
            compacted: revision,
            rows: 0,
            digest: 0,
        }
    }

    pub(crate) fn add(&mut self, checksum: u32) {
        self.rows += 1;
        self.digest = self.digest.wrapping_add(checksum.into());
    }

    fn subtract(&mut self, checksum: u32) {
        self.rows = self.rows.saturating_sub(1);
        self.digest = self.digest.wrapping_sub(checksum.into());
    }

    pub(crate) fn checksum(&self) -> u32 {
        let text = format!(
            "{} {} {} {} {}",
            self.store, self.revision, self.compacted, self.rows, self.digest
        );
        crc32fast::hash(text.as_bytes())
    }
}

/// The journal, open for writing.
pub(crate) struct Journal {
    pub(crate) connection: Connection,
    path: PathBuf,
    pub(crate) meta: Meta,
    seal: Option<Arc<Seal>>,
    wal_pages: Arc<AtomicU32>,
}

pub(crate) type WriteError = Box<dyn std::error::Error + Send + Sync>;

/// Why a batch was not written.
pub(crate) enum Failure {
    /// No room; the journal is as before.
    Full,
    /// Nobody can say what is on disk: no more writes.
    Doubt(Error),
}

/// Opens a file with the settings that every connection shares.
pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    // Until the contents are known to be sound, opening and closing must not change the files.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

/// Makes the tables in an empty file, whole or not at all.
pub(crate) fn create_tables(
    connection: &Connection,
    meta: &Meta,
    seal: Option<&Seal>,
) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    set_meta(&transaction, meta)?;
    if let Some(seal) = seal {
        transaction.execute(SET_SEAL, [seal.wrapped()])?;
    }
    transaction.commit()
}

/// The wrapped data key of a journal whose format is known.
pub(crate) fn wrapped_key(connection: &Connection) -> rusqlite::Result<Option<String>> {
    if format(connection)? == FORMAT_WITHOUT_SEAL {
        return Ok(None);
    }
    connection
        .query_row(SELECT_SEAL, [], |row| row.get(0))
        .optional()
}

fn format(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether a file has nothing in it yet: new, or left so by a crash during its first start.
pub(crate) fn is_blank(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| {
        row.get(0)
    })
}

/// What is wrong with the file's kind and layout, if anything.
pub(crate) fn unknown_format(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format = format(connection)?;
    Ok(if application != APPLICATION {
        Some("the file is no journal of a Landform store".to_owned())
    } else if ![FORMAT, FORMAT_WITHOUT_SEAL].contains(&format) {
        Some(format!(
            "the journal has format {format}, and this version of Landform reads format {FORMAT}"
        ))
    } else {
        None
    })
}

/// Adds a row, whose value is encrypted if the journal's seal covers it.
pub(crate) fn insert(
    connection: &Connection,
    row: &Row<'_>,
    seal: Option<&Seal>,
) -> Result<u32, WriteError> {
    match seal.filter(|seal| row.kind == RowKind::Put && seal.covers(row.bucket)) {
        None => Ok(insert_as_is(connection, row)?),
        Some(seal) => {
            let value = seal.encrypt(&row.place(), row.value)?;
            let kind = RowKind::Sealed;
            let value = value.as_slice();
            Ok(insert_as_is(
                connection,
                &Row {
                    kind,
                    value,
                    ..*row
                },
            )?)
        }
    }
}

fn insert_as_is(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<u32> {
    let checksum = row.checksum();
    connection.prepare_cached(INSERT)?.execute(params![
        row.id,
        row.kind.code(),
        row.created.0.cast_signed(),
        row.bucket,
        row.name,
        checksum,
        row.value,
    ])?;
    Ok(checksum)
}

pub(crate) fn set_meta(connection: &Connection, meta: &Meta) -> rusqlite::Result<()> {
    connection.prepare_cached(SET_META)?.execute(params![
        meta.store,
        meta.revision.0.cast_signed(),
        meta.compacted.0.cast_signed(),
        meta.rows.cast_signed(),
        meta.digest.cast_signed(),
        meta.checksum(),
    ])?;
    Ok(())
}

impl Journal {
    /// Takes a connection whose contents were found sound.
    pub(crate) fn new(
        mut connection: Connection,
        path: &Path,
        meta: Meta,
        seal: Option<Arc<Seal>>,
    ) -> Result<Self, Error> {
        let wal_pages = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&wal_pages);
        connection
            .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages: i32| {
                counter.store(pages.unsigned_abs(), Ordering::Relaxed);
                Ok(())
            }))
            .map_err(io("opening", path))?;
        Ok(Self {
            connection,
            path: path.to_owned(),
            meta,
            seal,
            wal_pages,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How long the write-ahead log was after the last commit.
    pub(crate) fn wal_pages(&self) -> u32 {
        self.wal_pages.load(Ordering::Relaxed)
    }

    /// Writes a batch, durably: its events, and the removal of rows that left the history.
    pub(crate) fn write(
        &mut self,
        events: &[Arc<Event>],
        dropped: &[Arc<Event>],
        state: &State,
    ) -> Result<(), Failure> {
        match self.try_write(events, dropped, state) {
            Ok(meta) => {
                self.meta = meta;
                Ok(())
            }
            Err(error) => {
                if !self.connection.is_autocommit()
                    && let Err(error) = self.connection.execute_batch("ROLLBACK")
                {
                    return Err(Failure::Doubt(io("rolling back", &self.path)(error)));
                }
                Err(self.classify(error))
            }
        }
    }

    fn try_write(
        &self,
        events: &[Arc<Event>],
        dropped: &[Arc<Event>],
        state: &State,
    ) -> Result<Meta, WriteError> {
        let mut meta = self.meta.clone();
        self.connection
            .prepare_cached("BEGIN IMMEDIATE")?
            .execute([])?;
        let mut index = 0;
        for (position, event) in events.iter().enumerate() {
            let continues = position > 0 && events[position - 1].revision == event.revision;
            index = if continues { index + 1 } else { 0 };
            let row = Row::of_event(event, index)?;
            meta.add(insert(&self.connection, &row, self.seal.as_deref())?);
        }
        for (key, revision) in dropped.iter().flat_map(|event| rows_superseded_by(event)) {
            meta.subtract(self.remove(key, revision)?);
        }
        meta.revision = state.revision;
        meta.compacted = state.compacted;
        set_meta(&self.connection, &meta)?;
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(meta)
    }

    fn remove(&self, key: &Key, revision: Revision) -> Result<u32, WriteError> {
        let (first, end) = ids_of(revision);
        let place = params![first, end, &*key.name, key.bucket.as_str()];
        let removed = self
            .connection
            .prepare_cached(REMOVE)?
            .query_row(place, |row| row.get(0))
            .optional()?;
        removed.ok_or_else(|| {
            format!("the journal lacks the record of {key} at revision {revision}").into()
        })
    }

    fn classify(&self, error: WriteError) -> Failure {
        let full = error
            .downcast_ref::<rusqlite::Error>()
            .and_then(rusqlite::Error::sqlite_error)
            .is_some_and(|error| is_full(*error));
        if full {
            Failure::Full
        } else {
            Failure::Doubt(io("writing", &self.path)(error))
        }
    }

    /// Copies what it can of the write-ahead log into the database file.
    ///
    /// Returns how many pages of the log are copied by now. When that is all of them and nobody
    /// writes meanwhile, the next write starts the log anew.
    pub(crate) fn checkpoint(connection: &Connection) -> rusqlite::Result<u32> {
        connection
            .prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?
            .query_row([], |row| row.get::<_, i64>(2))
            .map(|pages| u32::try_from(pages).unwrap_or(0))
    }

    /// Writes the file anew without what is dead, and empties the log. Returns whether the log could be emptied:
    /// not while another process reads a backup.
    pub(crate) fn renew(&self) -> rusqlite::Result<bool> {
        self.connection.execute_batch("VACUUM")?;
        self.connection.busy_timeout(RENEW_PATIENCE)?;
        let busy = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
                row.get::<_, i64>(0)
            });
        self.connection.busy_timeout(PATIENCE)?;
        Ok(busy? == 0)
    }

    /// Closes the file in one piece: everything in the database file, no log beside it.
    pub(crate) fn close(self) -> Result<(), Error> {
        let Self {
            connection, path, ..
        } = self;
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
            .map_err(io("closing", &path))?;
        connection
            .close()
            .map_err(|(_, error)| io("closing", &path)(error))
    }
}

/// Whether `SQLite` failed for want of room: also while it grew its shared-memory file.
pub(crate) fn is_full(error: rusqlite::ffi::Error) -> bool {
    error.code == ErrorCode::DiskFull || error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
}
