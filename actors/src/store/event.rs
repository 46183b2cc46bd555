//! What has happened: the events that change sets leave, and how the log of them is read.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::row::{DecodeError, decode_value, encode_value, key_of};
use super::{Seq, StoreError};
use crate::id::Loid;

/// What happened: the audit trail, and what those who follow a container resume from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Key of the container that changed ([`Loid::to_key`]); `None` for what is in no container, such as a user, and stored as no
    /// bytes.
    #[serde(with = "loid_key_or_none")]
    pub container: Option<Loid>,
    /// The container's revision after the change; 0 without a container.
    pub revision: u64,
    /// Name of the command.
    pub kind: String,
    /// The objects or parts concerned, as text.
    pub ids: Vec<String>,
    /// Name of the user.
    pub user: String,
    /// Epoch milliseconds.
    pub at_ms: u64,
    /// Reference of the session, not its token; empty for the repository itself.
    #[serde(default)]
    pub session: String,
    /// Network address that the call came from; empty where it came from none, or was not noted yet.
    #[serde(default)]
    pub address: String,
    /// Those of `ids` that readers saw before the change and see no more, such as a post that is not approved any longer; `None`
    /// where it was not noted, as in a change of no posts and in rows from before that was done.
    #[serde(default)]
    pub withdrawn: Option<Vec<String>>,
    /// Those of `ids` that readers saw neither before nor after, such as a post that waits for approval; `None` likewise.
    #[serde(default)]
    pub unseen: Option<Vec<String>>,
}

/// An event's place in the log. Their order is the order of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventId {
    /// Number of the change set.
    pub seq: Seq,
    /// Its place among the events of that change set.
    pub ordinal: u16,
}

impl EventId {
    /// The key of [`super::Table::Events`], and how other rows name an event.
    pub fn to_key(self) -> Bytes {
        key_of(&[&self.seq.to_be_bytes(), &self.ordinal.to_be_bytes()])
    }

    /// Reads what [`EventId::to_key`] gives.
    pub fn from_key(key: &[u8]) -> Option<EventId> {
        let (seq, ordinal) = (key.get(..8)?.try_into().ok()?, key.get(8..)?.try_into().ok()?);
        Some(EventId { seq: u64::from_be_bytes(seq), ordinal: u16::from_be_bytes(ordinal) })
    }
}

/// An event in its stored form, and beside it what the log finds it by. Clones share the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// Its place.
    pub id: EventId,
    /// [`Event::container`].
    pub container: Option<Loid>,
    /// [`Event::revision`].
    pub revision: u64,
    /// [`Event::at_ms`].
    pub at_ms: u64,
    /// The event, encoded ([`encode_value`], format 1).
    pub value: Bytes,
}

impl Logged {
    /// An event at its place.
    pub fn of(id: EventId, event: &Event) -> Logged {
        let Event { container, revision, at_ms, .. } = *event;
        Logged { id, container, revision, at_ms, value: encode_value(1, event) }
    }

    /// A stored event.
    ///
    /// # Errors
    /// The value can't be understood.
    pub fn read(id: EventId, value: Bytes) -> Result<Logged, DecodeError> {
        let Event { container, revision, at_ms, .. } = decode_value(1, &value)?;
        Ok(Logged { id, container, revision, at_ms, value })
    }

    /// The event itself.
    ///
    /// # Errors
    /// The value can't be understood.
    pub fn event(&self) -> Result<Event, DecodeError> {
        decode_value(1, &self.value)
    }
}

/// From when to when, epoch milliseconds: `from` inclusive, `to` exclusive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// From then on.
    pub from_ms: Option<u64>,
    /// Before then.
    pub to_ms: Option<u64>,
}

impl Times {
    /// Whether that time is within.
    pub fn contain(&self, at_ms: u64) -> bool {
        self.touch(at_ms, at_ms)
    }

    /// Whether any time from `first_ms` to `last_ms`, both inclusive, is within.
    pub fn touch(&self, first_ms: u64, last_ms: u64) -> bool {
        self.from_ms.is_none_or(|from| last_ms >= from) && self.to_ms.is_none_or(|to| first_ms < to)
    }
}

/// Where a reading of the log begins, and which way it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Towards newer events, behind that one; from the oldest if `None`.
    Forth(Option<EventId>),
    /// Towards older events, before that one; from the newest if `None`.
    Back(Option<EventId>),
}

/// Some events that follow on each other, in the order of the [`Way`] on which they were read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Those whose time was asked for; there may be none, and more to come all the same.
    pub events: Vec<(EventId, Event)>,
    /// How many events were looked at for it.
    pub read: usize,
    /// The event behind which, on the same way, the next passage begins; `None` at the end of the log.
    pub next: Option<EventId>,
}

/// The log of events, as far as they are on disk and not too old.
pub trait EventLog: Send + Sync {
    /// The first events of a container after a revision, oldest first: `most` of them, or fewer if their stored forms have more
    /// bytes than that together, but one if there is any. And whether there may be more behind them; without any there are no more.
    ///
    /// # Errors
    /// A row can't be read or understood.
    fn events_of(
        &self,
        container: Loid,
        after: u64,
        most: usize,
        bytes: usize,
    ) -> Result<(Vec<Event>, bool), StoreError>;

    /// The next passage: at most some thousand events are looked at, and none in a stretch of the log that lies outside the times.
    ///
    /// # Errors
    /// A row can't be read or understood.
    fn events(&self, way: Way, times: &Times) -> Result<Passage, StoreError>;
}

/// A loid inside a stored row: its key bytes.
pub mod loid_key {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::id::Loid;

    /// Writes the key bytes.
    pub fn serialize<S: Serializer>(loid: &Loid, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&loid.to_key())
    }

    /// Reads the key bytes.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Loid, D::Error> {
        let key = bytes::Bytes::deserialize(deserializer)?;
        Loid::from_key(&key).ok_or_else(|| D::Error::custom("a loid has 18 bytes"))
    }
}

/// The same where there may be none: no bytes then.
mod loid_key_or_none {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::id::Loid;

    pub fn serialize<S: Serializer>(loid: &Option<Loid>, serializer: S) -> Result<S::Ok, S::Error> {
        match loid {
            Some(loid) => super::loid_key::serialize(loid, serializer),
            None => serializer.serialize_bytes(&[]),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Loid>, D::Error> {
        let key = bytes::Bytes::deserialize(deserializer)?;
        if key.is_empty() {
            return Ok(None);
        }
        Loid::from_key(&key).map(Some).ok_or_else(|| D::Error::custom("a loid has 18 bytes, or none"))
    }
}
