//! The plans of the clients: their operations and the lines that these are about.
//!
//! A client edits, attaches to and removes only its own items, one call after the other. So their
//! final fields do not depend on other clients. It shifts and moves items of any client. A client
//! without items creates one instead of the drawn operation. One with too many removes its oldest
//! instead of creating another.

use std::collections::VecDeque;

use rand::RngExt;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand_chacha::ChaCha8Rng;

use super::model::LineNumber;
use crate::dice::dice;

/// The kinds of operations. [`KINDS`] has their names in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TopicOperationKind {
    /// Reads a topic with its items.
    Read,
    /// Reads the structure of a topic.
    Structure,
    /// Reads the structure of the plan.
    Plan,
    /// Creates an item.
    Item,
    /// Sets another comment.
    Edit,
    /// Attaches another story.
    Attach,
    /// Moves an item to another position of its topic.
    Shift,
    /// Moves an item into a topic.
    Move,
    /// Creates, shifts and removes a divider, in turn.
    Divider,
    /// Removes an item.
    Remove,
    /// Moves a topic to another position of the plan.
    Order,
}

/// The names of the kinds in a mix.
pub const KINDS: &[&str] =
    &["read", "structure", "plan", "item", "edit", "attach", "shift", "move", "divider", "remove", "order"];
/// The weights without a mix: a desk reads more often than it changes something.
pub const DEFAULT_MIX: [u32; 11] = [25, 10, 5, 10, 12, 6, 12, 10, 4, 4, 2];
const ALL: [TopicOperationKind; 11] = [
    TopicOperationKind::Read,
    TopicOperationKind::Structure,
    TopicOperationKind::Plan,
    TopicOperationKind::Item,
    TopicOperationKind::Edit,
    TopicOperationKind::Attach,
    TopicOperationKind::Shift,
    TopicOperationKind::Move,
    TopicOperationKind::Divider,
    TopicOperationKind::Remove,
    TopicOperationKind::Order,
];
/// The number of newest items per client that other clients use.
const RECENT: u32 = 20;

/// An item of any client, counted back from the newest at the time of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecentItem {
    /// The owner. One beyond the last client means the items from before the load.
    pub client: u32,
    /// The number of newer items; 0 is the newest.
    pub back: u32,
}

/// An action with its arguments. Topics are counted from 0; a position of -1 is the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicAction {
    /// Reads a topic ([`TopicOperationKind::Read`]).
    Read(u16),
    /// Reads the structure of a topic ([`TopicOperationKind::Structure`]).
    Structure(u16),
    /// Reads the structure of the plan ([`TopicOperationKind::Plan`]).
    Plan,
    /// Creates an item ([`TopicOperationKind::Item`]).
    Item(LineNumber, u16, i32),
    /// Sets a comment ([`TopicOperationKind::Edit`]), which is the given step.
    Edit(LineNumber, u32),
    /// Attaches the next object to an item ([`TopicOperationKind::Attach`]).
    Attach(LineNumber),
    /// Removes an item ([`TopicOperationKind::Remove`]).
    Remove(LineNumber),
    /// Moves an item within its topic ([`TopicOperationKind::Shift`]).
    Shift(RecentItem, i32),
    /// Moves an item into a topic ([`TopicOperationKind::Move`]).
    Move(RecentItem, u16, i32),
    /// Creates a divider.
    Divide(LineNumber, u16, i32),
    /// Moves a divider to another position.
    ShiftDivider(LineNumber, i32),
    /// Removes a divider.
    Undivide(LineNumber),
    /// Moves a topic within the plan ([`TopicOperationKind::Order`]).
    Order(u16, i32),
}

/// An action of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicOperation {
    /// The client that carries it out.
    pub client: u32,
    /// The action.
    pub deed: TopicAction,
}

impl TopicOperation {
    /// Returns the kind of the operation.
    pub fn kind(&self) -> TopicOperationKind {
        match self.deed {
            TopicAction::Read(_) => TopicOperationKind::Read,
            TopicAction::Structure(_) => TopicOperationKind::Structure,
            TopicAction::Plan => TopicOperationKind::Plan,
            TopicAction::Item(..) => TopicOperationKind::Item,
            TopicAction::Edit(..) => TopicOperationKind::Edit,
            TopicAction::Attach(_) => TopicOperationKind::Attach,
            TopicAction::Remove(_) => TopicOperationKind::Remove,
            TopicAction::Shift(..) => TopicOperationKind::Shift,
            TopicAction::Move(..) => TopicOperationKind::Move,
            TopicAction::Divide(..) | TopicAction::ShiftDivider(..) | TopicAction::Undivide(_) => {
                TopicOperationKind::Divider
            }
            TopicAction::Order(..) => TopicOperationKind::Order,
        }
    }
}

