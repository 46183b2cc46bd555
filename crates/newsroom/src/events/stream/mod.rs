//! One follower's connection: its beginning, its events and its end.
//!
//! A stream follows one container, or several ([`EventIds`]). A container is no longer followed
//! when it may no longer be read, was destroyed, or when the follower is behind by more than
//! `events.queue_events`. A stream of one container ends with that; a stream of several sends
//! [`UNFOLLOWED`] and goes on. Every stream ends when the caller's session or the server ends.
//!
//! All of that is checked before each event, and every [`LOOK`] as well, so that an idle stream
//! ends, too. A follower that has disconnected is noticed only at the second write. So whatever is
//! sent is followed by a comment at the next check. A container in the recycle bin is followed up
//! to its revision there: its state may be far ahead of the event that is sent.

mod container;
mod subtree;

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
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
use tokio::time::{Instant, sleep_until, timeout};

use self::subtree::StreamSubtree;
pub use self::subtree::SubtreePosition;

use super::control::{StreamChange, StreamControl};
use super::position::{ContainerPosition, StreamPosition};
use super::sight::{EventFilter, sees_all_parts};
use super::stored::{ContainerEvent, EventNotice, EventText, render_named};
use super::{Follower, FollowerSlot, Followers, NextEvent};
use crate::Newsroom;
use crate::access::Access;

/// The text of a follower's events, in pieces. An error is the last item, and means that events are
/// missing.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Bytes>>>>;

/// Number of events that are read from the store at a time, if they are small enough.
const CHUNK: usize = 256;

/// Time for which a large event waits for memory, which others return when their clients have taken
/// their replies or are disconnected.
const PATIENCE: Duration = Duration::from_secs(10);

/// Interval at which an idle stream checks whether it should go on.
const LOOK: Duration = Duration::from_secs(1);

/// The name of the first event of a container that is followed from the present on.
pub const HELLO: &str = "hello";

/// The name of the event after which the follower must read the container again, since missed
/// events are no longer kept.
pub const RESET: &str = "reset";

/// The name of the event after which a stream of several containers has no more events of one.
pub const UNFOLLOWED: &str = "unfollowed";

/// The name of the event at the beginning of a stream of several containers, which has the name by
/// which the stream can be changed ([`StreamControl`]).
pub const STREAM: &str = "stream";

/// The beginning of every stream: the milliseconds that a browser waits before it connects again.
///
/// Browsers themselves wait between a few milliseconds and five seconds. Three seconds let a server
/// restart before its followers return.
const RETRY: Bytes = Bytes::from_static(b"retry: 3000\n\n");

/// A comment line, which only uses the connection.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// The containers that a stream follows, with their first events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowTarget {
    /// One container. The ids of its events are revisions, and the stream ends with it.
    Container(ContainerPosition),
    /// Several containers. The ids of their events are [`StreamPosition`]s.
    Containers(Vec<ContainerPosition>),
    /// All that is below a folder. The ids of its events are places in the log, and the stream ends
    /// with the folder.
    Subtree(SubtreePosition),
}

/// The meaning of the ids of a stream's events, and the end of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventIds {
    /// The revision of the stream's only container. The stream ends with the container.
    Revisions,
    /// The [`StreamPosition`] of a stream of several containers.
    Positions,
    /// The place in the log, in a stream of all that is below a folder. The stream ends with the
    /// folder.
    Places,
}

/// The request to follow containers: the caller, the containers and their first events.
pub struct FollowRequest {
    /// The server's state.
    pub newsroom: Arc<Newsroom>,
    /// The session of the follower.
    pub session: Arc<LiveSession>,
    /// The followed containers.
    pub target: FollowTarget,
    /// Whether to wait for more, once all stored events have been sent.
    pub wait: bool,
    /// The budget to which large texts are charged until the client has taken them.
    pub memory: MemoryBudget,
}

/// The part of a request that holds for all containers of a stream.
struct StreamContext {
    newsroom: Arc<Newsroom>,
    session: Arc<LiveSession>,
    ids: EventIds,
    memory: MemoryBudget,
}

/// A stream of one container or several.
type ContainerStream = FollowerStream<Vec<StreamContainer>>;

