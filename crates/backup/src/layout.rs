//! The names of the objects of a backup.
//!
//! ```text
//! stet-backup.json                                              what the backup is
//! timelines/{timeline}/timeline.json                            where the timeline begins
//! timelines/{timeline}/archive/{first}-{last}-{first_ms}-{last_ms}.log
//! timelines/{timeline}/bases/{seq}-{taken_ms}.json              the manifest of a base
//! chunks/{ab}/{rest}                                            a piece of a table, by hash
//! contents/{ab}/{rest}                                          a content, by hash
//! ```
//!
//! A timeline has 16 hexadecimal digits, a change number 20 decimal digits, and a time in
//! milliseconds since 1970 has 13. So the order of names is that of changes. Each object has one
//! name: [`BackupName::parse`] takes no other spelling.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Sha256Hash;
use crate::hash::digit;

/// The last time that a name can contain, in milliseconds since 1970: in the year 2286.
pub const MAX_TIME_MS: u64 = 9_999_999_999_999;

/// The digits of a change number.
const NUMBER_DIGITS: usize = 20;
/// The digits of a time.
const TIME_DIGITS: usize = 13;
/// The digits of a timeline.
const TIMELINE_DIGITS: usize = 16;

/// The identifier of a timeline, chosen at random. Its text is 16 lower-case hexadecimal digits, in
/// JSON as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimelineId(pub u64);

impl TimelineId {
    /// Parses the text of an identifier; returns `None` for any other text.
    pub fn parse(text: &str) -> Option<TimelineId> {
        if text.len() != TIMELINE_DIGITS {
            return None;
        }
        text.bytes().try_fold(0, |id, byte| Some(id << 4 | u64::from(digit(byte)?))).map(TimelineId)
    }
}

impl fmt::Display for TimelineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl From<TimelineId> for String {
    fn from(id: TimelineId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for TimelineId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<TimelineId, &'static str> {
        TimelineId::parse(&text).ok_or("a timeline has 16 lower-case hexadecimal digits")
    }
}

/// The changes and times that an archive file spans. It is sorted by the first change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArchiveSpan {
    /// The first change, at least 1.
    pub first: u64,
    /// The last change, not before the first.
    pub last: u64,
    /// The time of the first record, at most [`MAX_TIME_MS`].
    pub first_ms: u64,
    /// The time of the last record, not before that of the first and at most [`MAX_TIME_MS`].
    pub last_ms: u64,
}

impl ArchiveSpan {
    /// Reports whether the fields are in order and within their bounds.
    pub fn is_valid(&self) -> bool {
        1 <= self.first && self.first <= self.last && self.first_ms <= self.last_ms && self.last_ms <= MAX_TIME_MS
    }

    fn parse(stem: &str) -> Option<ArchiveSpan> {
        let mut fields = stem.split('-');
        let first = decimal(fields.next()?, NUMBER_DIGITS)?;
        let last = decimal(fields.next()?, NUMBER_DIGITS)?;
        let first_ms = decimal(fields.next()?, TIME_DIGITS)?;
        let last_ms = decimal(fields.next()?, TIME_DIGITS)?;
        let span = ArchiveSpan { first, last, first_ms, last_ms };
        (fields.next().is_none() && span.is_valid()).then_some(span)
    }
}

/// The state that a base contains. It is sorted by the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BaseStamp {
    /// The last change that is in the base; all earlier ones are in it, too.
    pub seq: u64,
    /// The time at which the base was taken, at most [`MAX_TIME_MS`].
    pub taken_ms: u64,
}

impl BaseStamp {
    fn parse(stem: &str) -> Option<BaseStamp> {
        let (seq, taken_ms) = stem.split_once('-')?;
        Some(BaseStamp { seq: decimal(seq, NUMBER_DIGITS)?, taken_ms: decimal(taken_ms, TIME_DIGITS)? })
    }
}

