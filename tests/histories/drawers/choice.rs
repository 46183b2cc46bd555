//! The choice of the clients' calls.

use std::collections::BTreeMap;

use super::spec::{Named, OBJECTS, Object, Op, Reply, Shortcut};
use crate::harness::Dice;

/// The shortcuts that a client has been shown last, by drawer and object; they may be gone.
#[derive(Default)]
pub struct Known(BTreeMap<(usize, Object), Shortcut>);

impl Known {
    /// Takes note of what a reply shows.
    pub fn learn(&mut self, op: &Op, reply: &Reply) {
        self.0.extend(reply.shown().iter().map(|item| ((op.drawer(), item.object), item.shortcut)));
    }
}

/// A call that makes sense in some state, not always in the present one.
pub fn op(dice: &mut Dice, known: &Known) -> Op {
    let (drawer, object) = (dice.roll(2), dice.roll(OBJECTS));
    let shortcut = if dice.roll(2) == 0 { known.0.get(&(drawer, object)).copied() } else { None };
    let item = Named { object, shortcut };
    match dice.roll(24) {
        0..=3 => Op::Add(drawer, object),
        4 | 5 => Op::AddAll(drawer, (0..1 + dice.roll(3)).map(|_| dice.roll(OBJECTS)).collect()),
        6..=9 => Op::Place(drawer, object, dice.roll(7) as i64 - 2),
        10..=12 => Op::Shift(drawer, item, dice.roll(5) as i64 - 1),
        13 | 14 => Op::Delete(drawer, item),
        15 => Op::Clear(drawer),
        16..=18 => Op::Move { from: drawer, item },
        _ => Op::Read(drawer),
    }
}
