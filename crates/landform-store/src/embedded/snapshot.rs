//! One state as one file: what backups, restored stores and compacted stores are made of.
//!
//! The file is a journal that holds the newest record of each key and no history. It is written
//! from memory, which was verified when the store was opened, so a running store goes on undisturbed.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::directory::{create_private, io, sync_directory};
use super::journal::{Meta, create_tables, insert, set_meta};
use super::row::{Row, RowKind, row_id};
use crate::seal::Seal;
use crate::state::State;
use crate::{Error, Record};

/// Writes a state to a file, which appears whole or not at all; one that was there is replaced.
pub(crate) fn write(
    state: &State,
    file: &Path,
    meta: Meta,
    seal: Option<&Seal>,
) -> Result<(), Error> {
    let temporary = temporary_name(file);
    let written = write_temporary(state, &temporary, meta, seal);
    let renamed = written.and_then(|()| {
        std::fs::rename(&temporary, file).map_err(io("renaming the finished copy to", file))
    });
    if let Err(error) = renamed {
        // The half-written file helps nobody; if it can't be removed, the first error matters.
        let _ = std::fs::remove_file(&temporary);
        return Err(error);
    }
    match file.parent() {
        Some(parent) if parent != Path::new("") => sync_directory(parent),
        _ => sync_directory(Path::new(".")),
    }
}

fn temporary_name(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    name.into()
}

fn write_temporary(
    state: &State,
    path: &Path,
    meta: Meta,
    seal: Option<&Seal>,
) -> Result<(), Error> {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(io("removing", path)(error));
    }
    create_private(path)?;
    fill(state, path, meta, seal)?;
    File::open(path)
        .and_then(|file| file.sync_all())
        .map_err(io("syncing", path))
}

fn fill(state: &State, path: &Path, mut meta: Meta, seal: Option<&Seal>) -> Result<(), Error> {
    let failed = |error: rusqlite::Error| match error.sqlite_error() {
        Some(cause) if super::journal::is_full(*cause) => Error::DiskFull {
            path: path.display().to_string(),
        },
        _ => io("writing", path)(error),
    };
    let connection = Connection::open(path).map_err(failed)?;
    // A crash leaves a temporary file that nobody reads: it needs neither journal nor syncs.
    connection
        .pragma_update(None, "journal_mode", "OFF")
        .and_then(|()| connection.pragma_update(None, "synchronous", "OFF"))
        .map_err(failed)?;
    create_tables(&connection, &meta, seal).map_err(failed)?;

    let mut records: Vec<&Record> = state
        .buckets
        .iter()
        .flat_map(|(_, bucket)| bucket.records.iter())
        .map(|(_, record)| &**record)
        .collect();
    records.sort_by_key(|record| record.modified);
    let transaction = connection.unchecked_transaction().map_err(failed)?;
    let mut index = 0;
    for (position, record) in records.iter().enumerate() {
        let continues = position > 0 && records[position - 1].modified == record.modified;
        index = if continues { index + 1 } else { 0 };
        let row = Row {
            id: row_id(record.modified, index)?,
            kind: RowKind::Put,
            created: record.created,
            bucket: record.key.bucket.as_str(),
            name: &record.key.name,
            value: &record.value,
        };
        let inserted = insert(&transaction, &row, seal);
        meta.add(inserted.map_err(|error| match error.downcast() {
            Ok(error) => failed(*error),
            Err(other) => io("writing", path)(other),
        })?);
    }
    set_meta(&transaction, &meta).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))
}
