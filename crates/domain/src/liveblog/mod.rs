//! Liveblogs: posts in order of time, each with a status that decides who sees it
//! (docs/api/liveblogs.md, docs/api/posts.md).
//!
//! A post is a part of its liveblog. The liveblog's actor makes all changes of its posts, one after
//! the other. A new post adds one row, however many posts there are. Like an object, a post has a
//! loid, a uuid, versions and attributes.

mod commands;
mod fields;
mod name;
mod prove;
mod rows;
mod sight;
mod state;

pub use self::commands::{AddPost, PostResult, RemovePost, SetPostStatus, UpdatePost};
pub use self::fields::{PostBody, PostFields};
pub use self::name::post_name;
pub use self::rows::{
    HEAD, LiveblogHead, MAX_HISTORY, MAX_TAG_BYTES, MAX_TAGS, POST, Post, PostHistoryEntry, PostStatus, REMOVED_POST,
    RemovedPost,
};
pub use self::sight::PostSight;
pub use self::state::{LiveblogState, PostAddress};
use crate::command::{Command, CommandFault, Context};
use crate::family::Family;
use crate::object::{CreateMode, FamilyKind, Object, Record};
use crate::part::{ATTACHMENT_BODY, PartKind, PartReader};
use crate::proof::Proof;
use crate::store::StoreError;

/// The name of the type of posts among the object types.
pub const POST_TYPE: &str = "LiveBlogPost";

/// The family of liveblogs.
#[derive(Debug)]
pub struct Liveblog;

/// The settings of a new liveblog.
#[derive(Debug, Clone, Default)]
pub struct NewLiveblog {
    /// Whether every post waits for approval; `None` if the caller does not say.
    pub moderated: Option<bool>,
    /// The default of `moderated` for a new liveblog.
    pub begins_moderated: bool,
}

impl Family for Liveblog {
    type State = LiveblogState;
    type New = NewLiveblog;
    const KIND: FamilyKind = FamilyKind::Liveblog;
    const PARTS: &'static [PartKind] = &[HEAD, POST, REMOVED_POST, ATTACHMENT_BODY];
    const HIDES_PARTS: bool = true;
    const PART_EVENTS: &'static [&'static str] =
        &[AddPost::NAME, UpdatePost::NAME, SetPostStatus::NAME, RemovePost::NAME];

    fn load(object: Object, parts: &PartReader<'_>) -> Result<LiveblogState, StoreError> {
        let (posts, removed) = (parts.all(POST)?, parts.all(REMOVED_POST)?);
        Ok(LiveblogState::new(object, parts.head(HEAD)?, posts, removed))
    }

    fn make(new: &NewLiveblog, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault> {
        let head = LiveblogHead { loid: object.record.loid, moderated: new.moderated.unwrap_or(new.begins_moderated) };
        context.put(None, &head);
        Ok(object.bytes())
    }

    fn write_over(
        new: &NewLiveblog,
        liveblog: &mut LiveblogState,
        _: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        if let Some(moderated) = new.moderated {
            liveblog.moderate(moderated, context);
        }
        Ok(())
    }

    fn dissolve(liveblog: &mut LiveblogState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        liveblog.dissolve(context)
    }

    fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
        prove::prove(record, proof)
    }
}
