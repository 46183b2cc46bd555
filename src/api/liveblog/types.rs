//! Liveblogs and posts on the wire.

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stet_actors::id::Loid;
use stet_actors::object::Text;

use crate::api::attributes::Given;
use crate::api::object::Removed;
use crate::api::records::BulkError;
use crate::api::requests::{CreateOptions, DatabaseRef, WireCreateMode};
use crate::http::body::Object;
use crate::json::{Changed, Listed, Ready, With};
use crate::records::ObjectRecord;

/// `info` of a liveblog: its record, and what a liveblog has beside. Numbers speak of the posts
/// that the caller sees.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveBlogInfo")]
#[serde(rename_all = "camelCase")]
pub struct LiveblogInfo {
    /// The record.
    #[serde(flatten)]
    pub record: ObjectRecord,
    /// May be empty.
    pub title: Text,
    /// How many posts there are in each state.
    pub post_counts: PostCounts,
    /// Whether every new post waits for approval.
    pub moderated: bool,
    /// The latest timestamp of an approved post, epoch milliseconds.
    pub last_post_timestamp: Option<u64>,
}

/// How many posts are in each state.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PostCounts {
    /// Waiting for approval.
    pub pending: usize,
    /// Approved.
    pub approved: usize,
    /// Rejected.
    pub rejected: usize,
    /// Set to deleted, and there still.
    pub deleted: usize,
}

/// A liveblog.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveBlogReply")]
pub struct LiveblogReply {
    /// The liveblog.
    pub info: LiveblogInfo,
    /// Its posts: pinned first, then newest first, unless asked for otherwise; those of the page
    /// asked for. A search with `since` has those changed after it, the oldest change first. A
    /// change has none.
    pub items: Listed<Ready<Post>>,
    /// How many there are in all.
    pub total: usize,
    /// Counts the liveblog's changes: what a search takes as `since`.
    pub revision: u64,
}

/// The answer to a change of a liveblog; of one that others have destroyed since, or moved out of
/// the caller's sight, no more than which it was.
pub type ChangedLiveblog = Changed<LiveblogReply, RemovedLiveblog>;

/// A liveblog that others have destroyed or hidden.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RemovedLiveBlog")]
pub struct RemovedLiveblog {
    /// Which it was.
    pub info: Removed,
    /// None.
    #[schemars(with = "Vec<Ready<Post>>", length(max = 0))]
    pub items: [Ready<Post>; 0],
}

/// What a search found.
#[derive(Serialize, JsonSchema)]
pub struct SearchReply {
    /// The liveblog, and what was found of its posts.
    #[serde(flatten)]
    pub liveblog: LiveblogReply,
    /// With `since`: the posts that were removed after it, and those that changed and are not, or
    /// not any more, what is searched for; of all these, the ones that the caller may have seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Loid>>")]
    pub removed: Option<Vec<String>>,
}

/// A post.
#[derive(Serialize, JsonSchema)]
pub struct Post {
    /// Its record; its revision is that of the liveblog at the post's last change.
    pub info: ObjectRecord,
    /// `pending`, `approved`, `rejected` or `deleted`.
    pub status: String,
    /// May be empty.
    pub title: String,
    /// May be empty.
    pub summary: String,
    /// May be empty.
    pub description: String,
    /// The option `type`; may be empty.
    pub r#type: String,
    /// Epoch milliseconds.
    pub timestamp: u64,
    /// Name of the user who made it.
    pub author: String,
    /// Whether it was to wait for approval when it was made.
    pub moderated: bool,
    /// Whether it stands before all that are not.
    pub pinned: bool,
    /// Free words.
    pub tags: Vec<String>,
    /// The content, if it is text and small; else null, and to be had by itself.
    pub content: Option<String>,
    /// Files beside the content.
    pub attachments: Vec<Attachment>,
    /// What became of its status, oldest first: its creation, its first approval, and so many of
    /// the latest that there are 1,000 in all.
    pub history: Vec<StatusChange>,
}

/// A post alone.
pub type PostReply = With<Post, Revision>;

/// What a post alone has beside.
#[derive(Serialize, JsonSchema)]
pub struct Revision {
    /// The liveblog's.
    pub revision: u64,
}

/// The answer to a change of a post: the post as the change left it; of one that others have
/// removed since, no more than which it is, and the revision of the change.
pub type ChangedPost = Changed<PostReply, RemovedPost>;

/// Posts that were asked for one by one.
#[derive(Serialize, JsonSchema)]
pub struct PostListing {
    /// Those that were found.
    pub items: Listed<Ready<Post>>,
    /// One for each source that names none.
    pub errors: Listed<BulkError>,
}

/// A file beside a post's content.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PostAttachment")]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// What it is downloaded and removed by.
    #[schemars(extend("pattern" = "^[0-9]+$"))]
    pub id: String,
    /// As it was sent.
    pub name: String,
    /// Media type.
    pub content_type: String,
    /// Bytes.
    pub size: u64,
}

/// A change of a post's status.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PostStatusChange")]
pub struct StatusChange {
    /// Null for the creation.
    pub from: Option<String>,
    /// What it became.
    pub to: String,
    /// Name of the user.
    pub user: String,
    /// Epoch milliseconds.
    pub at: u64,
}