/// The state of a stream between two pieces.
struct FollowerStream<S> {
    /// The followed containers. In front of the place, which must be dropped after the followers.
    followed: S,
    context: StreamContext,
    place: FollowerSlot,
    followers: Arc<Followers>,
    wait: bool,
    /// The changes that the client asks for. Its bell is notified of them, and of each event of a
    /// followed container.
    control: Arc<StreamControl>,
    /// Index of the container that is looked at first, so that a busy one does not delay others.
    first: usize,
    /// The remaining text that is being sent.
    rest: StreamText,
    /// Bytes of memory to wait for, before stored events are read again.
    wanted: Option<u64>,
    /// Memory for a text that was found to need it.
    room: Option<Reservation>,
    /// Time of the last write.
    sent: Instant,
    /// Time of the next check whether the stream should go on.
    look: Instant,
    /// Whether a comment was sent since then. The first write to a client that has disconnected
    /// succeeds, and only the next one fails.
    asked: bool,
    /// Whether the stream has ended after the remaining text.
    over: bool,
}

/// A container that a stream follows.
struct StreamContainer {
    container: Loid,
    /// The place in the list; `None` for a stream that does not wait.
    follower: Option<Follower>,
    /// The last revision that was sent, or is being sent; `None` before the first event.
    at: Option<u64>,
    next: NextAction,
    /// Whether the stream could not take live events in time, and has not caught up since.
    late: bool,
    /// The number of the change of presence that was sent last.
    presence: u64,
}

/// The next action for a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextAction {
    /// Read stored events.
    Stored,
    /// Read the last stored events: nothing more can come.
    Last,
    /// Wait for live events.
    Live,
    /// Nothing: all is sent.
    End,
}

/// A text that is being sent, with its reserved memory.
#[derive(Default)]
struct StreamText {
    /// The line of the id, before a text that is sent as it is.
    head: Bytes,
    bytes: Bytes,
    _room: Option<Arc<Reservation>>,
}

impl From<Bytes> for StreamText {
    /// Wraps a short text, which is not charged.
    fn from(bytes: Bytes) -> StreamText {
        StreamText { bytes, ..StreamText::default() }
    }
}

impl StreamText {
    /// Takes the next piece to send; `None` at the end.
    fn next_piece(&mut self) -> Option<Bytes> {
        let head = std::mem::take(&mut self.head);
        if !head.is_empty() && self.bytes.len() > PIECE {
            return Some(head);
        }
        let size = self.bytes.len().min(PIECE);
        let piece = (size > 0).then(|| self.bytes.split_to(size))?;
        Some(if head.is_empty() { piece } else { [head, piece].concat().into() })
    }
}

/// The text of an event for one caller, if anything is left of it, and the last revision of its
/// container that may be sent, if there is one.
type FilteredEvent = (Option<EventText>, Option<u64>);

/// The reason why a container is no longer followed, or the stream ends.
enum StreamEnd {
    /// The container may no longer be followed.
    Container,
    /// The session has ended, or a record can't be read.
    Session,
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
        let FollowRequest { newsroom, session, target, wait, memory } = self;
        let (ids, containers, subtree) = match target {
            FollowTarget::Container(container) => (EventIds::Revisions, vec![container], None),
            FollowTarget::Containers(containers) => (EventIds::Positions, containers, None),
            FollowTarget::Subtree(position) => (EventIds::Places, Vec::new(), Some(position)),
        };
        let place = followers.place(session.user(), wait)?;
        let control = Arc::new(StreamControl::of(session.user().clone(), &containers));
        let context = StreamContext { newsroom, session, ids, memory };
        let Some(position) = subtree else {
            let followed = Vec::with_capacity(containers.len());
            let mut stream = FollowerStream::of(context, (place, followers), wait, control, followed);
            stream.rest = stream.beginnings(containers).await?.into();
            return Ok(Box::pin(unfold(stream, |stream| stream.piece())));
        };
        let follow = || followers.follow_below(&place, position.folder, &context.newsroom.repository, &control.bell);
        let followed = StreamSubtree::of(position, wait.then(follow).transpose()?);
        let mut stream = FollowerStream::of(context, (place, followers), wait, control, followed);
        stream.rest = stream.beginning().await?.into();
        Ok(Box::pin(unfold(stream, |stream| stream.piece())))
    }
}

