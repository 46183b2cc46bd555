use std::sync::Arc;

use super::super::fields::FieldChange;
use super::super::model::topic_line;
use super::*;
use crate::followers::FollowerOutcome;
use crate::followers::board::event_text;
use crate::replay::evidence::{AcknowledgedChange, ContainerRead, ContainerSpan, DoubtfulCall, UNREPORTED};

/// A model of a server: applies changes and records the evidence that a server would have given.
/// There are two topics and their plan. Lines 0 and 1 exist from the start, in the first topic.
struct Server {
    containers: Vec<(TopicModel, u64)>,
    evidence: TopicEvidence,
    /// The events that followers of the first topic received.
    events: Vec<Box<str>>,
}

fn id(line: LineNumber) -> Box<str> {
    format!("id-{line}").into()
}

/// Dividers have odd numbers above a hundred.
fn is_divider(line: LineNumber) -> bool {
    line > 100 && line < 1000 && line % 2 == 1
}

const PLAN: u16 = 2;

impl Server {
    fn new() -> Server {
        let ids = (0..300).chain([topic_line(0), topic_line(1)]).map(|line| (line, u64::from(line) + 5));
        let ids = Arc::new(ids.collect());
        let container = |lines: &[LineNumber]| (TopicModel::new(lines.to_vec(), Arc::clone(&ids)), 10);
        let mut server = Server {
            containers: vec![container(&[0, 1]), container(&[]), container(&[topic_line(0), topic_line(1)])],
            evidence: TopicEvidence::default(),
            events: Vec::new(),
        };
        server.evidence.order.containers = server
            .containers
            .iter()
            .map(|(initial, _)| ContainerSpan { initial: initial.clone(), held: Vec::new(), revisions: None })
            .collect();
        server.evidence.known = [0, 1].map(|line| (line, id(line))).into();
        server
    }

    fn does(&mut self, container: u16, change: TopicChange) -> u64 {
        let (lines, revision) = &mut self.containers[usize::from(container)];
        let changed = lines.apply(change).expect("it is allowed");
        *revision += u64::from(changed);
        let revision = *revision;
        if changed && container == 0 {
            let kind = if is_divider(change.line()) { "divider" } else { "item" };
            let verb = match change {
                TopicChange::Add(..) => "add",
                TopicChange::Remove(_) => "remove",
                TopicChange::Attach(_) => "attach",
                TopicChange::Leave(_) | TopicChange::Arrive(..) => "move",
                _ => "update",
            };
            self.events.push(event_text(&format!("topic.{kind}.{verb}"), &id(change.line())).into());
        }
        revision
    }

    fn tells(&mut self, container: u16, change: TopicChange) -> &mut Server {
        let after = self.containers[usize::from(container)].1;
        let revision = Some(self.does(container, change));
        let lines = self.containers[usize::from(container)].0.members();
        let place = lines.iter().position(|line| *line == change.line()).map_or(UNREPORTED, |place| place as u32);
        self.evidence.order.acked.push(AcknowledgedChange {
            change,
            container,
            revision,
            after,
            place,
            count: UNREPORTED,
        });
        match change {
            TopicChange::Add(line, _) => _ = self.evidence.known.insert(line, id(line)),
            TopicChange::Remove(line) => _ = self.evidence.removed.insert(line),
            _ => {}
        }
        self
    }

    /// An item from one topic to the other.
    fn moves(&mut self, from: u16, to: u16, line: LineNumber, position: i32) -> &mut Server {
        self.tells(from, TopicChange::Leave(line)).tells(to, TopicChange::Arrive(line, position))
    }

    fn reads(&mut self, container: u16) -> &mut Server {
        let (lines, revision) = &self.containers[usize::from(container)];
        self.evidence.order.seen.push(ContainerRead { container, revision: *revision, print: lines.print() });
        self
    }

    fn says(&mut self, line: LineNumber, saying: FieldChange, is_sure: bool) -> &mut Server {
        self.evidence.told.entry(line).or_default().say(saying, is_sure);
        self
    }

