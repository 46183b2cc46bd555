//! Reading of contents.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use stet_base::limits::offload::Offload;
use stet_domain::error::{Error, Result};

use super::{blocking, failure};

/// Bytes read at a time: the memory that a content of any size takes while it is sent.
pub const CHUNK: u64 = 64 << 10;

/// A content, or a range of one, that is read chunk by chunk. A clone reads the same bytes
/// independently.
#[derive(Debug, Clone)]
pub struct ContentReader {
    source: ContentSource,
    /// Offset of the next byte to be read.
    at: u64,
    /// Offset behind the last byte.
    end: u64,
}

#[derive(Debug, Clone)]
enum ContentSource {
    Memory(Bytes),
    File(Arc<OpenFile>),
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    /// The path, for the log.
    path: PathBuf,
}

impl ContentReader {
    /// Creates a reader of a content that is in memory.
    pub fn of(bytes: Bytes) -> ContentReader {
        ContentReader { at: 0, end: bytes.len() as u64, source: ContentSource::Memory(bytes) }
    }

    pub(super) fn of_file(file: File, path: PathBuf, size: u64) -> ContentReader {
        ContentReader { source: ContentSource::File(Arc::new(OpenFile { file, path })), at: 0, end: size }
    }

    /// Returns the part of the remaining bytes that begins after `offset` bytes and has `len`
    /// bytes, or all there are.
    #[must_use]
    pub fn range(self, offset: u64, len: u64) -> ContentReader {
        let at = self.at.saturating_add(offset).min(self.end);
        ContentReader { at, end: at.saturating_add(len).min(self.end), source: self.source }
    }

    /// Returns the number of remaining bytes.
    pub fn remaining(&self) -> u64 {
        self.end - self.at
    }

    /// Returns the next bytes, 64 KiB at most; `None` at the end. Dropping the future skips
    /// nothing.
    ///
    /// # Errors
    /// `RepositoryError` if the file can't be read, or ends early.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>> {
        let len = self.remaining().min(CHUNK);
        if len == 0 {
            return Ok(None);
        }
        let bytes = self.read(len).await?;
        self.at += len;
        Ok(Some(bytes))
    }

    /// Returns all remaining bytes, in one piece. For contents whose size the caller has limited.
    ///
    /// # Errors
    /// The errors of [`ContentReader::next_chunk`].
    pub async fn read_all(self) -> Result<Bytes> {
        self.read(self.remaining()).await
    }

    /// Does `work` on all remaining bytes under a work permit. They are read once the permit is
    /// there, which bounds the number of contents in memory. For contents whose size the caller has
    /// limited.
    ///
    /// # Errors
    /// The errors of [`ContentReader::next_chunk`], [`Offload::turn`] and [`Offload::work`].
    pub async fn process<T: Send + 'static>(self, work: impl FnOnce(Bytes) -> T + Send + 'static) -> Result<T> {
        let permit = Offload::for_bytes(self.remaining()).await?;
        let bytes = self.read_all().await?;
        permit.work(move || work(bytes)).await
    }

    /// Reads `len` bytes from the present offset on; they must not go beyond the end.
    async fn read(&self, len: u64) -> Result<Bytes> {
        let at = self.at;
        let Ok(len) = usize::try_from(len) else {
            tracing::error!(len, "a content is larger than the address space");
            return Err(Error::internal());
        };
        match &self.source {
            ContentSource::Memory(bytes) => {
                // The offset is within a `Bytes`, whose length is a `usize`.
                let at = at as usize;
                Ok(bytes.slice(at..at + len))
            }
            ContentSource::File(open) => {
                let open = open.clone();
                blocking(move || {
                    let mut buffer = vec![0; len];
                    let read = open.file.read_exact_at(&mut buffer, at);
                    read.map_err(|error| failure("read", &open.path, &error))?;
                    Ok(buffer.into())
                })
                .await
            }
        }
    }
}
