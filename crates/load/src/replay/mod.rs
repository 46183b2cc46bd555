//! The strict verification. All acknowledged changes, replayed in the order of the revisions, must
//! lead to what the server holds and pass through what was read.
//!
//! Each change raises a container's revision by one. Among the replies with one revision, one made
//! it and the others found nothing to do. A revision that no reply reported must come from a call
//! in doubt. If several such calls are possible, each is tried, and undone if it does not lead to
//! the end. Both halves of a move in doubt must have happened, or neither.

use std::collections::{HashMap, HashSet};

use self::evidence::{AcknowledgedChange, ContainerRead, ContainerSpan, DoubtfulCall, ReplayEvidence};
use crate::figures::format_count;

pub mod evidence;
pub mod ledger;

/// The number of attempts after which the search gives up.
const TRIES: usize = 100_000;
/// The maximum number of calls in doubt; beyond it nothing could be proved.
pub const MOST_DOUBTS: usize = 2000;

/// A container as the replay simulates it: its members in order.
pub trait ContainerModel: Clone + Sync {
    /// A change of one container. A move is a removal from one container and an insertion into
    /// another.
    type Change: Copy + Ord + Sync;
    /// The scenario's word for a container.
    const CONTAINER: &'static str;
    /// The scenario's word for a member.
    const MEMBER: &'static str;

    /// Returns the numbers of the members in order.
    fn members(&self) -> &[u32];

    /// Applies a change. Returns whether it changed anything, or `None` if the container must
    /// refuse it, which changes nothing.
    fn apply(&mut self, change: Self::Change) -> Option<bool>;

    /// Reports whether a reply fits the container before and after the change.
    fn fits(before: &Self, after: &Self, acked: &AcknowledgedChange<Self::Change>) -> bool;

    /// Returns a fingerprint that differs for different orders of members.
    fn print(&self) -> u64;

    /// Returns the member that a change is about.
    fn member(change: Self::Change) -> u32;

    /// Describes a change in words.
    fn name(change: Self::Change) -> String;

    /// Reports whether the reply to such a change may show a later state of the container, with the
    /// revision of a later change.
    fn may_be_told_late(_change: Self::Change) -> bool {
        false
    }

    /// Reports whether a move of which only one half happened is torn. `left`: the removing half
    /// happened. `was_there`: the target contained the member before.
    fn is_torn(left: bool, was_there: bool) -> bool;
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replay<C> {
    /// One order explains all evidence.
    Explained {
        /// The number of revisions in all containers.
        revisions: u64,
        /// The number of revisions that only calls in doubt explain.
        doubtful: u64,
        /// The changes of the first container, one for each revision; `None` for a call in doubt,
        /// since another one may have made it.
        made: Vec<Option<C>>,
        /// The calls in doubt, including those whose late reply does not say at which revision they
        /// were made.
        doubts: Vec<DoubtfulCall<C>>,
    },
    /// No order explains it; the reason why the longest attempt failed.
    Contradicted(String),
    /// Too many calls are in doubt.
    TooMany(String),
}

/// The reason why an attempt ended.
enum SearchFailure {
    Contradicted,
    GaveUp,
}

/// The call that made a revision.
#[derive(Clone, Copy)]
enum RevisionMaker {
    /// One of the calls acknowledged with the revision, by index.
    Acked(usize),
    /// A call in doubt, by index, and which half of it.
    Doubt(usize, bool),
}

/// A change of the search state that can be undone.
enum SearchStep {
    /// A half of a doubt is used.
    Used(usize, bool),
    /// A container has held a member.
    Held(usize, u32),
}

struct ReplaySearch<'e, P: ContainerModel> {
    evidence: &'e ReplayEvidence<P>,
    doubts: Vec<DoubtfulCall<P::Change>>,
    /// Acknowledged changes by container, in the order of the revisions.
    acked: Vec<Vec<(u64, AcknowledgedChange<P::Change>)>>,
    seen: Vec<Vec<ContainerRead>>,
    /// Doubts without a last revision.
    open: Vec<usize>,
    /// The other doubts, by container and last revision.
    timed: Vec<Vec<usize>>,
    /// The largest range of revisions of a timed doubt, by container.
    widest: Vec<u64>,
    /// For each doubt, `true` for each of its halves that is used.
    used: Vec<(bool, bool)>,
    /// All members that a container ever held.
    ever: Vec<HashSet<u32>>,
    /// The changes of `used` and `ever`, in order, so that a failed attempt can be undone.
    trail: Vec<SearchStep>,
    made: Vec<Option<P::Change>>,
    tries: usize,
    /// The number of revisions at which the search currently tries one of several ways.
    depth: usize,
    /// The furthest position of any attempt, and why it failed there.
    furthest: ((usize, u64), String),
}

