//! How a liveblog is stored: one head, one row a post, one row for each post that was removed.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::id::Loid;
use crate::object::{Record, Text};
use crate::part::{Attachment, Owner, PartKind, refer_all};
use crate::sequence::Ordered;
use crate::store::{Key, Row, Table, loid_key};

/// The kind of [`LiveblogHead`].
pub const HEAD: PartKind = PartKind::of::<LiveblogHead>(3);

/// The kind of [`Post`].
pub const POST: PartKind = PartKind::of::<Post>(4);

/// The kind of [`RemovedPost`].
pub const REMOVED_POST: PartKind = PartKind::of::<RemovedPost>(5);

// A post is one row, written anew at each of its changes: what it may hold has bounds; those of its
// texts are in `object::text`.

/// How many tags a post may have.
pub const MAX_TAGS: usize = 100;

/// Bytes that a tag may have.
pub const MAX_TAG_BYTES: usize = 255;

/// How many changes of its status a post remembers.
pub const MAX_HISTORY: usize = 1000;

/// What a liveblog has beside its record and posts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveblogHead {
    /// The liveblog.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// Whether every new post waits for approval.
    pub moderated: bool,
}

impl Row for LiveblogHead {
    fn place(&self) -> Key {
        HEAD.place(self.loid, &[])
    }
}

/// What readers may see of a post (docs/api/posts.md, "Who sees a post").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PostStatus {
    /// It waits for a decision.
    Pending,
    /// Everybody sees it.
    Approved,
    /// It was decided against.
    Rejected,
    /// It is as good as gone, and can come back.
    Deleted,
}

impl PostStatus {
    /// Every status, in the order of `postCounts`.
    pub const ALL: [PostStatus; 4] =
        [PostStatus::Pending, PostStatus::Approved, PostStatus::Rejected, PostStatus::Deleted];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            PostStatus::Pending => "pending",
            PostStatus::Approved => "approved",
            PostStatus::Rejected => "rejected",
            PostStatus::Deleted => "deleted",
        }
    }
}

/// A change of a post's status; the first has no `from` and is the post's creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusChange {
    /// What it was.
    pub from: Option<PostStatus>,
    /// What it became.
    pub to: PostStatus,
    /// Name of the user.
    pub user: Text,
    /// Epoch milliseconds.
    pub at_ms: u64,
}

/// One post. It has a loid, versions and attributes like an object, but lives and ends with its
/// liveblog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// The liveblog.
    #[serde(with = "loid_key")]
    pub liveblog: Loid,
    /// What every object has; the folder is the liveblog, the creator the author, and the revision
    /// that of the liveblog at the post's last change.
    pub record: Record,
    /// What readers may see of it.
    pub status: PostStatus,
    /// May be empty.
    pub title: Text,
    /// May be empty.
    pub summary: Text,
    /// May be empty.
    pub description: Text,
    /// The option `type`; may be empty.
    pub kind: Text,
    /// Epoch milliseconds: its place among the posts.
    pub timestamp: u64,
    /// Whether it was to wait for approval when it was made.
    pub moderated: bool,
    /// Whether it stands before all that are not.
    pub pinned: bool,
    /// Free words.
    pub tags: Vec<Text>,
    /// Files, in the order they came.
    pub attachments: Vec<Attachment>,
    /// What became of its status, oldest first; never empty. Beyond [`MAX_HISTORY`] the oldest are
    /// forgotten, but for the creation and the first approval.
    pub history: Vec<StatusChange>,
    /// The words of its content, without mark-up and in lower case, for searching; cut off where it
    /// is long. In NFC, but for posts from before that was so.
    pub text: Text,
}

impl Post {
    /// Its loid.
    pub fn loid(&self) -> Loid {
        self.record.loid
    }

    /// Distinguishes its versions, attributes and files from those of other parts.
    pub(super) fn owner(&self) -> Owner {
        Owner { container: self.liveblog, part: self.loid(), name: "post" }
    }

