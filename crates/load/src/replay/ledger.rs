//! Evidence that is replayed while more arrives, so that a long load keeps only what the last calls
//! reported.
//!
//! A call ends within a known time, with a reply or in doubt. So no more replies can arrive for
//! revisions that were reported longer ago than that. If an acknowledged call made each of these
//! revisions, they need not be kept. Otherwise everything is kept from there on, and
//! [`super::replay`] interprets it: nothing is decided here.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::evidence::{AcknowledgedChange, ContainerRead};
use super::{ContainerModel, apply_acknowledged, finds_nothing_to_do};

/// The evidence about one container, partly replayed.
pub struct Ledger<P: ContainerModel> {
    told: Mutex<PendingEvidence<P::Change>>,
    /// The replayed container and its revision. The thread that folds holds the lock.
    paper: Mutex<(P, u64)>,
    /// The longest time after which a call may still be without an outcome.
    longest: Duration,
}

/// The reported evidence that is not replayed yet.
struct PendingEvidence<C> {
    acked: Vec<AcknowledgedChange<C>>,
    seen: Vec<ContainerRead>,
    counts: EvidenceCounts,
    /// The newest reported revision.
    newest: u64,
    /// The newest revision at earlier folds, oldest first.
    looks: VecDeque<(Instant, u64)>,
    /// `true` if everything is kept from now on.
    kept: bool,
}

/// The number of reports in total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EvidenceCounts {
    /// The number of acknowledged changes.
    pub acked: u64,
    /// The number of reads.
    pub seen: u64,
    /// The number of revisions already replayed.
    pub revisions: u64,
}

impl EvidenceCounts {
    /// Adds another container's counts.
    pub fn add(&mut self, other: EvidenceCounts) {
        self.acked += other.acked;
        self.seen += other.seen;
        self.revisions += other.revisions;
    }
}

/// The evidence that remains at the end of a load.
pub struct RemainingEvidence<P: ContainerModel> {
    /// The container after the replayed changes.
    pub paper: P,
    /// The revision of `paper`.
    pub revision: u64,
    /// Changes acknowledged since `revision`.
    pub acked: Vec<AcknowledgedChange<P::Change>>,
    /// Reads since `revision`.
    pub seen: Vec<ContainerRead>,
    /// The number of all reports, those already replayed included.
    pub counts: EvidenceCounts,
}

impl<P: ContainerModel> Ledger<P> {
    /// Creates the ledger of a container at a revision, before the load. No call takes longer than
    /// `longest`.
    pub fn new(paper: P, revision: u64, longest: Duration) -> Ledger<P> {
        let told = PendingEvidence {
            acked: Vec::new(),
            seen: Vec::new(),
            counts: EvidenceCounts::default(),
            newest: revision,
            looks: VecDeque::new(),
            kept: false,
        };
        Ledger { told: Mutex::new(told), paper: Mutex::new((paper, revision)), longest }
    }

    /// Notes an acknowledged change.
    pub fn acked(&self, ack: AcknowledgedChange<P::Change>) {
        let mut told = self.told.lock();
        match ack.revision {
            Some(revision) => told.newest = told.newest.max(revision),
            None => told.kept = true,
        }
        told.counts.acked += 1;
        told.acked.push(ack);
    }

    /// Notes a read.
    pub fn seen(&self, seen: ContainerRead) {
        let mut told = self.told.lock();
        told.newest = told.newest.max(seen.revision);
        told.counts.seen += 1;
        told.seen.push(seen);
    }

    /// Keeps all further evidence, because a call is in doubt or revisions cannot be relied on.
    pub fn keep(&self) {
        self.told.lock().kept = true;
    }

