//! Moving items into a topic, from that topic or from others, in one step.

use std::collections::{BTreeSet, HashSet};

use super::Topic;
use super::commands::ItemDone;
use super::state::{ItemAddress, Uprooted};
use crate::command::{Context, Fault};
use crate::error::{Code, Error};
use crate::family::State;
use crate::id::Loid;
use crate::joint::{Joint, Turns};
use crate::lineup::check_room;

/// Bytes of items, with all that stands below them, that one move takes: each of their rows is written anew, and others wait for the
/// disk meanwhile.
pub const MAX_MOVED_BYTES: usize = 16 << 20;

/// Moves items and subitems into a topic, all or none. Items take their subitems and dividers along; a subitem becomes an item.
#[derive(Debug, Clone)]
pub struct MoveItems {
    /// Items and the topics that they are in, in the order in which they are to stand.
    pub items: Vec<(Loid, ItemAddress)>,
    /// The topic that they go to.
    pub target: Loid,
    /// Where the first is to stand, counted from 0 among what stays in the target; −1 and nothing said are the end.
    pub position: Option<i64>,
}

impl Joint for MoveItems {
    /// The items, in order.
    type Reply = Vec<ItemDone>;
    const NAME: &'static str = "topic.item.move";

    fn about(&self, _: &Vec<ItemDone>) -> Option<Loid> {
        Some(self.target)
    }

    fn wants(&self) -> Vec<Loid> {
        let topics: BTreeSet<Loid> = self.items.iter().map(|(topic, _)| *topic).chain([self.target]).collect();
        topics.into_iter().collect()
    }

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<Vec<ItemDone>, Fault> {
        turns.need(self.wants())?;
        context.expects(&turns.get::<Topic>(self.target)?.object().record);
        // A subitem that is named beside its item goes on its own: so subitems go first.
        let mut named = HashSet::new();
        let mut sources = Vec::new();
        for (topic, address) in &self.items {
            let item = turns.get::<Topic>(*topic)?.get(*address)?.clone();
            if named.insert(item.loid()) {
                sources.push((*topic, item));
            }
        }
        let mut subitems_first: Vec<usize> = (0..sources.len()).collect();
        subitems_first.sort_by_key(|at| sources[*at].1.under().is_none());
        let mut uprooted: Vec<_> = sources.iter().map(|_| None).collect();
        for at in subitems_first {
            let (topic, item) = &sources[at];
            uprooted[at] = Some(turns.get::<Topic>(*topic)?.uproot(item));
        }
        let bytes: usize = uprooted.iter().flatten().map(Uprooted::bytes).sum();
        if bytes > MAX_MOVED_BYTES {
            let message = format!(
                "What is to be moved takes {bytes} bytes with all that stands below; at most {MAX_MOVED_BYTES} are moved at once."
            );
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_MOVED_BYTES).into());
        }
        let target = turns.get::<Topic>(self.target)?;
        let mut place = target.lineup().place(self.position, &mut context.reads()?)?;
        let mut moved = Vec::new();
        for uprooted in uprooted.into_iter().flatten() {
            check_room(self.target, target.lines() + uprooted.lines())?;
            target.plant(&uprooted, place, context);
            place = place.saturating_add(1);
            moved.push(ItemDone { item: uprooted.loid() });
        }
        Ok(moved)
    }
}
