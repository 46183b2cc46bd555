//! The rows: messages, who has them, and what a mail relay has yet to take. Stored as arrays in
//! field order, so a field is added at the end, with `#[serde(default)]`, or the format goes up.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_actors::id::{DatabaseId, Loid};
use stet_actors::object::Text;
use stet_actors::store::{Key, Range, Row, Table, key_of};

/// How much a message matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// It can wait.
    Low,
    /// As most do.
    #[default]
    Normal,
    /// At once.
    High,
}

/// A message, once for all who have it. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its number; a later message has a greater one.
    pub number: u64,
    /// One line.
    pub subject: String,
    /// Plain text.
    pub body: String,
    /// Name of the user who sent it.
    pub sender: Text,
    /// Names of the users and groups to whom it went, as the directory has them.
    pub recipients: Vec<Text>,
    /// When, epoch milliseconds.
    pub sent_ms: u64,
    /// See [`Priority`].
    pub priority: Priority,
    /// Loids of the objects that go with it.
    pub attachments: Vec<Text>,
}

impl Message {
    /// Its id, by which nothing else is named.
    pub fn id(&self) -> Loid {
        id_of(self.number)
    }

    /// Where it is kept.
    pub fn key(number: u64) -> Key {
        Key { table: Table::Messages, key: Bytes::copy_from_slice(&number.to_be_bytes()) }
    }
}

/// The id of the message of that number.
pub fn id_of(number: u64) -> Loid {
    Loid::new(DatabaseId::FIRST, number)
}

impl Row for Message {
    fn place(&self) -> Key {
        Message::key(self.number)
    }
}

/// Which of a user's two boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Side {
    /// What they have received.
    Inbox,
    /// What they have sent.
    Outbox,
}

/// That a user has a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the user.
    pub user: Text,
    /// In which box.
    pub side: Side,
    /// Number of the message.
    pub number: u64,
    /// When it was sent, epoch milliseconds.
    pub sent_ms: u64,
    /// Whether the user has read it; one's own is.
    pub read: bool,
    /// Name of the user who sent it; empty in rows of versions that did not note it.
    #[serde(default)]
    pub sender: Text,
}

impl Entry {
    /// All entries of a box, the oldest first. No name has the 0 that ends it.
    pub fn range(user: &str, side: Side) -> Range {
        Range::prefix(&key_of(&[user.as_bytes(), &[0, side as u8]]))
    }

    /// Where a user's entry of a message is.
    pub fn key(user: &str, side: Side, number: u64) -> Key {
        Key { table: Table::Boxes, key: key_of(&[user.as_bytes(), &[0, side as u8], &number.to_be_bytes()]) }
    }
}

impl Row for Entry {
    fn place(&self) -> Key {
        Entry::key(&self.user, self.side, self.number)
    }
}

/// A message on its way to the mail relay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outgoing {
    /// Number of the message.
    pub number: u64,
    /// Addresses that have yet to be tried.
    pub waiting: Vec<String>,
    /// Addresses for which the relay is being given the mail: of those it is not known after a
    /// crash whether it has it.
    pub sending: Vec<String>,
    /// How often it was tried.
    pub tries: u32,
    /// When it is tried next, epoch milliseconds.
    pub next_ms: u64,
    /// When it was sent, epoch milliseconds.
    pub sent_ms: u64,
}

impl Outgoing {
    /// Where it is kept.
    pub fn key(number: u64) -> Key {
        Key { table: Table::Outgoing, key: Bytes::copy_from_slice(&number.to_be_bytes()) }
    }
}

impl Row for Outgoing {
    fn place(&self) -> Key {
        Outgoing::key(self.number)
    }
}

/// How many boxes a message is in: it goes with the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copies {
    /// Number of the message.
    pub number: u64,
    /// How many.
    pub count: u32,
}

impl Copies {
    /// Where it is kept.
    pub fn key(number: u64) -> Key {
        Key { table: Table::Copies, key: Bytes::copy_from_slice(&number.to_be_bytes()) }
    }
}

impl Row for Copies {
    fn place(&self) -> Key {
        Copies::key(self.number)
    }
}
