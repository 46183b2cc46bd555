//! The formats of a continuous backup, and the target that holds its objects.
//!
//! A backup consists of **archive files**, which contain every committed change set in order, and
//! of **bases**, which are copies of the tables as of one change. A state is restored from the
//! newest base before it and the archive files after that. A base is a manifest and the **chunks**
//! that it names. Contents are stored beside them, each once, under their SHA-256. A restored
//! server continues on a **timeline** of its own, so that nothing of the old one is overwritten.
//!
//! The crate knows neither the store nor what rows mean: keys, values and change sets are bytes.
//! Read [`BackupName`] first, which says what lies where, then [`ArchiveFile`] and
//! [`BaseManifest`]; [`BackupTarget`] reads and writes them.
//!
//! Invariants:
//! - An object is complete and synced before it is visible under its name.
//! - Each object has a SHA-256 over all of its bytes or of what it unpacks to, and no reader
//!   returns anything of an object before it has been verified.
//! - Readers take any bytes. They don't panic, and unpack at most [`MAX_RAW_BYTES`].

mod archive;
mod chunks;
mod document;
mod error;
mod hash;
mod identity;
mod layout;
mod manifest;
mod packing;
mod target;

pub use archive::{ArchiveFile, ArchiveHeader, ArchiveRecord, ArchiveWriter};
pub use chunks::{ChunkCutter, ChunkRows, TableChunk, read_chunk};
pub use document::BACKUP_FORMAT;
pub use error::BackupError;
pub use hash::Sha256Hash;
pub use identity::{BackupIdentity, TimelineBranch, TimelineOrigin};
pub use layout::{ArchiveSpan, BackupName, BaseStamp, MAX_TIME_MS, TimelineId};
pub use manifest::{BaseManifest, ChunkReference, TableChunks};
pub use packing::MAX_RAW_BYTES;
pub use target::{BackupTarget, MAX_OBJECT_BYTES, ProbeOutcome, ProbeStep, S3Settings};

/// The result of a function of this crate.
pub type BackupResult<T> = std::result::Result<T, BackupError>;
