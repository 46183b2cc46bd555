//! Messages between users (docs/api/messages.md): sending them, reading and keeping them.
//!
//! A message is one row, and one small row in the box of each who has it. All of them, and what a mail relay is to take
//! ([`relay`]), go in one change set: a message is sent to all of its recipients, or to nobody.
//!
//! Rows of messages never change, and sending adds rows alone, so it waits for nobody. Marking and removing entries go one after the
//! other. What is too old or too much is removed by [`Messages::sweep`].

mod post;
pub mod relay;
mod rows;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stet_actors::error::{Error, Result};
use stet_actors::id::Loid;
use stet_actors::object::Text;
use stet_actors::repository::Repository;
use stet_actors::runtime::store_failure;
use stet_actors::store::{Change, Range, Row, Table, View, decode_value, encode_value};
use tokio::sync::Mutex;

pub use self::post::Mail;
pub use self::relay::Relay;
pub use self::rows::{Entry, Message, Priority, Side, id_of};
use crate::auth::Directory;
use crate::config::{MessagesConfig, SmtpConfig};
use crate::give_way::GiveWay;

/// Rows that are read or removed at a time.
const CHUNK: usize = 500;

/// How often old messages are looked for, milliseconds.
const SWEEP_MS: u64 = 60 * 60 * 1000;

/// See the module's head.
pub struct Messages {
    repository: Repository,
    directory: Arc<Directory>,
    bounds: MessagesConfig,
    relay: Option<Arc<Relay>>,
    /// One change of entries at a time, from reading them to their being on disk.
    turn: Mutex<()>,
    /// When old messages were looked for last, epoch milliseconds.
    swept_ms: AtomicU64,
}

impl Messages {
    /// The messages of a repository; mails go out as well if a relay is configured.
    pub fn new(
        repository: Repository,
        directory: Arc<Directory>,
        bounds: MessagesConfig,
        smtp: &SmtpConfig,
    ) -> Messages {
        let relay = Relay::configured(smtp, &repository, &directory);
        Messages { repository, directory, bounds, relay, turn: Mutex::default(), swept_ms: AtomicU64::new(0) }
    }

    /// What gives messages to the mail relay, if one is configured.
    pub fn relay(&self) -> Option<&Arc<Relay>> {
        self.relay.as_ref()
    }

    /// Entries of a box, the newest first: as many as a box may have.
    ///
    /// # Errors
    /// What the store says.
    pub async fn entries(&self, user: &str, side: Side) -> Result<Vec<Entry>> {
        let (mut entries, mut way) = (Vec::new(), GiveWay::new());
        let mut range = Entry::range(user, side);
        loop {
            let most = CHUNK.min(self.bounds.per_box - entries.len());
            let rows = self.scan(Table::Boxes, &range, most, true)?;
            for (_, row) in &rows {
                entries.push(read::<Entry>(row)?);
            }
            match rows.last() {
                Some((last, _)) if rows.len() == most && entries.len() < self.bounds.per_box => {
                    range.to = Some(last.clone())
                }
                _ => return Ok(entries),
            }
            way.now_and_then().await;
        }
    }

    /// A message; `None` once it is gone.
    ///
    /// # Errors
    /// What the store says.
    pub fn message(&self, number: u64) -> Result<Option<Message>> {
        let place = Message::key(number);
        self.repository.row(place.table, &place.key)
    }

    /// Marks a message in a user's inbox as read, or as not read.
    ///
    /// # Errors
    /// `ObjectNotFound`; what the store says.
    pub async fn mark(&self, user: &str, id: Loid, read: bool) -> Result<Entry> {
        let _turn = self.turn.lock().await;
        let place = Entry::key(user, Side::Inbox, id.number);
        let entry: Option<Entry> = self.repository.row(place.table, &place.key)?;
        let entry = entry.filter(|_| id == id_of(id.number)).ok_or_else(|| Error::not_found(id))?;
        let entry = Entry { read, ..entry };
        let change = Change { table: place.table, key: place.key, value: Some(encode_value(Entry::FORMAT, &entry)) };
        self.repository.commit(|set| set.changes = vec![change]).await?;
        Ok(entry)
    }

