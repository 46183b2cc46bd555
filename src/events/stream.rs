//! One follower's connection: where it begins, what it is sent, when it ends.
//!
//! It ends when the caller's session ends, the container may not be read any more or is gone, the follower has fallen behind by
//! more than `events.queue_events`, or the server ends. All of that is checked before each event, and every [`LOOK`] besides,
//! so that an idle stream ends as well. A follower that has gone is noticed when something is written to it twice, so whatever is
//! sent is followed by a comment at the next look. A container in the recycle bin is followed up to the revision that it has there: its
//! state may be far ahead of the event that is sent.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::unfold;
use stet_actors::error::{Error, Result};
use stet_actors::id::Loid;
use stet_actors::object::Record;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};

use super::sight::event_text;
use super::stored::{Happening, Notice, named, read};
use super::{Follower, Followers};
use crate::access::Access;
use crate::auth::LiveSession;
use crate::newsroom::Newsroom;

/// The bytes of a stream, as the web layer sends them.
pub type Body = Pin<Box<dyn futures_util::Stream<Item = Result<Bytes, actix_web::Error>>>>;

/// How often an idle stream looks whether it should go on.
const LOOK: Duration = Duration::from_secs(1);

/// Events that are read from the store at a time, if they are light enough.
const CHUNK: usize = 256;

/// The name of the first event of a stream that begins now.
pub const HELLO: &str = "hello";

/// The name of the event that says: missed events are no longer kept, read the container again.
pub const RESET: &str = "reset";

/// A line that says nothing, so that the connection is used.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// Who follows what, and from where on.
pub struct Following {
    /// What the server is made of.
    pub newsroom: Arc<Newsroom>,
    /// Who follows.
    pub session: Arc<LiveSession>,
    /// The container that is followed.
    pub container: Loid,
    /// The last event that the caller has; `None` begins with the present.
    pub after: Option<u64>,
    /// Whether to wait for more, once all stored events have been sent.
    pub wait: bool,
}

/// A stream's state between two pieces.
struct Stream {
    following: Following,
    /// `None` for one that does not wait.
    follower: Option<Follower>,
    /// The last revision that was sent.
    at: u64,
    next: Next,
    /// When something was last sent.
    sent: Instant,
    /// Whether something more was sent since. To one that has gone the first write succeeds, and only the next one shows it.
    asked: bool,
}

/// What a stream does next.
enum Next {
    /// It sends this, then goes on with what is stored, or with what happens.
    Send(Bytes, bool),
    /// It reads what is stored.
    Stored,
    /// It waits for what happens.
    Live,
    /// It ends.
    End,
}

/// The container may not be followed any more.
struct Over;

impl Following {
    /// Enters the list and gives the body.
    ///
    /// # Errors
    /// `Overloaded`, see [`Followers::follow`]; `ObjectNotFound` for a container that has just gone; what the store says.
    pub fn begin(self, followers: &Arc<Followers>) -> Result<Body> {
        let Following { newsroom, container, .. } = &self;
        let follower = match self.wait {
            true => Some(followers.follow(&newsroom.repository, *container, self.session.user(), self.present()?)?),
            false => None,
        };
        // Only now: a change that is committed from here on is heard of.
        let present = self.present()?;
        let (at, first) = match self.after {
            None => (present, Next::Send(self.plain(HELLO, present), false)),
            Some(after) if after == present => (after, Next::Send(COMMENT, false)),
            Some(after) if after < present && self.is_kept(after)? => (after, Next::Send(COMMENT, true)),
            Some(_) => (present, Next::Send(self.plain(RESET, present), false)),
        };
        let stream = Stream { following: self, follower, at, next: first, sent: Instant::now(), asked: false };
        Ok(Box::pin(unfold(stream, |stream| stream.piece())))
    }

    /// The container's revision on disk.
    fn present(&self) -> Result<u64> {
        let record = self.newsroom.repository.record(self.container)?;
        record.map(|record| record.revision).ok_or_else(|| Error::not_found(self.container))
    }

    /// Whether the events after a revision are all there: the oldest go first.
    fn is_kept(&self, after: u64) -> Result<bool> {
        let (next, _) = read(self.newsroom.repository.look(), self.container, after, 1).map_err(unreadable)?;
        Ok(next.first().is_some_and(|next| next.revision() == after + 1))
    }

    fn plain(&self, name: &str, revision: u64) -> Bytes {
        named(name, &Notice::bare(self.container, revision))
    }

