//! Liveblogs: posts in order of time, each with a status that says who sees it (interface 3, 4.8, 4.9; decisions 5).
//!
//! A post is a part of its liveblog: the liveblog's actor makes all its changes one after the other, and a new post
//! is one row more, however many there are. It has a loid, a uuid, versions and attributes as objects have.

mod commands;
mod fields;
mod rows;
mod sight;
mod state;

pub use self::commands::{AddPost, PostDone, RemovePost, SetStatus, UpdatePost};
pub use self::fields::{NewAttachment, PostBody, PostFields, post_name};
pub use self::rows::{
    Attachment, LiveBlogHead, MAX_ATTACHMENTS, MAX_HISTORY, MAX_TAG_BYTES, MAX_TAGS, Post, PostStatus, RemovedPost,
    StatusChange, attachment_body,
};
pub use self::sight::Sight;
pub use self::state::{LiveBlogState, PostAddress};
use crate::family::{Family, Parts, part};
use crate::object::{FamilyKind, Object};
use crate::store::{Row, StoreError, decode_value};

/// Name of the type of posts in the objecttypes family.
pub const POST_TYPE: &str = "LiveBlogPost";

/// The family of liveblogs.
#[derive(Debug)]
pub struct LiveBlog;

impl Family for LiveBlog {
    type State = LiveBlogState;
    const KIND: FamilyKind = FamilyKind::LiveBlog;

    fn load(object: Object, parts: &Parts<'_>) -> Result<LiveBlogState, StoreError> {
        let mut head: Option<LiveBlogHead> = None;
        parts.each(part::LIVEBLOG_HEAD, |value| {
            head = Some(decode_value(LiveBlogHead::FORMAT, &value)?);
            Ok::<_, StoreError>(())
        })?;
        let mut posts: Vec<Post> = Vec::new();
        parts.each(part::POST, |value| {
            posts.push(decode_value(Post::FORMAT, &value)?);
            Ok::<_, StoreError>(())
        })?;
        let mut removed: Vec<RemovedPost> = Vec::new();
        parts.each(part::REMOVED_POST, |value| {
            removed.push(decode_value(RemovedPost::FORMAT, &value)?);
            Ok::<_, StoreError>(())
        })?;
        let loid = object.record.loid;
        let head = head.ok_or_else(|| StoreError::Corrupt(format!("the liveblog {loid} has no head row")))?;
        Ok(LiveBlogState::new(object, head, posts, removed))
    }
}
