//! The observations of one client, for the verification.

use std::collections::{HashMap, HashSet};

use super::book::LastTopicRequest;
use super::fields::{ExpectedFields, FieldChange};
use super::model::{LineNumber, TopicChange, TopicModel};
use super::plan::TopicAction;
use super::wire::{
    self, DividerChangeReply, Paths, PlanChangeReply, StructureReply, TopicMoveReply, TopicReadReply, TopicReplyItem,
    hash_id,
};
use crate::client::{CallAnswer, CallTrouble};
use crate::replay::evidence::{AcknowledgedChange, ContainerRead, DoubtfulCall, UNREPORTED};
use crate::replay::{ContainerModel, print};
use crate::scenario::OperationOutcome;

/// The maximum number of faults in single replies that a client remembers.
const MOST_ODD: usize = 5;

/// The observations of one client.
#[derive(Default)]
pub struct TopicNotes {
    pub(super) acked: Vec<AcknowledgedChange<TopicChange>>,
    pub(super) seen: Vec<ContainerRead>,
    pub(super) doubts: Vec<DoubtfulCall<TopicChange>>,
    /// The expected fields of the client's own items.
    pub(super) told: HashMap<LineNumber, ExpectedFields>,
    /// Lines whose removal was acknowledged.
    pub(super) removed: HashSet<LineNumber>,
    /// Lines whose creation or removal has an unknown outcome.
    pub(super) unsure: HashSet<LineNumber>,
    /// Items whose move was refused because they did not exist.
    pub(super) denied: HashSet<LineNumber>,
    pub(super) odd: Vec<String>,
}

/// The evaluation of the reply to a change.
#[derive(Default)]
pub(super) struct TopicReplyNote {
    /// `true` if the reply has the expected shape.
    pub understood: bool,
    /// The id of the created line.
    pub made: Option<Box<str>>,
    /// The changed containers with their new revisions.
    pub revised: Vec<(u16, u64)>,
}

/// Returns the change of the requested container; `None` for a read.
pub(super) fn change(deed: TopicAction, line: LineNumber) -> Option<TopicChange> {
    Some(match deed {
        TopicAction::Item(_, _, position) | TopicAction::Divide(_, _, position) => TopicChange::Add(line, position),
        TopicAction::Edit(..) => TopicChange::Edit(line),
        TopicAction::Attach(_) => TopicChange::Attach(line),
        TopicAction::Remove(_) | TopicAction::Undivide(_) => TopicChange::Remove(line),
        TopicAction::Shift(_, position) => TopicChange::Shift(line, position),
        TopicAction::ShiftDivider(_, position) | TopicAction::Order(_, position) => TopicChange::Order(line, position),
        TopicAction::Move(_, _, position) => TopicChange::Arrive(line, position),
        TopicAction::Read(_) | TopicAction::Structure(_) | TopicAction::Plan => return None,
    })
}

/// Returns the field of the item that a call sets, if it sets one.
fn field_change_of(deed: TopicAction, asked: &LastTopicRequest) -> Option<FieldChange> {
    match deed {
        TopicAction::Edit(_, step) => Some(FieldChange::Step(step)),
        TopicAction::Attach(_) => asked.known.as_ref().and_then(|known| known.attached).map(FieldChange::Attached),
        _ => None,
    }
}

impl TopicNotes {
    fn odd(&mut self, words: impl FnOnce() -> String) {
        if self.odd.len() < MOST_ODD {
            self.odd.push(words());
        }
    }

    /// Notes the reply to a read of a topic or structure. Reports whether it has the expected
    /// shape.
    pub(super) fn read(&mut self, deed: TopicAction, container: u16, paths: &Paths, answer: &CallAnswer) -> bool {
        let marks: Option<Vec<u64>> = match deed {
            TopicAction::Read(_) => {
                let Some(whole) = wire::result::<TopicReadReply<'_>>(answer) else { return false };
                let lines = whole.lines(paths);
                if lines.is_none() {
                    self.odd(|| format!("a read of topic {container} shows positions that are not dense"));
                }
                lines.map(|lines| lines.iter().map(|read| hash_id(&read.id)).collect())
            }
            _ => wire::result::<StructureReply<'_>>(answer).map(|structure| structure.ids().map(hash_id).collect()),
        };
        let Some(marks) = marks else { return matches!(deed, TopicAction::Read(_)) };
        if let Some(revision) = answer.revision() {
            self.seen.push(ContainerRead { container, revision, print: print(marks.into_iter()) });
        }
        true
    }

