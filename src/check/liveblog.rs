//! What only all parts of a liveblog together can show: names that two posts have, posts that are remembered as removed, and bytes of
//! attachments that no post has.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use stet_actors::id::Loid;
use stet_actors::liveblog::{Post, RemovedPost};
use stet_actors::object::{Stored, name_key};

use super::Report;

/// The parts of one liveblog. They stand together in their table, so no more than one is gathered at a time.
pub(super) struct Parts {
    liveblog: Loid,
    /// Name, as names are compared, → post.
    named: BTreeMap<Bytes, Loid>,
    posts: BTreeSet<Loid>,
    removed: BTreeSet<Loid>,
    /// Ids of attachments whose bytes lie in the tables.
    small: BTreeSet<u64>,
    /// Ids of attachments under which bytes lie in the tables.
    bodies: BTreeSet<u64>,
}

impl Parts {
    pub fn of(liveblog: Loid) -> Parts {
        Parts {
            liveblog,
            named: BTreeMap::new(),
            posts: BTreeSet::new(),
            removed: BTreeSet::new(),
            small: BTreeSet::new(),
            bodies: BTreeSet::new(),
        }
    }

    pub fn liveblog(&self) -> Loid {
        self.liveblog
    }

    pub fn post(&mut self, post: &Post, report: &mut Report) {
        self.posts.insert(post.loid());
        let small = post.attachments.iter().filter(|attachment| attachment.content.stored == Stored::Row);
        self.small.extend(small.map(|attachment| attachment.id));
        if let Some(other) = self.named.insert(name_key(self.liveblog, &post.record.name), post.loid()) {
            let name = &post.record.name;
            report.fault(format!(
                "the liveblog {} has two posts named `{name}`: {other} and {}",
                self.liveblog,
                post.loid()
            ));
        }
    }

    pub fn removed(&mut self, removed: &RemovedPost) {
        self.removed.insert(removed.post);
    }

    pub fn body(&mut self, attachment: u64) {
        self.bodies.insert(attachment);
    }

    /// All of the liveblog has been seen.
    pub fn settle(self, report: &mut Report) {
        let liveblog = self.liveblog;
        for post in self.posts.intersection(&self.removed) {
            report.fault(format!("the liveblog {liveblog} has the post {post}, and remembers it as removed"));
        }
        for id in self.bodies.difference(&self.small) {
            report.fault(format!("the liveblog {liveblog} has bytes of an attachment {id}, which no post has there"));
        }
    }
}
