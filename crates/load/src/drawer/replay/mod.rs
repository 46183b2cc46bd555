//! The strict verification: everything acknowledged, carried out again on paper in the order of the revisions, must lead to what
//! the server holds, and pass through what was read.
//!
//! A drawer goes up by one revision with each change. Of the replies that speak of one revision, one made it and the others found
//! it and had nothing to do. A revision that no reply reported must be the work of a call whose outcome is in doubt; if several
//! calls could have made it, each is tried, and taken back if it does not lead to the end. Of a move that is in doubt both halves
//! must have happened or neither.

use super::evidence::{Evidence, ItemAck, Seen, Span, UNREPORTED};
use super::model::{Change, Model};
use super::words::{difference, name};

/// Steps back that are tried before it gives up.
const TRIES: usize = 100_000;
/// Calls in doubt beyond which nothing could be proved.
const MOST_DOUBTS: usize = 2000;

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replay {
    /// One order explains everything; so many revisions in it.
    Explained {
        /// Revisions in all drawers.
        revisions: u64,
        /// Of these, how many only calls in doubt explain.
        doubtful: u64,
    },
    /// None does; why the one that came furthest ended.
    Contradicted(String),
    /// Too much is in doubt.
    TooMany(String),
}

/// Why an attempt ended.
enum Stuck {
    Contradicted,
    GaveUp,
}

struct Search<'e> {
    evidence: &'e Evidence,
    /// By drawer, in the order of the revisions.
    acked: Vec<Vec<(u64, ItemAck)>>,
    seen: Vec<Vec<Seen>>,
    /// By doubt: whether its halves are taken as done.
    used: Vec<(bool, bool)>,
    /// By drawer: the objects that it ever held.
    ever: Vec<Vec<bool>>,
    /// What was set there, in order, to be taken back with a step that led nowhere.
    trail: Vec<(usize, usize)>,
    tries: usize,
    /// The furthest anything came, and what ended it there.
    furthest: ((usize, u64), String),
}

/// Bytes of stack for the deepest search: two calls for each half of a call in doubt.
const STACK: usize = 256 << 20;

/// Looks for an order that explains everything.
pub fn replay(evidence: &Evidence, objects: u32) -> Replay {
    std::thread::scope(|scope| {
        let searching = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || search(evidence, objects));
        let found = searching.map(std::thread::ScopedJoinHandle::join);
        match found {
            Ok(Ok(found)) => found,
            _ => Replay::TooMany("the search could not be made".to_owned()),
        }
    })
}

fn search(evidence: &Evidence, objects: u32) -> Replay {
    if evidence.doubts.len() > MOST_DOUBTS {
        return Replay::TooMany(format!("{} calls are in doubt", evidence.doubts.len()));
    }
    let drawers = evidence.drawers.len();
    let (mut acked, mut seen) = (vec![Vec::new(); drawers], vec![Vec::new(); drawers]);
    for one in &evidence.acked {
        let Some(revision) = one.revision else {
            return Replay::TooMany("an answer told no revision".to_owned());
        };
        acked[usize::from(one.drawer)].push((revision, *one));
    }
    evidence.seen.iter().for_each(|one| seen[usize::from(one.drawer)].push(*one));
    for acked in &mut acked {
        acked.sort_unstable_by_key(|(revision, one)| (*revision, one.change));
    }
    for seen in &mut seen {
        seen.sort_unstable_by_key(|one| one.revision);
    }
    let used = vec![(false, false); evidence.doubts.len()];
    let ever = vec![vec![false; objects as usize]; drawers];
    let furthest = ((0, 0), "nothing was tried".to_owned());
    let mut search = Search { evidence, acked, seen, used, ever, trail: Vec::new(), tries: 0, furthest };
    match search.drawer(0) {
        Ok(()) => Replay::Explained {
            revisions: evidence.drawers.iter().filter_map(|span| span.revisions).map(|(from, to)| to - from).sum(),
            doubtful: search.used.iter().map(|(here, there)| u64::from(*here) + u64::from(*there)).sum(),
        },
        Err(Stuck::Contradicted) => Replay::Contradicted(search.furthest.1),
        Err(Stuck::GaveUp) => Replay::TooMany(format!("{} ways were tried", search.tries)),
    }
}

