//! How a store is opened: one struct, a reason and a default for each setting.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stet_actors::clock::{Clock, SystemClock};
use stet_actors::store::Seq;

use super::backend::{Backends, Files};

/// A day in milliseconds.
pub(super) const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The journal's fsync: an answered change survives a crash of the machine.
    #[default]
    Journal,
    /// Nothing: no journal and no fsync, the rest of the pipeline as ever. For measuring what
    /// durability costs; a crash loses all that changed since the store was opened. A clean close
    /// still saves everything. What waits in a journal is folded into the tables when the store is
    /// opened.
    None,
}

/// When what has gathered in memory is folded into the tables. However much it says, a checkpoint
/// begins when memory is half full ([`LimitOptions`]).
#[derive(Debug, Clone)]
pub struct CheckpointOptions {
    /// Bytes of rows in memory that start a checkpoint. More coalesces better and costs memory and
    /// start-up time.
    pub bytes: usize,
    /// Rows in memory that start a checkpoint.
    pub entries: usize,
    /// The longest that a change waits for its checkpoint.
    pub interval: Duration,
    /// The most events that one checkpoint removes because they are past their retention, and those
    /// of one segment more: bounds its length.
    pub trim: usize,
    /// How many events make a segment of the log. More take less room, and more is read for one of
    /// them.
    pub segment_events: usize,
    /// How far apart in time the events of a segment may be, milliseconds: so much longer than
    /// their retention may they stay.
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

/// Where submissions are refused as overloaded, and how much one commit takes.
#[derive(Debug, Clone)]
pub struct LimitOptions {
    /// Bytes of rows in memory (not yet folded, both generations) beyond which nothing more is
    /// taken.
    pub overlay_bytes: usize,
    /// Rows in memory beyond which nothing more is taken.
    pub overlay_entries: usize,
    /// Change sets waiting for the writer beyond which nothing more is taken.
    pub queued: usize,
    /// The most change sets in one commit.
    pub batch_sets: usize,
    /// Bytes after which a commit takes no further change set.
    pub batch_bytes: usize,
    /// Bytes of records in the journal that are not folded beyond which nothing more is taken; a
    /// quarter of it starts a checkpoint. A row that is changed again and again takes room there
    /// each time, and in memory once; and a start has to read it all.
    pub journal_bytes: u64,
    /// The largest change set, in bytes of keys and values. It is in memory several times while it
    /// is committed.
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
    /// The most bytes and rows in memory that [`CheckpointOptions`] may wait for: the other half is
    /// filled while a checkpoint is made.
    pub fn most_gathered(&self) -> (usize, usize) {
        (self.overlay_bytes / 2, self.overlay_entries / 2)
    }

    /// Whether nothing more is taken beside these rows and bytes in memory and, if there are any,
    /// so many bytes of the journal.
    pub(super) fn is_full(&self, gathered: (usize, usize), journal: u64) -> bool {
        self.reaches(4, gathered, journal)
    }

    /// Whether three quarters of that are reached: more than what is gathered before a checkpoint
    /// begins, so it makes room.
    pub(super) fn fills(&self, gathered: (usize, usize), journal: u64) -> bool {
        self.reaches(3, gathered, journal)
    }

    fn reaches(&self, quarters: u8, (rows, bytes): (usize, usize), journal: u64) -> bool {
        let of = |limit: u64| limit - limit / 4 * u64::from(4 - quarters);
        // With nothing in memory all is folded, whatever the journal's count says.
        rows as u64 >= of(self.overlay_entries as u64)
            || bytes as u64 >= of(self.overlay_bytes as u64)
            || (rows > 0 && journal >= of(self.journal_bytes))
    }
}

/// How a store is opened.
#[derive(Clone)]
pub struct StoreOptions {
    /// The data directory; made if it is not there. Holds `journal.wal` and `state.redb`.
    pub data: PathBuf,
    /// What a commit waits for.
    pub durability: Durability,
    /// When changes are folded into the tables.
    pub checkpoint: CheckpointOptions,
    /// When submissions are refused.
    pub limits: LimitOptions,
    /// Bytes of memory that the tables' pages take at most.
    pub cache_bytes: usize,
    /// How long events are kept, in milliseconds by `clock`; `None` keeps them for ever.
    pub event_retention_ms: Option<u64>,
    /// How long the change sets of a failed commit wait for their fate when the journal can't even
    /// be reopened; afterwards they are answered with an error that says so (see the module's
    /// head).
    pub decide_within: Duration,
    /// How long the writer stays awake when it has nothing to do (see its module's head). Zero: not
    /// at all.
    pub linger: Duration,
    /// Whether the checksum of every page of the tables is held against what is in it before
    /// anything else is done. It reads the whole file; a store that is opened without it notices
    /// damage only where redb itself does.
    pub verify: bool,
    /// The time: what ends by it asks [`Ends`](stet_actors::ends::Ends), which asks this one.
    pub clock: Arc<dyn Clock>,
    /// Opens the files.
    pub backends: Arc<dyn Backends>,
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
            data,
        }
    }

    /// Whether so many rows and bytes in memory, or so many bytes of the journal, start a
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

/// What is missing from a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// What is wrong with the files.
    pub why: String,
    /// Every change up to this number is there.
    pub kept: Seq,
    /// The last change that is known to have been there; not above `kept` if none is missing.
    /// `None`: nothing is known of those after `kept`.
    pub last: Option<Seq>,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loss { why, kept, last } = self;
        write!(f, "{why}; every change up to {kept} is there, ")?;
        match last {
            Some(last) if *last > kept + 1 => write!(f, "changes {} to {last} are missing", kept + 1),
            Some(last) if last > kept => write!(f, "change {last} is missing"),
            Some(_) => f.write_str("and none is known to be missing"),
            None => f.write_str("and whether later ones are missing can't be known"),
        }
    }
}

/// Why a store could not be opened.
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
    /// Changes that were acknowledged are missing, or nobody can know that they are not.
    Lost(Loss),
    /// What is stored can't be understood.
    Corrupt(String),
    /// Migration of that number failed; the file is as it was before it.
    Migration(u64, String),
    /// The files can't be read or written.
    Io(String),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::InUse(data) => write!(f, "{}: the data directory is in use by another process", data.display()),
            OpenError::Newer { file, found, known } => {
                write!(f, "{file} has format {found}, which a newer stet wrote; this one reads up to {known}")
            }
            OpenError::Lost(loss) => write!(
                f,
                "{loss}. Restore a backup of the whole directory, or go on without what is lost: `stet recover` says what \
                 that is, and with `--accept-loss` does it"
            ),
            OpenError::Corrupt(why) => write!(f, "what is stored can't be understood: {why}"),
            OpenError::Migration(number, why) => write!(f, "migration {number} failed: {why}"),
            OpenError::Io(why) => write!(f, "the data directory can't be opened: {why}"),
        }
    }
}

impl std::error::Error for OpenError {}
