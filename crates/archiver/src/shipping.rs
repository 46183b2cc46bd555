//! The archive: records of the spool become archive files at the target.

use std::path::Path;

use stet_backup::{
    ArchiveFile, ArchiveRecord, ArchiveSpan, ArchiveWriter, BackupError, BackupName, BackupTarget, Sha256Hash,
    TimelineId,
};
use stet_domain::store::Seq;
use stet_store::{CommittedRecord, is_backed_up};

use crate::contents::{ContentSender, new_contents};
use crate::spool::Spool;

/// The size of an archive file in bytes of records, before compression.
const FILE_BYTES: usize = 8 << 20;

/// The number of small files after which they are merged.
const MERGED: usize = 128;

/// The size in bytes of a file that is merged with others.
const SMALL: u64 = 64 << 10;

/// The end of the archive of a timeline.
pub(crate) struct ArchiveEnd {
    /// The timeline.
    pub timeline: TimelineId,
    /// The last archived change.
    pub last: Seq,
    /// The time of the last record.
    last_ms: u64,
    /// The hash that the next file names as that of its predecessor; `None` after a gap.
    ends_as: Option<Sha256Hash>,
    /// The change after which no record is missing up to the end.
    pub whole_from: Seq,
    /// The newest files, if they are small.
    small: Vec<ArchiveSpan>,
}

impl ArchiveEnd {
    /// Finds the end of the archive at a target.
    ///
    /// # Errors
    /// Errors of the target; the last file is damaged.
    pub async fn find(target: &BackupTarget, timeline: TimelineId) -> Result<ArchiveEnd, BackupError> {
        let files = spans(target, timeline).await?;
        let mut end = ArchiveEnd { timeline, last: 0, last_ms: 0, ends_as: None, whole_from: 0, small: Vec::new() };
        let Some((newest, _)) = files.iter().max_by_key(|(span, _)| span.last) else { return Ok(end) };
        let name = BackupName::Archive(timeline, *newest);
        let missing = || BackupError::Unreachable(format!("`{name}` is listed, but can't be read."));
        let bytes = target.get(&name.to_string()).await?.ok_or_else(missing)?;
        let (header, _) = ArchiveFile::read(&name, &bytes)?;
        (end.last, end.last_ms, end.ends_as) = (newest.last, newest.last_ms, Some(header.ends_as));
        end.whole_from = begin_of_run(files.iter().map(|(span, _)| *span));
        let small = files.iter().rev().take(MERGED).take_while(|(_, bytes)| *bytes < SMALL);
        end.small = small.map(|(span, _)| *span).collect();
        end.small.reverse();
        Ok(end)
    }

    /// Ships the records that wait in the spool. Those that are committed meanwhile gather for the
    /// next time: a server that changes without a pause would otherwise write a file for each.
    ///
    /// # Errors
    /// Errors of the target and the spool.
    pub async fn ship(
        &mut self,
        spool: &Spool,
        target: &BackupTarget,
        contents: &mut ContentSender<'_>,
    ) -> Result<(), BackupError> {
        let up_to = spool.last();
        while self.last < up_to {
            let records = spool.next(FILE_BYTES).map_err(|error| local(spool.folder(), &error))?;
            if records.is_empty() {
                break;
            }
            self.ship_file(&records, target, contents).await?;
            spool.shipped(self.last).map_err(|error| local(spool.folder(), &error))?;
        }
        Ok(())
    }

    async fn ship_file(
        &mut self,
        records: &[CommittedRecord],
        target: &BackupTarget,
        contents: &mut ContentSender<'_>,
    ) -> Result<(), BackupError> {
        let first = records.first().map_or(0, |record| record.previous);
        if first != self.last {
            self.ends_as = None;
            self.whole_from = first;
        }
        let mut writer = ArchiveWriter::new(self.ends_as, self.last_ms);
        for record in records {
            let record = self.prepare(record, contents).await?;
            if !writer.has_room_for(&record) {
                break;
            }
            writer.push(&record)?;
        }
        let ArchiveFile { header, bytes } = writer.finish()?;
        let name = header.name(self.timeline).to_string();
        let size = bytes.len() as u64;
        if !target.put_new(&name, bytes.clone()).await? {
            // An earlier attempt may have succeeded without our knowing.
            let is_ours = target.get(&name).await?.is_some_and(|there| there == bytes);
            if !is_ours {
                return Err(in_the_way(&name));
            }
        }
        metrics::counter!("stet_backup_archived_bytes_total").increment(size);
        (self.last, self.last_ms, self.ends_as) = (header.span.last, header.span.last_ms, Some(header.ends_as));
        if size >= SMALL {
            self.small.clear();
            return Ok(());
        }
        self.small.push(header.span);
        if self.small.len() >= MERGED { self.merge(target).await } else { Ok(()) }
    }