    fn ends(&mut self, said: &[(LineNumber, ShownItemFields)]) -> &mut Server {
        self.evidence.held.clear();
        let order = &mut self.evidence.order;
        for (span, (lines, revision)) in order.containers.iter_mut().zip(&self.containers) {
            span.held = lines.members().to_vec();
            span.revisions = Some((10, *revision));
        }
        for (lines, _) in &self.containers[..2] {
            self.evidence.held.extend(lines.members().iter().map(|line| (*line, id(*line))));
        }
        let items = self.evidence.held.iter().map(|(line, _)| *line).filter(|line| !is_divider(*line));
        self.evidence.said = items.map(|line| (line, (0, None))).collect();
        self.evidence.said.extend(said.iter().copied());
        // The evidence of clients arrives in any order.
        self.evidence.order.acked.reverse();
        self
    }

    fn judged(&self, uncounted: Option<&str>) -> LoadVerdict {
        let followed = FollowerOutcome { followers: 2, whole: 2, ..FollowerOutcome::default() };
        let heard = ReceivedEvents { what: &self.events, odd: &(0, None), followed: &followed };
        verdict(&self.evidence, uncounted.is_none().then_some(&heard), uncounted, is_divider)
    }

    #[track_caller]
    fn is_verified(&self) -> Vec<String> {
        let verdict = self.judged(None);
        assert_eq!((verdict.finding, &*verdict.problems), (VerificationFinding::Verified, &[][..]));
        verdict.details
    }

    #[track_caller]
    fn is_violated(&self, says: &str) {
        let verdict = self.judged(None);
        assert_eq!(verdict.finding, VerificationFinding::Violated);
        assert!(verdict.problems.iter().any(|problem| problem.contains(says)), "{:?}", verdict.problems);
    }
}

/// Returns a server with some of every kind of change, and correct evidence.
fn busy() -> Server {
    let mut server = Server::new();
    server.tells(0, TopicChange::Add(2, 0)).tells(0, TopicChange::Add(101, 1)).reads(0);
    server.tells(0, TopicChange::Edit(2)).says(2, FieldChange::Step(7), true);
    server.tells(0, TopicChange::Attach(2)).says(2, FieldChange::Attached(1), true);
    server.tells(0, TopicChange::Shift(1, 0)).tells(0, TopicChange::Order(101, -1)).reads(0);
    server.moves(0, 1, 2, 0).moves(0, 1, 1, 0).tells(1, TopicChange::Arrive(1, 1)).reads(1);
    server
        .tells(PLAN, TopicChange::Order(topic_line(1), 0))
        .tells(PLAN, TopicChange::Order(topic_line(1), 0))
        .reads(PLAN);
    server.moves(1, 0, 1, -1).tells(0, TopicChange::Remove(0)).tells(0, TopicChange::Add(4, 1));
    server
}

const SAID: [(LineNumber, ShownItemFields); 1] = [(2, (7, Some(1)))];

#[test]
fn truthful_topic_histories_are_verified() {
    let details = busy().ends(&SAID).is_verified().join(" ");
    for part in ["16 revisions of 2 topics", "4 items and dividers are there", "All 2 followers received all 11"] {
        assert!(details.contains(part), "`{part}` is missing in {details}");
    }
}

