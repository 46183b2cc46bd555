//! A stream of all that is below a folder, in the order of the log.
//!
//! The stream ends when the caller may no longer read the folder, when it was destroyed, and after
//! the event by which it was discarded. Events of which the caller may see nothing are skipped.
//! Comments have the id of the place up to which the stream has come, so that a follower that
//! resumes does not skip the same events again.

use std::task::Poll;

use bytes::{Bytes, BytesMut};
use stet_base::limits::PIECE;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::Result;
use stet_domain::id::Loid;
use stet_domain::store::EventId;
use tokio::time::Instant;

use super::super::sight::EventFilter;
use super::super::stored::{ContainerEvent, EventText};
use super::super::subtrees::{SubtreeStretch, read_below};
use super::super::{NextEvent, SubtreeFollower};
use super::{
    CHUNK, COMMENT, FollowerStream, HELLO, LOOK, NextAction, RESET, RETRY, StreamEnd, StreamText, StreamTexts, plain,
};

/// A folder, and the last place in the log that a follower of everything below it has. `None`
/// begins with the present, and the first place of all with the oldest event that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubtreePosition {
    /// The folder.
    pub folder: Loid,
    /// The last place.
    pub after: Option<EventId>,
}

/// The subtree that a stream follows.
pub(super) struct StreamSubtree {
    folder: Loid,
    /// The place in the list; `None` for a stream that does not wait.
    follower: Option<SubtreeFollower>,
    /// The place up to which the stream has come; `None` before the first event.
    at: Option<EventId>,
    /// The place that the follower was sent last.
    told: Option<EventId>,
    next: NextAction,
}

impl StreamSubtree {
    pub fn of(position: SubtreePosition, follower: Option<SubtreeFollower>) -> StreamSubtree {
        let SubtreePosition { folder, after } = position;
        StreamSubtree { folder, follower, at: after, told: after, next: NextAction::Live }
    }

    /// Moves on to a place, and returns the line of the id for what is sent there.
    fn tell(&mut self, place: EventId) -> Bytes {
        (self.at, self.told) = (Some(place), Some(place));
        format!("id: {place}\n").into()
    }

    /// Returns the action after all stored events: live events, or the end.
    fn after_stored(&self) -> NextAction {
        if self.follower.is_some() { NextAction::Live } else { NextAction::End }
    }

    /// Records that an event is being sent. Returns whether it is the last one: the folder is in
    /// the recycle bin up to that revision.
    fn is_on_its_way(&mut self, event: &ContainerEvent, last: Option<u64>) -> bool {
        if let Some(follower) = &self.follower {
            follower.sent(1);
        }
        let ends = event.container == self.folder && last.is_some_and(|last| event.revision() >= last);
        if ends {
            self.next = NextAction::End;
        }
        ends
    }
}

/// Replaces the end of an event's container, which concerns no other container, by nothing.
fn or_nothing<T>(filtered: Result<T, StreamEnd>, nothing: T) -> Result<T, StreamEnd> {
    match filtered {
        Err(StreamEnd::Container) => Ok(nothing),
        filtered => filtered,
    }
}

impl StreamTexts for FollowerStream<StreamSubtree> {
    async fn next_text(&mut self) -> Result<StreamText, StreamEnd> {
        self.wait_for_room().await?;
        if Instant::now() >= self.look {
            self.look_around().await?;
        }
        // Many events may have been skipped since.
        if Instant::now() >= self.next_comment() {
            return Ok(self.comment());
        }
        // Reading a long log must not delay the end of the server. The comment has the place.
        if self.followed.next == NextAction::Stored && self.followers.is_closed() {
            self.over = true;
            return Ok(self.comment());
        }
        match self.followed.next {
            NextAction::Stored | NextAction::Last => self.stored().await,
            NextAction::Live => self.live().await,
            NextAction::End => {
                self.over = true;
                Ok(if self.followed.told < self.followed.at { self.comment() } else { StreamText::default() })
            }
        }
    }

    async fn look_around(&mut self) -> Result<Option<StreamText>, StreamEnd> {
        self.look = Instant::now() + LOOK;
        let ((), discarded) = self.context.looked_at(self.followed.folder, |_, _| Ok(()))?;
        if discarded.is_some() && self.followed.next != NextAction::End {
            // The event by which it was discarded is in the log.
            self.followed.next = NextAction::Last;
        }
        Ok(None)
    }

    fn comment(&mut self) -> StreamText {
        let head = match self.followed.at {
            Some(at) if self.followed.told < Some(at) => self.followed.tell(at),
            _ => Bytes::new(),
        };
        StreamText { head, ..COMMENT.into() }
    }
}

impl FollowerStream<StreamSubtree> {
    /// Returns the beginning of the stream. An event that was committed before it was called is
    /// before its `hello`, and every later one is sent.
    pub(super) async fn beginning(&mut self) -> Result<Bytes> {
        let repository = &self.context.newsroom.repository;
        // The follower is in the list, so that no later commit is missed.
        repository.views_agree().await;
        let end = repository.end_of_log();
        let first = match self.followed.at {
            None => Some(HELLO),
            // As after a restored backup.
            Some(after) if after > end => Some(RESET),
            Some(_) => None,
        };
        let Some(first) = first else {
            self.followed.next = NextAction::Stored;
            return Ok([RETRY, COMMENT].concat().into());
        };
        self.followed.next = self.followed.after_stored();
        let notice = plain(first, self.followed.folder, self.context.present(self.followed.folder)?);
        Ok([RETRY, self.followed.tell(end), notice].concat().into())
    }

