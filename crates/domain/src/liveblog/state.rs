//! The state of a liveblog in memory: all its posts, in the order of the listing.

use std::sync::Arc;

use foldhash::quality::RandomState;
use imbl::GenericHashMap;
use imbl::shared_ptr::DefaultSharedPtr;

use super::name::{NameKey, TimedName};
use super::rows::{FIRST_UNPINNED, LiveblogHead, Post, PostStatus, RemovedPost};
use super::sight::HiddenPosts;
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::id::{Loid, ObjectUuid};
use crate::layered::LayeredMap;
use crate::object::{Object, SharedText};
use crate::part;
use crate::sequence::Sequence;
use crate::store::{Row, RowPlace};

type Map<K, V> = GenericHashMap<K, V, RandomState, DefaultSharedPtr>;

/// The address of a post in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostAddress {
    /// The loid of the post; that of a version names no post.
    Loid(Loid),
    /// The uuid of the post.
    Uuid(ObjectUuid),
    /// The name of the post, unique in the liveblog.
    Name(String),
}

impl std::fmt::Display for PostAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PostAddress::Loid(loid) => loid.fmt(f),
            PostAddress::Uuid(uuid) => uuid.fmt(f),
            PostAddress::Name(name) => name.fmt(f),
        }
    }
}

/// The latest change of a post.
#[derive(Debug, Clone)]
enum LatestPostChange {
    /// The post was made or changed, and exists.
    There(Loid),
    Removed(Arc<RemovedPost>),
}

impl LatestPostChange {
    fn removed(&self) -> Option<&RemovedPost> {
        match self {
            LatestPostChange::There(_) => None,
            LatestPostChange::Removed(removed) => Some(removed),
        }
    }
}

/// The state of a liveblog: its object, its head and all its posts. A clone shares everything.
///
/// The indexes are ordered, not hashed. A new post has the greatest number and uuid, and mostly the
/// greatest name. Each new post therefore copies and frees the same nodes, which are in the
/// processor's cache. With hashing, changes would touch nodes all over the memory of a large
/// liveblog.
#[derive(Debug, Clone)]
pub struct LiveblogState {
    object: Object,
    head: Arc<LiveblogHead>,
    posts: Sequence<Arc<Post>>,
    /// Loid → order number in `posts`.
    by_loid: LayeredMap<Loid, u128>,
    by_uuid: LayeredMap<ObjectUuid, Loid>,
    by_name: LayeredMap<NameKey, Loid>,
    /// Revision → the change of a post that led to it; each post is in it once, with its last
    /// change.
    changes: LayeredMap<u64, LatestPostChange>,
    /// The number of posts by status, in the order of [`PostStatus::ALL`].
    counts: [usize; 4],
    /// Author → the author's posts that are not approved.
    hidden: Map<SharedText, HiddenPosts>,
    /// The size of all posts in memory, in bytes.
    bytes: usize,
    /// The number of removed posts that are remembered.
    removed: usize,
}

impl State for LiveblogState {
    fn object(&self) -> &Object {
        &self.object
    }

    fn object_mut(&mut self) -> &mut Object {
        &mut self.object
    }

    fn bytes(&self) -> usize {
        // The approximate size of a removed post's entry.
        const REMOVED: usize = 256;
        self.object.bytes() + self.bytes + self.removed * REMOVED
    }
}

impl LiveblogState {
    /// Creates the state of a liveblog with these posts, in any order, and the rows of removed
    /// ones.
    pub fn new(
        object: Object,
        head: LiveblogHead,
        posts: impl IntoIterator<Item = Post>,
        removed: impl IntoIterator<Item = RemovedPost>,
    ) -> LiveblogState {
        let mut state = LiveblogState {
            object,
            head: Arc::new(head),
            posts: Sequence::default(),
            by_loid: LayeredMap::default(),
            by_uuid: LayeredMap::default(),
            by_name: LayeredMap::default(),
            changes: LayeredMap::default(),
            counts: [0; 4],
            hidden: Map::default(),
            bytes: 0,
            removed: 0,
        };
        for post in posts {
            state.keep(Arc::new(post));
        }
        for removed in removed {
            state.remember(removed);
        }
        state
    }

    /// Returns the fields beside record and posts.
    pub fn head(&self) -> &LiveblogHead {
        &self.head
    }