impl StreamContext {
    /// Returns a container's revision on disk.
    fn present(&self, container: Loid) -> Result<u64> {
        let record = self.newsroom.repository.record(container)?;
        record.map(|record| record.revision).ok_or_else(|| Error::not_found(container))
    }

    /// Checks the caller's rights, then calls `read` with the record. Returns its result and, if
    /// the container is in the recycle bin, the last revision that may be sent.
    fn looked_at<T>(
        &self,
        container: Loid,
        read: impl FnOnce(Access<'_>, &Record) -> Result<T>,
    ) -> Result<(T, Option<u64>), StreamEnd> {
        self.newsroom.sessions.check(&self.session).map_err(|_| StreamEnd::Session)?;
        let rights = self.session.rights();
        let access = Access::of(&self.newsroom, &self.session, &rights);
        let checked = |record: &Record| {
            let well = access.check(Privilege::Read, record, &container);
            let last = record.is_discarded().then_some(record.revision);
            well.and_then(|()| Ok((read(access, record)?, last)))
        };
        let look = || match self.newsroom.records.get(&self.newsroom.repository, container)? {
            Some(cached) => checked(&cached),
            None => match self.newsroom.repository.any_record(container)? {
                Some(record) => checked(&record),
                None => Err(Error::not_found(container)),
            },
        };
        look().map_err(|error: Error| {
            tracing::debug!(%container, %error, "a container is no longer followed");
            match error.code {
                Code::ObjectNotFound | Code::PermissionDenied => StreamEnd::Container,
                // Its events must not be passed over.
                _ => StreamEnd::Session,
            }
        })
    }

    fn no_room_yet(&self) -> Reservation {
        let holder = Holder::User(self.session.user().clone());
        self.memory.reservation(Some(holder), MemoryPurpose::Replies)
    }
}

fn plain(name: &str, container: Loid, revision: u64) -> Bytes {
    render_named(name, &EventNotice::bare(container, revision))
}

/// The texts of a stream, which depend on what it follows.
trait StreamTexts {
    /// Returns the next text. It may be empty.
    async fn next_text(&mut self) -> Result<StreamText, StreamEnd>;

    /// Checks whether everything may still be followed. Returns the text if something has ended, or
    /// an empty one if the last events of something are to be read.
    async fn look_around(&mut self) -> Result<Option<StreamText>, StreamEnd>;

    /// Returns a comment to send after a time without events.
    fn comment(&mut self) -> StreamText;
}

impl<S> FollowerStream<S>
where
    FollowerStream<S>: StreamTexts,
{
    async fn piece(mut self) -> Option<(Result<Bytes>, FollowerStream<S>)> {
        loop {
            if let Some(piece) = self.rest.next_piece() {
                // A second comment in a row shows nothing new.
                self.asked = piece.ends_with(&COMMENT) && !self.asked;
                self.sent = Instant::now();
                return Some((Ok(piece), self));
            }
            // Drops the memory of the text that was sent.
            self.rest = StreamText::default();
            if self.over {
                return None;
            }
            match self.next_text().await {
                Ok(text) => self.rest = text,
                // A client that receives the end of a destroyed container must not find it any
                // more.
                Err(StreamEnd::Container | StreamEnd::Session) => {
                    self.context.newsroom.repository.views_agree().await;
                    return None;
                }
                Err(StreamEnd::NoRoom) => {
                    metrics::counter!("stet_overloaded_total", "what" => "replies").increment(1);
                    self.over = true;
                    return Some((Err(Error::new(Code::Overloaded, "There is no room for a large event.")), self));
                }
            }
        }
    }

    /// Waits for the next event, or for the time of the next check. Returns a comment to send after
    /// a time without events.
    async fn idle(&mut self) -> Result<StreamText, StreamEnd> {
        let keep_alive = self.next_comment();
        tokio::select! {
            biased;
            () = self.control.bell.notified() => return Ok(StreamText::default()),
            () = sleep_until(self.look.min(keep_alive)) => {}
        }
        if let Some(text) = self.look_around().await? {
            return Ok(text);
        }
        let comments = !self.asked || Instant::now() >= keep_alive;
        Ok(if comments { self.comment() } else { StreamText::default() })
    }
}

impl<S> FollowerStream<S> {
    fn of(
        context: StreamContext,
        (place, followers): (FollowerSlot, &Arc<Followers>),
        wait: bool,
        control: Arc<StreamControl>,
        followed: S,
    ) -> FollowerStream<S> {
        let (rest, sent, followers) = (StreamText::default(), Instant::now(), followers.clone());
        let look = sent + LOOK;
        let (room, wanted, asked, over, first) = (None, None, false, false, 0);
        FollowerStream {
            followed,
            context,
            place,
            followers,
            wait,
            control,
            first,
            rest,
            wanted,
            room,
            sent,
            look,
            asked,
            over,
        }
    }

