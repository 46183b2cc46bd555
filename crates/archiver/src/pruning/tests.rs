//! Removals of random backups, killed and refused at any deletion.

use std::cell::Cell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use stet_backup::{
    ArchiveFile, ArchiveRecord, ArchiveWriter, BackupIdentity, ChunkCutter, S3Settings, TableChunks, TimelineOrigin,
    read_chunk,
};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::*;
use crate::reading::ArchiveReader;
use crate::survey::files_after;

const MINUTE: u64 = 60 * 1000;

/// The time of all removals. Chunks that a test has just written are older than a day by then.
fn now() -> u64 {
    crate::now_ms() + 2 * DAY_MS
}

/// A change of a random timeline.
#[derive(Debug, Clone)]
struct Step {
    /// Minutes since the change before.
    minutes: u64,
    /// Whether it is archived; a gap otherwise.
    is_archived: bool,
    /// Whether a base of it is taken.
    has_base: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let minutes = prop_oneof![8 => 0..4_u64, 2 => 0..4_000_u64];
    let step = (minutes, prop::bool::weighted(0.95), prop::bool::weighted(0.25));
    let step = step.prop_map(|(minutes, is_archived, has_base)| Step { minutes, is_archived, has_base });
    prop::collection::vec(step, 1..30)
}

/// A target on a real folder.
struct Ground {
    _folder: TempDir,
    target: BackupTarget,
    runtime: Runtime,
}

impl Ground {
    fn new() -> Ground {
        let folder = tempfile::tempdir().unwrap();
        let target =
            BackupTarget::create(&format!("file://{}/target", folder.path().display()), &S3Settings::default())
                .unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let identity = BackupIdentity::new(1).encode();
        runtime.block_on(target.put(&BackupName::Identity.to_string(), identity)).unwrap();
        Ground { _folder: folder, target, runtime }
    }

    fn put(&self, name: BackupName, bytes: bytes::Bytes) {
        self.runtime.block_on(self.target.put(&name.to_string(), bytes)).unwrap();
    }

    /// Writes a timeline, with a file for each change.
    fn write(&self, timeline: TimelineId, begin_ms: u64, steps: &[Step]) {
        self.put(BackupName::Timeline(timeline), TimelineOrigin::new(None, begin_ms).encode());
        let (mut at_ms, mut before) = (begin_ms, None);
        for (step, change) in steps.iter().zip(1..) {
            at_ms += step.minutes * MINUTE;
            if step.is_archived {
                let mut writer = ArchiveWriter::new(before, 0);
                let payload = format!("change {change}").into();
                writer.push(&ArchiveRecord { previous: change - 1, last: change, at_ms, payload }).unwrap();
                let file = writer.finish().unwrap();
                before = Some(file.header.ends_as);
                self.put(file.header.name(timeline), file.bytes);
            } else {
                before = None;
            }
            if step.has_base {
                self.write_base(timeline, BaseStamp { seq: change, taken_ms: at_ms });
            }
        }
    }

    /// Writes a base with a chunk of its own, and one that other bases share.
    fn write_base(&self, timeline: TimelineId, stamp: BaseStamp) {
        let mut manifest = BaseManifest::new(timeline, stamp, "0.1.0", 1);
        for (name, value) in [("shared/1", stamp.seq / 8), ("own/1", stamp.seq)] {
            let mut cutter = ChunkCutter::new();
            cutter.push(name.as_bytes(), &value.to_be_bytes()).unwrap();
            let chunk = cutter.finish().unwrap();
            self.put(chunk.name(), chunk.pack().unwrap());
            manifest.tables.push(TableChunks { name: name.to_owned(), chunks: vec![chunk.reference] });
        }
        self.put(manifest.name(), manifest.encode());
    }

    fn survey(&self) -> BackupSurvey {
        self.runtime.block_on(BackupSurvey::of(&self.target)).unwrap()
    }

    fn get(&self, name: BackupName) -> bytes::Bytes {
        self.runtime.block_on(self.target.get(&name.to_string())).unwrap().expect("it is there")
    }