#[test]
fn missing_duplicate_misordered_and_unexplained_topic_lines_are_found() {
    let spoiled = |spoil: &dyn Fn(&mut TopicEvidence)| {
        let mut server = busy();
        spoil(&mut server.ends(&SAID).evidence);
        server
    };
    spoiled(&|all| all.order.containers[0].held.swap(0, 1)).is_violated("not in the order");
    spoiled(&|all| all.held.retain(|(line, _)| *line != 4)).is_violated("line 4 is missing");
    spoiled(&|all| all.held.push((4, id(4)))).is_violated("line 4 is there twice");
    spoiled(&|all| all.held.push((0, id(0)))).is_violated("although its removal was acknowledged");
    spoiled(&|all| all.held.push((77, id(77)))).is_violated("no reply acknowledged its creation");
    spoiled(&|all| all.held.push((FOREIGN, id(9)))).is_violated("that the load did not create");
    spoiled(&|all| all.held[0].1 = "other".into()).is_violated("another id");
    spoiled(&|all| _ = all.denied.insert(4)).is_violated("was refused because it did not exist");
    spoiled(&|all| all.order.seen[0].print += 1).is_violated("a read showed");
    spoiled(&|all| all.order.acked[0].place = 3).is_violated("does not follow");
    spoiled(&|all| _ = all.said.insert(2, (6, Some(1)))).is_violated("comment 6");
    spoiled(&|all| all.odd.push("a reply".to_owned())).is_violated("a reply");
}

#[test]
fn events_that_say_something_else_are_found() {
    for (event, says) in [("topic.item.remove id-2", "revision 11, which was line 2"), ("topic.item.add id-9", "id-9")]
    {
        let mut server = busy();
        server.ends(&SAID).events[0] = event.into();
        server.is_violated(says);
    }
    let mut more = busy();
    more.ends(&SAID).events[4] = "topic.item.update id-1 id-2".into();
    more.is_verified();
}

/// Covers a reply that shows an item after another caller's later change, with that change's
/// revision.
#[test]
fn changes_reported_late_are_found_between_their_bounding_revisions() {
    let mut shared = busy();
    let after = shared.containers[0].1;
    shared.does(0, TopicChange::Shift(4, 0));
    shared.tells(0, TopicChange::Shift(4, 2));
    let revision = shared.evidence.order.acked.last().and_then(|acked| acked.revision);
    let (change, place, count) = (TopicChange::Shift(4, 0), 2, UNREPORTED);
    shared.evidence.order.acked.push(AcknowledgedChange { change, container: 0, revision, after, place, count });
    let details = shared.ends(&SAID).is_verified().join(" ");
    assert!(details.contains("explained only by calls"), "{details}");

    let timed = |after: u64, until: u64| {
        let mut server = busy();
        let begin = server.containers[0].1;
        server.does(0, TopicChange::Shift(4, 0));
        server.tells(0, TopicChange::Edit(4)).says(4, FieldChange::Step(9), true);
        let doubt = DoubtfulCall {
            after: begin + after,
            until: begin + until,
            ..DoubtfulCall::of(0, TopicChange::Shift(4, 0))
        };
        server.evidence.order.doubts.push(doubt);
        server.ends(&[SAID[0], (4, (9, None))]);
        server
    };
    timed(0, 1).is_verified();
    timed(0, 9).is_verified();
    // Followers received a change that no client had requested.
    let mut other = timed(0, 9);
    let event = other.events.len() - 2;
    other.events[event] = "topic.item.attach id-4".into();
    other.is_violated("made by no acknowledged call");
    timed(1, 9).is_violated("by no acknowledged call");
    // There was no such revision before it was asked for.
    let mut early = timed(0, 1);
    early.evidence.order.doubts[0].until -= 1;
    early.is_violated("by no acknowledged call");
}

#[test]
fn calls_with_the_same_reported_revision_may_be_ordered_either_way() {
    let mut server = Server::new();
    // The divider moved up because the item above it was removed. Both replies show it with the
    // same revision.
    server
        .tells(0, TopicChange::Add(101, 1))
        .tells(0, TopicChange::Shift(0, -1))
        .tells(0, TopicChange::Order(101, 0))
        .reads(0);
    server.ends(&[]).is_verified();
    // The same with the item's shift lost.
    let shift = server.evidence.order.acked.iter().position(|acked| matches!(acked.change, TopicChange::Shift(..)));
    server.evidence.order.acked.remove(shift.expect("it was told"));
    server.is_violated("a read showed");
    server.evidence.order.doubts.push(DoubtfulCall::of(0, TopicChange::Shift(0, -1)));
    server.is_verified();
}

