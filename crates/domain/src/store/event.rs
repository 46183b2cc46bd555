//! The events that change sets leave, and the interface of their log.

use std::fmt;

use bytes::Bytes;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::row::{DecodeError, decode_value, encode_value, key_of};
use super::{Seq, StoreError};
use crate::id::Loid;

/// The stored report of one change, for the audit trail and for followers that resume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The container that changed, stored as its key ([`Loid::to_key`]). `None`, stored as no
    /// bytes, for a change outside of containers, such as one of a user.
    #[serde(with = "loid_key_or_none")]
    pub container: Option<Loid>,
    /// The container's revision after the change; 0 without a container.
    pub revision: u64,
    /// The name of the command.
    pub kind: String,
    /// The objects or parts concerned, as text.
    pub ids: Vec<String>,
    /// The name of the user.
    pub user: String,
    /// The time of the change, in epoch milliseconds.
    pub at_ms: u64,
    /// The reference of the session, not its token; empty for the repository itself.
    #[serde(default)]
    pub session: String,
    /// The network address of the caller. Empty if there was none, and in rows from before
    /// addresses were noted.
    #[serde(default)]
    pub address: String,
    /// The subset of `ids` that readers saw before the change and no longer see, such as a post
    /// that is not approved any more. `None` where it was not noted: in changes of no posts, and in
    /// older rows.
    #[serde(default)]
    pub withdrawn: Option<Vec<String>>,
    /// The subset of `ids` that readers saw neither before nor after, such as a post that waits for
    /// approval. `None` where it was not noted.
    #[serde(default)]
    pub unseen: Option<Vec<String>>,
    /// The change of a workflow status, for the event `object.status`; `None` for all others.
    #[serde(default)]
    pub status: Option<StatusStep>,
    /// The rows of the container before the change ([`crate::history`]). Empty if no row was
    /// altered, or another event of the same change has them. `None` where they were not noted: for
    /// a container that keeps no past, in a change that is too large, and in an import.
    #[serde(default)]
    pub before: Option<Bytes>,
}

/// A change of a workflow status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusStep {
    /// The status before; `None` for an object without one.
    pub from: Option<String>,
    /// The status after.
    pub to: Option<String>,
}

/// The place of an event in the log. Places are in the order of commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventId {
    /// The number of the change set.
    pub seq: Seq,
    /// The event's place among the events of that change set. There may be many: a discarded object
    /// has an event for each of its containers.
    pub ordinal: u32,
}

impl EventId {
    /// Returns the place after all events of a change set, whether it has any or not.
    pub const fn end_of(seq: Seq) -> EventId {
        EventId { seq, ordinal: u32::MAX }
    }

    /// Returns the last place before this one.
    pub fn before(self) -> EventId {
        match self.ordinal.checked_sub(1) {
            Some(ordinal) => EventId { ordinal, ..self },
            None => self.seq.checked_sub(1).map_or(self, EventId::end_of),
        }
    }

    /// Reads the text of a place.
    pub fn parse(text: &str) -> Option<EventId> {
        let (seq, ordinal) = text.split_once('-')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let both = is_number(seq) && is_number(ordinal);
        both.then(|| Some(EventId { seq: seq.parse().ok()?, ordinal: ordinal.parse().ok()? }))?
    }

    /// Returns the key in [`super::Table::Events`], by which other rows name an event, too. Keys
    /// are in the order of places: an ordinal that two bytes cannot hold has four more bytes,
    /// behind the greatest value of two.
    pub fn to_key(self) -> Bytes {
        let seq = self.seq.to_be_bytes();
        match u16::try_from(self.ordinal) {
            Ok(ordinal) if ordinal < u16::MAX => key_of(&[&seq, &ordinal.to_be_bytes()]),
            _ => key_of(&[&seq, &u16::MAX.to_be_bytes(), &self.ordinal.to_be_bytes()]),
        }
    }

    /// Reads a key of [`EventId::to_key`].
    pub fn from_key(key: &[u8]) -> Option<EventId> {
        let (seq, rest) = key.split_at_checked(8)?;
        let (ordinal, rest) = rest.split_at_checked(2)?;
        let ordinal = u16::from_be_bytes(ordinal.try_into().ok()?);
        let ordinal = match rest {
            [] if ordinal < u16::MAX => u32::from(ordinal),
            rest if ordinal == u16::MAX => u32::from_be_bytes(rest.try_into().ok()?),
            _ => return None,
        };
        Some(EventId { seq: u64::from_be_bytes(seq.try_into().ok()?), ordinal })
    }
}

/// The text of a place: `202-0`.
impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.seq, self.ordinal)
    }
}

/// An event in its stored form, beside the fields that the log searches by. Clones share the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// The event's place in the log.
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

