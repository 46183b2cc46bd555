//! The verification that works for any server, whatever its revisions mean. It checks which items
//! must be there in every order of the changes, and which in none.

use std::collections::HashSet;

use super::model::{DrawerChange, DrawerModel};
use crate::replay::evidence::{ContainerSpan, ReplayEvidence};

/// The findings: a sentence for each fault, and the number of items that must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The faults.
    pub problems: Vec<String>,
    /// The number of items that must be there according to the acknowledged changes.
    pub certain: usize,
}

/// Compares the drawers' items with the acknowledged changes, without an order.
pub fn membership(evidence: &ReplayEvidence<DrawerModel>, objects: u32) -> Membership {
    let drawers = known_facts(evidence, objects);
    let mut found = Membership { problems: Vec::new(), certain: 0 };
    for (drawer, (span, facts)) in evidence.containers.iter().zip(&drawers).enumerate() {
        found.check_drawer(drawer, span, facts);
    }
    for object in 0..objects {
        found.check_moved(object, evidence, &drawers);
    }
    found
}

/// Collects the facts of each drawer that its first items and the calls prove.
fn known_facts(evidence: &ReplayEvidence<DrawerModel>, objects: u32) -> Vec<DrawerFacts> {
    let blank = DrawerFacts { members: vec![MemberFacts::default(); objects as usize], trims: false };
    let mut drawers = vec![blank; evidence.containers.len()];
    for (facts, span) in drawers.iter_mut().zip(&evidence.containers) {
        for item in &span.initial.items {
            // A server may have added an item that is not of the load.
            if let Some(fact) = facts.members.get_mut(*item as usize) {
                fact.came = true;
            }
        }
    }
    let acked = evidence.acked.iter().map(|acked| (Some(acked.container), acked.change, true));
    let doubted = evidence
        .doubts
        .iter()
        .flat_map(|doubt| [Some(doubt.here), doubt.there.map(|(drawer, change)| (Some(drawer), change))])
        .flatten();
    for (drawer, change, sure) in acked.chain(doubted.map(|(drawer, change)| (drawer, change, false))) {
        // Every call of a drawer names it.
        let Some(drawer) = drawer.map(usize::from) else { continue };
        drawers[drawer].note(change, sure);
    }
    drawers
}

impl Membership {
    /// Compares the items of one drawer with its facts.
    fn check_drawer(&mut self, drawer: usize, span: &ContainerSpan<DrawerModel>, facts: &DrawerFacts) {
        let mut there = HashSet::new();
        for item in &span.held {
            if !there.insert(*item) {
                self.problems.push(format!("drawer {drawer}: object {item} is there twice"));
            }
            match facts.members.get(*item as usize) {
                None => self.problems.push(format!("drawer {drawer}: it has an item that the load did not create")),
                Some(fact) if !fact.is_known() => {
                    self.problems.push(format!("drawer {drawer}: it has object {item}, which no call added"));
                }
                Some(_) => {}
            }
        }
        if span.held.len() > span.initial.capacity {
            self.problems.push(format!("drawer {drawer}: holds {}, above its capacity", span.held.len()));
        }
        for (object, fact) in (0..).zip(&facts.members) {
            if fact.came && !fact.may_have_gone && !facts.trims {
                self.certain += 1;
                if !there.contains(&object) {
                    self.problems.push(format!(
                        "drawer {drawer}: object {object} was acknowledged there and never removed, but is missing"
                    ));
                }
            }
        }
    }

    /// Checks an object that was moved. Moves keep the sum: an object that arrived anywhere and was
    /// never deleted is in one of the drawers, unless it may have been pushed out.
    fn check_moved(&mut self, object: u32, evidence: &ReplayEvidence<DrawerModel>, drawers: &[DrawerFacts]) {
        let of = |test: fn(&MemberFacts) -> bool| drawers.iter().any(|facts| test(&facts.members[object as usize]));
        let moved = of(|fact| fact.may_have_gone) && !of(|fact| fact.deleted);
        let may_be_pushed = drawers.iter().any(|facts| facts.trims && facts.members[object as usize].is_known());
        if of(|fact| fact.came) && moved && !may_be_pushed {
            self.certain += 1;
            if !evidence.containers.iter().any(|span| span.held.contains(&object)) {
                self.problems.push(format!("object {object} was moved and never deleted, but is in no drawer"));
            }
        }
    }
}

/// The known facts of a drawer.
#[derive(Debug, Clone)]
struct DrawerFacts {
    /// The facts by object.
    members: Vec<MemberFacts>,
    /// `true` if a full drawer may have pushed items out.
    trims: bool,
}

