//! Liveblogs and posts on the wire.

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stet_base::json::{ChangeAnswer, JoinedMembers, ReadyJson, ReplyList};
use stet_domain::id::Loid;
use stet_domain::liveblog::{PostResult, PostStatus};
use stet_domain::object::SharedText;
use stet_endpoint::records::BulkError;
use stet_endpoint::records::RemovedObject;
use stet_endpoint::requests::{CreateOptions, DatabaseRef, SourceList, WireCreateMode};
use stet_newsroom::attribute_input::AttributeInput;
use stet_newsroom::records::ObjectRecord;
use stet_web::body::JsonObject;

/// The `info` of a liveblog: its record and the fields that only liveblogs have. Numbers count the
/// posts that the caller sees.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveBlogInfo")]
#[serde(rename_all = "camelCase")]
pub struct LiveblogInfo {
    /// The record.
    #[serde(flatten)]
    pub record: ObjectRecord,
    /// Title; may be empty.
    pub title: SharedText,
    /// Number of posts in each state.
    pub post_counts: PostCounts,
    /// Whether every new post waits for approval.
    pub moderated: bool,
    /// The latest timestamp of an approved post, epoch milliseconds.
    pub last_post_timestamp: Option<u64>,
}

/// Number of posts in each state.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PostCounts {
    /// Waiting for approval.
    pub pending: usize,
    /// Approved.
    pub approved: usize,
    /// Rejected.
    pub rejected: usize,
    /// Marked as deleted, but still in the liveblog.
    pub deleted: usize,
}

/// A liveblog.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveBlogReply")]
pub struct LiveblogReply {
    /// The liveblog.
    pub info: LiveblogInfo,
    /// Posts of the page: pinned first, then newest first, unless another order was requested. A
    /// search with `since` returns the posts that were changed after it, the oldest change first.
    /// The reply to a change contains none.
    pub items: ReplyList<ReadyJson<Post>>,
    /// Total number of posts.
    pub total: usize,
    /// Number of changes of the liveblog; the value for `since` in a later search.
    pub revision: u64,
}

/// The reply to a change of a liveblog. If the liveblog was destroyed or moved out of the caller's
/// sight since, the reply only identifies it.
pub type ChangedLiveblog = ChangeAnswer<LiveblogReply, RemovedLiveblog>;

/// A liveblog that was destroyed or hidden by others.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RemovedLiveBlog")]
pub struct RemovedLiveblog {
    /// Identification of the liveblog.
    pub info: RemovedObject,
    /// Always empty.
    #[schemars(with = "Vec<ReadyJson<Post>>", length(max = 0))]
    pub items: [ReadyJson<Post>; 0],
}

/// The result of a search.
#[derive(Serialize, JsonSchema)]
pub struct SearchReply {
    /// The liveblog with the posts that were found.
    #[serde(flatten)]
    pub liveblog: LiveblogReply,
    /// With `since`: posts that were removed after it, or that changed and do not match the search,
    /// or no longer do. Only posts that the caller may have seen are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Loid>>")]
    pub removed: Option<Vec<String>>,
}

/// A post.
#[derive(Serialize, JsonSchema)]
pub struct Post {
    /// Record of the post; its revision is that of the liveblog at the post's last change.
    pub info: ObjectRecord,
    /// `pending`, `approved`, `rejected` or `deleted`.
    pub status: String,
    /// Title; may be empty.
    pub title: String,
    /// Summary; may be empty.
    pub summary: String,
    /// Description; may be empty.
    pub description: String,
    /// The option `type`; may be empty.
    pub r#type: String,
    /// Time of the post in epoch milliseconds.
    pub timestamp: u64,
    /// Name of the user who created it.
    pub author: String,
    /// Whether it had to wait for approval when it was created.
    pub moderated: bool,
    /// Whether it is listed before all posts that are not pinned.
    pub pinned: bool,
    /// Free words.
    pub tags: Vec<String>,
    /// The content, if it is text and small; else null, and read by a call of its own.
    pub content: Option<String>,
    /// Files beside the content.
    pub attachments: Vec<PostAttachmentView>,
    /// Changes of the status, oldest first: the creation, the first approval, and the latest ones,
    /// at most 1,000 in all.
    pub history: Vec<StatusChangeView>,
}

/// A single post.
pub type PostReply = JoinedMembers<Post, LiveblogRevision>;

/// A single post as a change has left it.
pub type ChangedPostReply = JoinedMembers<Post, PostChangeView>;

/// The fields that the reply to a change of a single post has in addition.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PostChange")]
pub struct PostChangeView {
    /// Revision of the liveblog.
    pub revision: u64,
    /// The effect of the change for readers.
    #[serde(flatten)]
    pub effect: PostChangeEffect,
}

