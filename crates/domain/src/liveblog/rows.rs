//! The stored form of a liveblog: one head, one row for each post, one row for each removed post.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::id::Loid;
use crate::object::{Record, SharedText};
use crate::part::{PartAttachment, PartKind, PartOwner, refer_all};
use crate::sequence::SequenceItem;
use crate::store::{Row, RowPlace, Table, loid_key};

/// The part kind of [`LiveblogHead`].
pub const HEAD: PartKind = PartKind::of::<LiveblogHead>(3);

/// The part kind of [`Post`].
pub const POST: PartKind = PartKind::of::<Post>(4);

/// The part kind of [`RemovedPost`].
pub const REMOVED_POST: PartKind = PartKind::of::<RemovedPost>(5);

// A post is one row, which is written again at each change, so its contents are limited. The limits
// of its texts are in `object::text`.

/// The maximal number of tags of a post.
pub const MAX_TAGS: usize = 100;

/// The maximal number of bytes of a tag.
pub const MAX_TAG_BYTES: usize = 255;

/// The maximal number of status changes that a post remembers.
pub const MAX_HISTORY: usize = 1000;

/// The fields of a liveblog beside its record and posts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveblogHead {
    /// The liveblog.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// Whether every new post waits for approval.
    pub moderated: bool,
}

impl Row for LiveblogHead {
    fn place(&self) -> RowPlace {
        HEAD.place(self.loid, &[])
    }
}

/// The status of a post, which decides who sees it (docs/api/posts.md, "Who sees a post").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PostStatus {
    /// A post that waits for a decision.
    Pending,
    /// A post that everybody sees.
    Approved,
    /// A post that was refused.
    Rejected,
    /// A post that counts as removed, but can be brought back.
    Deleted,
}

impl PostStatus {
    /// All statuses, in the order of `postCounts`.
    pub const ALL: [PostStatus; 4] =
        [PostStatus::Pending, PostStatus::Approved, PostStatus::Rejected, PostStatus::Deleted];

    /// Returns the name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            PostStatus::Pending => "pending",
            PostStatus::Approved => "approved",
            PostStatus::Rejected => "rejected",
            PostStatus::Deleted => "deleted",
        }
    }
}

/// A change of a post's status. The first one is the post's creation, and has no `from`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostHistoryEntry {
    /// The status before the change.
    pub from: Option<PostStatus>,
    /// The status after the change.
    pub to: PostStatus,
    /// The name of the user.
    pub user: SharedText,
    /// The time in epoch milliseconds.
    pub at_ms: u64,
}

/// A post of a liveblog. It has a loid, versions and attributes like an object, but is destroyed
/// with its liveblog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// The liveblog.
    #[serde(with = "loid_key")]
    pub liveblog: Loid,
    /// The record, as every object has one. The folder is the liveblog, the creator is the author.
    /// The revision is that of the liveblog at the post's last change.
    pub record: Record,
    /// The status, which decides who sees the post.
    pub status: PostStatus,
    /// The title; may be empty.
    pub title: SharedText,
    /// The summary; may be empty.
    pub summary: SharedText,
    /// The description; may be empty.
    pub description: SharedText,
    /// The option `type`; may be empty.
    pub kind: SharedText,
    /// The time in epoch milliseconds, which determines the place among the posts.
    pub timestamp: u64,
    /// Whether the author asked for approval when the post was made.
    pub moderated: bool,
    /// Whether the post is listed before all that are not pinned.
    pub pinned: bool,
    /// The tags, free words.
    pub tags: Vec<SharedText>,
    /// The attachments, in the order in which they were added.
    pub attachments: Vec<PartAttachment>,
    /// The changes of the status, oldest first; never empty. Beyond [`MAX_HISTORY`] the oldest are
    /// dropped, except for the creation and the first approval.
    pub history: Vec<PostHistoryEntry>,
    /// The words of the content for searching, without mark-up and in lower case, truncated if
    /// long. They are in NFC, except in posts written before that was introduced.
    pub text: SharedText,
}

impl Post {
    /// Returns the loid.
    pub fn loid(&self) -> Loid {
        self.record.loid
    }

    /// Returns the owner of the post's versions, attributes and files, which distinguishes them
    /// from those of other parts.
    pub(super) fn owner(&self) -> PartOwner {
        PartOwner { container: self.liveblog, part: self.loid(), name: "post" }
    }

    /// Returns the approximate size in memory in bytes, including the entries in the liveblog's
    /// indexes.
    pub(super) fn bytes(&self) -> usize {
        // `ITSELF` covers the record, its index entries, and the fixed size of the other fields.
        const ITSELF: usize = 1536;
        const EACH: usize = 128;
        let texts = [&self.title, &self.summary, &self.description, &self.kind, &self.text];
        let files = self.attachments.iter().map(|file| file.name.len() + file.content.content_type.len());
        let lists = self.tags.len() + self.attachments.len() + self.history.len();
        ITSELF
            + self.record.text_bytes()
            + texts.into_iter().chain(&self.tags).map(|text| text.len()).sum::<usize>()
            + files.sum::<usize>()
            + self.history.iter().map(|change| change.user.len()).sum::<usize>()
            + lists * EACH
    }

