//! Continuing without lost changes: the implementation of `stet recover`.
//!
//! Every step can be repeated. Until the last one, a start reports the loss again, or finds nothing
//! missing any more.
//!
//! 1. Everything up to the first missing change is folded into the tables, in one transaction with
//!    the number of the last lost one. That number is not assigned again, and a journal that
//!    reappears is not replayed.
//! 2. The journal is renamed. No stet reads it again; it contains what remains of the lost changes.
//! 3. A new journal is created, and the tables note its salt.

use super::RedbStore;
use super::at_rest::open_read_only;
use super::backend::StoreFile;
use super::checkpoint::StateFile;
use super::journal::JournalContents;
use super::lease::KeptFile;
use super::log::PackingRules;
use super::migrate::{self, MIGRATIONS};
use super::open::{fold_all, io};
use super::options::{JournalLoss, OpenError, StoreOptions};
use super::overlay::Overlay;
use super::tables;

/// The findings in a data directory, and the actions taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvage {
    /// The last change in the tables.
    pub folded: u64,
    /// The number of consecutive intact records of the journal after `folded`.
    pub records: usize,
    /// The last change up to which none is missing.
    pub kept: u64,
    /// The loss; `None` if the directory opens as it is.
    pub loss: Option<JournalLoss>,
    /// The new name of the journal, if it existed and was set aside.
    pub aside: Option<String>,
}

pub(super) fn salvage(options: StoreOptions, accept_loss: bool) -> Result<Salvage, OpenError> {
    let nothing =
        || OpenError::Corrupt("state.redb is missing or empty. Restore a backup of the whole directory".to_owned());
    let backends = options.backends.clone();
    let failed = |error: std::io::Error| OpenError::Io(error.to_string());
    let kept = backends.open_existing(StoreFile::State).map_err(failed)?.map(KeptFile::new).ok_or_else(nothing)?;
    let head = {
        let lease = kept.read_only_lease().map_err(failed)?;
        let db = open_read_only(&lease, &options)?;
        migrate::read_head(&db).map_err(io)?.ok_or_else(nothing)?
    };
    let known = migrate::present(MIGRATIONS);
    if head.format > known {
        return Err(OpenError::Newer { file: "state.redb", found: head.format, known });
    }
    let found = JournalContents::read(&*backends, &head.journal())?;
    let folded = head.folded;
    let mut salvage =
        Salvage { folded, records: found.records, kept: found.reach, loss: found.loss.clone(), aside: None };
    let Some(loss) = found.loss.filter(|_| accept_loss) else { return Ok(salvage) };
    tracing::warn!(%loss, "continuing without the lost changes");

    let packing = PackingRules::of(&options);
    let overlay = Overlay::new();
    let mut committed = folded;
    let last = loss.last.unwrap_or_default().max(found.reach);
    for set in found.sets {
        committed = overlay.replay(set, committed);
    }
    let lease = kept.lease();
    let db = tables::open(&lease, options.cache_bytes).map_err(io)?;
    let state = StateFile::new(kept, lease, db, options.cache_bytes);
    fold_all(&state, &overlay, last, &packing).map_err(io)?;
    drop(state);

    salvage.aside = backends.set_aside(StoreFile::Journal).map_err(failed)?;
    RedbStore::open_as(options, MIGRATIONS, true)?.close();
    Ok(salvage)
}