#[test]
fn calls_in_doubt_that_change_nothing_of_the_order_hide_no_fault_in_it() {
    let mut server = Server::new();
    let dividers = [101, 103, 105];
    dividers.iter().for_each(|line| _ = server.tells(0, TopicChange::Add(*line, 0)));
    for line in dividers.iter().cycle().take(180) {
        server.tells(0, TopicChange::Order(*line, 0));
    }
    server.evidence.order.doubts.extend(dividers.map(|line| DoubtfulCall::of(0, TopicChange::Order(line, 0))));
    server.ends(&[]).is_verified();
    // Each could have been done by one of sixty others: all ways of that are more than can be
    // tried.
    server.evidence.order.containers[0].held.swap(0, 1);
    server.is_violated("not in the order");
}

#[test]
fn an_event_may_belong_to_either_of_two_changes_with_one_result() {
    let mut server = Server::new();
    // Item and divider change places, whichever of the two is shifted.
    server.tells(0, TopicChange::Add(101, 1)).tells(0, TopicChange::Shift(0, 1)).tells(0, TopicChange::Order(101, 0));
    server.ends(&[]).is_verified();
    let shifted = server.events.len() - 1;
    server.events[shifted] = "topic.item.update id-1".into();
    server.is_violated("id-1");
}

/// Covers a reply that shows another caller's unacknowledged change.
#[test]
fn a_reply_that_speaks_of_a_revision_that_a_lost_call_made_is_believed() {
    let mut server = busy();
    let after = server.containers[0].1;
    server.does(0, TopicChange::Shift(4, 0));
    let revision = Some(server.does(0, TopicChange::Shift(4, -1)));
    let place = server.containers[0].0.members().len() as u32 - 1;
    let (change, count) = (TopicChange::Shift(4, 0), UNREPORTED);
    server.evidence.order.acked.push(AcknowledgedChange { change, container: 0, revision, after, place, count });
    server.evidence.order.doubts.push(DoubtfulCall { after, ..DoubtfulCall::of(0, TopicChange::Shift(4, -1)) });
    server.ends(&SAID).is_verified();
    server.evidence.order.doubts.clear();
    server.is_violated("topic 0");
}

#[test]
fn doubtful_moves_take_their_item_from_anywhere_and_are_atomic() {
    let doubt = |server: &mut Server, position: i32| {
        let there = Some((1, TopicChange::Arrive(4, position)));
        server.evidence.order.doubts.push(DoubtfulCall {
            here: (None, TopicChange::Leave(4)),
            there,
            after: 0,
            until: u64::MAX,
        });
    };
    let mut undone = busy();
    doubt(&mut undone, 0);
    undone.ends(&SAID).is_verified();
    let mut whole = busy();
    doubt(&mut whole, 0);
    whole.does(0, TopicChange::Leave(4));
    whole.does(1, TopicChange::Arrive(4, 0));
    whole.ends(&SAID).is_verified();
    let mut torn = busy();
    doubt(&mut torn, 0);
    torn.does(0, TopicChange::Leave(4));
    torn.ends(&SAID).is_violated("torn");
    // It was there already: it is put to another place, and leaves nothing.
    let mut within = busy();
    within.moves(0, 1, 4, 0);
    doubt(&mut within, -1);
    within.does(1, TopicChange::Arrive(4, -1));
    within.ends(&SAID).is_verified();
}

#[test]
fn without_revisions_membership_and_what_items_say_are_verified() {
    let mut server = busy();
    let verdict = server.ends(&SAID).judged(Some("its replies carry no revision"));
    assert!(verdict.finding == VerificationFinding::Verified && verdict.method.contains("no revision"), "{verdict:?}");
    server.evidence.held.pop();
    assert_eq!(server.judged(Some("its replies carry no revision")).finding, VerificationFinding::Violated);
}
