//! The options of a store: one struct, with a reason and a default for each setting.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stet_domain::clock::{Clock, SystemClock};
use stet_domain::store::Seq;

use super::backend::{Backends, Files};
use super::tap::CommitTap;

/// A day in milliseconds.
pub(super) const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The event that a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The journal's fsync. An acknowledged change survives a crash of the machine.
    #[default]
    Journal,
    /// Nothing. There is no journal and no fsync; the rest of the pipeline is the same. It serves
    /// to measure the cost of durability. A crash loses all changes since the store was opened. A
    /// clean close still saves everything. Rows in an existing journal are folded into the tables
    /// when the store is opened.
    None,
}

/// The conditions under which rows in memory are folded into the tables. In any case a checkpoint
/// begins when memory is half full ([`LimitOptions`]).
#[derive(Debug, Clone)]
pub struct CheckpointOptions {
    /// The size of rows in memory, in bytes, that starts a checkpoint. More coalesces better, but
    /// costs memory and start-up time.
    pub bytes: usize,
    /// The number of rows in memory that starts a checkpoint.
    pub entries: usize,
    /// The maximum time that a change waits for its checkpoint.
    pub interval: Duration,
    /// The maximum number of events past their retention that one checkpoint removes, in addition
    /// to those of one segment. It bounds the checkpoint's length.
    pub trim: usize,
    /// The number of events in a segment of the log. More take less room, but reading one of them
    /// reads more.
    pub segment_events: usize,
    /// The maximum time between events of a segment, in milliseconds. Events may stay longer than
    /// their retention by that time.
    pub segment_span_ms: u64,
}

impl Default for CheckpointOptions {
    fn default() -> Self {
        CheckpointOptions {
            bytes: 32 << 20,
            entries: 100_000,
            interval: Duration::from_secs(2),
            trim: 20_000,
            segment_events: 8_192,
            segment_span_ms: DAY_MS,
        }
    }
}

/// The limits above which submissions are refused as overloaded, and the size of one commit.
#[derive(Debug, Clone)]
pub struct LimitOptions {
    /// The size of rows in memory, in bytes, at which no more changes are accepted. It counts
    /// unfolded rows of both generations.
    pub overlay_bytes: usize,
    /// The number of rows in memory at which no more changes are accepted.
    pub overlay_entries: usize,
    /// The number of change sets waiting for the writer at which no more are accepted.
    pub queued: usize,
    /// The maximum number of change sets in one commit.
    pub batch_sets: usize,
    /// The size in bytes at which a commit takes no further change set.
    pub batch_bytes: usize,
    /// The size of unfolded records in the journal, in bytes, at which no more changes are
    /// accepted. A quarter of it starts a checkpoint. A row that is changed repeatedly takes room
    /// there each time, but in memory once, and a start has to read all of it.
    pub journal_bytes: u64,
    /// The maximum size of a change set, in bytes of keys and values. It is in memory several times
    /// during its commit.
    pub set_bytes: usize,
}

impl Default for LimitOptions {
    fn default() -> Self {
        LimitOptions {
            overlay_bytes: 256 << 20,
            overlay_entries: 1_500_000,
            queued: 65_536,
            batch_sets: 4_096,
            batch_bytes: 8 << 20,
            journal_bytes: 1 << 30,
            set_bytes: 256 << 20,
        }
    }
}

impl LimitOptions {
    /// Returns the maximum bytes and rows in memory that [`CheckpointOptions`] may wait for. The
    /// other half fills during a checkpoint.
    pub fn most_gathered(&self) -> (usize, usize) {
        (self.overlay_bytes / 2, self.overlay_entries / 2)
    }

    /// Reports whether no more changes are accepted with these rows and bytes in memory. Bytes of
    /// the journal count only if there are rows.
    pub(super) fn is_full(&self, gathered: (usize, usize), journal: u64) -> bool {
        self.reaches(|limit| limit, gathered, journal)
    }

    /// Reports whether half of the limits is reached. A checkpoint is already making room then, or
    /// begins.
    pub(super) fn fills(&self, gathered: (usize, usize), journal: u64) -> bool {
        self.reaches(|limit| limit.div_ceil(2), gathered, journal)
    }

    /// Reports whether that part of one of the limits is reached.
    fn reaches(&self, of: fn(u64) -> u64, (rows, bytes): (usize, usize), journal: u64) -> bool {
        // Without rows in memory everything is folded, whatever the journal's size.
        rows as u64 >= of(self.overlay_entries as u64)
            || bytes as u64 >= of(self.overlay_bytes as u64)
            || (rows > 0 && journal >= of(self.journal_bytes))
    }
}