/// The maximum depth of nested alternatives, at which the search gives up.
const DEEPEST: usize = 10_000;

/// The stack size in bytes for the deepest search: two calls for each level, and two for each
/// container.
const STACK: usize = 256 << 20;

/// Searches for an order that explains all evidence.
pub fn replay<P: ContainerModel>(evidence: &ReplayEvidence<P>) -> Replay<P::Change>
where
    P::Change: Send,
{
    std::thread::scope(|scope| {
        let searching = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || search(evidence));
        let found = searching.map(std::thread::ScopedJoinHandle::join);
        match found {
            Ok(Ok(found)) => found,
            _ => Replay::TooMany("the search could not be made".to_owned()),
        }
    })
}

fn search<P: ContainerModel>(evidence: &ReplayEvidence<P>) -> Replay<P::Change> {
    let containers = evidence.containers.len();
    let (mut acked, mut seen) = (vec![Vec::new(); containers], vec![Vec::new(); containers]);
    for one in &evidence.acked {
        let Some(revision) = one.revision else {
            return Replay::TooMany("a reply had no revision".to_owned());
        };
        acked[usize::from(one.container)].push((revision, *one));
    }
    evidence.seen.iter().for_each(|one| seen[usize::from(one.container)].push(*one));
    let mut doubts = evidence.doubts.clone();
    for (acked, container) in acked.iter_mut().zip(0..) {
        acked.sort_unstable_by_key(|(revision, one)| (*revision, one.change));
        doubts.extend(extract_late_replies::<P>(container, acked, &evidence.doubts));
    }
    for seen in &mut seen {
        seen.sort_unstable_by_key(|one| one.revision);
    }
    let is_open = |index: &usize| doubts[*index].until == u64::MAX;
    let (open, by_time): (Vec<usize>, Vec<usize>) = (0..doubts.len()).partition(is_open);
    if open.len() > MOST_DOUBTS {
        return Replay::TooMany(format_count(open.len() as u64, "call is in doubt", "calls are in doubt"));
    }
    let mut timed = vec![Vec::new(); containers];
    for index in by_time {
        // A doubt with a last revision is about one known container.
        if let Some(container) = doubts[index].here.0 {
            timed[usize::from(container)].push(index);
        }
    }
    for timed in &mut timed {
        timed.sort_by_key(|index| doubts[*index].until);
    }
    let width = |index: &usize| doubts[*index].until.saturating_sub(doubts[*index].after);
    let widest = timed.iter().map(|timed| timed.iter().map(width).max().unwrap_or(0)).collect();
    let mut search = ReplaySearch {
        evidence,
        acked,
        seen,
        open,
        timed,
        widest,
        used: vec![(false, false); doubts.len()],
        doubts,
        ever: vec![HashSet::new(); containers],
        trail: Vec::new(),
        made: Vec::new(),
        tries: 0,
        depth: 0,
        furthest: ((0, 0), "nothing was tried".to_owned()),
    };
    match search.container(0) {
        Ok(()) => Replay::Explained {
            revisions: evidence.containers.iter().filter_map(|span| span.revisions).map(|(from, to)| to - from).sum(),
            doubtful: search.used.iter().map(|(here, there)| u64::from(*here) + u64::from(*there)).sum(),
            made: search.made,
            doubts: search.doubts,
        },
        Err(SearchFailure::Contradicted) => Replay::Contradicted(search.furthest.1),
        Err(SearchFailure::GaveUp) => {
            Replay::TooMany(format_count(search.tries as u64, "way was tried", "ways were tried"))
        }
    }
}

