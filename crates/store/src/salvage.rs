//! Going on without changes that are lost: what `stet recover` does.
//!
//! Whatever it does is repeatable: until the last step a start says again what is missing, or has
//! nothing to miss any more.
//!
//! 1. What is whole up to the first change that is missing goes into the tables, in one transaction
//!    with the number of the last one lost: that number is not given again, and a journal that
//!    turns up again is not replayed.
//! 2. The journal gets another name. Nothing reads it again; it is what is left of the lost
//!    changes.
//! 3. A new journal is made, and the tables note its salt.

use super::RedbStore;
use super::at_rest::opened;
use super::backend::StoreFile;
use super::checkpoint::State;
use super::journal::Found;
use super::lease::Kept;
use super::log::Packing;
use super::migrate::{self, MIGRATIONS};
use super::open::{fold_all, io};
use super::options::{Loss, OpenError, StoreOptions};
use super::overlay::Overlay;
use super::tables;

/// What was found in a data directory, and done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvage {
    /// The tables have every change up to this number.
    pub folded: u64,
    /// How many records of the journal after that are whole and follow on each other.
    pub records: usize,
    /// Every change up to this number is there.
    pub kept: u64,
    /// What is missing; `None` if the directory opens as it is.
    pub loss: Option<Loss>,
    /// The name that the journal has got, if it was there and was set aside.
    pub aside: Option<String>,
}

pub(super) fn salvage(options: StoreOptions, accept_loss: bool) -> Result<Salvage, OpenError> {
    let nothing =
        || OpenError::Corrupt("state.redb is missing or empty. Restore a backup of the whole directory".to_owned());
    let backends = options.backends.clone();
    let failed = |error: std::io::Error| OpenError::Io(error.to_string());
    let kept = backends.open_existing(StoreFile::State).map_err(failed)?.map(Kept::new).ok_or_else(nothing)?;
    let head = {
        let lease = kept.read_only_lease().map_err(failed)?;
        let db = opened(&lease, &options)?;
        migrate::read_head(&db).map_err(io)?.ok_or_else(nothing)?
    };
    let known = migrate::present(MIGRATIONS);
    if head.format > known {
        return Err(OpenError::Newer { file: "state.redb", found: head.format, known });
    }
    let found = Found::read(&*backends, &head.journal())?;
    let folded = head.folded;
    let mut salvage =
        Salvage { folded, records: found.records, kept: found.reach, loss: found.loss.clone(), aside: None };
    let Some(loss) = found.loss.filter(|_| accept_loss) else { return Ok(salvage) };
    tracing::warn!(%loss, "going on without what is lost");

    let packing = Packing::of(&options);
    let overlay = Overlay::new();
    let mut committed = folded;
    let last = loss.last.unwrap_or_default().max(found.reach);
    for set in found.sets {
        committed = overlay.replay(set, committed);
    }
    let lease = kept.lease();
    let db = tables::open(&lease, options.cache_bytes).map_err(io)?;
    let state = State::new(kept, lease, db, options.cache_bytes);
    fold_all(&state, &overlay, last, &packing).map_err(io)?;
    drop(state);

    salvage.aside = backends.set_aside(StoreFile::Journal).map_err(failed)?;
    RedbStore::open_as(options, MIGRATIONS, true)?.close();
    Ok(salvage)
}
