//! Surveys of a target: its timelines, and the states that can be restored.

use serde::Serialize;
use stet_backup::{
    ArchiveSpan, BackupError, BackupName, BackupTarget, BaseStamp, TimelineBranch, TimelineId, TimelineOrigin,
};
use stet_domain::store::Seq;
use uuid::Uuid;

use crate::shipping::spans;
use crate::timeline::read_identity;

/// The state to be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestorePoint {
    /// The newest one.
    Newest,
    /// The state after a change.
    Change(Seq),
    /// The state at a time, in epoch milliseconds.
    Time(u64),
}

/// Consecutive states that can be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestorableRange {
    /// The first change whose state can be restored, which is that of a base.
    pub first: Seq,
    /// The last one.
    pub last: Seq,
    /// The time of the first state, in epoch milliseconds.
    pub first_ms: u64,
    /// The time of the last one.
    pub last_ms: u64,
}

/// A timeline at a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SurveyedTimeline {
    /// The name.
    pub timeline: TimelineId,
    /// When it was begun, in epoch milliseconds.
    pub created_ms: u64,
    /// The timeline and change of which the directory was restored.
    pub branch: Option<TimelineBranch>,
    /// The bases, oldest first.
    #[serde(serialize_with = "bases_as_objects")]
    pub bases: Vec<BaseStamp>,
    /// The ranges of states, oldest first. Between them there are gaps.
    pub ranges: Vec<RestorableRange>,
    /// The files of the archive in their order.
    #[serde(skip)]
    pub(crate) archive: Vec<ArchiveSpan>,
}

/// The timelines of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupSurvey {
    /// The id of the backup.
    pub backup: Uuid,
    /// The timelines, oldest first.
    pub timelines: Vec<SurveyedTimeline>,
}

impl BackupSurvey {
    /// Looks at a target. Reads the names of all its objects but contents and chunks.
    ///
    /// # Errors
    /// `Refused`: there is no backup. Errors of the target.
    pub async fn of(target: &BackupTarget) -> Result<BackupSurvey, BackupError> {
        let Some(identity) = read_identity(target).await? else {
            return Err(BackupError::Refused(format!("`{}` has no backup of stet.", target.address())));
        };
        let mut timelines = Vec::new();
        let names = target.list(BackupName::TIMELINES).await?;
        let parsed: Vec<BackupName> = names.iter().filter_map(|(name, _)| BackupName::parse(name)).collect();
        for name in &parsed {
            let BackupName::Timeline(timeline) = name else { continue };
            let Some(bytes) = target.get(&name.to_string()).await? else { continue };
            let TimelineOrigin { branch, created_ms, .. } = TimelineOrigin::read(*timeline, &bytes)?;
            let stamps = parsed.iter().filter_map(|name| match name {
                BackupName::Base(of, stamp) if of == timeline => Some(*stamp),
                _ => None,
            });
            let (timeline, bases) = (*timeline, stamps.collect::<Vec<_>>());
            let archive: Vec<ArchiveSpan> = spans(target, timeline).await?.into_iter().map(|(span, _)| span).collect();
            let ranges = ranges(&bases, &archive);
            timelines.push(SurveyedTimeline { timeline, created_ms, branch, bases, ranges, archive });
        }
        timelines.sort_by_key(|timeline| timeline.created_ms);
        Ok(BackupSurvey { backup: identity.id, timelines })
    }

    /// Returns the timeline with a name, or the newest one that can be restored.
    ///
    /// # Errors
    /// `Refused`: there is none.
    pub fn timeline(&self, wanted: Option<TimelineId>) -> Result<&SurveyedTimeline, BackupError> {
        let found = match wanted {
            Some(wanted) => self.timelines.iter().find(|one| one.timeline == wanted),
            None => self.timelines.iter().rev().find(|one| !one.ranges.is_empty()),
        };
        found.ok_or_else(|| {
            BackupError::Refused(match wanted {
                Some(wanted) => format!("There is no timeline `{wanted}`. `stet backup list` names them."),
                None => "The backup has no base yet, so nothing can be restored.".to_owned(),
            })
        })
    }
}

impl SurveyedTimeline {
    /// Returns the newest base from which a state can be made.
    ///
    /// # Errors
    /// `Refused`: the state can't be restored. The text has the ranges that can.
    pub fn base_for(&self, point: RestorePoint) -> Result<BaseStamp, BackupError> {
        let in_range = |range: &&RestorableRange| match point {
            RestorePoint::Newest => true,
            RestorePoint::Change(change) => range.first <= change && change <= range.last,
            // After the newest range nothing has changed, as far as the backup knows.
            RestorePoint::Time(time_ms) => {
                let is_newest = self.ranges.last() == Some(range);
                range.first_ms <= time_ms && (time_ms <= range.last_ms || is_newest)
            }
        };
        let range = self.ranges.iter().rev().find(in_range).ok_or_else(|| self.unrestorable(point))?;
        let fits = |base: &&BaseStamp| match point {
            RestorePoint::Newest => true,
            RestorePoint::Change(change) => base.seq <= change,
            RestorePoint::Time(time_ms) => base.taken_ms <= time_ms,
        };
        let bases = self.bases.iter().filter(|base| (range.first..=range.last).contains(&base.seq));
        bases.rev().find(fits).copied().ok_or_else(|| self.unrestorable(point))
    }