/// Removes acknowledged changes whose revision another call may have made, and returns them as
/// doubts.
fn extract_late_replies<P: ContainerModel>(
    container: u16,
    acked: &mut Vec<(u64, AcknowledgedChange<P::Change>)>,
    doubts: &[DoubtfulCall<P::Change>],
) -> Vec<DoubtfulCall<P::Change>> {
    let shared: HashSet<u64> = acked.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0).collect();
    // Member → the revision ranges in which a call at an unknown revision concerned it.
    let mut doubted: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
    for doubt in doubts {
        let there = doubt.there.map(|(of, change)| (Some(of), change, (doubt.after, doubt.until)));
        let here = if doubt.there.is_some() { (0, u64::MAX) } else { (doubt.after, doubt.until) };
        for (of, change, times) in [Some((doubt.here.0, doubt.here.1, here)), there].into_iter().flatten() {
            if of.is_none_or(|of| of == container) {
                doubted.entry(P::member(change)).or_default().push(times);
            }
        }
    }
    let mut late = Vec::new();
    loop {
        let is_late = |(revision, one): &mut (u64, AcknowledgedChange<P::Change>)| {
            let within = |(after, until): &(u64, u64)| after < revision && &*revision <= until;
            let is_doubted = || doubted.get(&P::member(one.change)).is_some_and(|times| times.iter().any(within));
            P::may_be_told_late(one.change) && (shared.contains(revision) || is_doubted())
        };
        let found: Vec<_> = acked.extract_if(.., is_late).collect();
        if found.is_empty() {
            return late;
        }
        for (revision, one) in found {
            doubted.entry(P::member(one.change)).or_default().push((one.after, revision));
            late.push(DoubtfulCall { after: one.after, until: revision, ..DoubtfulCall::of(container, one.change) });
        }
    }
}