impl DrawerFacts {
    /// Adds the facts that a change proves, if it is `sure`, or else makes possible.
    fn note(&mut self, change: DrawerChange, sure: bool) {
        let fact = &mut self.members[change.object() as usize];
        match change {
            DrawerChange::Add(_) | DrawerChange::Arrive(_) => fact.come(sure),
            DrawerChange::Position(..) => {
                fact.come(sure);
                // In a full drawer it pushes the last item out.
                self.trims = true;
            }
            // An item that could be shifted was there.
            DrawerChange::Shift(..) => fact.come(sure),
            DrawerChange::Delete(_) => {
                fact.may_have_gone = true;
                fact.deleted = true;
            }
            DrawerChange::Leave(_) => fact.may_have_gone = true,
        }
    }
}

/// The known facts of an object in a drawer.
#[derive(Debug, Clone, Copy, Default)]
struct MemberFacts {
    /// `true` if the object was certainly in the drawer at some time.
    came: bool,
    may_have_come: bool,
    may_have_gone: bool,
    /// `true` if the object may have left by a deletion, and not by a move.
    deleted: bool,
}

impl MemberFacts {
    fn come(&mut self, sure: bool) {
        if sure {
            self.came = true;
        } else {
            self.may_have_come = true;
        }
    }

    fn is_known(self) -> bool {
        self.came || self.may_have_come
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::evidence::{AcknowledgedChange, DoubtfulCall, UNREPORTED};

    fn acked(drawer: u16, change: DrawerChange) -> AcknowledgedChange<DrawerChange> {
        AcknowledgedChange { change, container: drawer, revision: None, after: 0, place: UNREPORTED, count: UNREPORTED }
    }

    fn evidence(held: [&[u32]; 2], acked: Vec<AcknowledgedChange<DrawerChange>>) -> ReplayEvidence<DrawerModel> {
        let span = |initial: &[u32], held: &[u32]| ContainerSpan {
            initial: DrawerModel::new(initial.to_vec(), 4),
            held: held.to_vec(),
            revisions: None,
        };
        ReplayEvidence {
            containers: vec![span(&[0, 1], held[0]), span(&[], held[1])],
            acked,
            ..ReplayEvidence::default()
        }
    }

    fn problems(held: [&[u32]; 2], changes: &[(u16, DrawerChange)]) -> Vec<String> {
        let acked = changes.iter().map(|(drawer, change)| acked(*drawer, *change)).collect();
        membership(&evidence(held, acked), 6).problems
    }

    #[test]
    fn added_and_never_removed_objects_must_be_in_the_drawer() {
        use DrawerChange::*;
        assert!(problems([&[0, 1, 2], &[]], &[(0, Add(2))]).is_empty());
        assert!(problems([&[0, 1], &[]], &[(0, Add(2))])[0].contains("object 2"), "a planted loss");
        assert!(problems([&[0, 1], &[]], &[(0, Add(2)), (0, Delete(2))]).is_empty());
        assert!(
            problems([&[0, 1], &[]], &[(0, Add(2)), (0, Position(3, 0))]).len() <= 1,
            "it may have been pushed out"
        );
    }

    #[test]
    fn nothing_is_there_twice_or_from_nowhere() {
        use DrawerChange::*;
        assert!(problems([&[0, 1, 0], &[]], &[])[0].contains("twice"), "a planted duplicate");
        assert!(problems([&[0, 1], &[5]], &[])[0].contains("which no call added"));
        assert!(problems([&[0, 1], &[9]], &[])[0].contains("that the load did not create"));
        let mut odd = evidence([&[0, 1], &[]], vec![]);
        odd.containers[1].initial = DrawerModel::new(vec![u32::MAX], 4);
        odd.containers[1].held = vec![u32::MAX];
        assert!(membership(&odd, 6).problems[0].contains("that the load did not create"));
        assert!(problems([&[0, 1, 2, 3, 4], &[]], &[(0, Add(2)), (0, Add(3)), (0, Add(4))])[0].contains("capacity"));
    }

    #[test]
    fn moves_keep_the_sum_and_what_is_in_doubt_is_allowed_either_way() {
        use DrawerChange::*;
        let there = [(0, Leave(0)), (1, Arrive(0))];
        assert!(problems([&[1], &[0]], &there).is_empty());
        let lost = problems([&[1], &[]], &there);
        assert!(lost.iter().any(|problem| problem.contains("object 0")), "{lost:?}");
        // There and back again, in an unknown order.
        let back = [there[0], there[1], (1, Leave(0)), (0, Arrive(0))];
        assert!(problems([&[1, 0], &[]], &back).is_empty() && problems([&[1], &[0]], &back).is_empty());
        assert!(problems([&[1], &[]], &back)[0].contains("in no drawer"));

        let mut doubted = evidence([&[1], &[0]], vec![]);
        doubted.doubts = vec![DoubtfulCall { there: Some((1, Arrive(0))), ..DoubtfulCall::of(0, Leave(0)) }];
        assert!(membership(&doubted, 6).problems.is_empty());
        doubted.containers[0].held = vec![0, 1];
        doubted.containers[1].held = vec![];
        assert!(membership(&doubted, 6).problems.is_empty());
    }
}