    fn unrestorable(&self, point: RestorePoint) -> BackupError {
        let wanted = match point {
            RestorePoint::Newest => "The newest state".to_owned(),
            RestorePoint::Change(change) => format!("The state after change {change}"),
            RestorePoint::Time(time_ms) => format!("The state at {time_ms} ms since 1970"),
        };
        let ranges: Vec<String> =
            self.ranges.iter().map(|range| format!("{} to {}", range.first, range.last)).collect();
        let ranges = if ranges.is_empty() { "none".to_owned() } else { ranges.join(", ") };
        BackupError::Refused(format!(
            "{wanted} can't be restored from timeline {}. These changes can: {ranges}.",
            self.timeline
        ))
    }

    /// Returns when the timeline was last written to, in epoch milliseconds.
    pub(crate) fn written_ms(&self) -> u64 {
        let bases = self.bases.iter().map(|base| base.taken_ms);
        bases.chain(self.archive.iter().map(|span| span.last_ms)).fold(self.created_ms, u64::max)
    }
}

/// Returns the files of an archive that have the changes after `from`, in their order and without a
/// gap. `archive` is in the order of first changes. A merged file may stand beside those that it
/// has replaced.
pub(crate) fn files_after(archive: &[ArchiveSpan], from: Seq) -> Vec<ArchiveSpan> {
    let (mut files, mut reached, mut rest) = (Vec::new(), from, archive.iter().peekable());
    loop {
        let mut next: Option<&ArchiveSpan> = None;
        while let Some(span) = rest.next_if(|span| span.first <= reached + 1) {
            next = Some(next.filter(|next| next.last >= span.last).unwrap_or(span));
        }
        let Some(next) = next.filter(|next| next.last > reached) else { return files };
        reached = next.last;
        files.push(*next);
    }
}

/// Returns the ranges of states that bases and archive files make.
pub(crate) fn ranges(bases: &[BaseStamp], archive: &[ArchiveSpan]) -> Vec<RestorableRange> {
    let mut ranges: Vec<RestorableRange> = Vec::new();
    for base in bases {
        if ranges.last().is_some_and(|range| base.seq <= range.last) {
            continue;
        }
        let (mut last, mut last_ms) = (base.seq, base.taken_ms);
        for span in archive.iter().filter(|span| span.last > base.seq) {
            if span.first > last + 1 {
                break;
            }
            (last, last_ms) = (last.max(span.last), last_ms.max(span.last_ms));
        }
        ranges.push(RestorableRange { first: base.seq, last, first_ms: base.taken_ms, last_ms });
    }
    ranges
}

fn bases_as_objects<S: serde::Serializer>(bases: &[BaseStamp], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Base {
        seq: Seq,
        taken_ms: u64,
    }
    serializer.collect_seq(bases.iter().map(|base| Base { seq: base.seq, taken_ms: base.taken_ms }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: Seq, last: Seq) -> ArchiveSpan {
        ArchiveSpan { first, last, first_ms: first * 10, last_ms: last * 10 }
    }

    fn timeline(bases: &[Seq], archive: &[ArchiveSpan]) -> SurveyedTimeline {
        let bases: Vec<BaseStamp> = bases.iter().map(|seq| BaseStamp { seq: *seq, taken_ms: seq * 10 }).collect();
        let ranges = ranges(&bases, archive);
        SurveyedTimeline {
            timeline: TimelineId(7),
            created_ms: 0,
            branch: None,
            bases,
            ranges,
            archive: archive.to_vec(),
        }
    }

    #[test]
    fn ranges_end_at_gaps_and_begin_with_bases() {
        let found = timeline(&[5, 12, 40], &[span(1, 7), span(8, 20), span(31, 39), span(41, 50)]);
        let pairs: Vec<_> = found.ranges.iter().map(|range| (range.first, range.last)).collect();
        assert_eq!(pairs, [(5, 20), (40, 50)]);
        let base = |point| found.base_for(point).map(|base| base.seq).ok();
        assert_eq!(base(RestorePoint::Newest), Some(40));
        for (change, wanted) in [
            (4, None),
            (5, Some(5)),
            (11, Some(5)),
            (12, Some(12)),
            (20, Some(12)),
            (21, None),
            (40, Some(40)),
            (51, None),
        ] {
            assert_eq!(base(RestorePoint::Change(change)), wanted, "{change}");
        }
        for (time, wanted) in
            [(49, None), (50, Some(5)), (130, Some(12)), (350, None), (400, Some(40)), (9_000, Some(40))]
        {
            assert_eq!(base(RestorePoint::Time(time)), wanted, "{time}");
        }
        let error = found.base_for(RestorePoint::Change(25)).unwrap_err().to_string();
        assert!(error.contains("change 25") && error.contains("5 to 20, 40 to 50"), "{error}");
    }

    #[test]
    fn merged_files_are_read_in_place_of_their_parts() {
        let found = timeline(&[2], &[span(1, 3), span(1, 9), span(4, 9), span(10, 11), span(13, 14)]);
        assert_eq!(files_after(&found.archive, 2), [span(1, 9), span(10, 11)]);
        assert_eq!(files_after(&found.archive, 9), [span(10, 11)]);
        assert_eq!(files_after(&found.archive, 11), []);
        assert_eq!(timeline(&[], &[span(1, 3)]).ranges, []);
    }
}
