//! Making a drawer, and writing over an existing one that a creation names.

use super::MAX_CAPACITY;
use super::commands::{Update, check_there, full};
use super::rows::DrawerHead;
use super::state::{Address, DrawerState};
use crate::command::{Context, Fault};
use crate::error::{Error, Result};
use crate::family::State;
use crate::id::{Loid, ShortcutId};
use crate::object::{CreateMode, MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES, Object, Text, check_texts};

/// What is said of a new drawer.
#[derive(Debug, Clone)]
pub struct NewDrawer {
    /// How many items fit.
    pub capacity: u32,
    /// Whether it is a user's automatic drawer.
    pub automatic: bool,
    /// May be empty.
    pub title: Text,
    /// May be empty.
    pub description: Text,
    /// The objects in it, first to last.
    pub items: Vec<Loid>,
    /// What the caller really said of these: all that changes of a drawer that is there and not
    /// replaced.
    pub said: Update,
}

impl NewDrawer {
    /// An empty one without a title.
    pub fn empty(capacity: u32) -> NewDrawer {
        NewDrawer {
            capacity,
            automatic: false,
            title: "".into(),
            description: "".into(),
            items: Vec::new(),
            said: Update::default(),
        }
    }

    /// Puts head and items of a new drawer.
    pub(super) fn make(&self, object: Object, context: &mut Context<'_>) -> Result<usize, Fault> {
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

    /// Writes it over a drawer that is there.
    pub(super) fn write_over(
        &self,
        drawer: &mut DrawerState,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        if mode == CreateMode::Replace {
            drawer.take_all(context)?;
            let all = Update {
                capacity: Some(self.capacity),
                title: Some(self.title.to_string()),
                description: Some(self.description.to_string()),
            };
            all.change(drawer, context)?;
        } else {
            self.said.change(drawer, context)?;
        }
        drawer.fill(&self.items, context)
    }
}

/// Looks at the texts of a drawer's head that are said.
///
/// # Errors
/// `InvalidParameter` naming the one that is too long.
pub(super) fn check_head(title: Option<&str>, description: Option<&str>) -> Result<()> {
    check_texts([("title", title, MAX_TITLE_BYTES), ("description", description, MAX_DESCRIPTION_BYTES)])
}

/// A capacity that a drawer can have.
///
/// # Errors
/// `InvalidParameter` naming it.
pub fn check_capacity(capacity: i64) -> Result<u32> {
    u32::try_from(capacity)
        .ok()
        .filter(|capacity| (1..=MAX_CAPACITY).contains(capacity))
        .ok_or_else(|| Error::parameter("capacity", capacity, &format!("between 1 and {MAX_CAPACITY}")))
}

impl DrawerState {
    /// Puts objects into a drawer at its making, first to last.
    fn fill(&mut self, objects: &[Loid], context: &mut Context<'_>) -> Result<(), Fault> {
        context.alters(objects.len())?;
        let mut reads = context.reads()?;
        for object in objects {
            if self.find(Address::Object(*object)).is_some() {
                continue;
            }
            check_there(*object, &mut reads, context)?;
            if self.is_full() {
                return Err(full(self).into());
            }
            let shortcut = ShortcutId(context.next_number()?);
            self.insert(*object, shortcut, usize::MAX, context);
        }
        Ok(())
    }
}
