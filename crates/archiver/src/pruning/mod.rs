//! The removal of what a target does not need any more.
//!
//! Only a running server removes, and takes no base meanwhile: a base counts on chunks that the
//! target had when it began. Another server that writes to the same target would be in danger, so
//! nothing is removed while another timeline has got anything lately. Chunks of the last day stay,
//! too: an attempt to take a base may have left them for the next one.
//!
//! A kill at any moment leaves only states that can be restored. The manifests of bases are deleted
//! first, oldest first, then the archive files that none of the *remaining* bases needs, then the
//! chunks that none of them names. So a deletion that the target refuses harms nothing either.
//!
//! Contents stay. Whether a state refers to one is in all its rows and changes; finding that out
//! would take reading the whole target.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use stet_backup::{BackupError, BackupName, BackupTarget, BaseManifest, BaseStamp, Sha256Hash, TimelineId};

use crate::retention::{TimelineExcess, excess, excess_files};
use crate::survey::{BackupSurvey, SurveyedTimeline};

/// The time in milliseconds for which a chunk without a base stays.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The result of a removal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PruneReport {
    /// When it ended, in epoch milliseconds.
    pub at_ms: u64,
    /// Objects that were deleted, not counting those that were merged into others.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Archive files that were merged into others.
    pub merged: u64,
    /// Objects whose deletion the target has refused.
    pub refused: u64,
}

/// The work of one removal.
pub(crate) struct PruneWork<'a> {
    pub target: &'a BackupTarget,
    /// The timeline of the server.
    pub own: TimelineId,
    /// The present time, in epoch milliseconds.
    pub now_ms: u64,
    /// The begin of the span whose states stay.
    pub since_ms: u64,
    /// The time in milliseconds for which another server is silent at most.
    pub silence_ms: u64,
    /// Asked before each deletion, with the name. Its error stands for one of the target.
    pub may_delete: &'a dyn Fn(&str) -> Result<(), BackupError>,
    /// The result so far.
    pub report: PruneReport,
    /// The first refusal.
    pub refusal: Option<String>,
}

impl PruneWork<'_> {
    /// Removes everything that is not needed, and merges archive files.
    ///
    /// # Errors
    /// `Refused`: another server writes to the target; nothing was removed. Errors of the target.
    /// The next attempt goes on.
    pub async fn run(&mut self) -> Result<(), BackupError> {
        let survey = BackupSurvey::of(self.target).await?;
        self.check_is_alone(&survey)?;
        let sizes: HashMap<String, u64> = self.target.list(BackupName::TIMELINES).await?.into_iter().collect();
        let excess = excess(&survey.timelines, self.own, self.since_ms);
        let mut left = Vec::new();
        for (timeline, excess) in survey.timelines.iter().zip(&excess) {
            left.push(self.bases(timeline, excess, &sizes).await?);
        }
        for ((timeline, excess), bases) in survey.timelines.iter().zip(&excess).zip(&left) {
            self.archive(timeline, excess, bases, &sizes).await?;
        }
        self.chunks().await?;
        self.merge().await
    }

    fn check_is_alone(&self, survey: &BackupSurvey) -> Result<(), BackupError> {
        let quiet_ms = self.now_ms.saturating_sub(self.silence_ms);
        let others = survey.timelines.iter().filter(|one| one.timeline != self.own);
        let Some(other) = others.filter(|one| one.written_ms() > quiet_ms).max_by_key(|one| one.written_ms()) else {
            return Ok(());
        };
        let hours = (other.written_ms() - quiet_ms).div_ceil(60 * 60 * 1000);
        Err(BackupError::Refused(format!(
            "Timeline {} has got something lately, so another server may write to `{}`. Nothing is removed until it \
             gets nothing for {hours} more hours.",
            other.timeline,
            self.target.address()
        )))
    }

    /// Removes bases. Returns those that are left.
    async fn bases(
        &mut self,
        timeline: &SurveyedTimeline,
        excess: &TimelineExcess,
        sizes: &HashMap<String, u64>,
    ) -> Result<Vec<BaseStamp>, BackupError> {
        let mut left = timeline.bases.clone();
        for base in &excess.bases {
            let name = BackupName::Base(timeline.timeline, *base).to_string();
            if self.delete(&name, sizes.get(&name).copied()).await? {
                left.retain(|one| one != base);
            }
        }
        Ok(left)
    }

    /// Removes archive files, and the timeline itself if all else of it is gone.
    async fn archive(
        &mut self,
        timeline: &SurveyedTimeline,
        excess: &TimelineExcess,
        bases: &[BaseStamp],
        sizes: &HashMap<String, u64>,
    ) -> Result<(), BackupError> {
        let files = excess_files(bases, &timeline.archive, excess.is_whole);
        let mut is_gone = excess.is_whole && bases.is_empty();
        for span in &files {
            let name = BackupName::Archive(timeline.timeline, *span).to_string();
            is_gone &= self.delete(&name, sizes.get(&name).copied()).await?;
        }
        if is_gone {
            // Without it nobody would find the rest.
            let name = BackupName::Timeline(timeline.timeline).to_string();
            self.delete(&name, sizes.get(&name).copied()).await?;
        }
        Ok(())
    }

    /// Removes chunks that no base has.
    async fn chunks(&mut self) -> Result<(), BackupError> {
        let needed = self.needed_chunks().await?;
        for byte in 0..=u8::MAX {
            let folder = format!("{}/{byte:02x}", BackupName::CHUNKS);
            for (name, bytes, written_ms) in self.target.list_dated(&folder).await? {
                let Some(BackupName::Chunk(hash)) = BackupName::parse(&name) else { continue };
                if !needed.contains(&hash) && written_ms.saturating_add(DAY_MS) < self.now_ms {
                    self.delete(&name, Some(bytes)).await?;
                }
            }
        }
        Ok(())
    }

    /// Returns the chunks of all bases that the target has, of whatever timeline.
    async fn needed_chunks(&self) -> Result<HashSet<Sha256Hash>, BackupError> {
        let mut needed = HashSet::new();
        for (name, _) in self.target.list(BackupName::TIMELINES).await? {
            let Some(base @ BackupName::Base(..)) = BackupName::parse(&name) else { continue };
            // A damaged manifest ends the work: nobody knows what it needs.
            let bytes = self.target.get(&name).await?.ok_or(BackupError::NotFound(name))?;
            needed.extend(BaseManifest::read(&base, &bytes)?.chunks().map(|chunk| chunk.sha256));
        }
        Ok(needed)
    }

    /// Deletes an archive file that is in a merged one.
    pub(crate) async fn delete_part(&mut self, name: &BackupName) -> Result<(), BackupError> {
        let before = self.report;
        let is_gone = self.delete(&name.to_string(), None).await?;
        self.report.files = before.files;
        self.report.merged += u64::from(is_gone);
        Ok(())
    }

    /// Deletes an object. Returns whether it is gone: a target may refuse, such as one that keeps
    /// its objects for a time.
    async fn delete(&mut self, name: &str, bytes: Option<u64>) -> Result<bool, BackupError> {
        let outcome = match (self.may_delete)(name) {
            Ok(()) => self.target.delete(name).await,
            refused => refused,
        };
        match outcome {
            Ok(()) => {
                self.report.files += 1;
                self.report.bytes += bytes.unwrap_or_default();
                Ok(true)
            }
            Err(BackupError::Refused(why)) => {
                metrics::counter!("stet_backup_refused_deletions_total").increment(1);
                self.report.refused += 1;
                self.refusal.get_or_insert(why);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}
