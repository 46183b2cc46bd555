//! Posts on paper.

/// A post of the load: the `number`-th of a client, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PostId {
    /// Whose it is.
    pub client: u32,
    /// Which.
    pub number: u32,
}

impl std::fmt::Display for PostId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "post {}/{}", self.client, self.number)
    }
}

/// The states of a post (docs/api/posts.md, "States"), in the order in which `postCounts` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Status {
    /// Waits for approval.
    Pending,
    /// Seen by all.
    Approved,
    /// Turned down.
    Rejected,
    /// Marked as deleted.
    Deleted,
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 4] = [Status::Pending, Status::Approved, Status::Rejected, Status::Deleted];
    /// As a moderator goes through them.
    pub const IN_TURN: [Status; 4] = [Status::Approved, Status::Rejected, Status::Pending, Status::Deleted];

    /// As a post has it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Approved => "approved",
            Status::Rejected => "rejected",
            Status::Deleted => "deleted",
        }
    }

    /// The last part of the call that sets it.
    pub fn verb(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Approved => "approve",
            Status::Rejected => "reject",
            Status::Deleted => "delete",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// What can be done to a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// It is written. `step` is the client's own count of what it did, which tells texts apart.
    Post {
        /// Of its text.
        step: u32,
        /// Whether it has an attachment.
        attached: bool,
    },
    /// It gets another text.
    Edit {
        /// Of its text.
        step: u32,
    },
    /// It gets a state.
    Set(Status),
    /// It is taken out.
    Remove,
}

impl Change {
    /// The kind of its event (`docs/api/events.md`, Events).
    pub fn event(self) -> &'static str {
        match self {
            Change::Post { .. } => "liveblog.post.add",
            Change::Edit { .. } => "liveblog.post.update",
            Change::Set(_) => "liveblog.post.status",
            Change::Remove => "liveblog.post.remove",
        }
    }

    /// In words.
    pub fn of(self, post: PostId) -> String {
        match self {
            Change::Post { .. } => format!("the creation of {post}"),
            Change::Edit { step } => format!("the edit {step} of {post}"),
            Change::Set(status) => format!("{post} as {}", status.name()),
            Change::Remove => format!("the removal of {post}"),
        }
    }
}

/// What a post looks like to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Look {
    /// Which text it has; `None` for one that nobody wrote.
    pub step: Option<u32>,
    /// Its state.
    pub status: Status,
    /// Whether it has the attachment, whole, and no other.
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

/// A post on paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paper {
    /// What it looks like.
    pub look: Look,
    /// Revision of its last change.
    pub changed: u64,
    /// Whether it has been taken out.
    pub removed: bool,
}

impl Paper {
    /// Before anything was done.
    pub fn blank() -> Paper {
        Paper { look: Look { step: None, status: Status::Approved, attached: false }, changed: 0, removed: false }
    }

    /// Carries a change out.
    pub fn apply(&mut self, change: Change, revision: u64) {
        match change {
            Change::Post { step, attached } => {
                // Whoever writes may approve, which was tried out before: a new post is approved
                // (docs/api/posts.md, "States").
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