/// The answer to the removal of a post.
#[derive(Serialize, JsonSchema)]
pub struct RemovedPost {
    /// The post's loid.
    #[schemars(with = "Loid")]
    pub id: String,
    /// The liveblog's.
    pub revision: u64,
}

/// Body of the creation of a liveblog; all optional. What is not said is taken from the template,
/// if it has it.
#[derive(Default, Deserialize, JsonSchema)]
#[schemars(rename = "CreateLiveBlog")]
#[serde(rename_all = "camelCase", default)]
pub struct CreateLiveblog {
    /// Generated without it.
    pub(super) name: Option<String>,
    /// What readers are to call it.
    pub(super) title: Option<String>,
    /// A type of the family `liveblog`; `LiveBlog` without it.
    pub(super) r#type: Option<String>,
    /// Kept for clients; has no effect.
    pub(super) application: Option<String>,
    /// The main one without it.
    pub(super) database_id: Option<DatabaseRef>,
    /// Loid, uuid or path of the folder; without it that of type and work folder, or the user's
    /// home.
    pub(super) folder: Option<String>,
    /// Path of the folder.
    pub(super) folder_path: Option<String>,
    /// Path of the work folder.
    pub(super) work_folder: Option<String>,
    /// The workflow's first without it.
    pub(super) status: Option<String>,
    pub(super) product: Option<String>,
    pub(super) edition: Option<String>,
    /// `yyyyMMdd`, or `yyMMdd` for 20yy.
    pub(super) issue_date: Option<String>,
    pub(super) team: Option<String>,
    /// XML text or JSON.
    pub(super) attributes: Option<Given>,
    /// XML text or JSON with the root `props`.
    pub(super) system_attributes: Option<Given>,
    /// XML text or JSON with the root `tl`.
    pub(super) usage_tickets: Option<Given>,
    /// Story family.
    pub(super) suid: Option<String>,
    /// Whether every new post waits for approval.
    pub(super) moderated: Option<bool>,
    pub(super) create_mode: Option<WireCreateMode>,
    pub(super) options: Option<Object<CreateOptions>>,
}

/// Part `options` of a post's form (docs/api/posts.md, "Adding and changing"); all optional. Of an
/// update, what is named changes.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PostOptions {
    /// XML text or JSON with the root `props`.
    pub(super) system_attributes: Option<Given>,
    /// XML text or JSON.
    pub(super) attributes: Option<Given>,
    /// Whether it is to wait for approval; has no effect on an update.
    pub(super) moderated: Option<bool>,
    pub(super) summary: Option<String>,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) r#type: Option<String>,
    /// Epoch milliseconds; names a new post.
    pub(super) timestamp: Option<u64>,
    /// Whether it stands before all that are not.
    pub(super) pinned: Option<bool>,
    /// Free words; at most 100, of 255 bytes each.
    pub(super) tags: Option<Vec<String>>,
    /// Ids of attachments to take away; of an update only.
    pub(super) remove_attachments: Option<Vec<AttachmentRef>>,
    /// When the name that `timestamp` gives is taken; has no effect on an update.
    pub(super) create_mode: Option<WireCreateMode>,
    pub(super) options: Option<Object<CreateOptions>>,
}

/// The id of an attachment, as a text or a number.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PostAttachmentRef")]
#[serde(untagged, expecting = "the id of an attachment must be a number, as such or as a text")]
pub(super) enum AttachmentRef {
    Number(u64),
    Text(String),
}

/// Body of a search; all optional. Filters and bounds combine with AND, what stands in one filter
/// with OR.
#[derive(Default, Deserialize, JsonSchema)]
#[schemars(rename = "LiveBlogSearchRequest")]
#[serde(rename_all = "camelCase", default)]
pub struct SearchRequest {
    pub(super) filters: Option<Object<Filters>>,
    /// The earliest timestamp, epoch milliseconds.
    pub(super) from: Option<u64>,
    /// The latest timestamp, epoch milliseconds.
    pub(super) to: Option<u64>,
    /// A `revision` of an earlier reply: only what has changed after it.
    pub(super) since: Option<u64>,
    /// `field`, `-field` or `field:asc|desc`, comma-separated.
    pub(super) sort_by: Option<String>,
    /// How many at most.
    pub(super) limit: Option<usize>,
    /// How many to skip.
    pub(super) offset: Option<usize>,
    /// Display options.
    #[schemars(with = "Option<Value>")]
    pub(super) options: Option<IgnoredAny>,
}

/// The filters of a search; an empty one filters nothing, nor does one that is null.
#[derive(Default, Deserialize, JsonSchema)]
#[schemars(rename = "LiveBlogFilters")]
#[serde(rename_all = "camelCase", default)]
pub struct Filters {
    /// `pending`, `approved`, `rejected`, `deleted`.
    pub(super) status: Option<Vec<String>>,
    /// Names of users.
    pub(super) author: Option<Vec<String>>,
    /// The option `type`.
    pub(super) r#type: Option<Vec<String>>,
    /// Parts of the title, without regard to case.
    pub(super) title: Option<Vec<String>>,
    /// Parts of the content's text, without regard to case.
    pub(super) text: Option<Vec<String>>,
    /// Posts by loid, uuid or name.
    pub(super) source: Option<Vec<String>>,
    /// Tags.
    pub(super) tag: Option<Vec<String>>,
}