    /// Returns the time of the next comment, if nothing else is sent before.
    fn next_comment(&self) -> Instant {
        self.sent + Duration::from_secs(self.context.newsroom.config.events.keep_alive_seconds)
    }

    /// Waits until there is the memory that the next text was found to need.
    async fn wait_for_room(&mut self) -> Result<(), StreamEnd> {
        if let Some(bytes) = self.wanted.take() {
            let room = self.context.no_room_yet();
            timeout(PATIENCE, room.wait_to(bytes)).await.map_err(|_| StreamEnd::NoRoom)?;
            self.room = Some(room);
        }
        Ok(())
    }

    /// Returns a text with its reserved memory, if that is available. Memory that was waited for is
    /// used even if the text has changed since.
    fn reserved(&mut self, EventText { bytes, share }: EventText) -> Option<StreamText> {
        let mut room = None;
        if bytes.len() > PIECE {
            let waited = self.room.take();
            let may_fail = waited.is_none();
            let reserved = waited.unwrap_or_else(|| self.context.no_room_yet());
            room = Some(share.reserve(bytes.len() as u64, reserved, may_fail)?);
        }
        Some(StreamText { head: Bytes::new(), bytes, _room: room })
    }

    /// Continues to filter an event, until others should have their turn.
    fn filter(&self, filter: &mut EventFilter<'_>, timer: &YieldTimer) -> Result<Poll<FilteredEvent>, StreamEnd> {
        let (newsroom, container) = (&self.context.newsroom, filter.container());
        let go_on = |access: Access<'_>, record: &Record| filter.go_on(newsroom, access, record, timer);
        let (text, last) = self.context.looked_at(container, go_on)?;
        Ok(text.map(|text| (text, last)))
    }

    /// Filters an event, yielding to other calls.
    async fn filtered(&self, event: &ContainerEvent, timer: &mut YieldTimer) -> Result<FilteredEvent, StreamEnd> {
        timer.yield_if_due().await;
        let mut filter = EventFilter::of(event);
        loop {
            match self.filter(&mut filter, timer)? {
                Poll::Ready(filtered) => return Ok(filtered),
                Poll::Pending => timer.yield_now().await,
            }
        }
    }
}

impl StreamTexts for ContainerStream {
    async fn next_text(&mut self) -> Result<StreamText, StreamEnd> {
        self.wait_for_room().await?;
        if let Some(change) = self.control.take() {
            return self.change(change).await;
        }
        // A busy container must not hide the end of another.
        if Instant::now() >= self.look
            && let Some(text) = self.look_around().await?
        {
            return Ok(text);
        }
        if let Some((index, version)) = self.changed_presence() {
            return self.presence(index, version).await;
        }
        let Some((index, event)) = self.next_container() else {
            let is_over = self.followed.iter().all(|followed| followed.next == NextAction::End);
            // The client can make a stream of several follow others, as long as the server runs.
            let may_follow = self.wait && self.context.ids == EventIds::Positions && !self.followers.is_closed();
            if is_over && !may_follow {
                self.over = true;
                return Ok(StreamText::default());
            }
            return self.idle().await;
        };
        let text = match self.followed[index].next {
            NextAction::Stored => self.stored(index).await,
            NextAction::Last => self.last_stored(index).await,
            NextAction::Live => self.live(index, event),
            NextAction::End => Ok(StreamText::default()),
        };
        match text {
            // The client resumes with all containers when the server is back.
            Err(StreamEnd::Container) if self.context.ids == EventIds::Positions && self.followers.is_closed() => {
                self.followed[index].next = NextAction::End;
                Ok(StreamText::default())
            }
            Err(StreamEnd::Container) if self.context.ids == EventIds::Positions => {
                let last = self.unfollow(index).await;
                Ok(self.with_id(last))
            }
            text => text,
        }
    }