impl StoredEvent {
    /// Encodes an event at its place.
    pub fn of(id: EventId, event: &Event) -> StoredEvent {
        let Event { container, revision, at_ms, .. } = *event;
        StoredEvent { id, container, revision, at_ms, value: encode_value(1, event) }
    }

    /// Reads a stored event.
    ///
    /// # Errors
    /// The value cannot be decoded.
    pub fn read(id: EventId, value: Bytes) -> Result<StoredEvent, DecodeError> {
        let Event { container, revision, at_ms, .. } = decode_value(1, &value)?;
        Ok(StoredEvent { id, container, revision, at_ms, value })
    }

    /// Restores an event that was read and packed before. Decodes only the fields that are kept
    /// beside the value.
    ///
    /// # Errors
    /// The value cannot be decoded.
    pub(super) fn unpacked(id: EventId, value: Bytes) -> Result<StoredEvent, DecodeError> {
        let Outline(container, revision, .., at_ms, _, _, _, _, _, _) = decode_value(1, &value)?;
        Ok(StoredEvent { id, container, revision, at_ms, value })
    }

    /// Decodes the event.
    ///
    /// # Errors
    /// The value cannot be decoded.
    pub fn event(&self) -> Result<Event, DecodeError> {
        decode_value(1, &self.value)
    }
}

/// The fields of an [`Event`] in their order, of which only those that the log searches by are
/// decoded. That saves time and memory.
#[derive(Deserialize)]
struct Outline(
    #[serde(with = "loid_key_or_none")] Option<Loid>,
    u64,
    IgnoredAny,
    IgnoredAny,
    IgnoredAny,
    u64,
    #[serde(default)] IgnoredAny,
    #[serde(default)] IgnoredAny,
    #[serde(default)] IgnoredAny,
    #[serde(default)] IgnoredAny,
    #[serde(default)] IgnoredAny,
    #[serde(default)] IgnoredAny,
);

/// A period in epoch milliseconds: `from` inclusive, `to` exclusive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventPeriod {
    /// The begin, inclusive; `None` for no bound.
    pub from_ms: Option<u64>,
    /// The end, exclusive; `None` for no bound.
    pub to_ms: Option<u64>,
}

impl EventPeriod {
    /// Reports whether a time is within the period.
    pub fn contain(&self, at_ms: u64) -> bool {
        self.touch(at_ms, at_ms)
    }

    /// Reports whether any time from `first_ms` to `last_ms`, both inclusive, is within the period.
    pub fn touch(&self, first_ms: u64, last_ms: u64) -> bool {
        self.from_ms.is_none_or(|from| last_ms >= from) && self.to_ms.is_none_or(|to| first_ms < to)
    }
}

/// The starting point and direction of a read of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogDirection {
    /// Towards newer events, after this one; from the oldest if `None`.
    Forth(Option<EventId>),
    /// Towards older events, before this one; from the newest if `None`.
    Back(Option<EventId>),
}

/// Consecutive events, in the order of the [`LogDirection`] on which they were read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LogPassage {
    /// The events within the period. There may be none even if more follow in the next passage.
    pub events: Vec<(EventId, Event)>,
    /// The number of events that were read for the passage.
    pub read: usize,
    /// The event after which the next passage in the same direction begins; `None` at the end of
    /// the log.
    pub next: Option<EventId>,
}

/// The request of a follower that has seen a container at a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumeRequest {
    /// The container.
    pub container: Loid,
    /// The last revision seen.
    pub after: u64,
    /// The maximum number of events, and of bytes of their stored forms, per reply.
    pub room: BatchRoom,
}

/// Room for a number of things and of bytes in total. The first thing fits whatever its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchRoom {
    things: usize,
    bytes: usize,
    taken: bool,
}

impl BatchRoom {
    /// Creates room for this number of things and of bytes.
    pub const fn of(things: usize, bytes: usize) -> BatchRoom {
        BatchRoom { things, bytes, taken: false }
    }

    /// Takes room for a thing of this size. Returns false if there is none; after that nothing fits
    /// any more.
    pub fn takes(&mut self, bytes: usize) -> bool {
        let fits = self.things > 0 && (bytes <= self.bytes || !self.taken);
        self.things = if fits { self.things - 1 } else { 0 };
        self.bytes = self.bytes.saturating_sub(bytes);
        self.taken = true;
        fits
    }

    /// Reports whether no further thing fits, of any size.
    pub fn is_used_up(&self) -> bool {
        self.things == 0
    }
}

/// The log of events that are on disk and not expired.
pub trait EventLog: Send + Sync {
    /// Returns a container's first events after a revision, oldest first, within the given room,
    /// and whether more may follow. If it returns no events, no more follow.
    ///
    /// # Errors
    /// A row cannot be read or decoded.
    fn events_of(&self, resumed: &ResumeRequest) -> Result<(Vec<Event>, bool), StoreError>;

