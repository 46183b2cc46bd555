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
use crate::liveblog::model::PostState;

/// The kinds of operations, each the work of one family. [`KINDS`] has their names in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum NewsroomOperationKind {
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
const ALL: [NewsroomOperationKind; 13] = [
    NewsroomOperationKind::Login,
    NewsroomOperationKind::Lookup,
    NewsroomOperationKind::Read,
    NewsroomOperationKind::Plan,
    NewsroomOperationKind::Write,
    NewsroomOperationKind::Correlate,
    NewsroomOperationKind::Drawer,
    NewsroomOperationKind::Post,
    NewsroomOperationKind::Moderate,
    NewsroomOperationKind::Copy,
    NewsroomOperationKind::Publish,
    NewsroomOperationKind::Message,
    NewsroomOperationKind::Tidy,
];

/// The number of wires per client: stories that it adds to the drawer and links with its own story.
pub const WIRES: u32 = 6;
/// The number of posts per client.
pub const POSTS: u32 = 3;

/// A thing that only one client changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NewsroomThing {
    /// The text of the client's story: the step that wrote it, 0 before the first.
    Text,
    /// The headline of the client's story: the step that set it, 0 before the first.
    Headline,
    /// The comment on the client's topic item: the step that set it, 0 before the first.
    Comment,
    /// The text of a post: the step that wrote it, 0 before the first.
    Post(u32),
    /// The state of a post: its index in [`PostState::ALL`].
    State(u32),
    /// The link of the client's story with a wire: 1 if it exists.
    Link(u32),
    /// The presence of a wire in the drawer: 1 if it is there.
    Wire(u32),
    /// The copy of the client's story for a channel: 1 if it exists.
    Copy(u32),
    /// The presence of a message in the inbox: 1 if it is there.
    Message(u32),
    /// The existence of a small object: 1 if it exists.
    Scrap(u32),
}

impl NewsroomThing {
    /// Returns the things of a client that always exist. A missing one is a difference.
    pub fn lasting() -> impl Iterator<Item = NewsroomThing> {
        let posts = (0..POSTS).flat_map(|slot| [NewsroomThing::Post(slot), NewsroomThing::State(slot)]);
        [NewsroomThing::Text, NewsroomThing::Headline, NewsroomThing::Comment].into_iter().chain(posts)
    }

    /// Reports whether the thing is created once and removed once.
    pub fn comes_once(self) -> bool {
        matches!(self, NewsroomThing::Message(_) | NewsroomThing::Scrap(_))
    }

    /// Returns the value before the first change.
    pub fn initial(self) -> u32 {
        match self {
            NewsroomThing::State(_) => PostState::Approved as u32,
            _ => 0,
        }
    }
}

/// A thing and its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThingKey {
    /// The client.
    pub client: u32,
    /// The client's thing.
    pub thing: NewsroomThing,
}

impl std::fmt::Display for ThingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of client {}", self.thing, self.client)
    }
}

/// One operation: the `step`-th of its kind for its slot, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewsroomOperation {
    /// The client that carries it out.
    pub client: u32,
    /// The kind of operation.
    pub kind: NewsroomOperationKind,
    /// The wire, post or channel, or the read or lookup, that it is about.
    pub slot: u32,
    /// The step of its kind and slot, counted from 1.
    pub step: u32,
}

impl NewsroomOperation {
    /// Reports whether a step creates its thing rather than removes it.
    pub fn makes(&self) -> bool {
        self.step % 2 == 1
    }

    /// Returns the number of the thing that is created and removed once, counted from 0.
    pub fn number(&self) -> u32 {
        (self.step - 1) / 2
    }

    /// Returns the state that a moderator sets.
    pub fn state(&self) -> PostState {
        PostState::IN_TURN[self.step as usize % PostState::IN_TURN.len()]
    }

    /// Returns the thing that a success changes, and its new value; `None` if it changes nothing.
    /// The headline stands for both changes of a publication.
    pub fn effect(&self) -> Option<(ThingKey, u32)> {
        let is_there = u32::from(self.makes());
        let (thing, value) = match self.kind {
            NewsroomOperationKind::Login | NewsroomOperationKind::Lookup | NewsroomOperationKind::Read => return None,
            NewsroomOperationKind::Plan => (NewsroomThing::Comment, self.step),
            NewsroomOperationKind::Write => (NewsroomThing::Text, self.step),
            NewsroomOperationKind::Correlate => (NewsroomThing::Link(self.slot), is_there),
            NewsroomOperationKind::Drawer => (NewsroomThing::Wire(self.slot), is_there),
            NewsroomOperationKind::Post => (NewsroomThing::Post(self.slot), self.step),
            NewsroomOperationKind::Moderate => (NewsroomThing::State(self.slot), self.state() as u32),
            NewsroomOperationKind::Copy => (NewsroomThing::Copy(self.slot), is_there),
            NewsroomOperationKind::Publish => (NewsroomThing::Headline, self.step),
            NewsroomOperationKind::Message => (NewsroomThing::Message(self.number()), is_there),
            NewsroomOperationKind::Tidy => (NewsroomThing::Scrap(self.number()), is_there),
        };
        Some((ThingKey { client: self.client, thing }, value))
    }