    /// Replays what is old enough. It is called at intervals and takes a while, so not by a thread
    /// that measures.
    pub fn fold(&self, now: Instant) {
        let mut paper = self.paper.lock();
        let (mut acked, mut seen, until) = {
            let mut told = self.told.lock();
            let newest = told.newest;
            if told.looks.back().is_none_or(|(_, last)| *last < newest) {
                told.looks.push_back((now, newest));
            }
            let mut until = None;
            while let Some((at, revision)) = told.looks.front().copied()
                && now.duration_since(at) > self.longest
            {
                until = Some(revision);
                told.looks.pop_front();
            }
            let Some(until) = until.filter(|_| !told.kept) else { return };
            (std::mem::take(&mut told.acked), std::mem::take(&mut told.seen), until)
        };
        let is_old = |revision: u64| revision <= until;
        let mut old_acked: Vec<_> = acked
            .extract_if(.., |ack| ack.revision.is_some_and(is_old))
            .filter_map(|ack| Some((ack.revision?, ack)))
            .collect();
        let mut old_seen: Vec<_> = seen.extract_if(.., |seen| is_old(seen.revision)).collect();
        let (before, from) = &*paper;
        let after = advance(before.clone(), (*from, until), &mut old_acked, &mut old_seen);
        let mut told = self.told.lock();
        match after {
            Some(after) => {
                told.counts.revisions += until - from;
                *paper = (after, until);
            }
            None => {
                told.kept = true;
                acked.extend(old_acked.into_iter().map(|(_, ack)| ack));
                seen.extend(old_seen);
            }
        }
        told.acked.append(&mut acked);
        told.seen.append(&mut seen);
    }

    /// Takes the remaining evidence out.
    pub fn take(&self) -> RemainingEvidence<P> {
        let (paper, mut told) = (self.paper.lock(), self.told.lock());
        let (paper, revision) = paper.clone();
        let (acked, seen) = (std::mem::take(&mut told.acked), std::mem::take(&mut told.seen));
        RemainingEvidence { paper, revision, acked, seen, counts: told.counts }
    }
}