    /// Returns the text of the event at a place, with its reserved memory, if that is available.
    fn with_room(&mut self, place: EventId, text: EventText) -> Option<StreamText> {
        let text = self.reserved(text)?;
        Some(StreamText { head: self.followed.tell(place), ..text })
    }

    /// Sends events from the next stretch of the log. Returns an empty text if there are none below
    /// the folder that the caller may see, or if there is no memory for the next of them.
    async fn stored(&mut self) -> Result<StreamText, StreamEnd> {
        let turn = self.place.turn().await.map_err(|_| StreamEnd::Session)?;
        let (folder, at) = (self.followed.folder, self.followed.at.unwrap_or_default());
        let newsroom = self.context.newsroom.clone();
        // The permit is held until the texts are rendered, as for the events of a container.
        let reading = tokio::task::spawn_blocking(move || (read_below(&newsroom.repository, folder, at, CHUNK), turn));
        let (stretch, _turn) = match reading.await {
            Ok((Ok(stretch), turn)) => (stretch, turn),
            Ok((Err(error), _)) => {
                tracing::error!(%folder, %error, "cannot read the events below a folder; a stream ends");
                return Err(StreamEnd::Container);
            }
            Err(_) => return Err(StreamEnd::Container),
        };
        // Followers who receive an event must find its change in the container.
        self.context.newsroom.repository.views_agree().await;
        if let Some(kept) = stretch.gap {
            return self.skip_gap(at, kept);
        }
        self.texts(stretch).await
    }

    /// Goes on with the oldest event that is kept. A follower that has not asked for that receives
    /// `reset`.
    fn skip_gap(&mut self, at: EventId, kept: EventId) -> Result<StreamText, StreamEnd> {
        if at == EventId::default() {
            self.followed.at = Some(kept);
            return Ok(StreamText::default());
        }
        let revision = self.context.present(self.followed.folder).map_err(|_| StreamEnd::Container)?;
        let notice = plain(RESET, self.followed.folder, revision);
        Ok(StreamText { head: self.followed.tell(kept), ..notice.into() })
    }

    /// Returns the text of the events of a stretch that the caller may see.
    async fn texts(&mut self, stretch: SubtreeStretch) -> Result<StreamText, StreamEnd> {
        let SubtreeStretch { events, end, more, .. } = stretch;
        let (mut text, mut timer) = (BytesMut::new(), YieldTimer::start());
        for (place, event) in &events {
            let (filtered, last) = or_nothing(self.filtered(event, &mut timer).await, (None, None))?;
            let Some(filtered) = filtered else {
                self.followed.at = Some(*place);
                continue;
            };
            let bytes = filtered.bytes.len();
            // A large event is sent alone: what is read at a time is smaller, or one event.
            let is_alone = bytes <= PIECE || text.is_empty();
            let Some(made) = is_alone.then(|| self.with_room(*place, filtered)).flatten() else {
                self.wanted = text.is_empty().then_some(bytes as u64);
                return Ok(text.freeze().into());
            };
            let ends = self.followed.is_on_its_way(event, last);
            if bytes > PIECE {
                return Ok(made);
            }
            text.extend_from_slice(&made.head);
            text.extend_from_slice(&made.bytes);
            if ends {
                return Ok(text.freeze().into());
            }
        }
        self.room = None;
        self.followed.at = self.followed.at.max(Some(end));
        if !more {
            self.followed.next = match self.followed.next {
                NextAction::Last => NextAction::End,
                _ => self.followed.after_stored(),
            };
        }
        Ok(text.freeze().into())
    }

    /// Returns the next live event that the caller may see, or waits for one.
    async fn live(&mut self) -> Result<StreamText, StreamEnd> {
        let mut timer = YieldTimer::start();
        while Instant::now() < self.look {
            let Some(follower) = &self.followed.follower else { return Err(StreamEnd::Session) };
            let (next, at) = follower.after(self.followed.at.unwrap_or_default());
            match next {
                NextEvent::None => {
                    self.followed.at = Some(at);
                    return self.idle().await;
                }
                NextEvent::Next(place, event) => {
                    let filtered = self.filter(&mut EventFilter::of(&event), &timer);
                    let filtered = or_nothing(filtered, Poll::Ready((None, None)))?;
                    if let Poll::Ready((None, _)) = filtered {
                        self.followed.at = Some(place);
                    } else if let Poll::Ready((Some(text), last)) = filtered
                        && let Some(text) = self.with_room(place, text)
                    {
                        self.followed.is_on_its_way(&event, last);
                        return Ok(text);
                    } else {
                        // Long work gets a permit there.
                        self.followed.next = NextAction::Stored;
                    }
                    timer.yield_if_due().await;
                }
                NextEvent::Stored => self.followed.next = NextAction::Stored,
                // The pump may not have passed on all that was done before, but the log has it.
                NextEvent::Ended => self.followed.next = NextAction::Last,
            }
            if self.followed.next != NextAction::Live {
                break;
            }
        }
        Ok(StreamText::default())
    }
}
