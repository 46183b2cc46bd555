//! Links between two objects, or parts of containers, with a name on each side
//! (docs/api/objects.md, "Correlates").
//!
//! A link is one row, found from both sides. It is made and removed in the turns of both
//! ([`crate::correlate`]). If one side is destroyed, the link is removed in that one's turn alone,
//! since links are not part of the other's state. If both are destroyed at once, both remove it,
//! which does no harm.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::record::SharedText;
use crate::id::Loid;
use crate::store::{KeyRange, ReadLevel, Row, RowPlace, RowReader, StoreError, Table, decode_value, key_of, loid_key};

/// The maximal number of links of an object or item; replies contain all of them.
pub const MAX_CORRELATES: usize = 100;

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The object or item that the link was made from.
    #[serde(with = "loid_key")]
    pub source: Loid,
    /// The name of the link at the source.
    pub source_name: SharedText,
    /// The object or item that the link was made to.
    #[serde(with = "loid_key")]
    pub target: Loid,
    /// The name of the link at the target.
    pub target_name: SharedText,
}

impl Link {
    /// Returns the same link as if made from the other side.
    pub fn reversed(&self) -> Link {
        let Link { source, source_name, target, target_name } = self.clone();
        Link { source: target, source_name: target_name, target: source, target_name: source_name }
    }

    /// Returns the link as seen from one of its sides.
    fn seen_from(self, side: Loid) -> Correlate {
        let from_other = self.source != side;
        let Link { source_name, target, target_name, .. } = if from_other { self.reversed() } else { self };
        Correlate { name: source_name, other: target, other_name: target_name, from_other }
    }
}

impl Row for Link {
    fn place(&self) -> RowPlace {
        // No name contains a zero byte.
        let names = [self.source_name.as_bytes(), &[0], self.target_name.as_bytes()];
        let (source, target) = (self.source.to_key(), self.target.to_key());
        RowPlace { table: Table::Correlates, key: key_of(&[&source, &target, names[0], names[1], names[2]]) }
    }

    fn index(&self, entries: &mut Vec<(RowPlace, Bytes)>) {
        let key = key_of(&[&self.target.to_key(), &self.place().key]);
        entries.push((RowPlace { table: Table::CorrelatedTo, key }, Bytes::new()));
    }
}

/// A link as seen from one of its sides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Correlate {
    /// The name of the link on this side.
    pub name: SharedText,
    /// The object or item on the other side.
    pub other: Loid,
    /// The name of the link on the other side.
    pub other_name: SharedText,
    /// Whether the link was made from the other side.
    pub from_other: bool,
}

/// Returns the links of an object or item, made from either side.
///
/// # Errors
/// Errors of the store.
pub fn links_of(look: &dyn RowReader, view: ReadLevel, of: Loid) -> Result<Vec<Link>, StoreError> {
    let range = KeyRange::prefix(&of.to_key());
    let mut links = Vec::new();
    for (_, value) in look.scan(view, Table::Correlates, &range, usize::MAX, false)? {
        links.push(decode_value::<Link>(Link::FORMAT, &value)?);
    }
    for (key, _) in look.scan(view, Table::CorrelatedTo, &range, usize::MAX, false)? {
        // A link that was removed between the two reads is left out.
        if let Some(value) = look.get(view, Table::Correlates, &key[Loid::KEY_LEN..])? {
            links.push(decode_value::<Link>(Link::FORMAT, &value)?);
        }
    }
    Ok(links)
}

/// Returns the links of several objects or items, made from either side. A link between two of them
/// may be included twice. Items made one after the other have adjacent keys, and few of them have
/// links. So the range from the first to the last is read at once, unless it has more entries than
/// there are items.
///
/// # Errors
/// Errors of the store.
pub fn links_of_all(look: &dyn RowReader, view: ReadLevel, of: &[Loid]) -> Result<Vec<Link>, StoreError> {
    let known: BTreeSet<Bytes> = of.iter().map(|loid| Bytes::copy_from_slice(&loid.to_key())).collect();
    let mut linked = BTreeSet::new();
    if let (Some(first), Some(last)) = (known.first(), known.last())
        && known.len() > 1
    {
        let range = KeyRange { from: first.clone(), to: KeyRange::prefix(last).to };
        for table in [Table::Correlates, Table::CorrelatedTo] {
            let found = look.scan(view, table, &range, known.len(), false)?;
            if found.len() == known.len() {
                // The range may have more entries.
                linked.clone_from(&known);
                break;
            }
            let sides = found.iter().map(|(key, _)| key.slice(..Loid::KEY_LEN));
            linked.extend(sides.filter(|side| known.contains(side)));
        }
    } else {
        linked = known;
    }
    let mut links = Vec::new();
    for side in linked.iter().filter_map(|side| Loid::from_key(side)) {
        links.extend(links_of(look, view, side)?);
    }
    Ok(links)
}

/// Returns the links of an object or item, each as if made from it.
///
/// # Errors
/// Errors of the store.
pub fn links_from(look: &dyn RowReader, view: ReadLevel, of: Loid) -> Result<Vec<Link>, StoreError> {
    let links = links_of(look, view, of)?.into_iter();
    Ok(links.map(|link| if link.source == of { link } else { link.reversed() }).collect())
}

/// Returns the links of an object or item, sorted by their names there.
///
/// # Errors
/// Errors of the store.
pub fn correlates_of(look: &dyn RowReader, view: ReadLevel, of: Loid) -> Result<Vec<Correlate>, StoreError> {
    let seen: BTreeSet<Correlate> = links_of(look, view, of)?.into_iter().map(|link| link.seen_from(of)).collect();
    Ok(seen.into_iter().collect())
}
