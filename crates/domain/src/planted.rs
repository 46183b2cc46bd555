//! Deliberate faults, for tests which show that the checks of histories find faults
//! (`tests/histories/plants.rs`, `tests/crash/subtrees.rs`).
//!
//! The faults exist only in builds with the feature `planted-bugs`, and are inactive unless
//! `STET_PLANTED_BUG` names one. A test checks that a build without the feature does not even
//! contain that name.
//!
//! | fault | what is wrong |
//! |---|---|
//! | `early-reply` | changes are published and replied to before they are on a slow disk |
//! | `lost-update` | now and then a command is applied to the state before the last change |
//! | `stale-read` | now and then a change is replied to, but not published before the next one |
//! | `wrong-trim` | a full drawer drops the item before the last to make room |
//! | `torn-move` | now and then a move's removal of the item from its old place is not stored |
//! | `early-look` | a move reads locations from disk, without the changes submitted before it |
//! | `lost-status` | now and then a change of a post's status is not stored |
//! | `lost-bytes` | now and then bytes are not stored, but the rows that refer to them are |
//! | `lost-lock` | now and then a lock is not stored: another session gets it after a restart |
//! | `lost-rest` | the remaining work of a folder's change is not stored |
//! | `late-views` | nothing: the log is 10 ms behind rows, views 10 ms later, but readers wait |
//! | `hasty-read` | as `late-views`, but after 60 ms, and nobody waits |
//! | `hasty-answer` | a call without changes is replied to before its state is on a slow disk |

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::checkout::{TakeLock, WriteContent};
use crate::command::Command;
use crate::drawer::MoveDrawerItem;
use crate::joint::JointCommand;
use crate::liveblog::SetPostStatus;
use crate::planning::plan::MovePlanTopics;
use crate::planning::topic::MoveTopicItems;
use crate::store::{ChangeSet, ReadLevel, Table};

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

/// Reports true once in `every` calls.
fn now_and_then(every: u64) -> bool {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    COUNT.fetch_add(1, Ordering::Relaxed).is_multiple_of(every)
}

/// Publishes a change, and replies to it, before it is submitted.
#[must_use]
pub fn early_reply(mut set: ChangeSet) -> ChangeSet {
    if is_planted(PlantedFault::EarlyReply) {
        std::mem::replace(&mut set.on_commit, Box::new(|_| ()))(0);
        std::mem::replace(&mut set.on_done, Box::new(|_| ()))(Ok(0));
    }
    set
}

/// Makes the disk slow, so that missing waits for it become visible.
pub fn slow_disk() {
    let waits_for_none = [PlantedFault::EarlyReply, PlantedFault::EarlyLook, PlantedFault::HastyAnswer];
    if waits_for_none.into_iter().any(is_planted) {
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// Delays the log after the rows show a change, and then the views after the log, so that readers
/// can look in between.
pub fn late_views() {
    if is_planted(PlantedFault::LateViews) {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Long enough for a client on a busy machine to read twice.
    if is_planted(PlantedFault::HastyRead) {
        std::thread::sleep(Duration::from_millis(60));
    }
}

/// Reports whether readers do not wait for views.
pub fn reads_hastily() -> bool {
    is_planted(PlantedFault::HastyRead)
}

/// Reports whether the container forgets the state that its command has just made.
pub fn forgets_update() -> bool {
    is_planted(PlantedFault::LostUpdate) && now_and_then(7)
}

/// Reports whether a view is withheld from readers.
pub fn holds_back_view() -> bool {
    is_planted(PlantedFault::StaleRead) && now_and_then(7)
}

/// Returns the distance between the dropped item and the one that should be dropped.
pub fn trim_offset() -> usize {
    usize::from(is_planted(PlantedFault::WrongTrim))
}

/// Removes rows from a change set that belong in it.
#[must_use]
pub fn tear_change_set(mut set: ChangeSet) -> ChangeSet {
    if is_planted(PlantedFault::LostRest) {
        set.changes.retain(|change| change.table != Table::Remainders || change.value.is_none());
        return set;
    }
    let is_of = |name: &str| set.events.iter().any(|event| event.kind == name);
    let (fault, kind) = if is_of(MoveDrawerItem::NAME) || is_of(MoveTopicItems::NAME) || is_of(MovePlanTopics::NAME) {
        (PlantedFault::TornMove, Table::Parts)
    } else if is_of(SetPostStatus::NAME) {
        (PlantedFault::LostStatus, Table::Parts)
    } else if is_of(WriteContent::NAME) {
        (PlantedFault::LostBytes, Table::Bodies)
    } else if is_of(TakeLock::NAME) {
        (PlantedFault::LostLock, Table::Objects)
    } else {
        return set;
    };
    if is_planted(fault) && now_and_then(2) {
        // Of a move, only the removal from the old place is lost.
        set.changes
            .retain(|change| change.table != kind || (fault == PlantedFault::TornMove && change.value.is_some()));
    }
    set
}

/// Reports whether a reply is sent at once.
pub fn answers_at_once() -> bool {
    is_planted(PlantedFault::HastyAnswer)
}

/// Returns the view of the store that a move reads.
pub fn view_of_a_move(view: ReadLevel) -> ReadLevel {
    if is_planted(PlantedFault::EarlyLook) { ReadLevel::Committed } else { view }
}
