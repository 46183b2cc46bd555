//! The shared knowledge of clients during the load: posts with their loids, and the last request of
//! each client.

use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use super::evidence::KnownPost;
use super::model::PostId;
use super::plan::{LiveblogOperation, PostTarget};

/// The shared knowledge of all clients.
#[derive(Default)]
pub struct PostBook {
    pages: Vec<ClientPosts>,
}

/// The knowledge of one client.
#[derive(Default)]
struct ClientPosts {
    /// The client's posts by number; `None` if the creation was not acknowledged.
    posts: RwLock<Vec<Option<KnownPost>>>,
    asked: Mutex<LastRequest>,
}

/// The last request of a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LastRequest {
    /// The post concerned.
    pub post: Option<PostId>,
    /// `true` if the post's loid was known.
    pub known: bool,
    /// The revision up to which the client has polled.
    pub since: u64,
    /// The time at which the request was sent, since the beginning of the load's board.
    pub sent: Duration,
    /// The time at which it was answered.
    pub answered: Duration,
}

impl PostBook {
    /// Creates a book for this number of clients, of a liveblog at that revision.
    pub fn new(clients: u32, revision: u64) -> PostBook {
        let page = || ClientPosts {
            asked: Mutex::new(LastRequest { since: revision, ..LastRequest::default() }),
            ..ClientPosts::default()
        };
        PostBook { pages: (0..clients).map(|_| page()).collect() }
    }

    /// Returns the post that an operation is about, and its loid if known.
    pub fn find(&self, operation: &LiveblogOperation, target: PostTarget) -> (PostId, Option<Box<str>>) {
        let post = match target {
            PostTarget::The(post) => post,
            PostTarget::Recent { client, back } => {
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
    pub fn learn(&self, post: PostId, known: KnownPost) {
        let mut posts = self.pages[post.client as usize].posts.write();
        let place = post.number as usize;
        if place >= posts.len() {
            posts.resize(place + 1, None);
        }
        posts[place] = Some(known);
    }

    /// Returns the last request of a client.
    pub fn asked(&self, client: u32) -> LastRequest {
        *self.pages[client as usize].asked.lock()
    }

    /// Changes the last request of a client.
    pub fn ask(&self, client: u32, change: impl FnOnce(&mut LastRequest)) {
        change(&mut self.pages[client as usize].asked.lock());
    }

    /// Returns all posts whose creation was acknowledged.
    pub fn known(&self) -> impl Iterator<Item = (PostId, KnownPost)> + '_ {
        self.pages.iter().zip(0..).flat_map(|(page, client)| {
            let posts = page.posts.read().clone();
            let known = posts.into_iter().zip(0..);
            known.filter_map(move |(known, number)| Some((PostId { client, number }, known?)))
        })
    }
}
