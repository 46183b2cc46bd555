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

use super::model::Line;
use crate::dice::dice;

/// The kinds of operations. [`KINDS`] has their names in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
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
const ALL: [Kind; 11] = [
    Kind::Read,
    Kind::Structure,
    Kind::Plan,
    Kind::Item,
    Kind::Edit,
    Kind::Attach,
    Kind::Shift,
    Kind::Move,
    Kind::Divider,
    Kind::Remove,
    Kind::Order,
];
/// The number of newest items per client that other clients use.
const RECENT: u32 = 20;

/// An item of any client, counted back from the newest at the time of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recent {
    /// The owner. One beyond the last client means the items from before the load.
    pub client: u32,
    /// The number of newer items; 0 is the newest.
    pub back: u32,
}

/// An action with its arguments. Topics are counted from 0; a position of -1 is the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Reads a topic ([`Kind::Read`]).
    Read(u16),
    /// Reads the structure of a topic ([`Kind::Structure`]).
    Structure(u16),
    /// Reads the structure of the plan ([`Kind::Plan`]).
    Plan,
    /// Creates an item ([`Kind::Item`]).
    Item(Line, u16, i32),
    /// Sets a comment ([`Kind::Edit`]), which is the given step.
    Edit(Line, u32),
    /// Attaches the next object to an item ([`Kind::Attach`]).
    Attach(Line),
    /// Removes an item ([`Kind::Remove`]).
    Remove(Line),
    /// Moves an item within its topic ([`Kind::Shift`]).
    Shift(Recent, i32),
    /// Moves an item into a topic ([`Kind::Move`]).
    Move(Recent, u16, i32),
    /// Creates a divider.
    Divide(Line, u16, i32),
    /// Moves a divider to another position.
    ShiftDivider(Line, i32),
    /// Removes a divider.
    Undivide(Line),
    /// Moves a topic within the plan ([`Kind::Order`]).
    Order(u16, i32),
}

/// An action of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// The client that carries it out.
    pub client: u32,
    /// The action.
    pub deed: Deed,
}

impl Operation {
    /// Returns the kind of the operation.
    pub fn kind(&self) -> Kind {
        match self.deed {
            Deed::Read(_) => Kind::Read,
            Deed::Structure(_) => Kind::Structure,
            Deed::Plan => Kind::Plan,
            Deed::Item(..) => Kind::Item,
            Deed::Edit(..) => Kind::Edit,
            Deed::Attach(_) => Kind::Attach,
            Deed::Remove(_) => Kind::Remove,
            Deed::Shift(..) => Kind::Shift,
            Deed::Move(..) => Kind::Move,
            Deed::Divide(..) | Deed::ShiftDivider(..) | Deed::Undivide(_) => Kind::Divider,
            Deed::Order(..) => Kind::Order,
        }
    }
}

/// The parameters from which plans are drawn.
#[derive(Debug, Clone)]
pub struct Recipe {
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
pub struct Scene {
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

impl Recipe {
    /// Creates a recipe from weights for the kinds, which must not all be zero, and from at least
    /// one client, topic and item.
    ///
    /// # Errors
    /// One sentence, if the sum of the weights overflows.
    pub fn new(seed: u64, weights: &[u32], scene: Scene) -> Result<Recipe, String> {
        let Scene { clients, topics, skew, fill, own } = scene;
        let kinds = WeightedIndex::new(weights).map_err(|error| format!("`mix`: {error}"))?;
        // Zipf's law: the n-th topic gets 1/n^s.
        let shares = (1..=topics).map(|n| f64::from(n).powf(-skew));
        let shares = WeightedIndex::new(shares).map_err(|error| format!("`topic.skew`: {error}"))?;
        let filled = u32::from(topics) * fill;
        Ok(Recipe { seed, kinds, topics: shares, clients, count: topics, filled, fill, own: own as usize })
    }

    /// Returns the plan of one client.
    pub fn plan(&self, client: u32) -> Plan {
        let (recipe, dice) = (self.clone(), dice(self.seed, client as usize));
        Plan { recipe, dice, client, step: 0, lines: 0, own: VecDeque::new(), divider: None }
    }

    /// Reports whether a line is a divider.
    pub fn is_divider(&self, line: Line) -> bool {
        line >= self.filled && (line - self.filled) % 2 == 1
    }

    /// Returns the client that creates a line, or one beyond the last client for lines from before
    /// the load.
    pub fn maker(&self, line: Line) -> u32 {
        line.checked_sub(self.filled).map_or(self.clients, |made| made / 2 % self.clients)
    }

