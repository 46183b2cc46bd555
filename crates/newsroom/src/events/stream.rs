//! One follower's connection: its beginning, its events and its end.
//!
//! A stream ends
//!
//! - when the caller's session ends,
//! - when the container may no longer be read or was destroyed,
//! - when the follower is behind by more than `events.queue_events`,
//! - when the server ends.
//!
//! All of that is checked before each event, and every [`LOOK`] as well, so that an idle stream
//! ends, too. A follower that has disconnected is noticed only at the second write. So whatever is
//! sent is followed by a comment at the next check. A container in the recycle bin is followed up
//! to its revision there: its state may be far ahead of the event that is sent.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{Stream, unfold};
use stet_auth::LiveSession;
use stet_auth::Privilege;
use stet_base::limits::yielding::YieldTimer;
use stet_base::limits::{Holder, MemoryBudget, MemoryPurpose, PIECE, Reservation};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::Record;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until, timeout};

use super::sight::EventFilter;
use super::stored::{ContainerEvent, EventNotice, EventText, next_kept, read, render_named};
use super::{Follower, FollowerSlot, Followers};
use crate::Newsroom;
use crate::access::Access;

/// The text of a follower's events, in pieces. An error is the last item, and means that events are
/// missing.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Bytes>>>>;

/// Interval at which an idle stream checks whether it should go on.
const LOOK: Duration = Duration::from_secs(1);

/// Number of events that are read from the store at a time, if they are small enough.
const CHUNK: usize = 256;

/// Time for which a large event waits for memory, which others return when their clients have taken
/// their replies or are disconnected.
const PATIENCE: Duration = Duration::from_secs(10);

/// The name of the first event of a stream that begins with the present.
pub const HELLO: &str = "hello";

/// The name of the event after which the follower must read the container again, since missed
/// events are no longer kept.
pub const RESET: &str = "reset";

/// The beginning of every stream: the milliseconds that a browser waits before it connects again.
///
/// Browsers themselves wait between a few milliseconds and five seconds. Three seconds let a server
/// restart before its followers return.
const RETRY: &str = "retry: 3000\n\n";

/// A comment line, which only uses the connection.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// The request to follow a container: the caller, the container and the first event.
pub struct FollowRequest {
    /// The server's state.
    pub newsroom: Arc<Newsroom>,
    /// The session of the follower.
    pub session: Arc<LiveSession>,
    /// The followed container.
    pub container: Loid,
    /// The last event that the caller has; `None` begins with the present, 0 with the oldest event
    /// that is kept.
    pub after: Option<u64>,
    /// Whether to wait for more, once all stored events have been sent.
    pub wait: bool,
    /// The budget to which large texts are charged until the client has taken them.
    pub memory: MemoryBudget,
}

/// The state of a stream between two pieces.
struct FollowerStream {
    following: FollowRequest,
    place: FollowerSlot,
    /// The place in the list; `None` for a stream that does not wait.
    follower: Option<Follower>,
    /// The last revision that was sent, or is being sent.
    at: u64,
    next: StreamAction,
    /// The remaining text that is being sent.
    rest: StreamText,
    /// Memory for a text that was found to need it.
    room: Option<Reservation>,
    /// Time of the last write.
    sent: Instant,
    /// Whether a comment was sent since then. The first write to a client that has disconnected
    /// succeeds, and only the next one fails.
    asked: bool,
    /// Whether the stream could not take live events in time, and has not caught up since.
    late: bool,
}

/// The next action of a stream.
enum StreamAction {
    /// Send this text, then read stored events (if true) or wait for live ones.
    Send(Bytes, bool),
    /// Read stored events.
    Stored,
    /// Wait for that many bytes of memory, then read stored events. The text is not in memory
    /// during the wait.
    Room(u64),
    /// Wait for live events.
    Live,
    /// End the stream.
    End,
}

/// A text that is being sent, with its reserved memory.
#[derive(Default)]
struct StreamText {
    bytes: Bytes,
    _room: Option<Arc<Reservation>>,
}

impl From<Bytes> for StreamText {
    /// Wraps a short text, which is not charged.
    fn from(bytes: Bytes) -> StreamText {
        StreamText { bytes, _room: None }
    }
}

/// The reason why a stream ends.
enum StreamEnd {
    /// The container may no longer be followed.
    Over,
    /// The reply budget is exhausted. The stream is aborted rather than ended, so that the client
    /// can tell that it is incomplete.
    NoRoom,
}

