//! The observations of one client, for the verification.

use std::collections::{HashMap, HashSet};

use super::book::Asked;
use super::fields::{Saying, Told};
use super::model::{Change, Line, Lines};
use super::plan::Deed;
use super::wire::{self, Divided, Item, Moved, Ordered, Paths, Structure, Whole, mark};
use crate::client::{Answer, Trouble};
use crate::replay::evidence::{Ack, Doubt, Seen, UNREPORTED};
use crate::replay::{Paper, print};
use crate::scenario::Outcome;

/// The maximum number of faults in single replies that a client remembers.
const MOST_ODD: usize = 5;

/// The observations of one client.
#[derive(Default)]
pub struct Notes {
    pub(super) acked: Vec<Ack<Change>>,
    pub(super) seen: Vec<Seen>,
    pub(super) doubts: Vec<Doubt<Change>>,
    /// The expected fields of the client's own items.
    pub(super) told: HashMap<Line, Told>,
    /// Lines whose removal was acknowledged.
    pub(super) removed: HashSet<Line>,
    /// Lines whose creation or removal has an unknown outcome.
    pub(super) unsure: HashSet<Line>,
    /// Items whose move was refused because they did not exist.
    pub(super) denied: HashSet<Line>,
    pub(super) odd: Vec<String>,
}

/// The evaluation of the reply to a change.
#[derive(Default)]
pub(super) struct Noted {
    /// Whether the reply has the expected shape.
    pub understood: bool,
    /// The id of the created line.
    pub made: Option<Box<str>>,
    /// The changed containers with their new revisions.
    pub revised: Vec<(u16, u64)>,
}

/// Returns the change of the requested container; `None` for a read.
pub(super) fn change(deed: Deed, line: Line) -> Option<Change> {
    Some(match deed {
        Deed::Item(_, _, position) | Deed::Divide(_, _, position) => Change::Add(line, position),
        Deed::Edit(..) => Change::Edit(line),
        Deed::Attach(_) => Change::Attach(line),
        Deed::Remove(_) | Deed::Undivide(_) => Change::Remove(line),
        Deed::Shift(_, position) => Change::Shift(line, position),
        Deed::ShiftDivider(_, position) | Deed::Order(_, position) => Change::Order(line, position),
        Deed::Move(_, _, position) => Change::Arrive(line, position),
        Deed::Read(_) | Deed::Structure(_) | Deed::Plan => return None,
    })
}

/// Returns the field of the item that a call sets, if it sets one.
fn saying(deed: Deed, asked: &Asked) -> Option<Saying> {
    match deed {
        Deed::Edit(_, step) => Some(Saying::Step(step)),
        Deed::Attach(_) => asked.known.as_ref().and_then(|known| known.attached).map(Saying::Attached),
        _ => None,
    }
}

impl Notes {
    fn odd(&mut self, words: impl FnOnce() -> String) {
        if self.odd.len() < MOST_ODD {
            self.odd.push(words());
        }
    }

    /// Notes the reply to a read of a topic or structure. Reports whether it has the expected
    /// shape.
    pub(super) fn read(&mut self, deed: Deed, container: u16, paths: &Paths, answer: &Answer) -> bool {
        let marks: Option<Vec<u64>> = match deed {
            Deed::Read(_) => {
                let Some(whole) = wire::result::<Whole<'_>>(answer) else { return false };
                let lines = whole.lines(paths);
                if lines.is_none() {
                    self.odd(|| format!("a read of topic {container} shows positions that are not dense"));
                }
                lines.map(|lines| lines.iter().map(|read| mark(&read.id)).collect())
            }
            _ => wire::result::<Structure<'_>>(answer).map(|structure| structure.ids().map(mark).collect()),
        };
        let Some(marks) = marks else { return matches!(deed, Deed::Read(_)) };
        if let Some(revision) = answer.revision() {
            self.seen.push(Seen { container, revision, print: print(marks.into_iter()) });
        }
        true
    }