/// The field that the reply about a single post has in addition.
#[derive(Serialize, JsonSchema)]
pub struct LiveblogRevision {
    /// Revision of the liveblog.
    pub revision: u64,
}

/// The reply to a change of a post: the post as the change left it. If others removed the post
/// since, the reply contains only its id and the revision of the change.
pub type ChangedPost = ChangeAnswer<ChangedPostReply, RemovedPost>;

/// A post that a call has changed along with others.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedListedPost {
    /// Source, as the client gave it.
    pub source: String,
    /// The post's loid.
    #[schemars(with = "Loid")]
    pub id: String,
    /// `pending`, `approved`, `rejected` or `deleted`.
    pub status: &'static str,
    /// The effect of the change for readers.
    #[serde(flatten)]
    pub effect: PostChangeEffect,
}

impl ChangedListedPost {
    /// Describes the post that a source names after its change.
    pub fn of(source: &str, done: &PostResult) -> ChangedListedPost {
        ChangedListedPost {
            source: source.to_owned(),
            id: done.post.to_string(),
            // Only a removed post has no status.
            status: done.status.map_or("", PostStatus::name),
            effect: PostChangeEffect::of(done.former_status, done.status),
        }
    }
}

/// The effect of a change of a post for readers.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostChangeEffect {
    /// Status before the change; null for a new post.
    pub former_status: Option<&'static str>,
    /// Whether the change has left the post visible to every reader of the liveblog. Readers never
    /// see a former text of a post.
    pub visible_to_readers: bool,
}

impl PostChangeEffect {
    /// Returns the effect of a change of status.
    pub fn of(from: Option<PostStatus>, to: Option<PostStatus>) -> PostChangeEffect {
        PostChangeEffect {
            former_status: from.map(PostStatus::name),
            visible_to_readers: to == Some(PostStatus::Approved),
        }
    }
}

/// Posts that were requested one by one.
#[derive(Serialize, JsonSchema)]
pub struct PostListing {
    /// The posts that were found.
    pub items: ReplyList<ReadyJson<Post>>,
    /// One error for each source that names no post.
    pub errors: ReplyList<BulkError>,
}

/// A file beside a post's content.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PostAttachment")]
#[serde(rename_all = "camelCase")]
pub struct PostAttachmentView {
    /// Id for downloading and removing it.
    #[schemars(extend("pattern" = "^[0-9]+$"))]
    pub id: String,
    /// File name, as sent.
    pub name: String,
    /// Media type.
    pub content_type: String,
    /// Size in bytes.
    pub size: u64,
}

/// A change of a post's status.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PostStatusChange")]
pub struct StatusChangeView {
    /// Former status; null for the creation.
    pub from: Option<String>,
    /// New status.
    pub to: String,
    /// Name of the user who changed it.
    pub user: String,
    /// Time in epoch milliseconds.
    pub at: u64,
}

/// The reply to the removal of a post.
#[derive(Serialize, JsonSchema)]
pub struct RemovedPost {
    /// The post's loid.
    #[schemars(with = "Loid")]
    pub id: String,
    /// Revision of the liveblog.
    pub revision: u64,
}

/// Body of the creation of a liveblog. All fields are optional. Missing values are taken from the
/// template, if it has them.
#[derive(Default, Deserialize, JsonSchema)]
#[schemars(rename = "CreateLiveBlog")]
#[serde(rename_all = "camelCase", default)]
pub struct CreateLiveblog {
    /// Name; generated by default.
    pub(super) name: Option<String>,
    /// Title for readers.
    pub(super) title: Option<String>,
    /// A type of the family `liveblog`; `LiveBlog` by default.
    pub(super) r#type: Option<String>,
    /// Accepted for compatibility with clients; has no effect.
    pub(super) application: Option<String>,
    /// Database; the main one by default.
    pub(super) database_id: Option<DatabaseRef>,
    /// Loid, uuid or path of the folder. The default depends on type and work folder, or is the
    /// user's home.
    pub(super) folder: Option<String>,
    /// Path of the folder.
    pub(super) folder_path: Option<String>,
    /// Path of the work folder.
    pub(super) work_folder: Option<String>,
    /// Workflow status; the workflow's first by default.
    pub(super) status: Option<String>,
    pub(super) product: Option<String>,
    pub(super) edition: Option<String>,
    /// Issue date: `yyyyMMdd`, or `yyMMdd` for 20yy.
    pub(super) issue_date: Option<String>,
    pub(super) team: Option<String>,
    /// XML text or JSON.
    pub(super) attributes: Option<AttributeInput>,
    /// XML text or JSON with the root `props`.
    pub(super) system_attributes: Option<AttributeInput>,
    /// XML text or JSON with the root `tl`.
    pub(super) usage_tickets: Option<AttributeInput>,
    /// Story family.
    pub(super) suid: Option<String>,
    /// Whether every new post waits for approval.
    pub(super) moderated: Option<bool>,
    pub(super) create_mode: Option<WireCreateMode>,
    pub(super) options: Option<JsonObject<CreateOptions>>,
}