impl FollowRequest {
    /// Adds the follower to the list, and returns its events.
    ///
    /// # Errors
    /// `Overloaded`, see [`Followers::place`] and [`Followers::follow`]; `ObjectNotFound` for a
    /// container that was just destroyed; errors of the store.
    pub async fn begin(self, followers: &Arc<Followers>) -> Result<EventStream> {
        let FollowRequest { newsroom, container, .. } = &self;
        let place = followers.place(self.session.user(), self.wait)?;
        let follower = match self.wait {
            true => Some(followers.follow(&newsroom.repository, *container, self.present()?)?),
            false => None,
        };
        // Only now, after the follower is in the list, so that no later commit is missed.
        let present = self.present()?;
        // The log shows an event shortly after rows show its change, and before views do. A caller
        // in between would not find the next event, and would have to begin anew.
        newsroom.repository.views_agree().await;
        let (at, first, stored) = self.beginning(&place, present).await?;
        let first = StreamAction::Send([RETRY.as_bytes(), &first].concat().into(), stored);
        let rest = StreamText::default();
        let sent = Instant::now();
        let stream = FollowerStream {
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

    /// Returns the container's revision on disk.
    fn present(&self) -> Result<u64> {
        let record = self.newsroom.repository.record(self.container)?;
        record.map(|record| record.revision).ok_or_else(|| Error::not_found(self.container))
    }

    /// Returns the revision after which the stream begins, its first text, and whether stored
    /// events follow.
    async fn beginning(&self, place: &FollowerSlot, present: u64) -> Result<(u64, Bytes, bool)> {
        let Some(after) = self.after else { return Ok((present, self.plain(HELLO, present), false)) };
        if after == present {
            return Ok((present, COMMENT, false));
        }
        if after > present {
            return Ok((present, self.plain(RESET, present), false));
        }
        Ok(match self.next_kept(place, after).await? {
            Some(next) if next == after + 1 => (after, COMMENT, true),
            // 0 is no revision of an event, but stands for the beginning of all kept events.
            Some(oldest) if after == 0 => (oldest - 1, COMMENT, true),
            None if after == 0 => (present, COMMENT, false),
            _ => (present, self.plain(RESET, present), false),
        })
    }

    /// Returns the revision of the first kept event after another one. The event itself is read for
    /// this, so it may be large or wait for a disk.
    async fn next_kept(&self, place: &FollowerSlot, after: u64) -> Result<Option<u64>> {
        let (newsroom, container, turn) = (self.newsroom.clone(), self.container, place.short_turn().await?);
        let reading = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            next_kept(newsroom.repository.events(), container, after)
        });
        reading.await.map_err(|_| Error::internal())?.map_err(unreadable)
    }

    fn plain(&self, name: &str, revision: u64) -> Bytes {
        render_named(name, &EventNotice::bare(self.container, revision))
    }

