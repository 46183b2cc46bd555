//! The findings of the replay about drawers.

use super::model::{DrawerChange, DrawerModel};
use crate::replay::evidence::{
    AcknowledgedChange, ContainerRead, ContainerSpan, DoubtfulCall, ReplayEvidence, UNREPORTED,
};
use crate::replay::{ContainerModel, MOST_DOUBTS, Replay, replay};

/// A model of a server: applies changes and records the evidence that a server would have given.
struct Server {
    drawers: Vec<(DrawerModel, u64)>,
    evidence: ReplayEvidence<DrawerModel>,
}

impl Server {
    fn new(initial: &[&[u32]], capacity: usize) -> Server {
        let model = |items: &[u32]| DrawerModel::new(items.to_vec(), capacity);
        let span =
            |items: &&[u32]| ContainerSpan { initial: model(items), held: items.to_vec(), revisions: Some((1, 1)) };
        Server {
            drawers: initial.iter().map(|items| (model(items), 1)).collect(),
            evidence: ReplayEvidence { containers: initial.iter().map(span).collect(), ..ReplayEvidence::default() },
        }
    }

    /// Applies a change without recording evidence.
    fn silently(&mut self, drawer: u16, change: DrawerChange) -> u64 {
        let (model, revision) = &mut self.drawers[usize::from(drawer)];
        *revision += u64::from(model.apply(change).expect("it is allowed"));
        *revision
    }

    fn tell(&mut self, drawer: u16, change: DrawerChange) {
        let before = self.drawers[usize::from(drawer)].0.clone();
        let revision = Some(self.silently(drawer, change));
        let after = &self.drawers[usize::from(drawer)].0;
        let shown = if matches!(change, DrawerChange::Delete(_)) { &before } else { after };
        let place = shown.place(change.object()).map_or(UNREPORTED, |place| place as u32);
        let count = after.items.len() as u32;
        self.evidence.acked.push(AcknowledgedChange { change, container: drawer, revision, after: 0, place, count });
    }

    fn move_item(&mut self, from: u16, to: u16, object: u32) {
        for (drawer, change) in [(from, DrawerChange::Leave(object)), (to, DrawerChange::Arrive(object))] {
            let revision = Some(self.silently(drawer, change));
            self.evidence.acked.push(AcknowledgedChange {
                change,
                container: drawer,
                revision,
                after: 0,
                place: UNREPORTED,
                count: UNREPORTED,
            });
        }
    }

    fn read(&mut self, drawer: u16) {
        let (model, revision) = &self.drawers[usize::from(drawer)];
        self.evidence.seen.push(ContainerRead { container: drawer, revision: *revision, print: model.print() });
    }

    fn doubt(&mut self, here: (u16, DrawerChange), there: Option<(u16, DrawerChange)>) {
        self.evidence.doubts.push(DoubtfulCall { there, ..DoubtfulCall::of(here.0, here.1) });
    }

    /// Sets the final contents that the server reports, lets `spoil` falsify the evidence, and
    /// replays it.
    fn end(mut self, spoil: impl FnOnce(&mut ReplayEvidence<DrawerModel>)) -> Replay<DrawerChange> {
        for (span, (model, revision)) in self.evidence.containers.iter_mut().zip(&self.drawers) {
            span.held = model.items.clone();
            span.revisions = Some((1, *revision));
        }
        // The evidence of clients arrives in any order.
        self.evidence.acked.reverse();
        spoil(&mut self.evidence);
        replay(&self.evidence)
    }
}

/// Returns a server with some of every kind of change, and correct evidence.
fn busy() -> Server {
    let mut server = Server::new(&[&[0, 1, 2], &[3]], 4);
    server.tell(0, DrawerChange::Add(4));
    server.read(0);
    server.tell(0, DrawerChange::Add(4));
    server.tell(0, DrawerChange::Position(5, 0));
    server.move_item(0, 1, 5);
    server.tell(0, DrawerChange::Shift(2, 0));
    server.read(0);
    server.tell(1, DrawerChange::Delete(3));
    server.move_item(0, 1, 0);
    server.tell(1, DrawerChange::Position(0, 0));
    server.tell(1, DrawerChange::Add(6));
    server
}

#[track_caller]
fn explained(replay: Replay<DrawerChange>, all: u64, of_doubts: u64) {
    let Replay::Explained { revisions, doubtful, .. } = replay else { panic!("{replay:?}") };
    assert_eq!((revisions, doubtful), (all, of_doubts));
}

#[track_caller]
fn contradicted(replay: Replay<DrawerChange>, why: &str) {
    let Replay::Contradicted(acked) = &replay else { panic!("{replay:?}") };
    assert!(acked.contains(why), "{acked}");
}

#[test]
fn truthful_drawer_histories_are_explained() {
    explained(busy().end(|_| {}), 10, 0);
    explained(Server::new(&[&[1]], 4).end(|_| {}), 0, 0);
}