    /// Bytes that it takes in memory with its places in the liveblog's indexes, about.
    pub(super) fn bytes(&self) -> usize {
        // A record, and what finds it; then what is beside the texts of the rest.
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

    /// Whether those see it who may neither write to the liveblog nor moderate it.
    pub fn is_seen(&self) -> bool {
        self.status == PostStatus::Approved
    }

    /// Forgets as much of the history that one more change has room.
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

    /// Whether it is or was approved at any time.
    pub fn was_approved(&self) -> bool {
        self.history.iter().any(|change| change.to == PostStatus::Approved)
    }

    /// Name of the user who made it.
    pub fn author(&self) -> &Text {
        &self.record.creator
    }

    /// Its order number among the posts: pinned first, then newest first.
    pub fn place_in_order(&self) -> u128 {
        order(self.pinned, self.timestamp, self.loid())
    }
}

impl Row for Post {
    fn place(&self) -> Key {
        POST.place(self.liveblog, &self.loid().to_key())
    }

    fn index(&self, entries: &mut Vec<(Key, Bytes)>) {
        let (post, liveblog) = (self.loid().to_key(), self.liveblog.to_key());
        entries.push((
            Key { table: Table::PartOf, key: Bytes::copy_from_slice(&post) },
            Bytes::copy_from_slice(&liveblog),
        ));
        let uuid = Bytes::copy_from_slice(self.record.uuid.0.as_bytes());
        entries.push((Key { table: Table::Uuids, key: uuid }, Bytes::copy_from_slice(&post)));
        // What its record says of a content, a row of its version says too.
        refer_all(&self.attachments, &self.place(), entries);
    }

    fn same_index(&self, new: &Post) -> bool {
        (self.loid(), self.record.uuid, self.liveblog) == (new.loid(), new.record.uuid, new.liveblog)
            && self.attachments == new.attachments
    }
}

/// The least order number of a post that is not pinned.
pub(super) const FIRST_UNPINNED: u128 = 1 << 127;

/// Newest first, pinned ones before all others (docs/api/liveblogs.md, "Replies"): the number grows
/// from the first post to the last.
fn order(pinned: bool, timestamp: u64, post: Loid) -> u128 {
    // Timestamps have less than 63 bits: `post_name` refuses what lies beyond the year 9999.
    let age = !timestamp & (u64::MAX >> 1);
    let first = if pinned { 0 } else { FIRST_UNPINNED };
    first | u128::from(age) << 64 | u128::from(!post.number)
}

impl Ordered for std::sync::Arc<Post> {
    fn order(&self) -> u128 {
        self.place_in_order()
    }

    fn is_visible(&self) -> bool {
        self.is_seen()
    }
}

/// A removed post: a caller who asks for the changes since a revision gets its id, if they may have
/// seen it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedPost {
    /// The liveblog.
    #[serde(with = "loid_key")]
    pub liveblog: Loid,
    /// The post there was.
    #[serde(with = "loid_key")]
    pub post: Loid,
    /// The liveblog's revision that it went with.
    pub revision: u64,
    /// Whether it was ever approved. Rows from before this was noted say no, and name no author:
    /// then only who sees all posts is told.
    #[serde(default)]
    pub was_approved: bool,
    /// Name of the user who made it.
    #[serde(default)]
    pub author: Text,
}

impl Row for RemovedPost {
    fn place(&self) -> Key {
        REMOVED_POST.place(self.liveblog, &self.revision.to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DatabaseId;
    use crate::liveblog::Sight;
    use crate::object::FolderKey;
    use crate::store::{decode_value, encode_value};

    #[test]
    fn a_removed_post_of_which_nothing_was_noted_is_told_to_those_only_who_see_all() {
        let (liveblog, post) = (Loid::new(DatabaseId::FIRST, 7), Loid::new(DatabaseId::FIRST, 8));
        let before = encode_value(RemovedPost::FORMAT, &(FolderKey(liveblog), FolderKey(post), 9u64));
        let removed: RemovedPost = decode_value(RemovedPost::FORMAT, &before).expect("it can be read");
        let expected = RemovedPost { liveblog, post, revision: 9, was_approved: false, author: "".into() };
        assert_eq!(removed, expected);
        for (sight, seen) in [(Sight::All, true), (Sight::Own("ada".into()), false), (Sight::Approved, false)] {
            assert_eq!(sight.may_have_seen_removed(&removed), seen, "{sight:?}");
        }
    }
}
