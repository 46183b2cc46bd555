//! What a post is made of, and how it gets into one: the fields that are said of it, its bytes, the files beside them.

use std::time::{Duration, UNIX_EPOCH};

use super::rows::{Attachment, MAX_ATTACHMENTS, MAX_TAG_BYTES, MAX_TAGS, Post, attachment_body};
use crate::command::{Context, Fault};
use crate::error::{Code, Error, Result};
use crate::object::{Attributes, NewContent, Text, Version};

/// The last millisecond of the year 9999.
const LAST_TIMESTAMP: u64 = 253_402_300_799_999;

/// The name that a timestamp (epoch milliseconds) gives a post: `yyyyMMdd-HHmmss-SSS` in UTC (decisions 5).
///
/// # Errors
/// `InvalidParameter` for one beyond the year 9999.
pub fn post_name(timestamp: u64) -> Result<String> {
    if timestamp > LAST_TIMESTAMP {
        return Err(Error::parameter("timestamp", timestamp, &format!("at most {LAST_TIMESTAMP} milliseconds")));
    }
    // `2026-11-21T20:15:00.123Z`
    let text = humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(timestamp)).to_string();
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    Ok(format!("{}-{}-{}", &digits[..8], &digits[8..14], &digits[14..]))
}

/// What a caller says of a post (interface 2.3); what is `None` stays as it is, or is empty in a new post.
#[derive(Debug, Clone, Default)]
pub struct PostFields {
    /// See [`Post`].
    pub title: Option<Text>,
    /// See [`Post`].
    pub summary: Option<Text>,
    /// See [`Post`].
    pub description: Option<Text>,
    /// The option `type`.
    pub kind: Option<Text>,
    /// Epoch milliseconds; now for a new post.
    pub timestamp: Option<u64>,
    /// See [`Post`].
    pub pinned: Option<bool>,
    /// See [`Post`].
    pub tags: Option<Vec<Text>>,
    /// XML.
    pub attributes: Option<Text>,
    /// XML with the root `props`.
    pub system_attributes: Option<Text>,
}

/// The bytes of a post.
#[derive(Debug, Clone)]
pub struct PostBody {
    /// What they are, and where.
    pub content: NewContent,
    /// See [`Post::text`].
    pub text: Text,
}

/// A file to be put beside a post's content.
#[derive(Debug, Clone)]
pub struct NewAttachment {
    /// Its name.
    pub name: Text,
    /// What it is, and where.
    pub content: NewContent,
}

/// Writes the bytes as a new version, or in place of the version `replaced` if that is not 0.
pub(super) fn write(
    post: &mut Post,
    body: Option<&PostBody>,
    replaced: u32,
    context: &mut Context<'_>,
) -> Result<(), Fault> {
    let Some(body) = body else { return Ok(()) };
    let old = match replaced {
        0 => {
            post.record.version += 1;
            None
        }
        version => context.look_up::<Version>(&Version::key(post.loid().at_version(version)))?,
    };
    post.record.content = Some(body.content.content.clone());
    post.text = body.text.clone();
    let at = context.now_s();
    context.put_version(old.as_ref(), post.loid().at_version(post.record.version), &body.content, at);
    Ok(())
}

/// Sets what is said. Tells whether the attributes changed, which are a row of their own.
pub(super) fn describe(post: &mut Post, fields: &PostFields, context: &mut Context<'_>) -> Result<bool, Fault> {
    let set = |field: &mut Text, said: &Option<Text>| {
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
    if fields.attributes.is_none() && fields.system_attributes.is_none() {
        return Ok(false);
    }
    let loid = post.loid();
    let old = context.look_up::<Attributes>(&Attributes::key(loid))?;
    let mut new = old.clone().unwrap_or_else(|| Attributes::none(loid));
    if fields.attributes.is_some() {
        new.attributes.clone_from(&fields.attributes);
    }
    if fields.system_attributes.is_some() {
        new.system_attributes.clone_from(&fields.system_attributes);
    }
    let changed = old.as_ref() != Some(&new);
    if changed {
        context.put(old.as_ref(), &new);
    }
    Ok(changed)
}

fn check_tags(tags: &[Text]) -> Result<()> {
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

/// Puts files beside those that are there.
pub(super) fn attach(post: &mut Post, attachments: &[NewAttachment], context: &mut Context<'_>) -> Result<(), Fault> {
    let all = post.attachments.len() + attachments.len();
    if all > MAX_ATTACHMENTS && !attachments.is_empty() {
        let message = format!("The post would have {all} `attachments`; at most {MAX_ATTACHMENTS} are allowed.");
        return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_ATTACHMENTS).into());
    }
    for new in attachments {
        let id = context.next_number()?;
        if let Some(small) = &new.content.small {
            context.set(attachment_body(post.liveblog, id), Some(small.clone()));
        }
        post.attachments.push(Attachment { id, name: new.name.clone(), content: new.content.content.clone() });
    }
    Ok(())
}

/// Takes one away.
pub(super) fn detach(post: &mut Post, id: u64, context: &mut Context<'_>) -> Result<(), Fault> {
    let Some(at) = post.attachments.iter().position(|attachment| attachment.id == id) else {
        let message = format!("The post `{}` has no attachment `{id}`.", post.loid());
        return Err(Error::new(Code::ObjectNotFound, message).with_source(id).into());
    };
    post.attachments.remove(at);
    context.set(attachment_body(post.liveblog, id), None);
    Ok(())
}
