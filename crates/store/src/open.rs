//! Opening a store: formats, replay, migrations, threads. Only one table is scanned: that of the
//! few thousand events in no segment. So the time depends only on the unfolded part of the journal.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use parking_lot::Mutex;
use redb::Durability as Commit;
use stet_domain::ends::ExpiryClock;
use stet_domain::store::Seq;

use super::backend::{Backends, StoreFile};
use super::blob::NumberedChangeSet;
use super::checkpoint::{Checkpointer, StateFile};
use super::journal::{Journal, JournalContents, JournalFacts};
use super::lease::KeptFile;
use super::log::{self, PackingRules};
use super::migrate::{self, Migration};
use super::options::{Durability, OpenError, StoreOptions};
use super::overlay::Overlay;
use super::shared::{StoreCore, SubmissionPhase};
use super::tables::RedbError;
use super::tap::CommittedRecord;
use super::writer::CommitWriter;
use super::{RedbStore, Threads};

impl RedbStore {
    /// [`RedbStore::open`] with a given list of migrations.
    pub(super) fn open_with(options: StoreOptions, migrations: &[Migration]) -> Result<RedbStore, OpenError> {
        RedbStore::open_as(options, migrations, false)
    }

    /// Opens a store as [`RedbStore::open_with`] does. With `anew`, creates a new journal in place
    /// of any existing one.
    pub(super) fn open_as(options: StoreOptions, migrations: &[Migration], anew: bool) -> Result<RedbStore, OpenError> {
        // redb panics on some damaged pages.
        let opened = catch_unwind(AssertUnwindSafe(|| open(options, migrations, anew)));
        opened.unwrap_or_else(|_| Err(OpenError::Corrupt("state.redb: its pages are damaged".to_owned())))
    }
}

fn open(options: StoreOptions, migrations: &[Migration], anew: bool) -> Result<RedbStore, OpenError> {
    let begun = Instant::now();
    let in_use = |error| match error {
        OpenError::InUse(_) => OpenError::InUse(options.data.clone()),
        error => error,
    };
    let backends = options.backends.clone();
    let backends = &*backends;
    let failed = |error: std::io::Error| OpenError::Io(format!("{}: {error}", StoreFile::State.name()));
    if backends.open_existing(StoreFile::State).map_err(failed)?.is_none() {
        may_be_new(backends, 0)?;
    }
    let kept = backends.open(StoreFile::State).map(KeptFile::new).map_err(failed)?;
    if options.verify {
        migrate::verify(&kept, options.cache_bytes).map_err(in_use)?;
    }
    let len = kept.len().map_err(failed)?;
    let opened = migrate::open_database(&kept, options.cache_bytes, || may_be_new(backends, len));
    let (lease, db) = opened.map_err(in_use)?;
    let head = migrate::head(&db, migrations)?;
    let state = StateFile::new(kept, lease, db, options.cache_bytes);

    let overlay = Overlay::new();
    let (mut folded, mut committed) = (head.folded, head.folded);
    let (mut journal, sets) =
        if anew { (Journal::make(backends, folded)?, Vec::new()) } else { Journal::open(backends, &head.journal())? };
    committed = replay(&overlay, sets, committed, &options);
    let is_older = head.format < migrate::present(migrations);
    let is_used = options.durability == Durability::Journal;
    // Migrations see only rows in the tables. If no journal is used from now on, the content of the
    // existing one must never be read again.
    if is_older || (!is_used && committed > folded) {
        if let Some(tap) = &options.tap {
            tap.keep(committed);
        }
        fold_all(&state, &overlay, committed, &PackingRules::of(&options)).map_err(io)?;
        folded = committed;
    }
    if is_older {
        migrate::migrate(state.db().map_err(io)?, head.format, migrations)?;
    }
    if head.salt != Some(journal.salt()) {
        // The mark is created before anything is acknowledged with the journal. From then on it
        // must exist.
        journal.make_mark(backends, committed)?;
        migrate::pair(state.db().map_err(io)?, journal.salt()).map_err(io)?;
    }

    let (unpacked, packed) = log::unpacked_events(state.db().map_err(io)?).map_err(io)?;
    overlay.begin_log(unpacked, packed, folded);
    let snapshot = state.snapshot().map_err(io)?;
    let replayed = overlay.total().0;
    let last_ms = match head.believed_ms {
        Some(believed_ms) => Some(believed_ms),
        // No checkpoint has noted the time yet. The newest event's time is used instead.
        None => log::newest_ms(state.db().map_err(io)?, &overlay.log).map_err(io)?,
    };
    let ends = ExpiryClock::since(options.clock.clone(), last_ms);
    let shared = Arc::new(StoreCore::new((options, ends), overlay, snapshot, committed, folded));
    shared.fault(|_| ());
    shared.journaled.store(if committed > folded { journal.bytes() } else { 0 }, Ordering::Release);
    // The rows left by a killed server may fill the memory completely, whatever its limits were.
    // Then no change is accepted before they are folded.
    shared.checkpoint_if_due();
    tracing::info!(committed, folded, replayed, took_ms = begun.elapsed().as_millis() as u64, "the store is open");
    start(shared, is_used.then_some(journal), state)
}

