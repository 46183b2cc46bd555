//! The rows of a plan: one head, one row per topic, one row per divider.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::command::Context;
use crate::id::Loid;
use crate::lineup::{self, LineupEntry};
use crate::object::{SharedText, hold};
use crate::part::PartKind;
use crate::sequence::{MovableItem, SequenceItem, StoredOrder};
use crate::store::{Row, RowPlace, loid_key};

/// The kind of [`PlanHead`].
pub const HEAD: PartKind = PartKind::of::<PlanHead>(10);

/// The kind of [`PlannedTopic`].
pub const TOPIC: PartKind = PartKind::of::<PlannedTopic>(11);

/// The number of the kind of a plan's dividers.
const DIVIDER_NUMBER: u8 = 12;

/// The kind of [`PlanDivider`].
pub const DIVIDER: PartKind = PlanDivider::PART;

/// A divider of a plan.
pub type PlanDivider = lineup::Divider<DIVIDER_NUMBER>;

/// The lineup of a plan.
pub type PlanLineup = lineup::Lineup<PlannedTopic, DIVIDER_NUMBER>;

/// A line of a [`PlanLineup`].
pub type PlanLineupLine = lineup::Line<PlannedTopic, DIVIDER_NUMBER>;

/// The title and description of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanHead {
    /// The plan.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// The title, which may be empty.
    pub title: SharedText,
    /// The description, which may be empty.
    pub description: SharedText,
}

impl Row for PlanHead {
    fn place(&self) -> RowPlace {
        HEAD.place(self.loid, &[])
    }
}

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
        TOPIC.place(self.plan, &self.topic.to_key())
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
    fn id(&self) -> u128 {
        id_of(self.topic)
    }

    fn object(&self) -> Option<Loid> {
        Some(self.topic)
    }

    fn put(&self, old: Option<&PlannedTopic>, context: &mut Context<'_>) {
        context.put(old, self);
    }

    fn remove(&self, context: &mut Context<'_>) {
        context.remove(self);
    }
}

/// Returns the id of a topic among the lines of a plan. It never equals that of a divider, whose
/// number is part of no loid.
pub(super) fn id_of(topic: Loid) -> u128 {
    topic.to_number()
}
