//! The merging of old archive files, so that a target has few of them.
//!
//! A server that changes every second ships as many files. It merges the newest ones while it
//! ships ([`ArchiveEnd`](crate::shipping::ArchiveEnd)); here those of an hour become one or few.
//! Parts are deleted once the merged file has been read back, so a kill at any moment leaves every
//! record. Readers prefer the merged file.

use stet_backup::{ArchiveFile, ArchiveSpan, BackupError, BackupName};

use crate::pruning::PruneWork;
use crate::shipping::spans;

/// The number of newest files that are left to the thread that ships, which merges them itself.
const NEWEST: usize = 256;

/// The time in milliseconds whose files are merged.
const HOUR_MS: u64 = 60 * 60 * 1000;

/// The least number of files that are merged. Less would save little, and be looked at each time.
const LEAST: usize = 8;

/// The size in bytes from which a file is not merged any more.
const LARGE: u64 = 1 << 20;

/// The most bytes of merged files before compression: all are in memory meanwhile.
const RAW_BYTES: u64 = 32 << 20;

impl PruneWork<'_> {
    /// Merges files of the own timeline that are older than an hour, and removes the parts of files
    /// that were merged before.
    pub(crate) async fn merge(&mut self) -> Result<(), BackupError> {
        let mut listed = spans(self.target, self.own).await?;
        listed.truncate(listed.len().saturating_sub(NEWEST));
        let mut files = Vec::with_capacity(listed.len());
        let mut before: Option<ArchiveSpan> = None;
        // Of files that begin together, the shorter ones come first.
        for (place, (span, bytes)) in listed.iter().enumerate() {
            let longer = listed[place + 1..].iter().take_while(|(next, _)| next.first == span.first).last();
            let whole = longer.map(|(longer, _)| *longer).or(before.filter(|before| before.last >= span.last));
            match whole {
                Some(whole) => self.remove_parts(whole, &[*span]).await?,
                None => {
                    before = Some(*span);
                    files.push((*span, *bytes));
                }
            }
        }
        for group in groups(&files, self.now_ms) {
            self.merge_group(&group).await?;
        }
        Ok(())
    }

    /// Merges consecutive files, as many at a time as there is memory for.
    async fn merge_group(&mut self, group: &[ArchiveSpan]) -> Result<(), BackupError> {
        let (mut parts, mut spans, mut raw) = (Vec::new(), Vec::new(), 0);
        for span in group {
            let name = BackupName::Archive(self.own, *span);
            // The thread that ships may have merged it.
            let Some(bytes) = self.target.get(&name.to_string()).await? else { return Ok(()) };
            let (header, _) = ArchiveFile::read(&name, &bytes)?;
            if raw + header.raw_bytes > RAW_BYTES {
                self.replace(&parts, &spans).await?;
                (parts, spans, raw) = (Vec::new(), Vec::new(), 0);
            }
            raw += header.raw_bytes;
            parts.push((name, bytes));
            spans.push(*span);
        }
        self.replace(&parts, &spans).await
    }

    /// Puts a merged file in place of its parts.
    async fn replace(
        &mut self,
        parts: &[(BackupName, bytes::Bytes)],
        spans: &[ArchiveSpan],
    ) -> Result<(), BackupError> {
        if parts.len() < 2 {
            return Ok(());
        }
        let merged = ArchiveFile::merge(parts)?;
        let name = merged.header.name(self.own).to_string();
        self.target.put_new(&name, merged.bytes).await?;
        self.remove_parts(merged.header.span, spans).await
    }

    /// Removes files whose records are in another one, once that is known to be whole.
    async fn remove_parts(&mut self, whole: ArchiveSpan, parts: &[ArchiveSpan]) -> Result<(), BackupError> {
        let name = BackupName::Archive(self.own, whole);
        let missing = || BackupError::NotFound(name.to_string());
        let bytes = self.target.get(&name.to_string()).await?.ok_or_else(missing)?;
        ArchiveFile::read(&name, &bytes)?;
        for part in parts {
            self.delete_part(&BackupName::Archive(self.own, *part)).await?;
        }
        Ok(())
    }
}

/// Returns the runs of small consecutive files that are to be merged, each of one hour.
fn groups(files: &[(ArchiveSpan, u64)], now_ms: u64) -> Vec<Vec<ArchiveSpan>> {
    let (mut groups, mut group): (Vec<Vec<ArchiveSpan>>, Vec<ArchiveSpan>) = (Vec::new(), Vec::new());
    for (span, bytes) in files {
        let hour = span.last_ms / HOUR_MS;
        let is_fit = *bytes < LARGE && hour < now_ms / HOUR_MS;
        let follows =
            group.last().is_none_or(|before| before.last + 1 == span.first && before.last_ms / HOUR_MS == hour);
        if !(is_fit && follows) {
            groups.push(std::mem::take(&mut group));
        }
        group.extend(is_fit.then_some(*span));
    }
    groups.push(group);
    groups.retain(|group| group.len() >= LEAST);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_of_one_hour_are_merged_if_they_are_many() {
        let file = |change: u64, minute: u64, bytes| {
            let at_ms = minute * 60_000;
            (ArchiveSpan { first: change, last: change, first_ms: at_ms, last_ms: at_ms }, bytes)
        };
        let files = |from: u64, count: u64, minute| (from..from + count).map(move |change| file(change, minute, 100));
        let firsts = |files: &[(ArchiveSpan, u64)], now_ms| {
            let ends = |group: Vec<ArchiveSpan>| (group[0].first, group[group.len() - 1].last);
            groups(files, now_ms).into_iter().map(ends).collect::<Vec<_>>()
        };
        let two: Vec<_> = files(1, 10, 7).chain(files(11, 9, 65)).collect();
        assert_eq!(firsts(&two, 2 * HOUR_MS), [(1, 10), (11, 19)]);
        assert_eq!(firsts(&two, 2 * HOUR_MS - 1), [(1, 10)], "the hour has not ended");
        assert_eq!(firsts(&two, HOUR_MS - 1), []);
        let few: Vec<_> = files(1, 7, 7).collect();
        assert_eq!(firsts(&few, 2 * HOUR_MS), []);
        // A gap, and a large file.
        let gap: Vec<_> = files(1, 8, 7).chain(files(10, 8, 8)).collect();
        assert_eq!(firsts(&gap, 2 * HOUR_MS), [(1, 8), (10, 17)]);
        let large: Vec<_> = files(1, 8, 7).chain([file(9, 8, LARGE)]).chain(files(10, 7, 8)).collect();
        assert_eq!(firsts(&large, 2 * HOUR_MS), [(1, 8)]);
    }
}
