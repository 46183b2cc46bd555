//! The rules for the location of objects.

use super::children;
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::id::Loid;
use crate::joint::ContainerTurns;
use crate::object::{FamilyKind, Record};
use crate::store::ReadLevel;

/// The maximal number of objects in a bundle. Each change of its text looks at all of them.
pub const MAX_MEMBERS: usize = 500;

/// Refuses a location that can't hold an object of that family. A folder holds any family. In a
/// bundle, only other bundles may be put; its channel copies are made there.
///
/// # Errors
/// `ObjectNotFound`; `InvalidType` for an object that holds no others; `InvalidForContainer`;
/// `TooLarge` for a full bundle.
pub fn check_place(
    place: Loid,
    family: FamilyKind,
    turns: &mut ContainerTurns,
    context: &Context<'_>,
) -> Result<(), CommandFault> {
    let record = turns.any(place)?.record.clone();
    if record.is_discarded() {
        return Err(Error::not_found(place).into());
    }
    match record.family {
        FamilyKind::Folder => Ok(()),
        FamilyKind::Bundle if family == FamilyKind::Bundle => check_room(place, context),
        FamilyKind::Bundle => {
            let message = format!("`{place}` is a bundle, which holds only channel copies and other bundles.");
            Err(Error::new(Code::InvalidForContainer, message).with_source(place).into())
        }
        other => {
            let message = format!("`{place}` is a {}, not a folder.", other.name());
            Err(Error::new(Code::InvalidType, message).with_source(place).into())
        }
    }
}

/// Refuses one more object in a full bundle.
///
/// # Errors
/// `TooLarge`; errors of the store.
pub fn check_room(bundle: Loid, context: &Context<'_>) -> Result<(), CommandFault> {
    let (there, _) = children(context.look(), ReadLevel::Latest, bundle, MAX_MEMBERS)?;
    if there.len() < MAX_MEMBERS {
        return Ok(());
    }
    let message = format!("The bundle `{bundle}` holds {MAX_MEMBERS} objects; more are not allowed.");
    Err(Error::new(Code::TooLarge, message).with_source(bundle).with_detail("limit", MAX_MEMBERS).into())
}

/// Refuses to move or rename a channel copy: its location is its bundle, and its name is its
/// channel's.
///
/// # Errors
/// `InvalidForContainer`.
pub fn check_free(record: &Record) -> Result<(), Error> {
    let Some(copy) = &record.copy else { return Ok(()) };
    let (loid, channel) = (record.loid, &copy.channel);
    let message =
        format!("`{loid}` is its bundle's copy for the channel `{channel}`, so it can't be moved or renamed.");
    Err(Error::new(Code::InvalidForContainer, message).with_source(loid))
}
