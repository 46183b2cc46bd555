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
pub enum Status {
    /// Waiting for approval.
    Pending,
    /// Visible to all.
    Approved,
    /// Rejected by a moderator.
    Rejected,
    /// Marked as deleted.
    Deleted,
}

impl Status {
    /// All states.
    pub const ALL: [Status; 4] = [Status::Pending, Status::Approved, Status::Rejected, Status::Deleted];
    /// The order in which a moderator sets states.
    pub const IN_TURN: [Status; 4] = [Status::Approved, Status::Rejected, Status::Pending, Status::Deleted];

    /// Returns the name in a post.
    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Approved => "approved",
            Status::Rejected => "rejected",
            Status::Deleted => "deleted",
        }
    }

    /// Returns the last part of the path that sets the state.
    pub fn verb(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Approved => "approve",
            Status::Rejected => "reject",
            Status::Deleted => "delete",
        }
    }

    /// Returns the state with this name.
    pub fn named(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// A change of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// The creation of the post. `step` is the client's own count of operations, which
    /// distinguishes texts.
    Post {
        /// The step of its text.
        step: u32,
        /// Whether the post has an attachment.
        attached: bool,
    },
    /// A new text.
    Edit {
        /// The step of its text.
        step: u32,
    },
    /// A new state.
    Set(Status),
    /// The removal of the post.
    Remove,
}

impl Change {
    /// Returns the kind of the change's event (`docs/api/events.md`, Events).
    pub fn event(self) -> &'static str {
        match self {
            Change::Post { .. } => "liveblog.post.add",
            Change::Edit { .. } => "liveblog.post.update",
            Change::Set(_) => "liveblog.post.status",
            Change::Remove => "liveblog.post.remove",
        }
    }

    /// Returns a description of the change.
    pub fn of(self, post: PostId) -> String {
        match self {
            Change::Post { .. } => format!("the creation of {post}"),
            Change::Edit { step } => format!("the edit {step} of {post}"),
            Change::Set(status) => format!("{post} as {}", status.name()),
            Change::Remove => format!("the removal of {post}"),
        }
    }
}

/// The visible state of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Look {
    /// The step of its text; `None` for a text that no client wrote.
    pub step: Option<u32>,
    /// The state.
    pub status: Status,
    /// Whether it has exactly the expected attachment.
    pub attached: bool,
}

impl std::fmt::Display for Look {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let attached = if self.attached { "with" } else { "without" };
        match self.step {
            Some(step) => write!(f, "{} with text {step}, {attached} attachment", self.status.name()),
            None => write!(f, "{} with a text that nobody wrote, {attached} attachment", self.status.name()),
        }
    }
}

/// The expected state of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paper {
    /// The visible state.
    pub look: Look,
    /// The revision of the last change.
    pub changed: u64,
    /// Whether the post has been removed.
    pub removed: bool,
}

impl Paper {
    /// Returns a post before its creation.
    pub fn blank() -> Paper {
        Paper { look: Look { step: None, status: Status::Approved, attached: false }, changed: 0, removed: false }
    }

    /// Applies a change.
    pub fn apply(&mut self, change: Change, revision: u64) {
        match change {
            Change::Post { step, attached } => {
                // The user may approve, which was checked before the load, so a new post is
                // approved (docs/api/posts.md, "States").
                *self = Paper {
                    look: Look { step: Some(step), status: Status::Approved, attached },
                    changed: revision,
                    removed: false,
                };
            }
            Change::Edit { step } => self.look.step = Some(step),
            Change::Set(status) => self.look.status = status,
            Change::Remove => self.removed = true,
        }
        self.changed = revision;
    }
}
