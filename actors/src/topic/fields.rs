//! What callers say of a topic item, and how it gets into it.

use super::rows::{MAX_ASSIGNEES, TopicItem, Word};
use crate::amend::check_work_folder;
use crate::command::{Context, Fault};
use crate::error::{Code, Error, Result};
use crate::object::{IssueDate, MAX_DESCRIPTION_BYTES, MAX_WORD_BYTES, Text, check_name, check_texts};
use crate::part::set_attributes;

/// What a caller says of an item or subitem (docs/api/topics.md, "Items"); what is `None` stays as
/// it is, or is empty in a new one.
#[derive(Debug, Clone, Default)]
pub struct ItemFields {
    /// What it is called; names need not differ, and may have what file names may not.
    pub name: Option<Text>,
    /// See [`TopicItem`].
    pub content_type: Option<Text>,
    /// See [`TopicItem`].
    pub comment: Option<Text>,
    /// See [`TopicItem`].
    pub occupation: Option<Text>,
    /// See [`TopicItem`].
    pub priority: Option<Word>,
    /// See [`TopicItem`].
    pub custom_priority: Option<Word>,
    /// See [`TopicItem`].
    pub product: Option<Text>,
    /// See [`TopicItem`].
    pub edition: Option<Text>,
    /// See [`TopicItem`].
    pub assignees: Option<Vec<Text>>,
    /// Epoch seconds; `Some(None)`: there is none any more.
    pub due: Option<Option<u64>>,
    /// Name of its workflow status.
    pub status: Option<Text>,
    /// The day of its issue; that of what it is made in where a new one has none.
    pub issue_date: Option<IssueDate>,
    /// Path of its work folder; likewise.
    pub work_folder: Option<Text>,
    /// XML.
    pub attributes: Option<Text>,
    /// XML with the root `props`.
    pub system_attributes: Option<Text>,
}

/// The last second of the year 9999: what calendars can write down.
const LAST_DUE: u64 = 253_402_300_799;

/// Sets the given fields. Returns whether the attributes changed, which are a row of their own.
pub(super) fn describe(item: &mut TopicItem, fields: &ItemFields, context: &mut Context<'_>) -> Result<bool, Fault> {
    let word = |word: &'_ Option<Word>| match word {
        Some(Word::Text(text)) => Some(text.clone()),
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
        // Items lie in no folder, so a `/` in their names parts nothing.
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

fn check_assignees(assignees: &[Text]) -> Result<()> {
    if assignees.len() > MAX_ASSIGNEES {
        let message = format!("`assignees` has {} entries; at most {MAX_ASSIGNEES} are allowed.", assignees.len());
        return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_ASSIGNEES));
    }
    assignees.iter().try_for_each(|name| check_texts([("assignees", Some(&**name), MAX_WORD_BYTES)]))
}
