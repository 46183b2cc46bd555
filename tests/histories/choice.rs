//! What clients ask for.

use super::spec::{OBJECTS, Op};
use crate::harness::Dice;

/// A call that makes sense in some state, not always in the present one.
pub fn op(dice: &mut Dice) -> Op {
    let (drawer, object) = (dice.roll(2), dice.roll(OBJECTS));
    match dice.roll(24) {
        0..=3 => Op::Add(drawer, object),
        4 | 5 => Op::AddAll(drawer, (0..1 + dice.roll(3)).map(|_| dice.roll(OBJECTS)).collect()),
        6..=9 => Op::Place(drawer, object, dice.roll(7) as i64 - 2),
        10..=12 => Op::Shift(drawer, object, dice.roll(5) as i64 - 1),
        13 | 14 => Op::Delete(drawer, object),
        15 => Op::Clear(drawer),
        16..=18 => Op::Move { from: drawer, object },
        _ => Op::Read(drawer),
    }
}
