//! The fields of a topic item that callers give, and their validation.

use super::{MAX_ASSIGNEES, TextOrNumber, TopicItem};
use crate::amend::check_work_folder;
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::object::{IssueDate, MAX_DESCRIPTION_BYTES, MAX_WORD_BYTES, SharedText, check_name, check_texts};
use crate::part::set_attributes;

/// The fields of an item or subitem as a caller gives them (docs/api/topics.md, "Items"). A field
/// that is `None` stays as it is, or is empty in a new item.
#[derive(Debug, Clone, Default)]
pub struct ItemFields {
    /// The name. Names need not be unique, and may have characters that file names may not.
    pub name: Option<SharedText>,
    /// The value for [`TopicItem::content_type`].
    pub content_type: Option<SharedText>,
    /// The value for [`TopicItem::comment`].
    pub comment: Option<SharedText>,
    /// The value for [`TopicItem::occupation`].
    pub occupation: Option<SharedText>,
    /// The value for [`TopicItem::priority`].
    pub priority: Option<TextOrNumber>,
    /// The value for [`TopicItem::custom_priority`].
    pub custom_priority: Option<TextOrNumber>,
    /// The value for [`TopicItem::product`].
    pub product: Option<SharedText>,
    /// The value for [`TopicItem::edition`].
    pub edition: Option<SharedText>,
    /// The value for [`TopicItem::assignees`].
    pub assignees: Option<Vec<SharedText>>,
    /// The due time in epoch seconds; `Some(None)` removes it.
    pub due: Option<Option<u64>>,
    /// The name of the workflow status.
    pub status: Option<SharedText>,
    /// The issue date; a new item without one takes that of its parent.
    pub issue_date: Option<IssueDate>,
    /// The path of the work folder; a new item without one takes that of its parent.
    pub work_folder: Option<SharedText>,
    /// The attributes, as XML.
    pub attributes: Option<SharedText>,
    /// The system attributes, as XML with the root `props`.
    pub system_attributes: Option<SharedText>,
}

/// The last second of the year 9999, the latest that calendars can represent.
const LAST_DUE: u64 = 253_402_300_799;

/// Sets the given fields. Returns whether the attributes changed, which are a separate row.
pub(super) fn describe(
    item: &mut TopicItem,
    fields: &ItemFields,
    context: &mut Context<'_>,
) -> Result<bool, CommandFault> {
    let word = |word: &'_ Option<TextOrNumber>| match word {
        Some(TextOrNumber::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let (priority, custom_priority) = (word(&fields.priority), word(&fields.custom_priority));
    check_texts([
        ("contentType", fields.content_type.as_deref(), MAX_WORD_BYTES),
        ("comment", fields.comment.as_deref(), MAX_DESCRIPTION_BYTES),
        ("occupation", fields.occupation.as_deref(), MAX_WORD_BYTES),
        ("priority", priority.as_deref(), MAX_WORD_BYTES),
        ("customPriority", custom_priority.as_deref(), MAX_WORD_BYTES),
        ("product", fields.product.as_deref(), MAX_WORD_BYTES),
        ("edition", fields.edition.as_deref(), MAX_WORD_BYTES),
        ("status", fields.status.as_deref(), MAX_WORD_BYTES),
    ])?;
    if let Some(name) = &fields.name {
        // Items lie in no folder, so a `/` in their names separates nothing.
        check_name(&name.replace('/', "_"))?;
        item.record.name = name.clone();
    }
    if let Some(assignees) = &fields.assignees {
        check_assignees(assignees)?;
        item.assignees.clone_from(assignees);
    }
    if let Some(due) = fields.due {
        if let Some(late) = due.filter(|due| *due > LAST_DUE) {
            return Err(Error::parameter("dueDate", late, &format!("at most {LAST_DUE} seconds")).into());
        }
        item.due = due;
    }
    set(&mut item.content_type, &fields.content_type);
    set(&mut item.comment, &fields.comment);
    set(&mut item.occupation, &fields.occupation);
    set(&mut item.priority, &fields.priority);
    set(&mut item.custom_priority, &fields.custom_priority);
    set(&mut item.product, &fields.product);
    set(&mut item.edition, &fields.edition);
    if fields.status.is_some() {
        item.record.status.clone_from(&fields.status);
    }
    if let Some(date) = &fields.issue_date {
        item.record.issue_date = Some(date.text().clone());
    }
    if let Some(path) = &fields.work_folder {
        check_work_folder(path, context)?;
        item.record.work_folder = Some(path.clone());
    }
    set_attributes(&item.record, fields.attributes.as_ref(), fields.system_attributes.as_ref(), context)
}

fn set<T: Clone>(field: &mut T, said: &Option<T>) {
    if let Some(said) = said {
        field.clone_from(said);
    }
}

fn check_assignees(assignees: &[SharedText]) -> Result<()> {
    if assignees.len() > MAX_ASSIGNEES {
        let message = format!("`assignees` has {} entries; at most {MAX_ASSIGNEES} are allowed.", assignees.len());
        return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_ASSIGNEES));
    }
    assignees.iter().try_for_each(|name| check_texts([("assignees", Some(&**name), MAX_WORD_BYTES)]))
}
