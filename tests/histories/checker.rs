//! The checker of histories: it accepts and refuses as it must, and agrees with the definition of
//! linearizability.

use proptest::prelude::*;

use super::drawers::choice::{self, Known};
use super::drawers::rules::seeds;
use super::drawers::spec::{Named, OBJECTS, Op, Pair, Refusal, Reply, Shown};
use super::record::{self, Moment, Recorder, Whiteboard, is_linearizable, shrink};
use super::tell::told;
use crate::harness::Dice;

type Call = record::Call<Pair>;
type History = record::History<Pair>;

/// A history in which one call comes after the other, answered by the whiteboard.
fn sequential(seeds: &[u64]) -> History {
    let (recorder, mut state, mut known) = (Recorder::new(), Pair::default(), Known::default());
    let mut fresh = 100..;
    for seed in seeds {
        let op = choice::op(&mut Dice::of(&[*seed]), &known);
        let call = recorder.asks(0, op.clone());
        let reply = state.answer(&op, || fresh.next().expect("there are many numbers"));
        state = state.after_answer(&op, &reply).expect("it is its own answer");
        known.learn(&op, &reply);
        recorder.is_answered(call, reply);
    }
    recorder.history()
}

/// Returns a different answer.
fn falsified(reply: &Reply, dice: &mut Dice) -> Reply {
    match reply {
        Reply::Changed { count, items } if items.is_empty() || dice.roll(2) == 0 => {
            Reply::Changed { count: count + 1, items: items.clone() }
        }
        Reply::Changed { count, items } => {
            let items = items.iter().map(|item| Shown { at: item.at + 1, ..*item }).collect();
            Reply::Changed { count: *count, items }
        }
        Reply::Moved => Reply::Refused(Refusal::ObjectNotFound),
        Reply::List(items) if items.len() > 1 && dice.roll(2) == 0 => {
            Reply::List(items.iter().rev().enumerate().map(|(at, item)| Shown { at, ..*item }).collect())
        }
        Reply::List(items) => {
            let nobody = Shown { at: 0, object: OBJECTS, shortcut: 1 };
            let others = items.iter().skip(1).copied().chain([nobody]);
            Reply::List(others.enumerate().map(|(at, item)| Shown { at, ..item }).collect())
        }
        Reply::Refused(Refusal::ObjectNotFound) => Reply::Refused(Refusal::DrawerFull),
        Reply::Refused(_) => Reply::Refused(Refusal::ObjectNotFound),
    }
}

/// A short concurrent history: some answers are right for an order that may or may not be allowed,
/// some never came.
fn concurrent(seed: u64) -> History {
    let mut dice = Dice::of(&[seed]);
    let mut calls: History = Vec::new();
    let mut state = Pair::default();
    let mut busy: Vec<usize> = Vec::new();
    let mut fresh = 100..;
    let (mut place, mut started) = (0, 0);
    let moment = |place: &mut usize| {
        *place += 1;
        Moment { place: *place, micros: 0 }
    };
    while started < 6 || !busy.is_empty() {
        if started < 6 && (busy.is_empty() || dice.roll(2) == 0) {
            started += 1;
            // Few drawers and objects, so that calls meet.
            let (drawer, object) = (dice.roll(5) / 4, dice.roll(3));
            let op = match dice.roll(5) {
                0 => Op::Add(drawer, object),
                1 => Op::Place(drawer, object, 0),
                2 => Op::Move { from: drawer, item: Named { object, shortcut: None } },
                _ => Op::Read(drawer),
            };
            busy.push(calls.len());
            calls.push(Call { client: calls.len(), op, asked: moment(&mut place), answered: None });
        } else {
            let call = busy.remove(dice.roll(busy.len()));
            let reply = state.answer(&calls[call].op, || fresh.next().expect("there are many numbers"));
            let after = state.after_answer(&calls[call].op, &reply).expect("it is its own answer");
            match dice.roll(9) {
                // Never answered: carried out, or not.
                0 => state = after,
                1 => {}
                // Answered, but not carried out.
                2..=4 => calls[call].answered = Some((moment(&mut place), reply)),
                _ => {
                    state = after;
                    calls[call].answered = Some((moment(&mut place), reply));
                }
            }
        }
    }
    calls
}