    /// Returns all posts in the order of the listing: pinned first, then newest first.
    pub fn posts(&self) -> impl Iterator<Item = &Arc<Post>> {
        self.posts.iter()
    }

    /// Returns the posts as a sequence, for access by position.
    pub fn sequence(&self) -> &Sequence<Arc<Post>> {
        &self.posts
    }

    /// Returns the number of posts with a status.
    pub fn count(&self, status: PostStatus) -> usize {
        self.counts[status as usize]
    }

    /// Returns the latest timestamp of an approved post, epoch milliseconds.
    pub fn last_timestamp(&self) -> Option<u64> {
        // The newest is the first one, both of the pinned posts and of the others.
        let (_, pinned) = self.posts.rank(FIRST_UNPINNED);
        let at = |position| self.posts.nth_visible(position).map(|post| post.timestamp);
        at(0).max(at(pinned))
    }

    /// Returns the post at an address.
    ///
    /// # Errors
    /// `ObjectNotFound` if the liveblog does not hold it.
    pub fn get(&self, address: &PostAddress) -> Result<&Arc<Post>> {
        self.find(address).ok_or_else(|| self.not_held(address))
    }

    /// Returns the post at an address, if the liveblog holds it.
    pub fn find(&self, address: &PostAddress) -> Option<&Arc<Post>> {
        let loid = match address {
            PostAddress::Loid(loid) => *loid,
            PostAddress::Uuid(uuid) => *self.by_uuid.get(uuid)?,
            PostAddress::Name(name) => *self.by_name.get(&NameKey::of(name)?)?,
        };
        self.posts.get(*self.by_loid.get(&loid)?)
    }

    /// Returns the post at an address for reading. The loid of its present version names it, too.
    pub fn find_to_read(&self, address: &PostAddress) -> Option<&Arc<Post>> {
        match address {
            PostAddress::Loid(loid) if loid.version != 0 => {
                let found = self.find(&PostAddress::Loid(loid.object()));
                found.filter(|post| post.record.version == loid.version)
            }
            _ => self.find(address),
        }
    }

    /// Returns the post at an address for reading, or an error if the liveblog does not hold it.
    ///
    /// # Errors
    /// The errors of [`LiveblogState::get`].
    pub fn read(&self, address: &PostAddress) -> Result<&Arc<Post>> {
        self.find_to_read(address).ok_or_else(|| self.not_held(address))
    }

    /// Returns the error for a post that does not exist, or that the caller may not know of.
    pub fn not_held(&self, address: &PostAddress) -> Error {
        let message = format!("The liveblog `{}` holds no post `{address}`.", self.head.loid);
        Error::new(Code::ObjectNotFound, message).with_source(address)
    }

    /// Returns the posts of an author that are not approved; `None` if there are none.
    pub(super) fn hidden_of(&self, author: &str) -> Option<&HiddenPosts> {
        self.hidden.get(author)
    }

    /// Returns the post with a name.
    pub(super) fn named(&self, name: TimedName) -> Option<&Arc<Post>> {
        let loid = self.by_name.get(&NameKey::Timed(name))?;
        self.posts.get(*self.by_loid.get(loid)?)
    }

    /// Returns a free name: the given one, or the one with the number after the last of its time.
    pub(super) fn free_name(&self, name: TimedName) -> TimedName {
        if self.by_name.get(&NameKey::Timed(name)).is_none() {
            return name;
        }
        // The last name is at least the given one.
        match self.by_name.last_up_to(&NameKey::Timed(name.last())) {
            Some((NameKey::Timed(last), _)) => last.next(),
            _ => name,
        }
    }

    /// Returns the posts that have changed after a revision, oldest change first, each one once. A
    /// post is given in its present state, or by its row if it was removed.
    pub fn since(&self, revision: u64) -> impl Iterator<Item = std::result::Result<&Arc<Post>, &RemovedPost>> {
        self.changes.after(&revision).filter_map(|(_, change)| match change {
            // The index names only posts that exist.
            LatestPostChange::There(loid) => self.by_loid.get(loid).and_then(|order| self.posts.get(*order)).map(Ok),
            LatestPostChange::Removed(removed) => Some(Err(&**removed)),
        })
    }

    /// Returns the revision that the running change will have.
    pub(super) fn next_revision(&self) -> u64 {
        self.object.record.revision + 1
    }

