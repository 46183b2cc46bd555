//! The plans of the clients: the work of a day, drawn from each client's own random stream.
//!
//! Each changed thing belongs to one client, so its last reply determines the expected value. The
//! containers are shared. A client goes through the steps of a kind in order, whatever the outcome
//! of earlier steps.

use rand::RngExt;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand_chacha::ChaCha8Rng;

use crate::dice::dice;
use crate::liveblog::model::Status;

/// The kinds of operations, each the work of one family. [`KINDS`] has their names in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Logs in and out again.
    Login,
    /// Looks up data that clients cache: caches, channels, people.
    Lookup,
    /// Reads something that clients work on.
    Read,
    /// Sets another comment on the client's topic item.
    Plan,
    /// Writes another text of the client's story.
    Write,
    /// Links the client's story with one of its wires, or removes the link.
    Correlate,
    /// Adds one of the client's wires to the drawer, or removes it.
    Drawer,
    /// Writes another text of one of the client's posts.
    Post,
    /// Sets the state of one of the client's posts.
    Moderate,
    /// Creates a channel copy of the client's story, or destroys it.
    Copy,
    /// Sets another headline of the client's story and raises the front page's counter, in one
    /// call.
    Publish,
    /// Sends a message, or removes the last sent one.
    Message,
    /// Creates a small object, or destroys it.
    Tidy,
}

/// The names of the kinds in a mix.
pub const KINDS: &[&str] = &[
    "login",
    "lookup",
    "read",
    "plan",
    "write",
    "correlate",
    "drawer",
    "post",
    "moderate",
    "copy",
    "publish",
    "message",
    "tidy",
];
/// The weights without a mix: a newsroom reads more than it writes, and rarely logs in.
pub const DEFAULT_MIX: [u32; 13] = [1, 8, 30, 8, 10, 5, 10, 8, 6, 4, 4, 3, 3];
const ALL: [Kind; 13] = [
    Kind::Login,
    Kind::Lookup,
    Kind::Read,
    Kind::Plan,
    Kind::Write,
    Kind::Correlate,
    Kind::Drawer,
    Kind::Post,
    Kind::Moderate,
    Kind::Copy,
    Kind::Publish,
    Kind::Message,
    Kind::Tidy,
];

/// The number of wires per client: stories that it adds to the drawer and links with its own story.
pub const WIRES: u32 = 6;
/// The number of posts per client.
pub const POSTS: u32 = 3;

/// A thing that only one client changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Thing {
    /// The text of the client's story: the step that wrote it, 0 before the first.
    Text,
    /// The headline of the client's story: the step that set it, 0 before the first.
    Headline,
    /// The comment on the client's topic item: the step that set it, 0 before the first.
    Comment,
    /// The text of a post: the step that wrote it, 0 before the first.
    Post(u32),
    /// The state of a post: its index in [`Status::ALL`].
    State(u32),
    /// Whether the client's story is linked with a wire.
    Link(u32),
    /// Whether a wire is in the drawer.
    Wire(u32),
    /// Whether the client's story has a copy for a channel.
    Copy(u32),
    /// Whether a message is in the inbox.
    Message(u32),
    /// Whether a small object exists.
    Scrap(u32),
}

impl Thing {
    /// Returns the things of a client that always exist. A missing one is a difference.
    pub fn lasting() -> impl Iterator<Item = Thing> {
        let posts = (0..POSTS).flat_map(|slot| [Thing::Post(slot), Thing::State(slot)]);
        [Thing::Text, Thing::Headline, Thing::Comment].into_iter().chain(posts)
    }

    /// Reports whether the thing is created once and removed once.
    pub fn comes_once(self) -> bool {
        matches!(self, Thing::Message(_) | Thing::Scrap(_))
    }

    /// Returns the value before the first change.
    pub fn initial(self) -> u32 {
        match self {
            Thing::State(_) => Status::Approved as u32,
            _ => 0,
        }
    }
}

/// A thing and its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The client.
    pub client: u32,
    /// The client's thing.
    pub thing: Thing,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of client {}", self.thing, self.client)
    }
}

/// One operation: the `step`-th of its kind for its slot, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// The client that carries it out.
    pub client: u32,
    /// The kind of operation.
    pub kind: Kind,
    /// The wire, post or channel, or the read or lookup, that it is about.
    pub slot: u32,
    /// The step of its kind and slot, counted from 1.
    pub step: u32,
}

impl Operation {
    /// Reports whether a step creates its thing rather than removes it.
    pub fn makes(&self) -> bool {
        self.step % 2 == 1
    }

    /// Returns the number of the thing that is created and removed once, counted from 0.
    pub fn number(&self) -> u32 {
        (self.step - 1) / 2
    }

    /// Returns the state that a moderator sets.
    pub fn state(&self) -> Status {
        Status::IN_TURN[self.step as usize % Status::IN_TURN.len()]
    }

    /// Returns the thing that a success changes, and its new value; `None` if it changes nothing.
    /// The headline stands for both changes of a publication.
    pub fn effect(&self) -> Option<(Key, u32)> {
        let is_there = u32::from(self.makes());
        let (thing, value) = match self.kind {
            Kind::Login | Kind::Lookup | Kind::Read => return None,
            Kind::Plan => (Thing::Comment, self.step),
            Kind::Write => (Thing::Text, self.step),
            Kind::Correlate => (Thing::Link(self.slot), is_there),
            Kind::Drawer => (Thing::Wire(self.slot), is_there),
            Kind::Post => (Thing::Post(self.slot), self.step),
            Kind::Moderate => (Thing::State(self.slot), self.state() as u32),
            Kind::Copy => (Thing::Copy(self.slot), is_there),
            Kind::Publish => (Thing::Headline, self.step),
            Kind::Message => (Thing::Message(self.number()), is_there),
            Kind::Tidy => (Thing::Scrap(self.number()), is_there),
        };
        Some((Key { client: self.client, thing }, value))
    }

