//! The verdict on a load of drawers.

use super::membership::membership;
use super::model::DrawerModel;
use super::{DrawerLoad, DrawerSnapshot};
use crate::desk::Desk;
use crate::figures::format_count;
use crate::replay::evidence::ReplayEvidence;
use crate::replay::ledger::EvidenceCounts;
use crate::replay::{Replay, replay};
use crate::scenario::{LoadVerdict, NAMED, VerificationFinding, limit_problems};
use crate::settle;

/// Reads the drawers once no call is under way any more.
pub(super) async fn read_settled(
    load: &DrawerLoad,
    desk: &mut Desk,
    doubts: bool,
) -> Result<Vec<DrawerSnapshot>, String> {
    let look = async |desk: &mut Desk| {
        let mut now = Vec::new();
        for drawer in 0..load.ledgers.len() {
            now.push(load.look(desk, drawer).await?);
        }
        Ok(now)
    };
    let alike = |last: &Vec<DrawerSnapshot>, now: &Vec<DrawerSnapshot>| {
        last.iter().zip(now).all(|(a, b)| a.items == b.items && a.revision == b.revision)
    };
    settle::read_until_settled(desk, doubts, "the drawers", look, alike).await
}

/// Verifies the evidence. `told` counts all replies, including those already folded into the model;
/// `unreliable` is the reason why revisions cannot be used, if any.
pub(super) fn verdict(
    evidence: &ReplayEvidence<DrawerModel>,
    told: EvidenceCounts,
    objects: u32,
    unreliable: Option<&str>,
) -> LoadVerdict {
    let mut details = vec![format!(
        "{}, {} noted, {} had no certain outcome.",
        format_count(told.acked, "change was acknowledged", "changes were acknowledged"),
        format_count(told.seen, "read", "reads"),
        format_count(evidence.doubts.len() as u64, "call", "calls")
    )];
    let replayed = match unreliable {
        Some(why) => Replay::TooMany(why.to_owned()),
        None => replay(evidence),
    };
    match replayed {
        Replay::Explained { revisions, doubtful, .. } => {
            details.push(format!(
                "{} of {}, applied one after the other, lead to the server's state, including the order.",
                format_count(told.revisions + revisions, "revision", "revisions"),
                format_count(evidence.containers.len() as u64, "drawer", "drawers")
            ));
            if doubtful > 0 {
                let are = format_count(doubtful, "is", "are");
                details.push(format!("Of these, {are} explained only by calls with an unknown outcome."));
            }
            LoadVerdict {
                finding: VerificationFinding::Verified,
                method: REPLAYED.to_owned(),
                details,
                problems: Vec::new(),
            }
        }
        Replay::Contradicted(why) => {
            let mut problems = vec![format!("No order of changes explains the acknowledged ones; {why}.")];
            problems.extend(membership(evidence, objects).problems.into_iter().take(NAMED));
            LoadVerdict { finding: VerificationFinding::Violated, method: REPLAYED.to_owned(), details, problems }
        }
        Replay::TooMany(why) => {
            let found = membership(evidence, objects);
            let items = format_count(found.certain as u64, "item", "items");
            details.push(format!("{items} had to be present in any order of changes."));
            let problems = limit_problems(found.problems);
            let finding =
                if problems.is_empty() { VerificationFinding::Verified } else { VerificationFinding::Violated };
            LoadVerdict {
                finding,
                method: format!("{MEMBERS} The server's order was not verified: {why}."),
                details,
                problems,
            }
        }
    }
}

const REPLAYED: &str = "Replay: all acknowledged changes are applied to a model in the order of revisions, which is \
                        compared with the server's state and with all reads.";
const MEMBERS: &str = "Membership: objects that were added and never removed are present, none is duplicated or \
                       unknown, no drawer is too full, and moves lost nothing.";