    /// Returns the number of the n-th line that a client creates.
    fn line(&self, client: u32, number: u32, is_divider: bool) -> Line {
        // The numbers wrap beyond four billion, which not even a week's load reaches.
        let made = number.wrapping_mul(self.clients).wrapping_add(client);
        self.filled.wrapping_add(made.wrapping_mul(2)).wrapping_add(u32::from(is_divider))
    }
}

/// The endless plan of a client.
#[derive(Debug, Clone)]
pub struct Plan {
    recipe: Recipe,
    dice: ChaCha8Rng,
    client: u32,
    /// The number of operations so far, which makes comments distinct.
    step: u32,
    /// The number of lines created so far.
    lines: u32,
    /// The client's own items, the oldest first.
    own: VecDeque<Line>,
    divider: Option<Line>,
}

impl Plan {
    fn new_line(&mut self, is_divider: bool) -> Line {
        let line = self.recipe.line(self.client, self.lines, is_divider);
        self.lines += 1;
        line
    }
}

impl Iterator for Plan {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        let Plan { recipe, dice, .. } = self;
        // Everything is drawn each time, whether it is used or not. So plans that differ in one
        // operation do not differ in the following ones.
        let kind = ALL[recipe.kinds.sample(dice)];
        let topic = recipe.topics.sample(dice) as u16;
        let ordered = dice.random_range(0..recipe.count);
        let place = i32::from(dice.random_range(0..recipe.count));
        let recent = Recent { client: dice.random_range(0..=recipe.clients), back: dice.random_range(0..RECENT) };
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
            (Kind::Read, _) => Deed::Read(topic),
            (Kind::Structure, _) => Deed::Structure(topic),
            (Kind::Plan, _) => Deed::Plan,
            (Kind::Shift, _) => Deed::Shift(recent, position),
            (Kind::Move, _) => Deed::Move(recent, topic, position),
            (Kind::Order, _) => Deed::Order(ordered, place),
            (Kind::Edit, Some(item)) => Deed::Edit(item, self.step),
            (Kind::Attach, Some(item)) => Deed::Attach(item),
            (Kind::Divider, _) => match self.divider {
                Some(divider) if coin => Deed::ShiftDivider(divider, position),
                Some(divider) => {
                    self.divider = None;
                    Deed::Undivide(divider)
                }
                None => {
                    let divider = self.new_line(true);
                    self.divider = Some(divider);
                    Deed::Divide(divider, topic, position)
                }
            },
            (Kind::Remove, Some(item)) => {
                self.own.retain(|other| *other != item);
                Deed::Remove(item)
            }
            (Kind::Item, Some(_)) if many => match self.own.pop_front() {
                Some(oldest) => Deed::Remove(oldest),
                None => Deed::Plan,
            },
            (Kind::Item, _) | (_, None) => {
                let item = self.new_line(false);
                self.own.push_back(item);
                Deed::Item(item, topic, position)
            }
        };
        Some(Operation { client: self.client, deed })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const SCENE: Scene = Scene { clients: 3, topics: 4, skew: 1.0, fill: 50, own: 5 };

    fn recipe(seed: u64) -> Recipe {
        Recipe::new(seed, &DEFAULT_MIX, SCENE).expect("the weights are right")
    }

    fn first(seed: u64, client: u32) -> Vec<Operation> {
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

    const KNOWN: [Deed; 4] =
        [Deed::Item(200, 3, 0), Deed::Divide(207, 1, 1), Deed::Item(212, 1, -1), Deed::Structure(3)];

    #[test]
    fn a_client_changes_lines_of_its_own_while_they_are_there_and_never_has_too_many() {
        let recipe = recipe(1);
        for client in 0..3 {
            let (mut items, mut dividers, mut made) = (HashSet::new(), HashSet::new(), HashSet::new());
            for operation in first(1, client) {
                match operation.deed {
                    Deed::Item(line, topic, position) => {
                        assert!(made.insert(line) && !recipe.is_divider(line) && recipe.maker(line) == client);
                        assert!(topic < 4 && (-1..50).contains(&position));
                        items.insert(line);
                    }
                    Deed::Divide(line, ..) => {
                        assert!(made.insert(line) && recipe.is_divider(line) && recipe.maker(line) == client);
                        dividers.insert(line);
                    }
                    Deed::Edit(item, _) | Deed::Attach(item) => assert!(items.contains(&item)),
                    Deed::Remove(item) => assert!(items.remove(&item)),
                    Deed::ShiftDivider(line, _) => assert!(dividers.contains(&line)),
                    Deed::Undivide(line) => assert!(dividers.remove(&line)),
                    Deed::Shift(recent, _) | Deed::Move(recent, ..) => assert!(recent.client <= 3),
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
        let share = |test: &dyn Fn(&Operation) -> bool| {
            operations.iter().filter(|operation| test(operation)).count() as f64 / MANY as f64
        };
        assert!((share(&|operation| operation.kind() == Kind::Read) - 0.25).abs() < 0.02);
        assert!((share(&|operation| operation.kind() == Kind::Move) - 0.10).abs() < 0.01);
        // 1 + 1/2 + 1/3 + 1/4 = 25/12.
        let first = share(&|operation| operation.deed == Deed::Read(0)) / 0.25;
        assert!((first - 12.0 / 25.0).abs() < 0.04, "{first}");
    }
}
