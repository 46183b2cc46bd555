//! The record of a history: each client's calls and their answers with their times. Also the check
//! whether one order explains them all.

use std::cell::Cell;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::marker::PhantomData;
use std::time::Instant;

use parking_lot::Mutex;
use todc_utils::{Action, History as Actions, Specification, WGLChecker};

/// A moment: its place among all moments of the history, and the microseconds since its beginning,
/// for display only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub place: usize,
    pub micros: u128,
}

/// The specification of a thing: its state as on a whiteboard, and the effect of each call on it.
pub trait Whiteboard: Clone + Debug + Eq + Hash {
    type Op: Clone + Debug + Display + PartialEq + Send;
    type Reply: Clone + Debug + Display + PartialEq + Send;

    /// Returns the state before the first call.
    fn start() -> Self;

    /// The state after a call whose answer never came, if it was carried out.
    fn after(&self, op: &Self::Op) -> Self;

    /// The state after a call that was answered so; `None` if it can't have been.
    fn after_answer(&self, op: &Self::Op, reply: &Self::Reply) -> Option<Self>;

    /// Returns whether a call with that reply changes nothing, in any state.
    fn is_idle(op: &Self::Op, reply: &Self::Reply) -> bool;

    /// Returns whether the call names something that no reply before this one has shown.
    fn is_named_after(_op: &Self::Op, _reply: &Self::Reply) -> bool {
        false
    }

    /// Returns the explanations that a reader of a history needs.
    fn legend() -> String;
}

/// A call, and the answer unless none came: then it may have been carried out, or not, or yet may
/// be.
#[derive(Debug, Clone, PartialEq)]
pub struct Call<W: Whiteboard> {
    pub client: usize,
    pub op: W::Op,
    pub asked: Moment,
    pub answered: Option<(Moment, W::Reply)>,
}

/// The calls on one thing, in the order of their start.
pub type History<W> = Vec<Call<W>>;

/// A recorder of a history while it happens.
pub struct Recorder<W: Whiteboard> {
    begun: Instant,
    inner: Mutex<(usize, History<W>)>,
}

impl<W: Whiteboard> Recorder<W> {
    pub fn new() -> Recorder<W> {
        Recorder { begun: Instant::now(), inner: Mutex::default() }
    }

    fn moment(&self, next: &mut usize) -> Moment {
        *next += 1;
        Moment { place: *next, micros: self.begun.elapsed().as_micros() }
    }

    /// Notes the start of a call and returns its number. Must be called before the first byte of
    /// the request is sent.
    pub fn asks(&self, client: usize, op: W::Op) -> usize {
        let (next, history) = &mut *self.inner.lock();
        let asked = self.moment(next);
        history.push(Call { client, op, asked, answered: None });
        history.len() - 1
    }

    /// Notes the answer to a call. Must be called after the last byte of the reply has arrived.
    pub fn is_answered(&self, call: usize, reply: W::Reply) {
        let (next, history) = &mut *self.inner.lock();
        history[call].answered = Some((self.moment(next), reply));
    }

    /// Notes what the answer to a call shows beside as a call of its own: within the same time.
    pub fn shows(&self, call: usize, op: W::Op, reply: W::Reply) {
        let (_, history) = &mut *self.inner.lock();
        let Call { client, asked, answered, .. } = history[call].clone();
        history.push(Call { client, op, asked, answered: answered.map(|(moment, _)| (moment, reply)) });
    }

    pub fn history(self) -> History<W> {
        self.inner.into_inner().1
    }
}

/// The steps that the checker may try for one history: some seconds. Most histories take thousands.
/// Rarely, one with many calls of an unknown outcome has too many orders: trying all of them takes
/// many minutes and gigabytes.
const MOST_STEPS: u64 = 3_000_000;

thread_local! {
    static STEPS_LEFT: Cell<u64> = const { Cell::new(0) };
}

/// A whiteboard as the checker wants it.
struct Rules<W>(PhantomData<W>);