/// The definition, by trying every order.
fn is_explained(left: &[&Call], state: &Pair) -> bool {
    if left.iter().all(|call| call.answered.is_none()) {
        return true;
    }
    let first = left.iter().filter_map(|call| Some(call.answered.as_ref()?.0.place)).min();
    left.iter().enumerate().any(|(index, call)| {
        if first.is_some_and(|first| first < call.asked.place) {
            return false;
        }
        let after = match &call.answered {
            Some((_, reply)) => state.after_answer(&call.op, reply),
            None => Some(state.after(&call.op)),
        };
        let rest: Vec<&Call> = left.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, call)| *call).collect();
        after.is_some_and(|after| is_explained(&rest, &after))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn sequential_histories_are_linearizable_and_falsified_ones_are_not(seeds in seeds(), seed in any::<u64>()) {
        let history = sequential(&seeds);
        prop_assert!(is_linearizable(&history));
        let mut dice = Dice::of(&[seed]);
        let (mut wrong, index) = (history.clone(), dice.roll(history.len()));
        let (_, reply) = wrong[index].answered.as_mut().expect("all are answered");
        let right = std::mem::replace(reply, falsified(reply, &mut dice));
        prop_assert!(!is_linearizable(&wrong), "{}", told(&wrong));
        // The reduced history ends with the wrong answer.
        let least = shrink(&wrong);
        prop_assert!(!is_linearizable(&least));
        prop_assert_eq!(least.last(), Some(&wrong[index]));
        // A call without an answer may have been the same, and no call can name a shortcut that it
        // would have shown.
        let named = |item: &Shown| history.iter().any(|call| call.op.shortcut() == Some(item.shortcut));
        if !right.shown().iter().any(named) {
            wrong[index].answered = None;
            prop_assert!(is_linearizable(&wrong), "{}", told(&wrong));
        }
    }
}

#[test]
fn the_checker_finds_what_trying_every_order_finds() {
    let mut found = [0, 0];
    for seed in 0..4000 {
        let history = concurrent(seed);
        let explained = is_explained(&history.iter().collect::<Vec<_>>(), &Pair::default());
        assert_eq!(is_linearizable(&history), explained, "{}", told(&history));
        found[usize::from(explained)] += 1;
    }
    // Both come often enough for the comparison to mean something.
    assert!(found.iter().all(|count| *count > 400), "{found:?}");
}

#[test]
fn a_call_without_an_answer_counts_from_its_asking_on() {
    let recorder = Recorder::<Pair>::new();
    let read = recorder.asks(0, Op::Read(0));
    recorder.is_answered(read, Reply::List(vec![Shown { at: 0, object: 1, shortcut: 7 }]));
    recorder.asks(1, Op::Add(0, 1));
    let history = recorder.history();
    assert!(!is_linearizable(&history), "nobody had asked for it when it was read");
    assert!(told(&shrink(&history)).contains("read A -> list, 1 at 0 (#7)   <- nothing explains this"));
}

/// The check of such a history took minutes and gigabytes before its steps had a bound.
#[test]
fn a_history_with_too_many_orders_is_undecided_and_refused_by_nobody() {
    let recorder = Recorder::<Pair>::new();
    for number in 0..24 {
        recorder.asks(number, Op::Place(number % 2, number % OBJECTS, (number / 2 % 3) as i64));
    }
    let read = recorder.asks(24, Op::Read(0));
    // No order shows an object twice.
    let twice = [0, 1].map(|at| Shown { at, object: 0, shortcut: 1 });
    recorder.is_answered(read, Reply::List(twice.to_vec()));
    let history = recorder.history();
    assert_eq!(record::is_explained(&history), None);
    assert!(is_linearizable(&history));
    assert_eq!(record::is_explained(&history[24..]), Some(false), "alone it is refused");
}

/// Returns a history of sequential calls on drawer A, each with the items that it shows there:
/// object and shortcut.
fn told_of_a(calls: &[(Op, &[(usize, u64)])]) -> History {
    let recorder = Recorder::new();
    for (op, items) in calls {
        let call = recorder.asks(0, op.clone());
        let shown =
            items.iter().enumerate().map(|(at, (object, shortcut))| Shown { at, object: *object, shortcut: *shortcut });
        recorder.is_answered(call, Reply::List(shown.collect()));
    }
    recorder.history()
}

#[test]
fn a_shortcut_stays_with_its_item_and_with_no_other() {
    let read = || Op::Read(0);
    // Added by calls without an answer, so that reads are the first to show the shortcuts.
    let with = |mut history: History| {
        let asked = Moment { place: 0, micros: 0 };
        let adds = [1, 2].map(|object| Call { client: 1, op: Op::Add(0, object), asked, answered: None });
        history.extend(adds);
        is_linearizable(&history)
    };
    assert!(with(told_of_a(&[(read(), &[(1, 7)]), (read(), &[(1, 7), (2, 8)])])));
    assert!(!with(told_of_a(&[(read(), &[(1, 7)]), (read(), &[(1, 9), (2, 8)])])), "it has another shortcut now");
    assert!(!with(told_of_a(&[(read(), &[(1, 7), (2, 7)])])), "two items have the same");
}
