//! The events of one container in a stream: where they begin, those that are stored, and live ones.

use std::task::Poll;

use bytes::{Bytes, BytesMut};
use stet_base::limits::PIECE;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Error, Result};
use stet_domain::id::Loid;

use super::super::NextEvent;
use super::super::sight::{EventFilter, render_hidden};
use super::super::stored::{EventText, next_kept, read};
use super::{CHUNK, COMMENT, ContainerStream, HELLO, NextAction, RESET, StreamContainer, StreamEnd, StreamText, plain};

impl ContainerStream {
    /// Determines where the events of a container begin. Returns its first event, or a comment.
    pub(super) async fn beginning(&mut self, index: usize) -> Result<Bytes> {
        let (container, after) = (self.followed[index].container, self.followed[index].at);
        // Only now, after the follower is in the list, so that no later commit is missed.
        let present = self.context.present(container)?;
        // The log shows an event shortly after rows show its change, and before views do. A caller
        // in between would not find the next event, and would have to begin anew.
        self.context.newsroom.repository.views_agree().await;
        let (at, first, stored) = match after {
            None => (present, Some(HELLO), false),
            Some(after) if after == present => (present, None, false),
            Some(after) if after > present => (present, Some(RESET), false),
            Some(after) => match self.next_kept(container, after).await? {
                Some(next) if next == after + 1 => (after, None, true),
                // 0 is no revision of an event, but stands for the beginning of all kept events.
                Some(oldest) if after == 0 => (oldest - 1, None, true),
                None if after == 0 => (present, None, false),
                _ => (present, Some(RESET), false),
            },
        };
        let followed = &mut self.followed[index];
        followed.at = Some(at);
        followed.next = if stored { NextAction::Stored } else { followed.after_stored() };
        Ok(first.map_or(COMMENT, |name| plain(name, container, at)))
    }

