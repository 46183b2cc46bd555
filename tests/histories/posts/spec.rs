//! The specification of a liveblog's posts (docs/api/posts.md), and the answer to each call.

use stet_domain::liveblog::post_name;

use crate::histories::newsroom::CLIENTS;
use crate::histories::record::Whiteboard;

/// The users of the clients' sessions; the last one does not moderate.
pub const USERS: [&str; CLIENTS] = ["editor", "editor", "admin", "reporter"];

fn moderates(client: usize) -> bool {
    USERS[client] != "reporter"
}

/// The identity of a write: the number of the call. It is the title of the post and its content.
pub type Tag = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Pending,
    Approved,
    Rejected,
    Deleted,
}

impl Status {
    pub const ALL: [Status; 4] = [Status::Pending, Status::Approved, Status::Rejected, Status::Deleted];

    /// Returns the name of the status in replies.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// The last part of the call that sets it.
    pub fn call(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Approved => "approve",
            Status::Rejected => "reject",
            Status::Deleted => "delete",
        }
    }
}

/// The treatment of a taken name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Exception,
    AutoRename,
    Replace,
    NewVersion,
}

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A post of that timestamp.
    Create(u64, Mode),
    /// Title and content, and perhaps whether it is pinned.
    Edit(String, Option<bool>),
    Set(String, Status),
    Remove(String),
    Read(String),
    /// The bytes alone.
    ReadContent(String),
    /// The whole listing.
    List,
}

/// A call. Posts are named by their names.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    pub by: usize,
    /// The identity of what it writes, if it writes.
    pub tag: Tag,
    pub what: What,
}

/// The shown state of a post.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Post {
    pub name: String,
    pub timestamp: u64,
    pub title: Tag,
    pub content: Tag,
    pub version: u64,
    pub author: String,
    /// Oldest first; the last one is the present one.
    pub history: Vec<Status>,
    pub pinned: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    DuplicatedName,
    ObjectNotFound,
    PermissionDenied,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The post was changed. Its state then is a reading of its own.
    Done,
    /// A new or overwritten post, by its name; `None` if it was removed before the reply was built.
    Made(Option<String>),
    /// The post that was read, and the liveblog's revision.
    Post(Post, u64),
    Removed(u64),
    Content(Tag),
    List(Vec<Post>, u64),
    Refused(Refusal),
    /// Unknown bytes, an inconsistent reply, or a failure: nothing explains any of them.
    Garbled(String),
}

/// The whiteboard.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Posts {
    /// The posts in the order of creation.
    posts: Vec<Post>,
    /// Changes so far.
    revision: u64,
}

impl Posts {
    fn at(&self, name: &str) -> Result<usize, Refusal> {
        self.posts.iter().position(|post| post.name == name).ok_or(Refusal::ObjectNotFound)
    }

    fn answer(&mut self, op: &Op) -> Result<Reply, Refusal> {
        let user = USERS[op.by];
        let check_own = |post: &Post| {
            if moderates(op.by) || post.author == user { Ok(()) } else { Err(Refusal::PermissionDenied) }
        };
        match &op.what {
            What::Create(timestamp, mode) => {
                let at = self.create(op, *timestamp, *mode)?;
                Ok(Reply::Made(Some(self.posts[at].name.clone())))
            }
            What::Edit(name, pinned) => {
                let at = self.at(name)?;
                let post = &mut self.posts[at];
                check_own(post)?;
                post.pinned = pinned.unwrap_or(post.pinned);
                write(post, op, true);
                self.revision += 1;
                Ok(Reply::Done)
            }
            // Not even who made the post.
            What::Set(_, Status::Approved | Status::Rejected) if !moderates(op.by) => Err(Refusal::PermissionDenied),
            What::Set(name, to) => {
                let at = self.at(name)?;
                let post = &mut self.posts[at];
                check_own(post)?;
                let from = post.history.last();
                if !moderates(op.by) && from == Some(&Status::Deleted) && *to != Status::Deleted {
                    return Err(Refusal::PermissionDenied);
                }
                if from != Some(to) {
                    post.history.push(*to);
                    self.revision += 1;
                }
                Ok(Reply::Done)
            }
            What::Remove(name) => {
                let at = self.at(name)?;
                check_own(&self.posts[at])?;
                self.posts.remove(at);
                self.revision += 1;
                Ok(Reply::Removed(self.revision))
            }
            What::Read(name) => Ok(Reply::Post(self.posts[self.at(name)?].clone(), self.revision)),
            What::ReadContent(name) => Ok(Reply::Content(self.posts[self.at(name)?].content)),
            What::List => {
                // The newest first; of those that are equal the one that was made last.
                let mut posts: Vec<Post> = self.posts.iter().rev().cloned().collect();
                posts.sort_by_key(|post| std::cmp::Reverse((post.pinned, post.timestamp)));
                Ok(Reply::List(posts, self.revision))
            }
        }
    }

