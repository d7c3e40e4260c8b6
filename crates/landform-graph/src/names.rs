//! Names to small ids and back, with each key stored once.
//!
//! A `HashMap<K, u32>` beside a `Vec<K>` would hold every key twice: 50 MiB for a million objects.
//! This table holds the id and half of the hash, eight bytes each. Its hasher has random keys, since
//! people choose the names; that leaks nowhere, because the table is never iterated.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use crate::{Key, NONE, NodeId};

#[derive(Clone, Copy)]
struct Entry {
    hash: u32,
    id: u32,
}

const EMPTY: Entry = Entry { hash: 0, id: NONE };

/// Keys by id, and ids by key.
#[derive(Clone)]
pub(crate) struct Names<K> {
    keys: Vec<Option<K>>,
    free: Vec<u32>,
    /// Ids without a key: a handful at most.
    anonymous: BTreeSet<u32>,
    /// Open addressing with linear probing; the length is a power of two, at most 7/8 full.
    table: Vec<Entry>,
    hasher: RandomState,
}

impl<K: Key> Names<K> {
    pub(crate) fn new() -> Self {
        Self {
            keys: Vec::new(),
            free: Vec::new(),
            anonymous: BTreeSet::new(),
            table: vec![EMPTY; 16],
            hasher: RandomState::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len() - self.free.len()
    }

    /// One past the largest id that was ever given.
    pub(crate) fn bound(&self) -> usize {
        self.keys.len()
    }

    /// The bytes that are allocated for all this, without what the keys themselves point to.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.capacity() * size_of::<Option<K>>()
            + self.free.capacity() * size_of::<u32>()
            + self.table.capacity() * size_of::<Entry>()
    }

    pub(crate) fn key(&self, id: NodeId) -> Option<&K> {
        self.keys.get(id.index())?.as_ref()
    }

    pub(crate) fn find(&self, key: &K) -> Option<NodeId> {
        let id = self.table[self.place(key, self.hash(key))].id;
        (id != NONE).then_some(NodeId(id))
    }

    /// The id of a key, and whether it was given just now.
    pub(crate) fn intern(&mut self, key: &K) -> (NodeId, bool) {
        let hash = self.hash(key);
        let mut place = self.place(key, hash);
        if self.table[place].id != NONE {
            return (NodeId(self.table[place].id), false);
        }
        if (self.len() + 1) * 8 > self.table.len() * 7 {
            self.grow();
            place = self.place(key, hash);
        }
        let id = self.free_id();
        self.keys[id as usize] = Some(key.clone());
        self.table[place] = Entry { hash, id };
        (NodeId(id), true)
    }

    /// An id without a key.
    pub(crate) fn add_anonymous(&mut self) -> NodeId {
        let id = self.free_id();
        self.anonymous.insert(id);
        NodeId(id)
    }

    fn free_id(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            crate::push(&mut self.keys, None);
            // Ids are 32 bits wide by design; four thousand million objects don't fit in memory.
            u32::try_from(self.keys.len() - 1).unwrap_or(NONE)
        })
    }

    /// Whether an id was given and not released.
    pub(crate) fn is_given(&self, id: NodeId) -> bool {
        self.key(id).is_some() || self.anonymous.contains(&id.0)
    }

    /// Forgets an id and its key; the id is free.
    pub(crate) fn release(&mut self, id: NodeId) {
        if self.anonymous.remove(&id.0) {
            self.free.push(id.0);
            return;
        }
        let Some(key) = self.keys[id.index()].take() else {
            return;
        };
        self.free.push(id.0);
        let mask = self.table.len() - 1;
        let mut hole = self.home(self.hash(&key));
        while self.table[hole].id != id.0 {
            hole = (hole + 1) & mask;
        }
        // Entries behind the hole move up as long as they don't stand where they belong.
        let mut next = (hole + 1) & mask;
        while self.table[next].id != NONE {
            let home = self.home(self.table[next].hash);
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(hole) & mask) {
                self.table[hole] = self.table[next];
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.table[hole] = EMPTY;
    }

    fn hash(&self, key: &K) -> u32 {
        let hash = self.hasher.hash_one(key);
        (hash ^ (hash >> 32)) as u32
    }

    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.table.len() - 1)
    }

    /// Where the key is, or where it would go.
    fn place(&self, key: &K, hash: u32) -> usize {
        let mask = self.table.len() - 1;
        let mut place = self.home(hash);
        loop {
            let Entry { hash: found, id } = self.table[place];
            if id == NONE || (found == hash && self.keys[id as usize].as_ref() == Some(key)) {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let larger = vec![EMPTY; self.table.len() * 2];
        let old = std::mem::replace(&mut self.table, larger);
        let mask = self.table.len() - 1;
        for entry in old.into_iter().filter(|entry| entry.id != NONE) {
            let mut place = self.home(entry.hash);
            while self.table[place].id != NONE {
                place = (place + 1) & mask;
            }
            self.table[place] = entry;
        }
    }
}
