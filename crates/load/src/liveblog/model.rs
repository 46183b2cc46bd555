//! The model of a post.

/// A post of the load: the `number`-th of a client, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PostId {
    /// The client that created it.
    pub client: u32,
    /// The number among the client's posts.
    pub number: u32,
}

impl std::fmt::Display for PostId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "post {}/{}", self.client, self.number)
    }
}

/// The states of a post (docs/api/posts.md, "States"), in the order of `postCounts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum PostState {
    /// Waiting for approval.
    Pending,
    /// Visible to all.
    Approved,
    /// Rejected by a moderator.
    Rejected,
    /// Marked as deleted.
    Deleted,
}

impl PostState {
    /// All states.
    pub const ALL: [PostState; 4] = [PostState::Pending, PostState::Approved, PostState::Rejected, PostState::Deleted];
    /// The order in which a moderator sets states.
    pub const IN_TURN: [PostState; 4] =
        [PostState::Approved, PostState::Rejected, PostState::Pending, PostState::Deleted];

    /// Returns the name in a post.
    pub fn name(self) -> &'static str {
        match self {
            PostState::Pending => "pending",
            PostState::Approved => "approved",
            PostState::Rejected => "rejected",
            PostState::Deleted => "deleted",
        }
    }

    /// Returns the last part of the path that sets the state.
    pub fn verb(self) -> &'static str {
        match self {
            PostState::Pending => "pending",
            PostState::Approved => "approve",
            PostState::Rejected => "reject",
            PostState::Deleted => "delete",
        }
    }

    /// Returns the state with this name.
    pub fn named(name: &str) -> Option<PostState> {
        PostState::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// A change of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PostChange {
    /// The creation of the post. `step` is the client's own count of operations, which
    /// distinguishes texts.
    Post {
        /// The step of its text.
        step: u32,
        /// `true` if the post has an attachment.
        attached: bool,
    },
    /// A new text.
    Edit {
        /// The step of its text.
        step: u32,
    },
    /// A new state.
    Set(PostState),
    /// The removal of the post.
    Remove,
}

impl PostChange {
    /// Returns the kind of the change's event (`docs/api/events.md`, Events).
    pub fn event(self) -> &'static str {
        match self {
            PostChange::Post { .. } => "liveblog.post.add",
            PostChange::Edit { .. } => "liveblog.post.update",
            PostChange::Set(_) => "liveblog.post.status",
            PostChange::Remove => "liveblog.post.remove",
        }
    }

    /// Returns a description of the change.
    pub fn of(self, post: PostId) -> String {
        match self {
            PostChange::Post { .. } => format!("the creation of {post}"),
            PostChange::Edit { step } => format!("the edit {step} of {post}"),
            PostChange::Set(status) => format!("{post} as {}", status.name()),
            PostChange::Remove => format!("the removal of {post}"),
        }
    }
}

/// The visible state of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PostAppearance {
    /// The step of its text; `None` for a text that no client wrote.
    pub step: Option<u32>,
    /// The state.
    pub status: PostState,
    /// `true` if it has exactly the expected attachment.
    pub attached: bool,
}

impl std::fmt::Display for PostAppearance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let attached = if self.attached { "with" } else { "without" };
        match self.step {
            Some(step) => write!(f, "{} with text {step}, {attached} attachment", self.status.name()),
            None => write!(f, "{} with a text that no client wrote, {attached} attachment", self.status.name()),
        }
    }
}

/// The expected state of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostModel {
    /// The visible state.
    pub look: PostAppearance,
    /// The revision of the last change.
    pub changed: u64,
    /// `true` if the post has been removed.
    pub removed: bool,
}

impl PostModel {
    /// Returns a post before its creation.
    pub fn blank() -> PostModel {
        PostModel {
            look: PostAppearance { step: None, status: PostState::Approved, attached: false },
            changed: 0,
            removed: false,
        }
    }

    /// Applies a change.
    pub fn apply(&mut self, change: PostChange, revision: u64) {
        match change {
            PostChange::Post { step, attached } => {
                // The user may approve, which was checked before the load, so a new post is
                // approved (docs/api/posts.md, "States").
                *self = PostModel {
                    look: PostAppearance { step: Some(step), status: PostState::Approved, attached },
                    changed: revision,
                    removed: false,
                };
            }
            PostChange::Edit { step } => self.look.step = Some(step),
            PostChange::Set(status) => self.look.status = status,
            PostChange::Remove => self.removed = true,
        }
        self.changed = revision;
    }
}