    /// Notes the reply to a change.
    pub(super) fn changed(
        &mut self,
        deed: Deed,
        change: Change,
        asked: &Asked,
        paths: &Paths,
        answered: &Result<Answer, Trouble>,
        outcome: &Outcome,
    ) -> Noted {
        let certain = Noted { understood: true, ..Noted::default() };
        let answer = match answered {
            Ok(answer) if answer.is_success() => answer,
            // A refusal precedes any change, so its outcome is certain as well.
            Ok(answer) if answer.is_refusal() => {
                if matches!(outcome, Outcome::Refused(_)) && matches!(deed, Deed::Move(..)) && asked.known.is_some() {
                    self.denied.insert(asked.line);
                }
                return certain;
            }
            Err(Trouble::Unreachable(_)) => return certain,
            // The outcome is unknown.
            _ => {
                self.doubt(deed, change, asked, u64::MAX);
                return certain;
            }
        };
        let noted = match deed {
            Deed::Move(..) => self.moved(change, asked, paths, answer),
            Deed::Order(..) => {
                let place = wire::result::<Ordered>(answer).and_then(|reply| reply.position());
                self.acked(change, asked, answer, place)
            }
            Deed::Divide(..) | Deed::ShiftDivider(..) => {
                wire::result::<Divided<'_>>(answer).and_then(|Divided { info }| {
                    let noted = self.acked(change, asked, answer, info.position)?;
                    Some(Noted { made: Some(info.id.as_ref().into()), ..noted })
                })
            }
            Deed::Remove(_) | Deed::Undivide(_) => {
                self.removed.insert(asked.line);
                self.acked(change, asked, answer, None)
            }
            _ => self.item(deed, change, asked, paths, answer),
        };
        noted.unwrap_or_else(|| {
            self.doubt(deed, change, asked, u64::MAX);
            Noted::default()
        })
    }

    /// Notes a call whose outcome is unknown, or one that was made at an unknown revision up to
    /// `until`.
    fn doubt(&mut self, deed: Deed, change: Change, asked: &Asked, until: u64) {
        let after = asked.after;
        self.doubts.push(match deed {
            // The item leaves its topic, whichever that is.
            Deed::Move(..) => {
                let there = Some((asked.container, change));
                Doubt { here: (None, Change::Leave(asked.line)), there, after, until }
            }
            _ => Doubt { after, until, ..Doubt::of(asked.container, change) },
        });
        if let Some(saying) = saying(deed, asked) {
            self.told.entry(asked.line).or_default().say(saying, false);
        }
        if matches!(change, Change::Add(..) | Change::Remove(_)) {
            self.unsure.insert(asked.line);
        }
    }

    /// Notes a reply whose ETag is that of the change itself. A server without revisions sends
    /// none, which is no fault of the reply.
    fn acked(&mut self, change: Change, asked: &Asked, answer: &Answer, place: Option<u32>) -> Option<Noted> {
        let (container, revision) = (asked.container, answer.revision());
        let place = place.unwrap_or(UNREPORTED);
        self.acked.push(Ack { change, container, revision, after: asked.after, place, count: UNREPORTED });
        let revised = revision.map(|revision| (container, revision)).into_iter().collect();
        Some(Noted { understood: true, made: None, revised })
    }

    fn moved(&mut self, change: Change, asked: &Asked, paths: &Paths, answer: &Answer) -> Option<Noted> {
        let moved: Moved<'_> = wire::result(answer)?;
        let place = asked.known.as_ref().and_then(|known| moved.position(&known.id));
        let mut noted = self.acked(change, asked, answer, place)?;
        for revised in moved.revisions.iter().flatten() {
            let container = paths.topic_of(&revised.id)?;
            if container == asked.container {
                if answer.revision().is_some_and(|revision| revision != revised.revision) {
                    self.odd(|| format!("the reply to a move tells two revisions of topic {container}"));
                }
                continue;
            }
            let (change, revision) = (Change::Leave(asked.line), Some(revised.revision));
            let (place, count) = (UNREPORTED, UNREPORTED);
            self.acked.push(Ack { change, container, revision, after: 0, place, count });
            noted.revised.push((container, revised.revision));
        }
        Some(noted)
    }

    /// Notes the reply to a change of an item. It shows the item's state at the time of the reply.
    fn item(&mut self, deed: Deed, change: Change, asked: &Asked, paths: &Paths, answer: &Answer) -> Option<Noted> {
        let shown: Item<'_> = wire::result(answer)?;
        let is_new = matches!(deed, Deed::Item(..));
        if !is_new && asked.known.as_ref().is_some_and(|known| *known.id != *shown.info.id) {
            self.odd(|| format!("the reply to {} speaks of {}", Lines::name(change), shown.info.id));
        }
        // The field is certain now, whatever topic the item is in.
        if let Some(saying) = saying(deed, asked) {
            self.told.entry(asked.line).or_default().say(saying, true);
        }
        let (Some(revision), Some(position)) = (answer.revision(), shown.position) else {
            if shown.position.is_none() && !is_new {
                // The item was moved to another topic before the reply was sent.
                self.doubt_when(change, asked, u64::MAX);
                return Some(Noted { understood: true, ..Noted::default() });
            }
            return self.acked(change, asked, answer, shown.position).map(|noted| made(noted, &shown));
        };
        let said = shown.said(paths);
        let as_told = match saying(deed, asked) {
            Some(Saying::Step(step)) => said.0 == step,
            Some(Saying::Attached(object)) => said.1 == Some(object),
            None => true,
        };
        if !as_told {
            self.odd(|| format!("the reply to a change of item {} does not show it", asked.line));
        }
        let changed = shown.info.revision.unwrap_or(revision);
        if changed == revision {
            return self.acked(change, asked, answer, Some(position)).map(|noted| made(noted, &shown));
        }
        // If the field already had the value, its last change was before the call. Otherwise other
        // clients have changed the item since.
        if changed > asked.after {
            self.doubt_when(change, asked, changed);
        }
        Some(made(Noted { understood: true, ..Noted::default() }, &shown))
    }

    /// Notes a change that was made, or found nothing to do, at an unknown revision.
    fn doubt_when(&mut self, change: Change, asked: &Asked, until: u64) {
        self.doubts.push(Doubt { after: asked.after, until, ..Doubt::of(asked.container, change) });
    }
}