/// Adds the change sets of the journal to the rows in memory, after those of the tables, and passes
/// them to the tap. Returns the number of the last one.
fn replay(overlay: &Overlay, sets: Vec<NumberedChangeSet>, folded: Seq, options: &StoreOptions) -> Seq {
    let tap = options.tap.as_deref().filter(|_| options.durability == Durability::Journal);
    if let Some(tap) = tap {
        tap.opened(folded, sets.last().map_or(folded, |set| set.seq));
    }
    let mut committed = folded;
    for set in sets {
        if let Some(tap) = tap {
            // The journal does not have the time of a commit.
            let at_ms = set.events.first().map_or_else(|| options.clock.now_ms(), |event| event.at_ms);
            tap.committed(CommittedRecord::of((committed, set.seq), at_ms, [set.parts()].into_iter()));
        }
        committed = overlay.replay(set, committed);
    }
    committed
}

/// The largest size in bytes of a `state.redb` whose creation was not finished. redb creates files
/// of this size, and writes the first bytes last.
const UNFINISHED: u64 = 2 << 20;

/// Refuses to create a `state.redb` if changes were in it. `len` is the size of the existing file,
/// whose first bytes are zero, or 0 if it is missing.
fn may_be_new(backends: &dyn Backends, len: u64) -> Result<(), OpenError> {
    // A store whose tables were not on disk yet has all changes in its journal, beginning with the
    // first.
    let found = JournalContents::read(backends, &JournalFacts { folded: 0, salt: None, made: false })?;
    let marked = backends.open_existing(StoreFile::Mark).map_err(|error| OpenError::Io(error.to_string()))?.is_some();
    let fits = found.is_there() || !marked;
    if found.loss.is_none() && fits && len <= UNFINISHED {
        return Ok(());
    }
    let why = "state.redb is missing or begins with zeros, although it contained changes. The other files may have \
               been restored without it. Restore a backup of the whole directory";
    Err(OpenError::Corrupt(why.to_owned()))
}

/// Folds everything at once. It removes no events.
pub(super) fn fold_all(
    state: &StateFile,
    overlay: &Overlay,
    folded: Seq,
    packing: &PackingRules,
) -> Result<(), RedbError> {
    overlay.freeze(folded);
    state.fold(overlay, folded, Commit::Immediate, packing, None)?;
    overlay.drop_frozen();
    Ok(())
}

fn start(shared: Arc<StoreCore>, journal: Option<Journal>, state: StateFile) -> Result<RedbStore, OpenError> {
    // No fault exists yet. The metrics report that before the first commit.
    shared.fault(|_| ());
    let spawn = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let writer = CommitWriter::new(shared.clone(), journal);
    let checkpointer = Checkpointer::new(shared.clone(), state);
    let watched = shared.clone();
    let checkpointer =
        spawn("stet-checkpoint").spawn(move || checkpointer.run()).map_err(|error| OpenError::Io(error.to_string()))?;
    let writer = spawn("stet-writer")
        .spawn(move || {
            // The writer catches panics of callbacks; any other panic is a defect. Then the store
            // must report its failure instead of letting callers wait.
            catch_unwind(AssertUnwindSafe(|| writer.run())).unwrap_or_else(|_| {
                give_up(&watched);
                None
            })
        })
        .map_err(|error| OpenError::Io(error.to_string()))?;
    Ok(RedbStore { shared, threads: Mutex::new(Some(Threads { writer, checkpointer })) })
}

/// Ends a store whose writer is gone: it accepts no changes, empties the queue and lets no caller
/// wait.
fn give_up(shared: &StoreCore) {
    tracing::error!("the writer has panicked; the store is closed");
    let queue = {
        let mut gate = shared.gate.lock();
        gate.phase = SubmissionPhase::Broken;
        gate.taken = 0;
        gate.decided = gate.last;
        // Changes that the writer has not decided are in no reply, and must not reach the tables.
        shared.overlay.fall_back(shared.committed());
        std::mem::take(&mut gate.queue)
    };
    shared.settled.notify_all();
    shared.fault(|faults| faults.closed = true);
    // The queue is dropped without replies, which waiting callers notice. An error would claim that
    // the last batch is not on disk.
    drop(queue);
}

pub(super) fn io(error: RedbError) -> OpenError {
    OpenError::Io(error.to_string())
}