    async fn look_around(&mut self) -> Result<Option<StreamText>, StreamEnd> {
        self.look = Instant::now() + LOOK;
        for index in 0..self.followed.len() {
            match self.context.looked_at(self.followed[index].container, |_, _| Ok(())) {
                Ok(((), None)) => {}
                Ok(((), Some(last))) if self.followed[index].at.is_none_or(|at| at < last) => {
                    // The pump is not that far yet, but the store has the event; or it is too old
                    // and no longer kept.
                    self.followed[index].next = NextAction::Last;
                    return Ok(Some(StreamText::default()));
                }
                Err(StreamEnd::Container) | Ok(_) if self.context.ids == EventIds::Positions => {
                    let last = self.unfollow(index).await;
                    return Ok(Some(self.with_id(last)));
                }
                Ok(_) => return Err(StreamEnd::Container),
                Err(end) => return Err(end),
            }
        }
        Ok(None)
    }

    fn comment(&mut self) -> StreamText {
        COMMENT.into()
    }
}

impl ContainerStream {
    /// Returns the index of the next container with something to do, and what is new if it waits
    /// for live events.
    fn next_container(&mut self) -> Option<(usize, NextEvent<u64>)> {
        let count = self.followed.len();
        for index in (self.first..count).chain(0..self.first.min(count)) {
            let followed = &self.followed[index];
            let event = match (followed.next, &followed.follower) {
                (NextAction::End, _) => continue,
                (NextAction::Live, Some(follower)) => match follower.after(followed.at.unwrap_or_default()) {
                    NextEvent::None => continue,
                    event => event,
                },
                _ => NextEvent::None,
            };
            self.first = index + 1;
            return Some((index, event));
        }
        None
    }

    /// Returns the index of a container where the people who are present have changed, and the
    /// number of that change. A stream of a single container does not report it.
    fn changed_presence(&self) -> Option<(usize, u64)> {
        if self.context.ids == EventIds::Revisions || !self.wait {
            return None;
        }
        let (now, sessions) = (std::time::Instant::now(), &self.context.newsroom.sessions);
        let is_over = |session: &LiveSession| sessions.check(session).is_err();
        self.followed.iter().enumerate().find_map(|(index, followed)| {
            let version = self.followers.presence.version(followed.container, now, is_over);
            (version != followed.presence).then_some((index, version))
        })
    }

    /// Returns the event that tells who is present in a container.
    async fn presence(&mut self, index: usize, version: u64) -> Result<StreamText, StreamEnd> {
        let container = self.followed[index].container;
        self.followed[index].presence = version;
        match self.context.looked_at(container, sees_all_parts) {
            Ok((with_parts, _)) => Ok(self.followers.presence.event(container, with_parts).into()),
            Err(StreamEnd::Container) => {
                let last = self.unfollow(index).await;
                Ok(self.with_id(last))
            }
            Err(end) => Err(end),
        }
    }

    /// Ends following a container, after which the stream goes on. Returns the event of that.
    async fn unfollow(&mut self, index: usize) -> Bytes {
        let StreamContainer { container, at, .. } = self.followed.remove(index);
        self.control.left(container);
        // A client that hears of the end of a destroyed container must not find it any more.
        self.context.newsroom.repository.views_agree().await;
        plain(UNFOLLOWED, container, at.unwrap_or_default())
    }

    /// Returns an event with its id: the present position of the stream. A comment has none.
    fn with_id(&self, event: Bytes) -> StreamText {
        let head = if event == COMMENT { Bytes::new() } else { self.id() };
        StreamText { head, bytes: event, _room: None }
    }

