//! One follower's connection: where it begins, what it is sent, when it ends.
//!
//! It ends when the caller's session ends, the container may not be read any more or is gone, the
//! follower has fallen behind by more than `events.queue_events`, or the server ends. All of that
//! is checked before each event, and every [`LOOK`] besides, so that an idle stream ends as well. A
//! follower that has gone is noticed when something is written to it twice, so whatever is sent is
//! followed by a comment at the next look. A container in the recycle bin is followed up to the
//! revision that it has there: its state may be far ahead of the event that is sent.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use actix_web::error::ErrorInternalServerError;
use bytes::{Bytes, BytesMut};
use futures_util::stream::unfold;
use stet_actors::error::{Error, Result};
use stet_actors::id::Loid;
use stet_actors::object::Record;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until, timeout};

use super::sight::Sifting;
use super::stored::{Happening, Notice, Written, named, next_kept, read};
use super::{Follower, Followers, Place};
use crate::access::Access;
use crate::auth::LiveSession;
use crate::auth::Privilege;
use crate::limits::yielding::YieldTimer;
use crate::limits::{Holder, MemoryBudget, PIECE, Purpose, Reservation};
use crate::newsroom::Newsroom;

/// The bytes of a stream, as the web layer sends them.
pub type Body = Pin<Box<dyn futures_util::Stream<Item = Result<Bytes, actix_web::Error>>>>;

/// How often an idle stream looks whether it should go on.
const LOOK: Duration = Duration::from_secs(1);

/// Events that are read from the store at a time, if they are light enough.
const CHUNK: usize = 256;

/// How long a large event waits for room, which others give back when their clients have taken what
/// they asked for or are let go.
const PATIENCE: Duration = Duration::from_secs(10);

/// The name of the first event of a stream that begins now.
pub const HELLO: &str = "hello";

/// The name of the event that says: missed events are no longer kept, read the container again.
pub const RESET: &str = "reset";

/// The beginning of every stream: the milliseconds that a browser waits before it connects again.
///
/// Browsers wait between a few milliseconds and five seconds by themselves. Three seconds let a
/// server restart before its followers return.
const RETRY: &str = "retry: 3000\n\n";

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
    /// The last event that the caller has; `None` begins with the present, 0 with the oldest event
    /// that is kept.
    pub after: Option<u64>,
    /// Whether to wait for more, once all stored events have been sent.
    pub wait: bool,
    /// Where large texts count as long as the client has not taken them.
    pub memory: MemoryBudget,
}

/// A stream's state between two pieces.
struct Stream {
    following: Following,
    place: Place,
    /// `None` for one that does not wait.
    follower: Option<Follower>,
    /// The last revision that was sent, or is on its way.
    at: u64,
    next: Next,
    /// What has not been handed on yet of what is on its way.
    rest: Text,
    /// Room for a text that was found to need it.
    room: Option<Reservation>,
    /// When something was last sent.
    sent: Instant,
    /// Whether something more was sent since. To one that has gone the first write succeeds, and
    /// only the next one shows it.
    asked: bool,
    /// Whether it could not take what happened as it did, and has not come up since.
    late: bool,
}

/// What a stream does next.
enum Next {
    /// It sends this, then goes on with what is stored, or with what happens.
    Send(Bytes, bool),
    /// It reads what is stored.
    Stored,
    /// It waits for room for so many bytes, then reads what is stored. It has none of them in
    /// memory meanwhile.
    Room(u64),
    /// It waits for what happens.
    Live,
    /// It ends.
    End,
}

/// What is sent, and its part of the pool.
#[derive(Default)]
struct Text {
    bytes: Bytes,
    _room: Option<Arc<Reservation>>,
}

impl From<Bytes> for Text {
    /// Few, which do not count.
    fn from(bytes: Bytes) -> Text {
        Text { bytes, _room: None }
    }
}

/// Why a stream ends.
enum Ended {
    /// The container may not be followed any more.
    Over,
    /// Others take too much of the pool: it is broken off, so that nobody takes that for all that
    /// there is.
    NoRoom,
}

