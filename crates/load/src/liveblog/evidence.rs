//! The evidence after a load: acknowledged changes, results of reads, the content of the liveblog,
//! and the events that followers received.

use std::collections::HashMap;

use super::model::{PostAppearance, PostChange, PostId};

/// An acknowledged change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostAck {
    /// The post concerned.
    pub post: PostId,
    /// The requested change.
    pub change: PostChange,
    /// The liveblog's revision in the reply.
    pub revision: u64,
    /// The revision of the post's last change in the reply; for a removal that of the removal.
    pub changed: u64,
    /// The post as the reply shows it; `None` for a removal.
    pub look: Option<PostAppearance>,
}

/// A call whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostDoubt {
    /// The post concerned.
    pub post: PostId,
    /// The requested change.
    pub change: PostChange,
}

/// An answer to a poll for changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollEvidence {
    /// The revision after which changes were requested.
    pub since: u64,
    /// The revision of the answer.
    pub revision: u64,
    /// The joined prints of all shown and removed posts: see [`super::wire::print`].
    pub print: u64,
}

/// A listing of the newest posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListingEvidence {
    /// The revision of the listing.
    pub revision: u64,
    /// The reported number of posts by state.
    pub counts: [u64; 4],
    /// `true` if the counts agree with the total, and the listing has as many posts as it should.
    pub whole: bool,
    /// The joined prints of the shown posts: see [`super::wire::print`].
    pub print: u64,
}

/// A post that the liveblog holds in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldPost {
    /// The loid.
    pub id: String,
    /// The post named in its title; `None` if it is not of the load.
    pub post: Option<PostId>,
    /// The visible state of the post; `None` if it differs from every post of the load.
    pub look: Option<PostAppearance>,
}

/// The content of the liveblog in the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FinalLiveblog {
    /// The liveblog's revision.
    pub revision: u64,
    /// All posts.
    pub held: Vec<HeldPost>,
    /// The reported number of posts by state.
    pub counts: [u64; 4],
    /// The reported total number of posts.
    pub total: u64,
}

/// The facts of a post's creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPost {
    /// The loid.
    pub id: Box<str>,
    /// The time by which listings are sorted, in epoch milliseconds.
    pub timestamp: u64,
}

/// All evidence of a load.
#[derive(Debug, Clone, Default)]
pub struct LiveblogEvidence {
    /// The revision before the load.
    pub before: u64,
    /// The content of the liveblog in the end.
    pub end: FinalLiveblog,
    /// `true` if revisions are reported and count changes one by one. If not, `acked` has the
    /// changes of each post in their order.
    pub counted: bool,
    /// Posts whose creation was acknowledged.
    pub known: HashMap<PostId, KnownPost>,
    /// The acknowledged changes; in no order if revisions give it.
    pub acked: Vec<PostAck>,
    /// The calls of unknown outcome.
    pub doubts: Vec<PostDoubt>,
    /// The changes that were refused because the post did not exist.
    pub denied: Vec<(PostId, PostChange)>,
    /// The answers to polls, in no order.
    pub polled: Vec<PollEvidence>,
    /// The listings, in no order.
    pub listed: Vec<ListingEvidence>,
    /// The faults of single replies.
    pub odd: Vec<String>,
}
