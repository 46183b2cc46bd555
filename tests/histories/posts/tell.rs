//! Calls and answers for people.

use std::fmt;

use super::spec::{Op, Post, Reply, What};

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tag = self.tag;
        match &self.what {
            What::Create(timestamp, mode) => write!(f, "create {tag} at {timestamp} ({mode:?})"),
            What::Edit(name, pinned) => write!(f, "edit `{name}` to {tag}, pinned {pinned:?}"),
            What::Set(name, status) => write!(f, "set `{name}` {}", status.name()),
            What::Remove(name) => write!(f, "remove `{name}`"),
            What::Read(name) => write!(f, "read `{name}`"),
            What::ReadContent(name) => write!(f, "read content of `{name}`"),
            What::List => f.write_str("list"),
        }
    }
}

impl fmt::Display for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Post { name, timestamp: _, title, content, version, author, history, pinned } = self;
        let pinned = if *pinned { ", pinned" } else { "" };
        write!(f, "`{name}` {title}/{content} v{version} by {author} {history:?}{pinned}")
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Done => f.write_str("done"),
            Reply::Made(name) => write!(f, "made `{}`", name.as_deref().unwrap_or("?")),
            Reply::Post(post, revision) => write!(f, "r{revision}: {post}"),
            Reply::Removed(revision) => write!(f, "r{revision}: removed"),
            Reply::Content(tag) => write!(f, "content {tag}"),
            Reply::List(posts, revision) => {
                write!(f, "r{revision}: list")?;
                posts.iter().try_for_each(|post| write!(f, "; {post}"))
            }
            Reply::Refused(why) => write!(f, "{why:?}"),
            Reply::Garbled(text) => write!(f, "of nobody: {text:?}"),
        }
    }
}
