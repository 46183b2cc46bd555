//! The rule for what may be removed from a target.
//!
//! A span of time ends now. Every state of it stays restorable, and so does the newest one. Of each
//! timeline, the oldest base that is kept is the newest one whose state is not later than the
//! begin of the span. A timeline goes as a whole once all that was written to it is older, unless
//! it is the server's own or the one with the newest state.
//!
//! Times come from clocks, which may have been set back. So a base is old only if every base before
//! it and every archive file that begins before it are old, too.

use stet_backup::{ArchiveSpan, BaseStamp, TimelineId};

use crate::survey::SurveyedTimeline;

/// Something that a timeline does not need any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimelineExcess {
    pub timeline: TimelineId,
    /// Whether the whole timeline goes.
    pub is_whole: bool,
    /// The bases, oldest first.
    pub bases: Vec<BaseStamp>,
}

/// Returns the bases and timelines that are not needed for the states since `since_ms`.
pub(crate) fn excess(timelines: &[SurveyedTimeline], own: TimelineId, since_ms: u64) -> Vec<TimelineExcess> {
    let newest = timelines.iter().filter_map(|one| Some((one.ranges.last()?.last_ms, one.created_ms, one.timeline)));
    let newest = newest.max().map(|(_, _, timeline)| timeline);
    let of = |one: &SurveyedTimeline| {
        let is_needed = one.timeline == own || newest.is_none_or(|newest| newest == one.timeline);
        let is_whole = !is_needed && one.written_ms() < since_ms;
        let bases = if is_whole { one.bases.clone() } else { old_bases(&one.bases, &one.archive, since_ms) };
        TimelineExcess { timeline: one.timeline, is_whole, bases }
    };
    timelines.iter().map(of).collect()
}

/// Returns the bases before the one that a timeline needs for the states since `since_ms`.
fn old_bases(bases: &[BaseStamp], archive: &[ArchiveSpan], since_ms: u64) -> Vec<BaseStamp> {
    let is_old = |base: &&BaseStamp| {
        let is_after = |span: &ArchiveSpan| span.first > base.seq;
        base.taken_ms <= since_ms && archive.iter().all(|span| is_after(span) || span.last_ms <= since_ms)
    };
    let old = bases.iter().take_while(is_old).count();
    bases[..old.saturating_sub(1)].to_vec()
}

