//! A history: what each client asked and when, what it was answered and when. And the question whether one order explains it all.

use std::time::Instant;

use parking_lot::Mutex;
use todc_utils::{Action, History as Actions, Specification, WGLChecker};

use super::spec::{Op, Pair, Reply};

/// A moment: its place among all moments of the history, and microseconds since it began, which are only told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub place: usize,
    pub micros: u128,
}

/// A call, and the answer unless none came: then it may have been carried out, or not, or yet may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub client: usize,
    pub op: Op,
    pub asked: Moment,
    pub answered: Option<(Moment, Reply)>,
}

/// What happened to one pair of drawers, in the order of asking.
pub type History = Vec<Call>;

/// Takes a history down while it happens.
pub struct Recorder {
    begun: Instant,
    inner: Mutex<(usize, History)>,
}

impl Recorder {
    pub fn new() -> Recorder {
        Recorder { begun: Instant::now(), inner: Mutex::default() }
    }

    fn moment(&self, next: &mut usize) -> Moment {
        *next += 1;
        Moment { place: *next, micros: self.begun.elapsed().as_micros() }
    }

    /// To be noted before the first byte of the request is sent. Gives the call's number.
    pub fn asks(&self, client: usize, op: Op) -> usize {
        let (next, history) = &mut *self.inner.lock();
        let asked = self.moment(next);
        history.push(Call { client, op, asked, answered: None });
        history.len() - 1
    }

    /// To be noted after the last byte of the reply has come.
    pub fn is_answered(&self, call: usize, reply: Reply) {
        let (next, history) = &mut *self.inner.lock();
        history[call].answered = Some((self.moment(next), reply));
    }

    pub fn history(self) -> History {
        self.inner.into_inner().1
    }
}

/// The pair of drawers as the checker wants it.
struct Drawers;

impl Specification for Drawers {
    type State = Pair;
    /// A call with its reply; without one every outcome will do.
    type Operation = (Op, Option<Reply>);

    fn init() -> Pair {
        Pair::default()
    }

    fn apply((op, reply): &Self::Operation, state: &Pair) -> (bool, Pair) {
        let after = match reply {
            Some(reply) => state.after_answer(op, reply),
            None => Some(state.after(op)),
        };
        (after.is_some(), after.unwrap_or_else(|| state.clone()))
    }
}

/// Whether there is an order of all calls in which each is answered as it was, and none comes before one that had been answered
/// before it was asked.
///
/// A call without an answer may come anywhere behind its asking. If it was never carried out it comes last, where nobody sees it: its
/// answer is taken to come when all is over.
pub fn is_linearizable(history: &[Call]) -> bool {
    let end = usize::MAX;
    let mut actions = Vec::new();
    for (number, call) in history.iter().enumerate() {
        let step = (call.op.clone(), call.answered.as_ref().map(|(_, reply)| reply.clone()));
        let answered = call.answered.as_ref().map_or(end, |(moment, _)| moment.place);
        // Each call is a process of its own: a client asks only when it has its answer, so that the moments say all.
        actions.push((call.asked.place, (number, Action::Call(step.clone()))));
        actions.push((answered, (number, Action::Response(step))));
    }
    actions.sort_by_key(|(place, _)| *place);
    // The checker wants one action at least.
    actions.is_empty()
        || WGLChecker::<Drawers>::is_linearizable(Actions::from_actions(
            actions.into_iter().map(|(_, action)| action).collect(),
        ))
}

/// The history up to and including a moment: what was answered later is not answered yet.
fn up_to(history: &[Call], place: usize) -> History {
    let mut cut: History = history.iter().filter(|call| call.asked.place <= place).cloned().collect();
    for call in &mut cut {
        call.answered.take_if(|(moment, _)| moment.place > place);
    }
    cut
}

/// The least part of a refused history that is refused for the same reason: everything up to the first answer that nothing explains,
/// without the calls that changed nothing and are not needed for the refusal.
///
/// Leaving out a call that may have changed something would make other answers wrong that were right.
pub fn shrink(history: &[Call]) -> History {
    let mut places: Vec<usize> = history.iter().filter_map(|call| Some(call.answered.as_ref()?.0.place)).collect();
    places.sort_unstable();
    let first = places.partition_point(|place| is_linearizable(&up_to(history, *place)));
    let mut least = places.get(first).map_or_else(|| history.to_vec(), |place| up_to(history, *place));
    let mut index = least.len();
    while index > 0 {
        index -= 1;
        let Call { op, answered: Some((_, reply)), .. } = &least[index] else { continue };
        // A call that names a shortcut needs one before it that has shown it.
        let mut named = least.iter().filter_map(|call| call.op.shortcut());
        let is_needed = named.any(|named| reply.shown().iter().any(|item| item.shortcut == named));
        if !is_needed && matches!((op, reply), (Op::Read(_), _) | (_, Reply::Refused(_))) {
            let mut without = least.clone();
            without.remove(index);
            if !is_linearizable(&without) {
                least = without;
            }
        }
    }
    least
}