/// Part `options` of a post's form (docs/api/posts.md, "Adding and changing"). All fields are
/// optional. In an update, fields that are left out keep their values.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PostOptions {
    /// XML text or JSON with the root `props`.
    pub(super) system_attributes: Option<AttributeInput>,
    /// XML text or JSON.
    pub(super) attributes: Option<AttributeInput>,
    /// Whether it must wait for approval; has no effect on an update.
    pub(super) moderated: Option<bool>,
    pub(super) summary: Option<String>,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) r#type: Option<String>,
    /// Time in epoch milliseconds; also the source of a new post's name.
    pub(super) timestamp: Option<u64>,
    /// Whether it is listed before all posts that are not pinned.
    pub(super) pinned: Option<bool>,
    /// Free words; at most 100, each of at most 255 bytes.
    pub(super) tags: Option<Vec<String>>,
    /// Tags to append, if the post lacks them.
    pub(super) add_tags: Option<Vec<String>>,
    /// Tags to remove, before others are added.
    pub(super) remove_tags: Option<Vec<String>>,
    /// Ids of attachments to remove; only for an update.
    pub(super) remove_attachments: Option<Vec<AttachmentRef>>,
    /// Reaction if the name from `timestamp` is taken; has no effect on an update.
    pub(super) create_mode: Option<WireCreateMode>,
    pub(super) options: Option<JsonObject<CreateOptions>>,
}

/// Body of a change of several posts. At least one field besides `sources` is needed; fields that
/// are left out keep their values.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangePosts {
    /// Posts of the liveblog, as loids, uuids, names or paths.
    pub(super) sources: SourceList,
    /// Database of paths; the main one by default.
    #[serde(default)]
    pub(super) database_id: Option<DatabaseRef>,
    /// Whether they are listed before all posts that are not pinned.
    #[serde(default)]
    pub(super) pinned: Option<bool>,
    /// Free words in place of the present ones; at most 100, each of at most 255 bytes.
    #[serde(default)]
    pub(super) tags: Option<Vec<String>>,
    /// Tags to append to each post that lacks them.
    #[serde(default)]
    pub(super) add_tags: Option<Vec<String>>,
    /// Tags to remove from each post, before others are added.
    #[serde(default)]
    pub(super) remove_tags: Option<Vec<String>>,
}

/// The id of an attachment, as a text or a number.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PostAttachmentRef")]
#[serde(untagged, expecting = "the id of an attachment must be a number, as such or as a text")]
pub(super) enum AttachmentRef {
    Number(u64),
    Text(String),
}

/// Body of a search. All fields are optional. Filters and bounds combine with AND, the entries of
/// one filter with OR.
#[derive(Default, Deserialize, JsonSchema)]
#[schemars(rename = "LiveBlogSearchRequest")]
#[serde(rename_all = "camelCase", default)]
pub struct SearchRequest {
    pub(super) filters: Option<JsonObject<LiveblogFilters>>,
    /// The earliest timestamp, epoch milliseconds.
    pub(super) from: Option<u64>,
    /// The latest timestamp, epoch milliseconds.
    pub(super) to: Option<u64>,
    /// The `revision` of an earlier reply: only changes after it are returned.
    pub(super) since: Option<u64>,
    /// Sort order: `field`, `-field` or `field:asc|desc`, comma-separated.
    pub(super) sort_by: Option<String>,
    /// Largest number of posts.
    pub(super) limit: Option<usize>,
    /// Number of posts to skip.
    pub(super) offset: Option<usize>,
    /// Display options.
    #[schemars(with = "Option<Value>")]
    pub(super) options: Option<IgnoredAny>,
}

/// The filters of a search. An empty filter and one that is null filter nothing.
#[derive(Default, Deserialize, JsonSchema)]
#[schemars(rename = "LiveBlogFilters")]
#[serde(rename_all = "camelCase", default)]
pub struct LiveblogFilters {
    /// States: `pending`, `approved`, `rejected`, `deleted`.
    pub(super) status: Option<Vec<String>>,
    /// Names of users.
    pub(super) author: Option<Vec<String>>,
    /// Values of the option `type`.
    pub(super) r#type: Option<Vec<String>>,
    /// Parts of the title, without regard to case.
    pub(super) title: Option<Vec<String>>,
    /// Parts of the content's text, without regard to case.
    pub(super) text: Option<Vec<String>>,
    /// Posts by loid, uuid or name.
    pub(super) source: Option<Vec<String>>,
    /// Tags.
    pub(super) tag: Option<Vec<String>>,
    /// Only pinned posts, or only others.
    pub(super) pinned: Option<bool>,
}