impl Following {
    /// Enters the list and gives the body.
    ///
    /// # Errors
    /// `Overloaded`, see [`Followers::place`] and [`Followers::follow`]; `ObjectNotFound` for a
    /// container that has just gone; what the store says.
    pub async fn begin(self, followers: &Arc<Followers>) -> Result<Body> {
        let Following { newsroom, container, .. } = &self;
        let place = followers.place(self.session.user(), self.wait)?;
        let follower = match self.wait {
            true => Some(followers.follow(&newsroom.repository, *container, self.present()?)?),
            false => None,
        };
        // Only now: a change that is committed from here on is heard of.
        let present = self.present()?;
        // The log shows an event a moment after rows show what it tells of, and before views do.
        // Who came in between would not find the event that comes next, and be told to begin anew.
        newsroom.repository.views_agree().await;
        let (at, first, stored) = self.beginning(&place, present).await?;
        let first = Next::Send([RETRY.as_bytes(), &first].concat().into(), stored);
        let rest = Text::default();
        let sent = Instant::now();
        let stream = Stream {
            following: self,
            place,
            follower,
            at,
            next: first,
            rest,
            room: None,
            sent,
            asked: false,
            late: false,
        };
        Ok(Box::pin(unfold(stream, |stream| stream.piece())))
    }

    /// The container's revision on disk.
    fn present(&self) -> Result<u64> {
        let record = self.newsroom.repository.record(self.container)?;
        record.map(|record| record.revision).ok_or_else(|| Error::not_found(self.container))
    }

    /// Returns the revision after which the stream begins, its first text, and whether stored
    /// events follow.
    async fn beginning(&self, place: &Place, present: u64) -> Result<(u64, Bytes, bool)> {
        let Some(after) = self.after else { return Ok((present, self.plain(HELLO, present), false)) };
        if after == present {
            return Ok((present, COMMENT, false));
        }
        if after > present {
            return Ok((present, self.plain(RESET, present), false));
        }
        Ok(match self.next_kept(place, after).await? {
            Some(next) if next == after + 1 => (after, COMMENT, true),
            // 0 is no revision of an event, but the beginning of all that are kept.
            Some(oldest) if after == 0 => (oldest - 1, COMMENT, true),
            None if after == 0 => (present, COMMENT, false),
            _ => (present, self.plain(RESET, present), false),
        })
    }

