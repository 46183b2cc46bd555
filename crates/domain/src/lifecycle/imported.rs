//! The data of an object that is imported from another repository (docs/api/objects.md,
//! "Importing").

use std::collections::{BTreeMap, BTreeSet};

use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::folder::{check_room, root};
use crate::id::{DatabaseId, Loid, ObjectUuid};
use crate::joint::ContainerTurns;
use crate::object::{
    ChannelCopy, FamilyKind, FolderKey, Link, MAX_CORRELATES, MAX_WORD_BYTES, Record, SharedText, check_texts, links_of,
};
use crate::store::{ReadLevel, StoreError, Table};

/// The data that an imported object keeps in addition to that of every creation.
#[derive(Debug, Clone)]
pub struct ImportedObject {
    /// The uuid. An existing object with it counts as the imported one.
    pub uuid: ObjectUuid,
    /// The time of the last change in epoch seconds; without it that of the creation.
    pub modified: Option<u64>,
    /// The user who made the object.
    pub creator: SharedText,
    /// The user who last changed the object.
    pub last_modifier: SharedText,
    /// The origin of a channel copy of the bundle that it is put into.
    pub copy: Option<ImportedCopy>,
    /// The links. A link whose other side does not exist yet is made when that is imported.
    pub links: Vec<ImportedLink>,
}

/// The origin of an imported channel copy.
#[derive(Debug, Clone)]
pub struct ImportedCopy {
    /// The name of the channel.
    pub channel: SharedText,
    /// The name of the channel that it was inherited from.
    pub inherit_from: Option<SharedText>,
    /// The bundle, or its copy, that it was inherited from; ignored if it does not exist here.
    pub inherited_from: Option<ObjectUuid>,
    /// Whether it follows its source.
    pub follows: bool,
}

/// A link as seen from the imported object.
#[derive(Debug, Clone)]
pub struct ImportedLink {
    /// The name of the link at the object.
    pub name: SharedText,
    /// The name of the link on the other side.
    pub other_name: SharedText,
    /// The other side.
    pub other: ObjectUuid,
    /// Whether it was made from the other side.
    pub from_other: bool,
}

/// Returns the object or part that has a uuid.
fn find_by_uuid(uuid: ObjectUuid, context: &Context<'_>) -> Result<Option<Loid>, StoreError> {
    let found = context.look().get(ReadLevel::Latest, Table::Uuids, uuid.0.as_bytes())?;
    Ok(found.and_then(|key| Loid::from_key(&key)))
}

/// Returns the record of the live object that has a uuid.
fn find_object(uuid: ObjectUuid, context: &Context<'_>) -> Result<Option<Record>, StoreError> {
    let Some(loid) = find_by_uuid(uuid, context)? else { return Ok(None) };
    context.look_up::<Record>(&Record::live_key(loid))
}

/// Returns the live object that has a uuid.
///
/// # Errors
/// `DuplicatedName` if the uuid belongs to something else.
pub(super) fn find_live(uuid: ObjectUuid, context: &Context<'_>) -> Result<Option<Loid>, CommandFault> {
    let Some(loid) = find_by_uuid(uuid, context)? else { return Ok(None) };
    if find_object(uuid, context)?.is_some() {
        return Ok(Some(loid));
    }
    let message = format!("The uuid `{uuid}` belongs to an object in the recycle bin, or to a part of a container.");
    Err(context.name_taken(message, loid))
}

impl ImportedObject {
    /// Returns the object, if it exists already.
    ///
    /// # Errors
    /// `DuplicatedName` if the uuid belongs to something else.
    pub(super) fn known(&self, context: &Context<'_>) -> Result<Option<Loid>, CommandFault> {
        find_live(self.uuid, context)
    }