/// The name of an object of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BackupName {
    /// The document [`BackupIdentity`](crate::BackupIdentity).
    Identity,
    /// The document [`TimelineOrigin`](crate::TimelineOrigin) of a timeline.
    Timeline(TimelineId),
    /// An [`ArchiveFile`](crate::ArchiveFile). The span must be valid.
    Archive(TimelineId, ArchiveSpan),
    /// A [`BaseManifest`](crate::BaseManifest).
    Base(TimelineId, BaseStamp),
    /// The packed bytes of a [`TableChunk`](crate::TableChunk), by the hash of its raw bytes.
    Chunk(Sha256Hash),
    /// The bytes of a content, by their hash.
    Content(Sha256Hash),
}

impl BackupName {
    /// The folder with a folder for each timeline.
    pub const TIMELINES: &'static str = "timelines";
    /// The folder with chunks, which has a folder for each first byte of a hash.
    pub const CHUNKS: &'static str = "chunks";
    /// The folder with contents, which has a folder for each first byte of a hash.
    pub const CONTENTS: &'static str = "contents";

    /// Returns the folder with the archive files of a timeline.
    pub fn archive_folder(timeline: TimelineId) -> String {
        format!("{}/{timeline}/archive", BackupName::TIMELINES)
    }

    /// Returns the folder with the manifests of a timeline's bases.
    pub fn bases_folder(timeline: TimelineId) -> String {
        format!("{}/{timeline}/bases", BackupName::TIMELINES)
    }

    /// Parses the name of an object; returns `None` for any other text. Such an object in a target
    /// is foreign.
    pub fn parse(name: &str) -> Option<BackupName> {
        let parts: Vec<&str> = name.splitn(5, '/').collect();
        match parts[..] {
            ["stet-backup.json"] => Some(BackupName::Identity),
            [BackupName::CHUNKS, byte, rest] => hash_of(byte, rest).map(BackupName::Chunk),
            [BackupName::CONTENTS, byte, rest] => hash_of(byte, rest).map(BackupName::Content),
            [BackupName::TIMELINES, timeline, "timeline.json"] => TimelineId::parse(timeline).map(BackupName::Timeline),
            [BackupName::TIMELINES, timeline, "archive", file] => {
                let span = ArchiveSpan::parse(file.strip_suffix(".log")?)?;
                Some(BackupName::Archive(TimelineId::parse(timeline)?, span))
            }
            [BackupName::TIMELINES, timeline, "bases", file] => {
                let stamp = BaseStamp::parse(file.strip_suffix(".json")?)?;
                Some(BackupName::Base(TimelineId::parse(timeline)?, stamp))
            }
            _ => None,
        }
    }
}

impl fmt::Display for BackupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by_hash = |f: &mut fmt::Formatter<'_>, folder, hash: &Sha256Hash| {
            let hash = hash.to_string();
            write!(f, "{folder}/{}/{}", &hash[..2], &hash[2..])
        };
        match self {
            BackupName::Identity => f.write_str("stet-backup.json"),
            BackupName::Timeline(timeline) => write!(f, "{}/{timeline}/timeline.json", BackupName::TIMELINES),
            BackupName::Archive(timeline, ArchiveSpan { first, last, first_ms, last_ms }) => {
                let folder = BackupName::archive_folder(*timeline);
                write!(f, "{folder}/{first:020}-{last:020}-{first_ms:013}-{last_ms:013}.log")
            }
            BackupName::Base(timeline, BaseStamp { seq, taken_ms }) => {
                write!(f, "{}/{seq:020}-{taken_ms:013}.json", BackupName::bases_folder(*timeline))
            }
            BackupName::Chunk(hash) => by_hash(f, BackupName::CHUNKS, hash),
            BackupName::Content(hash) => by_hash(f, BackupName::CONTENTS, hash),
        }
    }
}

