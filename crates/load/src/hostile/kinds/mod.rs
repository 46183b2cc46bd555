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
pub enum Kind {
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

impl Kind {
    /// All kinds, in the order of their discriminants.
    pub const ALL: &[Kind] = &[
        Kind::SlowReader,
        Kind::SlowSender,
        Kind::BulkReader,
        Kind::Filterer,
        Kind::TopicFiller,
        Kind::Copier,
        Kind::Uploader,
        Kind::Guesser,
        Kind::DeafFollower,
        Kind::Exporter,
        Kind::Rubbisher,
        Kind::Spammer,
        Kind::Painter,
        Kind::Mover,
        Kind::KeyFlooder,
    ];

    /// Returns the name in reports and in the names of users.
    pub fn name(self) -> &'static str {
        match self {
            Kind::SlowReader => "slow-reader",
            Kind::SlowSender => "slow-sender",
            Kind::BulkReader => "bulk-reader",
            Kind::Filterer => "filterer",
            Kind::TopicFiller => "topic-filler",
            Kind::Copier => "copier",
            Kind::Uploader => "uploader",
            Kind::Guesser => "guesser",
            Kind::DeafFollower => "deaf-follower",
            Kind::Exporter => "exporter",
            Kind::Rubbisher => "rubbisher",
            Kind::Spammer => "spammer",
            Kind::Painter => "painter",
            Kind::Mover => "mover",
            Kind::KeyFlooder => "key-flooder",
        }
    }

    /// Reports whether clients of the kind have no session.
    pub fn is_stranger(self) -> bool {
        self == Kind::Guesser
    }

    /// Carries out one round.
    pub async fn round(self, client: &mut HostileClient, round: u64) {
        match self {
            Kind::SlowReader => slow::read_slowly(client).await,
            Kind::SlowSender => slow::send_slowly(client).await,
            Kind::BulkReader => reading::read_in_bulk(client).await,
            Kind::Filterer => reading::filter(client).await,
            Kind::TopicFiller => filling::fill_topics(client).await,
            Kind::Copier => filling::copy_bundles(client, round).await,
            Kind::Uploader => filling::upload(client).await,
            Kind::Guesser => guessing::guess_passwords(client, round).await,
            Kind::DeafFollower => slow::follow_without_reading(client, round).await,
            Kind::Exporter => reading::export(client).await,
            Kind::Rubbisher => guessing::send_rubbish(client, round).await,
            Kind::Spammer => filling::send_messages(client).await,
            Kind::Painter => reading::paint(client).await,
            Kind::Mover => filling::discard_and_restore(client).await,
            Kind::KeyFlooder => guessing::flood_with_keys(client, round).await,
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