    /// Returns the revision of the first event after another one that is kept. The event is read
    /// for it, which may be large or wait for a disk.
    async fn next_kept(&self, place: &Place, after: u64) -> Result<Option<u64>> {
        let (newsroom, container, turn) = (self.newsroom.clone(), self.container, place.short_turn().await?);
        let reading = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            next_kept(newsroom.repository.events(), container, after)
        });
        reading.await.map_err(|_| Error::internal())?.map_err(unreadable)
    }

    fn plain(&self, name: &str, revision: u64) -> Bytes {
        named(name, &Notice::bare(self.container, revision))
    }

    /// Looks at the caller, then gives the record to `read`. Returned beside its answer is the last
    /// revision that may be sent, if the container is in the recycle bin.
    fn looked_at<T>(&self, read: impl FnOnce(Access<'_>, &Record) -> Result<T>) -> Result<(T, Option<u64>), Ended> {
        let over = |error: Error| {
            tracing::debug!(container = %self.container, %error, "a stream ends");
            Ended::Over
        };
        self.newsroom.sessions.check(&self.session).map_err(over)?;
        let rights = self.session.rights();
        let access = Access::of(&self.newsroom, &self.session, &rights);
        let checked = |record: &Record| {
            let well = access.check(Privilege::Read, record, &self.container);
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
            if !self.rest.bytes.is_empty() {
                let size = self.rest.bytes.len().min(PIECE);
                let piece = self.rest.bytes.split_to(size);
                // A comment behind another tells nothing new.
                self.asked = piece == COMMENT && !self.asked;
                self.sent = Instant::now();
                return Some((Ok(piece), self));
            }
            // Nothing of it is there any more.
            self.rest = Text::default();
            let given = match std::mem::replace(&mut self.next, Next::End) {
                Next::Send(bytes, stored) => {
                    self.next = if stored { Next::Stored } else { self.live() };
                    Ok(bytes.into())
                }
                Next::Stored => self.stored().await,
                Next::Room(bytes) => self.wait_for_room(bytes).await,
                Next::Live => self.happens().await,
                Next::End => return None,
            };
            match given {
                Ok(text) => self.rest = text,
                Err(Ended::Over) => {
                    // Who is told that a container is gone does not find it any more.
                    self.following.newsroom.repository.views_agree().await;
                    return None;
                }
                Err(Ended::NoRoom) => {
                    metrics::counter!("stet_overloaded_total", "what" => "replies").increment(1);
                    self.next = Next::End;
                    return Some((Err(ErrorInternalServerError("there is no room for a large event")), self));
                }
            }
        }
    }

    /// Live events, after all the stored ones.
    fn live(&self) -> Next {
        if self.follower.is_some() { Next::Live } else { Next::End }
    }

    /// Waits until there is room.
    async fn wait_for_room(&mut self, bytes: u64) -> Result<Text, Ended> {
        let room = self.nothing();
        timeout(PATIENCE, room.wait_to(bytes)).await.map_err(|_| Ended::NoRoom)?;
        (self.room, self.next) = (Some(room), Next::Stored);
        Ok(Text::default())
    }

    fn nothing(&self) -> Reservation {
        let holder = Holder::User(self.following.session.user().clone());
        self.following.memory.reservation(Some(holder), Purpose::Replies)
    }

    /// The text with its part of the pool, if that is there. Once it has been waited for, it is
    /// taken, whatever has become of it since.
    fn with_room(&mut self, text: Written) -> Option<Text> {
        let Written { bytes, share } = text;
        if bytes.len() <= PIECE {
            return Some(bytes.into());
        }
        let waited = self.room.take();
        let may_fail = waited.is_none();
        let room = share.reserve(bytes.len() as u64, waited.unwrap_or_else(|| self.nothing()), may_fail)?;
        Some(Text { bytes, _room: Some(room) })
    }

    /// Sends the stored events, some at a time. It says nothing if there are none, or if there is
    /// no room for the next of them.
    async fn stored(&mut self) -> Result<Text, Ended> {
        if let Some(follower) = &mut self.follower {
            // What happens from here on comes again; what came while the store was read before is
            // in it now.
            follower.receiver = follower.receiver.resubscribe();
        }
        let turn = self.place.turn().await.map_err(|_| Ended::Over)?;
        let (newsroom, container, at) = (self.following.newsroom.clone(), self.following.container, self.at);
        // It may have to wait for a disk. The turn lasts until the texts are made; what has begun
        // is carried to its end.
        let reading =
            tokio::task::spawn_blocking(move || (read(newsroom.repository.events(), container, at, CHUNK), turn));
        let (chunk, more, _turn) = match reading.await {
            Ok((Ok((chunk, more)), turn)) => (chunk, more, turn),
            Ok((Err(error), _)) => {
                tracing::error!(%container, %error, "the events of a container can't be read; a stream ends");
                return Err(Ended::Over);
            }
            Err(_) => return Err(Ended::Over),
        };
        // Whoever hears of an event finds it in the container.
        self.following.newsroom.repository.views_agree().await;
        self.late &= more;
        self.check_late()?;
        self.next = if more { Next::Stored } else { self.live() };
        let (mut text, mut way) = (BytesMut::new(), YieldTimer::new());
        for happening in &chunk {
            way.yield_if_due().await;
            if happening.revision() != self.at + 1 {
                // They have just grown too old.
                let Ok(present) = self.following.present() else { return Err(Ended::Over) };
                self.following.newsroom.repository.views_agree().await;
                self.at = present;
                self.next = Next::Stored;
                text.extend_from_slice(&self.following.plain(RESET, present));
                break;
            }
            let mut sifting = Sifting::of(happening);
            let (event, last) = loop {
                if let Some(made) = self.look_at(&mut sifting, &way)? {
                    break made;
                }
                way.yield_now().await;
            };
            if event.bytes.len() > PIECE {
                // It comes alone: what is read at a time is no more, or one event.
                let bytes = event.bytes.len() as u64;
                match self.with_room(event).filter(|_| text.is_empty()) {
                    Some(event) => {
                        self.is_on_its_way(happening.revision(), last);
                        return Ok(event);
                    }
                    None => self.next = if text.is_empty() { Next::Room(bytes) } else { Next::Stored },
                }
                break;
            }
            text.extend_from_slice(&event.bytes);
            if self.is_on_its_way(happening.revision(), last) {
                break;
            }
        }
        self.room = None;
        Ok(text.freeze().into())
    }

    /// What is stored where there is nothing more to wait for: the end is behind it.
    async fn last_stored(&mut self) -> Result<Text, Ended> {
        let text = self.stored().await?;
        if text.bytes.is_empty() && !matches!(self.next, Next::Room(_)) { Err(Ended::Over) } else { Ok(text) }
    }

    /// Lets go of a follower who could not take what happened, and is too far behind by now.
    fn check_late(&self) -> Result<(), Ended> {
        let Some(follower) = self.follower.as_ref().filter(|_| self.late) else { return Ok(()) };
        // Each revision has one event. What becomes of a container in the recycle bin, or of one
        // that is gone, is found elsewhere.
        let Ok(present) = self.following.present() else { return Ok(()) };
        let behind = present.saturating_sub(self.at);
        if behind > self.following.newsroom.config.events.queue_events as u64 {
            tracing::info!(container = %self.following.container, behind, "a follower has fallen behind");
            follower.dropped();
            return Err(Ended::Over);
        }
        Ok(())
    }

    /// Waits for the next event, or for the time to send a comment.
    async fn happens(&mut self) -> Result<Text, Ended> {
        let keep_alive = self.sent + Duration::from_secs(self.following.newsroom.config.events.keep_alive_seconds);
        let Some(follower) = &mut self.follower else { return Err(Ended::Over) };
        let look = (Instant::now() + LOOK).min(keep_alive);
        let heard = tokio::select! {
            biased;
            heard = follower.receiver.recv() => Some(heard),
            () = sleep_until(look) => None,
        };
        self.next = Next::Live;
        match heard {
            Some(Ok(heard)) if heard.revision <= self.at => Ok(Text::default()),
            Some(Ok(heard)) => {
                let next = heard.happening.upgrade().filter(|_| heard.revision == self.at + 1);
                let text = match next {
                    Some(happening) => self.heard(&happening)?,
                    None => None,
                };
                Ok(text.unwrap_or_else(|| {
                    // The store has what is missing, and there it gets a turn for what takes long.
                    self.next = Next::Stored;
                    Text::default()
                }))
            }
            Some(Err(RecvError::Lagged(_))) => {
                // The store has what followers are not told of any more.
                (self.next, self.late) = (Next::Stored, true);
                self.check_late()?;
                Ok(Text::default())
            }
            // The server ends. The pump may not have come to all that was done before, but the
            // store has it.
            Some(Err(RecvError::Closed)) => self.last_stored().await,
            None => {
                match self.following.looked_at(|_, _| Ok(()))? {
                    ((), None) => {
                        let comments = !self.asked || Instant::now() >= keep_alive;
                        Ok(if comments { COMMENT.into() } else { Text::default() })
                    }
                    ((), Some(last)) if self.at >= last => Err(Ended::Over),
                    // The pump has not come so far, but the store has it; or it has grown too old,
                    // and nobody has it.
                    ((), Some(_)) => self.last_stored().await,
                }
            }
        }
    }

    /// The text of the next event, if that is made at once and there is room for it.
    fn heard(&mut self, happening: &Happening) -> Result<Option<Text>, Ended> {
        let Some((event, last)) = self.look_at(&mut Sifting::of(happening), &YieldTimer::new())? else {
            return Ok(None);
        };
        let text = self.with_room(event);
        if text.is_some() {
            self.is_on_its_way(happening.revision(), last);
        }
        Ok(text)
    }

    /// The text of an event, if that does not take longer, and the last revision that may be sent,
    /// if there is one.
    fn look_at(&self, sifting: &mut Sifting<'_>, way: &YieldTimer) -> Result<Option<(Written, Option<u64>)>, Ended> {
        let newsroom = &self.following.newsroom;
        let (text, last) = self.following.looked_at(|access, record| sifting.go_on(newsroom, access, record, way))?;
        Ok(text.map(|text| (text, last)))
    }

    /// Notes that the event by which the container came to that revision is on its way. Whether it
    /// is the last: the container is in the recycle bin, and nothing more was done.
    fn is_on_its_way(&mut self, revision: u64, last: Option<u64>) -> bool {
        self.at = revision;
        if let Some(follower) = &self.follower {
            follower.sent(1);
        }
        let ends = last.is_some_and(|last| revision >= last);
        if ends {
            self.next = Next::End;
        }
        ends
    }
}