    /// Looks at the caller, then gives the record to `read`. Returned beside its answer is the last revision that may be sent, if
    /// the container is in the recycle bin.
    fn looked_at<T>(&self, read: impl FnOnce(Access<'_>, &Record) -> Result<T>) -> Result<(T, Option<u64>), Over> {
        let over = |error: Error| {
            tracing::debug!(container = %self.container, %error, "a stream ends");
            Over
        };
        self.newsroom.sessions.check(&self.session).map_err(over)?;
        let rights = self.session.rights();
        let access = Access::of(&self.newsroom, &self.session, &rights);
        let checked = |record: &Record| {
            let well = access.check_own(record, &self.container);
            let last = record.is_discarded().then_some(record.revision);
            well.and_then(|()| Ok((read(access, record)?, last)))
        };
        let look = || match self.newsroom.records.get(&self.newsroom.repository, self.container)? {
            Some(cached) => checked(&cached),
            None => match self.newsroom.repository.any_record(self.container)? {
                Some(record) => checked(&record),
                None => Err(Error::not_found(self.container)),
            },
        };
        look().map_err(over)
    }
}

fn unreadable(error: stet_actors::store::StoreError) -> Error {
    tracing::error!(%error, "events can't be read");
    Error::internal()
}

impl Stream {
    async fn piece(mut self) -> Option<(Result<Bytes, actix_web::Error>, Stream)> {
        loop {
            let given = match std::mem::replace(&mut self.next, Next::End) {
                Next::Send(bytes, stored) => {
                    self.next = if stored { Next::Stored } else { self.live() };
                    Ok(Some(bytes))
                }
                Next::Stored => self.stored().await,
                Next::Live => self.happens().await,
                Next::End => return None,
            };
            match given {
                Ok(Some(bytes)) => {
                    // A comment behind another tells nothing new.
                    self.asked = bytes == COMMENT && !self.asked;
                    self.sent = Instant::now();
                    return Some((Ok(bytes), self));
                }
                Ok(None) => {}
                Err(Over) => return None,
            }
        }
    }

    /// Live events, after all the stored ones.
    fn live(&self) -> Next {
        if self.follower.is_some() { Next::Live } else { Next::End }
    }

    /// Sends the stored events, some at a time.
    async fn stored(&mut self) -> Result<Option<Bytes>, Over> {
        if let Some(follower) = &mut self.follower {
            // What happens from here on comes again; what came while the store was read before is in it now.
            follower.receiver = follower.receiver.resubscribe();
        }
        let (newsroom, container, at) = (self.following.newsroom.clone(), self.following.container, self.at);
        // It may have to wait for a disk.
        let chunk = tokio::task::spawn_blocking(move || read(newsroom.repository.look(), container, at, CHUNK)).await;
        let (chunk, more) = match chunk {
            Ok(Ok(read)) => read,
            Ok(Err(error)) => {
                tracing::error!(%container, %error, "the events of a container can't be read; a stream ends");
                return Err(Over);
            }
            Err(_) => return Err(Over),
        };
        self.next = if more { Next::Stored } else { self.live() };
        let mut text = BytesMut::new();
        for happening in &chunk {
            if happening.revision() != self.at + 1 {
                // They have just grown too old.
                let Ok(present) = self.following.present() else { return Err(Over) };
                self.at = present;
                self.next = Next::Stored;
                text.extend_from_slice(&self.following.plain(RESET, present));
                break;
            }
            let (event, last) = self.text_of(happening)?;
            text.extend_from_slice(&event);
            if last {
                self.next = Next::End;
                break;
            }
        }
        Ok((!text.is_empty()).then(|| text.freeze()))
    }

    /// Waits for the next event, or for the time to send a comment.
    async fn happens(&mut self) -> Result<Option<Bytes>, Over> {
        let keep_alive = self.sent + Duration::from_secs(self.following.newsroom.config.events.keep_alive_seconds);
        let Some(follower) = &mut self.follower else { return Err(Over) };
        let look = (Instant::now() + LOOK).min(keep_alive);
        let heard = tokio::select! {
            biased;
            heard = follower.receiver.recv() => Some(heard),
            () = sleep_until(look) => None,
        };
        self.next = Next::Live;
        match heard {
            Some(Ok(happening)) if happening.revision() <= self.at => Ok(None),
            Some(Ok(happening)) if happening.revision() == self.at + 1 => {
                let (event, last) = self.text_of(&happening)?;
                if last {
                    self.next = Next::End;
                }
                Ok(Some(event))
            }
            // The store has what is missing.
            Some(Ok(_)) => {
                self.next = Next::Stored;
                Ok(None)
            }
            Some(Err(RecvError::Lagged(missed))) => {
                tracing::info!(container = %self.following.container, missed, "a follower has fallen behind");
                follower.dropped();
                Err(Over)
            }
            // The server ends. The pump may not have come to all that was done before, but the store has it.
            Some(Err(RecvError::Closed)) => self.stored().await?.map(Some).ok_or(Over),
            None => {
                match self.following.looked_at(|_, _| Ok(()))? {
                    ((), None) => Ok((!self.asked || Instant::now() >= keep_alive).then_some(COMMENT)),
                    ((), Some(last)) if self.at >= last => Err(Over),
                    // The pump has not come so far, but the store has it; or it has grown too old, and nobody has it.
                    ((), Some(_)) => self.stored().await?.map(Some).ok_or(Over),
                }
            }
        }
    }

    /// The text of the next event, and whether it is the last: the container is in the recycle bin, and nothing more was done.
    fn text_of(&mut self, happening: &Happening) -> Result<(Bytes, bool), Over> {
        let Following { newsroom, .. } = &self.following;
        let (text, last) =
            self.following.looked_at(|access, record| event_text(newsroom, access, record, happening))?;
        self.at = happening.revision();
        if let Some(follower) = &self.follower {
            follower.sent(1);
        }
        Ok((text, last.is_some_and(|last| self.at >= last)))
    }
}
