//! Opening: formats, replay, migrations, threads. No table is scanned: the time it takes depends on the journal's
//! rest alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use redb::Durability as Commit;
use stet_actors::store::Seq;

use super::backend::StoreFile;
use super::checkpoint::{Checkpointer, State};
use super::journal::Journal;
use super::lease::Kept;
use super::migrate::{self, Migration};
use super::options::{Durability, OpenError, StoreOptions};
use super::overlay::Overlay;
use super::shared::{Phase, Shared};
use super::tables::RedbError;
use super::writer::Writer;
use super::{RedbStore, Threads, events, old_journal};

impl RedbStore {
    /// [`RedbStore::open`] with a given list of migrations.
    pub(super) fn open_with(options: StoreOptions, migrations: &[Migration]) -> Result<RedbStore, OpenError> {
        let begun = Instant::now();
        let keep = |file| {
            let opened = options.backends.open(file);
            opened.map(Kept::new).map_err(|error| OpenError::Io(format!("{}: {error}", file.name())))
        };
        let in_use = |error| match error {
            OpenError::InUse(_) => OpenError::InUse(options.data.clone()),
            error => error,
        };
        let kept = keep(StoreFile::State)?;
        let (lease, db) = migrate::open_database(&kept, options.cache_bytes).map_err(in_use)?;
        let head = migrate::head(&db, migrations)?;
        let state = State::new(kept, lease, db, options.cache_bytes);

        let overlay = Overlay::new();
        let (mut folded, mut committed) = (head.folded, head.folded);
        let (mut journal, mut sets) = Journal::open(keep(StoreFile::Journal)?, folded)?;
        sets.extend(old_journal::adopt(&*options.backends, &mut journal, folded).map_err(in_use)?);
        for (seq, changes) in sets {
            overlay.insert(seq, &changes, committed);
            committed = seq;
        }
        let journal = (options.durability == Durability::Journal).then_some(journal);
        let is_older = head.format < migrate::present(migrations);
        // Migrations see rows in the tables only. Without a journal from now on, what is in it must never be read again.
        if is_older || (journal.is_none() && committed > folded) {
            fold_all(&state, &overlay, committed, &options).map_err(io)?;
            folded = committed;
        }
        if is_older {
            migrate::migrate(state.db().map_err(io)?, head.format, migrations)?;
        }
        old_journal::remove(&*options.backends)?;

        let snapshot = state.snapshot().map_err(io)?;
        let replayed = overlay.total().0;
        let shared = Arc::new(Shared::new(options, overlay, snapshot, committed, folded));
        shared.fault(|_| ());
        tracing::info!(committed, folded, replayed, took = ?begun.elapsed(), "the store is open");
        start(shared, journal, state)
    }
}

/// Folds everything at once.
fn fold_all(state: &State, overlay: &Overlay, folded: Seq, options: &StoreOptions) -> Result<(), RedbError> {
    overlay.freeze();
    state.fold(overlay, folded, Commit::Immediate, &events::Trim::new(options))?;
    overlay.drop_frozen();
    Ok(())
}

fn start(shared: Arc<Shared>, journal: Option<Journal>, state: State) -> Result<RedbStore, OpenError> {
    let spawn = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let writer = Writer::new(shared.clone(), journal);
    let checkpointer = Checkpointer::new(shared.clone(), state);
    let watched = shared.clone();
    let checkpointer =
        spawn("stet-checkpoint").spawn(move || checkpointer.run()).map_err(|error| OpenError::Io(error.to_string()))?;
    let writer = spawn("stet-writer")
        .spawn(move || {
            // The writer catches its callbacks' panics; any other is a defect. Then the store must say that it has
            // failed, and not let everybody wait.
            catch_unwind(AssertUnwindSafe(|| writer.run())).unwrap_or_else(|_| {
                give_up(&watched);
                None
            })
        })
        .map_err(|error| OpenError::Io(error.to_string()))?;
    Ok(RedbStore { shared, threads: Mutex::new(Some(Threads { writer, checkpointer })) })
}

/// Ends a store whose writer is gone: nothing is taken, nothing stays queued, nobody waits.
fn give_up(shared: &Shared) {
    tracing::error!("the writer has panicked; the store is closed");
    let queue = {
        let mut gate = shared.gate.lock();
        gate.phase = Phase::Closing;
        gate.taken = 0;
        gate.decided = gate.last;
        // What the writer has not decided is in nobody's answer, and must not get into the tables.
        shared.overlay.fall_back(shared.committed());
        std::mem::take(&mut gate.queue)
    };
    shared.settled.notify_all();
    shared.fault(|faults| faults.closed = true);
    // Dropped unanswered, which those who wait notice: an error would claim to know that the last batch is not on disk.
    drop(queue);
}

fn io(error: RedbError) -> OpenError {
    OpenError::Io(error.to_string())
}
