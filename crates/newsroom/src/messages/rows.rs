//! The rows: messages, their entries in boxes, and mails for the relay. They are stored as arrays
//! in field order. So a new field is added at the end, with `#[serde(default)]`, or the format is
//! raised.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::object::SharedText;
use stet_domain::store::{KeyRange, Row, RowPlace, Table, key_of};

/// The priority of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Not urgent.
    Low,
    /// The usual priority.
    #[default]
    Normal,
    /// Urgent.
    High,
}

/// A message, stored once for all its users. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The number; a later message has a greater one.
    pub number: u64,
    /// The subject, one line.
    pub subject: String,
    /// The text, plain.
    pub body: String,
    /// The name of the sender.
    pub sender: SharedText,
    /// The names of the users and groups to whom it was sent, as in the directory.
    pub recipients: Vec<SharedText>,
    /// The time of sending, in epoch milliseconds.
    pub sent_ms: u64,
    /// The priority.
    pub priority: Priority,
    /// The loids of the attached objects.
    pub attachments: Vec<SharedText>,
}

impl Message {
    /// Returns the id, which is distinct from all other loids.
    pub fn id(&self) -> Loid {
        id_of(self.number)
    }

    /// Returns the key of its row.
    pub fn key(number: u64) -> RowPlace {
        RowPlace { table: Table::Messages, key: Bytes::copy_from_slice(&number.to_be_bytes()) }
    }
}

/// Returns the id of the message with that number.
pub fn id_of(number: u64) -> Loid {
    Loid::new(DatabaseId::FIRST, number)
}

impl Row for Message {
    fn place(&self) -> RowPlace {
        Message::key(self.number)
    }
}

/// One of a user's two boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MessageBox {
    /// The received messages.
    Inbox,
    /// The sent messages.
    Outbox,
}

/// The entry of a message in a user's box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEntry {
    /// The name of the user.
    pub user: SharedText,
    /// The box.
    pub side: MessageBox,
    /// The number of the message.
    pub number: u64,
    /// The time of sending, in epoch milliseconds.
    pub sent_ms: u64,
    /// Whether the user has read the message. Sent messages count as read.
    pub read: bool,
    /// The name of the sender; empty in rows of earlier versions, which did not store it.
    #[serde(default)]
    pub sender: SharedText,
}

impl MessageEntry {
    /// Returns the range of all entries of a box, the oldest first. The name ends with a 0, which
    /// no name contains.
    pub fn range(user: &str, side: MessageBox) -> KeyRange {
        KeyRange::prefix(&key_of(&[user.as_bytes(), &[0, side as u8]]))
    }

    /// Returns the key of a user's entry of a message.
    pub fn key(user: &str, side: MessageBox, number: u64) -> RowPlace {
        RowPlace { table: Table::Boxes, key: key_of(&[user.as_bytes(), &[0, side as u8], &number.to_be_bytes()]) }
    }
}

impl Row for MessageEntry {
    fn place(&self) -> RowPlace {
        MessageEntry::key(&self.user, self.side, self.number)
    }
}

/// A message that is to be sent to the mail relay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingMail {
    /// The number of the message.
    pub number: u64,
    /// The addresses that have not been tried yet.
    pub waiting: Vec<String>,
    /// The addresses for which the mail is being sent. After a crash it is unknown whether the
    /// relay has it for these.
    pub sending: Vec<String>,
    /// The number of attempts.
    pub tries: u32,
    /// The time of the next attempt, in epoch milliseconds.
    pub next_ms: u64,
    /// The time of sending, in epoch milliseconds.
    pub sent_ms: u64,
}

impl OutgoingMail {
    /// Returns the key of its row.
    pub fn key(number: u64) -> RowPlace {
        RowPlace { table: Table::Outgoing, key: Bytes::copy_from_slice(&number.to_be_bytes()) }
    }
}

impl Row for OutgoingMail {
    fn place(&self) -> RowPlace {
        OutgoingMail::key(self.number)
    }
}

/// The number of boxes that contain a message, which is removed with the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCopies {
    /// The number of the message.
    pub number: u64,
    /// The number of boxes.
    pub count: u32,
}

impl MessageCopies {
    /// Returns the key of its row.
    pub fn key(number: u64) -> RowPlace {
        RowPlace { table: Table::Copies, key: Bytes::copy_from_slice(&number.to_be_bytes()) }
    }
}

impl Row for MessageCopies {
    fn place(&self) -> RowPlace {
        MessageCopies::key(self.number)
    }
}
