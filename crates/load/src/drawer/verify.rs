//! The verdict on a load of drawers.

use super::membership::membership;
use super::model::Model;
use super::{DrawerLoad, Look};
use crate::desk::Desk;
use crate::figures::counted;
use crate::replay::evidence::Evidence;
use crate::replay::ledger::Counts;
use crate::replay::{Replay, replay};
use crate::scenario::{Finding, NAMED, Verdict, named};
use crate::settle;

/// Reads the drawers once no call is under way any more.
pub(super) async fn settled(load: &DrawerLoad, desk: &mut Desk, doubts: bool) -> Result<Vec<Look>, String> {
    let look = async |desk: &mut Desk| {
        let mut now = Vec::new();
        for drawer in 0..load.ledgers.len() {
            now.push(load.look(desk, drawer).await?);
        }
        Ok(now)
    };
    let alike = |last: &Vec<Look>, now: &Vec<Look>| {
        last.iter().zip(now).all(|(a, b)| a.items == b.items && a.revision == b.revision)
    };
    settle::settled(desk, doubts, "the drawers", look, alike).await
}

/// Verifies the evidence. `told` counts all replies, including those already folded into the model;
/// `unreliable` is the reason why revisions cannot be used, if any.
pub(super) fn verdict(evidence: &Evidence<Model>, told: Counts, objects: u32, unreliable: Option<&str>) -> Verdict {
    let mut details = vec![format!(
        "{}, {} noted, {} had no certain outcome.",
        counted(told.acked, "change was acknowledged", "changes were acknowledged"),
        counted(told.seen, "read", "reads"),
        counted(evidence.doubts.len() as u64, "call", "calls")
    )];
    let replayed = match unreliable {
        Some(why) => Replay::TooMany(why.to_owned()),
        None => replay(evidence),
    };
    match replayed {
        Replay::Explained { revisions, doubtful, .. } => {
            details.push(format!(
                "{} of {}, one after the other, led to what the server holds, order and all.",
                counted(told.revisions + revisions, "revision", "revisions"),
                counted(evidence.containers.len() as u64, "drawer", "drawers")
            ));
            if doubtful > 0 {
                let are = counted(doubtful, "is", "are");
                details.push(format!("Of these, {are} explained only by calls whose outcome nobody was told."));
            }
            Verdict { finding: Finding::Verified, method: REPLAYED.to_owned(), details, problems: Vec::new() }
        }
        Replay::Contradicted(why) => {
            let mut problems = vec![format!("No order explains what was acknowledged; {why}.")];
            problems.extend(membership(evidence, objects).problems.into_iter().take(NAMED));
            Verdict { finding: Finding::Violated, method: REPLAYED.to_owned(), details, problems }
        }
        Replay::TooMany(why) => {
            let found = membership(evidence, objects);
            let items = counted(found.certain as u64, "item", "items");
            details.push(format!("{items} had to be there whatever the order was."));
            let problems = named(found.problems);
            let finding = if problems.is_empty() { Finding::Verified } else { Finding::Violated };
            Verdict {
                finding,
                method: format!("{MEMBERS} The server's order was not looked at: {why}."),
                details,
                problems,
            }
        }
    }
}

const REPLAYED: &str = "Replay: all that was acknowledged, carried out again on paper by revision, compared with what the server \
                        holds and with what was read on the way.";
const MEMBERS: &str = "Membership: what was put in and never taken out is there, nothing is there twice or from nowhere, no \
                       drawer is too full, and moves lost nothing.";
