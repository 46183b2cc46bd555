//! The past of drawers: the effects of a change, and the commands that take changes back
//! (docs/api/history.md).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Drawer;
use super::commands::{ItemPositions, check_there, drawer_full_error, find_shortcuts};
use super::rows::{DrawerHead, HEAD, ITEM, Item};
use super::state::DrawerState;
use crate::checkout::check_lock;
use crate::command::{Command, CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::history::FormerRow;
use crate::id::{Loid, ShortcutId};
use crate::sequence::SequenceItem;
use crate::store::{DecodeError, Row, decode_value};

/// A change of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawerItemStep {
    /// The item, after the change if it was there then.
    pub item: Item,
    /// The position before; `None` if it was not there, or hidden.
    pub from: Option<usize>,
    /// The position after, likewise.
    pub to: Option<usize>,
}

/// The effects of a change on a drawer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrawerStep {
    /// The items, in the order of their positions.
    pub items: Vec<DrawerItemStep>,
    /// The head before and after, if it has changed.
    pub head: Option<(DrawerHead, DrawerHead)>,
}

/// A drawer that is taken back change by change.
#[derive(Debug)]
pub struct DrawerPast {
    head: DrawerHead,
    items: BTreeMap<u128, Item>,
    orders: HashMap<ShortcutId, u128>,
    /// The positions of the visible items.
    places: HashMap<ShortcutId, usize>,
}

impl DrawerPast {
    /// Begins with a state, of which only those items count that are `seen`.
    ///
    /// # Errors
    /// Errors of `seen`.
    pub fn of(state: &DrawerState, mut seen: impl FnMut(Loid) -> Result<bool>) -> Result<DrawerPast> {
        let mut past = DrawerPast {
            head: state.head().clone(),
            items: BTreeMap::new(),
            orders: HashMap::new(),
            places: HashMap::new(),
        };
        for item in state.all() {
            if seen(item.object)? {
                past.put(*item);
            }
        }
        past.places = past.count_places();
        Ok(past)
    }

    fn put(&mut self, item: Item) {
        self.orders.insert(item.shortcut, item.order());
        self.items.insert(item.order(), item);
    }

    fn take(&mut self, shortcut: ShortcutId) -> Option<Item> {
        let order = self.orders.remove(&shortcut)?;
        self.items.remove(&order)
    }

    /// Takes back the last change, whose former rows are given. Returns what the change did to the
    /// items that are `seen`.
    ///
    /// # Errors
    /// A row can't be decoded; errors of `seen`.
    pub fn take_back(
        &mut self,
        former: &[FormerRow],
        mut seen: impl FnMut(Loid) -> Result<bool>,
    ) -> Result<DrawerStep, CommandFault> {
        let mut step = DrawerStep::default();
        let (mut before, mut after) = (Vec::new(), HashMap::new());
        for row in former {
            if row.part_key(HEAD.number()).is_some() {
                if let Some(value) = &row.value {
                    let head: DrawerHead = decode_value(DrawerHead::FORMAT, value)?;
                    step.head = Some((head.clone(), std::mem::replace(&mut self.head, head)));
                }
            } else if let Some(shortcut) = shortcut_of(row)? {
                let item = item_of(row)?;
                if let Some(taken) = self.take(shortcut) {
                    after.insert(shortcut, taken);
                }
                if let Some(item) = item
                    && seen(item.object)?
                {
                    before.push(item);
                }
            }
        }
        for item in &before {
            self.put(*item);
        }
        let places_before = self.count_places();
        let places_after = std::mem::replace(&mut self.places, places_before);
        let place = |places: &HashMap<ShortcutId, usize>, item: Option<&Item>| {
            item.filter(|item| !item.hidden).and_then(|item| places.get(&item.shortcut).copied())
        };
        for old in &before {
            let new = after.remove(&old.shortcut);
            let (from, to) = (place(&self.places, Some(old)), place(&places_after, new.as_ref()));
            step.items.push(DrawerItemStep { item: new.unwrap_or(*old), from, to });
        }
        for new in after.into_values() {
            let to = place(&places_after, Some(&new));
            step.items.push(DrawerItemStep { item: new, from: None, to });
        }
        step.items.retain(|item| item.from != item.to);
        step.items.sort_by_key(|item| (item.to, item.from));
        Ok(step)
    }

