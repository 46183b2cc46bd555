//! The random plan of each client. Each has a separate stream of random numbers, so that timing has
//! no influence.

use rand::RngExt;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand_chacha::ChaCha8Rng;

use crate::dice::dice;

/// The kinds of operations; [`KINDS`] has their names in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum DrawerOperationKind {
    /// Reads a drawer with its items.
    Read,
    /// Adds an object at the tail.
    Add,
    /// Places an object at a position.
    Position,
    /// Moves an item to a position by its shortcut.
    Shift,
    /// Deletes an item.
    Delete,
    /// Moves an item to another drawer.
    Move,
}

/// The names of the kinds in the mix.
pub const KINDS: &[&str] = &["read", "add", "position", "shift", "delete", "move"];
/// The weights without a mix: desks read more often than they change something.
pub const DEFAULT_MIX: [u32; 6] = [40, 15, 15, 15, 5, 10];
const ALL: [DrawerOperationKind; 6] = [
    DrawerOperationKind::Read,
    DrawerOperationKind::Add,
    DrawerOperationKind::Position,
    DrawerOperationKind::Shift,
    DrawerOperationKind::Delete,
    DrawerOperationKind::Move,
];

/// One operation of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawerOperation {
    /// The kind of operation.
    pub kind: DrawerOperationKind,
    /// The drawer, counted from 0.
    pub drawer: u16,
    /// The target drawer of a move.
    pub target: u16,
    /// The object, counted from 0.
    pub object: u32,
    /// The position; -1 is the tail.
    pub position: i32,
}

/// The distributions that plans are drawn from.
#[derive(Debug, Clone)]
pub struct DrawerRecipe {
    seed: u64,
    kinds: WeightedIndex<u32>,
    drawers: WeightedIndex<f64>,
    count: u16,
    objects: u32,
    positions: i32,
}

impl DrawerRecipe {
    /// Creates a recipe from weights for the kinds, not all zero, and at least one drawer and
    /// object.
    ///
    /// # Errors
    /// A sentence if the weights are too large for a sum.
    pub fn new(
        seed: u64,
        weights: &[u32],
        drawers: u16,
        skew: f64,
        objects: u32,
        capacity: u32,
    ) -> Result<DrawerRecipe, String> {
        let kinds = WeightedIndex::new(weights).map_err(|error| format!("`mix`: {error}"))?;
        // Zipf: the n-th drawer gets 1/n^s.
        let shares = (1..=drawers).map(|n| f64::from(n).powf(-skew));
        let shares = WeightedIndex::new(shares).map_err(|error| format!("`drawer.skew`: {error}"))?;
        // A capacity is at most 10,000.
        let positions = i32::try_from(capacity).unwrap_or(i32::MAX);
        Ok(DrawerRecipe { seed, kinds, drawers: shares, count: drawers, objects, positions })
    }

    /// Returns the plan of one client.
    pub fn plan(&self, client: usize) -> DrawerPlan {
        DrawerPlan { recipe: self.clone(), dice: dice(self.seed, client) }
    }
}

/// The endless plan of a client.
#[derive(Debug, Clone)]
pub struct DrawerPlan {
    recipe: DrawerRecipe,
    dice: ChaCha8Rng,
}

impl Iterator for DrawerPlan {
    type Item = DrawerOperation;

    fn next(&mut self) -> Option<DrawerOperation> {
        let (recipe, dice) = (&self.recipe, &mut self.dice);
        let kind = ALL[recipe.kinds.sample(dice)];
        // Both are below a count of type u16.
        let drawer = recipe.drawers.sample(dice) as u16;
        let target = match recipe.count {
            0 | 1 => drawer,
            // Any other drawer, with the same skew.
            _ => loop {
                let target = recipe.drawers.sample(dice) as u16;
                if target != drawer {
                    break target;
                }
                // With a steep skew the same drawer would be drawn again and again.
                if dice.random_ratio(1, 4) {
                    break (drawer + 1) % recipe.count;
                }
            },
        };
        let object = dice.random_range(0..recipe.objects);
        // Desks put most items at the front, some at the tail, others anywhere.
        let position = match dice.random_range(0..10) {
            0..4 => 0,
            4 => -1,
            _ => dice.random_range(0..recipe.positions),
        };
        Some(DrawerOperation { kind, drawer, target, object, position })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(seed: u64) -> DrawerRecipe {
        DrawerRecipe::new(seed, &DEFAULT_MIX, 4, 1.0, 100, 50).unwrap()
    }

    fn first(seed: u64, client: usize) -> Vec<DrawerOperation> {
        recipe(seed).plan(client).take(500).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_nothing_else_does() {
        assert_eq!(first(7, 3), first(7, 3));
        assert_ne!(first(7, 3), first(8, 3));
        assert_ne!(first(7, 3), first(7, 4));
        // Random numbers stay the same from build to build: a plan can be repeated later.
        let known: Vec<_> = recipe(1).plan(0).take(3).map(|op| (op.kind, op.drawer, op.object, op.position)).collect();
        assert_eq!(known, KNOWN);
    }

    const KNOWN: [(DrawerOperationKind, u16, u32, i32); 3] = [
        (DrawerOperationKind::Add, 3, 59, 0),
        (DrawerOperationKind::Read, 0, 49, -1),
        (DrawerOperationKind::Shift, 0, 48, 28),
    ];

    #[test]
    fn skew_and_weights_are_kept_to() {
        const MANY: usize = 20_000;
        let operations: Vec<_> = recipe(1).plan(0).take(MANY).collect();
        let share = |test: &dyn Fn(&DrawerOperation) -> bool| {
            operations.iter().filter(|op| test(op)).count() as f64 / MANY as f64
        };
        assert!((share(&|op| op.kind == DrawerOperationKind::Read) - 0.40).abs() < 0.02);
        assert!((share(&|op| op.kind == DrawerOperationKind::Delete) - 0.05).abs() < 0.01);
        // 1 + 1/2 + 1/3 + 1/4 = 25/12.
        assert!((share(&|op| op.drawer == 0) - 12.0 / 25.0).abs() < 0.02);
        assert!((share(&|op| op.drawer == 3) - 3.0 / 25.0).abs() < 0.02);
        assert!(operations.iter().all(|op| op.target != op.drawer && op.target < 4 && op.object < 100));
        assert!(operations.iter().all(|op| (-1..50).contains(&op.position)));
    }

    #[test]
    fn the_steepest_skew_still_finds_another_drawer_to_move_to() {
        let steep = DrawerRecipe::new(1, &DEFAULT_MIX, 2, 10.0, 5, 1).unwrap();
        assert!(steep.plan(0).take(1000).all(|op| op.target != op.drawer));
    }
}
