//! A cursor in the log, which returns all events of all containers from a place on, in the order of
//! their commits, and waits for more. It is for parts of the server that must see each event. A
//! part that keeps the cursor's place on disk continues after a restart without gap or repeat.

use std::future::pending;
use std::time::Duration;

use stet_actors::repository::Reader;
use stet_domain::store::{Event, EventId, EventPeriod, LogDirection};
use tokio::sync::watch;

/// Pause before a failed read is retried.
pub(super) const TRY_AGAIN: Duration = Duration::from_millis(200);

/// A cursor in the log of events.
pub struct LogCursor {
    repository: Reader,
    /// The channel that is notified of each commit, once its events are in the log.
    commits: watch::Receiver<()>,
    /// The last place that was read.
    at: EventId,
}

impl LogCursor {
    /// Creates a cursor after a place.
    pub(super) fn of(repository: Reader, commits: watch::Receiver<()>, after: EventId) -> LogCursor {
        LogCursor { repository, commits, at: after }
    }

    /// Returns the last place that was read.
    pub fn at(&self) -> EventId {
        self.at
    }

    /// Returns the repository that it reads.
    pub fn repository(&self) -> &Reader {
        &self.repository
    }

    /// Waits for the next events, which are at most a passage of the log. Views show their changes.
    /// A read that fails is retried. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Vec<(EventId, Event)> {
        loop {
            match self.repository.events().events(LogDirection::Forth(Some(self.at)), &EventPeriod::default()) {
                Ok(passage) => {
                    let last = passage.events.last().map(|(id, _)| *id);
                    if let Some(last) = last {
                        self.repository.views_agree().await;
                        self.at = last;
                        return passage.events;
                    }
                    match passage.next {
                        Some(next) => self.at = next,
                        None if self.commits.changed().await.is_ok() => {}
                        // The server has ended.
                        None => pending().await,
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot read the log of events; trying again");
                    tokio::time::sleep(TRY_AGAIN).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use stet_domain::lifecycle::NewObject;

    use super::*;
    use crate::testing::NewsroomFixture;

    #[actix::test]
    async fn a_cursor_has_each_event_once_and_continues_anywhere() {
        let fixture = NewsroomFixture::new().await;
        let (followers, reader) = (&fixture.newsroom.followers, &fixture.newsroom.repository);
        let mut cursor = followers.cursor(reader, reader.end_of_log());
        assert!(cursor.next().now_or_never().is_none(), "nothing has changed yet");
        let mut found = Vec::new();
        for number in 0..10 {
            fixture.create(NewObject::document(&format!("{number}.xml"), "Story")).await;
            if number % 3 == 0 {
                found.extend(cursor.next().await);
            }
        }
        while let Some(events) = cursor.next().now_or_never() {
            found.extend(events);
        }
        let ids: Vec<EventId> = found.iter().map(|(id, _)| *id).collect();
        assert!(ids.is_sorted_by(|one, next| one < next) && ids.len() >= 10, "{ids:?}");
        let mut again = followers.cursor(reader, ids[4]);
        let mut rest = Vec::new();
        while let Some(events) = again.next().now_or_never() {
            rest.extend(events);
        }
        assert_eq!(rest, found[5..]);
    }
}