fn made(noted: Noted, shown: &Item<'_>) -> Noted {
    Noted { made: Some(shown.info.id.as_ref().into()), ..noted }
}

/// Turns acknowledged changes into doubts if their replies show the same item at the same revision.
/// One is the reply to the change that led to this revision; the other was sent after a later
/// change. Since it is unknown which is which, both may have been made at any revision up to this
/// one.
pub(super) fn doubt_shared(acked: &mut Vec<Ack<Change>>, doubts: &mut Vec<Doubt<Change>>) {
    let of_item = |ack: &Ack<Change>| match (ack.change, ack.revision) {
        (Change::Edit(line) | Change::Attach(line) | Change::Shift(line, _), Some(revision)) => {
            Some((ack.container, revision, line))
        }
        _ => None,
    };
    let mut times: HashMap<(u16, u64, Line), usize> = HashMap::new();
    for shown in acked.iter().filter_map(of_item) {
        *times.entry(shown).or_default() += 1;
    }
    acked.retain(|ack| match of_item(ack) {
        Some(shown @ (container, until, _)) if times.get(&shown).is_some_and(|times| *times > 1) => {
            doubts.push(Doubt { after: ack.after, until, ..Doubt::of(container, ack.change) });
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
        let ack = |change, revision| Ack { change, container: 1, revision, after: 3, place: 0, count: 0 };
        let (first, second) = (Change::Attach(60), Change::Edit(60));
        let others = [
            ack(Change::Edit(60), Some(8)),
            ack(Change::Edit(61), Some(9)),
            ack(Change::Remove(60), Some(9)),
            ack(Change::Edit(60), None),
            ack(Change::Edit(60), None),
        ];
        let mut acked = others.to_vec();
        acked.extend([ack(first, Some(9)), ack(second, Some(9))]);
        let mut doubts = Vec::new();
        doubt_shared(&mut acked, &mut doubts);
        assert_eq!(acked.len(), others.len());
        let told: Vec<_> = doubts.iter().map(|doubt| (doubt.here, doubt.after, doubt.until)).collect();
        assert_eq!(told, [first, second].map(|change| (Doubt::of(1, change).here, 3, 9)));
    }
}
