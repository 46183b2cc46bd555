//! Links between two objects, or parts of containers, each under a name of its own on either side
//! (docs/api/objects.md, "Correlates").
//!
//! A link is one row, found from both sides. It is made and taken back in the turns of both
//! ([`crate::correlate`]); it goes with either of them, in that one's turn alone: what it puts is
//! nothing that the other has in memory. Two that go at once both remove it, which is as well.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::record::Text;
use crate::id::Loid;
use crate::store::{Key, Look, Range, Row, StoreError, Table, View, decode_value, key_of, loid_key};

/// How many links an object or item may have: replies show all of them.
pub const MAX_CORRELATES: usize = 100;

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The object or item from which it was made.
    #[serde(with = "loid_key")]
    pub source: Loid,
    /// What it is called there.
    pub source_name: Text,
    /// The object or item to which it was made.
    #[serde(with = "loid_key")]
    pub target: Loid,
    /// What it is called there.
    pub target_name: Text,
}

impl Link {
    /// The same link, made from the other side.
    pub(crate) fn reversed(&self) -> Link {
        let Link { source, source_name, target, target_name } = self.clone();
        Link { source: target, source_name: target_name, target: source, target_name: source_name }
    }

    /// As it is seen from one of its sides.
    fn seen_from(self, side: Loid) -> Correlate {
        let from_other = self.source != side;
        let Link { source_name, target, target_name, .. } = if from_other { self.reversed() } else { self };
        Correlate { name: source_name, other: target, other_name: target_name, from_other }
    }
}

impl Row for Link {
    fn place(&self) -> Key {
        // Neither name has a zero.
        let names = [self.source_name.as_bytes(), &[0], self.target_name.as_bytes()];
        let (source, target) = (self.source.to_key(), self.target.to_key());
        Key { table: Table::Correlates, key: key_of(&[&source, &target, names[0], names[1], names[2]]) }
    }

    fn index(&self, entries: &mut Vec<(Key, Bytes)>) {
        let key = key_of(&[&self.target.to_key(), &self.place().key]);
        entries.push((Key { table: Table::CorrelatedTo, key }, Bytes::new()));
    }
}

/// A link as it is seen from one side.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Correlate {
    /// What it is called on this side.
    pub name: Text,
    /// The object or item on the other.
    pub other: Loid,
    /// What it is called there.
    pub other_name: Text,
    /// Whether it was made from the other side.
    pub from_other: bool,
}

/// The links of an object or item, made from either side.
///
/// # Errors
/// What the store says.
pub(crate) fn links_of(look: &dyn Look, view: View, of: Loid) -> Result<Vec<Link>, StoreError> {
    let range = Range::prefix(&of.to_key());
    let mut links = Vec::new();
    for (_, value) in look.scan(view, Table::Correlates, &range, usize::MAX, false)? {
        links.push(decode_value::<Link>(Link::FORMAT, &value)?);
    }
    for (key, _) in look.scan(view, Table::CorrelatedTo, &range, usize::MAX, false)? {
        // One that has gone between the two looks has gone.
        if let Some(value) = look.get(view, Table::Correlates, &key[Loid::KEY_LEN..])? {
            links.push(decode_value::<Link>(Link::FORMAT, &value)?);
        }
    }
    Ok(links)
}

/// The links of several objects or items, made from either side; one between two of them comes once
/// or twice. Items that were made one after the other lie beside each other, and few of them have
/// links: so what lies between the first and the last is read at once, if it is no more than there
/// are items.
///
/// # Errors
/// What the store says.
pub(crate) fn links_of_all(look: &dyn Look, view: View, of: &[Loid]) -> Result<Vec<Link>, StoreError> {
    let known: BTreeSet<Bytes> = of.iter().map(|loid| Bytes::copy_from_slice(&loid.to_key())).collect();
    let mut linked = BTreeSet::new();
    if let (Some(first), Some(last)) = (known.first(), known.last())
        && known.len() > 1
    {
        let range = Range { from: first.clone(), to: Range::prefix(last).to };
        for table in [Table::Correlates, Table::CorrelatedTo] {
            let found = look.scan(view, table, &range, known.len(), false)?;
            if found.len() == known.len() {
                // There may be more.
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

/// The links of an object or item as they are seen from it, whichever side they were made from.
///
/// # Errors
/// What the store says.
pub fn links_from(look: &dyn Look, view: View, of: Loid) -> Result<Vec<Link>, StoreError> {
    let links = links_of(look, view, of)?.into_iter();
    Ok(links.map(|link| if link.source == of { link } else { link.reversed() }).collect())
}

/// The links of an object or item, by their names there.
///
/// # Errors
/// What the store says.
pub fn correlates_of(look: &dyn Look, view: View, of: Loid) -> Result<Vec<Correlate>, StoreError> {
    let seen: BTreeSet<Correlate> = links_of(look, view, of)?.into_iter().map(|link| link.seen_from(of)).collect();
    Ok(seen.into_iter().collect())
}
