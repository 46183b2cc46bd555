//! The commands that change a drawer, by the rules of docs/api/drawers.md. The reply names the
//! affected items, with their positions after the change.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Drawer;
use super::make::{check_capacity, check_head};
use super::rows::{DrawerHead, Item};
use super::state::{DrawerItemAddress, DrawerState};
use crate::command::{Command, CommandFault, Context};
use crate::count::count_with_noun;
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::id::{Loid, ShortcutId};
use crate::joint::{ContainerTurns, JointCommand};
use crate::readable::{EntryPosition, ReadCheck};

/// Items with their positions.
pub type ItemPositions = Vec<(usize, Item)>;

pub(super) fn drawer_full_error(drawer: &DrawerState) -> Error {
    let (loid, capacity) = (drawer.object().record.loid, drawer.capacity());
    Error::new(
        Code::DrawerFull,
        format!("The drawer `{loid}` is full: it holds {}.", count_with_noun(capacity, "item")),
    )
    .with_source(loid)
    .with_detail("capacity", capacity)
}

/// Refuses an object that is not alive, or that the caller may not read: both look the same to the
/// caller.
pub(super) fn check_there(object: Loid, reads: &mut ReadCheck<'_>, context: &Context<'_>) -> Result<(), CommandFault> {
    if context.is_alive(object)? && reads.may_read(object)? { Ok(()) } else { Err(Error::not_found(object).into()) }
}

/// Returns the object to add for an address; `None` for an item that is in the drawer already.
///
/// An item whose object the caller may not read is hidden from them, and can't be added either.
fn find_object_to_add(
    drawer: &DrawerState,
    address: DrawerItemAddress,
    reads: &mut ReadCheck<'_>,
) -> Result<Option<Loid>> {
    match (drawer.find(address), address) {
        (Some((_, item)), _) if reads.may_read(item.object)? => Ok(None),
        (Some(_), DrawerItemAddress::Object(object)) => Err(Error::not_found(object)),
        (None, DrawerItemAddress::Object(object)) => Ok(Some(object)),
        // The item is missing, and a shortcut does not state which object to add.
        (_, DrawerItemAddress::Shortcut(_)) => Err(drawer.not_held(address)),
    }
}

/// Returns the item at an address, if the caller may read its object.
fn get_readable_item(
    drawer: &DrawerState,
    address: DrawerItemAddress,
    reads: &mut ReadCheck<'_>,
) -> Result<(usize, Item)> {
    let (position, item) = drawer.get(address)?;
    if reads.may_read(item.object)? { Ok((position, item)) } else { Err(drawer.not_held(address)) }
}

/// Converts positions in the whole drawer to positions among the items that the caller sees.
fn count_among_seen(
    drawer: &DrawerState,
    items: &mut ItemPositions,
    reads: &mut ReadCheck<'_>,
    context: &Context<'_>,
) -> Result<()> {
    let Some(last) = items.iter().map(|(position, _)| *position).max().filter(|_| !context.reads_all()) else {
        return Ok(());
    };
    let mut seen = Vec::with_capacity(last + 1);
    let mut before = 0;
    for item in drawer.visible().take(last + 1) {
        seen.push(before);
        before += usize::from(reads.may_read(item.object)?);
    }
    for (position, _) in items {
        *position = seen.get(*position).copied().unwrap_or(before);
    }
    Ok(())
}

pub(super) fn fresh_shortcut(context: &Context<'_>) -> Result<ShortcutId> {
    context.next_number().map(ShortcutId)
}

/// Returns the items at the addresses, each one once.
fn find_positions(drawer: &DrawerState, addresses: &[DrawerItemAddress]) -> ItemPositions {
    let mut seen = HashSet::new();
    let found = addresses.iter().filter_map(|address| drawer.find(*address));
    found.filter(|(_, item)| seen.insert(item.shortcut)).map(|(at, item)| (at, *item)).collect()
}

/// Returns those of the items that are visible, with their positions.
pub(super) fn find_shortcuts(drawer: &DrawerState, shortcuts: &[ShortcutId]) -> ItemPositions {
    let addresses: Vec<_> = shortcuts.iter().copied().map(DrawerItemAddress::Shortcut).collect();
    find_positions(drawer, &addresses)
}

/// Adds objects at the end, all or none. An object that is in the drawer already stays where it is.
#[derive(Debug, Clone)]
pub struct AddDrawerItems {
    /// The objects; a shortcut can only name an item that is in the drawer already.
    pub items: Vec<DrawerItemAddress>,
}

impl Command for AddDrawerItems {
    type Family = Drawer;
    type Reply = ItemPositions;
    const NAME: &'static str = "drawer.item.add";

