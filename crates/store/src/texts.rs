//! Large attribute texts, of which the tables keep one copy each, however many rows have it.
//!
//! Copies, channel copies and objects from a template have the attributes of their source. Without
//! this, a request of a hundred bytes could take megabytes of the disk.
//!
//! The checkpointer cuts the texts out of a row when it writes it ([`Texts::cut`]), and readers put
//! them back ([`restore_row`]). The file has two tables for this: the texts by hash, and the number
//! of rows that use each. Both change in the transaction that writes the rows, so a text exists
//! exactly as long as a row has it. The journal and the rows in memory contain their texts
//! themselves.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};
use redb::{ReadableTable, StorageError, TableDefinition, WriteTransaction};
use sha2::{Digest, Sha256};
use stet_domain::object::Attributes;
use stet_domain::store::Table;

use super::tables::{RedbError, failure};

/// Texts by the SHA-256 of their bytes.
pub(super) const TEXTS: TableDefinition<'static, &'static [u8], &'static [u8]> = TableDefinition::new("texts/1");
/// The number of places in rows that have each text, by the same hash.
pub(super) const TEXT_USES: TableDefinition<'static, &'static [u8], u64> = TableDefinition::new("text_uses/1");

/// Bytes from which a text is kept apart from its row.
pub(super) const LARGE_TEXT: usize = 16 << 10;

/// First byte of a row that is stored without its texts. Other rows of the table begin with the
/// number of their format, which is smaller.
const CUT: u8 = 0xff;
const HASH: usize = 32;
/// Bytes of one text's place: its offset in the whole row, and its hash.
const PLACE: usize = 4 + HASH;

/// Reports whether the rows of a table have such texts.
fn has_texts(table: Table) -> bool {
    matches!(table, Table::Attributes)
}

/// The texts while a transaction writes rows.
pub(super) struct Texts<'txn> {
    texts: redb::Table<'txn, &'static [u8], &'static [u8]>,
    uses: redb::Table<'txn, &'static [u8], u64>,
}

impl<'txn> Texts<'txn> {
    /// Returns the texts for rows of a table; `None` for a table whose rows have none.
    pub fn open(transaction: &'txn WriteTransaction, table: Table) -> Result<Option<Texts<'txn>>, RedbError> {
        if !has_texts(table) {
            return Ok(None);
        }
        let texts = transaction.open_table(TEXTS).map_err(failure)?;
        let uses = transaction.open_table(TEXT_USES).map_err(failure)?;
        Ok(Some(Texts { texts, uses }))
    }

    /// Keeps the large texts of a row that is about to be written. Returns what to write.
    pub fn cut<'v>(&mut self, value: &'v [u8]) -> Result<Cow<'v, [u8]>, RedbError> {
        let places = Attributes::large_texts(value, LARGE_TEXT);
        // Decided before any text is counted: a row is cut as a whole, or not at all.
        let fits = u32::try_from(value.len()).is_ok();
        let count = u8::try_from(places.len()).ok().filter(|count| fits && *count > 0);
        let Some(count) = count else { return Ok(value.into()) };
        let mut head = vec![CUT, count];
        let (mut rest, mut end) = (Vec::new(), 0);
        for place in places {
            let begin = place.start as u32;
            let text = &value[place.clone()];
            let hash = Sha256::digest(text);
            let used = self.uses.get(&hash[..]).map_err(failure)?.map_or(0, |count| count.value());
            if used == 0 {
                self.texts.insert(&hash[..], text).map_err(failure)?;
            }
            self.uses.insert(&hash[..], used + 1).map_err(failure)?;
            head.extend_from_slice(&begin.to_le_bytes());
            head.extend_from_slice(&hash);
            rest.extend_from_slice(&value[end..place.start]);
            end = place.end;
        }
        rest.extend_from_slice(&value[end..]);
        head.append(&mut rest);
        Ok(head.into())
    }

    /// Releases the texts of a row that was removed, given as it was stored.
    pub fn release(&mut self, stored: &[u8]) -> Result<(), RedbError> {
        let Some((places, _)) = cut_row(stored).map_err(failure)? else { return Ok(()) };
        for (_, hash) in places {
            let used = self.uses.get(hash).map_err(failure)?.map_or(0, |count| count.value());
            if used > 1 {
                self.uses.insert(hash, used - 1).map_err(failure)?;
            } else {
                self.uses.remove(hash).map_err(failure)?;
                self.texts.remove(hash).map_err(failure)?;
            }
        }
        Ok(())
    }
}

/// Counts the texts that a row uses, given as it is stored.
pub(super) fn count_uses(
    table: Table,
    stored: &[u8],
    uses: &mut redb::Table<'_, &'static [u8], u64>,
) -> Result<(), RedbError> {
    if !has_texts(table) {
        return Ok(());
    }
    let Some((places, _)) = cut_row(stored).map_err(failure)? else { return Ok(()) };
    for (_, hash) in places {
        let used = uses.get(hash).map_err(failure)?.map_or(0, |count| count.value());
        uses.insert(hash, used + 1).map_err(failure)?;
    }
    Ok(())
}

/// Returns a row as it was before its texts were cut out.
///
/// # Errors
/// redb's error, or corruption if a text is missing.
pub(super) fn restore_row(
    table: Table,
    stored: &[u8],
    texts: &impl ReadableTable<&'static [u8], &'static [u8]>,
) -> Result<Bytes, StorageError> {
    let cut = if has_texts(table) { cut_row(stored)? } else { None };
    let Some((places, mut rest)) = cut else { return Ok(Bytes::copy_from_slice(stored)) };
    let missing = || StorageError::Corrupted("a text of a row is missing".to_owned());
    let text = |(begin, hash)| Ok((begin, texts.get(hash)?.ok_or_else(missing)?));
    let found = places.into_iter().map(text).collect::<Result<Vec<_>, StorageError>>()?;
    let bytes = rest.len() + found.iter().map(|(_, text)| text.value().len()).sum::<usize>();
    let mut value = BytesMut::with_capacity(bytes);
    for (begin, text) in found {
        let before = begin.checked_sub(value.len()).and_then(|bytes| rest.split_at_checked(bytes));
        let (before, after) = before.ok_or_else(unreadable)?;
        value.extend_from_slice(before);
        value.extend_from_slice(text.value());
        rest = after;
    }
    value.extend_from_slice(rest);
    Ok(value.freeze())
}

/// Returns the places of the texts that were cut out of a stored row, and the remaining bytes;
/// `None` if the row is whole.
#[expect(clippy::type_complexity, reason = "a name for it would say no more")]
fn cut_row(stored: &[u8]) -> Result<Option<(Vec<(usize, &[u8])>, &[u8])>, StorageError> {
    let [CUT, count, places @ ..] = stored else { return Ok(None) };
    let (places, rest) = places.split_at_checked(usize::from(*count) * PLACE).ok_or_else(unreadable)?;
    let place =
        |place: &'_ [u8; PLACE]| place.split_first_chunk().map(|(begin, _)| u32::from_le_bytes(*begin) as usize);
    let (places, _) = places.as_chunks::<PLACE>();
    Ok(Some((places.iter().filter_map(|bytes| Some((place(bytes)?, &bytes[4..]))).collect(), rest)))
}

fn unreadable() -> StorageError {
    StorageError::Corrupted("a row whose texts are kept apart can't be read".to_owned())
}
