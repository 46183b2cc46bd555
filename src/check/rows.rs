//! One row, and what must be there beside it.

use bytes::Bytes;
use stet_actors::drawer::Item;
use stet_actors::family::part;
use stet_actors::id::Loid;
use stet_actors::liveblog::{Post, RemovedPost, attachment_body};
use stet_actors::object::{Content, Draft, FamilyKind, Record, SmallBody, Stored, Version};
use stet_actors::rows::{index_of, owner_of};
use stet_actors::store::{Key, Look, Range, Row, StoreError, Table, View, decode_value};
use stet_store::RedbStore;

use super::{Gathered, Report, head_key, readable};
use crate::content::ContentStore;

/// What a row is looked at with.
pub(super) struct Check<'a> {
    pub store: &'a RedbStore,
    pub content: &'a ContentStore,
    pub gathered: &'a mut Gathered,
    pub report: &'a mut Report,
}

impl Check<'_> {
    pub fn row(&mut self, table: Table, key: &Bytes, value: &Bytes) -> Result<(), StoreError> {
        let place = format!("{} {}", table.name(), readable(key));
        let entries = match index_of(table, key, value) {
            Ok(entries) => entries,
            Err(error) => {
                self.report.fault(format!("{place}: {error}"));
                return Ok(());
            }
        };
        for (entry, wanted) in entries {
            *self.gathered.expected.entry(entry.table).or_default() += 1;
            let name = entry.table.name();
            match self.get(&entry)? {
                Some(found) if found == wanted => {}
                Some(_) => self.report.fault(format!("{place}: its entry in {name} speaks of another")),
                None => self.report.fault(format!("{place}: it has no entry in {name}")),
            }
        }
        if let Some(owner) = owner_of(table, key)
            && !self.there(Table::Objects, owner)?
            && !self.there(Table::Recycled, owner)?
            // A post has its record in a row of its liveblog.
            && !self.there(Table::PartOf, owner)?
        {
            self.report.fault(format!("{place}: its object has no record"));
        }
        // `index_of` has found that the rows can be read.
        match (table, key.get(Loid::KEY_LEN)) {
            (Table::Objects | Table::Recycled, _) => self.object(&place, &decode_value(Record::FORMAT, value)?),
            (Table::Parts, Some(&part::DRAWER_ITEM)) => self.item(&place, &decode_value(Item::FORMAT, value)?),
            (Table::Parts, Some(&part::POST)) => self.post(&place, &decode_value(Post::FORMAT, value)?),
            (Table::Parts, Some(&part::REMOVED_POST)) => {
                let removed: RemovedPost = decode_value(RemovedPost::FORMAT, value)?;
                self.gathered.liveblogs.insert(removed.liveblog);
                self.gathered.of_liveblog(removed.liveblog, self.report).removed(&removed);
                Ok(())
            }
            (Table::Parts, Some(&part::ATTACHMENT_BODY)) => {
                self.attachment_body(&place, key);
                Ok(())
            }
            (Table::Bodies, _) => self.small_body(&place, key),
            (Table::Versions, _) => {
                let version: Version = decode_value(Version::FORMAT, value)?;
                let body = Key { table: Table::Bodies, key: key.clone() };
                self.body(&place, &version.content, &body)
            }
            (Table::Drafts, _) => {
                let draft: Draft = decode_value(Draft::FORMAT, value)?;
                self.body(&place, &draft.content, &SmallBody::key(Draft::body_loid(draft.loid)))
            }
            _ => Ok(()),
        }
    }

    fn get(&self, key: &Key) -> Result<Option<Bytes>, StoreError> {
        self.store.get(View::Committed, key.table, &key.key)
    }

    fn there(&self, table: Table, loid: Loid) -> Result<bool, StoreError> {
        Ok(self.store.get(View::Committed, table, &loid.to_key())?.is_some())
    }

    fn object(&mut self, place: &str, record: &Record) -> Result<(), StoreError> {
        match (&record.bin, record.folder()) {
            (None, Some(folder)) if !self.there(Table::Objects, folder)? => {
                self.report.fault(format!("{place}: the folder it lies in, {folder}, is not there"));
            }
            (Some(bin), _) if !self.there(Table::Recycled, bin.entry)? => {
                let entry = bin.entry;
                self.report.fault(format!("{place}: what it was discarded with, {entry}, is not in the bin"));
            }
            _ => {}
        }
        self.latest_version(place, record)?;
        let head = match record.family {
            FamilyKind::Drawer => part::DRAWER_HEAD,
            FamilyKind::LiveBlog => part::LIVEBLOG_HEAD,
            _ => return Ok(()),
        };
        if self.store.get(View::Committed, Table::Parts, &head_key(record.loid, head))?.is_none() {
            self.report.fault(format!("{place}: the {} has no head", record.family.name()));
        }
        Ok(())
    }

    /// The version that a record speaks of is there, and is as it says.
    fn latest_version(&mut self, place: &str, record: &Record) -> Result<(), StoreError> {
        // No record has that version: see `Draft::body_loid`.
        let above = record.loid.at_version(record.version.saturating_add(1));
        let all = Range::prefix(&record.loid.to_key()[..Loid::KEY_LEN - 4]);
        let range = Range { from: Bytes::copy_from_slice(&above.to_key()), ..all };
        for (key, _) in self.store.scan(View::Committed, Table::Versions, &range, 1, false)? {
            let latest = record.version;
            self.report.fault(format!("{place}: there is {} above its latest version {latest}", readable(&key)));
        }
        if record.version == 0 {
            return Ok(());
        }
        match self.get(&Version::key(record.loid.at_version(record.version)))? {
            None => self.report.fault(format!("{place}: its version {} is not there", record.version)),
            Some(version) => {
                // One that can't be read is told of in its own place.
                let version = decode_value::<Version>(Version::FORMAT, &version);
                if version.is_ok_and(|version| record.content.as_ref() != Some(&version.content)) {
                    self.report.fault(format!("{place}: its content is not that of its latest version"));
                }
            }
        }
        Ok(())
    }

    fn item(&mut self, place: &str, item: &Item) -> Result<(), StoreError> {
        *self.gathered.items.entry(item.drawer).or_default() += 1;
        let discarded = self.there(Table::Recycled, item.object)?;
        if !discarded && !self.there(Table::Objects, item.object)? {
            self.report.fault(format!("{place}: it stands for {}, which is not there", item.object));
        } else if item.hidden != discarded {
            let state = if item.hidden { "hidden" } else { "shown" };
            self.report.fault(format!("{place}: it is {state}, which {} does not ask for", item.object));
        }
        Ok(())
    }

    fn post(&mut self, place: &str, post: &Post) -> Result<(), StoreError> {
        self.gathered.liveblogs.insert(post.liveblog);
        self.gathered.of_liveblog(post.liveblog, self.report).post(post, self.report);
        self.latest_version(place, &post.record)?;
        for attachment in &post.attachments {
            let place = format!("{place}, attachment {}", attachment.id);
            self.body(&place, &attachment.content, &attachment_body(post.liveblog, attachment.id))?;
        }
        Ok(())
    }

    /// Bytes in the tables are those of a version or of a draft, which says so.
    fn small_body(&mut self, place: &str, key: &Bytes) -> Result<(), StoreError> {
        let Some(loid) = Loid::from_key(key).filter(|_| key.len() == Loid::KEY_LEN) else {
            self.report.fault(format!("{place}: its key is none of a version"));
            return Ok(());
        };
        // A row that can't be read is told of in its own place.
        let stored = if loid == Draft::body_loid(loid.object()) {
            let draft = self.get(&Draft::key(loid.object()))?;
            draft.map(|draft| decode_value::<Draft>(Draft::FORMAT, &draft).map(|draft| draft.content.stored))
        } else {
            let version = self.get(&Version::key(loid))?;
            version
                .map(|version| decode_value::<Version>(Version::FORMAT, &version).map(|version| version.content.stored))
        };
        match stored {
            None => self.report.fault(format!("{place}: no version or draft has these bytes")),
            Some(Ok(Stored::File)) => {
                self.report.fault(format!("{place}: the bytes of its version or draft lie in a file, not here"));
            }
            Some(Ok(Stored::Row) | Err(_)) => {}
        }
        Ok(())
    }

    fn attachment_body(&mut self, place: &str, key: &Bytes) {
        let id = key.get(Loid::KEY_LEN + 1..).and_then(|id| Some(u64::from_be_bytes(id.try_into().ok()?)));
        match (Loid::from_key(key), id) {
            (Some(liveblog), Some(id)) => self.gathered.of_liveblog(liveblog, self.report).body(id),
            _ => self.report.fault(format!("{place}: its key is none of an attachment")),
        }
    }

    /// The bytes of a content are there: in the row `small`, or in a file.
    fn body(&mut self, place: &str, content: &Content, small: &Key) -> Result<(), StoreError> {
        let there = match content.stored {
            Stored::Row => self.get(small)?.is_some_and(|bytes| bytes.len() as u64 == content.size),
            Stored::File => self.content.is_there(content),
        };
        if !there {
            self.report.fault(format!("{place}: its bytes are not there"));
        }
        Ok(())
    }
}