/// Replays acknowledged changes by revision, if each revision has one that made it and every reply
/// fits; else returns `None`. The slices are left in another order.
fn advance<P: ContainerModel>(
    mut paper: P,
    (mut revision, until): (u64, u64),
    acked: &mut [(u64, AcknowledgedChange<P::Change>)],
    seen: &mut [ContainerRead],
) -> Option<P> {
    acked.sort_unstable_by_key(|(revision, one)| (*revision, one.change));
    seen.sort_unstable_by_key(|one| one.revision);
    let mut rest = (&*acked, &*seen);
    let mut maker = None;
    loop {
        let told = rest.0.iter().take_while(|(of, _)| *of == revision).count();
        let (now, later) = rest.0.split_at(told);
        let found = now.iter().enumerate().filter(|(index, _)| Some(*index) != maker);
        if !found.into_iter().all(|(_, (_, ack))| finds_nothing_to_do(&paper, ack)) {
            return None;
        }
        let reads = rest.1.iter().take_while(|seen| seen.revision == revision).count();
        let (shown, not_yet) = rest.1.split_at(reads);
        if !shown.is_empty() && shown.iter().any(|seen| seen.print != paper.print()) {
            return None;
        }
        rest = (later, not_yet);
        if revision == until {
            // Any remaining evidence is about a revision before the first.
            return (rest.0.is_empty() && rest.1.is_empty()).then_some(paper);
        }
        revision += 1;
        let next = || rest.0.iter().take_while(|(of, _)| *of == revision).map(|(_, ack)| ack).enumerate();
        let (index, after) = next().find_map(|(index, ack)| {
            let after = apply_acknowledged(&paper, ack)?;
            next().all(|(other, ack)| other == index || finds_nothing_to_do(&after, ack)).then_some((index, after))
        })?;
        (maker, paper) = (Some(index), after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawer::model::{DrawerChange, DrawerModel};
    use crate::replay::evidence::UNREPORTED;

    const LONGEST: Duration = Duration::from_secs(30);

    fn ledger() -> Ledger<DrawerModel> {
        Ledger::new(DrawerModel::new(vec![1, 2, 3], 50), 7, LONGEST)
    }

    fn shift(object: u32, position: i32, revision: u64) -> AcknowledgedChange<DrawerChange> {
        let change = DrawerChange::Shift(object, position);
        AcknowledgedChange {
            change,
            container: 0,
            revision: Some(revision),
            after: 0,
            place: UNREPORTED,
            count: UNREPORTED,
        }
    }

    /// Moves the last item first, `many` times per second, each time followed by a read.
    fn turn(ledger: &Ledger<DrawerModel>, model: &mut DrawerModel, revision: &mut u64, many: usize) {
        for _ in 0..many {
            let last = *model.items.last().expect("there are three");
            model.apply(DrawerChange::Shift(last, 0));
            *revision += 1;
            ledger.acked(shift(last, 0, *revision));
            // Another client requested the same change.
            ledger.acked(shift(last, 0, *revision));
            ledger.seen(ContainerRead { container: 0, revision: *revision, print: model.print() });
        }
    }

    #[test]
    fn a_long_load_keeps_what_the_last_calls_told_and_forgets_nothing_else() {
        let (ledger, mut model, mut revision) = (ledger(), DrawerModel::new(vec![1, 2, 3], 50), 7);
        let begun = Instant::now();
        let mut most = 0;
        for second in 0..1800u32 {
            turn(&ledger, &mut model, &mut revision, 20);
            ledger.fold(begun + Duration::from_secs(second.into()));
            most = most.max(ledger.told.lock().acked.len());
        }
        // Of 72,000: those of thirty seconds, and of the second in which they lie.
        assert!(most <= 32 * 40, "{most} are kept");
        assert!(ledger.told.lock().looks.len() <= 32);
        let rest = ledger.take();
        let told = 1800 * 20;
        assert_eq!((rest.counts.acked, rest.counts.seen), (told * 2, told));
        assert_eq!(rest.revision, 7 + rest.counts.revisions);
        assert_eq!(rest.acked.len() as u64, (revision - rest.revision) * 2);
        let (mut acked, mut seen) =
            (rest.acked.iter().map(|ack| (ack.revision.unwrap(), *ack)).collect::<Vec<_>>(), rest.seen);
        let after = advance(rest.paper, (rest.revision, revision), &mut acked, &mut seen);
        assert_eq!(after, Some(model), "what is on paper and what is kept is all of it");
    }

    #[test]
    fn late_reads_of_an_idle_container_are_still_checked_against_the_ledger() {
        let (ledger, mut model, mut revision) = (ledger(), DrawerModel::new(vec![1, 2, 3], 50), 7);
        let begun = Instant::now();
        turn(&ledger, &mut model, &mut revision, 3);
        for second in [0, 31, 62, 93] {
            ledger.seen(ContainerRead { container: 0, revision, print: model.print() });
            ledger.fold(begun + Duration::from_secs(second));
        }
        assert_eq!(ledger.paper.lock().1, revision);
        ledger.seen(ContainerRead { container: 0, revision, print: 1 });
        let rest = ledger.take();
        let mut seen = rest.seen;
        assert!(!seen.is_empty() && advance(rest.paper, (revision, revision), &mut [], &mut seen).is_none());
    }

    /// Checks that what folding cannot explain is left to the replay as a whole.
    #[test]
    fn nothing_is_put_on_paper_that_does_not_follow() {
        type Spoil = fn(&Ledger<DrawerModel>);
        let spoils: [(&str, Spoil); 6] = [
            ("a call is in doubt", |ledger| ledger.keep()),
            ("a revision that nobody made", |ledger| ledger.acked(shift(1, 0, 12))),
            ("a reply that does not fit", |ledger| ledger.acked(AcknowledgedChange { place: 2, ..shift(2, 0, 10) })),
            ("a read of something else", |ledger| ledger.seen(ContainerRead { container: 0, revision: 9, print: 1 })),
            ("a reply without a revision", |ledger| {
                ledger.acked(AcknowledgedChange { revision: None, ..shift(1, 0, 0) })
            }),
            ("a revision before the first", |ledger| ledger.acked(shift(1, 0, 3))),
        ];
        for (why, spoil) in spoils {
            let (ledger, mut model, mut revision) = (ledger(), DrawerModel::new(vec![1, 2, 3], 50), 7);
            turn(&ledger, &mut model, &mut revision, 3);
            spoil(&ledger);
            let begun = Instant::now();
            for second in [0, 40, 80] {
                ledger.fold(begun + Duration::from_secs(second));
            }
            let rest = ledger.take();
            assert_eq!((rest.revision, rest.paper.items.as_slice()), (7, &[1, 2, 3][..]), "{why}");
            assert_eq!(
                (rest.acked.len() as u64, rest.seen.len() as u64),
                (rest.counts.acked, rest.counts.seen),
                "{why}"
            );
        }
    }

    #[test]
    fn revisions_that_may_still_be_reported_are_not_folded() {
        let (ledger, mut model, mut revision) = (ledger(), DrawerModel::new(vec![1, 2, 3], 50), 7);
        let begun = Instant::now();
        turn(&ledger, &mut model, &mut revision, 3);
        ledger.fold(begun);
        ledger.fold(begun + LONGEST);
        assert_eq!(ledger.take().revision, 7);
    }
}
