//! Shelves: a small family that only tests have. Everything that a family must define is here,
//! except for its entry in a list of families ([`FAMILIES`]).
//!
//! A shelf has boards, each of which holds objects and dividers in one order. An object may be on a
//! shelf any number of times. A discarded object is hidden in its slot; a destroyed one is removed.

mod commands;
mod rows;
mod state;

use stet_actors::families::{Families, FamilyEntry};
use stet_domain::command::{Command, CommandFault, Context};
use stet_domain::document::Document;
use stet_domain::drawer::Drawer;
use stet_domain::family::{Family, MemberFate};
use stet_domain::folder::Folder;
use stet_domain::id::Loid;
use stet_domain::liveblog::Liveblog;
use stet_domain::object::{CreateMode, FamilyKind, Object, Record, SharedText};
use stet_domain::part::{PartKind, PartReader};
use stet_domain::proof::{HeadState, Proof};
use stet_domain::store::StoreError;

pub use self::commands::{CarrySlot, PutOnShelf, TakeFromShelf};
pub use self::rows::{HEAD, SLOT, ShelfHead, Slot, SlotContent};
pub use self::state::ShelfState;

/// Four of the product's families, and shelves.
pub const FAMILIES: Families = Families::of(&[
    FamilyEntry::of::<Document>(),
    FamilyEntry::of::<Folder>(),
    FamilyEntry::of::<Drawer>(),
    FamilyEntry::of::<Liveblog>(),
    FamilyEntry::of::<Shelf>(),
]);

/// The families of [`FAMILIES`] without shelves, for a repository that does not know them.
pub const OTHERS: Families = Families::of(&[
    FamilyEntry::of::<Document>(),
    FamilyEntry::of::<Folder>(),
    FamilyEntry::of::<Drawer>(),
    FamilyEntry::of::<Liveblog>(),
]);

/// The family of shelves.
#[derive(Debug)]
pub struct Shelf;

/// The fields of a new shelf.
#[derive(Debug, Clone)]
pub struct NewShelf {
    /// The names of the boards.
    pub boards: Vec<SharedText>,
}

impl Family for Shelf {
    type State = ShelfState;
    type New = NewShelf;
    // There is no kind for tests, so this is one that no other family in the list has.
    const KIND: FamilyKind = FamilyKind::WebContainer;
    const PARTS: &'static [PartKind] = &[HEAD, SLOT];
    const HAS_CONTENT: bool = false;
    const PART_EVENTS: &'static [&'static str] = &[TakeFromShelf::NAME];

    fn load(object: Object, parts: &PartReader<'_>) -> Result<ShelfState, StoreError> {
        Ok(ShelfState::new(object, parts.head(HEAD)?, parts.all(SLOT)?))
    }

    fn make(new: &NewShelf, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault> {
        context.put(None, &ShelfHead { loid: object.record.loid, boards: new.boards.clone() });
        Ok(object.bytes())
    }

    fn write_over(
        new: &NewShelf,
        shelf: &mut ShelfState,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        if mode == CreateMode::Replace {
            shelf.clear(context);
        }
        shelf.rename_boards(new.boards.clone(), context);
        Ok(())
    }

    fn member(
        shelf: &mut ShelfState,
        member: Loid,
        becomes: MemberFate,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        for slot in shelf.slots_of(member) {
            match becomes {
                MemberFate::Hidden => shelf.hide(&slot, true, context),
                MemberFate::Shown => shelf.hide(&slot, false, context),
                MemberFate::Gone => shelf.take(&slot, context),
            }
        }
        Ok(())
    }

    fn dissolve(shelf: &mut ShelfState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        shelf.clear(context);
        context.remove(shelf.head());
        Ok(())
    }

    fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
        let head = proof.head::<ShelfHead>(record, HEAD)?;
        proof.each::<Slot>(record.loid, SLOT, |proof, place, slot| {
            if let HeadState::There(head) = &head
                && !head.boards.contains(&slot.board)
            {
                proof.fault(format!("{place}: the shelf has no board `{}`", slot.board));
            }
            match slot.stands.object() {
                Some(object) => proof.member(place, object, slot.hidden),
                None => Ok(()),
            }
        })
    }
}
