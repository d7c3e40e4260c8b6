//! Reading the journal back: every row is checked, and what is wrong is named.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use rusqlite::{Connection, ErrorCode};

use super::directory::io;
use super::journal::{Meta, connect, unknown_format, wrapped_key};
use super::row::{Row, RowKind, revision_of};
use crate::seal::{Seal, Sealing};
use crate::state::State;
use crate::{Bucket, Error, Key, Op, Record, Revision};

/// More problems than this are counted, not listed.
const MOST_PROBLEMS: usize = 50;

const SELECT: &str =
    "SELECT id, kind, created, bucket, name, checksum, value FROM journal ORDER BY id";
const SELECT_META: &str =
    "SELECT store, revision, compacted, rows, digest, checksum FROM meta WHERE id = 1";

/// The contents of a journal, and what is wrong with them.
pub(crate) struct Loaded {
    pub(crate) state: State,
    pub(crate) meta: Meta,
    pub(crate) problems: Problems,
    /// Its data key, if it has one.
    pub(crate) seal: Option<Arc<Seal>>,
    /// How many of its values should be encrypted and aren't.
    pub(crate) unsealed: usize,
    /// Why the journal, sound as it is, may have lost its newest writes.
    pub(crate) loss: Option<String>,
}

/// Sentences about what is damaged, each once.
#[derive(Default)]
pub(crate) struct Problems {
    sentences: Vec<String>,
    unlisted: usize,
}

impl Problems {
    pub(crate) fn add(&mut self, sentence: String) {
        if self.sentences.len() < MOST_PROBLEMS {
            self.sentences.push(sentence);
        } else {
            self.unlisted += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sentences.is_empty()
    }

    pub(crate) fn into_sentences(mut self) -> Vec<String> {
        if self.unlisted > 0 {
            self.sentences
                .push(format!("{} more problems like these", self.unlisted));
        }
        self.sentences
    }
}

/// Reads a journal whose tables exist. Fails only when the file can't be read at all (permissions,
/// a broken disk); everything that is wrong *in* it is among the problems.
pub(crate) fn load(
    connection: &Connection,
    path: &Path,
    sealing: Option<&Sealing>,
) -> Result<Loaded, Error> {
    let mut loaded = Loaded {
        state: State::default(),
        meta: Meta::new(Revision::ZERO),
        problems: Problems::default(),
        seal: None,
        unsealed: 0,
        loss: None,
    };
    match replay(
        connection,
        &mut loaded,
        sealing,
        &path.display().to_string(),
    ) {
        Ok(()) => {}
        Err(Unread::Sealed(error)) => return Err(error),
        Err(Unread::File(error)) if blames_contents(&error) => {
            loaded.problems.add(format!("{}: {error}", path.display()));
        }
        Err(Unread::File(error)) => return Err(io("reading", path)(error)),
    }
    Ok(loaded)
}

/// Why a journal can't be read to its end.
enum Unread {
    File(rusqlite::Error),
    Sealed(Error),
}

impl From<rusqlite::Error> for Unread {
    fn from(error: rusqlite::Error) -> Self {
        Self::File(error)
    }
}

/// Whether an error of `SQLite` is about what the file holds rather than about reaching it.
pub(crate) fn blames_contents(error: &rusqlite::Error) -> bool {
    !matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::CannotOpen
                | ErrorCode::SystemIoFailure
                | ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::DatabaseBusy
                | ErrorCode::OutOfMemory
                | ErrorCode::DiskFull
        )
    )
}

/// What `SQLite` finds wrong with its file: also in pages that hold no row.
pub(crate) fn structural_faults(path: &Path) -> Vec<String> {
    let rows = connect(path).and_then(|connection| {
        connection
            .prepare("PRAGMA quick_check(20)")?
            .query_map([], |row| row.get::<_, String>(0))?
            .collect::<Result<Vec<_>, _>>()
    });
    match rows {
        Ok(mut rows) => {
            rows.retain(|row| row != "ok");
            rows
        }
        Err(error) => vec![format!("{} can't be checked: {error}", path.display())],
    }
}

fn replay(
    connection: &Connection,
    loaded: &mut Loaded,
    sealing: Option<&Sealing>,
    place: &str,
) -> Result<(), Unread> {
    if let Some(problem) = unknown_format(connection)? {
        loaded.problems.add(problem);
        return Ok(());
    }
    let (meta, checksum) = connection.query_row(SELECT_META, [], parse_meta)?;
    if meta.checksum() != checksum {
        let problem = "the journal's own summary does not match its checksum";
        loaded.problems.add(problem.to_owned());
        return Ok(());
    }
    if let Some(wrapped) = wrapped_key(connection)? {
        let seal = Seal::open(sealing, wrapped, place).map_err(Unread::Sealed)?;
        loaded.seal = Some(seal);
    }
    let mut replay = Replay {
        seal: loaded.seal.clone(),
        wanted: sealing,
        unsealed: 0,
        state: State {
            revision: meta.compacted,
            compacted: meta.compacted,
            ..State::default()
        },
        counted: Meta {
            rows: 0,
            digest: 0,
            ..meta.clone()
        },
        last_id: 0,
        problems: &mut loaded.problems,
    };
    let mut statement = connection.prepare(SELECT)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match parse_row(row) {
            Ok((row, checksum)) => replay.row(&row, checksum),
            Err(error) => {
                let revision = row.get(0).map_or(Revision::ZERO, revision_of);
                let problem = format!("a record at revision {revision} is unreadable: {error}");
                replay.problems.add(problem);
            }
        }
    }
    replay.finish(&meta);
    loaded.unsealed = replay.unsealed;
    loaded.state = replay.state;
    loaded.meta = meta;
    Ok(())
}

