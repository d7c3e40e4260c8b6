//! Transactions: several compare-and-set writes that happen whole or not at all.

use bytes::Bytes;

use crate::{Error, Key, Record, Revision};

/// What must hold of a key for a transaction to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Nothing.
    Any,
    /// The key does not exist.
    Absent,
    /// The key exists and was last written at this revision.
    ModifiedAt(Revision),
    /// The key exists and has existed since this revision, whatever was written to it.
    CreatedAt(Revision),
}

/// One write.
#[derive(Clone, Debug)]
pub enum Op {
    /// Sets the value.
    Put(Bytes),
    /// Removes the key; a key that is absent stays so, without an event.
    Delete,
    /// Writes nothing: the comparison alone guards the other writes.
    Check,
}

/// Writes that belong together, applied in their order. All comparisons are with what was there before the first
/// write; a key that stands in it again has none of its own there.
#[derive(Clone, Debug, Default)]
pub struct Txn {
    /// Key, condition, write.
    pub writes: Vec<(Key, Compare, Op)>,
    /// If the records take more room after this transaction than before, they may take at most this many bytes.
    pub records_bytes_max: Option<u64>,
}

impl Txn {
    /// A transaction of one write.
    #[must_use]
    pub fn one(key: Key, compare: Compare, op: Op) -> Self {
        Self {
            writes: vec![(key, compare, op)],
            records_bytes_max: None,
        }
    }

    /// Adds a write.
    #[must_use]
    pub fn and(mut self, key: Key, compare: Compare, op: Op) -> Self {
        self.writes.push((key, compare, op));
        self
    }

    /// The transaction, refused with [`Error::Full`] if it makes the records larger than this; one that doesn't make
    /// them larger is applied, however large they are.
    #[must_use]
    pub fn within(mut self, records_bytes_max: Option<u64>) -> Self {
        self.records_bytes_max = records_bytes_max;
        self
    }

    /// Refuses a transaction that compares a key which it has written before: with what would be a guess.
    pub(crate) fn check_keys(&self) -> Result<(), Error> {
        if self.writes.len() < 2 {
            return Ok(());
        }
        let mut keys: Vec<(&Key, usize)> =
            self.writes.iter().map(|(key, ..)| key).zip(0..).collect();
        keys.sort_unstable();
        let compared_again = keys
            .windows(2)
            .find(|pair| pair[0].0 == pair[1].0 && self.writes[pair[1].1].1 != Compare::Any);
        match compared_again {
            Some(pair) => Err(Error::DuplicateKey(pair[0].0.to_string())),
            None => Ok(()),
        }
    }
}

/// How a transaction ended.
#[derive(Clone, Debug)]
pub enum TxnOutcome {
    /// Applied; this is the revision of its last write. (A transaction that changed nothing takes no revision
    /// and answers with the newest one.)
    Committed(Revision),
    /// Not applied: this write's comparison did not hold.
    Conflict {
        /// The position in [`Txn::writes`].
        index: usize,
        /// What the key holds instead.
        current: Option<Record>,
    },
}