    /// Returns the revision of the first kept event after another one. The event itself is read for
    /// this, so it may be large or wait for a disk.
    async fn next_kept(&self, container: Loid, after: u64) -> Result<Option<u64>> {
        let (newsroom, turn) = (self.context.newsroom.clone(), self.place.short_turn().await?);
        let reading = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            next_kept(newsroom.repository.events(), container, after)
        });
        reading.await.map_err(|_| Error::internal())?.map_err(|error| {
            tracing::error!(%container, %error, "events can't be read");
            Error::internal()
        })
    }

    /// Returns the text of a container's next event with its id and its reserved memory, if that is
    /// available.
    fn with_room(&mut self, index: usize, revision: u64, text: EventText) -> Option<StreamText> {
        let text = self.reserved(text)?;
        self.followed[index].at = Some(revision);
        Some(StreamText { head: self.id(), ..text })
    }

    /// Sends the stored events of a container, some at a time. Returns an empty text if there are
    /// none, or if there is no memory for the next of them.
    pub(super) async fn stored(&mut self, index: usize) -> Result<StreamText, StreamEnd> {
        let turn = self.place.turn().await.map_err(|_| StreamEnd::Session)?;
        let StreamContainer { container, at, .. } = self.followed[index];
        let (newsroom, at) = (self.context.newsroom.clone(), at.unwrap_or_default());
        // The read may wait for a disk. The permit is held until the texts are rendered, and a read
        // that has begun is completed.
        let reading =
            tokio::task::spawn_blocking(move || (read(newsroom.repository.events(), container, at, CHUNK), turn));
        let (chunk, more, _turn) = match reading.await {
            Ok((Ok((chunk, more)), turn)) => (chunk, more, turn),
            Ok((Err(error), _)) => {
                tracing::error!(%container, %error, "the events of a container can't be read; a stream ends");
                return Err(StreamEnd::Container);
            }
            Err(_) => return Err(StreamEnd::Container),
        };
        // Followers who receive an event must find its change in the container.
        self.context.newsroom.repository.views_agree().await;
        self.followed[index].late &= more;
        self.check_late(index)?;
        let followed = &mut self.followed[index];
        followed.next = if more { NextAction::Stored } else { followed.after_stored() };
        let (mut text, mut timer) = (BytesMut::new(), YieldTimer::start());
        for happening in &chunk {
            if happening.revision() != self.followed[index].at.unwrap_or_default() + 1 {
                // The next events have just become too old.
                let present = self.context.present(container).map_err(|_| StreamEnd::Container)?;
                self.context.newsroom.repository.views_agree().await;
                let followed = &mut self.followed[index];
                (followed.at, followed.next) = (Some(present), NextAction::Stored);
                text.extend_from_slice(&[self.id(), plain(RESET, container, present)].concat());
                break;
            }
            let (event, last) = self.filtered(happening, &mut timer).await?;
            let event = event.unwrap_or_else(|| render_hidden(happening));
            let (revision, bytes) = (happening.revision(), event.bytes.len());
            let is_large = bytes > PIECE;
            // A large event is sent alone: what is read at a time is smaller, or one event.
            let event = if is_large && !text.is_empty() { None } else { self.with_room(index, revision, event) };
            let Some(event) = event else {
                self.followed[index].next = NextAction::Stored;
                self.wanted = text.is_empty().then_some(bytes as u64);
                // The memory is waited for on behalf of this container.
                self.first = index;
                break;
            };
            let ends = self.is_on_its_way(index, last);
            if is_large {
                return Ok(event);
            }
            text.extend_from_slice(&event.head);
            text.extend_from_slice(&event.bytes);
            if ends {
                break;
            }
        }
        self.room = None;
        Ok(text.freeze().into())
    }

    /// Sends the remaining stored events of a container when nothing more can come, and then ends
    /// following it.
    pub(super) async fn last_stored(&mut self, index: usize) -> Result<StreamText, StreamEnd> {
        let text = self.stored(index).await?;
        let followed = &mut self.followed[index];
        if followed.next != NextAction::End {
            followed.next = NextAction::Last;
        }
        if text.bytes.is_empty() && self.wanted.is_none() { Err(StreamEnd::Container) } else { Ok(text) }
    }

    /// Disconnects a follower who could not take live events in time, and is now too far behind.
    fn check_late(&self, index: usize) -> Result<(), StreamEnd> {
        let StreamContainer { container, at, ref follower, late, .. } = self.followed[index];
        let Some(follower) = follower.as_ref().filter(|_| late) else { return Ok(()) };
        // Each revision has one event. A container that is in the recycle bin or was destroyed is
        // handled elsewhere.
        let Ok(present) = self.context.present(container) else { return Ok(()) };
        let behind = present.saturating_sub(at.unwrap_or_default());
        if behind > self.context.newsroom.config.events.queue_events as u64 {
            tracing::info!(%container, behind, "a follower has fallen behind");
            follower.dropped();
            return Err(StreamEnd::Session);
        }
        Ok(())
    }

    /// Returns the text of a container's next live event, if it can be rendered at once and there
    /// is memory for it.
    pub(super) fn live(&mut self, index: usize, event: NextEvent<u64>) -> Result<StreamText, StreamEnd> {
        match event {
            NextEvent::None => {}
            NextEvent::Next(revision, happening) => {
                let filtered = self.filter(&mut EventFilter::of(&happening), &YieldTimer::start())?;
                if let Poll::Ready((event, last)) = filtered
                    && let event = event.unwrap_or_else(|| render_hidden(&happening))
                    && let Some(text) = self.with_room(index, revision, event)
                {
                    self.is_on_its_way(index, last);
                    return Ok(text);
                }
                // Long work gets a permit there.
                self.followed[index].next = NextAction::Stored;
            }
            NextEvent::Stored => {
                (self.followed[index].next, self.followed[index].late) = (NextAction::Stored, true);
                self.check_late(index)?;
            }
            // The pump may not have passed on all that was done before, but the store has it.
            NextEvent::Ended => self.followed[index].next = NextAction::Last,
        }
        Ok(StreamText::default())
    }

    /// Records that the event at a container's position is being sent. Returns whether it is the
    /// last one: the container is in the recycle bin, and nothing more was done.
    fn is_on_its_way(&mut self, index: usize, last: Option<u64>) -> bool {
        let followed = &mut self.followed[index];
        if let Some(follower) = &followed.follower {
            follower.sent(1);
        }
        let ends = last.is_some_and(|last| followed.at >= Some(last));
        if ends {
            followed.next = NextAction::End;
        }
        ends
    }
}

impl StreamContainer {
    /// Returns the action after all stored events: live events, or the end.
    fn after_stored(&self) -> NextAction {
        if self.follower.is_some() { NextAction::Live } else { NextAction::End }
    }
}
