//! Every kind of row there is, by where it lives: what a check of the whole store needs to know.

use bytes::Bytes;

use crate::drawer::{DrawerHead, Item};
use crate::family::part;
use crate::id::Loid;
use crate::liveblog::{LiveBlogHead, Post, RemovedPost};
use crate::object::{Attributes, Draft, Record, Version};
use crate::receipt::Receipt;
use crate::store::{DecodeError, Event, Key, Row, Table, decode_value, key_of};

/// The index entries that must follow from a stored row of the domain, place and value.
///
/// # Errors
/// That the row can't be understood, or does not stand where it should.
pub fn index_of(table: Table, key: &[u8], value: &[u8]) -> Result<Vec<(Key, Bytes)>, DecodeError> {
    match table {
        Table::Objects | Table::Recycled => entries::<Record>(table, key, value),
        Table::Attributes => entries::<Attributes>(table, key, value),
        Table::Versions => entries::<Version>(table, key, value),
        Table::Drafts => entries::<Draft>(table, key, value),
        Table::Receipts => entries::<Receipt>(table, key, value),
        Table::Parts => match key.get(Loid::KEY_LEN) {
            Some(&part::DRAWER_HEAD) => entries::<DrawerHead>(table, key, value),
            Some(&part::DRAWER_ITEM) => entries::<Item>(table, key, value),
            Some(&part::LIVEBLOG_HEAD) => entries::<LiveBlogHead>(table, key, value),
            Some(&part::POST) => entries::<Post>(table, key, value),
            Some(&part::REMOVED_POST) => entries::<RemovedPost>(table, key, value),
            Some(&part::ATTACHMENT_BODY) => Ok(Vec::new()),
            kind => Err(DecodeError(format!("a part of unknown kind {kind:?}"))),
        },
        Table::Events => {
            let event: Event = decode_value(1, value)?;
            let of = key_of(&[&event.container.to_key(), &event.revision.to_be_bytes()]);
            Ok(vec![(Key { table: Table::EventsOf, key: of }, Bytes::copy_from_slice(key))])
        }
        // No index follows from these, and some are not the domain's to understand.
        _ => Ok(Vec::new()),
    }
}

fn entries<R: Row>(table: Table, key: &[u8], value: &[u8]) -> Result<Vec<(Key, Bytes)>, DecodeError> {
    let row: R = decode_value(R::FORMAT, value)?;
    let place = row.place();
    if place.table != table || place.key != key {
        return Err(DecodeError(format!("a row of {:?} stands in {table:?} under another key", place.table)));
    }
    let mut entries = Vec::new();
    row.index(&mut entries);
    Ok(entries)
}

/// The object that a row belongs to: it must have a record. `None` where it belongs to none.
pub fn owner_of(table: Table, key: &[u8]) -> Option<Loid> {
    match table {
        Table::Attributes | Table::Parts | Table::Versions | Table::Bodies | Table::Drafts => {
            Loid::from_key(key).map(Loid::object)
        }
        _ => None,
    }
}
