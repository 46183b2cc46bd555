//! The whiteboard against the rules of `stet_actors::drawer`: the two were written apart, so that what one gets wrong the other shows.
//! And the checker against the whiteboard.

use std::sync::Arc;

use proptest::prelude::*;
use stet_actors::clock::SystemClock;
use stet_actors::command::{Command, Who};
use stet_actors::drawer::{self, Address, Drawer, Placed};
use stet_actors::error::{Code, Error};
use stet_actors::folder::root;
use stet_actors::id::{DatabaseId, Loid};
use stet_actors::lifecycle::{Create, NewObject, NewParts};
use stet_actors::object::FamilyKind;
use stet_actors::repository::Repository;
use stet_actors::runtime::{Request, RuntimeOptions};
use stet_actors::store::memory::MemoryStore;

use super::choice;
use super::record::{Call, History, Moment, Recorder, is_linearizable, shrink, told};
use super::spec::{CAPACITIES, OBJECTS, Op, Pair, Refusal, Reply};
use crate::harness::Dice;

/// A pair of real drawers, without a server and without a disk.
struct Real {
    repository: Repository,
    drawers: [Loid; 2],
    objects: Vec<Loid>,
}

fn request() -> Request {
    Request::by(Who::system())
}

impl Real {
    async fn new() -> Real {
        let store = Arc::new(MemoryStore::new());
        let options = RuntimeOptions::default();
        let repository = Repository::start(store, Arc::new(SystemClock), options).await.expect("it starts");
        repository.make_roots(&[DatabaseId::MAIN]).await.expect("there is room for a root");
        let create = async |object| {
            let create = Create { folder: root(DatabaseId::MAIN), below: Vec::new(), object };
            repository.joint(create, request()).await.expect("it can be made").loid
        };
        let mut objects = Vec::new();
        for number in 0..OBJECTS {
            objects.push(create(NewObject::document(&format!("{number}.xml"), "Story")).await);
        }
        let mut drawers = Vec::new();
        for capacity in CAPACITIES {
            let mut object = NewObject::document(&format!("drawer-{}", drawers.len()), "Drawer");
            object.family = FamilyKind::Drawer;
            object.parts = NewParts::Drawer {
                capacity: capacity as u32,
                automatic: false,
                title: "".into(),
                description: "".into(),
                items: Vec::new(),
                said: Box::default(),
            };
            drawers.push(create(object).await);
        }
        Real { repository, drawers: [drawers[0], drawers[1]], objects }
    }

    fn address(&self, object: usize) -> Address {
        Address::Object(self.objects[object])
    }

    async fn list(&self, drawer: usize) -> Vec<usize> {
        let view = self.repository.view::<Drawer>(self.drawers[drawer]).await.expect("it is there");
        view.state.visible().map(|item| self.number(item.object)).collect()
    }

    fn number(&self, object: Loid) -> usize {
        self.objects.iter().position(|known| *known == object).expect("only these were put into it")
    }

    async fn execute<C: Command<Family = Drawer>>(
        &self,
        drawer: usize,
        command: C,
        placed: impl Fn(C::Reply) -> Placed,
    ) -> Result<Reply, Error> {
        let done = self.repository.execute(self.drawers[drawer], command, request()).await?;
        let items = placed(done.reply).into_iter().map(|(at, item)| (at, self.number(item.object))).collect();
        Ok(Reply::Changed { count: done.view.state.count(), items })
    }

    async fn ask(&self, op: &Op) -> Reply {
        let outcome = match op {
            Op::Add(drawer, object) => {
                self.execute(*drawer, drawer::Add { items: vec![self.address(*object)] }, |placed| placed).await
            }
            Op::AddAll(drawer, objects) => {
                let items = objects.iter().map(|object| self.address(*object)).collect();
                self.execute(*drawer, drawer::Add { items }, |placed| placed).await
            }
            Op::Place(drawer, object, position) => {
                let place = drawer::Position { item: self.address(*object), position: *position };
                self.execute(*drawer, place, |placed| placed).await
            }
            Op::Shift(drawer, object, position) => {
                let shift = drawer::Shift { item: self.address(*object), position: *position };
                self.execute(*drawer, shift, |placed| placed).await
            }
            Op::Delete(drawer, object) => {
                let remove = drawer::Remove { items: vec![self.address(*object)], strict: true };
                self.execute(*drawer, remove, |removed| removed.items).await
            }
            Op::Clear(drawer) => self.execute(*drawer, drawer::Clear, |()| Vec::new()).await,
            Op::Move { from, object } => {
                let (from, to) = (self.drawers[*from], self.drawers[1 - from]);
                let command = drawer::Move { item: self.address(*object), from, to };
                self.repository.joint(command, request()).await.map(|_| Reply::Moved)
            }
            Op::Read(drawer) => Ok(Reply::List(self.list(*drawer).await)),
        };
        outcome.unwrap_or_else(|error| {
            Reply::Refused(match error.code {
                Code::DrawerFull => Refusal::DrawerFull,
                Code::ObjectNotFound => Refusal::ObjectNotFound,
                Code::InvalidParameter => Refusal::InvalidParameter,
                code => panic!("{op}: {code:?}"),
            })
        })
    }
}