fn parse_meta(row: &rusqlite::Row<'_>) -> rusqlite::Result<(Meta, u32)> {
    let meta = Meta {
        store: row.get(0)?,
        revision: Revision(row.get::<_, i64>(1)?.cast_unsigned()),
        compacted: Revision(row.get::<_, i64>(2)?.cast_unsigned()),
        rows: row.get::<_, i64>(3)?.cast_unsigned(),
        digest: row.get::<_, i64>(4)?.cast_unsigned(),
    };
    Ok((meta, row.get(5)?))
}

fn parse_row<'a>(row: &'a rusqlite::Row<'_>) -> rusqlite::Result<(Row<'a>, u32)> {
    let code: i64 = row.get(1)?;
    let kind = RowKind::from_code(code).ok_or(rusqlite::Error::IntegralValueOutOfRange(1, code))?;
    let parsed = Row {
        id: row.get(0)?,
        kind,
        created: Revision(row.get::<_, i64>(2)?.cast_unsigned()),
        bucket: row.get_ref(3)?.as_str()?,
        name: row.get_ref(4)?.as_str()?,
        value: row.get_ref(6)?.as_blob()?,
    };
    Ok((parsed, row.get(5)?))
}

/// A value that was not encrypted with the journal's key for its place.
struct Undecryptable;

/// The journal, as far as it was read.
struct Replay<'a> {
    seal: Option<Arc<Seal>>,
    wanted: Option<&'a Sealing>,
    unsealed: usize,
    state: State,
    counted: Meta,
    last_id: i64,
    problems: &'a mut Problems,
}

impl Replay<'_> {
    fn row(&mut self, row: &Row<'_>, checksum: u32) {
        let revision = row.revision();
        let place = format_args!("/{}/{} at revision {revision}", row.bucket, row.name);
        self.counted.add(checksum);
        if row.checksum() != checksum {
            let problem = format!("the record of {place} does not match its checksum");
            return self.problems.add(problem);
        }
        if row.id <= self.last_id || revision > self.counted.revision {
            return self
                .problems
                .add(format!("the record of {place} is out of order"));
        }
        self.last_id = row.id;
        if row.bucket.is_empty() || row.bucket.contains('/') {
            return self
                .problems
                .add(format!("the record of {place} has no valid bucket"));
        }
        let Ok(value) = self.value(row) else {
            return self
                .problems
                .add(format!("the record of {place} can't be decrypted"));
        };
        let key = self.key(row);
        if revision <= self.state.compacted {
            match value {
                Some(value) => self.state.load(Record {
                    key,
                    value,
                    created: row.created,
                    modified: revision,
                }),
                None => self.state.unload(&key),
            }
            return;
        }
        self.expect_no_gap_before(revision);
        self.state.revision = revision;
        let is_put = value.is_some();
        let op = value.map_or(Op::Delete, Op::Put);
        let fits = self
            .state
            .write(&key, &op, revision)
            .is_some_and(|event| !is_put || event.record.created == row.created);
        if !fits {
            self.problems.add(format!(
                "the record of {place} does not follow from the one before it, which is missing"
            ));
        }
    }

    /// The row's value in plain; a deletion has none.
    fn value(&mut self, row: &Row<'_>) -> Result<Option<Bytes>, Undecryptable> {
        match row.kind {
            RowKind::Delete => Ok(None),
            RowKind::Put => {
                let wanted = self.wanted.map(|wanted| &wanted.buckets);
                if wanted.is_some_and(|buckets| buckets.contains(row.bucket)) {
                    self.unsealed += 1;
                }
                Ok(Some(Bytes::copy_from_slice(row.value)))
            }
            RowKind::Sealed => {
                let seal = self.seal.as_ref().ok_or(Undecryptable)?;
                let plain = seal.decrypt(&row.place(), row.value);
                Ok(Some(plain.ok_or(Undecryptable)?.into()))
            }
        }
    }

    /// Every revision of the history has at least one row.
    fn expect_no_gap_before(&mut self, revision: Revision) {
        // Naming some shows the place; a hole of millions need not be spelt out.
        for lost in (self.state.revision.0.saturating_add(1)..revision.0).take(MOST_PROBLEMS) {
            let problem = format!("revision {lost} is missing from the journal");
            self.problems.add(problem);
        }
    }

    fn finish(&mut self, meta: &Meta) {
        self.expect_no_gap_before(Revision(meta.revision.0.saturating_add(1)));
        self.state.revision = meta.revision;
        if (self.counted.rows, self.counted.digest) != (meta.rows, meta.digest) {
            self.problems.add(format!(
                "the journal should hold {} records, and {} were found{}",
                meta.rows,
                self.counted.rows,
                if meta.rows == self.counted.rows {
                    ", not all of them the ones that were written"
                } else {
                    ""
                }
            ));
        }
    }

    /// The row's key, which shares its bucket's name with the others.
    fn key(&self, row: &Row<'_>) -> Key {
        let bucket = self
            .state
            .shared_bucket(row.bucket)
            .cloned()
            .unwrap_or_else(|| Bucket::new(row.bucket));
        Key {
            bucket,
            name: Arc::from(row.name),
        }
    }
}
