//! The random plan of each client, and the posts that it is about.
//!
//! A client edits and removes only its own posts, one call after the other. So their final texts do
//! not depend on other clients. It moderates its own posts and those of others. A client without
//! any post creates one, whatever was drawn.

use rand::RngExt;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand_chacha::ChaCha8Rng;

use super::model::{PostChange, PostId, PostState};
use crate::dice::dice;

/// The kinds of operations; [`KINDS`] has their names in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LiveblogOperationKind {
    /// Writes a post.
    Post,
    /// Writes another text for a post.
    Edit,
    /// Sets a post's state.
    Moderate,
    /// Removes a post.
    Remove,
    /// Polls for changes since the last poll.
    Poll,
    /// Reads the newest posts.
    List,
}

/// The names of the kinds in the mix.
pub const KINDS: &[&str] = &["post", "edit", "moderate", "remove", "poll", "list"];
/// The weights without a mix: reads are far more frequent than writes, and removals are rare.
pub const DEFAULT_MIX: [u32; 6] = [20, 10, 12, 3, 40, 15];
const ALL: [LiveblogOperationKind; 6] = [
    LiveblogOperationKind::Post,
    LiveblogOperationKind::Edit,
    LiveblogOperationKind::Moderate,
    LiveblogOperationKind::Remove,
    LiveblogOperationKind::Poll,
    LiveblogOperationKind::List,
];
/// The number of newest posts that moderators look at.
const RECENT: u32 = 20;
/// One post in this number has an attachment.
const ATTACHED: u32 = 10;

/// The post that an operation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostTarget {
    /// A given post.
    The(PostId),
    /// A recent post of any client, counted back from the newest at that time.
    Recent {
        /// The client.
        client: u32,
        /// The distance from the newest post; 0 is the newest.
        back: u32,
    },
}

/// The action of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveblogAction {
    /// A change of a post.
    Change(PostTarget, PostChange),
    /// The action of [`LiveblogOperationKind::Poll`].
    Poll,
    /// The action of [`LiveblogOperationKind::List`].
    List,
}

/// One operation of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveblogOperation {
    /// The client that carries it out.
    pub client: u32,
    /// The action.
    pub deed: LiveblogAction,
    /// A post of the client's own, to be used instead if no other client may change the post.
    pub own: Option<PostId>,
}

impl LiveblogOperation {
    /// Returns the kind.
    pub fn kind(&self) -> LiveblogOperationKind {
        match self.deed {
            LiveblogAction::Change(_, PostChange::Post { .. }) => LiveblogOperationKind::Post,
            LiveblogAction::Change(_, PostChange::Edit { .. }) => LiveblogOperationKind::Edit,
            LiveblogAction::Change(_, PostChange::Set(_)) => LiveblogOperationKind::Moderate,
            LiveblogAction::Change(_, PostChange::Remove) => LiveblogOperationKind::Remove,
            LiveblogAction::Poll => LiveblogOperationKind::Poll,
            LiveblogAction::List => LiveblogOperationKind::List,
        }
    }
}

/// The distributions that plans are drawn from.
#[derive(Debug, Clone)]
pub struct LiveblogRecipe {
    seed: u64,
    kinds: WeightedIndex<u32>,
    clients: u32,
    attaches: bool,
}

impl LiveblogRecipe {
    /// Creates a recipe from weights for the kinds, not all zero, and at least one client.
    ///
    /// # Errors
    /// A sentence if the weights are too large for a sum.
    pub fn new(seed: u64, weights: &[u32], clients: u32, attaches: bool) -> Result<LiveblogRecipe, String> {
        let kinds = WeightedIndex::new(weights).map_err(|error| format!("`mix`: {error}"))?;
        Ok(LiveblogRecipe { seed, kinds, clients, attaches })
    }

    /// Returns the plan of one client.
    pub fn plan(&self, client: u32) -> LiveblogPlan {
        let dice = dice(self.seed, client as usize);
        LiveblogPlan { recipe: self.clone(), dice, client, step: 0, posts: 0, own: Vec::new(), turn: 0 }
    }
}

/// The endless plan of a client.
#[derive(Debug, Clone)]
pub struct LiveblogPlan {
    recipe: LiveblogRecipe,
    dice: ChaCha8Rng,
    client: u32,
    /// The number of operations so far, which distinguishes texts.
    step: u32,
    /// The number of posts so far.
    posts: u32,
    /// The numbers of the posts that are not removed.
    own: Vec<u32>,
    /// The index of the next state: states are set in turn.
    turn: usize,
}

impl Iterator for LiveblogPlan {
    type Item = LiveblogOperation;

