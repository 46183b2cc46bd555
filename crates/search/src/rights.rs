//! The rights of the caller, as a part of the query.
//!
//! The decision on an object depends on its place only: the folder that contains it, or the object
//! itself if others lie in it. A post's place is its liveblog, and who sees it depends on its
//! status and author, too. A message is found by those in whose boxes it is. Decisions on places
//! are kept for the one search.

use std::cell::{OnceCell, RefCell};

use foldhash::{HashMap, HashMapExt, HashSet};
use stet_auth::Privilege;
use stet_domain::error::{Error, Result};
use stet_domain::id::Loid;
use stet_domain::liveblog::{Post, PostSight};
use stet_domain::store::Table;
use stet_fulltext::{DocumentFilter, FilterFields};
use stet_newsroom::Newsroom;
use stet_newsroom::access::Access;
use stet_newsroom::messages::{MessageBox, MessageEntry};

use crate::documents::{MESSAGE, POST, key_of, loid_of};

/// Maximum number of decisions that a search keeps: some 4 MB.
const MOST_DECISIONS: usize = 100_000;

/// The documents that one caller may find.
pub struct ReadableDocuments<'a> {
    newsroom: &'a Newsroom,
    access: Access<'a>,
    /// The name of the caller, if they are a person: keys have no messages.
    person: Option<&'a str>,
    /// The folder in which all documents must lie.
    within: Option<Loid>,
    /// Whether all objects are admitted, wherever they lie.
    sees_all: bool,
    places: RefCell<HashMap<u128, bool>>,
    liveblogs: RefCell<HashMap<u128, Option<PostSight>>>,
    messages: OnceCell<HashSet<u128>>,
    failure: RefCell<Option<Error>>,
}

impl<'a> ReadableDocuments<'a> {
    /// Creates the filter of a caller. With `within`, only objects and posts in that folder are
    /// found, at any depth.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn of(
        newsroom: &'a Newsroom,
        access: Access<'a>,
        person: Option<&'a str>,
        within: Option<Loid>,
    ) -> Result<ReadableDocuments<'a>> {
        Ok(ReadableDocuments {
            newsroom,
            access: access.knowing_home()?,
            sees_all: access.sees_all() && within.is_none(),
            person,
            within,
            places: RefCell::new(HashMap::new()),
            liveblogs: RefCell::new(HashMap::new()),
            messages: OnceCell::new(),
            failure: RefCell::new(None),
        })
    }

    /// Ends the search: returns the error that a decision met. The result is worthless then.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn finish(self) -> Result<()> {
        self.failure.into_inner().map_or(Ok(()), Err)
    }

    /// Returns a decision, or the given one after an error, which [`ReadableDocuments::finish`]
    /// returns.
    fn decided<T>(&self, decision: Result<T>, otherwise: T) -> T {
        decision.unwrap_or_else(|error| {
            self.failure.borrow_mut().get_or_insert(error);
            otherwise
        })
    }

    fn admits_place(&self, place: u128) -> bool {
        if let Some(known) = self.places.borrow().get(&place) {
            return *known;
        }
        let admitted = self.decided(self.decide_place(loid_of(place)), false);
        keep(&self.places, place, admitted);
        admitted
    }

    fn decide_place(&self, place: Loid) -> Result<bool> {
        let Some(record) = self.newsroom.records.get(&self.newsroom.repository, place)? else { return Ok(false) };
        if let Some(folder) = self.within
            && !self.access.lies_within(&record, folder)?
        {
            return Ok(false);
        }
        self.access.may(Privilege::Read, &record)
    }

    /// Returns the access of the caller.
    pub fn access(&self) -> Access<'a> {
        self.access
    }

    /// Reports whether the caller sees a post, as it is now.
    pub fn sees_post(&self, post: &Post) -> bool {
        self.admits_post(key_of(post.liveblog), post.is_seen(), |user| **post.author() == *user)
    }

    fn admits_post(&self, liveblog: u128, is_approved: bool, is_author: impl Fn(&str) -> bool) -> bool {
        let known = self.liveblogs.borrow().get(&liveblog).cloned();
        let sight = known.unwrap_or_else(|| {
            let decided = self.decided(self.decide_liveblog(loid_of(liveblog)), None);
            keep(&self.liveblogs, liveblog, decided.clone());
            decided
        });
        match sight {
            None => false,
            Some(PostSight::All) => true,
            Some(PostSight::Approved) => is_approved,
            Some(PostSight::Own(user)) => is_approved || is_author(&user),
        }
    }

    /// Returns which posts of a liveblog the caller sees; `None` if they may not read it.
    fn decide_liveblog(&self, liveblog: Loid) -> Result<Option<PostSight>> {
        let Some(record) = self.newsroom.records.get(&self.newsroom.repository, liveblog)? else { return Ok(None) };
        match self.decide_place(liveblog)? {
            true => self.access.sight(&record).map(Some),
            false => Ok(None),
        }
    }

    /// Reports whether a message is in a box of the caller.
    pub fn admits_message(&self, message: u128) -> bool {
        let Some(user) = self.person.filter(|_| self.within.is_none()) else { return false };
        let messages = self.messages.get_or_init(|| self.decided(self.messages_of(user), HashSet::default()));
        messages.contains(&message)
    }

    /// Returns the keys of all messages in a user's boxes, whose number the configuration limits.
    fn messages_of(&self, user: &str) -> Result<HashSet<u128>> {
        let mut keys = HashSet::default();
        for side in [MessageBox::Inbox, MessageBox::Outbox] {
            let range = MessageEntry::range(user, side);
            let entries: Vec<MessageEntry> =
                self.newsroom.repository.rows_within(Table::Boxes, &range, usize::MAX, false)?;
            keys.extend(entries.iter().map(|entry| key_of(stet_newsroom::messages::id_of(entry.number))));
        }
        Ok(keys)
    }
}

/// Keeps a decision. When there are too many, the earlier ones are forgotten and decided again.
fn keep<T>(decisions: &RefCell<HashMap<u128, T>>, key: u128, decision: T) {
    let mut decisions = decisions.borrow_mut();
    if decisions.len() >= MOST_DECISIONS {
        decisions.clear();
    }
    decisions.insert(key, decision);
}

impl DocumentFilter for ReadableDocuments<'_> {
    fn admits(&self, fields: &FilterFields<'_>) -> bool {
        match fields.kind() {
            MESSAGE => self.admits_message(fields.key()),
            POST => self.admits_post(fields.place(), fields.is_visible(), |user| fields.has_owner(user)),
            _ if self.sees_all => true,
            _ => self.admits_place(fields.place()),
        }
    }
}
