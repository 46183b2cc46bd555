//! The state of a shelf in memory.

use std::sync::Arc;

use stet_domain::command::Context;
use stet_domain::error::{Code, Error};
use stet_domain::family::State;
use stet_domain::id::Loid;
use stet_domain::object::{Object, SharedText};
use stet_domain::sequence::{MovableItem, Sequence, SequenceItem};

use super::rows::{ShelfHead, Slot, SlotContent};

/// The state of a shelf: all its slots in order.
#[derive(Debug, Clone)]
pub struct ShelfState {
    object: Object,
    head: Arc<ShelfHead>,
    slots: Sequence<Slot>,
}

impl State for ShelfState {
    fn object(&self) -> &Object {
        &self.object
    }

    fn object_mut(&mut self) -> &mut Object {
        &mut self.object
    }

    fn bytes(&self) -> usize {
        self.object.bytes() + self.slots.len() * size_of::<Slot>()
    }
}

impl ShelfState {
    pub fn new(object: Object, head: ShelfHead, slots: Vec<Slot>) -> ShelfState {
        ShelfState { object, head: Arc::new(head), slots: slots.into_iter().collect() }
    }

    pub fn head(&self) -> &ShelfHead {
        &self.head
    }

    pub fn slots(&self) -> &Sequence<Slot> {
        &self.slots
    }

    pub fn slots_of(&self, object: Loid) -> Vec<Slot> {
        self.slots.iter().filter(|slot| slot.stands.object() == Some(object)).cloned().collect()
    }

    pub fn slot(&self, id: u64) -> Result<Slot, Error> {
        let found = self.slots.iter().find(|slot| slot.id == id && !slot.hidden);
        found.cloned().ok_or_else(|| Error::new(Code::ObjectNotFound, format!("The shelf has no slot `{id}`.")))
    }

    pub fn put(
        &mut self,
        id: u64,
        board: &SharedText,
        stands: SlotContent,
        position: usize,
        context: &mut Context<'_>,
    ) {
        let order = self.slots.room_at(self.slots.index_at(position), |old, new| context.put(Some(old), new));
        let shelf = self.object.record.loid;
        let slot = Slot { shelf, id, board: board.clone(), stands, order: order.into(), hidden: false };
        context.put(None, &slot);
        self.slots.put(slot);
    }

    pub fn carry(&mut self, slot: &Slot, position: usize, context: &mut Context<'_>) {
        self.slots.remove(slot.order());
        let order = self.slots.room_at(self.slots.index_at(position), |old, new| context.put(Some(old), new));
        let moved = slot.at(order);
        context.put(Some(slot), &moved);
        self.slots.put(moved);
    }

    pub fn take(&mut self, slot: &Slot, context: &mut Context<'_>) {
        context.remove(slot);
        self.slots.remove(slot.order());
    }

    pub fn hide(&mut self, slot: &Slot, hidden: bool, context: &mut Context<'_>) {
        let now = Slot { hidden, ..slot.clone() };
        context.put(Some(slot), &now);
        self.slots.put(now);
    }

    pub fn clear(&mut self, context: &mut Context<'_>) {
        for slot in &std::mem::take(&mut self.slots) {
            context.remove(slot);
        }
    }

    pub fn rename_boards(&mut self, boards: Vec<SharedText>, context: &mut Context<'_>) {
        let head = ShelfHead { boards, ..ShelfHead::clone(&self.head) };
        if head != *self.head {
            context.put(Some(&*self.head), &head);
            self.head = Arc::new(head);
        }
    }
}
