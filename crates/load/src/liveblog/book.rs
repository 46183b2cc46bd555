//! What clients know while the load goes on: posts and their loids, and what each last asked.

use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use super::evidence::Known;
use super::model::PostId;
use super::plan::{Operation, Target};

/// See the module's head.
#[derive(Default)]
pub struct Book {
    pages: Vec<Page>,
}

/// What one client knows.
#[derive(Default)]
struct Page {
    /// By number; `None` for one whose creation was not acknowledged.
    posts: RwLock<Vec<Option<Known>>>,
    asked: Mutex<Asked>,
}

/// What a client last asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// About which post.
    pub post: Option<PostId>,
    /// Whether its loid was known.
    pub known: bool,
    /// Up to which revision it has polled.
    pub since: u64,
    /// When the request was sent, since the begin of the load's board.
    pub sent: Duration,
    /// And when it was answered.
    pub answered: Duration,
}

impl Book {
    /// For so many clients, of a liveblog at that revision.
    pub fn new(clients: u32, revision: u64) -> Book {
        let page = || Page { asked: Mutex::new(Asked { since: revision, ..Asked::default() }), ..Page::default() };
        Book { pages: (0..clients).map(|_| page()).collect() }
    }

    /// The post that an operation is about, and its loid if it is known.
    pub fn find(&self, operation: &Operation, target: Target) -> (PostId, Option<Box<str>>) {
        let post = match target {
            Target::The(post) => post,
            Target::Recent { client, back } => {
                let known = self.pages[client as usize].posts.read();
                // A page has no more posts than a u32 counts: their numbers are such.
                let count = known.len() as u32;
                match (count.checked_sub(1), operation.own) {
                    (Some(newest), _) => PostId { client, number: newest - back.min(newest) },
                    (None, Some(own)) => own,
                    // Of others' posts there is always one of its own to stand in.
                    (None, None) => PostId { client, number: 0 },
                }
            }
        };
        (post, self.id(post))
    }

    /// The loid of a post, if it is known.
    pub fn id(&self, post: PostId) -> Option<Box<str>> {
        let posts = self.pages[post.client as usize].posts.read();
        posts.get(post.number as usize)?.as_ref().map(|known| known.id.clone())
    }

    /// A post has been made.
    pub fn learn(&self, post: PostId, known: Known) {
        let mut posts = self.pages[post.client as usize].posts.write();
        let place = post.number as usize;
        if place >= posts.len() {
            posts.resize(place + 1, None);
        }
        posts[place] = Some(known);
    }

    /// What a client last asked.
    pub fn asked(&self, client: u32) -> Asked {
        *self.pages[client as usize].asked.lock()
    }

    /// Changes what a client last asked.
    pub fn ask(&self, client: u32, change: impl FnOnce(&mut Asked)) {
        change(&mut self.pages[client as usize].asked.lock());
    }

    /// All posts whose creation was acknowledged.
    pub fn known(&self) -> impl Iterator<Item = (PostId, Known)> + '_ {
        self.pages.iter().zip(0..).flat_map(|(page, client)| {
            let posts = page.posts.read().clone();
            let known = posts.into_iter().zip(0..);
            known.filter_map(move |(known, number)| Some((PostId { client, number }, known?)))
        })
    }
}