    /// Returns the code of the rule that may refuse it, and the value that the thing must then
    /// have. It is the operation's own target value: the thing to create exists, or the one to
    /// remove does not.
    pub fn refused_by(&self) -> Option<(&'static str, ThingKey, u32)> {
        let (key, value) = self.effect()?;
        let code = match (self.kind, self.makes()) {
            (NewsroomOperationKind::Copy | NewsroomOperationKind::Tidy, true) => "DuplicatedName",
            (
                NewsroomOperationKind::Correlate
                | NewsroomOperationKind::Drawer
                | NewsroomOperationKind::Copy
                | NewsroomOperationKind::Message
                | NewsroomOperationKind::Tidy,
                false,
            ) => "ObjectNotFound",
            _ => return None,
        };
        Some((code, key, value))
    }
}

/// The parameters from which plans are drawn.
#[derive(Debug, Clone)]
pub struct NewsroomRecipe {
    seed: u64,
    kinds: WeightedIndex<u32>,
}

impl NewsroomRecipe {
    /// Creates a recipe from weights for the kinds, which must not all be zero.
    ///
    /// # Errors
    /// One sentence, if the sum of the weights overflows.
    pub fn new(seed: u64, weights: &[u32]) -> Result<NewsroomRecipe, String> {
        let kinds = WeightedIndex::new(weights).map_err(|error| format!("`mix`: {error}"))?;
        Ok(NewsroomRecipe { seed, kinds })
    }

    /// Returns the plan of one client, with a number of channels to copy to.
    pub fn plan(&self, client: u32, channels: u32) -> NewsroomPlan {
        let steps = [const { Vec::new() }; ALL.len()];
        NewsroomPlan { kinds: self.kinds.clone(), dice: dice(self.seed, client as usize), client, channels, steps }
    }
}

/// The endless plan of a client.
#[derive(Debug, Clone)]
pub struct NewsroomPlan {
    kinds: WeightedIndex<u32>,
    dice: ChaCha8Rng,
    client: u32,
    channels: u32,
    /// The last step by kind and slot.
    steps: [Vec<u32>; ALL.len()],
}

impl Iterator for NewsroomPlan {
    type Item = NewsroomOperation;

    fn next(&mut self) -> Option<NewsroomOperation> {
        let kind = ALL[self.kinds.sample(&mut self.dice)];
        let slots = match kind {
            NewsroomOperationKind::Correlate | NewsroomOperationKind::Drawer => WIRES,
            NewsroomOperationKind::Post | NewsroomOperationKind::Moderate => POSTS,
            // A mix with copies requires a channel. One slot is drawn without any channel, so that
            // plans are the same everywhere.
            NewsroomOperationKind::Copy => self.channels.max(1),
            _ => 1,
        };
        let slot = self.dice.random_range(0..slots);
        let steps = &mut self.steps[kind as usize];
        steps.resize(slots as usize, 0);
        steps[slot as usize] += 1;
        Some(NewsroomOperation { client: self.client, kind, slot, step: steps[slot as usize] })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn first(seed: u64, client: u32) -> Vec<NewsroomOperation> {
        NewsroomRecipe::new(seed, &DEFAULT_MIX).unwrap().plan(client, 2).take(2000).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_nothing_else_does() {
        assert_eq!(first(7, 3), first(7, 3));
        assert_ne!(first(7, 3), first(8, 3));
        let others: Vec<_> =
            first(7, 4).into_iter().map(|operation| NewsroomOperation { client: 3, ..operation }).collect();
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
            [
                slots(NewsroomOperationKind::Drawer),
                slots(NewsroomOperationKind::Post),
                slots(NewsroomOperationKind::Copy),
                slots(NewsroomOperationKind::Write)
            ],
            [WIRES, POSTS, 2, 1]
        );
    }

    #[test]
    fn alternating_operations_create_first_and_remove_next() {
        let operation = |kind, step| NewsroomOperation { client: 4, kind, slot: 1, step };
        let key = |thing| ThingKey { client: 4, thing };
        for (kind, thing) in [
            (NewsroomOperationKind::Copy, NewsroomThing::Copy(1)),
            (NewsroomOperationKind::Drawer, NewsroomThing::Wire(1)),
        ] {
            assert_eq!(operation(kind, 1).effect(), Some((key(thing), 1)));
            assert_eq!(operation(kind, 2).effect(), Some((key(thing), 0)));
            assert_eq!(
                operation(kind, 2).refused_by(),
                Some(("ObjectNotFound", key(thing), 0)),
                "only what is not there can't be removed"
            );
        }
        assert_eq!(
            operation(NewsroomOperationKind::Copy, 1).refused_by(),
            Some(("DuplicatedName", key(NewsroomThing::Copy(1)), 1))
        );
        assert_eq!(
            operation(NewsroomOperationKind::Drawer, 1).refused_by(),
            None,
            "what is in a drawer may be added again"
        );
        assert_eq!(operation(NewsroomOperationKind::Write, 1).refused_by(), None);
        // Each message is a new one, created and removed once.
        let messages = [1, 2, 3, 4].map(|step| operation(NewsroomOperationKind::Message, step).effect());
        let about = |number, value| Some((key(NewsroomThing::Message(number)), value));
        assert_eq!(messages, [about(0, 1), about(0, 0), about(1, 1), about(1, 0)]);
    }
}
