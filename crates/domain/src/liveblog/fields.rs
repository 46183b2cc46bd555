//! The fields and the content of a post in commands, and their application to the post.

use super::rows::{MAX_TAG_BYTES, MAX_TAGS, Post};
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::object::{MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES, MAX_WORD_BYTES, NewContent, SharedText, check_texts};
use crate::part::{set_attributes, write_content};

/// The fields of a post that a caller sets (docs/api/posts.md, "Adding and changing"). A field that
/// is `None` stays as it is, or is empty in a new post.
#[derive(Debug, Clone, Default)]
pub struct PostFields {
    /// The title.
    pub title: Option<SharedText>,
    /// The summary.
    pub summary: Option<SharedText>,
    /// The description.
    pub description: Option<SharedText>,
    /// The option `type`.
    pub kind: Option<SharedText>,
    /// The time in epoch milliseconds; the default for a new post is now.
    pub timestamp: Option<u64>,
    /// Whether the post is listed before all that are not pinned.
    pub pinned: Option<bool>,
    /// The tags, free words.
    pub tags: Option<Vec<SharedText>>,
    /// The attributes, XML.
    pub attributes: Option<SharedText>,
    /// The system attributes, XML with the root `props`.
    pub system_attributes: Option<SharedText>,
}

/// The content of a post.
#[derive(Debug, Clone)]
pub struct PostBody {
    /// The bytes with their media type, and the location of the bytes.
    pub content: NewContent,
    /// The words for searching ([`Post::text`]).
    pub text: SharedText,
}

/// Writes the content as a new version, or in place of the version `replaced` if that is not 0.
pub(super) fn write(
    post: &mut Post,
    body: Option<&PostBody>,
    replaced: u32,
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    let Some(body) = body else { return Ok(()) };
    write_content(&mut post.record, &body.content, replaced, context)?;
    post.text = body.text.clone();
    Ok(())
}

/// Sets the given fields. Returns whether the attributes have changed, which are a row of their
/// own.
pub(super) fn describe(post: &mut Post, fields: &PostFields, context: &mut Context<'_>) -> Result<bool, CommandFault> {
    check_texts([
        ("title", fields.title.as_deref(), MAX_TITLE_BYTES),
        ("summary", fields.summary.as_deref(), MAX_DESCRIPTION_BYTES),
        ("description", fields.description.as_deref(), MAX_DESCRIPTION_BYTES),
        ("type", fields.kind.as_deref(), MAX_WORD_BYTES),
    ])?;
    let set = |field: &mut SharedText, said: &Option<SharedText>| {
        if let Some(said) = said {
            field.clone_from(said);
        }
    };
    set(&mut post.title, &fields.title);
    set(&mut post.summary, &fields.summary);
    set(&mut post.description, &fields.description);
    set(&mut post.kind, &fields.kind);
    post.pinned = fields.pinned.unwrap_or(post.pinned);
    if let Some(tags) = &fields.tags {
        check_tags(tags)?;
        post.tags.clone_from(tags);
    }
    set_attributes(&post.record, fields.attributes.as_ref(), fields.system_attributes.as_ref(), context)
}

fn check_tags(tags: &[SharedText]) -> Result<()> {
    let refuse = |message: String, limit: usize| Err(Error::new(Code::TooLarge, message).with_detail("limit", limit));
    if tags.len() > MAX_TAGS {
        return refuse(format!("`tags` has {} entries; at most {MAX_TAGS} are allowed.", tags.len()), MAX_TAGS);
    }
    if let Some(long) = tags.iter().find(|tag| tag.len() > MAX_TAG_BYTES) {
        let (beginning, bytes) = (long.chars().take(40).collect::<String>(), long.len());
        let message =
            format!("`tags` has the entry `{beginning}…` of {bytes} bytes; at most {MAX_TAG_BYTES} are allowed.");
        return refuse(message, MAX_TAG_BYTES);
    }
    Ok(())
}
