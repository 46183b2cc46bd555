//! Recurring tasks: recording the use of sessions, and removing ended ones.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use stet_domain::error::{Error, Result};
use stet_domain::store::{KeyRange, Row, RowChange, RowCursor, StoreError, Table, decode_value};

use super::super::rows::Session;
use super::{EndedSession, LiveSession, PAGE, Sessions};

impl Sessions {
    /// Records the last use of the sessions used since the last call. Returns their number. Called
    /// every [`flush_seconds`](super::SessionOptions::flush_seconds), and before the repository is
    /// shut down.
    ///
    /// # Errors
    /// Errors of the store; then the next call writes what this one could not.
    pub async fn flush(&self) -> Result<usize> {
        // Shared by all commits, and released with the last of them.
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
                RowChange::put(&Session { last_seen_ms: *seen_ms, ..live.session.clone() })
            };
            let changes = page.iter().map(row).collect();
            self.repository.commit_holding(turn.clone(), |set| set.changes = changes).await?;
            for (live, seen_ms) in page {
                live.recorded_ms.store(*seen_ms, Ordering::Relaxed);
            }
        }
        Ok(used.len())
    }

    /// Removes the ended sessions from memory and from disk. Returns their number. Called
    /// periodically; a session ends without it.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn sweep(&self) -> Result<usize> {
        // Nothing expires while the clock may be wrong; callers with an expired session are refused
        // nevertheless.
        let now_ms = self.ended_by_ms();
        let (mut swept, mut cursor) = (0, all_sessions());
        loop {
            // Taken anew for each batch, so that a logout need not wait for all of them.
            let turn = self.turn.clone().write_owned().await;
            let Some(rows) = cursor.batch(self.repository.look()).map_err(unreadable)? else { return Ok(swept) };
            let dead: Vec<EndedSession> =
                rows.iter().filter_map(|(_, row)| self.dead(decode_session(row)?, now_ms)).collect();
            swept += dead.len();
            if !dead.is_empty() {
                self.remove(dead, turn).await?;
            }
            // Other requests on this thread go first.
            tokio::task::yield_now().await;
        }
    }

    /// Returns the session if its row may be removed.
    fn dead(&self, session: Session, now_ms: u64) -> Option<EndedSession> {
        let hash = session.token_hash;
        let live = self.live.get(&hash).unwrap_or_else(|| Arc::new(self.resumed(session)));
        // A user who can't be read is no reason to end a session.
        (!self.stands(&live, now_ms).unwrap_or(true)).then(|| EndedSession { hash, deed: live.deed() })
    }
}

/// Returns a cursor over the rows of sessions, including keys.
pub(super) fn all_sessions() -> RowCursor {
    RowCursor::over(Table::Sessions, KeyRange::prefix(&[]))
}

/// Logs that sessions can't be read, and returns the error for it.
pub(super) fn unreadable(error: StoreError) -> Error {
    tracing::error!(%error, "sessions can't be read");
    Error::internal()
}

/// Decodes the session of a row; a malformed one is logged and left alone.
pub(super) fn decode_session(row: &[u8]) -> Option<Session> {
    decode_value(Session::FORMAT, row).inspect_err(|error| tracing::error!(%error, "cannot decode a session")).ok()
}
