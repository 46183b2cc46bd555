//! The data that a part can have like an object: content with versions, attribute texts, and
//! attachments.
//!
//! Versions and attribute texts are rows under the part's own loid, as for an object. The part's
//! own row has its record and the list of its attachments. The bytes of a small attachment are a
//! part of their own.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::PartKind;
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::id::Loid;
use crate::object::{Attributes, Content, ContentLocation, NewContent, Record, SharedText, Version, refer};
use crate::store::{ReadLevel, RowPlace};

/// The maximal number of attachments of a part. They are in its row, which is written again at each
/// change.
pub const MAX_ATTACHMENTS: usize = 100;

/// The kind of the bytes of a small attachment, in any family. The value is the plain bytes, and
/// the key is the attachment's id.
pub const ATTACHMENT_BODY: PartKind = PartKind::bytes(6);

/// A file attached to a part, beside its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartAttachment {
    /// The id, never used twice in the repository.
    pub id: u64,
    /// The name, as the client sent it.
    pub name: SharedText,
    /// The content of the file.
    pub content: Content,
}

/// A file to attach to a part.
#[derive(Debug, Clone)]
pub struct NewAttachment {
    /// The name.
    pub name: SharedText,
    /// The content of the file.
    pub content: NewContent,
}

/// A part with a loid of its own, as the owner of versions, attributes and attachments.
#[derive(Debug, Clone, Copy)]
pub struct PartOwner {
    /// The container of the part.
    pub container: Loid,
    /// The loid of the part.
    pub part: Loid,
    /// The noun for the part in messages: `post`.
    pub name: &'static str,
}

/// Returns the key of the bytes of a small attachment.
pub fn attachment_body(container: Loid, attachment: u64) -> RowPlace {
    ATTACHMENT_BODY.place(container, &attachment.to_be_bytes())
}

/// Notes the content files that the attachments in the row at `row` refer to; for `Row::index`.
pub fn refer_all(attachments: &[PartAttachment], row: &RowPlace, entries: &mut Vec<(RowPlace, Bytes)>) {
    for attachment in attachments {
        refer(&attachment.content, row, &attachment.id.to_be_bytes(), entries);
    }
}

/// Writes content as a new version of a part with that record, or in place of the version
/// `replaced` if that is not 0.
///
/// # Errors
/// Errors of the store.
pub fn write_content(
    record: &mut Record,
    content: &NewContent,
    replaced: u32,
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    let old = match replaced {
        0 => {
            record.version += 1;
            None
        }
        version => context.look_up::<Version>(&Version::key(record.loid.at_version(version)))?,
    };
    record.content = Some(content.content.clone());
    let at = context.now_s();
    context.put_version(old.as_ref(), record.loid.at_version(record.version), content, at);
    Ok(())
}

/// Sets the given attribute texts of a part with that record. Returns whether any has changed.
///
/// # Errors
/// `InvalidAttributes`; errors of the store.
pub fn set_attributes(
    record: &Record,
    attributes: Option<&SharedText>,
    system_attributes: Option<&SharedText>,
    context: &mut Context<'_>,
) -> Result<bool, CommandFault> {
    if attributes.is_none() && system_attributes.is_none() {
        return Ok(false);
    }
    let part = record.loid;
    let old = context.look_up::<Attributes>(&Attributes::key(part))?;
    let mut new = old.clone().unwrap_or_else(|| Attributes::none(part));
    if attributes.is_some() {
        new.attributes = attributes.cloned();
    }
    if system_attributes.is_some() {
        new.system_attributes = system_attributes.cloned();
    }
    let changed = old.as_ref() != Some(&new);
    if changed {
        let before = old.as_ref().and_then(|old| old.attributes.as_ref());
        context.check_attributes(Some((record, before)), record, new.attributes.as_ref())?;
        context.put(old.as_ref(), &new);
    }
    Ok(changed)
}

/// Adds attachments to those that a part has.
///
/// # Errors
/// `TooLarge` if there would be too many; `Overloaded`.
pub fn attach(
    owner: PartOwner,
    attachments: &mut Vec<PartAttachment>,
    new: &[NewAttachment],
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    let all = attachments.len() + new.len();
    if all > MAX_ATTACHMENTS && !new.is_empty() {
        let message =
            format!("The {} would have {all} `attachments`; at most {MAX_ATTACHMENTS} are allowed.", owner.name);
        return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_ATTACHMENTS).into());
    }
    for new in new {
        let id = context.next_number()?;
        if let Some(small) = &new.content.small {
            context.set(attachment_body(owner.container, id), Some(small.clone()));
        }
        attachments.push(PartAttachment { id, name: new.name.clone(), content: new.content.content.clone() });
    }
    Ok(())
}

/// Removes an attachment.
///
/// # Errors
/// `ObjectNotFound` if the part has no such attachment.
pub fn detach(
    owner: PartOwner,
    attachments: &mut Vec<PartAttachment>,
    id: u64,
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    let Some(at) = attachments.iter().position(|attachment| attachment.id == id) else {
        let message = format!("The {} `{}` has no attachment `{id}`.", owner.name, owner.part);
        return Err(Error::new(Code::ObjectNotFound, message).with_source(id).into());
    };
    attachments.remove(at);
    context.set(attachment_body(owner.container, id), None);
    Ok(())
}

/// Removes the attribute texts and links of parts without content. Such parts have no versions and
/// no attachments, so none are looked for.
///
/// # Errors
/// Errors of the store.
pub fn erase_plain(parts: &[Loid], context: &mut Context<'_>) -> Result<(), CommandFault> {
    for part in parts {
        let attributes = Attributes::key(*part);
        if context.look().get(ReadLevel::Latest, attributes.table, &attributes.key)?.is_some() {
            context.set(attributes, None);
        }
    }
    context.remove_links(parts)?;
    Ok(())
}

/// Removes everything that a part has beside its own row: attribute texts, versions, links, and the
/// bytes of attachments.
///
/// # Errors
/// Errors of the store.
pub fn erase(owner: PartOwner, attachments: &[PartAttachment], context: &mut Context<'_>) -> Result<(), CommandFault> {
    erase_plain(&[owner.part], context)?;
    context.remove_versions(owner.part)?;
    for attachment in attachments.iter().filter(|attachment| attachment.content.stored == ContentLocation::Row) {
        context.set(attachment_body(owner.container, attachment.id), None);
    }
    Ok(())
}
