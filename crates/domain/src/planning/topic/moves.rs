//! Moves of items into a topic, from that topic or from others, in one step.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::commands::{TopicItemResult, self_attachment_error};
use super::state::UprootedItem;
use super::{ItemAddress, Topic};
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::family::State;
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{FamilyKind, Record};
use crate::planning::{ContainerRevision, LineMoveResult, LineupEntry, check_room};
use crate::readable::{ObjectRights, ReadCheck};
use crate::store::{ReadLevel, Table};

/// The greatest size in bytes of the items of one move, with all lines below them. Each of their
/// rows is rewritten, and other changes wait for the disk during that.
pub const MAX_MOVED_BYTES: usize = 16 << 20;

/// Moves items and subitems into a topic, all or none, from the topics that they are in at that
/// time. Items take their subitems and dividers along; a subitem becomes an item.
#[derive(Debug, Clone)]
pub struct MoveTopicItems {
    /// The items, in their new order.
    pub items: Vec<ItemAddress>,
    /// The topic that receives the items.
    pub target: Loid,
    /// The position of the first item, counted from 0 among the lines that stay in the target; −1
    /// and `None` are the end.
    pub position: Option<i64>,
    /// The topics that the caller may change, of those that contain the items; `None` for all.
    pub changeable: Option<Arc<dyn ObjectRights>>,
}

impl MoveTopicItems {
    /// Returns the topics that contain the items, in the order of the items. A command that holds
    /// the turn of one may rely on it: no other command takes an item out of it.
    ///
    /// # Errors
    /// `ObjectNotFound`, also for an item of a topic that the caller may not read;
    /// `PermissionDenied` for one of a topic that they may not change; store errors.
    fn topics(&self, context: &Context<'_>) -> Result<Vec<Loid>, CommandFault> {
        let view = ReadLevel::Latest;
        #[cfg(feature = "planted-bugs")]
        let view = crate::planted::view_of_a_move(view);
        let look = |table: Table, key: &[u8]| -> Result<Option<Loid>, CommandFault> {
            Ok(context.look().get(view, table, key)?.and_then(|found| Loid::from_key(&found)))
        };
        let (mut reads, mut known) = (context.reads()?, BTreeSet::from([self.target]));
        let mut changeable = ReadCheck::over(self.changeable.as_deref(), context.look())?;
        let mut topics = Vec::with_capacity(self.items.len());
        for address in &self.items {
            let not_found = || Error::not_found(address);
            let item = match address {
                ItemAddress::Loid(loid) => *loid,
                ItemAddress::Uuid(uuid) => look(Table::Uuids, uuid.0.as_bytes())?.ok_or_else(not_found)?,
            };
            let topic = look(Table::PartOf, &item.to_key())?.ok_or_else(not_found)?;
            topics.push(topic);
            if !known.insert(topic) {
                continue;
            }
            let record = context.look_up::<Record>(&Record::live_key(topic))?;
            let is_topic = record.is_some_and(|record| record.family == FamilyKind::Topic);
            if !is_topic || !context.is_alive(topic)? || !reads.may_read(topic)? {
                return Err(not_found().into());
            }
            if !changeable.may_read(topic)? {
                let why = format!("`{address}` can't be moved, because it is in a topic that you may not change.");
                return Err(Error::new(Code::PermissionDenied, why).with_source(address).into());
            }
        }
        Ok(topics)
    }
}

impl JointCommand for MoveTopicItems {
    type Reply = LineMoveResult<TopicItemResult>;
    const NAME: &'static str = "topic.item.move";

    fn about(&self, _: &LineMoveResult<TopicItemResult>) -> Option<Loid> {
        Some(self.target)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.target]
    }

    fn apply(
        &self,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<LineMoveResult<TopicItemResult>, CommandFault> {
        context.expects(&turns.get::<Topic>(self.target)?.object().record);
        // Looked up in each round, so that an item is found even if it moved elsewhere before the
        // turn of its topic was taken.
        let topics = self.topics(context)?;
        turns.need(topics.iter().copied())?;
        // A subitem named beside its item is moved on its own, so subitems are taken first.
        let mut named = HashSet::new();
        let mut sources = Vec::new();
        for (topic, address) in topics.iter().zip(&self.items) {
            let item = turns.get::<Topic>(*topic)?.get(*address)?.clone();
            if named.insert(item.loid()) {
                sources.push((*topic, item));
            }
        }
        let mut lines = 0;
        for (topic, item) in &sources {
            lines += turns.get::<Topic>(*topic)?.lines_of(item.loid());
        }
        context.alters(lines)?;
        let mut subitems_first: Vec<usize> = (0..sources.len()).collect();
        subitems_first.sort_by_key(|at| sources[*at].1.under().is_none());
        let revisions = topics.iter().copied().chain([self.target]).collect::<BTreeSet<_>>().into_iter();
        let revised = |topic| Ok(ContainerRevision::from(topic, turns.get::<Topic>(topic)?.object().record.revision));
        let revisions = revisions.map(revised).collect::<Result<_, CommandFault>>()?;
        let mut uprooted: Vec<_> = sources.iter().map(|_| None).collect();
        for at in subitems_first {
            let (topic, item) = &sources[at];
            uprooted[at] = Some(turns.get::<Topic>(*topic)?.uproot(item));
        }
        for (topic, item) in sources.iter().filter(|(topic, _)| *topic != self.target) {
            context.concerns(*topic, item.loid());
        }
        // Items of the target itself are exempt: their attachments may be older than this rule.
        let mut come = uprooted.iter().flatten().zip(&sources).filter(|(_, (topic, _))| *topic != self.target);
        if come.any(|(uprooted, _)| uprooted.holds(self.target)) {
            return Err(self_attachment_error(self.target).into());
        }
        let bytes: usize = uprooted.iter().flatten().map(UprootedItem::bytes).sum();
        if bytes > MAX_MOVED_BYTES {
            let message = format!(
                "The items to move have {bytes} bytes, including their subitems; at most {MAX_MOVED_BYTES} can be \
                 moved at once."
            );
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_MOVED_BYTES).into());
        }
        let target = turns.get::<Topic>(self.target)?;
        let mut place = target.lineup().place(self.position, &mut context.reads()?)?;
        let mut lines = Vec::new();
        for uprooted in uprooted.into_iter().flatten() {
            check_room(self.target, target.lines() + uprooted.lines())?;
            target.plant(&uprooted, place, context);
            place = place.saturating_add(1);
            lines.push(TopicItemResult { item: uprooted.loid() });
        }
        Ok(LineMoveResult { lines, revisions })
    }
}
