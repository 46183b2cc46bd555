//! The log of events: against a plain list, over checkpoints, restarts and crashes; how long events
//! are kept.

use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;
use stet_domain::clock::ManualClock;
use stet_domain::store::{BatchRoom, KeyRange, ResumeRequest, Segment, SegmentHead};

use super::*;
use crate::StoreFile;
use crate::fault::{DiskFault, FaultPlan};
use crate::options::DAY_MS;
use crate::shared::SubmissionPhase;

fn loid(number: u64) -> Loid {
    Loid::new(DatabaseId::FIRST, number)
}

fn resumed(container: u64, after: u64, most: usize, bytes: usize) -> ResumeRequest {
    ResumeRequest { container: loid(container), after, room: BatchRoom::of(most, bytes) }
}

fn rows_of(store: &RedbStore, table: Table) -> Vec<(Bytes, Bytes)> {
    store.scan(ReadLevel::Committed, table, &KeyRange::prefix(b""), usize::MAX, false).expect("scanned")
}

fn happen(store: &RedbStore, events: Vec<Event>) -> Seq {
    submit_set(store, ChangeSet { events, ..empty(store) }).expect("taken").wait().expect("committed")
}

/// Makes checkpoints until all rows are folded. After a failed one, the next takes the rows frozen
/// then.
fn checkpoint(store: &RedbStore) {
    until("it is folded", || {
        store.shared.checkpoint_due();
        store.shared.folded.load(Ordering::Acquire) >= store.committed()
    });
}

/// Lets memory go of all that is in segments.
fn forget(store: &RedbStore) {
    let last = rows_of(store, Table::SegmentTimes).pop();
    if let Some(head) = last.and_then(|(_, head)| SegmentHead::read(&head).ok()) {
        store.shared.overlay.log.forget(head.last);
    }
}

/// Options of a store that packs `events` events into a segment, and none because of its age.
fn packing(disk: &SimulatedDisk, events: usize) -> StoreOptions {
    let mut options = options(disk);
    options.checkpoint.segment_events = events;
    options.clock = Arc::new(ManualClock::at(0));
    options
}

/// The index of segments follows from them, and events in rows are in none.
fn is_sound(store: &RedbStore) {
    let segments = rows_of(store, Table::EventSegments);
    let mut wanted = Vec::new();
    for (key, value) in &segments {
        let segment = Segment::decode(value).expect("readable");
        assert_eq!(segment.key(), key);
        wanted.extend(segment.index().into_iter().map(|(key, value)| (key.table, key.key, value)));
    }
    wanted.sort();
    let mut found = Vec::new();
    for table in [Table::SegmentsOf, Table::SegmentTimes] {
        found.extend(rows_of(store, table).into_iter().map(|(key, value)| (table, key, value)));
    }
    found.sort();
    assert_eq!(found, wanted);
    let last = segments
        .last()
        .map(|(_, value)| Segment::decode(value).expect("readable").events().last().expect("none is empty").id);
    let first = rows_of(store, Table::Events).first().and_then(|(key, _)| EventId::from_key(key));
    assert!(first.is_none_or(|first| last.is_none_or(|last| last < first)), "{last:?} {first:?}");
}

#[derive(Debug, Clone)]
enum Step {
    /// A change set with events of these containers, 0 being none, at times that are so far apart.
    Happen(Vec<(u64, u64)>),
    /// A change set with an event of that container, during whose commit the disk fails.
    Fail(u64),
    Checkpoint,
    Close,
    Crash(u64),
    Of {
        container: u64,
        after: u64,
        most: usize,
    },
    Passages {
        place: Option<usize>,
        back: bool,
        from_ms: Option<u64>,
        to_ms: Option<u64>,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let event = (0..4_u64, prop_oneof![9 => 0..50_u64, 1 => Just(DAY_MS)]);
    let time = || prop::option::of(0..3_000_u64);
    prop_oneof![
        12 => prop::collection::vec(event, 1..6).prop_map(Step::Happen),
        1 => (0..4_u64).prop_map(Step::Fail),
        4 => Just(Step::Checkpoint),
        1 => Just(Step::Close),
        1 => any::<u64>().prop_map(Step::Crash),
        6 => (1..4_u64, 0..40_u64, 1..9_usize)
            .prop_map(|(container, after, most)| Step::Of { container, after, most }),
        6 => (prop::option::of(0..90_usize), any::<bool>(), time(), time())
            .prop_map(|(place, back, from_ms, to_ms)| Step::Passages { place, back, from_ms, to_ms }),
    ]
}

struct Model {
    disk: SimulatedDisk,
    events: usize,
    store: RedbStore,
    list: Vec<(EventId, Event)>,
    now_ms: u64,
}

impl Model {
    fn open(disk: &SimulatedDisk, events: usize) -> RedbStore {
        RedbStore::open(packing(disk, events)).expect("the store opens")
    }