#[test]
fn a_planted_loss_duplicate_and_reorder_are_each_found() {
    contradicted(busy().end(|all| all.containers[1].held.truncate(2)), "missing, object 6");
    contradicted(busy().end(|all| all.containers[0].held.push(2)), "object 2 is there twice");
    contradicted(busy().end(|all| all.containers[1].held.swap(0, 1)), "not in the order");
    contradicted(busy().end(|all| all.containers[0].held.push(u32::MAX)), "should not be");
}

#[test]
fn an_acknowledged_change_that_was_not_made_is_found() {
    // The server acknowledged an addition and forgot it: the next change has the same revision.
    let mut forgetful = busy();
    let lost = AcknowledgedChange {
        change: DrawerChange::Add(7),
        container: 1,
        revision: Some(6),
        after: 0,
        place: UNREPORTED,
        count: UNREPORTED,
    };
    forgetful.tell(1, DrawerChange::Delete(5));
    forgetful.evidence.acked.push(lost);
    contradicted(forgetful.end(|_| {}), "acknowledged");
    // Or the drawer never came that far.
    contradicted(busy().end(|all| all.acked[0].revision = Some(99)), "went from revision");
    contradicted(busy().end(|all| all.acked[0].revision = Some(0)), "went from revision");
}

#[test]
fn a_change_that_nobody_made_is_found() {
    let mut haunted = busy();
    haunted.silently(0, DrawerChange::Delete(1));
    contradicted(haunted.end(|_| {}), "by no acknowledged call");
}

#[test]
fn a_wrong_place_count_or_read_is_found() {
    contradicted(busy().end(|all| all.acked[0].place = 0), "does not follow");
    contradicted(busy().end(|all| all.acked[0].count = 9), "does not follow");
    contradicted(busy().end(|all| all.seen[1].print += 1), "a read showed");
}

#[test]
fn doubtful_drawer_changes_may_have_been_applied_or_not() {
    let mut undone = busy();
    undone.doubt((0, DrawerChange::Delete(1)), None);
    explained(undone.end(|_| {}), 10, 0);
    let mut done = Server::new(&[&[0, 1, 2]], 4);
    done.doubt((0, DrawerChange::Add(9)), None);
    done.doubt((0, DrawerChange::Delete(0)), None);
    done.doubt((0, DrawerChange::Delete(1)), None);
    done.tell(0, DrawerChange::Add(5));
    // The first one tried is the wrong one, which shows only later.
    done.silently(0, DrawerChange::Delete(1));
    done.tell(0, DrawerChange::Position(6, 1));
    done.silently(0, DrawerChange::Delete(0));
    done.tell(0, DrawerChange::Add(7));
    explained(done.end(|_| {}), 5, 2);
}

#[test]
fn a_move_in_doubt_happens_whole_or_not_at_all() {
    let doubt = |server: &mut Server| server.doubt((0, DrawerChange::Leave(1)), Some((1, DrawerChange::Arrive(1))));
    let mut whole = busy();
    doubt(&mut whole);
    whole.silently(0, DrawerChange::Leave(1));
    whole.silently(1, DrawerChange::Arrive(1));
    explained(whole.end(|_| {}), 12, 2);
    for (drawer, half) in [(0, DrawerChange::Leave(1)), (1, DrawerChange::Arrive(1))] {
        let mut torn = busy();
        doubt(&mut torn);
        torn.silently(drawer, half);
        contradicted(torn.end(|_| {}), "torn");
    }
    // It was in the target already: leaving is all there is to it.
    let mut there = Server::new(&[&[1], &[1]], 4);
    doubt(&mut there);
    there.silently(0, DrawerChange::Leave(1));
    explained(there.end(|_| {}), 1, 1);
}

#[test]
fn without_revisions_or_with_too_much_in_doubt_it_says_so() {
    assert!(matches!(busy().end(|all| all.acked[3].revision = None), Replay::TooMany(_)));
    let mut lost = busy();
    (0..=MOST_DOUBTS).for_each(|_| lost.doubt((0, DrawerChange::Add(9)), None));
    assert!(matches!(lost.end(|_| {}), Replay::TooMany(_)));
}

#[test]
fn the_maximum_number_of_doubtful_calls_can_be_searched() {
    let mut server = Server::new(&[&[0]], 4);
    for _ in 0..MOST_DOUBTS / 2 {
        for change in [DrawerChange::Add(9), DrawerChange::Delete(9)] {
            server.doubt((0, change), None);
            server.silently(0, change);
        }
    }
    explained(server.end(|_| {}), MOST_DOUBTS as u64, MOST_DOUBTS as u64);
}

#[test]
fn unknown_objects_in_a_drawer_do_not_break_the_replay() {
    explained(Server::new(&[&[u32::MAX, 1]], 4).end(|_| {}), 0, 0);
}

/// A way that was tried and led nowhere must not make a torn move look whole.
#[test]
fn a_step_that_was_taken_back_leaves_nothing_behind() {
    let mut server = Server::new(&[&[1], &[]], 4);
    server.doubt((0, DrawerChange::Leave(1)), Some((1, DrawerChange::Arrive(1))));
    server.doubt((1, DrawerChange::Add(2)), None);
    server.silently(0, DrawerChange::Leave(1));
    server.silently(1, DrawerChange::Add(2));
    contradicted(server.end(|_| {}), "torn");
}