    fn apply(&self, drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<ItemPositions, CommandFault> {
        context.alters(self.items.len())?;
        let mut reads = context.reads()?;
        for address in &self.items {
            let Some(object) = find_object_to_add(drawer, *address, &mut reads)? else { continue };
            check_there(object, &mut reads, context)?;
            if drawer.is_full() {
                return Err(drawer_full_error(drawer).into());
            }
            let item = drawer.insert(object, fresh_shortcut(context)?, usize::MAX, context);
            item.concern(context);
        }
        Ok(find_positions(drawer, &self.items))
    }
}

/// Adds an object at a position, or moves it there if the drawer holds it already
/// (docs/api/drawers.md, "Adding at a position"). Its events have the kind `drawer.item.position`;
/// [`ShiftDrawerItem`] only moves.
#[derive(Debug, Clone, Copy)]
pub struct PlaceDrawerItem {
    /// The object, or the shortcut of an existing item.
    pub item: DrawerItemAddress,
    /// The position among the items that the caller sees, from 0; −1 is the end.
    pub position: i64,
}

impl Command for PlaceDrawerItem {
    type Family = Drawer;
    type Reply = ItemPositions;
    const NAME: &'static str = "drawer.item.position";

    fn apply(&self, drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<ItemPositions, CommandFault> {
        if self.position < -1 {
            return Err(Error::parameter("position", self.position, "0 or more, or -1 for the tail").into());
        }
        let mut reads = context.reads()?;
        // After the last item that the caller sees is after all items, and so is -1.
        let wanted = match usize::try_from(self.position) {
            Ok(position) => drawer.place(position, &mut reads)?.or_end(),
            Err(_) => usize::MAX,
        };
        let Some(object) = find_object_to_add(drawer, self.item, &mut reads)? else {
            return shift(drawer, self.item, wanted, context);
        };
        check_there(object, &mut reads, context)?;
        if wanted >= drawer.count() && drawer.is_full() {
            return Err(drawer_full_error(drawer).into());
        }
        let item = drawer.insert(object, fresh_shortcut(context)?, wanted, context);
        item.concern(context);
        Ok(find_positions(drawer, &[self.item]))
    }
}

fn shift(
    drawer: &mut DrawerState,
    address: DrawerItemAddress,
    wanted: usize,
    context: &mut Context<'_>,
) -> Result<ItemPositions, CommandFault> {
    let (position, item) = drawer.get(address)?;
    if wanted.min(drawer.count() - 1) != position {
        drawer.shift(item, wanted, context);
        item.concern(context);
    }
    Ok(find_positions(drawer, &[address]))
}

/// Moves an existing item to another position. A position beyond the last item is an error. Its
/// events have the kind `drawer.shortcut.position`; [`PlaceDrawerItem`] also adds.
#[derive(Debug, Clone, Copy)]
pub struct ShiftDrawerItem {
    /// The item.
    pub item: DrawerItemAddress,
    /// The position among the items that the caller sees, from 0; −1 is the end.
    pub position: i64,
}

impl Command for ShiftDrawerItem {
    type Family = Drawer;
    type Reply = ItemPositions;
    const NAME: &'static str = "drawer.shortcut.position";

    fn apply(&self, drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<ItemPositions, CommandFault> {
        let mut reads = context.reads()?;
        get_readable_item(drawer, self.item, &mut reads)?;
        let wanted = match self.position {
            -1 => usize::MAX,
            position => match drawer.place(usize::try_from(position).unwrap_or(usize::MAX), &mut reads)? {
                EntryPosition::At(position) => position,
                EntryPosition::AfterLast(readable) => {
                    // The item itself is among those that the caller sees.
                    let wanted = format!("between 0 and {}, or -1 for the tail", readable.saturating_sub(1));
                    return Err(Error::parameter("position", position, &wanted).into());
                }
            },
        };
        shift(drawer, self.item, wanted, context)
    }
}

/// Removes items. With `strict` all or none, else those that the drawer holds.
#[derive(Debug, Clone)]
pub struct RemoveDrawerItems {
    /// The items.
    pub items: Vec<DrawerItemAddress>,
    /// Whether a missing item makes the whole command fail.
    pub strict: bool,
}

/// The result of [`RemoveDrawerItems`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawerRemovalResult {
    /// The removed items, with their positions for the caller before the command.
    pub items: ItemPositions,
    /// The missing items: the index in [`RemoveDrawerItems::items`], and the error.
    pub errors: Vec<(usize, Error)>,
}

impl Command for RemoveDrawerItems {
    type Family = Drawer;
    type Reply = DrawerRemovalResult;
    const NAME: &'static str = "drawer.item.delete";

