//! The visibility of posts for readers (docs/api/posts.md, "Who sees a post"). Posts that a reader
//! does not see are not visited, and so cost nothing.

use std::sync::Arc;

use super::rows::{Post, PostStatus, RemovedPost};
use super::state::LiveblogState;
use crate::object::SharedText;
use crate::sequence::{Sequence, SequenceItem};

/// The posts that a reader sees.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PostSight {
    /// All posts.
    All,
    /// The approved posts, and those of this author.
    Own(SharedText),
    /// The approved posts.
    Approved,
}

/// The order number of a post that is not approved.
#[derive(Debug, Clone, Copy)]
struct OrderNumber(u128);

impl SequenceItem for OrderNumber {
    fn order(&self) -> u128 {
        self.0
    }

    fn is_visible(&self) -> bool {
        true
    }
}

/// The posts of one author that are not approved.
#[derive(Debug, Clone, Default)]
pub(super) struct HiddenPosts {
    numbers: Sequence<OrderNumber>,
    /// The counts by status, in the order of [`PostStatus::ALL`].
    counts: [usize; 4],
}

impl HiddenPosts {
    pub(super) fn put(&mut self, post: &Post) {
        self.numbers.put(OrderNumber(post.place_in_order()));
        self.counts[post.status as usize] += 1;
    }

    pub(super) fn remove(&mut self, post: &Post) {
        self.numbers.remove(post.place_in_order());
        self.counts[post.status as usize] -= 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

impl PostSight {
    /// Reports whether a post of that author is visible, or may have been at some time.
    fn reaches(&self, was_approved: bool, author: &SharedText) -> bool {
        match self {
            PostSight::All => true,
            PostSight::Own(user) => was_approved || author == user,
            PostSight::Approved => was_approved,
        }
    }

    /// Reports whether a post is visible, or may have been before its approval was withdrawn.
    pub fn may_have_seen(&self, post: &Post) -> bool {
        self.reaches(post.was_approved(), post.author())
    }

    /// Reports whether a removed post may have been visible.
    pub fn may_have_seen_removed(&self, removed: &RemovedPost) -> bool {
        self.reaches(removed.was_approved, &removed.author)
    }
}

impl LiveblogState {
    /// Reports whether a post is visible.
    pub fn sees(&self, sight: &PostSight, post: &Post) -> bool {
        match sight {
            PostSight::All => true,
            PostSight::Own(user) => post.is_seen() || post.author() == user,
            PostSight::Approved => post.is_seen(),
        }
    }

    /// Returns the numbers of visible posts by status, in the order of [`PostStatus::ALL`].
    pub fn seen_counts(&self, sight: &PostSight) -> [usize; 4] {
        let mut counts = match sight {
            PostSight::All => return PostStatus::ALL.map(|status| self.count(status)),
            PostSight::Own(user) => self.hidden_of(user).map_or([0; 4], |hidden| hidden.counts),
            PostSight::Approved => [0; 4],
        };
        // Approved posts are visible to everybody.
        counts[PostStatus::Approved as usize] = self.count(PostStatus::Approved);
        counts
    }

    /// Returns the visible posts in the order of the listing, without the first `skip`. Skipped
    /// posts are not visited.
    pub fn seen_from<'s>(&'s self, sight: &PostSight, skip: usize) -> Box<dyn Iterator<Item = &'s Arc<Post>> + 's> {
        let all = self.sequence();
        let hidden = match sight {
            PostSight::All => return Box::new(all.iter_at(skip)),
            PostSight::Own(user) => self.hidden_of(user),
            PostSight::Approved => None,
        };
        let Some(hidden) = hidden else { return Box::new(all.visible_at(skip)) };
        let own = &hidden.numbers;
        // The bisection finds the number of the caller's own hidden posts to skip: those with fewer
        // than `skip` visible posts before them.
        let (mut low, mut high) = (0, own.len());
        while low < high {
            let middle = low.midpoint(high);
            let before = own.nth(middle).map_or(usize::MAX, |place| all.rank(place.0).1.saturating_add(middle));
            if before < skip {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let own = own.iter_at(low).filter_map(move |place| all.get(place.0));
        Box::new(PostMerge { approved: all.visible_at(skip - low).peekable(), own: own.peekable() })
    }
}

/// A merge of two ordered sequences of posts.
struct PostMerge<A: Iterator, B: Iterator> {
    approved: std::iter::Peekable<A>,
    own: std::iter::Peekable<B>,
}

impl<'s, A, B> Iterator for PostMerge<A, B>
where
    A: Iterator<Item = &'s Arc<Post>>,
    B: Iterator<Item = &'s Arc<Post>>,
{
    type Item = &'s Arc<Post>;

    fn next(&mut self) -> Option<&'s Arc<Post>> {
        match (self.approved.peek(), self.own.peek()) {
            (Some(approved), Some(own)) if own.place_in_order() < approved.place_in_order() => self.own.next(),
            (Some(_), _) => self.approved.next(),
            (None, _) => self.own.next(),
        }
    }
}
