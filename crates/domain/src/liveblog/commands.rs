//! The commands that change a liveblog (docs/api/posts.md).
//!
//! Rights are checked before a command is sent. The command gets a [`Reach`] for checks that depend
//! on the post's state. It covers all posts only for a caller who has the privilege `moderate`.

use serde::{Deserialize, Serialize};

use super::fields::{PostBody, PostFields, describe, write};
use super::name::TimedName;
use super::rows::{Post, PostHistoryEntry, PostStatus};
use super::sight::PostSight;
use super::state::{LiveblogState, PostAddress};
use super::{Liveblog, POST_TYPE};
use crate::command::{Command, CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::id::Loid;
use crate::object::{CreateMode, FamilyKind, FolderKey, Reach, Record, SharedText};
use crate::part::{NewAttachment, attach, detach};
use crate::store::loid_key;

/// The result of a command for a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostResult {
    /// The post.
    #[serde(with = "loid_key")]
    pub post: Loid,
    /// Whether it is new.
    pub is_new: bool,
    /// The liveblog's revision after the change. It is 0 if nothing has changed, or if the row was
    /// written before revisions were noted.
    #[serde(default)]
    pub revision: u64,
    /// The status before the command; `None` for a new post, and in rows written before this field
    /// existed.
    #[serde(default)]
    pub former_status: Option<PostStatus>,
    /// The status after the command; `None` for a removed post, and in rows written before this
    /// field existed.
    #[serde(default)]
    pub status: Option<PostStatus>,
}

impl PostResult {
    /// Returns the result of a command that leaves a post as it is.
    fn unchanged(post: &Post) -> PostResult {
        let status = Some(post.status);
        PostResult { post: post.loid(), is_new: false, revision: 0, former_status: status, status }
    }
}

/// Adds a post, or writes over the one with its name, depending on `mode`.
#[derive(Debug, Clone)]
pub struct AddPost {
    /// The fields of the post.
    pub fields: PostFields,
    /// Whether the post is to wait for approval.
    pub moderated: bool,
    /// The content of the post.
    pub body: PostBody,
    /// The attachments.
    pub attachments: Vec<NewAttachment>,
    /// The action if the name is taken. A post without a timestamp always gets a free name, since
    /// nobody asked for a particular one.
    pub mode: CreateMode,
    /// The reach of the caller's right to write over an existing post, by its author.
    pub reach: Reach,
    /// The posts that the caller sees. Of a hidden post with the same name, they only learn that
    /// the name is taken.
    pub sight: PostSight,
}

impl Command for AddPost {
    type Family = Liveblog;
    type Reply = PostResult;
    const NAME: &'static str = "liveblog.post.add";

    fn apply(&self, liveblog: &mut LiveblogState, context: &mut Context<'_>) -> Result<PostResult, CommandFault> {
        let timestamp = self.fields.timestamp.unwrap_or(context.now_ms);
        let name = TimedName::at(timestamp)?;
        let mode = if self.fields.timestamp.is_some() { self.mode } else { CreateMode::AutoRename };
        if let Some(there) = liveblog.named(name).cloned() {
            match mode {
                CreateMode::AutoRename => {}
                // A caller who does not see the post may not write over it either, and gets the
                // same reply in all modes.
                _ if !liveblog.sees(&self.sight, &there) => return Err(name_taken(name, None).into()),
                CreateMode::Existing => return Ok(PostResult::unchanged(&there)),
                CreateMode::Exception => return Err(name_taken(name, Some(there.loid())).into()),
                CreateMode::Replace | CreateMode::NewVersion => {
                    check_reach(&there, self.reach, context)?;
                    let mut post = Post::clone(&there);
                    // The post may have got another timestamp since it was named. Other posts may
                    // have this timestamp: names are unique, times are not.
                    post.timestamp = timestamp;
                    let replaced = if mode == CreateMode::Replace { there.record.version } else { 0 };
                    write(&mut post, Some(&self.body), replaced, context)?;
                    describe(&mut post, &self.fields, context)?;
                    attach(post.owner(), &mut post.attachments, &self.attachments, context)?;
                    unapprove(&mut post, self.reach, context);
                    let status = Some(post.status);
                    let revision = liveblog.replace(&there, post, context);
                    return Ok(PostResult { revision, status, ..PostResult::unchanged(&there) });
                }
            }
        }
        let name = liveblog.free_name(name).to_string();
        let liveblog_loid = liveblog.object().record.loid;
        let loid = Loid::new(liveblog_loid.database, context.next_number()?);
        let waits = self.moderated || liveblog.head().moderated || self.reach != Reach::All;
        let status = if waits { PostStatus::Pending } else { PostStatus::Approved };
        let record = Record {
            folder: Some(FolderKey(liveblog_loid)),
            ..Record::new(loid, &name, POST_TYPE, FamilyKind::Document, &context.who.user, context.now_ms)
        };
        let empty = SharedText::from("");
        let mut post = Post {
            liveblog: liveblog_loid,
            record,
            status,
            title: empty.clone(),
            summary: empty.clone(),
            description: empty.clone(),
            kind: empty.clone(),
            timestamp,
            moderated: self.moderated,
            pinned: false,
            tags: Vec::new(),
            attachments: Vec::new(),
            history: vec![PostHistoryEntry {
                from: None,
                to: status,
                user: context.who.user.clone(),
                at_ms: context.now_ms,
            }],
            text: empty,
        };
        write(&mut post, Some(&self.body), 0, context)?;
        describe(&mut post, &self.fields, context)?;
        attach(post.owner(), &mut post.attachments, &self.attachments, context)?;
        let revision = liveblog.insert(post, context);
        Ok(PostResult { post: loid, is_new: true, revision, former_status: None, status: Some(status) })
    }
}