    /// Reports whether readers without rights to write or moderate see the post.
    pub fn is_seen(&self) -> bool {
        self.status == PostStatus::Approved
    }

    /// Drops entries of the history, so that one more fits.
    pub(super) fn make_room_in_history(&mut self) {
        let mut excess = (self.history.len() + 1).saturating_sub(MAX_HISTORY);
        let mut approved = false;
        let mut index = 0;
        self.history.retain(|change| {
            let is_first_approval = change.to == PostStatus::Approved && !std::mem::replace(&mut approved, true);
            let goes = excess > 0 && index > 0 && !is_first_approval;
            index += 1;
            excess -= usize::from(goes);
            !goes
        });
    }

    /// Reports whether the post is approved, or was at any time.
    pub fn was_approved(&self) -> bool {
        self.history.iter().any(|change| change.to == PostStatus::Approved)
    }

    /// Returns the name of the user who made the post.
    pub fn author(&self) -> &SharedText {
        &self.record.creator
    }

    /// Returns the order number among the posts: pinned first, then newest first.
    pub fn place_in_order(&self) -> u128 {
        order_number(self.pinned, self.timestamp, self.loid())
    }
}

impl Row for Post {
    fn place(&self) -> RowPlace {
        POST.place(self.liveblog, &self.loid().to_key())
    }

    fn index(&self, entries: &mut Vec<(RowPlace, Bytes)>) {
        let (post, liveblog) = (self.loid().to_key(), self.liveblog.to_key());
        entries.push((
            RowPlace { table: Table::PartOf, key: Bytes::copy_from_slice(&post) },
            Bytes::copy_from_slice(&liveblog),
        ));
        let uuid = Bytes::copy_from_slice(self.record.uuid.0.as_bytes());
        entries.push((RowPlace { table: Table::Uuids, key: uuid }, Bytes::copy_from_slice(&post)));
        // The content in the record is also that of a version, whose row refers to its file.
        refer_all(&self.attachments, &self.place(), entries);
    }

    fn same_index(&self, new: &Post) -> bool {
        (self.loid(), self.record.uuid, self.liveblog) == (new.loid(), new.record.uuid, new.liveblog)
            && self.attachments == new.attachments
    }
}

/// The least order number of a post that is not pinned.
pub(super) const FIRST_UNPINNED: u128 = 1 << 127;

/// Returns the order number for a listing with pinned posts first, then the newest first
/// (docs/api/liveblogs.md, "Replies"). It grows from the first post to the last.
fn order_number(pinned: bool, timestamp: u64, post: Loid) -> u128 {
    // Timestamps have less than 63 bits: `post_name` refuses those after the year 9999.
    let age = !timestamp & (u64::MAX >> 1);
    let first = if pinned { 0 } else { FIRST_UNPINNED };
    first | u128::from(age) << 64 | u128::from(!post.number)
}

impl SequenceItem for std::sync::Arc<Post> {
    fn order(&self) -> u128 {
        self.place_in_order()
    }

    fn is_visible(&self) -> bool {
        self.is_seen()
    }
}

/// A removed post. A caller who asks for the changes since a revision gets its id, if they may have
/// seen the post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedPost {
    /// The liveblog.
    #[serde(with = "loid_key")]
    pub liveblog: Loid,
    /// The loid of the removed post.
    #[serde(with = "loid_key")]
    pub post: Loid,
    /// The liveblog's revision after the removal.
    pub revision: u64,
    /// Whether the post was ever approved. Rows written before this field existed have false and no
    /// author; then only callers who see all posts learn of the removal.
    #[serde(default)]
    pub was_approved: bool,
    /// The name of the user who made the post.
    #[serde(default)]
    pub author: SharedText,
}

impl Row for RemovedPost {
    fn place(&self) -> RowPlace {
        REMOVED_POST.place(self.liveblog, &self.revision.to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DatabaseId;
    use crate::liveblog::PostSight;
    use crate::object::FolderKey;
    use crate::store::{decode_value, encode_value};

    #[test]
    fn removed_posts_without_details_are_reported_only_to_full_readers() {
        let (liveblog, post) = (Loid::new(DatabaseId::FIRST, 7), Loid::new(DatabaseId::FIRST, 8));
        let before = encode_value(RemovedPost::FORMAT, &(FolderKey(liveblog), FolderKey(post), 9u64));
        let removed: RemovedPost = decode_value(RemovedPost::FORMAT, &before).expect("it can be read");
        let expected = RemovedPost { liveblog, post, revision: 9, was_approved: false, author: "".into() };
        assert_eq!(removed, expected);
        for (sight, seen) in
            [(PostSight::All, true), (PostSight::Own("ada".into()), false), (PostSight::Approved, false)]
        {
            assert_eq!(sight.may_have_seen_removed(&removed), seen, "{sight:?}");
        }
    }
}
