//! Messages between users (docs/api/messages.md): sending, reading and keeping them.
//!
//! A message is one row, with a small row in the box of each user who has it, and a row that counts
//! these. The message is removed with the last of them. All these rows, and the row for the mail
//! relay ([`relay`]), are written in one change set: a message is sent to all of its recipients or
//! to none.
//!
//! Rows of messages never change, and sending only adds rows, so it does not wait unless a box is
//! full. Marking and removing entries is serialised (`turn`). Messages that are too old, and
//! entries beyond a box's limit (`fair`), are removed by [`Messages::sweep`].

mod fair;
mod post;
pub mod relay;
mod rows;
#[cfg(test)]
mod tests;
mod turn;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use stet_actors::repository::Repository;
use stet_actors::runtime::store_failure;
use stet_auth::Directory;
use stet_base::limits::RowPager;
use stet_base::limits::yielding::YieldTimer;
use stet_config::{MessagesConfig, SmtpConfig};
use stet_domain::error::{Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::SharedText;
use stet_domain::store::{KeyRange, Row, RowChange, RowCursor, RowPlace, Table, decode_value};

pub use self::post::NewMessage;
pub use self::relay::MailRelay;
pub use self::rows::MessageCopies;
pub use self::rows::{Message, MessageBox, MessageEntry, Priority, id_of};
use self::turn::{InboxLock, InboxLockGuard};

/// The number of entries of one box that are removed at a time.
const LOT: usize = 2000;

/// The interval of sweeps for old messages, in milliseconds.
const SWEEP_MS: u64 = 60 * 60 * 1000;

/// The number of bytes of new messages after which a sweep runs early, so that boxes do not grow
/// without limit in between.
const SWEEP_BYTES: u64 = 64 << 20;

/// The messages between users.
pub struct Messages {
    repository: Repository,
    directory: Arc<Directory>,
    bounds: MessagesConfig,
    relay: Option<Arc<MailRelay>>,
    turns: InboxLock,
    /// The time of the last sweep, in epoch milliseconds.
    swept_ms: AtomicU64,
    /// The approximate number of bytes of messages sent since.
    sent_bytes: Arc<AtomicU64>,
    /// The number of entries added to each box since its surplus was last removed.
    added: Mutex<HashMap<(SharedText, MessageBox), usize>>,
}

impl Messages {
    /// Creates the messages of a repository. They are sent as mails as well if a relay is
    /// configured.
    pub fn new(
        repository: Repository,
        directory: Arc<Directory>,
        bounds: MessagesConfig,
        smtp: &SmtpConfig,
    ) -> Messages {
        let relay = MailRelay::configured(smtp, &repository, &directory);
        let (turns, swept_ms, sent_bytes, added) = Default::default();
        Messages { repository, directory, bounds, relay, turns, swept_ms, sent_bytes, added }
    }

    /// Returns the sender to the mail relay, if one is configured.
    pub fn relay(&self) -> Option<&Arc<MailRelay>> {
        self.relay.as_ref()
    }

    /// Returns the entries that a box keeps and whose messages exist, the newest first.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn entries(&self, user: &str, side: MessageBox) -> Result<Vec<MessageEntry>> {
        let BoxContents { mut kept, .. } = self.read_box(user, side, 0).await?;
        let mut too_many = self.surplus(&kept).await?.into_iter();
        kept.retain(|_| !too_many.next().unwrap_or_default());
        Ok(kept)
    }

    /// Reads a box. Entries older than `old_ms`, or without a message, are not kept.
    async fn read_box(&self, user: &str, side: MessageBox, old_ms: u64) -> Result<BoxContents> {
        let mut found = BoxContents::default();
        let cursor = RowCursor::over(Table::Boxes, MessageEntry::range(user, side)).backwards();
        let mut pager = RowPager::new(self.repository.look(), cursor);
        while let Some((_, row)) = pager.next().await.map_err(|error| store_failure(&error))? {
            let entry = read::<MessageEntry>(&row)?;
            // Earlier versions have left entries without messages.
            let stays = entry.sent_ms >= old_ms && self.is_there(entry.number)?;
            if stays { found.kept.push(entry) } else { found.gone.push(entry) }
        }
        Ok(found)
    }

    /// Returns for each entry of a box, the newest first, whether it is surplus.
    async fn surplus(&self, entries: &[MessageEntry]) -> Result<Vec<bool>> {
        if entries.len() <= self.bounds.per_box {
            return Ok(vec![false; entries.len()]);
        }
        let (mut senders, mut timer) = (Vec::with_capacity(entries.len()), YieldTimer::start());
        for entry in entries {
            timer.yield_if_due().await;
            senders.push(match (&*entry.sender, entry.side) {
                ("", MessageBox::Inbox) => {
                    self.message(entry.number)?.map_or_else(SharedText::default, |message| message.sender)
                }
                _ => entry.sender.clone(),
            });
        }
        Ok(fair::surplus(&senders, self.bounds.per_box))
    }

    /// Reports whether a message exists. Its count shows that, and is short while a message may be
    /// long.
    fn is_there(&self, number: u64) -> Result<bool> {
        let place = MessageCopies::key(number);
        // Earlier versions did not count.
        Ok(self.repository.row::<MessageCopies>(place.table, &place.key)?.is_some() || self.message(number)?.is_some())
    }

    /// Returns a message; `None` if it was removed.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn message(&self, number: u64) -> Result<Option<Message>> {
        let place = Message::key(number);
        self.repository.row(place.table, &place.key)
    }

    /// Marks a message in a user's inbox as read or unread.
    ///
    /// # Errors
    /// `ObjectNotFound`; errors of the store.
    pub async fn mark(&self, user: &str, id: Loid, read: bool) -> Result<MessageEntry> {
        let turn = self.turns.turn(&self.repository).await?;
        let place = MessageEntry::key(user, MessageBox::Inbox, id.number);
        let entry: Option<MessageEntry> = self.repository.row(place.table, &place.key)?;
        let entry = entry.filter(|_| id == id_of(id.number)).ok_or_else(|| Error::not_found(id))?;
        if entry.read == read {
            return Ok(entry);
        }
        let entry = MessageEntry { read, ..entry };
        turn.commit(vec![RowChange::put(&entry)]).await?;
        Ok(entry)
    }

    /// Removes a message from a user's boxes. Others keep theirs.
    ///
    /// # Errors
    /// `ObjectNotFound`; errors of the store.
    pub async fn remove(&self, user: &str, id: Loid) -> Result<()> {
        let turn = self.turns.turn(&self.repository).await?;
        let mut changes = Vec::new();
        for side in [MessageBox::Inbox, MessageBox::Outbox] {
            let place = MessageEntry::key(user, side, id.number);
            if id == id_of(id.number) && self.repository.row::<MessageEntry>(place.table, &place.key)?.is_some() {
                changes.push(RowChange { table: place.table, key: place.key, value: None });
            }
        }
        if changes.is_empty() {
            return Err(Error::not_found(id));
        }
        let gone = BTreeMap::from([(id.number, changes.len() as u32)]);
        changes.extend(turn.without(&gone)?);
        turn.commit(changes).await
    }

    /// Removes old messages and the surplus of each box, if the interval has passed. Returns the
    /// number of removed entries and messages.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn sweep(&self) -> Result<usize> {
        let now_ms = self.repository.clock().now_ms();
        // The clock may have been set back.
        let is_time = now_ms.abs_diff(self.swept_ms.load(Ordering::Relaxed)) >= SWEEP_MS;
        if !is_time && self.sent_bytes.load(Ordering::Relaxed) < SWEEP_BYTES {
            return Ok(0);
        }
        self.sent_bytes.store(0, Ordering::Relaxed);
        let kept_ms = self.bounds.keep_days.saturating_mul(24 * 60 * 60 * 1000);
        // No message counts as old while the clock may be wrong.
        let old_ms = self.repository.ends().now().map_or(0, |now| now.ms().saturating_sub(kept_ms));
        let mut count = self.sweep_boxes(old_ms).await?;
        let old = |message: &Message| Ok(message.sent_ms < old_ms);
        let counts = |_: &InboxLockGuard<'_>, gone: &[Message]| {
            let of = |message: &Message| MessageCopies::key(message.number);
            Ok(gone.iter().map(of).map(|RowPlace { table, key }| RowChange { table, key, value: None }).collect())
        };
        count += self.sweep_rows::<Message>(Table::Messages, old, counts).await?;
        self.swept_ms.store(now_ms, Ordering::Relaxed);
        Ok(count)
    }

    /// Trims all boxes, the last one first.
    async fn sweep_boxes(&self, old_ms: u64) -> Result<usize> {
        let (mut range, mut count) = (KeyRange::prefix(&[]), 0);
        while let Some(MessageEntry { user, side, .. }) =
            self.repository.rows_within(Table::Boxes, &range, 1, true)?.into_iter().next()
        {
            count += self.trim(&user, side, old_ms).await?;
            range.to = Some(MessageEntry::range(&user, side).from);
        }
        Ok(count)
    }

    /// Removes entries of a box that are older than `old_ms` or surplus, with the messages that no
    /// box contains any more. Returns the number of entries.
    async fn trim(&self, user: &SharedText, side: MessageBox, old_ms: u64) -> Result<usize> {
        // Before the box is read, because an entry that is added later may not be seen below.
        self.added.lock().remove(&(user.clone(), side));
        let mut count = 0;
        loop {
            let turn = self.turns.turn(&self.repository).await?;
            let BoxContents { kept, mut gone } = self.read_box(user, side, old_ms).await?;
            let too_many = self.surplus(&kept).await?;
            gone.extend(kept.into_iter().zip(too_many).filter(|(_, goes)| *goes).map(|(entry, _)| entry));
            let is_last = gone.len() <= LOT;
            // The order of removal does not change which entries are surplus.
            gone.truncate(LOT);
            if gone.is_empty() {
                return Ok(count);
            }
            let mut copies = BTreeMap::new();
            gone.iter().for_each(|entry| *copies.entry(entry.number).or_default() += 1);
            let remove = |entry: &MessageEntry| {
                let RowPlace { table, key } = entry.place();
                RowChange { table, key, value: None }
            };
            let mut changes: Vec<_> = gone.iter().map(remove).collect();
            changes.extend(turn.without(&copies)?);
            turn.commit(changes).await?;
            count += gone.len();
            if is_last {
                return Ok(count);
            }
        }
    }

    /// Removes rows of a table, the last one first, together with the changes that `beside` returns
    /// for them.
    async fn sweep_rows<R: Row>(
        &self,
        table: Table,
        mut goes: impl FnMut(&R) -> Result<bool>,
        beside: impl Fn(&InboxLockGuard<'_>, &[R]) -> Result<Vec<RowChange>>,
    ) -> Result<usize> {
        let (mut count, mut timer) = (0, YieldTimer::start());
        let mut cursor = RowCursor::over(table, KeyRange::prefix(&[])).backwards();
        loop {
            let turn = self.turns.turn(&self.repository).await?;
            let rows = cursor.batch(self.repository.look()).map_err(|error| store_failure(&error))?;
            let Some(rows) = rows else { return Ok(count) };
            let (mut changes, mut gone) = (Vec::new(), Vec::new());
            for (key, row) in &rows {
                timer.yield_if_due().await;
                let row = read::<R>(row)?;
                if goes(&row)? {
                    changes.push(RowChange { table, key: key.clone(), value: None });
                    gone.push(row);
                }
            }
            count += changes.len();
            if !changes.is_empty() {
                changes.extend(beside(&turn, &gone)?);
                turn.commit(changes).await?;
            }
        }
    }
}

/// The entries of a box, the newest first.
#[derive(Default)]
struct BoxContents {
    kept: Vec<MessageEntry>,
    /// The entries that are too old, or have no message.
    gone: Vec<MessageEntry>,
}

fn read<R: Row>(row: &[u8]) -> Result<R> {
    decode_value(R::FORMAT, row).map_err(|error| store_failure(&error.into()))
}
