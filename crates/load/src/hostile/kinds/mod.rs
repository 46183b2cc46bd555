//! The kinds of hostile clients and their rounds.

use std::fmt::Write as _;

use serde_json::Value;

use super::client::HostileClient;

mod filling;
mod guessing;
mod reading;
mod slow;

/// A kind of hostile client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostileKind {
    /// Requests large replies and reads them in small pieces.
    SlowReader,
    /// Sends heads and bodies byte by byte.
    SlowSender,
    /// Reads 10,000 sources by one call.
    BulkReader,
    /// Filters names by 99 patterns.
    Filterer,
    /// Creates topics from a large template and destroys them.
    TopicFiller,
    /// Copies bundles with large attributes, and changes large attributes.
    Copier,
    /// Uploads large contents and destroys them.
    Uploader,
    /// Logs in with wrong passwords, without a session.
    Guesser,
    /// Follows events and never reads them.
    DeafFollower,
    /// Reads exports and large folders, compressed.
    Exporter,
    /// Sends bytes that are no request or no JSON, and JSON that is too deep.
    Rubbisher,
    /// Sends a thousand messages to everybody.
    Spammer,
    /// Has large pictures scaled and long previews rendered.
    Painter,
    /// Discards folders with many objects below them, and restores them.
    Mover,
    /// Makes each call under another `Idempotency-Key`.
    KeyFlooder,
}

impl HostileKind {
    /// All kinds, in the order of their discriminants.
    pub const ALL: &[HostileKind] = &[
        HostileKind::SlowReader,
        HostileKind::SlowSender,
        HostileKind::BulkReader,
        HostileKind::Filterer,
        HostileKind::TopicFiller,
        HostileKind::Copier,
        HostileKind::Uploader,
        HostileKind::Guesser,
        HostileKind::DeafFollower,
        HostileKind::Exporter,
        HostileKind::Rubbisher,
        HostileKind::Spammer,
        HostileKind::Painter,
        HostileKind::Mover,
        HostileKind::KeyFlooder,
    ];

    /// Returns the name in reports and in the names of users.
    pub fn name(self) -> &'static str {
        match self {
            HostileKind::SlowReader => "slow-reader",
            HostileKind::SlowSender => "slow-sender",
            HostileKind::BulkReader => "bulk-reader",
            HostileKind::Filterer => "filterer",
            HostileKind::TopicFiller => "topic-filler",
            HostileKind::Copier => "copier",
            HostileKind::Uploader => "uploader",
            HostileKind::Guesser => "guesser",
            HostileKind::DeafFollower => "deaf-follower",
            HostileKind::Exporter => "exporter",
            HostileKind::Rubbisher => "rubbisher",
            HostileKind::Spammer => "spammer",
            HostileKind::Painter => "painter",
            HostileKind::Mover => "mover",
            HostileKind::KeyFlooder => "key-flooder",
        }
    }

    /// Reports whether clients of the kind have no session.
    pub fn is_stranger(self) -> bool {
        self == HostileKind::Guesser
    }

    /// Carries out one round.
    pub async fn round(self, client: &mut HostileClient, round: u64) {
        match self {
            HostileKind::SlowReader => slow::read_slowly(client).await,
            HostileKind::SlowSender => slow::send_slowly(client).await,
            HostileKind::BulkReader => reading::read_in_bulk(client).await,
            HostileKind::Filterer => reading::filter(client).await,
            HostileKind::TopicFiller => filling::fill_topics(client).await,
            HostileKind::Copier => filling::copy_bundles(client, round).await,
            HostileKind::Uploader => filling::upload(client).await,
            HostileKind::Guesser => guessing::guess_passwords(client, round).await,
            HostileKind::DeafFollower => slow::follow_without_reading(client, round).await,
            HostileKind::Exporter => reading::export(client).await,
            HostileKind::Rubbisher => guessing::send_rubbish(client, round).await,
            HostileKind::Spammer => filling::send_messages(client).await,
            HostileKind::Painter => reading::paint(client).await,
            HostileKind::Mover => filling::discard_and_restore(client).await,
            HostileKind::KeyFlooder => guessing::flood_with_keys(client, round).await,
        }
    }
}

/// Returns the id in a reply, of an object or of a container.
fn id(reply: &Value) -> Option<String> {
    reply["info"]["id"].as_str().or_else(|| reply["id"].as_str()).map(str::to_owned)
}

/// Returns a text of this many bytes that compresses badly.
fn text(bytes: usize, seed: u64) -> String {
    let mut text = String::with_capacity(bytes + 16);
    let mut state = seed | 1;
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Writing to a String cannot fail.
        let _ = write!(text, "{state:x} ");
    }
    text.truncate(bytes);
    text
}