    /// Refuses an invalid location for a channel copy. Returns whether the object is a channel
    /// copy.
    pub(super) fn check_place(
        &self,
        place: Loid,
        name: &str,
        family: FamilyKind,
        turns: &mut ContainerTurns,
        context: &Context<'_>,
    ) -> Result<bool, CommandFault> {
        let Some(copy) = &self.copy else { return Ok(false) };
        let bundle = turns.any(place)?.record.clone();
        if bundle.is_discarded() {
            return Err(Error::not_found(place).into());
        }
        let is_well = bundle.family == FamilyKind::Bundle && family == FamilyKind::Document && *copy.channel == *name;
        if !is_well {
            let message = format!(
                "A channel copy for `{}` must be a document with that name in its bundle, not a {} `{name}` in \
                 `{place}`.",
                copy.channel,
                family.name()
            );
            return Err(Error::new(Code::InvalidForContainer, message).with_source(place).into());
        }
        check_room(place, context)?;
        Ok(true)
    }

    /// Sets the imported fields in the record of the new object.
    pub(super) fn stamp(&self, record: &mut Record, context: &Context<'_>) -> Result<(), CommandFault> {
        record.uuid = self.uuid;
        record.modified = self.modified.unwrap_or(record.modified);
        record.creator = self.creator.clone();
        record.last_modifier = self.last_modifier.clone();
        let Some(copy) = &self.copy else { return Ok(()) };
        let from = copy.inherited_from.map(|uuid| find_object(uuid, context)).transpose()?.flatten();
        let from = from.filter(|from| Some(from.loid) == record.folder() || from.folder() == record.folder());
        record.copy = Some(ChannelCopy {
            channel: copy.channel.clone(),
            inherit_from: copy.inherit_from.clone(),
            inherited_from: from.as_ref().map(|from| FolderKey(from.loid)),
            version: from.as_ref().map_or(0, |from| from.version),
            follows: copy.follows && from.is_some(),
        });
        Ok(())
    }

    /// Refuses invalid names of links, and too many links.
    pub(super) fn check(&self) -> Result<(), Error> {
        for link in &self.links {
            for name in [&link.name, &link.other_name] {
                check_texts([("links", Some(&**name), MAX_WORD_BYTES)])?;
                if name.trim().is_empty() || name.chars().any(char::is_control) {
                    return Err(Error::parameter("links", &**name, "names without control characters"));
                }
            }
        }
        if self.links.len() > MAX_CORRELATES {
            let message = format!("`links` has {} entries; at most {MAX_CORRELATES} are allowed.", self.links.len());
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_CORRELATES));
        }
        Ok(())
    }

    /// Makes the links of the new object with those other sides that exist.
    pub(super) fn link(
        &self,
        loid: Loid,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        let mut known = BTreeSet::new();
        let mut others: BTreeMap<Loid, Vec<&ImportedLink>> = BTreeMap::new();
        for link in &self.links {
            if !known.insert((link.other, &link.name, &link.other_name)) {
                continue;
            }
            if let Some(other) = find_object(link.other, context)?
                && other.loid != loid
            {
                others.entry(other.loid).or_default().push(link);
            }
        }
        turns.need(others.keys().copied())?;
        for (other, links) in others {
            if turns.any(other)?.record.is_discarded() {
                continue;
            }
            if links_of(context.look(), ReadLevel::Latest, other)?.len() + links.len() > MAX_CORRELATES {
                let message = format!("`{other}` would have more than {MAX_CORRELATES} correlates.");
                let error = Error::new(Code::TooLarge, message).with_source(other).with_detail("limit", MAX_CORRELATES);
                return Err(error.into());
            }
            for link in links {
                let made = Link {
                    source: loid,
                    source_name: link.name.clone(),
                    target: other,
                    target_name: link.other_name.clone(),
                };
                context.put(None, &if link.from_other { made.reversed() } else { made });
            }
            turns.touch(other)?;
            context.concerns(loid, other);
            context.concerns(other, other);
            context.concerns(other, loid);
        }
        Ok(())
    }
}

/// Returns the object whose turn every import takes, so that the look-up of a uuid and its use are
/// one step.
pub(super) fn import_turn() -> Loid {
    root(DatabaseId::main())
}