    /// Notes the reply to a change.
    pub(super) fn changed(
        &mut self,
        deed: TopicAction,
        change: TopicChange,
        asked: &LastTopicRequest,
        paths: &Paths,
        answered: &Result<CallAnswer, CallTrouble>,
        outcome: &OperationOutcome,
    ) -> TopicReplyNote {
        let certain = TopicReplyNote { understood: true, ..TopicReplyNote::default() };
        let answer = match answered {
            Ok(answer) if answer.is_success() => answer,
            // A refusal precedes any change, so its outcome is certain as well.
            Ok(answer) if answer.is_refusal() => {
                if matches!(outcome, OperationOutcome::Refused(_))
                    && matches!(deed, TopicAction::Move(..))
                    && asked.known.is_some()
                {
                    self.denied.insert(asked.line);
                }
                return certain;
            }
            Err(CallTrouble::Unreachable(_)) => return certain,
            // The outcome is unknown.
            _ => {
                self.doubt(deed, change, asked, u64::MAX);
                return certain;
            }
        };
        let noted = match deed {
            TopicAction::Move(..) => self.moved(change, asked, paths, answer),
            TopicAction::Order(..) => {
                let place = wire::result::<PlanChangeReply>(answer).and_then(|reply| reply.position());
                self.acked(change, asked, answer, place)
            }
            TopicAction::Divide(..) | TopicAction::ShiftDivider(..) => wire::result::<DividerChangeReply<'_>>(answer)
                .and_then(|DividerChangeReply { info }| {
                    let noted = self.acked(change, asked, answer, info.position)?;
                    Some(TopicReplyNote { made: Some(info.id.as_ref().into()), ..noted })
                }),
            TopicAction::Remove(_) | TopicAction::Undivide(_) => {
                self.removed.insert(asked.line);
                self.acked(change, asked, answer, None)
            }
            _ => self.item(deed, change, asked, paths, answer),
        };
        noted.unwrap_or_else(|| {
            self.doubt(deed, change, asked, u64::MAX);
            TopicReplyNote::default()
        })
    }

    /// Notes a call whose outcome is unknown, or one that was made at an unknown revision up to
    /// `until`.
    fn doubt(&mut self, deed: TopicAction, change: TopicChange, asked: &LastTopicRequest, until: u64) {
        let after = asked.after;
        self.doubts.push(match deed {
            // The item leaves its topic, whichever that is.
            TopicAction::Move(..) => {
                let there = Some((asked.container, change));
                DoubtfulCall { here: (None, TopicChange::Leave(asked.line)), there, after, until }
            }
            _ => DoubtfulCall { after, until, ..DoubtfulCall::of(asked.container, change) },
        });
        if let Some(saying) = field_change_of(deed, asked) {
            self.told.entry(asked.line).or_default().say(saying, false);
        }
        if matches!(change, TopicChange::Add(..) | TopicChange::Remove(_)) {
            self.unsure.insert(asked.line);
        }
    }

    /// Notes a reply whose ETag is that of the change itself. A server without revisions sends
    /// none, which is no fault of the reply.
    fn acked(
        &mut self,
        change: TopicChange,
        asked: &LastTopicRequest,
        answer: &CallAnswer,
        place: Option<u32>,
    ) -> Option<TopicReplyNote> {
        let (container, revision) = (asked.container, answer.revision());
        let place = place.unwrap_or(UNREPORTED);
        self.acked.push(AcknowledgedChange {
            change,
            container,
            revision,
            after: asked.after,
            place,
            count: UNREPORTED,
        });
        let revised = revision.map(|revision| (container, revision)).into_iter().collect();
        Some(TopicReplyNote { understood: true, made: None, revised })
    }

    fn moved(
        &mut self,
        change: TopicChange,
        asked: &LastTopicRequest,
        paths: &Paths,
        answer: &CallAnswer,
    ) -> Option<TopicReplyNote> {
        let moved: TopicMoveReply<'_> = wire::result(answer)?;
        let place = asked.known.as_ref().and_then(|known| moved.position(&known.id));
        let mut noted = self.acked(change, asked, answer, place)?;
        for revised in moved.revisions.iter().flatten() {
            let container = paths.topic_of(&revised.id)?;
            if container == asked.container {
                if answer.revision().is_some_and(|revision| revision != revised.revision) {
                    self.odd(|| format!("the reply to a move has two revisions of topic {container}"));
                }
                continue;
            }
            let (change, revision) = (TopicChange::Leave(asked.line), Some(revised.revision));
            let (place, count) = (UNREPORTED, UNREPORTED);
            self.acked.push(AcknowledgedChange { change, container, revision, after: 0, place, count });
            noted.revised.push((container, revised.revision));
        }
        Some(noted)
    }

