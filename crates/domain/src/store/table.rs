//! The tables, with the key and value of their rows. Integers in keys are big-endian, so that they
//! sort by value.

use serde::{Deserialize, Serialize};

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal, index: $index:literal;)+) => {
        /// A table of rows, or an index that follows from rows. Numbers are part of the file format
        /// and never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Table { $($(#[$doc])* $name = $number),+ }

        impl Table {
            /// Every table.
            pub const ALL: &'static [Table] = &[$(Table::$name),+];

            /// Returns the table's name in the file, with the version of its key layout.
            pub const fn name(self) -> &'static str {
                match self { $(Table::$name => $text),+ }
            }

            /// Reports whether the table's entries follow from rows of other tables.
            pub const fn is_index(self) -> bool {
                match self { $(Table::$name => $index),+ }
            }

            /// Returns the table with this number.
            pub const fn from_number(number: u8) -> Option<Table> {
                match number { $($number => Some(Table::$name),)+ _ => None }
            }
        }
    };
}

tables! {
    /// Live objects: loid → `Record`.
    Objects = 1, "objects/1", index: false;
    /// Discarded objects: loid → `Record`.
    Recycled = 2, "recycled/1", index: false;
    /// The attribute texts of an object, live or discarded: loid → `Attributes`.
    Attributes = 3, "attributes/1", index: false;
    /// Parts of a container: loid, kind (u8), key within the kind → the part.
    Parts = 4, "parts/1", index: false;
    /// Versions: loid of the version → `Version`.
    Versions = 5, "versions/1", index: false;
    /// Small bodies: loid of the version, or `Draft::body_loid` → the bytes as they are.
    Bodies = 6, "bodies/1", index: false;
    /// Users: name → `User`.
    Users = 7, "users/1", index: false;
    /// Groups: name → `Group`.
    Groups = 8, "groups/1", index: false;
    /// Sessions: SHA-256 of the token → `Session`.
    Sessions = 9, "sessions/1", index: false;
    /// Counters and marks of the repository itself: name → value.
    Marks = 10, "marks/1", index: false;
    /// The newest events, until there are enough for a segment: `EventId::to_key` → `Event`.
    Events = 11, "events/1", index: false;
    /// Events in segments: `EventId::to_key` of a segment's first → `Segment`.
    EventSegments = 31, "event_segments/1", index: false;
    /// Drafts, saved contents of objects that are checked out: object's loid → `Draft`.
    Drafts = 12, "drafts/1", index: false;
    /// Links between objects or items of topics: source's loid, target's loid, its names on both
    /// sides → `Link`.
    Correlates = 25, "correlates/1", index: false;
    /// Receipts of calls with an `Idempotency-Key`: user, key, step → `Receipt`.
    Receipts = 20, "receipts/1", index: false;
    /// Remaining work of changes of subtrees: entry's loid, task (u8), folder's loid → `Remainder`.
    Remainders = 24, "remainders/1", index: false;
    /// Configuration in force: database (u16), name of the cache → its texts.
    Configuration = 26, "configuration/1", index: false;
    /// Messages: number (u64) → message.
    Messages = 27, "messages/1", index: false;
    /// Mailbox entries of messages: name of the user, 0, inbox or outbox (u8), number of the
    /// message (u64) → entry.
    Boxes = 28, "boxes/1", index: false;
    /// Messages for the mail relay: number (u64) → addresses.
    Outgoing = 29, "outgoing/1", index: false;
    /// Number of mailboxes that contain a message: number (u64) → count.
    Copies = 30, "copies/1", index: false;
    /// Webhooks: id (16 bytes) → `Webhook`.
    Webhooks = 32, "webhooks/1", index: false;
    /// Progress of webhooks: id (16 bytes) → `WebhookProgress`.
    WebhookProgress = 33, "webhook_progress/1", index: false;
    /// Names in a folder: folder's loid, name in NFC → loid. Live objects only.
    Names = 64, "names/1", index: true;
    /// Number of objects in a folder: folder's loid → number of its names (u64). No row for an
    /// empty folder.
    NameCounts = 75, "name_counts/1", index: true;
    /// Uuids: uuid (16 bytes) → loid. Includes discarded objects.
    Uuids = 65, "uuids/1", index: true;
    /// Containers that hold an object: object's loid, then the key in `Parts` of the part that
    /// holds it → empty.
    Members = 73, "members/1", index: true;
    /// Story families: suid, 0, loid → empty.
    Suids = 67, "suids/1", index: true;
    /// The recycle bin in order of time: database (u16), epoch s (u64), loid → empty. Only its
    /// entries, not the objects below a discarded folder.
    Bin = 68, "bin/1", index: true;
    /// Objects that were discarded with a folder: loid of the entry, loid of the object (the entry
    /// included) → empty.
    BinMembers = 70, "bin_members/1", index: true;
    /// Parts of a container that have a loid of their own, such as posts: part's loid → container's
    /// loid.
    PartOf = 71, "part_of/1", index: true;
    /// Locks of a session: session's reference, 0, object's loid → empty.
    Locks = 72, "locks/1", index: true;
    /// Links by their targets: target's loid, then the key in `Correlates` → empty.
    CorrelatedTo = 74, "correlated_to/1", index: true;
    /// Segments with events of a container: container's loid, revision (u64) after the last of them
    /// → key in `EventSegments`.
    SegmentsOf = 76, "segments_of/1", index: true;
    /// Summaries of segments, for searches that do not read them: key in `EventSegments` →
    /// `SegmentHead`.
    SegmentTimes = 77, "segment_times/1", index: true;
    /// Content files and the rows that refer to them: SHA-256 (32 bytes), number of the row's table
    /// (u8), the row's key, and what distinguishes several references of one row → empty.
    Files = 90, "files/1", index: true;
    /// Receipts in order of time: epoch ms (u64), key in `Receipts` → empty.
    ReceiptTimes = 80, "receipt_times/1", index: true;
}