    /// Takes a message out of a user's boxes. Others keep theirs.
    ///
    /// # Errors
    /// `ObjectNotFound`; what the store says.
    pub async fn remove(&self, user: &str, id: Loid) -> Result<()> {
        let _turn = self.turn.lock().await;
        let mut changes = Vec::new();
        for side in [Side::Inbox, Side::Outbox] {
            let place = Entry::key(user, side, id.number);
            if id == id_of(id.number) && self.repository.row::<Entry>(place.table, &place.key)?.is_some() {
                changes.push(Change { table: place.table, key: place.key, value: None });
            }
        }
        if changes.is_empty() {
            return Err(Error::not_found(id));
        }
        self.repository.commit(|set| set.changes = changes).await
    }

    /// Removes, now and then, messages that have been kept for long enough, and of each box the oldest that it has too much. Gives how
    /// many entries and messages went.
    ///
    /// # Errors
    /// What the store says.
    pub async fn sweep(&self) -> Result<usize> {
        let now_ms = self.repository.clock().now_ms();
        if now_ms < self.swept_ms.load(Ordering::Relaxed).saturating_add(SWEEP_MS) {
            return Ok(0);
        }
        let old_ms = now_ms.saturating_sub(self.bounds.keep_days.saturating_mul(24 * 60 * 60 * 1000));
        let mut count = self.sweep_boxes(old_ms).await?;
        let old = |message: &Message| message.sent_ms < old_ms;
        count += self.sweep_rows::<Message>(Table::Messages, old).await?;
        self.swept_ms.store(now_ms, Ordering::Relaxed);
        Ok(count)
    }

    async fn sweep_boxes(&self, old_ms: u64) -> Result<usize> {
        // From the newest entry of each box on; a box is what entries in a row have in common.
        let (mut of, mut place) = (None::<(Text, Side)>, 0);
        let too_much = |entry: &Entry| {
            let own = (entry.user.clone(), entry.side);
            place = if of.as_ref() == Some(&own) { place + 1 } else { 1 };
            of = Some(own);
            place > self.bounds.per_box || entry.sent_ms < old_ms
        };
        self.sweep_rows::<Entry>(Table::Boxes, too_much).await
    }

    /// Removes rows of a table, the last first.
    async fn sweep_rows<R: Row>(&self, table: Table, mut goes: impl FnMut(&R) -> bool) -> Result<usize> {
        let (mut range, mut count, mut way) = (Range::prefix(&[]), 0, GiveWay::new());
        loop {
            let _turn = self.turn.lock().await;
            let rows = self.scan(table, &range, CHUNK, true)?;
            let mut changes = Vec::new();
            for (key, row) in &rows {
                way.now_and_then().await;
                if goes(&read::<R>(row)?) {
                    changes.push(Change { table, key: key.clone(), value: None });
                }
            }
            count += changes.len();
            if !changes.is_empty() {
                self.repository.commit(|set| set.changes = changes).await?;
            }
            match rows.last() {
                Some((last, _)) if rows.len() == CHUNK => range.to = Some(last.clone()),
                _ => return Ok(count),
            }
        }
    }

    fn scan(
        &self,
        table: Table,
        range: &Range,
        most: usize,
        backwards: bool,
    ) -> Result<Vec<(bytes::Bytes, bytes::Bytes)>> {
        let rows = self.repository.look().scan(View::Committed, table, range, most, backwards);
        rows.map_err(|error| store_failure(&error))
    }
}

fn read<R: Row>(row: &[u8]) -> Result<R> {
    decode_value(R::FORMAT, row).map_err(|error| store_failure(&error.into()))
}