/// Returns the files of an archive that no base needs, of those that are left. Without a base the
/// archive may go on from one that is not there yet, unless the whole timeline goes. The file that
/// ends the archive tells its server where to go on, so it stays.
pub(crate) fn excess_files(bases: &[BaseStamp], archive: &[ArchiveSpan], is_whole: bool) -> Vec<ArchiveSpan> {
    if is_whole {
        return if bases.is_empty() { archive.to_vec() } else { Vec::new() };
    }
    let Some(oldest) = bases.iter().map(|base| base.seq).min() else { return Vec::new() };
    let end = archive.iter().map(|span| span.last).max();
    archive.iter().filter(|span| span.last <= oldest && Some(span.last) != end).copied().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::survey::{RestorePoint, ranges};

    /// A timeline as it was written: the times of its changes, and where files and bases end.
    #[derive(Debug, Clone)]
    struct WrittenTimeline {
        /// For each change the time, whether a file ends after it, whether it was archived, and
        /// how long after it a base of it was taken, if one was.
        changes: Vec<(u64, bool, bool, Option<u64>)>,
        created_ms: u64,
    }

    impl WrittenTimeline {
        /// The archive's times never go back, whatever the clock says.
        fn times(&self) -> Vec<u64> {
            let next = |latest: &mut u64, (time, ..): &(u64, bool, bool, Option<u64>)| {
                *latest = (*latest).max(*time);
                Some(*latest)
            };
            self.changes.iter().scan(0, next).collect()
        }

        fn surveyed(&self, timeline: u64) -> SurveyedTimeline {
            let times = self.times();
            let (mut archive, mut bases): (Vec<ArchiveSpan>, _) = (Vec::new(), Vec::new());
            let mut is_open = false;
            for (place, (time, ends, is_archived, base)) in self.changes.iter().enumerate() {
                let (change, at) = (place as u64 + 1, times[place]);
                match archive.last_mut().filter(|_| is_open && *is_archived) {
                    Some(span) => (span.last, span.last_ms) = (change, at),
                    None if *is_archived => {
                        archive.push(ArchiveSpan { first: change, last: change, first_ms: at, last_ms: at });
                    }
                    None => {}
                }
                is_open = *is_archived && !ends;
                bases.extend(base.map(|later| BaseStamp { seq: change, taken_ms: time + later }));
            }
            let ranges = ranges(&bases, &archive);
            let timeline = TimelineId(timeline);
            SurveyedTimeline { timeline, created_ms: self.created_ms, branch: None, bases, ranges, archive }
        }
    }

    fn written() -> impl Strategy<Value = WrittenTimeline> {
        let base = prop_oneof![3 => Just(None), 1 => (0..30_u64).prop_map(Some)];
        let step = prop_oneof![8 => 0..20_i64, 1 => -60..60_i64];
        let change = (step, prop::bool::weighted(0.4), prop::bool::weighted(0.9), base);
        (prop::collection::vec(change, 0..40), 0..1_500_u64).prop_map(|(changes, created_ms)| {
            let next = |now: &mut u64, (step, ends, is_archived, base)| {
                *now = now.saturating_add_signed(step);
                Some((*now, ends, is_archived, base))
            };
            let changes = changes.into_iter().scan(created_ms + 100, next).collect();
            WrittenTimeline { changes, created_ms }
        })
    }

    /// Returns a timeline without what the rule has found; `None` if it goes.
    fn cut(one: &SurveyedTimeline, excess: &TimelineExcess) -> Option<SurveyedTimeline> {
        let mut left = one.clone();
        left.bases.retain(|base| !excess.bases.contains(base));
        let files = excess_files(&left.bases, &left.archive, excess.is_whole);
        left.archive.retain(|span| !files.contains(span));
        left.ranges = ranges(&left.bases, &left.archive);
        (!excess.is_whole).then_some(left)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn every_state_of_the_span_stays_and_what_no_base_needs_goes(
            written in prop::collection::vec(written(), 1..4), since_ms in 0..2_000_u64, own in 0..3_u64,
        ) {
            let timelines: Vec<_> = written.iter().zip(0..).map(|(one, number)| one.surveyed(number)).collect();
            let own = TimelineId(own % timelines.len() as u64);
            let found = excess(&timelines, own, since_ms);
            let newest = timelines.iter().filter(|one| !one.ranges.is_empty());
            let newest = newest.max_by_key(|one| (one.ranges.last().map(|range| range.last_ms), one.created_ms));
            for ((one, excess), written) in timelines.iter().zip(&found).zip(&written) {
                let times = written.times();
                let Some(left) = cut(one, excess) else {
                    prop_assert!(one.timeline != own && one.written_ms() < since_ms);
                    prop_assert!(newest.is_some_and(|newest| newest.timeline != one.timeline));
                    continue;
                };
                // The state after a change lasts until the next one.
                for change in 1..=times.len() as u64 {
                    let ends = times.get(change as usize).copied().unwrap_or(u64::MAX);
                    if ends > since_ms && one.base_for(RestorePoint::Change(change)).is_ok() {
                        prop_assert!(left.base_for(RestorePoint::Change(change)).is_ok(), "change {}", change);
                    }
                }
                for time in since_ms..since_ms + 200 {
                    let point = RestorePoint::Time(time);
                    if let Ok(base) = one.base_for(point) {
                        prop_assert_eq!(left.base_for(point).ok(), Some(base), "time {}", time);
                    }
                }
                prop_assert_eq!(left.archive.last(), one.archive.last());
                // Two old bases in a row are one too many.
                let is_all_old = one.written_ms() <= since_ms;
                prop_assert!(!is_all_old || left.bases.len() <= 1, "{:?}", left);
            }
        }
    }

    #[test]
    fn the_newest_base_before_the_span_and_what_follows_it_stay() {
        let base = |seq: u64| BaseStamp { seq, taken_ms: seq * 10 };
        let span = |first: u64, last: u64| ArchiveSpan { first, last, first_ms: first * 10, last_ms: last * 10 };
        let archive = [span(1, 3), span(4, 8), span(9, 10), span(11, 30)];
        let old = |since_ms| old_bases(&[base(4), base(10), base(20)], &archive, since_ms);
        assert_eq!(old(39), []);
        assert_eq!(old(99), []);
        assert_eq!(old(100), [base(4)]);
        // The last file begins before the base, and the times in it are unknown.
        assert_eq!(old(299), [base(4)]);
        assert_eq!(old(300), [base(4), base(10)]);
        assert_eq!(excess_files(&[base(10), base(20)], &archive, false), archive[..3]);
        assert_eq!(excess_files(&[base(8), base(20)], &archive, false), archive[..2]);
        // A base that could not be removed still needs them.
        assert_eq!(excess_files(&[base(4), base(20)], &archive, false), archive[..1]);
        assert_eq!(excess_files(&[base(30)], &archive, false), archive[..3], "the end of the archive stays");
        assert_eq!(excess_files(&[], &archive, false), []);
        assert_eq!(excess_files(&[], &archive, true), archive);
        assert_eq!(excess_files(&[base(4)], &archive, true), []);
    }

    #[test]
    fn a_timeline_goes_when_all_of_it_is_old_and_another_has_states() {
        let one = |timeline, created_ms, bases: &[u64]| {
            let bases: Vec<_> = bases.iter().map(|seq| BaseStamp { seq: *seq, taken_ms: seq * 10 }).collect();
            let ranges = ranges(&bases, &[]);
            SurveyedTimeline {
                timeline: TimelineId(timeline),
                created_ms,
                branch: None,
                bases,
                ranges,
                archive: vec![],
            }
        };
        let whole = |timelines: &[SurveyedTimeline], own, since_ms| {
            let found = excess(timelines, TimelineId(own), since_ms);
            found.iter().filter(|one| one.is_whole).map(|one| one.timeline.0).collect::<Vec<_>>()
        };
        let timelines = [one(1, 0, &[5, 9]), one(2, 95, &[]), one(3, 120, &[20])];
        assert_eq!(whole(&timelines, 3, 90), Vec::<u64>::new());
        assert_eq!(whole(&timelines, 3, 91), [1]);
        assert_eq!(whole(&timelines, 3, 96), [1, 2]);
        assert_eq!(whole(&timelines, 3, 10_000), [1, 2]);
        // The server's own has no state yet.
        assert_eq!(whole(&timelines[..2], 2, 10_000), Vec::<u64>::new());
        assert_eq!(whole(&timelines, 2, 10_000), [1]);
    }
}
