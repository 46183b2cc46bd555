//! The initial lines of a new topic.

use super::commands::{check_attachment, new_item};
use super::fields::{ItemFields, describe};
use super::{TopicAttachment, TopicState};
use crate::command::{CommandFault, Context};
use crate::family::State;
use crate::id::Loid;
use crate::object::SharedText;
use crate::planning::LineupEntry;

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

/// Returns the number of lines, with those below them.
pub(super) fn count(lines: &[NewTopicLine]) -> usize {
    lines.iter().map(|line| if let NewTopicLine::Item(item) = line { 1 + count(&item.lines) } else { 1 }).sum()
}

/// Appends lines to the lineup of an item, or of the topic itself.
pub(super) fn append(
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
                topic.lineup_under(under).check_room_for_divider()?;
                let divider = topic.insert_divider(under, title.clone(), usize::MAX, context)?;
                context.concerns(loid, divider);
            }
            NewTopicLine::Item(new) => {
                let mut item = new_item(topic, under, context)?;
                describe(&mut item, &new.fields, context)?;
                if let Some(object) = new.attachment {
                    check_attachment(loid, object, context)?;
                    item.attachment = Some(TopicAttachment { object, hidden: false });
                }
                let made = item.loid();
                topic.insert_item(item, usize::MAX, context);
                append(topic, Some(made), &new.lines, context)?;
            }
        }
    }
    Ok(())
}
