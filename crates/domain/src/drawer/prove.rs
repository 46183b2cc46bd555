//! The check of a drawer's rows.

use super::rows::{DrawerHead, HEAD, ITEM, Item};
use crate::object::Record;
use crate::proof::{HeadState, Proof};
use crate::store::StoreError;

/// Checks the head, the number of items, and that each item refers to an existing object. An item
/// must be hidden if its object is in the recycle bin.
pub(super) fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
    let drawer = record.loid;
    let head = proof.head::<DrawerHead>(record, HEAD)?;
    let mut count = 0;
    proof.each::<Item>(drawer, ITEM, |proof, place, item| {
        count += 1;
        proof.member(place, item.object, item.hidden)
    })?;
    match head {
        HeadState::Missing if count > 0 => proof.fault(format!("the drawer {drawer} has items but no head")),
        HeadState::There(head) if count > u64::from(head.capacity) => {
            proof.fault(format!("the drawer {drawer} has {count} items, where {} fit", head.capacity));
        }
        _ => {}
    }
    Ok(())
}