    /// Returns the states that can be restored, after having read all that they need.
    fn states(&self) -> BTreeSet<(TimelineId, u64)> {
        let mut states = BTreeSet::new();
        for one in self.survey().timelines {
            for base in &one.bases {
                let name = BackupName::Base(one.timeline, *base);
                for chunk in BaseManifest::read(&name, &self.get(name)).unwrap().chunks() {
                    read_chunk(&chunk.sha256, &self.get(BackupName::Chunk(chunk.sha256))).unwrap();
                }
                states.insert((one.timeline, base.seq));
                let (mut reached, mut before) = (base.seq, None);
                for span in files_after(&one.archive, base.seq) {
                    let name = BackupName::Archive(one.timeline, span);
                    let (header, records) = ArchiveFile::read(&name, &self.get(name)).unwrap();
                    let follows = |before: &stet_backup::ArchiveHeader| before.is_followed_by(&header);
                    assert!(before.as_ref().is_none_or(follows), "{name} follows");
                    for record in &records {
                        if record.last <= reached {
                            continue;
                        }
                        assert_eq!(record.previous, reached);
                        assert_eq!(record.payload, format!("change {}", record.last));
                        reached = record.last;
                        states.insert((one.timeline, reached));
                    }
                    before = Some(header);
                }
            }
            let listed = one.ranges.iter().flat_map(|range| range.first..=range.last);
            let found: BTreeSet<_> = states.iter().filter(|(of, _)| *of == one.timeline).map(|(_, seq)| *seq).collect();
            assert_eq!(listed.collect::<BTreeSet<_>>(), found, "the states that are listed");
        }
        states
    }

    fn prune(
        &self,
        since_ms: u64,
        may_delete: &dyn Fn(&str) -> Result<(), BackupError>,
    ) -> (Result<(), BackupError>, PruneReport) {
        let mut work = PruneWork {
            target: &self.target,
            own: TimelineId(1),
            now_ms: now(),
            since_ms,
            silence_ms: 0,
            may_delete,
            report: PruneReport::default(),
            refusal: None,
        };
        let outcome = self.runtime.block_on(work.run());
        (outcome, work.report)
    }

    fn names(&self) -> Vec<String> {
        let of = |folder| self.runtime.block_on(self.target.list(folder)).unwrap();
        let names = [of(BackupName::TIMELINES), of(BackupName::CHUNKS)].concat();
        names.into_iter().map(|(name, _)| name).collect()
    }
}