impl<W: Whiteboard> Specification for Rules<W> {
    type State = W;
    /// A call with its reply; without one every outcome will do.
    type Operation = (W::Op, Option<W::Reply>);

    fn init() -> W {
        W::start()
    }

    fn apply((op, reply): &Self::Operation, state: &W) -> (bool, W) {
        let left = STEPS_LEFT.get();
        STEPS_LEFT.set(left.saturating_sub(1));
        // Without steps left nothing is possible any more, so the search ends soon.
        if left == 0 {
            return (false, state.clone());
        }
        let after = match reply {
            Some(reply) => state.after_answer(op, reply),
            None => Some(state.after(op)),
        };
        (after.is_some(), after.unwrap_or_else(|| state.clone()))
    }
}

/// Returns whether one order of all calls explains each answer, or may explain it: a history that
/// takes more than [`MOST_STEPS`] is not refused.
pub fn is_linearizable<W: Whiteboard>(history: &[Call<W>]) -> bool {
    is_explained(history) != Some(false)
}

/// Returns whether one order of all calls explains each answer; `None` if that takes more than
/// [`MOST_STEPS`]. In the order, no call may precede one that was answered before its start.
///
/// A call without an answer may come anywhere after its start. If it was never carried out, it
/// comes last, where nobody sees it: its answer counts as given after the end.
pub fn is_explained<W: Whiteboard>(history: &[Call<W>]) -> Option<bool> {
    STEPS_LEFT.set(MOST_STEPS);
    let end = usize::MAX;
    let mut actions = Vec::new();
    for (number, call) in history.iter().enumerate() {
        let step = (call.op.clone(), call.answered.as_ref().map(|(_, reply)| reply.clone()));
        let answered = call.answered.as_ref().map_or(end, |(moment, _)| moment.place);
        // Each call is a process of its own: a client asks only when it has its answer, so that the
        // moments say all.
        actions.push((call.asked.place, (number, Action::Call(step.clone()))));
        actions.push((answered, (number, Action::Response(step))));
    }
    actions.sort_by_key(|(place, _)| *place);
    // The checker wants one action at least.
    let is_explained = actions.is_empty()
        || WGLChecker::<Rules<W>>::is_linearizable(Actions::from_actions(
            actions.into_iter().map(|(_, action)| action).collect(),
        ));
    (is_explained || STEPS_LEFT.get() > 0).then_some(is_explained)
}

/// Returns the history up to and including a moment: later answers are left out.
fn up_to<W: Whiteboard>(history: &[Call<W>], place: usize) -> History<W> {
    let mut cut: History<W> = history.iter().filter(|call| call.asked.place <= place).cloned().collect();
    for call in &mut cut {
        call.answered.take_if(|(moment, _)| moment.place > place);
    }
    cut
}

/// Returns the smallest part of a refused history that is refused for the same reason. It ends with
/// the first answer that nothing explains. Calls that changed nothing and are not needed for the
/// refusal are left out.
///
/// A call that may have changed something stays, since correct answers would be wrong without it.
pub fn shrink<W: Whiteboard>(history: &[Call<W>]) -> History<W> {
    let mut places: Vec<usize> = history.iter().filter_map(|call| Some(call.answered.as_ref()?.0.place)).collect();
    places.sort_unstable();
    let first = places.partition_point(|place| is_linearizable(&up_to(history, *place)));
    let mut least = places.get(first).map_or_else(|| history.to_vec(), |place| up_to(history, *place));
    let mut index = least.len();
    while index > 0 {
        index -= 1;
        let Call { op, answered: Some((_, reply)), .. } = &least[index] else { continue };
        let is_needed = least.iter().any(|call| W::is_named_after(&call.op, reply));
        if !is_needed && W::is_idle(op, reply) {
            let mut without = least.clone();
            without.remove(index);
            if !is_linearizable(&without) {
                least = without;
            }
        }
    }
    least
}
