//! The reading of an archive, whose files a running server may merge meanwhile.

use std::collections::VecDeque;

use stet_backup::{
    ArchiveFile, ArchiveHeader, ArchiveRecord, ArchiveSpan, BackupError, BackupName, BackupTarget, TimelineId,
};
use stet_domain::store::Seq;

use crate::shipping::spans;
use crate::survey::files_after;

/// The number of times that the files are listed again because one was merged.
const LISTS: u32 = 100;

/// The files of an archive after a change, one after the other.
pub(crate) struct ArchiveReader<'a> {
    target: &'a BackupTarget,
    timeline: TimelineId,
    files: VecDeque<ArchiveSpan>,
    /// The last change that was read.
    reached: Seq,
    before: Option<ArchiveHeader>,
    lists: u32,
}

impl<'a> ArchiveReader<'a> {
    /// Begins after the change `from`. `archive` is a list of the files.
    pub fn new(
        target: &'a BackupTarget,
        timeline: TimelineId,
        archive: &[ArchiveSpan],
        from: Seq,
    ) -> ArchiveReader<'a> {
        let files = files_after(archive, from).into();
        ArchiveReader { target, timeline, files, reached: from, before: None, lists: 0 }
    }

    /// Returns the next file's name, and those of its records that were not read before; `None`
    /// after the last file of the list.
    ///
    /// # Errors
    /// `Damaged`: the file, or the chain of files. `NotFound`: a file is gone, and no other has its
    /// records. Errors of the target.
    pub async fn next_file(&mut self) -> Result<Option<(BackupName, Vec<ArchiveRecord>)>, BackupError> {
        while let Some(span) = self.files.pop_front() {
            let name = BackupName::Archive(self.timeline, span);
            let Some(bytes) = self.target.get(&name.to_string()).await? else {
                self.list_again(&name, span.last).await?;
                continue;
            };
            let (header, mut records) = ArchiveFile::read(&name, &bytes)?;
            // A merged file may begin before the place that was reached.
            let is_next = |before: &&ArchiveHeader| before.span.last + 1 == span.first;
            if self.before.as_ref().filter(is_next).is_some_and(|before| !before.is_followed_by(&header)) {
                let fault = "it does not follow the file before it".to_owned();
                return Err(BackupError::Damaged { object: name.to_string(), fault });
            }
            records.retain(|record| record.last > self.reached);
            (self.reached, self.before) = (span.last, Some(header));
            return Ok(Some((name, records)));
        }
        Ok(None)
    }

    async fn list_again(&mut self, gone: &BackupName, last: Seq) -> Result<(), BackupError> {
        self.lists += 1;
        let listed: Vec<ArchiveSpan> =
            spans(self.target, self.timeline).await?.into_iter().map(|(span, _)| span).collect();
        self.files = files_after(&listed, self.reached).into();
        if self.lists > LISTS || self.files.back().is_none_or(|end| end.last < last) {
            return Err(BackupError::NotFound(gone.to_string()));
        }
        Ok(())
    }
}