    /// Returns the positions of the visible items.
    fn count_places(&self) -> HashMap<ShortcutId, usize> {
        let visible = self.items.values().filter(|item| !item.hidden);
        visible.enumerate().map(|(place, item)| (item.shortcut, place)).collect()
    }
}

/// Returns the item that a row is about; `None` if it is the row of no item.
fn shortcut_of(row: &FormerRow) -> Result<Option<ShortcutId>, DecodeError> {
    let Some(key) = row.part_key(ITEM.number()) else { return Ok(None) };
    let number = key.try_into().map_err(|_| DecodeError("the key of an item has eight bytes".to_owned()))?;
    Ok(Some(ShortcutId(u64::from_be_bytes(number))))
}

fn item_of(row: &FormerRow) -> Result<Option<Item>, DecodeError> {
    row.value.as_ref().map(|value| decode_value(Item::FORMAT, value)).transpose()
}

/// Makes the items and the head of a drawer as they were. Objects that are gone or in the recycle
/// bin, or that the caller may not read, do not come back, and items that the caller does not see
/// stay.
#[derive(Debug, Clone)]
pub struct RevertDrawer {
    /// The head.
    pub head: DrawerHead,
    /// The items, in their order.
    pub items: Vec<Item>,
}

impl RevertDrawer {
    /// Returns the command that leads back to a state.
    pub fn to(state: &DrawerState) -> RevertDrawer {
        RevertDrawer { head: state.head().clone(), items: state.all().copied().collect() }
    }
}

impl Command for RevertDrawer {
    type Family = Drawer;
    type Reply = ItemPositions;
    const NAME: &'static str = "drawer.revert";

    fn apply(&self, drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<ItemPositions, CommandFault> {
        context.alters(drawer.all().count().max(self.items.len()))?;
        let mut reads = context.reads()?;
        let wanted: HashSet<Loid> = self.items.iter().map(|item| item.object).collect();
        let mut changed = Vec::new();
        for item in drawer.all().copied().collect::<Vec<_>>() {
            if !wanted.contains(&item.object) && reads.may_read(item.object)? {
                drawer.take(&item, context);
                item.concern(context);
            }
        }
        let mut missing = Vec::new();
        for item in &self.items {
            if drawer.any_item_of(item.object).is_none()
                && context.is_alive(item.object)?
                && reads.may_read(item.object)?
            {
                missing.push(*item);
            }
        }
        let count = u32::try_from(drawer.count() + missing.len()).unwrap_or(u32::MAX);
        let head = DrawerHead { capacity: self.head.capacity.max(count), ..self.head.clone() };
        if head != *drawer.head() {
            check_lock(&drawer.object().record, context)?;
            drawer.set_head(head, context);
        }
        for item in missing {
            // Ids are not used twice, so this one still means that item.
            changed.push(drawer.append(item.object, item.shortcut, context).shortcut);
        }
        let order: Vec<ShortcutId> =
            self.items.iter().filter_map(|item| drawer.any_item_of(item.object)).map(|item| item.shortcut).collect();
        changed.extend(drawer.arrange(&order, context));
        drawer.trim(context);
        let mut named = HashSet::new();
        changed.retain(|shortcut| named.insert(*shortcut));
        for shortcut in &changed {
            if let Some(item) = drawer.any_item(*shortcut).copied() {
                item.concern(context);
            }
        }
        Ok(find_shortcuts(drawer, &changed))
    }
}

/// An item that a change has touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawerUndoStep {
    /// The item as it is now; `None` if it is not there.
    pub now: Option<Item>,
    /// The item before the change, likewise.
    pub before: Option<Item>,
}

