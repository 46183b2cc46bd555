//! The row of a topic in a plan.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::TopicPlan;
use crate::id::Loid;
use crate::object::hold;
use crate::planning::{LineupEntry, Planning};
use crate::sequence::{MovableItem, SequenceItem, StoredOrder};
use crate::store::{Row, RowPlace, loid_key};

/// A topic's place in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTopic {
    /// The plan.
    #[serde(with = "loid_key")]
    pub plan: Loid,
    /// The topic.
    #[serde(with = "loid_key")]
    pub topic: Loid,
    pub(super) order: StoredOrder,
    /// Whether the topic lies in the recycle bin.
    pub hidden: bool,
}

impl PlannedTopic {
    /// Creates a visible entry.
    pub fn new(plan: Loid, topic: Loid) -> PlannedTopic {
        PlannedTopic { plan, topic, order: 0.into(), hidden: false }
    }
}

impl Row for PlannedTopic {
    fn place(&self) -> RowPlace {
        TopicPlan::ENTRY.place(self.plan, &self.topic.to_key())
    }

    fn index(&self, entries: &mut Vec<(RowPlace, Bytes)>) {
        hold(self.topic, &self.place(), entries);
    }

    fn same_index(&self, other: &PlannedTopic) -> bool {
        (self.plan, self.topic) == (other.plan, other.topic)
    }
}

impl SequenceItem for PlannedTopic {
    fn order(&self) -> u128 {
        self.order.into()
    }

    fn is_visible(&self) -> bool {
        !self.hidden
    }
}

impl MovableItem for PlannedTopic {
    fn at(&self, order: u128) -> PlannedTopic {
        PlannedTopic { order: order.into(), ..*self }
    }
}

impl LineupEntry for PlannedTopic {
    type Index = ();

    fn loid(&self) -> Loid {
        self.topic
    }

    fn object(&self) -> Option<Loid> {
        Some(self.topic)
    }

    fn held(&self) -> Option<(Loid, bool)> {
        Some((self.topic, self.hidden))
    }

    fn bytes(&self) -> usize {
        // The row with its index entries.
        384
    }
}
