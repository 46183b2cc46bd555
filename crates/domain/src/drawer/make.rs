//! Creation of a drawer, and overwriting of an existing one.

use super::MAX_CAPACITY;
use super::commands::{DrawerHeadUpdate, check_there, drawer_full_error, fresh_shortcut};
use super::rows::DrawerHead;
use super::state::{DrawerItemAddress, DrawerState};
use crate::command::{CommandFault, Context};
use crate::error::{Error, Result};
use crate::family::State;
use crate::id::Loid;
use crate::object::{CreateMode, MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES, Object, SharedText, check_texts};

/// The fields of a new drawer.
#[derive(Debug, Clone)]
pub struct NewDrawer {
    /// The maximal number of items.
    pub capacity: u32,
    /// Whether it is a user's automatic drawer.
    pub automatic: bool,
    /// The title; may be empty.
    pub title: SharedText,
    /// The description; may be empty.
    pub description: SharedText,
    /// The objects in it, first to last.
    pub items: Vec<Loid>,
    /// The fields that the caller gave explicitly. Only these change in a drawer that exists and is
    /// not replaced.
    pub given: DrawerHeadUpdate,
}

impl NewDrawer {
    /// Returns an empty drawer without a title.
    pub fn empty(capacity: u32) -> NewDrawer {
        NewDrawer {
            capacity,
            automatic: false,
            title: "".into(),
            description: "".into(),
            items: Vec::new(),
            given: DrawerHeadUpdate::default(),
        }
    }

    /// Puts the head and the items of a new drawer. Returns the drawer's size in bytes.
    pub(super) fn make(&self, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault> {
        check_head(Some(&*self.title), Some(&*self.description))?;
        let head = DrawerHead {
            loid: object.record.loid,
            capacity: check_capacity(self.capacity.into())?,
            automatic: self.automatic,
            title: self.title.clone(),
            description: self.description.clone(),
        };
        context.put(None, &head);
        let mut drawer = DrawerState::new(object, head, Vec::new());
        drawer.fill(&self.items, context)?;
        Ok(drawer.bytes())
    }

    /// Writes these fields over an existing drawer.
    pub(super) fn write_over(
        &self,
        drawer: &mut DrawerState,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        if mode == CreateMode::Replace {
            drawer.take_all(context)?;
            let all = DrawerHeadUpdate {
                capacity: Some(self.capacity),
                title: Some(self.title.to_string()),
                description: Some(self.description.to_string()),
            };
            all.change(drawer, context)?;
        } else {
            self.given.change(drawer, context)?;
        }
        drawer.fill(&self.items, context)
    }
}

/// Checks those texts of a drawer's head that are given.
///
/// # Errors
/// `InvalidParameter` for a text that is too long.
pub(super) fn check_head(title: Option<&str>, description: Option<&str>) -> Result<()> {
    check_texts([("title", title, MAX_TITLE_BYTES), ("description", description, MAX_DESCRIPTION_BYTES)])
}

/// Checks and converts a drawer's capacity.
///
/// # Errors
/// `InvalidParameter` for a capacity out of range.
pub fn check_capacity(capacity: i64) -> Result<u32> {
    u32::try_from(capacity)
        .ok()
        .filter(|capacity| (1..=MAX_CAPACITY).contains(capacity))
        .ok_or_else(|| Error::parameter("capacity", capacity, &format!("between 1 and {MAX_CAPACITY}")))
}

impl DrawerState {
    /// Adds objects at the end, first to last, to a new or an overwritten drawer. Those that the
    /// drawer holds already stay where they are.
    fn fill(&mut self, objects: &[Loid], context: &mut Context<'_>) -> Result<(), CommandFault> {
        context.alters(objects.len())?;
        let mut reads = context.reads()?;
        for object in objects {
            if self.find(DrawerItemAddress::Object(*object)).is_some() {
                continue;
            }
            check_there(*object, &mut reads, context)?;
            if self.is_full() {
                return Err(drawer_full_error(self).into());
            }
            self.insert(*object, fresh_shortcut(context)?, usize::MAX, context);
        }
        Ok(())
    }
}