/// The parameters from which plans are drawn.
#[derive(Debug, Clone)]
pub struct TopicRecipe {
    seed: u64,
    kinds: WeightedIndex<u32>,
    topics: WeightedIndex<f64>,
    clients: u32,
    /// The number of topics.
    count: u16,
    /// The initial number of lines in all topics. New lines have higher numbers.
    filled: u32,
    /// The initial number of items in each topic.
    fill: u32,
    /// The maximum number of items of a client's own.
    own: usize,
}

/// The clients and topics for which plans are drawn.
#[derive(Debug, Clone, Copy)]
pub struct TopicScene {
    /// The number of clients.
    pub clients: u32,
    /// The number of topics.
    pub topics: u16,
    /// Zipf exponent.
    pub skew: f64,
    /// The initial number of items in each topic.
    pub fill: u32,
    /// The maximum number of items of a client's own.
    pub own: u32,
}

impl TopicRecipe {
    /// Creates a recipe from weights for the kinds, which must not all be zero, and from at least
    /// one client, topic and item.
    ///
    /// # Errors
    /// One sentence, if the sum of the weights overflows.
    pub fn new(seed: u64, weights: &[u32], scene: TopicScene) -> Result<TopicRecipe, String> {
        let TopicScene { clients, topics, skew, fill, own } = scene;
        let kinds = WeightedIndex::new(weights).map_err(|error| format!("`mix`: {error}"))?;
        // Zipf's law: the n-th topic gets 1/n^s.
        let shares = (1..=topics).map(|n| f64::from(n).powf(-skew));
        let shares = WeightedIndex::new(shares).map_err(|error| format!("`topic.skew`: {error}"))?;
        let filled = u32::from(topics) * fill;
        Ok(TopicRecipe { seed, kinds, topics: shares, clients, count: topics, filled, fill, own: own as usize })
    }

    /// Returns the plan of one client.
    pub fn plan(&self, client: u32) -> TopicLoadPlan {
        let (recipe, dice) = (self.clone(), dice(self.seed, client as usize));
        TopicLoadPlan { recipe, dice, client, step: 0, lines: 0, own: VecDeque::new(), divider: None }
    }

    /// Reports whether a line is a divider.
    pub fn is_divider(&self, line: LineNumber) -> bool {
        line >= self.filled && (line - self.filled) % 2 == 1
    }

    /// Returns the client that creates a line, or one beyond the last client for lines from before
    /// the load.
    pub fn maker(&self, line: LineNumber) -> u32 {
        line.checked_sub(self.filled).map_or(self.clients, |made| made / 2 % self.clients)
    }

    /// Returns the number of the n-th line that a client creates.
    fn line(&self, client: u32, number: u32, is_divider: bool) -> LineNumber {
        // The numbers wrap beyond four billion, which not even a week's load reaches.
        let made = number.wrapping_mul(self.clients).wrapping_add(client);
        self.filled.wrapping_add(made.wrapping_mul(2)).wrapping_add(u32::from(is_divider))
    }
}

/// The endless plan of a client.
#[derive(Debug, Clone)]
pub struct TopicLoadPlan {
    recipe: TopicRecipe,
    dice: ChaCha8Rng,
    client: u32,
    /// The number of operations so far, which makes comments distinct.
    step: u32,
    /// The number of lines created so far.
    lines: u32,
    /// The client's own items, the oldest first.
    own: VecDeque<LineNumber>,
    divider: Option<LineNumber>,
}

impl TopicLoadPlan {
    fn new_line(&mut self, is_divider: bool) -> LineNumber {
        let line = self.recipe.line(self.client, self.lines, is_divider);
        self.lines += 1;
        line
    }
}

impl Iterator for TopicLoadPlan {
    type Item = TopicOperation;

