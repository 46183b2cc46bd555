//! Drawers: bounded, ordered lists of shortcuts to objects (interface 4.7 and 8.2, decisions 5).

mod commands;
mod order;
mod rows;
mod state;

pub use self::commands::{Add, Clear, Move, Moved, Placed, Position, Remove, Removed, Shift, Update, check_capacity};
pub(crate) use self::commands::{check_alive, full};
pub use self::rows::{DrawerHead, Item};
pub use self::state::{Address, DrawerState};
use crate::family::{Family, Parts, part};
use crate::object::{FamilyKind, Object};
use crate::store::{Row, StoreError, decode_value};

/// The largest capacity a drawer can have.
pub const MAX_CAPACITY: u32 = 10_000;

/// The family of drawers.
#[derive(Debug)]
pub struct Drawer;

impl Family for Drawer {
    type State = DrawerState;
    const KIND: FamilyKind = FamilyKind::Drawer;

    fn load(object: Object, parts: &Parts<'_>) -> Result<DrawerState, StoreError> {
        let mut head: Option<DrawerHead> = None;
        parts.each(part::DRAWER_HEAD, |value| {
            head = Some(decode_value(DrawerHead::FORMAT, &value)?);
            Ok::<_, StoreError>(())
        })?;
        let mut items: Vec<Item> = Vec::new();
        parts.each(part::DRAWER_ITEM, |value| {
            items.push(decode_value(Item::FORMAT, &value)?);
            Ok::<_, StoreError>(())
        })?;
        let loid = object.record.loid;
        let head = head.ok_or_else(|| StoreError::Corrupt(format!("the drawer {loid} has no head row")))?;
        Ok(DrawerState::new(object, head, items))
    }
}