    fn apply(&self, drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<DrawerRemovalResult, CommandFault> {
        context.alters(self.items.len())?;
        let mut reads = context.reads()?;
        let mut removed = DrawerRemovalResult { items: Vec::new(), errors: Vec::new() };
        let mut named = HashSet::new();
        for (index, address) in self.items.iter().enumerate() {
            let found = get_readable_item(drawer, *address, &mut reads).and_then(|(position, item)| {
                // The second mention of an item finds nothing.
                if named.insert(item.shortcut) { Ok((position, item)) } else { Err(drawer.not_held(*address)) }
            });
            match found {
                Ok(item) => removed.items.push(item),
                Err(error) if self.strict || error.code != Code::ObjectNotFound => return Err(error.into()),
                Err(error) => removed.errors.push((index, error)),
            }
        }
        count_among_seen(drawer, &mut removed.items, &mut reads, context)?;
        for (_, item) in &removed.items {
            drawer.take(item, context);
            item.concern(context);
        }
        Ok(removed)
    }
}

/// Removes all items, including hidden ones.
#[derive(Debug, Clone, Copy)]
pub struct ClearDrawer;

impl Command for ClearDrawer {
    type Family = Drawer;
    type Reply = ();
    const NAME: &'static str = "drawer.item.clear";

    fn apply(&self, drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        drawer.take_all(context)
    }
}

/// Changes the given fields of a drawer's head.
#[derive(Debug, Clone, Default)]
pub struct DrawerHeadUpdate {
    /// The new capacity, 1 to [`super::MAX_CAPACITY`], and not below the number of visible items.
    pub capacity: Option<u32>,
    /// The new title.
    pub title: Option<String>,
    /// The new description.
    pub description: Option<String>,
}

impl DrawerHeadUpdate {
    pub(super) fn change(&self, drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<()> {
        let mut head: DrawerHead = drawer.head().clone();
        if let Some(capacity) = self.capacity {
            if (capacity as usize) < drawer.count() {
                let wanted = match context.reads_all() {
                    true => format!("at least the present count, {}", drawer.count()),
                    // The count would reveal the number of items that the caller can't see.
                    false => "at least the present count".to_owned(),
                };
                return Err(Error::parameter("capacity", capacity, &wanted));
            }
            head.capacity = check_capacity(capacity.into())?;
        }
        check_head(self.title.as_deref(), self.description.as_deref())?;
        if let Some(title) = &self.title {
            head.title = title.as_str().into();
        }
        if let Some(description) = &self.description {
            head.description = description.as_str().into();
        }
        drawer.set_head(head, context);
        // A smaller capacity still fits the visible items; hidden ones may be dropped.
        drawer.trim(context);
        Ok(())
    }
}

/// The result of [`MoveDrawerItem`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawerMoveResult {
    /// The item with its position in the target drawer; empty if another caller has removed it
    /// since.
    pub items: ItemPositions,
    /// The revision of the source drawer after the move.
    pub source_revision: u64,
    /// The revision of the target drawer after the move; unchanged if the item was there already.
    pub target_revision: u64,
}

/// Moves an item to the end of another drawer, atomically over both.
#[derive(Debug, Clone, Copy)]
pub struct MoveDrawerItem {
    /// The item.
    pub item: DrawerItemAddress,
    /// The source drawer.
    pub from: Loid,
    /// The target drawer.
    pub to: Loid,
}

impl JointCommand for MoveDrawerItem {
    type Reply = DrawerMoveResult;
    const NAME: &'static str = "drawer.item.move";

    fn about(&self, _: &DrawerMoveResult) -> Option<Loid> {
        Some(self.to)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.from, self.to]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<DrawerMoveResult, CommandFault> {
        let mut reads = context.reads()?;
        let source = turns.get::<Drawer>(self.from)?;
        context.expects(&source.object().record);
        let (position, item) = get_readable_item(source, self.item, &mut reads)?;
        // This command changes no status, so it raises each revision by one.
        let source_revision = source.object().record.revision + 1;
        let moved = DrawerItemAddress::Object(item.object);
        context.is_about(item.object);
        if self.from == self.to {
            let items = shift(turns.get::<Drawer>(self.to)?, moved, usize::MAX, context)?;
            let stayed = items.iter().all(|(now, _)| *now == position);
            let revision = source_revision - u64::from(stayed);
            return Ok(DrawerMoveResult { items, source_revision: revision, target_revision: revision });
        }
        // A submitted change set may be removing the object.
        check_there(item.object, &mut reads, context)?;
        turns.get::<Drawer>(self.from)?.take(&item, context);
        let target = turns.get::<Drawer>(self.to)?;
        let mut target_revision = target.object().record.revision;
        if target.find(moved).is_none() {
            if target.is_full() {
                return Err(drawer_full_error(target).into());
            }
            target.insert(item.object, fresh_shortcut(context)?, usize::MAX, context);
            target_revision += 1;
        }
        Ok(DrawerMoveResult { items: find_positions(target, &[moved]), source_revision, target_revision })
    }
}