    fn next(&mut self) -> Option<TopicOperation> {
        let TopicLoadPlan { recipe, dice, .. } = self;
        // Everything is drawn each time, whether it is used or not. So plans that differ in one
        // operation do not differ in the following ones.
        let kind = ALL[recipe.kinds.sample(dice)];
        let topic = recipe.topics.sample(dice) as u16;
        let ordered = dice.random_range(0..recipe.count);
        let place = i32::from(dice.random_range(0..recipe.count));
        let recent = RecentItem { client: dice.random_range(0..=recipe.clients), back: dice.random_range(0..RECENT) };
        let (pick, coin) = (dice.random::<u32>(), dice.random::<bool>());
        // Desks mostly insert at the front, sometimes at the end, else anywhere.
        let position = match dice.random_range(0..10) {
            0..4 => 0,
            4 => -1,
            // At most 10,000.
            _ => dice.random_range(0..recipe.fill) as i32,
        };
        self.step += 1;
        let many = self.own.len() >= self.recipe.own;
        let own = (pick as usize).checked_rem(self.own.len()).and_then(|place| self.own.get(place)).copied();
        let deed = match (kind, own) {
            (TopicOperationKind::Read, _) => TopicAction::Read(topic),
            (TopicOperationKind::Structure, _) => TopicAction::Structure(topic),
            (TopicOperationKind::Plan, _) => TopicAction::Plan,
            (TopicOperationKind::Shift, _) => TopicAction::Shift(recent, position),
            (TopicOperationKind::Move, _) => TopicAction::Move(recent, topic, position),
            (TopicOperationKind::Order, _) => TopicAction::Order(ordered, place),
            (TopicOperationKind::Edit, Some(item)) => TopicAction::Edit(item, self.step),
            (TopicOperationKind::Attach, Some(item)) => TopicAction::Attach(item),
            (TopicOperationKind::Divider, _) => match self.divider {
                Some(divider) if coin => TopicAction::ShiftDivider(divider, position),
                Some(divider) => {
                    self.divider = None;
                    TopicAction::Undivide(divider)
                }
                None => {
                    let divider = self.new_line(true);
                    self.divider = Some(divider);
                    TopicAction::Divide(divider, topic, position)
                }
            },
            (TopicOperationKind::Remove, Some(item)) => {
                self.own.retain(|other| *other != item);
                TopicAction::Remove(item)
            }
            (TopicOperationKind::Item, Some(_)) if many => match self.own.pop_front() {
                Some(oldest) => TopicAction::Remove(oldest),
                None => TopicAction::Plan,
            },
            (TopicOperationKind::Item, _) | (_, None) => {
                let item = self.new_line(false);
                self.own.push_back(item);
                TopicAction::Item(item, topic, position)
            }
        };
        Some(TopicOperation { client: self.client, deed })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const SCENE: TopicScene = TopicScene { clients: 3, topics: 4, skew: 1.0, fill: 50, own: 5 };

    fn recipe(seed: u64) -> TopicRecipe {
        TopicRecipe::new(seed, &DEFAULT_MIX, SCENE).expect("the weights are right")
    }

    fn first(seed: u64, client: u32) -> Vec<TopicOperation> {
        recipe(seed).plan(client).take(2000).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_nothing_else_does() {
        assert_eq!(first(7, 1), first(7, 1));
        assert_ne!(first(7, 1), first(8, 1));
        assert_ne!(first(7, 1), first(7, 2));
        // The drawn plan stays the same from build to build, so that a load can be repeated later.
        let known: Vec<_> = first(1, 0).into_iter().map(|operation| operation.deed).take(4).collect();
        assert_eq!(known, KNOWN);
    }

    const KNOWN: [TopicAction; 4] = [
        TopicAction::Item(200, 3, 0),
        TopicAction::Divide(207, 1, 1),
        TopicAction::Item(212, 1, -1),
        TopicAction::Structure(3),
    ];

    #[test]
    fn load_clients_change_only_their_own_existing_lines_up_to_a_limit() {
        let recipe = recipe(1);
        for client in 0..3 {
            let (mut items, mut dividers, mut made) = (HashSet::new(), HashSet::new(), HashSet::new());
            for operation in first(1, client) {
                match operation.deed {
                    TopicAction::Item(line, topic, position) => {
                        assert!(made.insert(line) && !recipe.is_divider(line) && recipe.maker(line) == client);
                        assert!(topic < 4 && (-1..50).contains(&position));
                        items.insert(line);
                    }
                    TopicAction::Divide(line, ..) => {
                        assert!(made.insert(line) && recipe.is_divider(line) && recipe.maker(line) == client);
                        dividers.insert(line);
                    }
                    TopicAction::Edit(item, _) | TopicAction::Attach(item) => assert!(items.contains(&item)),
                    TopicAction::Remove(item) => assert!(items.remove(&item)),
                    TopicAction::ShiftDivider(line, _) => assert!(dividers.contains(&line)),
                    TopicAction::Undivide(line) => assert!(dividers.remove(&line)),
                    TopicAction::Shift(recent, _) | TopicAction::Move(recent, ..) => assert!(recent.client <= 3),
                    _ => {}
                }
                assert!(items.len() <= 5 && dividers.len() <= 1);
            }
            assert!(made.len() > 100);
        }
        assert_eq!([0, 199].map(|line| (recipe.maker(line), recipe.is_divider(line))), [(3, false); 2]);
    }

    #[test]
    fn skew_and_weights_are_kept_to() {
        const MANY: usize = 20_000;
        let operations: Vec<_> = recipe(1).plan(0).take(MANY).collect();
        let share = |test: &dyn Fn(&TopicOperation) -> bool| {
            operations.iter().filter(|operation| test(operation)).count() as f64 / MANY as f64
        };
        assert!((share(&|operation| operation.kind() == TopicOperationKind::Read) - 0.25).abs() < 0.02);
        assert!((share(&|operation| operation.kind() == TopicOperationKind::Move) - 0.10).abs() < 0.01);
        // 1 + 1/2 + 1/3 + 1/4 = 25/12.
        let first = share(&|operation| operation.deed == TopicAction::Read(0)) / 0.25;
        assert!((first - 12.0 / 25.0).abs() < 0.04, "{first}");
    }
}