    /// Checks the caller's rights, then calls `read` with the record. Returns its result and, if
    /// the container is in the recycle bin, the last revision that may be sent.
    fn looked_at<T>(&self, read: impl FnOnce(Access<'_>, &Record) -> Result<T>) -> Result<(T, Option<u64>), StreamEnd> {
        let over = |error: Error| {
            tracing::debug!(container = %self.container, %error, "an event stream failed");
            StreamEnd::Over
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

fn unreadable(error: stet_domain::store::StoreError) -> Error {
    tracing::error!(%error, "events can't be read");
    Error::internal()
}

impl FollowerStream {
    async fn piece(mut self) -> Option<(Result<Bytes>, FollowerStream)> {
        loop {
            if !self.rest.bytes.is_empty() {
                let size = self.rest.bytes.len().min(PIECE);
                let piece = self.rest.bytes.split_to(size);
                // A second comment in a row shows nothing new.
                self.asked = piece == COMMENT && !self.asked;
                self.sent = Instant::now();
                return Some((Ok(piece), self));
            }
            // Drops the memory of the text that was sent.
            self.rest = StreamText::default();
            let given = match std::mem::replace(&mut self.next, StreamAction::End) {
                StreamAction::Send(bytes, stored) => {
                    self.next = if stored { StreamAction::Stored } else { self.live() };
                    Ok(bytes.into())
                }
                StreamAction::Stored => self.stored().await,
                StreamAction::Room(bytes) => self.wait_for_room(bytes).await,
                StreamAction::Live => self.happens().await,
                StreamAction::End => return None,
            };
            match given {
                Ok(text) => self.rest = text,
                Err(StreamEnd::Over) => {
                    // A client that receives the end of a destroyed container must not find it any
                    // more.
                    self.following.newsroom.repository.views_agree().await;
                    return None;
                }
                Err(StreamEnd::NoRoom) => {
                    metrics::counter!("stet_overloaded_total", "what" => "replies").increment(1);
                    self.next = StreamAction::End;
                    return Some((Err(Error::new(Code::Overloaded, "There is no room for a large event.")), self));
                }
            }
        }
    }

    /// Returns the action after all stored events: live events, or the end.
    fn live(&self) -> StreamAction {
        if self.follower.is_some() { StreamAction::Live } else { StreamAction::End }
    }

    /// Waits until there is enough memory.
    async fn wait_for_room(&mut self, bytes: u64) -> Result<StreamText, StreamEnd> {
        let room = self.nothing();
        timeout(PATIENCE, room.wait_to(bytes)).await.map_err(|_| StreamEnd::NoRoom)?;
        (self.room, self.next) = (Some(room), StreamAction::Stored);
        Ok(StreamText::default())
    }

    fn nothing(&self) -> Reservation {
        let holder = Holder::User(self.following.session.user().clone());
        self.following.memory.reservation(Some(holder), MemoryPurpose::Replies)
    }

    /// Returns the text with its reserved memory, if that is available. Memory that was waited for
    /// is used even if the text has changed since.
    fn with_room(&mut self, text: EventText) -> Option<StreamText> {
        let EventText { bytes, share } = text;
        if bytes.len() <= PIECE {
            return Some(bytes.into());
        }
        let waited = self.room.take();
        let may_fail = waited.is_none();
        let room = share.reserve(bytes.len() as u64, waited.unwrap_or_else(|| self.nothing()), may_fail)?;
        Some(StreamText { bytes, _room: Some(room) })
    }

    /// Sends the stored events, some at a time. Returns an empty text if there are none, or if
    /// there is no memory for the next of them.
    async fn stored(&mut self) -> Result<StreamText, StreamEnd> {
        if let Some(follower) = &mut self.follower {
            // Live events from here on are received again; earlier ones are in the store by now.
            follower.receiver = follower.receiver.resubscribe();
        }
        let turn = self.place.turn().await.map_err(|_| StreamEnd::Over)?;
        let (newsroom, container, at) = (self.following.newsroom.clone(), self.following.container, self.at);
        // The read may wait for a disk. The permit is held until the texts are rendered, and a read
        // that has begun is completed.
        let reading =
            tokio::task::spawn_blocking(move || (read(newsroom.repository.events(), container, at, CHUNK), turn));
        let (chunk, more, _turn) = match reading.await {
            Ok((Ok((chunk, more)), turn)) => (chunk, more, turn),
            Ok((Err(error), _)) => {
                tracing::error!(%container, %error, "the events of a container can't be read; a stream ends");
                return Err(StreamEnd::Over);
            }
            Err(_) => return Err(StreamEnd::Over),
        };
        // Followers who receive an event must find its change in the container.
        self.following.newsroom.repository.views_agree().await;
        self.late &= more;
        self.check_late()?;
        self.next = if more { StreamAction::Stored } else { self.live() };
        let (mut text, mut timer) = (BytesMut::new(), YieldTimer::start());
        for happening in &chunk {
            timer.yield_if_due().await;
            if happening.revision() != self.at + 1 {
                // The next events have just become too old.
                let Ok(present) = self.following.present() else { return Err(StreamEnd::Over) };
                self.following.newsroom.repository.views_agree().await;
                self.at = present;
                self.next = StreamAction::Stored;
                text.extend_from_slice(&self.following.plain(RESET, present));
                break;
            }
            let mut sifting = EventFilter::of(happening);
            let (event, last) = loop {
                if let Some(made) = self.look_at(&mut sifting, &timer)? {
                    break made;
                }
                timer.yield_now().await;
            };
            if event.bytes.len() > PIECE {
                // A large event is sent alone: what is read at a time is smaller, or one event.
                let bytes = event.bytes.len() as u64;
                match self.with_room(event).filter(|_| text.is_empty()) {
                    Some(event) => {
                        self.is_on_its_way(happening.revision(), last);
                        return Ok(event);
                    }
                    None => self.next = if text.is_empty() { StreamAction::Room(bytes) } else { StreamAction::Stored },
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

    /// Sends the remaining stored events when nothing more can come, and then ends the stream.
    async fn last_stored(&mut self) -> Result<StreamText, StreamEnd> {
        let text = self.stored().await?;
        if text.bytes.is_empty() && !matches!(self.next, StreamAction::Room(_)) {
            Err(StreamEnd::Over)
        } else {
            Ok(text)
        }
    }

    /// Disconnects a follower who could not take live events in time, and is now too far behind.
    fn check_late(&self) -> Result<(), StreamEnd> {
        let Some(follower) = self.follower.as_ref().filter(|_| self.late) else { return Ok(()) };
        // Each revision has one event. A container that is in the recycle bin or was destroyed is
        // handled elsewhere.
        let Ok(present) = self.following.present() else { return Ok(()) };
        let behind = present.saturating_sub(self.at);
        if behind > self.following.newsroom.config.events.queue_events as u64 {
            tracing::info!(container = %self.following.container, behind, "a follower has fallen behind");
            follower.dropped();
            return Err(StreamEnd::Over);
        }
        Ok(())
    }

    /// Waits for the next event, or for the time to send a comment.
    async fn happens(&mut self) -> Result<StreamText, StreamEnd> {
        let keep_alive = self.sent + Duration::from_secs(self.following.newsroom.config.events.keep_alive_seconds);
        let Some(follower) = &mut self.follower else { return Err(StreamEnd::Over) };
        let look = (Instant::now() + LOOK).min(keep_alive);
        let heard = tokio::select! {
            biased;
            heard = follower.receiver.recv() => Some(heard),
            () = sleep_until(look) => None,
        };
        self.next = StreamAction::Live;
        match heard {
            Some(Ok(heard)) if heard.revision <= self.at => Ok(StreamText::default()),
            Some(Ok(heard)) => {
                let next = heard.happening.upgrade().filter(|_| heard.revision == self.at + 1);
                let text = match next {
                    Some(happening) => self.heard(&happening)?,
                    None => None,
                };
                Ok(text.unwrap_or_else(|| {
                    // The missing events are in the store, where long work gets a permit.
                    self.next = StreamAction::Stored;
                    StreamText::default()
                }))
            }
            Some(Err(RecvError::Lagged(_))) => {
                // The events that the channel has dropped are in the store.
                (self.next, self.late) = (StreamAction::Stored, true);
                self.check_late()?;
                Ok(StreamText::default())
            }
            // The server ends. The pump may not have passed on all that was done before, but the
            // store has it.
            Some(Err(RecvError::Closed)) => self.last_stored().await,
            None => {
                match self.following.looked_at(|_, _| Ok(()))? {
                    ((), None) => {
                        let comments = !self.asked || Instant::now() >= keep_alive;
                        Ok(if comments { COMMENT.into() } else { StreamText::default() })
                    }
                    ((), Some(last)) if self.at >= last => Err(StreamEnd::Over),
                    // The pump is not that far yet, but the store has the event; or it is too old
                    // and no longer kept.
                    ((), Some(_)) => self.last_stored().await,
                }
            }
        }
    }

    /// Returns the text of the next event, if it can be rendered at once and there is memory for
    /// it.
    fn heard(&mut self, happening: &ContainerEvent) -> Result<Option<StreamText>, StreamEnd> {
        let Some((event, last)) = self.look_at(&mut EventFilter::of(happening), &YieldTimer::start())? else {
            return Ok(None);
        };
        let text = self.with_room(event);
        if text.is_some() {
            self.is_on_its_way(happening.revision(), last);
        }
        Ok(text)
    }

    /// Returns the text of an event, if it can be rendered at once, with the last revision that may
    /// be sent, if there is one.
    fn look_at(
        &self,
        sifting: &mut EventFilter<'_>,
        timer: &YieldTimer,
    ) -> Result<Option<(EventText, Option<u64>)>, StreamEnd> {
        let newsroom = &self.following.newsroom;
        let (text, last) = self.following.looked_at(|access, record| sifting.go_on(newsroom, access, record, timer))?;
        Ok(text.map(|text| (text, last)))
    }

    /// Records that the event of that revision is being sent. Returns whether it is the last one:
    /// the container is in the recycle bin, and nothing more was done.
    fn is_on_its_way(&mut self, revision: u64, last: Option<u64>) -> bool {
        self.at = revision;
        if let Some(follower) = &self.follower {
            follower.sent(1);
        }
        let ends = last.is_some_and(|last| revision >= last);
        if ends {
            self.next = StreamAction::End;
        }
        ends
    }
}
