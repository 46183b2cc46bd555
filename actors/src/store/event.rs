//! What has happened: the events that change sets leave, and how the log of them is read.

use bytes::Bytes;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::row::{DecodeError, decode_value, encode_value, key_of};
use super::{Seq, StoreError};
use crate::id::Loid;

/// What happened: the audit trail, and what those who follow a container resume from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Key of the container that changed ([`Loid::to_key`]); `None` for what is in no container,
    /// such as a user, and stored as no bytes.
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
    /// Network address that the call came from; empty where it came from none, or was not noted
    /// yet.
    #[serde(default)]
    pub address: String,
    /// Those of `ids` that readers saw before the change and see no more, such as a post that is
    /// not approved any longer; `None` where it was not noted, as in a change of no posts and in
    /// rows from before that was done.
    #[serde(default)]
    pub withdrawn: Option<Vec<String>>,
    /// Those of `ids` that readers saw neither before nor after, such as a post that waits for
    /// approval; `None` likewise.
    #[serde(default)]
    pub unseen: Option<Vec<String>>,
    /// The change of a workflow status, of an event `object.status`; `None` for all others.
    #[serde(default)]
    pub status: Option<StatusStep>,
}

/// A change of a workflow status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusStep {
    /// The status before; `None` for an object without one.
    pub from: Option<String>,
    /// The status after.
    pub to: Option<String>,
}

/// An event's place in the log. Their order is the order of commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventId {
    /// Number of the change set.
    pub seq: Seq,
    /// Its place among the events of that change set, which may be many: an object that is
    /// discarded is told of by each of its containers.
    pub ordinal: u32,
}

impl EventId {
    /// The key of [`super::Table::Events`], and how other rows name an event. The order of keys is
    /// that of the places: what two bytes do not count has four more behind the greatest that they
    /// do.
    pub fn to_key(self) -> Bytes {
        let seq = self.seq.to_be_bytes();
        match u16::try_from(self.ordinal) {
            Ok(ordinal) if ordinal < u16::MAX => key_of(&[&seq, &ordinal.to_be_bytes()]),
            _ => key_of(&[&seq, &u16::MAX.to_be_bytes(), &self.ordinal.to_be_bytes()]),
        }
    }

    /// Reads what [`EventId::to_key`] gives.
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

    /// An event that was read and packed before: of its value no more is looked at than is kept
    /// beside it.
    ///
    /// # Errors
    /// The value can't be understood.
    pub(super) fn unpacked(id: EventId, value: Bytes) -> Result<Logged, DecodeError> {
        let Outline(container, revision, .., at_ms, _, _, _, _, _) = decode_value(1, &value)?;
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

/// The fields of an [`Event`] in their order, with what the log finds it by, and without the time
/// and memory that the rest takes to read.
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
);

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
    /// The event behind which, on the same way, the next passage begins; `None` at the end of the
    /// log.
    pub next: Option<EventId>,
}

/// What a follower asks for who has seen a container at a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resumed {
    /// The container.
    pub container: Loid,
    /// The revision.
    pub after: u64,
    /// How many events, and how many bytes of their stored forms, are given at a time.
    pub room: Room,
}

/// Room for so many things of so many bytes together; and for one, however large it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    things: usize,
    bytes: usize,
    taken: bool,
}

impl Room {
    /// For so many things of so many bytes together.
    pub const fn of(things: usize, bytes: usize) -> Room {
        Room { things, bytes, taken: false }
    }

    /// Takes the room for a thing of so many bytes; false if there is none, and then for nothing
    /// after it.
    pub fn takes(&mut self, bytes: usize) -> bool {
        let fits = self.things > 0 && (bytes <= self.bytes || !self.taken);
        self.things = if fits { self.things - 1 } else { 0 };
        self.bytes = self.bytes.saturating_sub(bytes);
        self.taken = true;
        fits
    }

    /// Whether there is none for another thing, of whatever size.
    pub fn is_used_up(&self) -> bool {
        self.things == 0
    }
}

/// The log of events, as far as they are on disk and not too old.
pub trait EventLog: Send + Sync {
    /// The first events of a container after a revision, oldest first, as many as there is room
    /// for. And whether there may be more behind them; without any there are no more.
    ///
    /// # Errors
    /// A row can't be read or understood.
    fn events_of(&self, resumed: &Resumed) -> Result<(Vec<Event>, bool), StoreError>;

    /// The next passage: at most some hundred events are looked at, and none in a stretch of the
    /// log that lies outside the times.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DatabaseId;

    #[test]
    fn there_is_room_for_one_thing_however_large_and_for_nothing_after_what_did_not_fit() {
        let taken = |mut room: Room, sizes: &[usize]| sizes.iter().map(|size| room.takes(*size)).collect::<Vec<_>>();
        assert_eq!(taken(Room::of(3, 10), &[5, 5, 0, 0]), [true, true, true, false]);
        assert_eq!(taken(Room::of(3, 10), &[5, 6, 1]), [true, false, false]);
        assert_eq!(taken(Room::of(3, 10), &[11, 1]), [true, false]);
        assert_eq!(taken(Room::of(0, 10), &[1]), [false]);
        let mut room = Room::of(2, 10);
        assert!(room.takes(1) && !room.is_used_up() && room.takes(1) && room.is_used_up());
    }

    #[test]
    fn keys_are_in_the_order_of_places_and_lead_back_to_them() {
        let ordinals = [0, 1, 255, 256, 65_534, 65_535, 65_536, 70_000, u32::MAX];
        let places = [0, 1, u64::MAX].map(|seq| ordinals.map(|ordinal| EventId { seq, ordinal })).concat();
        let keys: Vec<Bytes> = places.iter().map(|place| place.to_key()).collect();
        assert!(keys.is_sorted_by(|one, other| one < other));
        assert!(keys.iter().map(|key| EventId::from_key(key)).eq(places.into_iter().map(Some)));
        // The greatest number of two bytes stands before longer ones alone.
        for odd in [&b""[..], &[0; 9], &[0xff; 10], &[0; 11], &[0; 14], &[0xff; 13], &[0xff; 15]] {
            assert_eq!(EventId::from_key(odd), None, "{odd:?}");
        }
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
            };
            let logged = Logged::of(id, &event);
            assert_eq!(Logged::unpacked(id, logged.value.clone()), Ok(logged));
        }
        let container = Bytes::copy_from_slice(&Loid::new(DatabaseId::FIRST, 9).to_key());
        let old = encode_value(1, &(container, 3_u64, "drawer.clear", vec!["7"], "ada", 9_u64));
        assert_eq!(Logged::unpacked(id, old.clone()), Logged::read(id, old));
        assert!(Logged::unpacked(id, Bytes::from_static(b"\x01nonsense")).is_err());
    }
}