    /// Returns the line of the id for an event that a container has just been sent.
    fn id(&self) -> Bytes {
        let position =
            |followed: &StreamContainer| ContainerPosition { container: followed.container, after: followed.at };
        match (self.context.ids, &self.followed[..]) {
            (EventIds::Revisions, [one]) => format!("id: {}\n", one.at.unwrap_or_default()).into(),
            (_, followed) => format!("id: {}\n", StreamPosition(followed.iter().map(position).collect())).into(),
        }
    }

    /// Returns the beginning of the stream, with the first event of each container. Only the last
    /// one has an id, because before it the stream does not stand for all of them.
    async fn beginnings(&mut self, containers: Vec<ContainerPosition>) -> Result<Bytes> {
        let mut text = BytesMut::from(&*RETRY);
        if self.context.ids == EventIds::Positions && self.wait {
            self.followers.announce(&self.control);
            let name = format!("event: {STREAM}\ndata: {{\"stream\":\"{}\"}}\n\n", self.control.name);
            text.extend_from_slice(name.as_bytes());
        }
        for position in containers {
            self.enter(position)?;
        }
        let (mut index, mut last) = (0, Bytes::new());
        while index < self.followed.len() {
            let count = self.followed.len();
            text.extend_from_slice(&std::mem::take(&mut last));
            last = self.first_event(index).await?;
            index += usize::from(self.followed.len() == count);
        }
        let StreamText { head, bytes, .. } = self.with_id(last);
        text.extend_from_slice(&if bytes.is_empty() { bytes } else { [head, bytes].concat().into() });
        Ok(text.freeze())
    }

    /// Follows a container from now on.
    fn enter(&mut self, ContainerPosition { container, after }: ContainerPosition) -> Result<()> {
        let repository = &self.context.newsroom.repository;
        let present = match self.context.present(container) {
            // A container that was destroyed meanwhile does not prevent following the others.
            Err(error) if error.code == Code::ObjectNotFound && self.context.ids == EventIds::Positions => 0,
            present => present?,
        };
        let follow = || self.followers.follow(&self.place, (container, present), repository, &self.control.bell);
        let follower = self.wait.then(follow).transpose()?;
        let (next, late, presence) = (NextAction::Live, false, 0);
        self.followed.push(StreamContainer { container, follower, at: after, next, late, presence });
        Ok(())
    }

    /// Returns the first event of a container. In a stream of several, one that may not be followed
    /// any more leaves it.
    async fn first_event(&mut self, index: usize) -> Result<Bytes> {
        if self.context.ids == EventIds::Revisions {
            return self.beginning(index).await;
        }
        let is_readable = self.context.looked_at(self.followed[index].container, |_, _| Ok(())).is_ok();
        match self.beginning(index).await {
            Ok(first) if is_readable => Ok(first),
            Err(error) if error.code != Code::ObjectNotFound => Err(error),
            _ => Ok(self.unfollow(index).await),
        }
    }

    /// Follows or leaves a container, as the client has asked meanwhile.
    async fn change(&mut self, change: StreamChange) -> Result<StreamText, StreamEnd> {
        let (StreamChange::Follow(ContainerPosition { container, .. }) | StreamChange::Unfollow(container)) = change;
        let known = self.followed.iter().position(|followed| followed.container == container);
        let event = match (change, known) {
            (StreamChange::Follow(_), Some(_)) | (StreamChange::Unfollow(_), None) => Bytes::new(),
            (StreamChange::Unfollow(_), Some(index)) => self.unfollow(index).await,
            (StreamChange::Follow(position), None) => match self.enter(position) {
                Ok(()) => self.first_event(self.followed.len() - 1).await.map_err(|_| StreamEnd::Session)?,
                // The container has too many followers, or the server ends.
                Err(_) => {
                    self.control.left(container);
                    plain(UNFOLLOWED, container, position.after.unwrap_or_default())
                }
            },
        };
        Ok(if event.is_empty() { StreamText::default() } else { self.with_id(event) })
    }
}