/// Parses a number with exactly that many decimal digits.
fn decimal(text: &str, digits: usize) -> Option<u64> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Parses a hash that is split after its first byte.
fn hash_of(byte: &str, rest: &str) -> Option<Sha256Hash> {
    if byte.len() == 2 { Sha256Hash::parse(&format!("{byte}{rest}")) } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span() -> impl Strategy<Value = ArchiveSpan> {
        let pair = |least: u64, most: u64| {
            (least..=most, least..=most).prop_map(|(one, other)| (one.min(other), one.max(other)))
        };
        (pair(1, u64::MAX), pair(0, MAX_TIME_MS)).prop_map(|((first, last), (first_ms, last_ms))| ArchiveSpan {
            first,
            last,
            first_ms,
            last_ms,
        })
    }

    fn name() -> impl Strategy<Value = BackupName> {
        let timeline = || any::<u64>().prop_map(TimelineId);
        let hash = || any::<[u8; 32]>().prop_map(Sha256Hash);
        let stamp = (any::<u64>(), 0..=MAX_TIME_MS).prop_map(|(seq, taken_ms)| BaseStamp { seq, taken_ms });
        prop_oneof![
            Just(BackupName::Identity),
            timeline().prop_map(BackupName::Timeline),
            (timeline(), span()).prop_map(|(timeline, span)| BackupName::Archive(timeline, span)),
            (timeline(), stamp).prop_map(|(timeline, stamp)| BackupName::Base(timeline, stamp)),
            hash().prop_map(BackupName::Chunk),
            hash().prop_map(BackupName::Content),
        ]
    }

    proptest! {
        #[test]
        fn names_are_parsed_as_they_were_written(name in name()) {
            prop_assert_eq!(BackupName::parse(&name.to_string()), Some(name));
        }

        /// Checks that no object has two names: whatever is accepted is the text that is written.
        #[test]
        fn no_other_spelling_is_parsed(name in name(), at in any::<prop::sample::Index>(), char in "[0-9a-zA-F/.+ -]?") {
            let text = name.to_string();
            let at = at.index(text.len());
            for changed in [
                format!("{}{char}{}", &text[..at], &text[at + 1..]),
                format!("{}{char}{}", &text[..at], &text[at..]),
                text[..at].to_owned(),
                format!("{text}{char}"),
            ] {
                if let Some(parsed) = BackupName::parse(&changed) {
                    prop_assert_eq!(parsed.to_string(), changed);
                }
            }
        }

        #[test]
        fn any_text_is_parsed_without_panic(text in "\\PC*") {
            if let Some(parsed) = BackupName::parse(&text) {
                prop_assert_eq!(parsed.to_string(), text);
            }
        }

        #[test]
        fn the_order_of_names_is_that_of_changes(one in span(), other in span()) {
            let name = |span| BackupName::Archive(TimelineId(1), span).to_string();
            prop_assert_eq!(name(one).cmp(&name(other)), one.cmp(&other));
        }
    }

    #[test]
    fn names_look_as_documented() {
        let timeline = TimelineId(0xab);
        let span = ArchiveSpan { first: 1, last: 20, first_ms: 1_700_000_000_000, last_ms: 1_700_000_000_001 };
        assert_eq!(
            BackupName::Archive(timeline, span).to_string(),
            "timelines/00000000000000ab/archive/\
             00000000000000000001-00000000000000000020-1700000000000-1700000000001.log"
        );
        assert_eq!(
            BackupName::Base(timeline, BaseStamp { seq: 0, taken_ms: 5 }).to_string(),
            "timelines/00000000000000ab/bases/00000000000000000000-0000000000005.json"
        );
        assert_eq!(BackupName::Timeline(timeline).to_string(), "timelines/00000000000000ab/timeline.json");
        assert_eq!(BackupName::Chunk(Sha256Hash([0xcd; 32])).to_string(), format!("chunks/cd/{}", "cd".repeat(31)));
    }

    #[test]
    fn spans_out_of_order_are_no_names() {
        let of = |first, last, first_ms, last_ms| {
            let span = ArchiveSpan { first, last, first_ms, last_ms };
            BackupName::parse(&BackupName::Archive(TimelineId(1), span).to_string())
        };
        assert!(of(1, 1, 0, 0).is_some());
        assert_eq!(of(0, 1, 0, 0), None, "there is no change 0");
        assert_eq!(of(2, 1, 0, 0), None);
        assert_eq!(of(1, 1, 2, 1), None);
        assert_eq!(of(1, 1, 0, MAX_TIME_MS + 1), None);
    }
}
