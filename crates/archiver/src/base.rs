//! Bases: copies of the tables at the target.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stet_backup::{
    BackupError, BackupName, BackupTarget, BaseManifest, BaseStamp, ChunkCutter, Sha256Hash, TableChunk, TableChunks,
    TimelineId,
};
use stet_content::ContentStore;
use stet_domain::store::{Seq, StoreError, Table};
use stet_store::{RedbStore, TablesCopy};
use tokio::runtime::Runtime;

use crate::contents::content_of;
use crate::now_ms;

/// The time between two looks whether the tables have the changes that a base must have.
const PAUSE: Duration = Duration::from_millis(50);

/// The work of taking one base. It blocks, so it has a thread of its own.
pub(crate) struct BaseWork<'a> {
    pub runtime: &'a Runtime,
    pub target: &'a BackupTarget,
    pub store: &'a RedbStore,
    pub content: &'a ContentStore,
    pub timeline: TimelineId,
    /// The change that the base must have.
    pub at_least: Seq,
    /// The most bytes of rows and contents that are read in a second.
    pub bytes_per_second: u64,
    /// Set when the server ends: the base is given up.
    pub is_ended: &'a AtomicBool,
}

/// A base that was taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TakenBase {
    pub stamp: BaseStamp,
    /// Bytes of rows.
    pub bytes: u64,
    /// Bytes of chunks that the target did not have.
    pub sent_bytes: u64,
    pub seconds: f64,
}

impl BaseWork<'_> {
    /// Takes a base. Parts that the target has, of an earlier base or of an attempt that was
    /// interrupted, are not sent again.
    ///
    /// # Errors
    /// Errors of the target and of the store. The next attempt goes on where this one has ended.
    pub fn take(&self) -> Result<TakenBase, BackupError> {
        let begun = Instant::now();
        let copy = self.copy()?;
        let stamp = BaseStamp { seq: copy.seq(), taken_ms: now_ms() };
        let mut manifest = BaseManifest::new(self.timeline, stamp, env!("CARGO_PKG_VERSION"), TablesCopy::format());
        let mut sender = ChunkSender { work: self, there: HashSet::new(), sent_bytes: 0, begun, read: 0 };
        for name in TablesCopy::names() {
            let chunks = sender.table(&copy, name)?;
            manifest.tables.push(TableChunks { name: name.to_owned(), chunks });
        }
        sender.contents(&copy)?;
        let name = manifest.name().to_string();
        self.runtime.block_on(self.target.put(&name, manifest.encode()))?;
        let (bytes, sent_bytes) = (manifest.raw_bytes(), sender.sent_bytes);
        Ok(TakenBase { stamp, bytes, sent_bytes, seconds: begun.elapsed().as_secs_f64() })
    }

    /// Waits until the tables have what they must, and returns them.
    fn copy(&self) -> Result<TablesCopy, BackupError> {
        loop {
            let copy = self.store.tables_copy();
            if copy.seq() >= self.at_least {
                return Ok(copy);
            }
            self.go_on()?;
            std::thread::sleep(PAUSE);
        }
    }

    fn go_on(&self) -> Result<(), BackupError> {
        if self.is_ended.load(Ordering::Acquire) {
            return Err(BackupError::Unreachable("The server ends.".to_owned()));
        }
        Ok(())
    }
}

struct ChunkSender<'a> {
    work: &'a BaseWork<'a>,
    /// Chunks that the target has.
    there: HashSet<Sha256Hash>,
    sent_bytes: u64,
    begun: Instant,
    /// Bytes that were read so far.
    read: u64,
}

impl ChunkSender<'_> {
    /// Sends the rows of a table, and returns its chunks.
    fn table(&mut self, copy: &TablesCopy, name: &str) -> Result<Vec<stet_backup::ChunkReference>, BackupError> {
        let (mut cutter, mut chunks) = (ChunkCutter::new(), Vec::new());
        let failed = copy.for_each(name, |key, value| {
            let sent = cutter.push(key, value).and_then(|chunk| match chunk {
                Some(chunk) => self.chunk(&chunk).map(|()| chunks.push(chunk.reference)),
                None => Ok(()),
            });
            sent.map_or_else(ControlFlow::Break, ControlFlow::Continue)
        });
        if let Some(error) = failed.map_err(|error| unreadable(&error))? {
            return Err(error);
        }
        if let Some(chunk) = cutter.finish() {
            self.chunk(&chunk)?;
            chunks.push(chunk.reference);
        }
        Ok(chunks)
    }

    fn chunk(&mut self, chunk: &TableChunk) -> Result<(), BackupError> {
        self.work.go_on()?;
        self.throttle(chunk.reference.bytes);
        if self.there.insert(chunk.reference.sha256) {
            let name = chunk.name().to_string();
            let BaseWork { runtime, target, .. } = self.work;
            if !runtime.block_on(target.exists(&name))? {
                let stored = chunk.pack()?;
                self.sent_bytes += stored.len() as u64;
                runtime.block_on(target.put(&name, stored))?;
            }
        }
        Ok(())
    }

    /// Sends the contents to which rows of the copy refer.
    fn contents(&mut self, copy: &TablesCopy) -> Result<(), BackupError> {
        // Of the index of files, whose entries are in the order of hashes.
        let (mut last, mut there, mut gone) = (None, HashSet::new(), 0_u64);
        let failed = copy.for_each(Table::Files.name(), |key, _| {
            let Some(hash) = content_of(key).filter(|hash| last != Some(*hash)) else {
                return ControlFlow::Continue(());
            };
            let sent = self.work.go_on().and_then(|()| {
                if last.is_none_or(|last: Sha256Hash| last.0[0] != hash.0[0]) {
                    there = self.listed(hash.0[0])?;
                }
                last = Some(hash);
                if !there.contains(&hash) && !self.content(hash)? {
                    gone += 1;
                }
                Ok(())
            });
            sent.map_or_else(ControlFlow::Break, ControlFlow::Continue)
        });
        if gone > 0 {
            tracing::info!(gone, "contents were gone before the base had them; later changes have removed them");
        }
        failed.map_err(|error| unreadable(&error))?.map_or(Ok(()), Err)
    }

    /// Returns the contents at the target whose hashes begin with a byte.
    fn listed(&self, byte: u8) -> Result<HashSet<Sha256Hash>, BackupError> {
        let folder = format!("{}/{byte:02x}", BackupName::CONTENTS);
        let found = self.work.runtime.block_on(self.work.target.list(&folder))?;
        let hashes = found.iter().filter_map(|(name, _)| match BackupName::parse(name)? {
            BackupName::Content(hash) => Some(hash),
            _ => None,
        });
        Ok(hashes.collect())
    }

    /// Sends a content. Returns whether there is a file of it.
    fn content(&mut self, hash: Sha256Hash) -> Result<bool, BackupError> {
        let BaseWork { runtime, target, content, .. } = self.work;
        let name = BackupName::Content(hash).to_string();
        match runtime.block_on(target.put_file(&name, &content.path(&hash.0), Some(&hash))) {
            Ok(bytes) => {
                self.sent_bytes += bytes;
                self.throttle(bytes);
                Ok(true)
            }
            Err(BackupError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sleeps as long as the work is ahead of its rate.
    fn throttle(&mut self, bytes: u64) {
        self.read += bytes;
        let due = Duration::from_secs_f64(self.read as f64 / self.work.bytes_per_second.max(1) as f64);
        std::thread::sleep(due.saturating_sub(self.begun.elapsed()));
    }
}

fn unreadable(error: &StoreError) -> BackupError {
    BackupError::Unreachable(format!("The tables can't be copied: {error}."))
}