    fn next(&mut self) -> Option<LiveblogOperation> {
        let LiveblogPlan { recipe, dice, client, .. } = self;
        let client = *client;
        let mut kind = ALL[recipe.kinds.sample(dice)];
        let (pick, of) = (dice.random::<u32>(), dice.random_range(0..recipe.clients));
        let (back, attached) = (dice.random_range(0..RECENT), dice.random_range(0..ATTACHED) == 0 && recipe.attaches);
        if self.own.is_empty()
            && matches!(
                kind,
                LiveblogOperationKind::Edit | LiveblogOperationKind::Moderate | LiveblogOperationKind::Remove
            )
        {
            kind = LiveblogOperationKind::Post;
        }
        self.step += 1;
        // An existing post: below the number of own posts.
        let place = (pick as usize).checked_rem(self.own.len()).unwrap_or(0);
        let own = self.own.get(place).map(|number| PostId { client, number: *number });
        let (step, mut instead) = (self.step, None);
        let deed = match (kind, own) {
            (LiveblogOperationKind::Poll, _) => LiveblogAction::Poll,
            (LiveblogOperationKind::List, _) => LiveblogAction::List,
            (LiveblogOperationKind::Edit, Some(post)) => {
                LiveblogAction::Change(PostTarget::The(post), PostChange::Edit { step })
            }
            (LiveblogOperationKind::Remove, Some(post)) => {
                self.own.swap_remove(place);
                LiveblogAction::Change(PostTarget::The(post), PostChange::Remove)
            }
            (LiveblogOperationKind::Moderate, Some(post)) => {
                let to = PostState::IN_TURN[self.turn % PostState::IN_TURN.len()];
                self.turn += 1;
                instead = Some(post);
                LiveblogAction::Change(PostTarget::Recent { client: of, back }, PostChange::Set(to))
            }
            // A post, also for a kind that has no post to work on yet.
            _ => {
                let post = PostId { client, number: self.posts };
                self.own.push(self.posts);
                self.posts += 1;
                LiveblogAction::Change(PostTarget::The(post), PostChange::Post { step, attached })
            }
        };
        Some(LiveblogOperation { client, deed, own: instead })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn recipe(seed: u64) -> LiveblogRecipe {
        LiveblogRecipe::new(seed, &DEFAULT_MIX, 4, true).unwrap()
    }

    fn first(seed: u64, client: u32) -> Vec<LiveblogOperation> {
        recipe(seed).plan(client).take(500).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_nothing_else_does() {
        assert_eq!(first(7, 3), first(7, 3));
        assert_ne!(first(7, 3), first(8, 3));
        assert_ne!(first(7, 3), first(7, 2));
        // Random numbers stay the same from build to build: a plan can be repeated later.
        let known: Vec<_> = recipe(1).plan(0).take(8).map(|operation| operation.kind()).collect();
        assert_eq!(known, KNOWN);
    }

    const KNOWN: [LiveblogOperationKind; 8] = [
        LiveblogOperationKind::Poll,
        LiveblogOperationKind::Poll,
        LiveblogOperationKind::List,
        LiveblogOperationKind::Post,
        LiveblogOperationKind::Post,
        LiveblogOperationKind::Post,
        LiveblogOperationKind::Poll,
        LiveblogOperationKind::List,
    ];

    #[test]
    fn weights_are_kept_to_and_states_are_set_in_turn() {
        const MANY: usize = 20_000;
        let operations: Vec<_> = recipe(1).plan(0).take(MANY).collect();
        for (kind, weight) in ALL.into_iter().zip(DEFAULT_MIX) {
            let share = operations.iter().filter(|operation| operation.kind() == kind).count() as f64 / MANY as f64;
            assert!((share - f64::from(weight) / 100.0).abs() < 0.02, "{kind:?}: {share}");
        }
        let set: Vec<_> = operations
            .iter()
            .filter_map(|operation| match operation.deed {
                LiveblogAction::Change(PostTarget::Recent { client, .. }, PostChange::Set(to)) => Some((client, to)),
                _ => None,
            })
            .collect();
        assert!(set.iter().zip(PostState::IN_TURN.iter().cycle()).all(|((_, set), turn)| set == turn));
        assert_eq!(set.iter().map(|(client, _)| *client).collect::<HashSet<_>>().len(), 4, "everybody's posts");
    }

    #[test]
    fn only_posts_of_its_own_that_are_there_are_edited_and_removed() {
        let mut there = HashSet::new();
        let mut texts = HashSet::new();
        let busy = LiveblogRecipe::new(3, &[2, 3, 1, 3, 0, 0], 2, true).unwrap();
        for operation in busy.plan(1).take(5000) {
            let LiveblogAction::Change(target, change) = operation.deed else { panic!("nothing is only read") };
            match (target, change) {
                (PostTarget::The(post), PostChange::Post { step, .. }) => {
                    assert!(there.insert(post) && texts.insert(step))
                }
                (PostTarget::The(post), PostChange::Edit { step }) => {
                    assert!(there.contains(&post) && texts.insert(step))
                }
                (PostTarget::The(post), PostChange::Remove) => assert!(there.remove(&post)),
                (_, PostChange::Set(_)) => assert!(there.contains(&operation.own.unwrap())),
                odd => panic!("{odd:?}"),
            }
        }
    }
}