    fn keep(&mut self, post: Arc<Post>) {
        let loid = post.loid();
        self.counts[post.status as usize] += 1;
        self.bytes += post.bytes();
        if post.status != PostStatus::Approved {
            self.hidden.entry(post.author().clone()).or_default().put(&post);
        }
        self.by_loid.insert(loid, post.place_in_order());
        self.by_uuid.insert(post.record.uuid, loid);
        // The name of a post is never too long.
        if let Some(name) = NameKey::of(&post.record.name) {
            self.by_name.insert(name, loid);
        }
        self.changes.insert(post.record.revision, LatestPostChange::There(loid));
        self.posts.put(post);
    }

    fn forget(&mut self, post: &Post) {
        self.counts[post.status as usize] -= 1;
        self.bytes -= post.bytes();
        if let Some(hidden) = self.hidden.get_mut(post.author())
            && post.status != PostStatus::Approved
        {
            hidden.remove(post);
            if hidden.is_empty() {
                self.hidden.remove(post.author());
            }
        }
        self.posts.remove(post.place_in_order());
        self.by_loid.remove(&post.loid());
        self.by_uuid.remove(&post.record.uuid);
        if let Some(name) = NameKey::of(&post.record.name) {
            self.by_name.remove(&name);
        }
        self.changes.remove(&post.record.revision);
    }

    /// Puts a new post. Returns the liveblog's revision after the change.
    pub(super) fn insert(&mut self, mut post: Post, context: &mut Context<'_>) -> u64 {
        let revision = self.next_revision();
        post.record.revision = revision;
        context.put(None, &post);
        context.concerns_seen(self.head.loid, post.loid(), false, post.is_seen());
        self.keep(Arc::new(post));
        revision
    }

    /// Replaces a post. Returns the liveblog's revision after the change.
    pub(super) fn replace(&mut self, old: &Post, mut new: Post, context: &mut Context<'_>) -> u64 {
        let revision = self.next_revision();
        new.record.revision = revision;
        new.record.modified = context.now_s();
        new.record.last_modifier = context.who.user.clone();
        context.put(Some(old), &new);
        context.concerns_seen(self.head.loid, new.loid(), old.is_seen(), new.is_seen());
        self.forget(old);
        self.keep(Arc::new(new));
        revision
    }

    /// Removes a post permanently, with its versions, attributes and attachments, and remembers the
    /// removal. Returns the liveblog's revision after the change.
    pub(super) fn take(&mut self, post: &Post, context: &mut Context<'_>) -> Result<u64, CommandFault> {
        erase(post, context)?;
        let removed = RemovedPost {
            liveblog: self.head.loid,
            post: post.loid(),
            revision: self.next_revision(),
            was_approved: post.was_approved(),
            author: post.author().clone(),
        };
        context.put(None, &removed);
        context.concerns_seen(self.head.loid, post.loid(), post.is_seen(), false);
        self.forget(post);
        Ok(self.remember(removed))
    }

    fn remember(&mut self, removed: RemovedPost) -> u64 {
        let revision = removed.revision;
        self.changes.insert(revision, LatestPostChange::Removed(Arc::new(removed)));
        self.removed += 1;
        revision
    }

    /// Sets whether new posts wait for approval.
    pub fn moderate(&mut self, moderated: bool, context: &mut Context<'_>) {
        let head = LiveblogHead { moderated, ..LiveblogHead::clone(&self.head) };
        if head != *self.head {
            context.put(Some(&*self.head), &head);
            self.head = Arc::new(head);
        }
    }

    /// Destroys the liveblog: removes its posts and its head.
    pub(super) fn dissolve(&mut self, context: &mut Context<'_>) -> Result<(), CommandFault> {
        for post in &self.posts {
            erase(post, context)?;
        }
        for removed in self.changes.iter().filter_map(|(_, change)| change.removed()) {
            context.remove(removed);
        }
        context.remove(&*self.head);
        Ok(())
    }

    /// Returns the keys of the rows that this state should have among the parts, for tests and
    /// checks.
    pub fn rows(&self) -> Vec<RowPlace> {
        let removed = self.changes.iter().filter_map(|(_, change)| change.removed()).map(Row::place);
        std::iter::once(self.head.place()).chain(self.posts.iter().map(|post| post.place())).chain(removed).collect()
    }
}

/// Removes all rows of a post.
fn erase(post: &Post, context: &mut Context<'_>) -> Result<(), CommandFault> {
    context.remove(post);
    part::erase(post.owner(), &post.attachments, context)
}