/// The options of a store.
#[derive(Clone)]
pub struct StoreOptions {
    /// The data directory, which is created if it is missing. It contains `journal.wal` and
    /// `state.redb`.
    pub data: PathBuf,
    /// The event that a commit waits for.
    pub durability: Durability,
    /// The conditions under which changes are folded into the tables.
    pub checkpoint: CheckpointOptions,
    /// The limits above which submissions are refused.
    pub limits: LimitOptions,
    /// The maximum size in bytes of the tables' page cache.
    pub cache_bytes: usize,
    /// The retention of events, in milliseconds by `clock`; `None` keeps them for ever.
    pub event_retention_ms: Option<u64>,
    /// The time for which the change sets of a failed commit wait for their outcome when the
    /// journal cannot be reopened. Afterwards they are answered with an error that calls the
    /// outcome unknown.
    pub decide_within: Duration,
    /// The time for which the writer stays awake without work (see the head of `writer`). Zero
    /// disables it.
    pub linger: Duration,
    /// Whether the checksum of every page of the tables is checked first. It reads the whole file.
    /// Without it, only the damage that redb itself notices is found.
    pub verify: bool,
    /// The clock. Expirations use it through [`ExpiryClock`](stet_domain::ends::ExpiryClock).
    pub clock: Arc<dyn Clock>,
    /// The source of the files.
    pub backends: Arc<dyn Backends>,
    /// The receiver of all committed records. Without a journal there are none.
    pub tap: Option<Arc<dyn CommitTap>>,
}

impl StoreOptions {
    /// The defaults, for the data directory `data`.
    pub fn new(data: impl Into<PathBuf>) -> StoreOptions {
        let data = data.into();
        StoreOptions {
            durability: Durability::default(),
            checkpoint: CheckpointOptions::default(),
            limits: LimitOptions::default(),
            cache_bytes: 256 << 20,
            event_retention_ms: Some(30 * DAY_MS),
            decide_within: Duration::from_secs(10),
            linger: Duration::from_micros(150),
            verify: false,
            clock: Arc::new(SystemClock),
            backends: Arc::new(Files::new(&data)),
            tap: None,
            data,
        }
    }

    /// Reports whether these rows and bytes in memory, or these bytes of the journal, start a
    /// checkpoint.
    pub(super) fn is_due(&self, (rows, bytes): (usize, usize), journal: u64) -> bool {
        let (most_bytes, most_rows) = self.limits.most_gathered();
        rows >= self.checkpoint.entries.min(most_rows)
            || bytes >= self.checkpoint.bytes.min(most_bytes)
            || journal >= self.limits.journal_bytes / 4
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("data", &self.data)
            .field("durability", &self.durability)
            .field("checkpoint", &self.checkpoint)
            .field("limits", &self.limits)
            .field("cache_bytes", &self.cache_bytes)
            .field("event_retention_ms", &self.event_retention_ms)
            .finish_non_exhaustive()
    }
}

/// The loss of changes from a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLoss {
    /// A description of the fault in the files.
    pub why: String,
    /// The last change up to which none is missing.
    pub kept: Seq,
    /// The last change that is known to have existed; at most `kept` if none is missing. `None`: it
    /// is unknown whether changes after `kept` existed.
    pub last: Option<Seq>,
}

impl fmt::Display for JournalLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JournalLoss { why, kept, last } = self;
        write!(f, "{why}; all changes up to {kept} are present, ")?;
        match last {
            Some(last) if *last > kept + 1 => write!(f, "but changes {} to {last} are missing", kept + 1),
            Some(last) if last > kept => write!(f, "but change {last} is missing"),
            Some(_) => f.write_str("and none is known to be missing"),
            None => f.write_str("and it is unknown whether later ones are missing"),
        }
    }
}

/// The reason why a store could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// Another process has the data directory open.
    InUse(PathBuf),
    /// A file was written by a newer stet.
    Newer {
        /// The file's name.
        file: &'static str,
        /// The format number found in it.
        found: u64,
        /// The newest format number that this stet reads.
        known: u64,
    },
    /// Acknowledged changes are missing, or it cannot be ruled out.
    Lost(JournalLoss),
    /// The stored data cannot be decoded.
    Corrupt(String),
    /// The migration of this number failed; the file is as it was before it.
    Migration(u64, String),
    /// The files cannot be read or written.
    Io(String),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::InUse(data) => write!(f, "{}: the data directory is in use by another process", data.display()),
            OpenError::Newer { file, found, known } => {
                write!(
                    f,
                    "{file} has format {found}, written by a newer stet; this version reads formats up to {known}"
                )
            }
            OpenError::Lost(loss) => write!(
                f,
                "{loss}. Restore a backup of the whole directory, or give up the lost changes: `stet recover` reports \
                 them, and gives them up with `--accept-loss`"
            ),
            OpenError::Corrupt(why) => write!(f, "stored data can't be decoded: {why}"),
            OpenError::Migration(number, why) => write!(f, "migration {number} failed: {why}"),
            OpenError::Io(why) => write!(f, "the data directory can't be opened: {why}"),
        }
    }
}

impl std::error::Error for OpenError {}