impl<P: ContainerModel> ReplaySearch<'_, P> {
    fn stuck(&mut self, container: usize, revision: u64, why: impl FnOnce() -> String) -> SearchFailure {
        if (container, revision) >= self.furthest.0 {
            let why = format!("{} {container}, revision {revision}: {}", P::CONTAINER, why());
            self.furthest = ((container, revision), why);
        }
        SearchFailure::Contradicted
    }

    /// Replays a container from begin to end, then the next ones.
    fn container(&mut self, container: usize) -> Result<(), SearchFailure> {
        let evidence = self.evidence;
        let Some(span) = evidence.containers.get(container) else { return self.halves() };
        let Some((first, last)) = span.revisions else { return Err(SearchFailure::GaveUp) };
        let acked = self.acked[container].iter().map(|(revision, _)| *revision);
        let seen = self.seen[container].iter().map(|seen| seen.revision);
        if let Some(never) = acked.chain(seen).find(|revision| !(first..=last).contains(revision)) {
            return Err(self.stuck(container, never, || {
                format!("a reply refers to it, but the {} went from revision {first} to {last}", P::CONTAINER)
            }));
        }
        for member in span.initial.members() {
            self.held(container, *member);
        }
        self.walk(container, span, first, span.initial.clone(), (0, 0), None)
    }

    /// Replays a container from one revision to its end. `at` is how far the lists of
    /// acknowledgements and reads are consumed. `made` is the acknowledged call that made the
    /// revision.
    fn walk(
        &mut self,
        container: usize,
        span: &ContainerSpan<P>,
        mut revision: u64,
        mut paper: P,
        mut at: (usize, usize),
        mut made: Option<usize>,
    ) -> Result<(), SearchFailure> {
        let last = span.revisions.map_or(revision, |(_, last)| last);
        loop {
            self.check_revision(container, revision, &paper, &mut at, made.take())?;
            if revision == last {
                if paper.members() != span.held {
                    return Err(self.stuck(container, revision + 1, || difference::<P>(paper.members(), &span.held)));
                }
                return self.container(container + 1);
            }
            revision += 1;
            // Usually exactly one acknowledged call has this revision, and made it.
            let next =
                self.acked[container][at.0..].iter().take_while(|(of, _)| *of == revision).map(|(_, acked)| *acked);
            let next: Vec<AcknowledgedChange<P::Change>> = next.collect();
            let maker = next.iter().enumerate().find_map(|(index, acked)| {
                let after = apply_acknowledged(&paper, acked)?;
                let mut others = next.iter().enumerate().filter(|(other, _)| *other != index);
                others.all(|(_, other)| finds_nothing_to_do(&after, other)).then_some((index, after))
            });
            // Yet that call may have found the work of a call in doubt.
            let may_have_found = |after: &P| next.iter().all(|acked| after.clone().apply(acked.change) == Some(false));
            let mut ways = match &maker {
                Some((_, after)) if !may_have_found(after) => Vec::new(),
                _ => self.ways(container, revision, &paper, &next),
            };
            ways.splice(0..0, maker.map(|(index, after)| (RevisionMaker::Acked(index), after)));
            let mut ways = self.different(revision, ways);
            if ways.len() != 1 {
                return self.branch(container, span, revision, ways, at, &next);
            }
            // No other call can have made it, so there is no alternative to return to.
            if let Some((maker, after)) = ways.pop() {
                made = self.take(container, maker, at, &next);
                paper = after;
            }
        }
    }

    /// Checks all acknowledgements and reads of a revision, and moves `at` behind them.
    fn check_revision(
        &mut self,
        container: usize,
        revision: u64,
        paper: &P,
        at: &mut (usize, usize),
        maker: Option<usize>,
    ) -> Result<(), SearchFailure> {
        while let Some((_, acked)) = self.acked[container].get(at.0).filter(|(of, _)| *of == revision).copied() {
            // An acknowledged call that did not make its revision found nothing to do.
            if maker != Some(at.0) && !finds_nothing_to_do(paper, &acked) {
                return Err(self.stuck(container, revision, || {
                    format!("{} was acknowledged with it, but does not fit the state before it", P::name(acked.change))
                }));
            }
            at.0 += 1;
        }
        while let Some(seen) = self.seen[container].get(at.1)
            && seen.revision == revision
        {
            if seen.print != paper.print() {
                let why = format!(
                    "a read showed other {}s, or another order, than the acknowledged changes lead to",
                    P::MEMBER
                );
                return Err(self.stuck(container, revision, || why));
            }
            at.1 += 1;
        }
        Ok(())
    }

    /// Returns the calls in doubt that can have made a revision, each with the resulting container.
    fn ways(
        &self,
        container: usize,
        revision: u64,
        paper: &P,
        next: &[AcknowledgedChange<P::Change>],
    ) -> Vec<(RevisionMaker, P)> {
        let timed = &self.timed[container];
        let from = timed.partition_point(|index| self.doubts[*index].until < revision);
        let last = revision.saturating_add(self.widest[container]);
        // Doubts that end later also begin later.
        let begun = timed[from..].iter().take_while(|index| self.doubts[**index].until <= last);
        let mut ways = Vec::new();
        for index in begun.chain(&self.open).copied() {
            let doubt = self.doubts[index];
            for half in [false, true] {
                let of = if half { doubt.there.map(|(of, change)| (Some(of), change)) } else { Some(doubt.here) };
                let Some((of, change)) = of else { continue };
                let is_used = if half { self.used[index].1 } else { self.used[index].0 };
                // The known range of revisions is that of the target.
                let is_timed = half || doubt.there.is_none();
                if of.is_some_and(|of| usize::from(of) != container) || is_used || (is_timed && doubt.after >= revision)
                {
                    continue;
                }
                let mut after = paper.clone();
                if after.apply(change) == Some(true) && next.iter().all(|acked| finds_nothing_to_do(&after, acked)) {
                    ways.push((RevisionMaker::Doubt(index, half), after));
                }
            }
        }
        ways
    }

    /// Removes ways with equal results where that is safe. Of two such ways, the call that cannot
    /// have made a later revision is used. The other may still have made one.
    fn different(&self, revision: u64, mut ways: Vec<(RevisionMaker, P)>) -> Vec<(RevisionMaker, P)> {
        let is_last = |maker: &RevisionMaker| match maker {
            RevisionMaker::Acked(_) => true,
            RevisionMaker::Doubt(index, _) => {
                self.doubts[*index].there.is_none() && self.doubts[*index].until == revision
            }
        };
        ways.sort_by_key(|(maker, _)| !is_last(maker));
        let mut different: Vec<(RevisionMaker, P)> = Vec::with_capacity(ways.len());
        for (maker, after) in ways {
            let is_same = |(other, to): &(RevisionMaker, P)| is_last(other) && to.members() == after.members();
            if !different.iter().any(is_same) {
                different.push((maker, after));
            }
        }
        different
    }

    /// Tries each of the several ways to make a revision; there may be none.
    fn branch(
        &mut self,
        container: usize,
        span: &ContainerSpan<P>,
        revision: u64,
        ways: Vec<(RevisionMaker, P)>,
        at: (usize, usize),
        next: &[AcknowledgedChange<P::Change>],
    ) -> Result<(), SearchFailure> {
        for (maker, after) in ways {
            self.tries += 1;
            if self.tries > TRIES || self.depth == DEEPEST {
                return Err(SearchFailure::GaveUp);
            }
            let (trail, made) = (self.trail.len(), self.made.len());
            let maker = self.take(container, maker, at, next);
            self.depth += 1;
            let walked = self.walk(container, span, revision, after, at, maker);
            self.depth -= 1;
            match walked {
                Err(SearchFailure::Contradicted) => {
                    self.made.truncate(made);
                    for step in self.trail.drain(trail..) {
                        match step {
                            SearchStep::Used(index, half) => set_half_used(&mut self.used[index], half, false),
                            SearchStep::Held(container, member) => _ = self.ever[container].remove(&member),
                        }
                    }
                }
                ended => return ended,
            }
        }
        Err(self.stuck(container, revision, || match next.first() {
            Some(acked) => {
                format!(
                    "{} was acknowledged with it, which does not follow from the state before it",
                    P::name(acked.change)
                )
            }
            None => format!("the {} was changed, but by no acknowledged call", P::CONTAINER),
        }))
    }

    /// Notes that a call made a revision. Returns the index of an acknowledged call among all of
    /// them; `next` starts at `at`.
    fn take(
        &mut self,
        container: usize,
        maker: RevisionMaker,
        at: (usize, usize),
        next: &[AcknowledgedChange<P::Change>],
    ) -> Option<usize> {
        match maker {
            RevisionMaker::Acked(index) => {
                self.made(container, next.get(index)?.change, true);
                Some(at.0 + index)
            }
            RevisionMaker::Doubt(index, half) => {
                set_half_used(&mut self.used[index], half, true);
                self.trail.push(SearchStep::Used(index, half));
                let doubt = self.doubts[index];
                if let Some(change) = if half { doubt.there.map(|(_, change)| change) } else { Some(doubt.here.1) } {
                    self.made(container, change, false);
                }
                None
            }
        }
    }

    /// Notes a change; `is_sure` unless another call may have made it.
    fn made(&mut self, container: usize, change: P::Change, is_sure: bool) {
        self.held(container, P::member(change));
        if container == 0 {
            self.made.push(is_sure.then_some(change));
        }
    }

    fn held(&mut self, container: usize, member: u32) {
        if self.ever[container].insert(member) {
            self.trail.push(SearchStep::Held(container, member));
        }
    }

    /// Checks that of each move in doubt, both halves or neither happened.
    fn halves(&mut self) -> Result<(), SearchFailure> {
        for index in 0..self.doubts.len() {
            let doubt = self.doubts[index];
            let Some((target, arrival)) = doubt.there else { continue };
            let member = P::member(arrival);
            let (left, arrived) = self.used[index];
            if left != arrived && P::is_torn(left, self.ever[usize::from(target)].contains(&member)) {
                let source = doubt.here.0.map(|source| format!(" from {} {source}", P::CONTAINER)).unwrap_or_default();
                return Err(self.stuck(self.evidence.containers.len(), 0, || {
                    format!("the move of {} {member}{source} to {target} is torn: one half is there", P::MEMBER)
                }));
            }
        }
        Ok(())
    }
}