    /// Returns that name, or a numbered one after the last of the similar names.
    fn free_name(&self, name: String) -> String {
        if self.at(&name).is_err() {
            return name;
        }
        let number = |post: &Post| match post.name.strip_prefix(&*name)? {
            "" => Some(1),
            tail => tail.strip_prefix(" (")?.strip_suffix(')')?.parse::<u32>().ok(),
        };
        let last = self.posts.iter().filter_map(number).max().unwrap_or(1);
        format!("{name} ({})", last + 1)
    }

    fn create(&mut self, op: &Op, timestamp: u64, mode: Mode) -> Result<usize, Refusal> {
        let name = post_name(timestamp).expect("it is a timestamp of this century");
        let there = self.at(&name);
        let user = USERS[op.by];
        self.revision += 1;
        match (there, mode) {
            (Ok(_), Mode::Exception) => Err(Refusal::DuplicatedName),
            (Ok(at), Mode::Replace | Mode::NewVersion) => {
                let post = &mut self.posts[at];
                if !moderates(op.by) && post.author != user {
                    return Err(Refusal::PermissionDenied);
                }
                write(post, op, mode == Mode::NewVersion);
                Ok(at)
            }
            _ => {
                let name = self.free_name(name);
                let history = vec![if moderates(op.by) { Status::Approved } else { Status::Pending }];
                let (title, content, author) = (op.tag, op.tag, user.to_owned());
                self.posts.push(Post { name, timestamp, title, content, version: 1, author, history, pinned: false });
                Ok(self.posts.len() - 1)
            }
        }
    }
}

fn write(post: &mut Post, op: &Op, as_new: bool) {
    (post.title, post.content) = (op.tag, op.tag);
    post.version += u64::from(as_new);
    // An edit by someone who does not moderate takes the approval back.
    if !moderates(op.by) && post.history.last() == Some(&Status::Approved) {
        post.history.push(Status::Pending);
    }
}

impl Whiteboard for Posts {
    type Op = Op;
    type Reply = Reply;

    fn start() -> Posts {
        Posts { posts: Vec::new(), revision: 0 }
    }

    fn after(&self, op: &Op) -> Posts {
        let mut next = self.clone();
        if next.answer(op).is_ok() { next } else { self.clone() }
    }

    fn after_answer(&self, op: &Op, reply: &Reply) -> Option<Posts> {
        let mut next = self.clone();
        match (next.answer(op), reply) {
            (Ok(Reply::Made(_)), Reply::Made(None)) => Some(next),
            (Ok(answer), reply) if answer == *reply => Some(next),
            (Err(refusal), Reply::Refused(told)) if refusal == *told => Some(self.clone()),
            _ => None,
        }
    }

    fn is_idle(op: &Op, reply: &Reply) -> bool {
        matches!(op.what, What::Read(_) | What::ReadContent(_) | What::List) || matches!(reply, Reply::Refused(_))
    }

    fn legend() -> String {
        format!(
            "clients 0 to 3 are {USERS:?}; titles and contents are numbers of calls, revisions count from the empty liveblog"
        )
    }
}