    /// Notes the reply to a change of an item. It shows the item's state at the time of the reply.
    fn item(
        &mut self,
        deed: TopicAction,
        change: TopicChange,
        asked: &LastTopicRequest,
        paths: &Paths,
        answer: &CallAnswer,
    ) -> Option<TopicReplyNote> {
        let shown: TopicReplyItem<'_> = wire::result(answer)?;
        let is_new = matches!(deed, TopicAction::Item(..));
        if !is_new && asked.known.as_ref().is_some_and(|known| *known.id != *shown.info.id) {
            self.odd(|| format!("the reply to {} is about {}", TopicModel::name(change), shown.info.id));
        }
        // The field is certain now, whatever topic the item is in.
        if let Some(saying) = field_change_of(deed, asked) {
            self.told.entry(asked.line).or_default().say(saying, true);
        }
        let (Some(revision), Some(position)) = (answer.revision(), shown.position) else {
            if shown.position.is_none() && !is_new {
                // The item was moved to another topic before the reply was sent.
                self.doubt_when(change, asked, u64::MAX);
                return Some(TopicReplyNote { understood: true, ..TopicReplyNote::default() });
            }
            return self.acked(change, asked, answer, shown.position).map(|noted| with_created_id(noted, &shown));
        };
        let said = shown.said(paths);
        let as_told = match field_change_of(deed, asked) {
            Some(FieldChange::Step(step)) => said.0 == step,
            Some(FieldChange::Attached(object)) => said.1 == Some(object),
            None => true,
        };
        if !as_told {
            self.odd(|| format!("the reply to a change of item {} does not show it", asked.line));
        }
        let changed = shown.info.revision.unwrap_or(revision);
        if changed == revision {
            return self.acked(change, asked, answer, Some(position)).map(|noted| with_created_id(noted, &shown));
        }
        // If the field already had the value, its last change was before the call. Otherwise other
        // clients have changed the item since.
        if changed > asked.after {
            self.doubt_when(change, asked, changed);
        }
        Some(with_created_id(TopicReplyNote { understood: true, ..TopicReplyNote::default() }, &shown))
    }

    /// Notes a change that was made, or found nothing to do, at an unknown revision.
    fn doubt_when(&mut self, change: TopicChange, asked: &LastTopicRequest, until: u64) {
        self.doubts.push(DoubtfulCall { after: asked.after, until, ..DoubtfulCall::of(asked.container, change) });
    }
}

fn with_created_id(noted: TopicReplyNote, shown: &TopicReplyItem<'_>) -> TopicReplyNote {
    TopicReplyNote { made: Some(shown.info.id.as_ref().into()), ..noted }
}

/// Turns acknowledged changes into doubts if their replies show the same item at the same revision.
/// One is the reply to the change that led to this revision; the other was sent after a later
/// change. Since it is unknown which is which, both may have been made at any revision up to this
/// one.
pub(super) fn doubt_shared(
    acked: &mut Vec<AcknowledgedChange<TopicChange>>,
    doubts: &mut Vec<DoubtfulCall<TopicChange>>,
) {
    let of_item = |ack: &AcknowledgedChange<TopicChange>| match (ack.change, ack.revision) {
        (TopicChange::Edit(line) | TopicChange::Attach(line) | TopicChange::Shift(line, _), Some(revision)) => {
            Some((ack.container, revision, line))
        }
        _ => None,
    };
    let mut times: HashMap<(u16, u64, LineNumber), usize> = HashMap::new();
    for shown in acked.iter().filter_map(of_item) {
        *times.entry(shown).or_default() += 1;
    }
    acked.retain(|ack| match of_item(ack) {
        Some(shown @ (container, until, _)) if times.get(&shown).is_some_and(|times| *times > 1) => {
            doubts.push(DoubtfulCall { after: ack.after, until, ..DoubtfulCall::of(container, ack.change) });
            false
        }
        _ => true,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_that_show_one_revision_of_an_item_are_both_in_doubt() {
        let ack =
            |change, revision| AcknowledgedChange { change, container: 1, revision, after: 3, place: 0, count: 0 };
        let (first, second) = (TopicChange::Attach(60), TopicChange::Edit(60));
        let others = [
            ack(TopicChange::Edit(60), Some(8)),
            ack(TopicChange::Edit(61), Some(9)),
            ack(TopicChange::Remove(60), Some(9)),
            ack(TopicChange::Edit(60), None),
            ack(TopicChange::Edit(60), None),
        ];
        let mut acked = others.to_vec();
        acked.extend([ack(first, Some(9)), ack(second, Some(9))]);
        let mut doubts = Vec::new();
        doubt_shared(&mut acked, &mut doubts);
        assert_eq!(acked.len(), others.len());
        let told: Vec<_> = doubts.iter().map(|doubt| (doubt.here, doubt.after, doubt.until)).collect();
        assert_eq!(told, [first, second].map(|change| (DoubtfulCall::of(1, change).here, 3, 9)));
    }
}