    /// Returns the code of the rule that may refuse it, and the value that the thing must then
    /// have. It is the operation's own target value: the thing to create exists, or the one to
    /// remove does not.
    pub fn refused_by(&self) -> Option<(&'static str, Key, u32)> {
        let (key, value) = self.effect()?;
        let code = match (self.kind, self.makes()) {
            (Kind::Copy | Kind::Tidy, true) => "DuplicatedName",
            (Kind::Correlate | Kind::Drawer | Kind::Copy | Kind::Message | Kind::Tidy, false) => "ObjectNotFound",
            _ => return None,
        };
        Some((code, key, value))
    }
}

/// The parameters from which plans are drawn.
#[derive(Debug, Clone)]
pub struct Recipe {
    seed: u64,
    kinds: WeightedIndex<u32>,
}

impl Recipe {
    /// Creates a recipe from weights for the kinds, which must not all be zero.
    ///
    /// # Errors
    /// One sentence, if the sum of the weights overflows.
    pub fn new(seed: u64, weights: &[u32]) -> Result<Recipe, String> {
        let kinds = WeightedIndex::new(weights).map_err(|error| format!("`mix`: {error}"))?;
        Ok(Recipe { seed, kinds })
    }

    /// Returns the plan of one client, with a number of channels to copy to.
    pub fn plan(&self, client: u32, channels: u32) -> Plan {
        let steps = [const { Vec::new() }; ALL.len()];
        Plan { kinds: self.kinds.clone(), dice: dice(self.seed, client as usize), client, channels, steps }
    }
}

/// The endless plan of a client.
#[derive(Debug, Clone)]
pub struct Plan {
    kinds: WeightedIndex<u32>,
    dice: ChaCha8Rng,
    client: u32,
    channels: u32,
    /// The last step by kind and slot.
    steps: [Vec<u32>; ALL.len()],
}

impl Iterator for Plan {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        let kind = ALL[self.kinds.sample(&mut self.dice)];
        let slots = match kind {
            Kind::Correlate | Kind::Drawer => WIRES,
            Kind::Post | Kind::Moderate => POSTS,
            // A mix with copies requires a channel. One slot is drawn without any channel, so that
            // plans are the same everywhere.
            Kind::Copy => self.channels.max(1),
            _ => 1,
        };
        let slot = self.dice.random_range(0..slots);
        let steps = &mut self.steps[kind as usize];
        steps.resize(slots as usize, 0);
        steps[slot as usize] += 1;
        Some(Operation { client: self.client, kind, slot, step: steps[slot as usize] })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn first(seed: u64, client: u32) -> Vec<Operation> {
        Recipe::new(seed, &DEFAULT_MIX).unwrap().plan(client, 2).take(2000).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_nothing_else_does() {
        assert_eq!(first(7, 3), first(7, 3));
        assert_ne!(first(7, 3), first(8, 3));
        let others: Vec<_> = first(7, 4).into_iter().map(|operation| Operation { client: 3, ..operation }).collect();
        assert_ne!(first(7, 3), others);
    }

    #[test]
    fn every_kind_has_its_turn_and_each_slot_goes_step_by_step() {
        let mut last = HashMap::new();
        for operation in first(1, 0) {
            let step = last.entry((operation.kind, operation.slot)).or_insert(0);
            *step += 1;
            assert_eq!(operation.step, *step);
        }
        let slots = |kind| last.keys().filter(|(of, _)| *of == kind).count() as u32;
        assert!(ALL.iter().all(|kind| slots(*kind) > 0));
        assert_eq!(
            [slots(Kind::Drawer), slots(Kind::Post), slots(Kind::Copy), slots(Kind::Write)],
            [WIRES, POSTS, 2, 1]
        );
    }

    #[test]
    fn what_comes_and_goes_is_made_first_and_taken_away_next() {
        let operation = |kind, step| Operation { client: 4, kind, slot: 1, step };
        let key = |thing| Key { client: 4, thing };
        for (kind, thing) in [(Kind::Copy, Thing::Copy(1)), (Kind::Drawer, Thing::Wire(1))] {
            assert_eq!(operation(kind, 1).effect(), Some((key(thing), 1)));
            assert_eq!(operation(kind, 2).effect(), Some((key(thing), 0)));
            assert_eq!(
                operation(kind, 2).refused_by(),
                Some(("ObjectNotFound", key(thing), 0)),
                "only what is not there can't be removed"
            );
        }
        assert_eq!(operation(Kind::Copy, 1).refused_by(), Some(("DuplicatedName", key(Thing::Copy(1)), 1)));
        assert_eq!(operation(Kind::Drawer, 1).refused_by(), None, "what is in a drawer may be added again");
        assert_eq!(operation(Kind::Write, 1).refused_by(), None);
        // Each message is a new one, created and removed once.
        let messages = [1, 2, 3, 4].map(|step| operation(Kind::Message, step).effect());
        let about = |number, value| Some((key(Thing::Message(number)), value));
        assert_eq!(messages, [about(0, 1), about(0, 0), about(1, 1), about(1, 0)]);
    }
}
