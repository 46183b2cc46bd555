//! The data that every object has, container or not: record, attribute texts, versions, links, and
//! the rules for names.

mod copy;
mod depth;
mod draft;
mod family_kind;
mod file;
mod issue_date;
mod link;
mod member;
mod name;
mod name_counts;
mod reach;
mod record;
mod remainder;
mod suid;
mod text;
mod version;

use std::sync::Arc;

pub use self::copy::ChannelCopy;
pub use self::depth::depth_of;
pub use self::draft::{Draft, DraftBase};
pub use self::family_kind::FamilyKind;
pub use self::file::refer;
pub use self::file::{is_referred_to, referrers};
pub use self::issue_date::IssueDate;
pub use self::link::{Correlate, Link, MAX_CORRELATES, correlates_of, links_from};
pub use self::link::{links_of, links_of_all};
pub use self::member::{HolderCursor, containers_of, hold};
pub use self::name::{
    CreateMode, MAX_NAME_BYTES, MAX_NAME_TEXT_BYTES, PathLimits, PathNames, check_name, check_path, file_name,
    name_for, name_key, normal_form, parent_path,
};
pub use self::name_counts::recount;
pub use self::name_counts::{NameCounts, names_in};
pub use self::reach::Reach;
pub use self::record::{Attributes, Content, ContentLocation, DiscardNote, FolderKey, Lock, Record, SharedText};
pub use self::remainder::{ObjectStanding, Remainder, RemainderTask, find_standing};
pub use self::suid::family_of;
pub use self::text::{MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES, MAX_WORD_BYTES, check_texts};
pub use self::version::{ContentPin, NewContent, SmallBody, Version};

/// The record and the attribute texts of an object, with which every container's state begins.
/// Cloning shares everything.
#[derive(Debug, Clone)]
pub struct Object {
    /// The record.
    pub record: Arc<Record>,
    /// The attribute texts.
    pub attributes: Arc<Attributes>,
}

impl Object {
    /// The approximate bytes of a record without its texts, and of a container's handle.
    const ITSELF: usize = 2048;

    /// Returns the approximate size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        Object::ITSELF + self.record.text_bytes() + self.attributes.text_bytes()
    }
}
