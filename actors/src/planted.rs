//! Faults on purpose, for the tests that show that the checks of histories find faults
//! (`tests/histories/plants.rs`, `tests/crash/subtrees.rs`).
//!
//! Only in builds with the feature `planted-bugs`, and even there nothing is wrong unless
//! `STET_PLANTED_BUG` names a fault. In a build without the feature not even that name is in the
//! binary, which a test checks.
//!
//! | fault | what is wrong |
//! |---|---|
//! | `early-reply` | changes are shown and answered before they are on disk, and the disk is slow |
//! | `lost-update` | now and then a command is applied to the state before the last change |
//! | `stale-read` | now and then a change is answered but not shown before the next one |
//! | `wrong-trim` | a full drawer drops the item before the last to make room |
//! | `torn-move` | now and then a move's removal of the item from its old drawer, topic or plan never gets to the disk |
//! | `early-look` | a move looks where things are on disk, and not as the change before it has left them |
//! | `lost-status` | now and then a change of a post's status never gets to the disk |
//! | `lost-bytes` | now and then the bytes of a content never get to the disk, and the rows that refer to them do |
//! | `lost-lock` | now and then a lock never gets to the disk, so that after a restart another session is given it, too |
//! | `lost-rest` | what a change of a folder has left to be done below it never gets to the disk |
//! | `late-views` | nothing: the log shows a change 10 ms after rows do, views and caches 10 ms later, and whoever has seen it in rows waits for them |
//! | `hasty-read` | the same, after 60 ms, and nobody waits |
//! | `hasty-answer` | a call that changed nothing is answered before the state that it saw is on disk, and the disk is slow |

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::checkout::{TakeLock, WriteContent};
use crate::command::Command;
use crate::drawer::Move;
use crate::joint::Joint;
use crate::liveblog::SetStatus;
use crate::store::{ChangeSet, Table, View};
use crate::topic::MoveItems;
use crate::topic_plan::MoveTopics;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlantedFault {
    EarlyReply,
    LostUpdate,
    StaleRead,
    WrongTrim,
    TornMove,
    EarlyLook,
    LostStatus,
    LostBytes,
    LostLock,
    LostRest,
    HastyAnswer,
    LateViews,
    HastyRead,
}

fn is_planted(fault: PlantedFault) -> bool {
    static CHOSEN: OnceLock<Option<PlantedFault>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        Some(match std::env::var("STET_PLANTED_BUG").ok()?.as_str() {
            "early-reply" => PlantedFault::EarlyReply,
            "lost-update" => PlantedFault::LostUpdate,
            "stale-read" => PlantedFault::StaleRead,
            "wrong-trim" => PlantedFault::WrongTrim,
            "torn-move" => PlantedFault::TornMove,
            "early-look" => PlantedFault::EarlyLook,
            "lost-status" => PlantedFault::LostStatus,
            "lost-bytes" => PlantedFault::LostBytes,
            "lost-lock" => PlantedFault::LostLock,
            "lost-rest" => PlantedFault::LostRest,
            "hasty-answer" => PlantedFault::HastyAnswer,
            "late-views" => PlantedFault::LateViews,
            "hasty-read" => PlantedFault::HastyRead,
            unknown => panic!("STET_PLANTED_BUG: there is no fault `{unknown}`"),
        })
    });
    *chosen == Some(fault)
}

/// Once in so many times.
fn now_and_then(every: u64) -> bool {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    COUNT.fetch_add(1, Ordering::Relaxed).is_multiple_of(every)
}

/// Shows and answers a change that has not even been submitted.
#[must_use]
pub fn early_reply(mut set: ChangeSet) -> ChangeSet {
    if is_planted(PlantedFault::EarlyReply) {
        std::mem::replace(&mut set.on_commit, Box::new(|_| ()))(0);
        std::mem::replace(&mut set.on_done, Box::new(|_| ()))(Ok(0));
    }
    set
}

/// Makes the disk slow, so that it shows who did not wait for it.
pub fn slow_disk() {
    let waits_for_none = [PlantedFault::EarlyReply, PlantedFault::EarlyLook, PlantedFault::HastyAnswer];
    if waits_for_none.into_iter().any(is_planted) {
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// Gives readers time between the moment at which rows show a change and that at which the log
/// does, and then until views do.
pub fn late_views() {
    if is_planted(PlantedFault::LateViews) {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Long enough for a client on a busy machine to look twice.
    if is_planted(PlantedFault::HastyRead) {
        std::thread::sleep(Duration::from_millis(60));
    }
}

/// Whether readers go ahead of views.
pub fn reads_hastily() -> bool {
    is_planted(PlantedFault::HastyRead)
}

/// Whether the container forgets the state that its command has just made.
pub fn forgets_update() -> bool {
    is_planted(PlantedFault::LostUpdate) && now_and_then(7)
}

/// Whether a view is kept from readers.
pub fn holds_back_view() -> bool {
    is_planted(PlantedFault::StaleRead) && now_and_then(7)
}

/// By how much the item to be dropped is off.
pub fn trim_offset() -> usize {
    usize::from(is_planted(PlantedFault::WrongTrim))
}

/// Takes something out of a change set that belongs into it.
#[must_use]
pub fn torn(mut set: ChangeSet) -> ChangeSet {
    if is_planted(PlantedFault::LostRest) {
        set.changes.retain(|change| change.table != Table::Remainders || change.value.is_none());
        return set;
    }
    let is_of = |name: &str| set.events.iter().any(|event| event.kind == name);
    let (fault, kind) = if is_of(Move::NAME) || is_of(MoveItems::NAME) || is_of(MoveTopics::NAME) {
        (PlantedFault::TornMove, Table::Parts)
    } else if is_of(SetStatus::NAME) {
        (PlantedFault::LostStatus, Table::Parts)
    } else if is_of(WriteContent::NAME) {
        (PlantedFault::LostBytes, Table::Bodies)
    } else if is_of(TakeLock::NAME) {
        (PlantedFault::LostLock, Table::Objects)
    } else {
        return set;
    };
    if is_planted(fault) && now_and_then(2) {
        // Of a move only the removal from the old place.
        set.changes
            .retain(|change| change.table != kind || (fault == PlantedFault::TornMove && change.value.is_some()));
    }
    set
}

/// Whether an answer goes out at once.
pub fn answers_at_once() -> bool {
    is_planted(PlantedFault::HastyAnswer)
}

/// The rows that a move looks at.
pub fn view_of_a_move(view: View) -> View {
    if is_planted(PlantedFault::EarlyLook) { View::Committed } else { view }
}