fn set_half_used(used: &mut (bool, bool), half: bool, is_used: bool) {
    *(if half { &mut used.1 } else { &mut used.0 }) = is_used;
}

/// Reports whether an acknowledgement fits a container in which the call had nothing to do.
fn finds_nothing_to_do<P: ContainerModel>(paper: &P, acked: &AcknowledgedChange<P::Change>) -> bool {
    let mut same = paper.clone();
    same.apply(acked.change) == Some(false) && P::fits(paper, paper, acked)
}

/// Returns the container after a change that has an effect and fits its acknowledgement.
fn apply_acknowledged<P: ContainerModel>(paper: &P, acked: &AcknowledgedChange<P::Change>) -> Option<P> {
    let mut after = paper.clone();
    (after.apply(acked.change) == Some(true) && P::fits(paper, &after, acked)).then_some(after)
}

/// Describes how the final members differ from the expected ones.
fn difference<P: ContainerModel>(wanted: &[u32], held: &[u32]) -> String {
    let lost: Vec<_> = wanted.iter().filter(|member| !held.contains(member)).collect();
    let new: Vec<_> = held.iter().filter(|member| !wanted.contains(member)).collect();
    let doubled = held.iter().enumerate().find(|(index, member)| held[..*index].contains(member));
    let what = P::MEMBER;
    if let Some((_, member)) = doubled {
        return format!("in the end {what} {member} is there twice");
    }
    if let Some(member) = lost.first() {
        return format!(
            "in the end {} missing, {what} {member} for one",
            format_count(lost.len() as u64, &format!("acknowledged {what} is"), &format!("acknowledged {what}s are"))
        );
    }
    if let Some(member) = new.first() {
        return format!(
            "in the end {} there that should not be, {what} {member} for one",
            format_count(new.len() as u64, &format!("{what} is"), &format!("{what}s are"))
        );
    }
    format!("in the end the {what}s are there, but not in the order that was acknowledged")
}

/// Computes a fingerprint that differs for different orders: FNV-1a over one number per member.
pub fn print(members: impl Iterator<Item = u64>) -> u64 {
    members.fold(0xcbf2_9ce4_8422_2325, |print, member| {
        let mixed = (print ^ member).wrapping_mul(0x0000_0100_0000_01b3);
        mixed ^ (mixed >> 29)
    })
}