    fn next(&self, container: u64, at_ms: u64, before: &[Event]) -> Event {
        if container == 0 {
            return Event { container: None, revision: 0, ..event(1, 0, at_ms) };
        }
        let is_of = |event: &&Event| event.container == Some(loid(container));
        let had = self.list.iter().map(|(_, event)| event).chain(before).filter(is_of).count();
        event(container, had as u64 + 1, at_ms)
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Happen(new) => {
                let mut events = Vec::new();
                for (container, later) in new {
                    self.now_ms += later;
                    events.push(self.next(container, self.now_ms, &events));
                }
                let seq = happen(&self.store, events.clone());
                self.list.extend((0..).map(|ordinal| EventId { seq, ordinal }).zip(events));
            }
            Step::Fail(container) => {
                let at = self.disk.syncs_of(StoreFile::Journal) + 1;
                self.disk.plan_for(StoreFile::Journal, FaultPlan { at, times: 1, fault: DiskFault::Full });
                let events = vec![self.next(container, self.now_ms, &[])];
                let answer = submit_set(&self.store, ChangeSet { events: events.clone(), ..empty(&self.store) });
                until("it is decided", || !self.store.shared.gate.lock().pending());
                self.disk.heal();
                until("the store is well", || self.store.shared.gate.lock().phase == SubmissionPhase::Open);
                // The record may have reached the disk nevertheless.
                if let Ok(Ok(seq)) = answer.map(|answer| answer.wait()) {
                    self.list.extend((0..).map(|ordinal| EventId { seq, ordinal }).zip(events));
                }
            }
            Step::Checkpoint => checkpoint(&self.store),
            Step::Close => {
                self.store.close();
                self.store = Model::open(&self.disk, self.events);
            }
            Step::Crash(seed) => {
                self.disk.crash(seed);
                self.store = Model::open(&self.disk, self.events);
            }
            Step::Of { container, after, most } => {
                let of = self
                    .list
                    .iter()
                    .map(|(_, event)| event)
                    .filter(|event| event.container == Some(loid(container)) && event.revision > after);
                let wanted: Vec<Event> = of.cloned().collect();
                let (found, more) = self.store.events_of(&resumed(container, after, most, usize::MAX)).expect("read");
                assert_eq!(found, wanted[..wanted.len().min(most)]);
                assert!(more || found.len() == wanted.len(), "no more after {} of {}", found.len(), wanted.len());
            }
            Step::Passages { place, back, from_ms, to_ms } => {
                let times = EventPeriod { from_ms, to_ms };
                let mut place = place.and_then(|at| self.list.get(at)).map(|(id, _)| *id);
                let mut wanted = self.list.clone();
                wanted.retain(|(id, event)| {
                    times.contain(event.at_ms) && place.is_none_or(|place| if back { *id < place } else { *id > place })
                });
                if back {
                    wanted.reverse();
                }
                let mut found = Vec::new();
                for _ in 0..1_000 {
                    let way = if back { LogDirection::Back(place) } else { LogDirection::Forth(place) };
                    let passage = self.store.events(way, &times).expect("read");
                    assert!(passage.events.len() <= passage.read);
                    found.extend(passage.events);
                    place = passage.next;
                    if place.is_none() {
                        break;
                    }
                }
                assert_eq!((found, place), (wanted, None));
                assert_eq!(self.store.oldest(), Ok(self.list.first().map(|(id, _)| *id)));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_log_is_a_list(
        events in prop::sample::select(vec![1, 2, 5, 4_096]),
        // Memory holds the newest events; the others are in the tables.
        forgets in any::<bool>(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let disk = SimulatedDisk::new();
        let store = Model::open(&disk, events);
        let mut model = Model { disk, events, store, list: Vec::new(), now_ms: 1_000 };
        for step in steps {
            model.step(step);
            if forgets {
                forget(&model.store);
            }
        }
        prop_assert_eq!(logged(&model.store), model.list.clone());
        checkpoint(&model.store);
        is_sound(&model.store);
        model.store.close();
        model.store = Model::open(&model.disk, events);
        prop_assert_eq!(logged(&model.store), model.list.clone());
        is_sound(&model.store);
    }
}

#[test]
fn pending_events_are_counted_and_not_seen() {
    let disk = SimulatedDisk::new();
    let store = open(&disk);
    happen(&store, vec![event(1, 1, 100)]);
    disk.stall(StoreFile::Journal);
    let set = ChangeSet { events: vec![event(1, 2, 100)], ..empty(&store) };
    let answer = submit_set(&store, set).expect("taken");
    assert_eq!(store.shared.overlay.total().0, 2);
    assert_eq!(store.events_of(&resumed(1, 1, 9, 999)).expect("read"), (vec![], false));
    assert_eq!(logged(&store).len(), 1);
    disk.release();
    answer.wait().expect("committed");
    assert_eq!(store.events_of(&resumed(1, 1, 9, 999)).expect("read"), (vec![event(1, 2, 100)], false));
    checkpoint(&store);
    until("nothing waits", || store.shared.overlay.total() == (0, 0));
}

#[test]
fn events_wait_in_rows_until_there_are_enough_or_the_first_is_old_enough() {
    let disk = SimulatedDisk::new();
    let clock = Arc::new(ManualClock::at(10 * DAY_MS));
    let mut options = packing(&disk, 3);
    options.clock = clock.clone();
    let store = RedbStore::open(options).expect("the store opens");
    let counts = || [Table::Events, Table::EventSegments].map(|table| rows_of(&store, table).len());
    happen(&store, vec![event(1, 1, 10 * DAY_MS), event(2, 1, 10 * DAY_MS)]);
    checkpoint(&store);
    assert_eq!(counts(), [2, 0]);
    happen(&store, vec![event(1, 2, 10 * DAY_MS), event(1, 3, 10 * DAY_MS)]);
    checkpoint(&store);
    assert_eq!(counts(), [1, 1]);
    clock.set(11 * DAY_MS - 1);
    commit(&store, vec![put(Table::Marks, "something to fold", "1")]);
    checkpoint(&store);
    assert_eq!(counts(), [1, 1]);
    clock.set(11 * DAY_MS);
    commit(&store, vec![put(Table::Marks, "something to fold", "2")]);
    checkpoint(&store);
    assert_eq!(counts(), [0, 2]);
    // Nor are events in one segment that are further apart.
    happen(&store, vec![event(1, 4, 11 * DAY_MS - 5), event(1, 5, 12 * DAY_MS - 5), event(1, 6, 12 * DAY_MS)]);
    checkpoint(&store);
    assert_eq!(counts(), [2, 3]);
    is_sound(&store);
}

#[test]
fn a_search_by_time_reads_no_segment_of_another_time() {
    let disk = SimulatedDisk::new();
    let store = RedbStore::open(packing(&disk, 10)).expect("the store opens");
    for hundred in 0..20 {
        happen(&store, (0..10).map(|n| event(1, hundred * 10 + n + 1, hundred * 100 + n)).collect());
    }
    checkpoint(&store);
    forget(&store);
    let times = EventPeriod { from_ms: Some(503), to_ms: Some(507) };
    for way in [LogDirection::Back(None), LogDirection::Forth(None)] {
        let passage = store.events(way, &times).expect("read");
        assert_eq!((passage.events.len(), passage.read), (4, 10), "{way:?}");
    }
}

#[test]
fn event_reads_are_bounded_by_bytes() {
    let disk = SimulatedDisk::new();
    let store = RedbStore::open(packing(&disk, 100)).expect("the store opens");
    let heavy = |revision| Event { user: "u".repeat(800_000), ..event(1, revision, 1) };
    for revision in 1..=3 {
        happen(&store, vec![heavy(revision)]);
    }
    let counts = || {
        let (of, more) = store.events_of(&resumed(1, 0, 9, 500_000)).expect("read");
        (of.len(), more, store.events(LogDirection::Back(None), &EventPeriod::default()).expect("read").read)
    };
    assert_eq!(counts(), (1, true, 1));
    checkpoint(&store);
    forget(&store);
    assert_eq!(rows_of(&store, Table::EventSegments).len(), 2, "and so has a segment");
    assert_eq!(counts(), (1, true, 1));
}

#[test]
fn no_segment_is_opened_beyond_what_there_is_room_for() {
    let disk = SimulatedDisk::new();
    let store = RedbStore::open(packing(&disk, 4)).expect("the store opens");
    for revision in 0..6 {
        happen(&store, vec![event(1, 2 * revision + 1, 1), event(1, 2 * revision + 2, 1)]);
    }
    checkpoint(&store);
    forget(&store);
    assert_eq!(rows_of(&store, Table::EventSegments).len(), 3);
    let revisions = |after, most| {
        let (of, more) = store.events_of(&resumed(1, after, most, usize::MAX)).expect("read");
        (of.iter().map(|event| event.revision).collect::<Vec<_>>(), more)
    };
    assert_eq!((revisions(3, 1), store.shared.opened.count()), ((vec![4], true), 1), "the last of a segment");
    assert_eq!((revisions(0, 4), store.shared.opened.count()), ((vec![1, 2, 3, 4], true), 1));
    assert_eq!((revisions(0, 5), store.shared.opened.count()), ((vec![1, 2, 3, 4, 5], true), 2));
    assert_eq!((revisions(8, 9), store.shared.opened.count()), ((vec![9, 10, 11, 12], false), 3));
}

/// Returns the times of the events that are left after some checkpoints, if events are kept for ten
/// seconds.
fn left(disk: &SimulatedDisk, now_ms: u64, checkpoints: u64, trim: usize) -> Vec<u64> {
    let mut options = packing(disk, 1);
    options.clock = Arc::new(ManualClock::at(now_ms));
    options.event_retention_ms = Some(10_000);
    options.checkpoint.trim = trim;
    let store = RedbStore::open(options).expect("the store opens");
    for number in 0..checkpoints {
        commit(&store, vec![put(Table::Marks, "something to fold", &number.to_string())]);
        checkpoint(&store);
    }
    store.close();
    let store = open(disk);
    is_sound(&store);
    logged(&store).iter().map(|(_, event)| event.at_ms).collect()
}

fn with_events(times: impl IntoIterator<Item = u64>) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let store = RedbStore::open(packing(&disk, 1)).expect("the store opens");
    for (revision, at_ms) in (1..).zip(times) {
        happen(&store, vec![event(1, revision, at_ms)]);
    }
    store.close();
    disk
}

#[test]
fn events_past_their_retention_go_and_the_others_stay() {
    let disk = with_events([1_000, 2_000, 3_000]);
    assert_eq!(left(&disk, 12_500, 1, 20_000), [3_000]);
}

#[test]
fn expired_events_are_not_read_from_memory_and_closed_stores_read_none() {
    let clock = Arc::new(ManualClock::at(1_500));
    let disk = SimulatedDisk::new();
    let mut options = packing(&disk, 1);
    options.clock = clock.clone();
    options.event_retention_ms = Some(10_000);
    let store = RedbStore::open(options).expect("the store opens");
    for (revision, at_ms) in [(1, 1_000), (2, 1_400)] {
        happen(&store, vec![event(1, revision, at_ms)]);
        checkpoint(&store);
    }
    assert_eq!(logged(&store).len(), 2);
    clock.set(11_200);
    commit(&store, vec![put(Table::Marks, "something to fold", "1")]);
    checkpoint(&store);
    let revisions = |events: Vec<Event>| events.iter().map(|event| event.revision).collect::<Vec<_>>();
    assert_eq!(logged(&store).len(), 1);
    assert_eq!(store.oldest(), Ok(Some(logged(&store)[0].0)));
    assert_eq!(revisions(store.events_of(&resumed(1, 0, 9, 999)).expect("read").0), [2]);
    store.close();
    assert_eq!(store.events_of(&resumed(1, 0, 9, 999)), Err(StoreError::Closed));
    assert_eq!(store.events(LogDirection::Back(None), &EventPeriod::default()), Err(StoreError::Closed));
    assert_eq!(store.oldest(), Err(StoreError::Closed));
}

/// Regression test: such events stayed until the next change, so on an unused server for ever.
#[test]
fn events_past_their_retention_go_although_nothing_changes() {
    const HOUR_MS: u64 = 60 * 60 * 1000;
    let clock = Arc::new(ManualClock::at(DAY_MS));
    let disk = SimulatedDisk::new();
    let mut options = packing(&disk, 2);
    options.clock = clock.clone();
    options.event_retention_ms = Some(10 * DAY_MS);
    options.checkpoint.trim = 1;
    let store = RedbStore::open(options).expect("the store opens");
    // Four in segments, and one in a row.
    for revision in 1..=5 {
        happen(&store, vec![event(1, revision, DAY_MS + revision)]);
    }
    checkpoint(&store);
    let counts = || [Table::Events, Table::EventSegments].map(|table| rows_of(&store, table).len());
    let idle = |what, wanted| {
        until(what, || {
            store.shared.checkpoint_due();
            counts() == wanted
        });
    };
    assert_eq!(counts(), [1, 2]);
    let syncs = disk.syncs();
    clock.advance(Duration::from_millis(5 + HOUR_MS));
    // It has looked, once it sleeps again.
    let looks = || {
        for _ in 0..2 {
            store.shared.checkpoint_due();
            until("it has been looked", || !store.shared.due.load(Ordering::Acquire));
        }
    };
    looks();
    assert_eq!((counts(), disk.syncs()), ([1, 2], syncs), "nothing is written for nothing");
    clock.advance(Duration::from_millis(DAY_MS - HOUR_MS));
    idle("the last one is packed for its age", [0, 3]);
    clock.advance(Duration::from_millis(9 * DAY_MS));
    idle("those of two segments go, one after the other", [0, 1]);
    clock.advance(Duration::from_millis(1 + HOUR_MS));
    idle("the last one goes", [0, 0]);
    assert_eq!(logged(&store), vec![]);
}

/// Covers a machine whose clock is wrong at the start of the server, until it is synchronised.
/// Earlier, all events were past their retention at the first checkpoint.
#[test]
fn a_clock_ahead_at_two_starts_in_a_row_expires_no_event() {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let disk = SimulatedDisk::new();
    let then = 1_000 * DAY_MS;
    let clock = Arc::new(ManualClock::at(then));
    let start = || {
        let mut options = packing(&disk, 1);
        options.clock = clock.clone();
        options.event_retention_ms = Some(30 * DAY_MS);
        RedbStore::open(options).expect("the store opens")
    };
    let work = |store: &RedbStore, what: &str| {
        commit(store, vec![put(Table::Marks, "something to fold", what)]);
        checkpoint(store);
    };
    let times = |store: &RedbStore| logged(store).iter().map(|(_, event)| event.at_ms).collect::<Vec<_>>();
    let store = start();
    happen(&store, vec![event(1, 1, then)]);
    work(&store, "well");
    store.close();
    let ahead = then + 100 * DAY_MS;
    clock.set(ahead);
    for (revision, told) in [(2, 1), (3, 2)] {
        let store = start();
        assert_eq!(times(&store).len(), told);
        // What happens meanwhile has the wrong time, and makes the clock no more credible to the
        // next start.
        happen(&store, vec![event(1, revision, ahead)]);
        work(&store, "ahead");
        store.shared.checkpoint_due();
        work(&store, "still ahead");
        assert_eq!(times(&store)[0], then);
        store.close();
    }
    clock.set(then + DAY_MS);
    let store = start();
    work(&store, "right again");
    assert_eq!(times(&store), [then, ahead, ahead]);
    // It leaps while the store is open.
    clock.set(ahead);
    work(&store, "leapt");
    assert_eq!(times(&store)[0], then);
    // The clock has shown this time for an hour without a correction: the server may have been
    // stopped.
    clock.advance(HOUR);
    work(&store, "it is so");
    assert_eq!(times(&store), [ahead, ahead]);
    store.close();
}

/// Regression test: an unused server would have to wait at its next start like one that was not
/// running.
#[test]
fn clock_trust_is_recorded_although_nothing_changes() {
    let disk = SimulatedDisk::new();
    let clock = Arc::new(ManualClock::at(1_000 * DAY_MS));
    let mut options = packing(&disk, 1);
    options.clock = clock.clone();
    options.event_retention_ms = Some(30 * DAY_MS);
    let store = RedbStore::open(options).expect("the store opens");
    happen(&store, vec![event(1, 1, 1_000 * DAY_MS)]);
    checkpoint(&store);
    clock.advance(Duration::from_millis(DAY_MS));
    let syncs = disk.syncs();
    until("it is noted", || {
        store.shared.checkpoint_due();
        disk.syncs() > syncs
    });
}

#[test]
fn an_event_from_the_future_does_not_keep_older_events_from_expiring() {
    // The clock was set forward for a while, more than once.
    let times = [1_000, 900_000, 900_001, 900_002, 2_000, 900_003, 3_000, 900_004];
    let disk = with_events(times);
    // Fewer at a time than there are from the future.
    let left = |now_ms, checkpoints| left(&disk, now_ms, checkpoints, 2);
    assert_eq!(left(10_500, 3), times);
    assert_eq!(left(12_500, 8), [900_003, 3_000, 900_004]);
    assert_eq!(left(13_500, 8), [900_004]);
    // Nothing is known of the age of the last one, until its time has come.
    assert_eq!(left(900_003, 3), [900_004]);
    assert_eq!(left(910_005, 3), [0_u64; 0]);
}

#[test]
fn an_undecodable_event_does_not_keep_others_from_packing_or_removal() {
    let disk = with_events([1_000]);
    let store = open(&disk);
    // As damage might leave them: a row, and a segment of the times after it.
    let key = EventId { seq: 999, ordinal: 0 }.to_key();
    let row = |table, value: &Bytes| RowChange { table, key: key.clone(), value: Some(value.clone()) };
    let nonsense = bytes("nonsense");
    commit(&store, vec![row(Table::EventSegments, &nonsense), row(Table::SegmentTimes, &nonsense)]);
    store.close();
    assert_eq!(left(&disk, 12_500, 2, 20_000), [0_u64; 0]);
    assert_eq!(rows_of(&open(&disk), Table::SegmentTimes), vec![]);
}

#[test]
fn a_checkpoint_that_fails_and_counts_all_the_same_logs_nothing_twice() {
    // Whatever a failing disk left of it: the same events are folded again.
    let disk = SimulatedDisk::new();
    let store = RedbStore::open(packing(&disk, 3)).expect("the store opens");
    for round in 0..6_u64 {
        let events = (1..=4).map(|n| event(1, round * 4 + n, 1)).collect();
        happen(&store, events);
        let fault = if round % 2 == 0 { DiskFault::Sync } else { DiskFault::SyncForgets };
        let at = disk.syncs_of(StoreFile::State) + 1 + round / 2;
        disk.plan_for(StoreFile::State, FaultPlan { at, times: 1, fault });
        checkpoint(&store);
        disk.heal();
        let revisions: Vec<u64> = logged(&store).iter().map(|(_, event)| event.revision).collect();
        assert_eq!(revisions, (1..=round * 4 + 4).collect::<Vec<_>>());
    }
    store.close();
    let store = open(&disk);
    assert_eq!(logged(&store).len(), 24);
    is_sound(&store);
}

#[test]
fn a_segment_and_memory_are_walked_piece_by_piece_without_gap_or_repeat() {
    let disk = SimulatedDisk::new();
    let store = RedbStore::open(packing(&disk, 1_200)).expect("the store opens");
    // Change sets of many events, so that a piece ends amid one: a full segment, then rows.
    for hundred in 0..18 {
        happen(&store, (1..=100).map(|n| event(1, hundred * 100 + n, 1)).collect());
    }
    checkpoint(&store);
    for in_memory in [true, false] {
        if !in_memory {
            forget(&store);
        }
        let forth: Vec<u64> = logged(&store).iter().map(|(_, event)| event.revision).collect();
        assert_eq!(forth, (1..=1_800).collect::<Vec<_>>());
        let (mut back, mut before, mut pieces) = (Vec::new(), None, 0);
        loop {
            let passage = store.events(LogDirection::Back(before), &EventPeriod::default()).expect("read");
            assert!(passage.read <= 500, "{}", passage.read);
            back.extend(passage.events.iter().map(|(_, event)| event.revision));
            (before, pieces) = (passage.next, pieces + 1);
            if before.is_none() {
                break;
            }
        }
        assert_eq!(back, (1..=1_800).rev().collect::<Vec<_>>());
        assert!(pieces >= 4, "{pieces}");
    }
}

#[test]
fn a_change_set_may_leave_more_events_than_two_bytes_count() {
    // An object in that many drawers is discarded, and each drawer has an event.
    const MANY: u64 = 70_000;
    let disk = SimulatedDisk::new();
    let store = RedbStore::open(packing(&disk, 8_192)).expect("the store opens");
    let seq = happen(&store, (1..=MANY).map(|container| event(container, 1, 5)).collect());
    let after = happen(&store, vec![event(1, 2, 6)]);
    let wanted = (0..).take(MANY as usize).map(|ordinal| EventId { seq, ordinal });
    let wanted: Vec<EventId> = wanted.chain([EventId { seq: after, ordinal: 0 }]).collect();
    let ids = |store: &RedbStore| logged(store).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!(ids(&store), wanted);
    disk.crash(1);
    let store = RedbStore::open(packing(&disk, 8_192)).expect("the store opens");
    checkpoint(&store);
    forget(&store);
    assert_eq!(ids(&store), wanted);
    is_sound(&store);
    let (of, more) = store.events_of(&resumed(MANY, 0, 9, 999)).expect("read");
    assert_eq!((of.len(), more), (1, false));
}