/// Takes back one change of a drawer, whatever has been done to other items since.
#[derive(Debug, Clone)]
pub struct UndoDrawerChange {
    /// The revision that the change led to.
    pub revision: u64,
    /// The touched items.
    pub items: Vec<DrawerUndoStep>,
    /// The head as it is now, and before the change, if that has changed it.
    pub head: Option<(DrawerHead, DrawerHead)>,
}

impl UndoDrawerChange {
    /// Returns the command that takes back the change to a revision, with its former rows. `state`
    /// is that of today, and no later change has touched the same rows. `None` if the change was
    /// not about the items and the head alone.
    ///
    /// # Errors
    /// A row can't be decoded.
    pub fn of(
        state: &DrawerState,
        revision: u64,
        former: &[FormerRow],
    ) -> Result<Option<UndoDrawerChange>, DecodeError> {
        let (mut items, mut head) = (Vec::new(), None);
        for row in former {
            if row.part_key(HEAD.number()).is_some() {
                let Some(value) = &row.value else { return Ok(None) };
                head = Some((state.head().clone(), decode_value(DrawerHead::FORMAT, value)?));
            } else if let Some(shortcut) = shortcut_of(row)? {
                items.push(DrawerUndoStep { now: state.any_item(shortcut).copied(), before: item_of(row)? });
            } else {
                return Ok(None);
            }
        }
        Ok(Some(UndoDrawerChange { revision, items, head }))
    }
}

/// Returns the error for a change of a drawer that others have built on.
pub fn changed_since(drawer: Loid, revision: u64) -> Error {
    let message =
        format!("Change {revision} of `{drawer}` can't be undone: what it changed has been changed again since.");
    Error::new(Code::PreconditionFailed, message).with_source(drawer)
}

impl Command for UndoDrawerChange {
    type Family = Drawer;
    type Reply = ItemPositions;
    const NAME: &'static str = "drawer.undo";

    fn apply(&self, drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<ItemPositions, CommandFault> {
        context.alters(self.items.len())?;
        let loid = drawer.object().record.loid;
        let mut reads = context.reads()?;
        for DrawerUndoStep { now, before } in &self.items {
            let Some(either) = now.or(*before) else { continue };
            if drawer.any_item(either.shortcut) != now.as_ref() {
                return Err(changed_since(loid, self.revision).into());
            }
            if !reads.may_read(either.object)? {
                return Err(Error::not_found(either.object).into());
            }
            if now.is_none() {
                check_there(either.object, &mut reads, context)?;
                // The object has come back in another way.
                if drawer.any_item_of(either.object).is_some() {
                    return Err(changed_since(loid, self.revision).into());
                }
            }
        }
        if let Some((now, before)) = &self.head {
            if drawer.head() != now {
                return Err(changed_since(loid, self.revision).into());
            }
            check_lock(&drawer.object().record, context)?;
            drawer.set_head(before.clone(), context);
        }
        let mut changed = Vec::new();
        let mut places: HashMap<ShortcutId, u128> = HashMap::new();
        for DrawerUndoStep { now, before } in &self.items {
            match (now, before) {
                (Some(now), None) => drawer.take(now, context),
                (None, Some(before)) => _ = drawer.append(before.object, before.shortcut, context),
                _ => {}
            }
            if let Some(before) = before {
                places.insert(before.shortcut, before.order());
                changed.push(before.shortcut);
            }
            if let Some(item) = now.or(*before) {
                item.concern(context);
            }
        }
        // The touched items go where their former numbers are among those of the others. One of
        // the others may have got the same number since, and stays in front.
        let mut order: Vec<_> = drawer
            .all()
            .map(|item| {
                let former = places.get(&item.shortcut);
                (former.copied().unwrap_or_else(|| item.order()), former.is_some(), item.shortcut)
            })
            .collect();
        order.sort_unstable();
        let order: Vec<ShortcutId> = order.into_iter().map(|(_, _, shortcut)| shortcut).collect();
        drawer.arrange(&order, context);
        if drawer.count() > drawer.capacity() {
            return Err(drawer_full_error(drawer).into());
        }
        drawer.trim(context);
        Ok(find_shortcuts(drawer, &changed))
    }
}