/// Returns the states of a timeline that are in force at some time of the span.
fn wanted(timeline: TimelineId, begin_ms: u64, steps: &[Step], since_ms: u64) -> BTreeSet<(TimelineId, u64)> {
    let times: Vec<u64> = steps
        .iter()
        .scan(begin_ms, |at_ms, step| {
            *at_ms += step.minutes * MINUTE;
            Some(*at_ms)
        })
        .collect();
    let ends = |change: u64| times.get(change as usize).copied().unwrap_or(u64::MAX);
    (1..=times.len() as u64).filter(|change| ends(*change) > since_ms).map(|change| (timeline, change)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn every_state_of_the_span_can_be_restored_after_a_kill_at_any_deletion(
        own in steps(), other in steps(), percent in 0..110_u64, refused in prop::collection::vec(any::<bool>(), 8),
    ) {
        let ground = Ground::new();
        let begin_ms = now() - 100 * DAY_MS;
        ground.write(TimelineId(1), begin_ms, &own);
        ground.write(TimelineId(2), begin_ms, &other);
        let lasts = |steps: &[Step]| steps.iter().map(|step| step.minutes * MINUTE).sum::<u64>();
        let since_ms = begin_ms + lasts(&own).max(lasts(&other)) * percent / 100;
        let before = ground.states();
        let needed: BTreeSet<_> = [(1, &own), (2, &other)]
            .into_iter()
            .flat_map(|(timeline, steps)| wanted(TimelineId(timeline), begin_ms, steps, since_ms))
            .filter(|state| before.contains(state))
            .collect();
        // The last state of a timeline lasts, but it goes with the timeline.
        let is_kept = |ground: &Ground, found: &BTreeSet<(TimelineId, u64)>| {
            let there: BTreeSet<_> = ground.survey().timelines.iter().map(|one| one.timeline).collect();
            let is_old = begin_ms + lasts(&other) < since_ms;
            needed.iter().all(|state| found.contains(state) || state.0 == TimelineId(2) && is_old)
                && (there.contains(&TimelineId(2)) || is_old)
        };
        // First a target that keeps some objects.
        let is_refused = |name: &str| refused[usize::from(name.as_bytes()[name.len() - 6]) % refused.len()];
        let refusing = |name: &str| match is_refused(name) {
            true => Err(BackupError::Refused("kept".to_owned())),
            false => Ok(()),
        };
        let (outcome, report) = ground.prune(since_ms, &|_| Err(BackupError::Refused("kept".to_owned())));
        prop_assert!(outcome.is_ok() && report.files == 0);
        prop_assert_eq!(ground.states(), before.clone());
        if percent % 2 == 0 {
            prop_assert!(ground.prune(since_ms, &refusing).0.is_ok());
            prop_assert!(is_kept(&ground, &ground.states()));
        }
        for most in 0.. {
            let count = Cell::new(0);
            let killed = |_: &str| {
                count.set(count.get() + 1);
                if count.get() > most { Err(BackupError::Unreachable("killed".to_owned())) } else { Ok(()) }
            };
            let (outcome, _) = ground.prune(since_ms, &killed);
            prop_assert!(is_kept(&ground, &ground.states()), "after {} deletions", most);
            if outcome.is_ok() {
                break;
            }
        }
        // A second removal finds nothing to do.
        let names = ground.names();
        let (outcome, report) = ground.prune(since_ms, &|_| Ok(()));
        prop_assert!(outcome.is_ok());
        prop_assert_eq!((report.files, report.merged), (0, 0));
        prop_assert_eq!(ground.names(), names);
    }
}

fn step(minutes: u64, has_base: bool) -> Step {
    Step { minutes, is_archived: true, has_base }
}

#[test]
fn old_bases_their_files_and_their_chunks_go() {
    let ground = Ground::new();
    let begin_ms = now() - 10 * DAY_MS;
    let steps: Vec<Step> = (0..10).map(|day| step(if day == 0 { 0 } else { 24 * 60 }, day % 3 == 0)).collect();
    ground.write(TimelineId(1), begin_ms, &steps);
    // Bases of the changes 1, 4, 7 and 10. One of change 7 is older than four days.
    let (outcome, report) = ground.prune(begin_ms + 7 * DAY_MS, &|_| Ok(()));
    outcome.unwrap();
    let survey = ground.survey();
    let seqs: Vec<u64> = survey.timelines[0].bases.iter().map(|base| base.seq).collect();
    assert_eq!(seqs, [7, 10]);
    assert_eq!(survey.timelines[0].archive.first().map(|span| span.first), Some(8));
    // Two manifests, seven files, and three chunks: the two bases' own, and none that is shared.
    let chunks = ground.names().iter().filter(|name| name.starts_with("chunks/")).count();
    assert_eq!((report.files, chunks), (2 + 7 + 2, 4));
    assert!(report.bytes > 0 && report.refused == 0);
}

#[test]
fn chunks_of_the_last_day_stay_and_a_damaged_manifest_removes_none() {
    let ground = Ground::new();
    let begin_ms = now() - 10 * DAY_MS;
    ground.write(TimelineId(1), begin_ms, &[step(0, true), step(60, true)]);
    let chunks = || ground.names().iter().filter(|name| name.starts_with("chunks/")).count();
    let mut work = PruneWork {
        target: &ground.target,
        own: TimelineId(1),
        now_ms: crate::now_ms() + DAY_MS - 5 * MINUTE,
        since_ms: now(),
        silence_ms: 0,
        may_delete: &|_| Ok(()),
        report: PruneReport::default(),
        refusal: None,
    };
    assert_eq!(chunks(), 3);
    ground.runtime.block_on(work.run()).unwrap();
    assert_eq!((chunks(), ground.survey().timelines[0].bases.len()), (3, 1));
    let base = BackupName::Base(TimelineId(1), ground.survey().timelines[0].bases[0]);
    let whole = ground.get(base);
    ground.put(base, whole.slice(..whole.len() - 1));
    let (outcome, _) = ground.prune(now(), &|_| Ok(()));
    assert!(matches!(outcome, Err(BackupError::Damaged { .. })), "{outcome:?}");
    assert_eq!(chunks(), 3);
    ground.put(base, whole);
    ground.prune(now(), &|_| Ok(())).0.unwrap();
    assert_eq!(chunks(), 2);
}

#[test]
fn nothing_is_removed_beside_another_server() {
    let ground = Ground::new();
    let begin_ms = now() - 10 * DAY_MS;
    ground.write(TimelineId(1), begin_ms, &[step(0, true), step(60, true)]);
    ground.write(TimelineId(2), begin_ms, &[step(8 * 24 * 60, true)]);
    let names = ground.names();
    let mut work = PruneWork {
        target: &ground.target,
        own: TimelineId(1),
        now_ms: now(),
        since_ms: now(),
        silence_ms: 3 * DAY_MS,
        may_delete: &|_| Ok(()),
        report: PruneReport::default(),
        refusal: None,
    };
    let error = ground.runtime.block_on(work.run()).unwrap_err().to_string();
    assert!(error.contains("another server") && error.contains("for 24 more hours"), "{error}");
    assert_eq!(ground.names(), names);
    work.silence_ms = DAY_MS;
    ground.runtime.block_on(work.run()).unwrap();
    assert_eq!(ground.survey().timelines[0].bases.len(), 1);
}

#[test]
fn files_of_an_hour_are_merged_and_every_state_stays_at_any_kill() {
    let ground = Ground::new();
    let begin_ms = (now() - 10 * DAY_MS) / (60 * MINUTE) * 60 * MINUTE;
    // Without a file, which no base would need.
    let mut steps = vec![Step { is_archived: false, ..step(0, true) }];
    steps.extend((0..70).map(|_| step(1, false)));
    // The newest 256 are left to the thread that ships.
    steps.extend((0..256).map(|_| step(1, false)));
    ground.write(TimelineId(1), begin_ms, &steps);
    let before = ground.states();
    let files = |ground: &Ground| ground.survey().timelines[0].archive.len();
    assert_eq!(files(&ground), 326);
    let mut merged = 0;
    for most in 0.. {
        let count = Cell::new(0);
        let killed = |_: &str| {
            count.set(count.get() + 1);
            if count.get() > most { Err(BackupError::Unreachable("killed".to_owned())) } else { Ok(()) }
        };
        let (outcome, report) = ground.prune(0, &killed);
        merged += report.merged;
        assert_eq!(ground.states(), before, "after {most} deletions");
        assert_eq!(report.files, 0, "nothing is lost");
        if outcome.is_ok() {
            break;
        }
    }
    // Those of an hour, and eleven of the next, became one each.
    assert_eq!((files(&ground), merged), (258, 70));
    assert!(ground.survey().timelines[0].ranges.iter().all(|range| (range.first, range.last) == (1, 327)));
}

#[test]
fn a_restoration_goes_on_while_files_are_merged() {
    let ground = Ground::new();
    let begin_ms = (now() - 10 * DAY_MS) / (60 * MINUTE) * 60 * MINUTE;
    ground.write(TimelineId(1), begin_ms, &(0..300).map(|_| step(1, false)).collect::<Vec<_>>());
    let timeline = ground.survey().timelines[0].clone();
    let mut reader = ArchiveReader::new(&ground.target, timeline.timeline, &timeline.archive, 2);
    let mut read = Vec::new();
    while let Some((_, records)) = ground.runtime.block_on(reader.next_file()).unwrap() {
        read.extend(records.iter().map(|record| record.last));
        if read.len() == 5 {
            assert!(ground.prune(0, &|_| Ok(())).1.merged > 40);
        }
    }
    assert_eq!(read, (3..=300).collect::<Vec<_>>());

    // A file that is gone is no end of the archive.
    let timeline = ground.survey().timelines[0].clone();
    let gone = BackupName::Archive(timeline.timeline, timeline.archive[1]);
    let mut reader = ArchiveReader::new(&ground.target, timeline.timeline, &timeline.archive, 2);
    ground.runtime.block_on(ground.target.delete(&gone.to_string())).unwrap();
    assert!(ground.runtime.block_on(reader.next_file()).is_ok());
    let error = ground.runtime.block_on(reader.next_file()).unwrap_err();
    assert_eq!(error, BackupError::NotFound(gone.to_string()));
}
