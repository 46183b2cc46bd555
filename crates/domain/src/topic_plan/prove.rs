//! The consistency check of a plan's rows.

use std::collections::BTreeSet;

use super::rows::{DIVIDER, HEAD, PlanDivider, PlanHead, PlannedTopic, TOPIC};
use crate::object::Record;
use crate::proof::{HeadState, Proof};
use crate::store::StoreError;

/// Checks a plan's rows. The plan has a head. Every topic exists, and is hidden if it lies in the
/// recycle bin. No two lines have the same place.
pub(super) fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
    let plan = record.loid;
    let head = proof.head::<PlanHead>(record, HEAD)?;
    let (mut places, mut lines) = (BTreeSet::new(), 0);
    proof.each::<PlannedTopic>(plan, TOPIC, |proof, place, planned| {
        lines += 1;
        if !places.insert(u128::from(planned.order)) {
            proof.fault(format!("{place}: it stands where another line does"));
        }
        proof.member(place, planned.topic, planned.hidden)
    })?;
    proof.each::<PlanDivider>(plan, DIVIDER, |proof, place, divider| {
        lines += 1;
        if !places.insert(u128::from(divider.order)) {
            proof.fault(format!("{place}: it stands where another line does"));
        }
        Ok(())
    })?;
    if head == HeadState::Missing && lines > 0 {
        proof.fault(format!("the plan {plan} has topics but no head"));
    }
    Ok(())
}