/// A history in which one call comes after the other, answered by the whiteboard.
fn sequential(ops: &[Op]) -> History {
    let (recorder, mut state) = (Recorder::new(), Pair::default());
    for op in ops {
        let call = recorder.asks(0, op.clone());
        let (reply, after) = state.apply(op);
        recorder.is_answered(call, reply);
        state = after;
    }
    recorder.history()
}

/// Another answer than this one.
fn falsified(reply: &Reply, dice: &mut Dice) -> Reply {
    match reply {
        Reply::Changed { count, items } if items.is_empty() || dice.roll(2) == 0 => {
            Reply::Changed { count: count + 1, items: items.clone() }
        }
        Reply::Changed { count, items } => {
            let items = items.iter().map(|(at, object)| (at + 1, *object)).collect();
            Reply::Changed { count: *count, items }
        }
        Reply::Moved => Reply::Refused(Refusal::ObjectNotFound),
        Reply::List(list) if list.len() > 1 && dice.roll(2) == 0 => Reply::List(list.iter().rev().copied().collect()),
        Reply::List(list) => Reply::List(list.iter().copied().skip(1).chain([OBJECTS]).collect()),
        Reply::Refused(Refusal::ObjectNotFound) => Reply::Refused(Refusal::DrawerFull),
        Reply::Refused(_) => Reply::Refused(Refusal::ObjectNotFound),
    }
}

/// A short concurrent history: some answers are right for an order that may or may not be allowed, some never came.
fn concurrent(seed: u64) -> History {
    let mut dice = Dice::of(&[seed]);
    let mut calls: History = Vec::new();
    let mut state = Pair::default();
    let mut busy: Vec<usize> = Vec::new();
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
                2 => Op::Move { from: drawer, object },
                _ => Op::Read(drawer),
            };
            busy.push(calls.len());
            calls.push(Call { client: calls.len(), op, asked: moment(&mut place), answered: None });
        } else {
            let call = busy.remove(dice.roll(busy.len()));
            let (reply, after) = state.apply(&calls[call].op);
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
        let (right, after) = state.apply(&call.op);
        let fits = call.answered.as_ref().is_none_or(|(_, reply)| *reply == right);
        let rest: Vec<&Call> = left.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, call)| *call).collect();
        fits && is_explained(&rest, &after)
    })
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(any::<u64>().prop_map(|seed| choice::op(&mut Dice::of(&[seed]))), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_whiteboard_and_the_drawers_answer_alike(ops in ops()) {
        actix::System::new().block_on(async {
            let real = Real::new().await;
            let mut state = Pair::default();
            for (index, op) in ops.iter().enumerate() {
                let (reply, after) = state.apply(op);
                prop_assert_eq!(real.ask(op).await, reply, "call {} of {:?}", index, ops);
                state = after;
                prop_assert_eq!([real.list(0).await, real.list(1).await], state.0.clone(), "after {}", op);
            }
            real.repository.shut_down().await;
            Ok(())
        })?;
    }

    #[test]
    fn what_came_one_after_the_other_is_accepted_and_no_other_answer_is(ops in ops(), seed in any::<u64>()) {
        let history = sequential(&ops);
        prop_assert!(is_linearizable(&history));
        let mut dice = Dice::of(&[seed]);
        let (mut wrong, index) = (history.clone(), dice.roll(ops.len()));
        let (_, reply) = wrong[index].answered.as_mut().expect("all are answered");
        *reply = falsified(reply, &mut dice);
        prop_assert!(!is_linearizable(&wrong), "{}", told(&wrong));
        // What is told of it ends with the wrong answer.
        let least = shrink(&wrong);
        prop_assert!(!is_linearizable(&least));
        prop_assert_eq!(least.last(), Some(&wrong[index]));
        // A call that had no answer may have been the same, or not have been.
        wrong[index].answered = None;
        prop_assert!(is_linearizable(&wrong));
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
    let recorder = Recorder::new();
    let read = recorder.asks(0, Op::Read(0));
    recorder.is_answered(read, Reply::List(vec![1]));
    recorder.asks(1, Op::Add(0, 1));
    let history = recorder.history();
    assert!(!is_linearizable(&history), "nobody had asked for it when it was read");
    assert!(told(&shrink(&history)).contains("read A -> [1]   <- nothing explains this"));
}