impl Search<'_> {
    fn stuck(&mut self, drawer: usize, revision: u64, why: impl FnOnce() -> String) -> Stuck {
        if (drawer, revision) >= self.furthest.0 {
            self.furthest = ((drawer, revision), format!("drawer {drawer}, revision {revision}: {}", why()));
        }
        Stuck::Contradicted
    }

    /// From the begin of a drawer to its end, and on with the next.
    fn drawer(&mut self, drawer: usize) -> Result<(), Stuck> {
        let evidence = self.evidence;
        let Some(span) = evidence.drawers.get(drawer) else { return self.halves() };
        let Some((first, last)) = span.revisions else { return Err(Stuck::GaveUp) };
        let acked = self.acked[drawer].iter().map(|(revision, _)| *revision);
        let seen = self.seen[drawer].iter().map(|seen| seen.revision);
        if let Some(never) = acked.chain(seen).find(|revision| !(first..=last).contains(revision)) {
            return Err(self.stuck(drawer, never, || {
                format!("an answer speaks of it, but the drawer went from revision {first} to {last}")
            }));
        }
        let model = Model::new(span.initial.clone(), span.capacity);
        for item in &span.initial {
            self.held(drawer, *item);
        }
        self.walk(drawer, span, first, model, (0, 0))
    }

    /// From one revision to the end. `at` is how far the lists of acknowledgements and reads are used up.
    fn walk(
        &mut self,
        drawer: usize,
        span: &Span,
        mut revision: u64,
        mut model: Model,
        mut at: (usize, usize),
    ) -> Result<(), Stuck> {
        let last = span.revisions.map_or(revision, |(_, last)| last);
        let mut made = None;
        loop {
            let from = at.0;
            while self.acked[drawer].get(at.0).is_some_and(|(of, _)| *of == revision) {
                at.0 += 1;
            }
            // An acknowledged call with this revision that did not make it found it.
            let maker: Option<usize> = made.take();
            for index in (from..at.0).filter(|index| maker != Some(*index)) {
                let acked = self.acked[drawer][index].1;
                if !finds(&model, &acked) {
                    return Err(self.stuck(drawer, revision, || {
                        format!("{} was acknowledged with it, and does not fit what was there", name(acked.change))
                    }));
                }
            }
            while let Some(seen) = self.seen[drawer].get(at.1)
                && seen.revision == revision
            {
                if seen.print != model.print() {
                    return Err(self.stuck(drawer, revision, || {
                        "a read showed other items, or another order, than what was acknowledged leads to".to_owned()
                    }));
                }
                at.1 += 1;
            }
            if revision == last {
                if model.items != span.held {
                    return Err(self.stuck(drawer, revision + 1, || difference(&model.items, &span.held)));
                }
                return self.drawer(drawer + 1);
            }
            revision += 1;
            // Usually one acknowledged call has this revision, and made it.
            let next = self.acked[drawer][at.0..].iter().take_while(|(of, _)| *of == revision).map(|(_, acked)| *acked);
            let next: Vec<ItemAck> = next.collect();
            let maker = next.iter().enumerate().find_map(|(index, acked)| {
                let after = makes(&model, acked)?;
                let others = next.iter().enumerate().filter(|(other, _)| *other != index);
                others.into_iter().all(|(_, other)| finds(&after, other)).then_some((index, after))
            });
            if let Some((index, after)) = maker {
                if let Some(object) = next.get(index).map(|acked| acked.change.object()) {
                    self.held(drawer, object);
                }
                made = Some(at.0 + index);
                model = after;
                continue;
            }
            return self.gap(drawer, span, revision, &model, at, &next);
        }
    }

    /// A revision that no acknowledged call has made: tries each call in doubt.
    fn gap(
        &mut self,
        drawer: usize,
        span: &Span,
        revision: u64,
        model: &Model,
        at: (usize, usize),
        next: &[ItemAck],
    ) -> Result<(), Stuck> {
        for index in 0..self.evidence.doubts.len() {
            let doubt = self.evidence.doubts[index];
            for half in [false, true] {
                let Some((of, change)) = (if half { doubt.there } else { Some(doubt.here) }) else { continue };
                let is_used = if half { self.used[index].1 } else { self.used[index].0 };
                if usize::from(of) != drawer || is_used {
                    continue;
                }
                let mut after = model.clone();
                if after.apply(change) != Some(true) || !next.iter().all(|acked| finds(&after, acked)) {
                    continue;
                }
                self.tries += 1;
                if self.tries > TRIES {
                    return Err(Stuck::GaveUp);
                }
                let trail = self.trail.len();
                self.mark(index, half, true);
                self.held(drawer, change.object());
                match self.walk(drawer, span, revision, after, at) {
                    Err(Stuck::Contradicted) => {
                        self.mark(index, half, false);
                        for (drawer, object) in self.trail.drain(trail..) {
                            self.ever[drawer][object] = false;
                        }
                    }
                    ended => return ended,
                }
            }
        }
        Err(self.stuck(drawer, revision, || match next.first() {
            Some(acked) => {
                format!("{} was acknowledged with it, which does not follow from what was there", name(acked.change))
            }
            None => "the drawer was changed, and nobody who was acknowledged did it".to_owned(),
        }))
    }

    fn held(&mut self, drawer: usize, object: u32) {
        let object = object as usize;
        // One that is none of the load's is nobody's to move.
        if let Some(ever) = self.ever[drawer].get_mut(object)
            && !std::mem::replace(ever, true)
        {
            self.trail.push((drawer, object));
        }
    }

    fn mark(&mut self, index: usize, half: bool, used: bool) {
        let (here, there) = &mut self.used[index];
        *(if half { there } else { here }) = used;
    }

    /// Of each move in doubt, both halves or neither; an object that was in the target already arrives without a change.
    fn halves(&mut self) -> Result<(), Stuck> {
        for (index, doubt) in self.evidence.doubts.iter().enumerate() {
            let Some((target, arrival)) = doubt.there else { continue };
            let was_there = self.ever[usize::from(target)][arrival.object() as usize];
            let torn = match self.used[index] {
                (true, false) => !was_there,
                (false, true) => true,
                _ => false,
            };
            if torn {
                let (source, object) = (doubt.here.0, arrival.object());
                return Err(self.stuck(self.evidence.drawers.len(), 0, || {
                    format!("the move of object {object} from drawer {source} to {target} is torn: one half is there")
                }));
            }
        }
        Ok(())
    }
}

/// Whether an acknowledgement fits a drawer in which the call had nothing to do.
fn finds(model: &Model, acked: &ItemAck) -> bool {
    let mut same = model.clone();
    same.apply(acked.change) == Some(false) && fits(model, model, acked)
}

/// The drawer after a change that changes something, and fits its acknowledgement.
fn makes(model: &Model, acked: &ItemAck) -> Option<Model> {
    let mut after = model.clone();
    (after.apply(acked.change) == Some(true) && fits(model, &after, acked)).then_some(after)
}

fn fits(before: &Model, after: &Model, acked: &ItemAck) -> bool {
    let shows = if matches!(acked.change, Change::Delete(_)) { before } else { after };
    let place = || shows.place(acked.change.object()).and_then(|place| u32::try_from(place).ok());
    (acked.count == UNREPORTED || acked.count as usize == after.items.len())
        && (acked.place == UNREPORTED || Some(acked.place) == place())
}

#[cfg(test)]
mod tests;
