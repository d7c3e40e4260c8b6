//! A row of the journal: one write of one key, with a checksum over all of it.

use crate::{Error, Event, EventKind, Key, Revision};

/// How many writes of one revision the row ids have room for.
pub(crate) const MOST_WRITES: usize = 1 << INDEX_BITS;
const INDEX_BITS: u32 = 16;

/// What a row did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    Put,
    Delete,
    /// A put whose value is encrypted.
    Sealed,
}

impl RowKind {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Put => 1,
            Self::Delete => 2,
            Self::Sealed => 3,
        }
    }

    pub(crate) fn from_code(code: i64) -> Option<Self> {
        match code {
            1 => Some(Self::Put),
            2 => Some(Self::Delete),
            3 => Some(Self::Sealed),
            _ => None,
        }
    }
}

/// A row, as it is written and read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    /// The revision and the position in its transaction, so that ids order the journal.
    pub(crate) id: i64,
    pub(crate) kind: RowKind,
    pub(crate) created: Revision,
    pub(crate) bucket: &'a str,
    pub(crate) name: &'a str,
    pub(crate) value: &'a [u8],
}

impl<'a> Row<'a> {
    pub(crate) fn of_event(event: &'a Event, index: usize) -> Result<Self, Error> {
        let (kind, created, value) = match event.kind {
            EventKind::Created | EventKind::Updated => {
                (RowKind::Put, event.record.created, &event.record.value[..])
            }
            EventKind::Deleted => (RowKind::Delete, Revision::ZERO, &[][..]),
        };
        Ok(Self {
            id: row_id(event.revision, index)?,
            kind,
            created,
            bucket: event.record.key.bucket.as_str(),
            name: &event.record.key.name,
            value,
        })
    }

    pub(crate) fn revision(&self) -> Revision {
        revision_of(self.id)
    }

    /// What an encrypted value is encrypted for: everything but the value itself.
    pub(crate) fn place(&self) -> Vec<u8> {
        let mut place = Vec::with_capacity(24 + self.bucket.len() + self.name.len());
        place.extend_from_slice(&self.id.to_le_bytes());
        place.extend_from_slice(&self.created.0.to_le_bytes());
        place.extend_from_slice(&(self.bucket.len() as u64).to_le_bytes());
        place.extend_from_slice(self.bucket.as_bytes());
        place.extend_from_slice(self.name.as_bytes());
        place
    }

    /// Covers every field, with lengths, so that no two different rows are read alike.
    pub(crate) fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        let mut head = [0; 25];
        head[..8].copy_from_slice(&self.id.to_le_bytes());
        head[8..16].copy_from_slice(&self.created.0.to_le_bytes());
        head[16..20].copy_from_slice(&(self.bucket.len() as u32).to_le_bytes());
        head[20..24].copy_from_slice(&(self.name.len() as u32).to_le_bytes());
        head[24] = self.kind.code();
        hasher.update(&head);
        hasher.update(self.bucket.as_bytes());
        hasher.update(self.name.as_bytes());
        hasher.update(self.value);
        hasher.finalize()
    }
}

/// The revision that a row id belongs to.
pub(crate) fn revision_of(id: i64) -> Revision {
    Revision((id >> INDEX_BITS).cast_unsigned())
}

/// The id of the row at a position of a revision.
pub(crate) fn row_id(revision: Revision, index: usize) -> Result<i64, Error> {
    let highest = u64::MAX >> (INDEX_BITS + 1);
    if index >= MOST_WRITES || revision.0 > highest {
        return Err(Error::Io {
            action: format!("numbering write {index} of revision {revision}"),
            source: format!("a transaction has room for {MOST_WRITES} writes").into(),
        });
    }
    Ok((revision.0 << INDEX_BITS | index as u64).cast_signed())
}

/// The ids that the rows of a revision may have: from the first to before the second.
pub(crate) fn ids_of(revision: Revision) -> (i64, i64) {
    let first = (revision.0 << INDEX_BITS).cast_signed();
    (first, first + (1 << INDEX_BITS))
}

/// The rows that nobody needs once this event left the history: what it replaced and, as a key
/// that is gone needs no row, a deletion itself.
pub(crate) fn rows_superseded_by(event: &Event) -> impl Iterator<Item = (&Key, Revision)> {
    let replaced = match event.kind {
        EventKind::Created => None,
        EventKind::Updated => event.previous.as_ref(),
        EventKind::Deleted => Some(&event.record),
    };
    let tombstone = match event.kind {
        EventKind::Created | EventKind::Updated => None,
        EventKind::Deleted => Some((&event.record.key, event.revision)),
    };
    replaced
        .map(|record| (&record.key, record.modified))
        .into_iter()
        .chain(tombstone)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Row<'_> = Row {
        id: 5 << INDEX_BITS,
        kind: RowKind::Put,
        created: Revision(3),
        bucket: "pods",
        name: "a/b",
        value: b"value",
    };

    #[test]
    fn the_checksum_covers_every_field_and_their_borders() {
        let others = [
            Row { id: 1, ..ROW },
            Row {
                kind: RowKind::Delete,
                ..ROW
            },
            Row {
                created: Revision(4),
                ..ROW
            },
            Row {
                bucket: "pod",
                name: "sa/b",
                ..ROW
            },
            Row {
                name: "a/bv",
                value: b"alue",
                ..ROW
            },
            Row {
                value: b"Value",
                ..ROW
            },
        ];
        for other in others {
            assert_ne!(other.checksum(), ROW.checksum(), "{other:?}");
        }
    }

    #[test]
    fn ids_name_revision_and_position() {
        assert_eq!(ROW.revision(), Revision(5));
        let last = row_id(Revision(5), MOST_WRITES - 1).unwrap();
        assert!(last < row_id(Revision(6), 0).unwrap());
        assert!(row_id(Revision(5), MOST_WRITES).is_err());
        assert!(row_id(Revision(u64::MAX >> 10), 0).is_err());
    }
}
