//! Recurring tasks: writing down which sessions were used, and removing those that have ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use stet_actors::error::{Error, Result};
use stet_actors::store::{Range, Row, Table, View, decode_value};

use super::super::rows::{Session, put};
use super::{Gone, LiveSession, PAGE, Sessions};

impl Sessions {
    /// Writes down when the sessions used since the last call were last used. Returns how many
    /// those were. To be called every [`flush_seconds`](super::SessionOptions::flush_seconds) and
    /// before the repository is shut down.
    ///
    /// # Errors
    /// What the store says; then the next call writes what this one could not.
    pub async fn flush(&self) -> Result<usize> {
        // Of all its commits: it is let go with the last of them.
        let turn = Arc::new(self.turn.clone().write_owned().await);
        let mut used = Vec::new();
        for shard in &self.live.0 {
            for live in shard.read().sessions.values() {
                let seen_ms = live.last_seen_ms();
                if seen_ms > live.recorded_ms.load(Ordering::Relaxed) && !live.has_ended() {
                    used.push((live.clone(), seen_ms));
                }
            }
        }
        for page in used.chunks(PAGE) {
            let row = |(live, seen_ms): &(Arc<LiveSession>, u64)| {
                put(&Session { last_seen_ms: *seen_ms, ..live.session.clone() })
            };
            let changes = page.iter().map(row).collect();
            self.repository.commit_holding(turn.clone(), |set| set.changes = changes).await?;
            for (live, seen_ms) in page {
                live.recorded_ms.store(*seen_ms, Ordering::Relaxed);
            }
        }
        Ok(used.len())
    }

    /// Removes the sessions that have ended, from memory and from disk. Returns how many. To be
    /// called now and then: a session ends without it.
    ///
    /// # Errors
    /// What the store says.
    pub async fn sweep(&self) -> Result<usize> {
        // What ends by time does not while nobody knows the time; who calls is refused all the
        // same.
        let now_ms = self.ended_by_ms();
        let mut swept = 0;
        let mut range = Range::prefix(&[]);
        loop {
            // For each page anew, so that a logout need not wait for all of them.
            let turn = self.turn.clone().write_owned().await;
            let page = self.page(&range)?;
            let dead: Vec<Gone> = page.iter().filter_map(|(_, row)| self.dead(decoded(row)?, now_ms)).collect();
            swept += dead.len();
            if !dead.is_empty() {
                self.remove(dead, turn).await?;
            }
            match page.last() {
                Some((key, _)) if page.len() == PAGE => range = range.after(key),
                _ => return Ok(swept),
            }
            // Requests on this thread go first.
            tokio::task::yield_now().await;
        }
    }

    /// Some rows of sessions, those of keys among them.
    pub(super) fn page(&self, range: &Range) -> Result<Vec<(Bytes, Bytes)>> {
        self.repository.look().scan(View::Committed, Table::Sessions, range, PAGE, false).map_err(|error| {
            tracing::error!(%error, "sessions can't be read");
            Error::internal()
        })
    }

    /// A session whose row may go.
    fn dead(&self, session: Session, now_ms: u64) -> Option<Gone> {
        let hash = session.token_hash;
        let live = self.live.get(&hash).unwrap_or_else(|| Arc::new(self.resumed(session)));
        // A user who can't be read is no reason to end a session.
        (!self.stands(&live, now_ms).unwrap_or(true)).then(|| Gone { hash, deed: live.deed() })
    }
}

/// The session of a row; one that can't be understood is logged and left alone.
pub(super) fn decoded(row: &[u8]) -> Option<Session> {
    decode_value(Session::FORMAT, row)
        .inspect_err(|error| tracing::error!(%error, "a session can't be understood"))
        .ok()
}