    /// Sends the contents of a record, and leaves out the rows that belong into no backup.
    async fn prepare(
        &self,
        record: &CommittedRecord,
        contents: &mut ContentSender<'_>,
    ) -> Result<ArchiveRecord, BackupError> {
        let damaged =
            |fault| BackupError::LocalFile(format!("The record of change {} can't be read: {fault}.", record.last));
        let mut sets = record.sets().map_err(damaged)?;
        let mut is_whole = true;
        for set in &mut sets {
            let rows = set.changes.len();
            set.changes.retain(|change| is_backed_up(change.table));
            is_whole &= set.changes.len() == rows;
            for content in new_contents(set) {
                if !contents.send(content).await? {
                    tracing::warn!(%content, change = set.seq, "a content was gone before its backup; a later change has removed it");
                }
            }
        }
        let CommittedRecord { previous, last, at_ms, .. } = *record;
        let payload = if is_whole { record.payload.clone() } else { CommittedRecord::encode(&sets) };
        Ok(ArchiveRecord { previous, last, at_ms, payload })
    }

    /// Makes one file of the newest small ones.
    async fn merge(&mut self, target: &BackupTarget) -> Result<(), BackupError> {
        let spans = std::mem::take(&mut self.small);
        let mut files = Vec::with_capacity(spans.len());
        for span in &spans {
            let name = BackupName::Archive(self.timeline, *span);
            // Whatever is missing or was merged already is left as it is.
            let Some(bytes) = target.get(&name.to_string()).await? else { return Ok(()) };
            files.push((name, bytes));
        }
        let Ok(merged) = ArchiveFile::merge(&files) else { return Ok(()) };
        let name = merged.header.name(self.timeline).to_string();
        target.put_new(&name, merged.bytes).await?;
        for (name, _) in files {
            target.delete(&name.to_string()).await?;
        }
        Ok(())
    }
}

/// Returns the files of a timeline's archive with their sizes, in the order of changes.
pub(crate) async fn spans(target: &BackupTarget, timeline: TimelineId) -> Result<Vec<(ArchiveSpan, u64)>, BackupError> {
    let listed = target.list(&BackupName::archive_folder(timeline)).await?;
    let spans = listed.into_iter().filter_map(|(name, bytes)| match BackupName::parse(&name)? {
        BackupName::Archive(_, span) => Some((span, bytes)),
        _ => None,
    });
    Ok(spans.collect())
}

/// Returns the change after which no record is missing up to the last one, of files in the order of
/// their first changes.
pub(crate) fn begin_of_run(spans: impl Iterator<Item = ArchiveSpan>) -> Seq {
    let (mut begin, mut last) = (0, 0);
    for span in spans {
        if span.first > last + 1 {
            begin = span.first - 1;
        }
        last = last.max(span.last);
    }
    begin
}

fn in_the_way(name: &str) -> BackupError {
    BackupError::Refused(format!(
        "`{name}` was written by somebody else: another server writes the same timeline. This data directory is a copy \
         of another one, or that of it. Give the copy a target of its own."
    ))
}

fn local(folder: &Path, error: &std::io::Error) -> BackupError {
    BackupError::LocalFile(format!("The spool in `{}` can't be used: {error}.", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: Seq, last: Seq) -> ArchiveSpan {
        ArchiveSpan { first, last, first_ms: 0, last_ms: 0 }
    }

    #[test]
    fn a_run_begins_after_the_last_gap() {
        assert_eq!(begin_of_run([].into_iter()), 0);
        assert_eq!(begin_of_run([span(1, 5), span(6, 9)].into_iter()), 0);
        assert_eq!(begin_of_run([span(4, 5), span(6, 9)].into_iter()), 3);
        assert_eq!(begin_of_run([span(1, 5), span(8, 9), span(10, 12)].into_iter()), 7);
        // A merged file beside those that it replaces.
        assert_eq!(begin_of_run([span(1, 2), span(1, 9), span(3, 9), span(10, 12)].into_iter()), 0);
    }
}