    /// Returns the next passage. It reads at most some hundred events, and skips stretches of the
    /// log outside of the period.
    ///
    /// # Errors
    /// A row cannot be read or decoded.
    fn events(&self, way: LogDirection, times: &EventPeriod) -> Result<LogPassage, StoreError>;

    /// Returns the place of the oldest event; `None` if there are no events.
    ///
    /// # Errors
    /// A row cannot be read or decoded.
    fn oldest(&self) -> Result<Option<EventId>, StoreError>;
}

/// The encoding of a loid inside a stored row, as its key bytes.
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

/// The encoding of an optional loid inside a stored row; `None` is no bytes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DatabaseId;

    #[test]
    fn an_event_batch_takes_one_event_of_any_size_and_none_after_a_rejection() {
        let taken =
            |mut room: BatchRoom, sizes: &[usize]| sizes.iter().map(|size| room.takes(*size)).collect::<Vec<_>>();
        assert_eq!(taken(BatchRoom::of(3, 10), &[5, 5, 0, 0]), [true, true, true, false]);
        assert_eq!(taken(BatchRoom::of(3, 10), &[5, 6, 1]), [true, false, false]);
        assert_eq!(taken(BatchRoom::of(3, 10), &[11, 1]), [true, false]);
        assert_eq!(taken(BatchRoom::of(0, 10), &[1]), [false]);
        let mut room = BatchRoom::of(2, 10);
        assert!(room.takes(1) && !room.is_used_up() && room.takes(1) && room.is_used_up());
    }

    #[test]
    fn keys_are_in_the_order_of_places_and_lead_back_to_them() {
        let ordinals = [0, 1, 255, 256, 65_534, 65_535, 65_536, 70_000, u32::MAX];
        let places = [0, 1, u64::MAX].map(|seq| ordinals.map(|ordinal| EventId { seq, ordinal })).concat();
        let keys: Vec<Bytes> = places.iter().map(|place| place.to_key()).collect();
        assert!(keys.is_sorted_by(|one, other| one < other));
        assert!(keys.iter().map(|key| EventId::from_key(key)).eq(places.into_iter().map(Some)));
        // Only the greatest number of two bytes stands before four more.
        for odd in [&b""[..], &[0; 9], &[0xff; 10], &[0; 11], &[0; 14], &[0xff; 13], &[0xff; 15]] {
            assert_eq!(EventId::from_key(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn a_place_can_be_read_from_its_text_and_has_one_before_it() {
        let id = |seq, ordinal| EventId { seq, ordinal };
        for id in [id(0, 0), id(202, 0), EventId::end_of(7), EventId::end_of(u64::MAX)] {
            assert_eq!(EventId::parse(&id.to_string()), Some(id));
        }
        for text in
            ["", "-", "1", "1-", "-1", "1-+1", "+1-1", "1-2-3", "1-4294967296", "18446744073709551616-0", "1 -1"]
        {
            assert_eq!(EventId::parse(text), None, "{text}");
        }
        assert_eq!((id(3, 2).before(), id(3, 0).before()), (id(3, 1), EventId::end_of(2)));
        assert_eq!(id(0, 0).before(), id(0, 0), "nothing is before the first place");
    }

    #[test]
    fn an_outline_is_that_of_the_event_and_of_one_from_before_later_fields() {
        let id = EventId { seq: 7, ordinal: 1 };
        for container in [Some(Loid::new(DatabaseId::FIRST, 9)), None] {
            let event = Event {
                container,
                revision: 3,
                kind: "drawer.item.add".to_owned(),
                ids: vec!["1$1.0.8".to_owned(), "7".to_owned()],
                user: "ada".to_owned(),
                at_ms: 1_700_000_000_000,
                session: "s".to_owned(),
                address: "::1".to_owned(),
                withdrawn: Some(vec!["1".to_owned()]),
                unseen: None,
                status: Some(StatusStep { from: Some("Story/Draft".to_owned()), to: None }),
                before: Some(Bytes::from_static(b"rows")),
            };
            let logged = StoredEvent::of(id, &event);
            assert_eq!(StoredEvent::unpacked(id, logged.value.clone()), Ok(logged));
        }
        let container = Bytes::copy_from_slice(&Loid::new(DatabaseId::FIRST, 9).to_key());
        let old = encode_value(1, &(container, 3_u64, "drawer.clear", vec!["7"], "ada", 9_u64));
        assert_eq!(StoredEvent::unpacked(id, old.clone()), StoredEvent::read(id, old));
        assert!(StoredEvent::unpacked(id, Bytes::from_static(b"\x01nonsense")).is_err());
    }
}
