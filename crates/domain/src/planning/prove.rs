//! The consistency check of the rows of a topic or plan.

use std::collections::BTreeSet;

use super::{Divider, LineupEntry, Planning, PlanningHead};
use crate::id::Loid;
use crate::object::Record;
use crate::proof::{HeadState, Proof};
use crate::sequence::SequenceItem;
use crate::store::StoreError;

/// Checks the rows of a container. It has a head. Lines stand below existing entries. A held object
/// exists, and counts as hidden if it lies in the recycle bin. No two lines of a lineup have the
/// same place.
pub(super) fn prove<F: Planning>(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
    let (loid, container, entry_noun) = (record.loid, F::CONTAINER_NOUN, F::ENTRY_NOUN);
    let head = proof.head::<PlanningHead<F>>(record, F::HEAD)?;
    let (mut entries, mut below, mut places) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
    let mut check = |proof: &mut Proof<'_>, place: &str, under: Option<Loid>, order: u128| {
        below.extend(under.map(|under| (place.to_owned(), under)));
        if !places.insert((under, order)) {
            proof.fault(format!("{place}: it stands where another line does"));
        }
    };
    proof.each::<F::Entry>(loid, F::ENTRY, |proof, place, entry| {
        if let Some((object, hidden)) = entry.held() {
            proof.member(place, object, hidden)?;
        }
        if entry.under().is_none() {
            entries.insert(entry.loid());
        }
        check(proof, place, entry.under(), entry.order());
        Ok(())
    })?;
    proof.each::<Divider<F>>(loid, F::DIVIDER, |proof, place, divider| {
        check(proof, place, divider.under(), divider.order());
        Ok(())
    })?;
    for (place, under) in below {
        if !entries.contains(&under) {
            proof.fault(format!("{place}: it stands below {under}, which is no {entry_noun} of the {container}"));
        }
    }
    if head == HeadState::Missing && !places.is_empty() {
        proof.fault(format!("the {container} {loid} has {entry_noun}s but no head"));
    }
    Ok(())
}