/// Returns the refusal of a name that another post has; `there` is given if the caller sees that
/// one.
fn name_taken(name: TimedName, there: Option<Loid>) -> Error {
    Error::duplicated(format!("The liveblog already has a post `{name}`."), there)
}

/// Changes a post.
#[derive(Debug, Clone)]
pub struct UpdatePost {
    /// The post.
    pub post: PostAddress,
    /// The new fields of the post.
    pub fields: PostFields,
    /// The new content, which becomes a new version.
    pub body: Option<PostBody>,
    /// The attachments to add.
    pub attachments: Vec<NewAttachment>,
    /// The ids of the attachments to remove.
    pub remove_attachments: Vec<u64>,
    /// The reach of the caller's right, by author. Unless it covers all posts, a changed post that
    /// was approved waits for approval again.
    pub reach: Reach,
}

impl Command for UpdatePost {
    type Family = Liveblog;
    type Reply = PostResult;
    const NAME: &'static str = "liveblog.post.update";

    fn apply(&self, liveblog: &mut LiveblogState, context: &mut Context<'_>) -> Result<PostResult, CommandFault> {
        let old = liveblog.get(&self.post)?.clone();
        check_reach(&old, self.reach, context)?;
        let mut post = Post::clone(&old);
        if let Some(timestamp) = self.fields.timestamp {
            // The name stays, since others may know the post by it.
            TimedName::at(timestamp)?;
            post.timestamp = timestamp;
        }
        for id in &self.remove_attachments {
            detach(post.owner(), &mut post.attachments, *id, context)?;
        }
        write(&mut post, self.body.as_ref(), 0, context)?;
        let described = describe(&mut post, &self.fields, context)?;
        attach(post.owner(), &mut post.attachments, &self.attachments, context)?;
        let mut done = PostResult::unchanged(&old);
        if post != *old || described {
            unapprove(&mut post, self.reach, context);
            done.status = Some(post.status);
            done.revision = liveblog.replace(&old, post, context);
        }
        Ok(done)
    }
}

/// Sets the status of a post (docs/api/posts.md, "States"). Setting the present status changes
/// nothing.
#[derive(Debug, Clone)]
pub struct SetPostStatus {
    /// The post.
    pub post: PostAddress,
    /// The new status.
    pub to: PostStatus,
    /// The reach of the caller's right, by author. Unless it covers all posts, they may only set
    /// posts pending or deleted, and not bring back a deleted one.
    pub reach: Reach,
}

impl Command for SetPostStatus {
    type Family = Liveblog;
    type Reply = PostResult;
    const NAME: &'static str = "liveblog.post.status";

    fn apply(&self, liveblog: &mut LiveblogState, context: &mut Context<'_>) -> Result<PostResult, CommandFault> {
        let old = liveblog.get(&self.post)?.clone();
        let mut done = PostResult::unchanged(&old);
        check_reach(&old, self.reach, context)?;
        if self.reach != Reach::All
            && (matches!(self.to, PostStatus::Approved | PostStatus::Rejected)
                || (old.status == PostStatus::Deleted && self.to != PostStatus::Deleted))
        {
            let message = format!(
                "`{}` may not set the post `{}` from {} to {}: this needs the privilege `moderate`.",
                context.who.user,
                old.loid(),
                old.status.name(),
                self.to.name()
            );
            return Err(Error::new(Code::PermissionDenied, message).with_source(old.loid()).into());
        }
        if old.status != self.to {
            let mut post = Post::clone(&old);
            set_post_status(&mut post, self.to, context);
            done.status = Some(self.to);
            done.revision = liveblog.replace(&old, post, context);
        }
        Ok(done)
    }
}

/// Removes a post permanently, whatever its status.
#[derive(Debug, Clone)]
pub struct RemovePost {
    /// The post.
    pub post: PostAddress,
    /// The reach of the caller's right, by author.
    pub reach: Reach,
}

impl Command for RemovePost {
    type Family = Liveblog;
    type Reply = PostResult;
    const NAME: &'static str = "liveblog.post.remove";

    fn apply(&self, liveblog: &mut LiveblogState, context: &mut Context<'_>) -> Result<PostResult, CommandFault> {
        let post = liveblog.get(&self.post)?.clone();
        check_reach(&post, self.reach, context)?;
        let revision = liveblog.take(&post, context)?;
        Ok(PostResult { revision, status: None, ..PostResult::unchanged(&post) })
    }
}

fn check_reach(post: &Post, reach: Reach, context: &Context<'_>) -> Result<()> {
    if reach.covers(post.author(), &context.who.user) {
        return Ok(());
    }
    let message = match reach {
        Reach::Nothing => {
            format!("A key that lacks the privilege `moderate` may not change the post `{}`.", post.loid())
        }
        _ => {
            format!("`{}` may change only their own posts, and `{}` is not one of them.", context.who.user, post.loid())
        }
    };
    Err(Error::new(Code::PermissionDenied, message).with_source(post.loid()))
}

fn set_post_status(post: &mut Post, to: PostStatus, context: &Context<'_>) {
    post.make_room_in_history();
    let user = context.who.user.clone();
    post.history.push(PostHistoryEntry { from: Some(post.status), to, user, at_ms: context.now_ms });
    post.status = to;
}

/// Withdraws the approval after an edit by a caller who may not moderate.
fn unapprove(post: &mut Post, reach: Reach, context: &Context<'_>) {
    if reach != Reach::All && post.status == PostStatus::Approved {
        set_post_status(post, PostStatus::Pending, context);
    }
}
