//! The checks of one row and of the rows that it requires.

use std::collections::BTreeMap;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use stet_actors::families::Families;
use stet_actors::rows::{index_of, owner_of};
use stet_content::ContentStore;
use stet_domain::count::count_with_noun;
use stet_domain::id::Loid;
use stet_domain::object::{
    Content, ContentLocation, Draft, Link, Record, Remainder, RemainderTask, SmallBody, Version,
};
use stet_domain::proof::{Proof, format_key};
use stet_domain::store::{ReadLevel, Row, RowPlace, RowReader, StoreError, Table, decode_value};
use stet_store::RedbStore;

use super::CheckReport;

/// The state of a check of rows.
pub(super) struct RowCheck<'a> {
    pub families: Families,
    pub store: &'a RedbStore,
    pub content: &'a ContentStore,
    pub expected: &'a mut BTreeMap<Table, u64>,
    pub report: &'a mut CheckReport,
}

impl RowCheck<'_> {
    pub fn row(&mut self, table: Table, key: &Bytes, value: &Bytes) -> Result<(), StoreError> {
        let place = format!("{} {}", table.name(), format_key(key));
        let entries = match index_of(self.families, table, key, value) {
            Ok(entries) => entries,
            Err(error) => {
                self.report.fault(format!("{place}: {error}"));
                return Ok(());
            }
        };
        for (entry, wanted) in entries {
            *self.expected.entry(entry.table).or_default() += 1;
            let name = entry.table.name();
            match self.get(&entry)? {
                Some(found) if found == wanted => {}
                Some(_) => self.report.fault(format!("{place}: its entry in {name} has another value")),
                None => self.report.fault(format!("{place}: it has no entry in {name}")),
            }
        }
        if let Some(owner) = owner_of(table, key)
            && !self.has_record(owner)?
        {
            self.report.fault(format!("{place}: its object has no record"));
        }
        // `index_of` has already verified that the row can be decoded.
        match table {
            Table::Objects | Table::Recycled => self.object(&place, &decode_value(Record::FORMAT, value)?),
            Table::Remainders => self.remainder(&place, &decode_value(Remainder::FORMAT, value)?),
            Table::Bodies => self.small_body(&place, key),
            Table::Versions => {
                let version: Version = decode_value(Version::FORMAT, value)?;
                let body = RowPlace { table: Table::Bodies, key: key.clone() };
                self.proof(|proof| proof.bytes(&place, &version.content, &body))
            }
            Table::Drafts => {
                let draft: Draft = decode_value(Draft::FORMAT, value)?;
                let body = SmallBody::key(Draft::body_loid(draft.loid));
                self.proof(|proof| proof.bytes(&place, &draft.content, &body))
            }
            Table::Correlates => {
                let Link { target, .. } = decode_value(Link::FORMAT, value)?;
                if !self.has_record(target)? {
                    self.report.fault(format!("{place}: its target {target} has no record"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn has_record(&self, object: Loid) -> Result<bool, StoreError> {
        // A post has its record in a row of its liveblog, an item in one of its topic.
        Ok(self.there(Table::Objects, object)?
            || self.there(Table::Recycled, object)?
            || self.there(Table::PartOf, object)?)
    }

    fn get(&self, key: &RowPlace) -> Result<Option<Bytes>, StoreError> {
        self.store.get(ReadLevel::Committed, key.table, &key.key)
    }

    fn there(&self, table: Table, loid: Loid) -> Result<bool, StoreError> {
        Ok(self.store.get(ReadLevel::Committed, table, &loid.to_key())?.is_some())
    }

    fn object(&mut self, place: &str, record: &Record) -> Result<(), StoreError> {
        match (&record.bin, record.folder()) {
            (None, Some(folder)) if !self.there(Table::Objects, folder)? && !self.is_under_way(folder)? => {
                self.report.fault(format!("{place}: its folder {folder} does not exist"));
            }
            (Some(bin), _)
                if !self.there(Table::Recycled, bin.entry)? && !self.is_left(bin.entry, RemainderTask::Restore)? =>
            {
                let entry = bin.entry;
                self.report.fault(format!("{place}: it was discarded with {entry}, which is not in the recycle bin"));
            }
            _ => {}
        }
        let family = self.families.get(record.family);
        self.proof(|proof| {
            proof.latest_version(place, record)?;
            family.map_or(Ok(()), |family| family.prove(record, proof))
        })
    }

    /// Reports whether a folder is being discarded or restored by a change of a subtree that is
    /// still in progress.
    fn is_under_way(&self, folder: Loid) -> Result<bool, StoreError> {
        let key = RowPlace { table: Table::Recycled, key: Bytes::copy_from_slice(&folder.to_key()) };
        let record = self.get(&key)?.and_then(|record| decode_value::<Record>(Record::FORMAT, &record).ok());
        match record.and_then(|record| record.bin) {
            Some(bin) => Ok(!Remainder::of(self.store, ReadLevel::Committed, bin.entry, None, 1)?.is_empty()),
            None => Ok(false),
        }
    }

    fn is_left(&self, entry: Loid, task: RemainderTask) -> Result<bool, StoreError> {
        Remainder::is_left(self.store, ReadLevel::Committed, entry, task)
    }

    /// Checks that the remaining work of a subtree's change can be done.
    fn remainder(&mut self, place: &str, remainder: &Remainder) -> Result<(), StoreError> {
        let Remainder { entry, task, folder, .. } = remainder;
        let wanted = if *task == RemainderTask::Restore { Table::Objects } else { Table::Recycled };
        if !self.there(wanted, *entry)? {
            self.report.fault(format!("{place}: {entry} has remaining work, but is not in {}", wanted.name()));
        }
        let fits = if *task == RemainderTask::Gather { self.there(Table::Recycled, *folder)? } else { folder == entry };
        if !fits {
            self.report.fault(format!("{place}: {folder} has remaining work, but is not in the recycle bin"));
        }
        Ok(())
    }

    /// Checks that bytes in the tables belong to a version or draft whose row says so.
    fn small_body(&mut self, place: &str, key: &Bytes) -> Result<(), StoreError> {
        let Some(loid) = Loid::from_key(key).filter(|_| key.len() == Loid::KEY_LEN) else {
            self.report.fault(format!("{place}: its key is not that of a version"));
            return Ok(());
        };
        // An unreadable row is reported where its own table is checked.
        let stored = if loid == Draft::body_loid(loid.object()) {
            let draft = self.get(&Draft::key(loid.object()))?;
            draft.map(|draft| decode_value::<Draft>(Draft::FORMAT, &draft).map(|draft| draft.content.stored))
        } else {
            let version = self.get(&Version::key(loid))?;
            version
                .map(|version| decode_value::<Version>(Version::FORMAT, &version).map(|version| version.content.stored))
        };
        match stored {
            None => self.report.fault(format!("{place}: no version or draft has this content")),
            Some(Ok(ContentLocation::File)) => {
                self.report.fault(format!("{place}: the content of its version or draft is in a file, not here"));
            }
            Some(Ok(ContentLocation::Row) | Err(_)) => {}
        }
        Ok(())
    }

    /// Calls `prove` with access to the rows and contents.
    fn proof<T>(&mut self, prove: impl FnOnce(&mut Proof<'_>) -> T) -> T {
        // Only the existence of a file is checked here; its bytes are verified once per file.
        let damage = |content: &Content, small: Option<&Bytes>| match (content.stored, small) {
            (ContentLocation::File, _) if self.content.is_there(content) => None,
            (ContentLocation::File, _) => {
                let (path, size) = (self.content.path(&content.sha256), content.size);
                Some(format!(
                    "its content is missing: {} is not a file of {}",
                    path.display(),
                    count_with_noun(size, "byte")
                ))
            }
            (ContentLocation::Row, Some(bytes)) if bytes.len() as u64 == content.size => {
                let same = content.sha256 == <[u8; 32]>::from(Sha256::digest(bytes));
                (!same).then(|| "its content in the tables is damaged: the SHA-256 differs".to_owned())
            }
            (ContentLocation::Row, _) => Some("its content is missing".to_owned()),
        };
        let mut report = |fault| self.report.fault(fault);
        prove(&mut Proof::new(self.store, &damage, &mut report))
    }
}
