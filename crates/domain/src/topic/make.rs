//! The creation of a topic, and the overwriting of an existing one that a creation names.

use std::sync::Arc;

use super::commands::{check_attachment, new_item};
use super::fields::{ItemFields, describe};
use super::rows::{TopicAttachment, TopicHead};
use super::state::TopicState;
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::id::Loid;
use crate::lineup::check_room;
use crate::object::{CreateMode, MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES, Object, SharedText, check_texts};

/// The greatest number of items, subitems and dividers of a new topic: all are created in one step.
pub const MAX_NEW_LINES: usize = 1000;

/// The values of a new topic.
#[derive(Debug, Clone, Default)]
pub struct NewTopic {
    /// The title; `None` takes that of `begins_with`.
    pub title: Option<SharedText>,
    /// The description; `None` takes that of `begins_with`.
    pub description: Option<SharedText>,
    /// The title and description of the template, or empty. An existing topic keeps its own, unless
    /// it is replaced.
    pub begins_with: (SharedText, SharedText),
    /// The initial lines, first to last.
    pub lines: Vec<NewTopicLine>,
}

/// An initial line of a topic.
#[derive(Debug, Clone)]
pub enum NewTopicLine {
    /// A divider with this title.
    Divider(SharedText),
    /// An item or subitem.
    Item(Box<NewTopicItem>),
}

/// An initial item of a topic.
#[derive(Debug, Clone, Default)]
pub struct NewTopicItem {
    /// The fields of the item.
    pub fields: ItemFields,
    /// The object to attach.
    pub attachment: Option<Loid>,
    /// The lines below the item; none for a subitem.
    pub lines: Vec<NewTopicLine>,
}

impl NewTopicLine {
    /// Returns the number of lines, with those below them.
    pub fn count(lines: &[NewTopicLine]) -> usize {
        lines
            .iter()
            .map(|line| if let NewTopicLine::Item(item) = line { 1 + NewTopicLine::count(&item.lines) } else { 1 })
            .sum()
    }
}

impl NewTopic {
    /// Writes head and lines of a new topic. Returns the bytes of memory that it takes.
    pub(super) fn make(&self, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault> {
        let (title, description) = self.head_of_new();
        let head = TopicHead { loid: object.record.loid, title, description };
        self.check()?;
        context.alters(NewTopicLine::count(&self.lines))?;
        context.put(None, &head);
        // The items get the revision that the topic begins with.
        let mut object = object;
        Arc::make_mut(&mut object.record).revision -= 1;
        // `check` has bounded the lines of a new topic.
        let mut topic = TopicState::new(object, head, Vec::new(), Vec::new());
        fill(&mut topic, None, &self.lines, context)?;
        Ok(topic.bytes())
    }

    /// Overwrites an existing topic.
    pub(super) fn write_over(
        &self,
        topic: &mut TopicState,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        self.check()?;
        let cleared = if mode == CreateMode::Replace { topic.lines() } else { 0 };
        context.alters(cleared + NewTopicLine::count(&self.lines))?;
        let mut head = topic.head().clone();
        if mode == CreateMode::Replace {
            topic.clear(context)?;
            (head.title, head.description) = self.head_of_new();
        } else {
            describe_head(&mut head, self.title.as_ref(), self.description.as_ref());
        }
        topic.set_head(head, context);
        check_room(topic.object().record.loid, topic.lines() + NewTopicLine::count(&self.lines))?;
        fill(topic, None, &self.lines, context)
    }

    /// Returns title and description of a new or replaced topic.
    fn head_of_new(&self) -> (SharedText, SharedText) {
        let (title, description) = &self.begins_with;
        let said = |said: &Option<SharedText>, begins: &SharedText| said.as_ref().unwrap_or(begins).clone();
        (said(&self.title, title), said(&self.description, description))
    }

    fn check(&self) -> Result<()> {
        check_head(self.title.as_deref(), self.description.as_deref())?;
        let lines = NewTopicLine::count(&self.lines);
        if lines > MAX_NEW_LINES {
            let message =
                format!("The new topic would have {lines} items and dividers; at most {MAX_NEW_LINES} are allowed.");
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_NEW_LINES));
        }
        Ok(())
    }
}

/// Checks the given texts of a topic's head.
///
/// # Errors
/// `InvalidParameter` that names the text that is too long.
pub(super) fn check_head(title: Option<&str>, description: Option<&str>) -> Result<()> {
    check_texts([("title", title, MAX_TITLE_BYTES), ("description", description, MAX_DESCRIPTION_BYTES)])
}

/// Sets the given texts of a head.
pub(super) fn describe_head(head: &mut TopicHead, title: Option<&SharedText>, description: Option<&SharedText>) {
    for (field, said) in [(&mut head.title, title), (&mut head.description, description)] {
        if let Some(said) = said {
            field.clone_from(said);
        }
    }
}

/// Appends lines to the lineup of an item, or of the topic itself.
fn fill(
    topic: &mut TopicState,
    under: Option<Loid>,
    lines: &[NewTopicLine],
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    let loid = topic.object().record.loid;
    for line in lines {
        context.check_size()?;
        match line {
            NewTopicLine::Divider(title) => {
                if let Some(lineup) = topic.lineup_under(under) {
                    lineup.check_room_for_divider()?;
                }
                topic.insert_divider(context.next_number()?, under, title.clone(), usize::MAX, context);
            }
            NewTopicLine::Item(new) => {
                let mut item = new_item(topic, under, context)?;
                describe(&mut item, &new.fields, context)?;
                if let Some(object) = new.attachment {
                    check_attachment(loid, object, context)?;
                    item.attachment = Some(TopicAttachment { object, hidden: false });
                }
                let made = item.loid();
                topic.insert_item(item, under, usize::MAX, context);
                fill(topic, Some(made), &new.lines, context)?;
            }
        }
    }
    Ok(())
}
