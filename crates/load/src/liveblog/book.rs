//! The shared knowledge of clients during the load: posts with their loids, and the last request of
//! each client.

use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use super::evidence::Known;
use super::model::PostId;
use super::plan::{Operation, Target};

/// The shared knowledge of all clients.
#[derive(Default)]
pub struct Book {
    pages: Vec<Page>,
}

/// The knowledge of one client.
#[derive(Default)]
struct Page {
    /// The client's posts by number; `None` if the creation was not acknowledged.
    posts: RwLock<Vec<Option<Known>>>,
    asked: Mutex<Asked>,
}

/// The last request of a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// The post concerned.
    pub post: Option<PostId>,
    /// Whether the post's loid was known.
    pub known: bool,
    /// The revision up to which the client has polled.
    pub since: u64,
    /// The time at which the request was sent, since the begin of the load's board.
    pub sent: Duration,
    /// The time at which it was answered.
    pub answered: Duration,
}

impl Book {
    /// Creates a book for this number of clients, of a liveblog at that revision.
    pub fn new(clients: u32, revision: u64) -> Book {
        let page = || Page { asked: Mutex::new(Asked { since: revision, ..Asked::default() }), ..Page::default() };
        Book { pages: (0..clients).map(|_| page()).collect() }
    }

    /// Returns the post that an operation is about, and its loid if known.
    pub fn find(&self, operation: &Operation, target: Target) -> (PostId, Option<Box<str>>) {
        let post = match target {
            Target::The(post) => post,
            Target::Recent { client, back } => {
                let known = self.pages[client as usize].posts.read();
                // A page has fewer posts than a u32 can count, and so have their numbers.
                let count = known.len() as u32;
                match (count.checked_sub(1), operation.own) {
                    (Some(newest), _) => PostId { client, number: newest - back.min(newest) },
                    (None, Some(own)) => own,
                    // Operations on others' posts always name an own post as a substitute.
                    (None, None) => PostId { client, number: 0 },
                }
            }
        };
        (post, self.id(post))
    }

    /// Returns the loid of a post, if known.
    pub fn id(&self, post: PostId) -> Option<Box<str>> {
        let posts = self.pages[post.client as usize].posts.read();
        posts.get(post.number as usize)?.as_ref().map(|known| known.id.clone())
    }

    /// Notes the creation of a post.
    pub fn learn(&self, post: PostId, known: Known) {
        let mut posts = self.pages[post.client as usize].posts.write();
        let place = post.number as usize;
        if place >= posts.len() {
            posts.resize(place + 1, None);
        }
        posts[place] = Some(known);
    }

    /// Returns the last request of a client.
    pub fn asked(&self, client: u32) -> Asked {
        *self.pages[client as usize].asked.lock()
    }

    /// Changes the last request of a client.
    pub fn ask(&self, client: u32, change: impl FnOnce(&mut Asked)) {
        change(&mut self.pages[client as usize].asked.lock());
    }

    /// Returns all posts whose creation was acknowledged.
    pub fn known(&self) -> impl Iterator<Item = (PostId, Known)> + '_ {
        self.pages.iter().zip(0..).flat_map(|(page, client)| {
            let posts = page.posts.read().clone();
            let known = posts.into_iter().zip(0..);
            known.filter_map(move |(known, number)| Some((PostId { client, number }, known?)))
        })
    }
}
