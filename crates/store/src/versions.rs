//! A row in memory: its key, in a form that compares fast, and its versions.

use std::borrow::Borrow;
use std::cmp;
use std::collections::BTreeMap;

use bytes::Bytes;
use stet_domain::store::Seq;

/// Approximate bytes of a row in memory beside its key and its versions. They comprise its place in
/// a tree whose nodes are half full, the key's reference count, and the allocator's rounding.
pub(super) const ROW_OVERHEAD: usize = 240;
/// Bytes of a version beside its value.
const VERSION_OVERHEAD: usize = 48;

#[derive(Debug, Clone)]
struct Version {
    seq: Seq,
    value: Option<Bytes>,
}

impl Version {
    fn bytes(&self) -> usize {
        version_bytes(self.value.as_ref())
    }

    fn bytes_of_all(&self, older: &[Version]) -> usize {
        self.bytes() + older.iter().map(Version::bytes).sum::<usize>()
    }
}

/// Returns the bytes that a version with this value takes.
pub(super) fn version_bytes(value: Option<&Bytes>) -> usize {
    VERSION_OVERHEAD + value.map_or(0, Bytes::len)
}

/// The versions of a row, newest first.
#[derive(Debug, Clone)]
pub(super) struct Versions {
    newest: Version,
    older: Vec<Version>,
}

impl Versions {
    /// Creates a row with one version.
    pub fn new(seq: Seq, value: Option<Bytes>) -> Versions {
        Versions { newest: Version { seq, value }, older: Vec::new() }
    }

    /// Returns the newest value among the versions up to `seq`. `Some(None)`: the row is removed.
    /// `None`: no version is known.
    pub fn at(&self, seq: Seq) -> Option<&Option<Bytes>> {
        if self.newest.seq <= seq {
            return Some(&self.newest.value);
        }
        self.older.iter().find(|version| version.seq <= seq).map(|version| &version.value)
    }

    /// Returns the newest value.
    pub fn newest(&self) -> Option<&Bytes> {
        self.newest.value.as_ref()
    }

    /// Adds a new version in front, and drops those that neither view can see. Returns the number
    /// of bytes dropped.
    pub fn push(&mut self, seq: Seq, value: Option<Bytes>, committed: Seq) -> usize {
        let before = std::mem::replace(&mut self.newest, Version { seq, value });
        if before.seq == seq {
            // The same change set again: its later change wins.
            return before.bytes();
        }
        if before.seq <= committed {
            let forgotten = before.bytes_of_all(&self.older) - before.bytes();
            self.older.clear();
            // Most rows that have an older version have this one.
            self.older.reserve_exact(1);
            self.older.push(before);
            return forgotten;
        }
        let visible = self.older.iter().position(|version| version.seq <= committed);
        let mut forgotten = 0;
        if let Some(visible) = visible {
            forgotten = self.older[visible + 1..].iter().map(Version::bytes).sum();
            self.older.truncate(visible + 1);
        }
        self.older.reserve_exact(1);
        self.older.insert(0, before);
        forgotten
    }

    /// Drops the versions after `committed`; returns false if none is left.
    pub fn fall_back(&mut self, committed: Seq) -> bool {
        if self.newest.seq <= committed {
            return true;
        }
        let Some(visible) = self.older.iter().position(|version| version.seq <= committed) else { return false };
        self.newest = self.older.remove(visible);
        self.older.drain(..visible);
        true
    }

    pub fn bytes(&self) -> usize {
        self.newest.bytes_of_all(&self.older)
    }
}

/// A row's key with its first bytes as a number.
#[derive(Debug, Clone)]
pub(super) struct RowKey {
    head: u128,
    pub key: Bytes,
}

impl RowKey {
    pub fn new(key: Bytes) -> RowKey {
        RowKey { head: head(&key), key }
    }
}

/// Returns the first 16 bytes of a key as a number, padded with zeros. Its order never contradicts
/// the order of the keys; it only leaves ties.
fn head(key: &[u8]) -> u128 {
    let mut head = [0; 16];
    let len = key.len().min(16);
    head[..len].copy_from_slice(&key[..len]);
    u128::from_be_bytes(head)
}

/// The parts by which keys are compared. A trait, so that a borrowed key can be looked up without a
/// copy.
pub(super) trait ComparableKey {
    fn parts(&self) -> (u128, &[u8]);
}

impl ComparableKey for RowKey {
    fn parts(&self) -> (u128, &[u8]) {
        (self.head, &self.key)
    }
}

/// A borrowed key for a lookup.
pub(super) struct LookupKey<'a>(u128, &'a [u8]);

impl<'a> LookupKey<'a> {
    pub fn new(key: &'a [u8]) -> LookupKey<'a> {
        LookupKey(head(key), key)
    }
}

impl ComparableKey for LookupKey<'_> {
    fn parts(&self) -> (u128, &[u8]) {
        (self.0, self.1)
    }
}

impl<'a> Borrow<dyn ComparableKey + 'a> for RowKey {
    fn borrow(&self) -> &(dyn ComparableKey + 'a) {
        self
    }
}

impl Ord for dyn ComparableKey + '_ {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for dyn ComparableKey + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn ComparableKey + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn ComparableKey + '_ {}

impl Ord for RowKey {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for RowKey {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RowKey {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for RowKey {}

/// The rows of one table in one generation.
pub(super) type VersionedRows = BTreeMap<RowKey, Versions>;
