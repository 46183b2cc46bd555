//! Chance that a seed repeats.

use super::spec::{OBJECTS, Op};

/// xorshift64*: all that choices need.
pub struct Dice(u64);

impl Dice {
    /// Dice that roll the same for the same words.
    pub fn of(words: &[u64]) -> Dice {
        let seed = words.iter().fold(0x9e37_79b9_7f4a_7c15_u64, |seed, word| {
            (seed ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29)
        });
        // All zeros would stay so.
        Dice(seed | 1)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides
    }

    /// A call that makes sense in some state, not always in the present one.
    pub fn op(&mut self) -> Op {
        let (drawer, object) = (self.roll(2), self.roll(OBJECTS));
        match self.roll(24) {
            0..=3 => Op::Add(drawer, object),
            4 | 5 => Op::AddAll(drawer, (0..1 + self.roll(3)).map(|_| self.roll(OBJECTS)).collect()),
            6..=9 => Op::Place(drawer, object, self.roll(7) as i64 - 2),
            10..=12 => Op::Shift(drawer, object, self.roll(5) as i64 - 1),
            13 | 14 => Op::Delete(drawer, object),
            15 => Op::Clear(drawer),
            16..=18 => Op::Move { from: drawer, object },
            _ => Op::Read(drawer),
        }
    }
}
