//! The consistency check of a topic's rows.

use std::collections::BTreeSet;

use super::rows::{DIVIDER, HEAD, ITEM, TopicDivider, TopicHead, TopicItem};
use crate::object::Record;
use crate::proof::{HeadState, Proof};
use crate::store::StoreError;

/// Checks a topic's rows. The topic has a head. Subitems and dividers stand below existing items.
/// An attachment exists, and is hidden if it lies in the recycle bin. No two lines of a lineup have
/// the same place.
pub(super) fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
    let topic = record.loid;
    let head = proof.head::<TopicHead>(record, HEAD)?;
    let (mut items, mut below, mut places) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
    let mut lines = 0;
    proof.each::<TopicItem>(topic, ITEM, |proof, place, item| {
        lines += 1;
        if let Some(attached) = item.attachment {
            proof.member(place, attached.object, attached.hidden)?;
        }
        match item.under() {
            None => {
                items.insert(item.loid());
            }
            Some(under) => below.push((place.to_owned(), under)),
        }
        if !places.insert((item.under(), u128::from(item.order))) {
            proof.fault(format!("{place}: it stands where another line does"));
        }
        Ok(())
    })?;
    proof.each::<TopicDivider>(topic, DIVIDER, |proof, place, divider| {
        lines += 1;
        below.extend(divider.under().map(|under| (place.to_owned(), under)));
        if !places.insert((divider.under(), u128::from(divider.order))) {
            proof.fault(format!("{place}: it stands where another line does"));
        }
        Ok(())
    })?;
    for (place, under) in below {
        if !items.contains(&under) {
            proof.fault(format!("{place}: it stands below {under}, which is no item of the topic"));
        }
    }
    if head == HeadState::Missing && lines > 0 {
        proof.fault(format!("the topic {topic} has items but no head"));
    }
    Ok(())
}
