//! What is known after a load: which changes were acknowledged, what reads showed, what the
//! liveblog holds, and what followers received.

use std::collections::HashMap;

use super::model::{Change, Look, PostId};

/// An acknowledged change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostAck {
    /// Of which post.
    pub post: PostId,
    /// What was asked for.
    pub change: Change,
    /// The liveblog's revision that the reply spoke of.
    pub revision: u64,
    /// That of the post's last change, as the reply has it; of a removal its own.
    pub changed: u64,
    /// What the reply showed; nothing of a removal.
    pub look: Option<Look>,
}

/// A call whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubt {
    /// Of which post.
    pub post: PostId,
    /// What was asked for.
    pub change: Change,
}

/// An answer to "what has changed".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polled {
    /// After which revision.
    pub since: u64,
    /// Up to which.
    pub revision: u64,
    /// All that it showed and all that was gone: see [`super::wire::print`].
    pub print: u64,
}

/// A listing of the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// At which revision.
    pub revision: u64,
    /// How many posts there were said to be by state.
    pub counts: [u64; 4],
    /// Whether there were as many in all, and as many shown as there should be.
    pub whole: bool,
    /// What it showed: see [`super::wire::print`].
    pub print: u64,
}

/// A post that the liveblog holds in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its loid.
    pub id: String,
    /// Which it says it is; `None` for one that is none of the load's.
    pub post: Option<PostId>,
    /// What it looks like; `None` for what no post of the load looks like.
    pub look: Option<Look>,
}

/// What is there in the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct End {
    /// The liveblog's revision.
    pub revision: u64,
    /// All posts.
    pub held: Vec<Held>,
    /// How many it says there are by state.
    pub counts: [u64; 4],
    /// How many it says there are.
    pub total: u64,
}

/// What is known of a post's creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its loid.
    pub id: Box<str>,
    /// Epoch milliseconds: what listings are sorted by.
    pub timestamp: u64,
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// The revision before the load.
    pub before: u64,
    /// The end.
    pub end: End,
    /// Whether revisions count changes one by one and are reported. If not, changes of one post
    /// stand in `acked` in their order.
    pub counted: bool,
    /// Posts whose creation was acknowledged.
    pub known: HashMap<PostId, Known>,
    /// What was acknowledged; in no order, if revisions give it.
    pub acked: Vec<PostAck>,
    /// What is in doubt.
    pub doubts: Vec<Doubt>,
    /// Changes that were refused because the post was not there.
    pub denied: Vec<(PostId, Change)>,
    /// What was asked, in no order.
    pub polled: Vec<Polled>,
    /// What was listed, in no order.
    pub listed: Vec<Listed>,
    /// What was wrong with replies by themselves.
    pub odd: Vec<String>,
}
