//! What an object keeps that comes from another repository (docs/api/objects.md, "Importing").

use std::collections::{BTreeMap, BTreeSet};

use crate::command::{Context, Fault};
use crate::error::{Code, Error};
use crate::folder::{check_room, root};
use crate::id::{DatabaseId, Loid, ObjectUuid};
use crate::joint::Turns;
use crate::object::{
    ChannelCopy, FamilyKind, FolderKey, Link, MAX_CORRELATES, MAX_WORD_BYTES, Record, Text, check_texts, links_of,
};
use crate::store::{StoreError, Table, View};

/// What is kept of an object that comes from another repository, beside what every creation says of
/// it.
#[derive(Debug, Clone)]
pub struct Imported {
    /// Its uuid: an object that has it already is the one that is meant.
    pub uuid: ObjectUuid,
    /// Epoch seconds of its last change; when it was made without it.
    pub modified: Option<u64>,
    /// Who made it.
    pub creator: Text,
    /// Who last changed it.
    pub last_modifier: Text,
    /// How it came to be, if it is a channel copy of the bundle that it goes into.
    pub copy: Option<ImportedCopy>,
    /// Its links; those whose other side is not there yet are made when that comes.
    pub links: Vec<ImportedLink>,
}

/// How a channel copy came to be.
#[derive(Debug, Clone)]
pub struct ImportedCopy {
    /// Name of the channel.
    pub channel: Text,
    /// Name of the channel that it was inherited from.
    pub inherit_from: Option<Text>,
    /// The bundle, or its copy, that it was inherited from; what is not there is left out.
    pub inherited_from: Option<ObjectUuid>,
    /// Whether it follows that.
    pub follows: bool,
}

/// A link as it is seen from the object.
#[derive(Debug, Clone)]
pub struct ImportedLink {
    /// What it is called there.
    pub name: Text,
    /// What it is called on the other side.
    pub other_name: Text,
    /// The other side.
    pub other: ObjectUuid,
    /// Whether it was made from the other side.
    pub from_other: bool,
}

/// The object or part that has a uuid.
fn find(uuid: ObjectUuid, context: &Context<'_>) -> Result<Option<Loid>, StoreError> {
    let found = context.look().get(View::Latest, Table::Uuids, uuid.0.as_bytes())?;
    Ok(found.and_then(|key| Loid::from_key(&key)))
}

/// The live object that has a uuid.
fn find_object(uuid: ObjectUuid, context: &Context<'_>) -> Result<Option<Record>, StoreError> {
    let Some(loid) = find(uuid, context)? else { return Ok(None) };
    context.look_up::<Record>(&Record::live_key(loid))
}

/// The live object that has a uuid.
///
/// # Errors
/// `DuplicatedName` if the uuid is that of something else.
pub(super) fn find_live(uuid: ObjectUuid, context: &Context<'_>) -> Result<Option<Loid>, Fault> {
    let Some(loid) = find(uuid, context)? else { return Ok(None) };
    if find_object(uuid, context)?.is_some() {
        return Ok(Some(loid));
    }
    let message = format!("The uuid `{uuid}` is that of what lies in the recycle bin, or of a part of a container.");
    Err(context.name_taken(message, loid))
}

impl Imported {
    /// The object, if it is there.
    ///
    /// # Errors
    /// `DuplicatedName` if the uuid is that of something else.
    pub(super) fn known(&self, context: &Context<'_>) -> Result<Option<Loid>, Fault> {
        find_live(self.uuid, context)
    }

    /// Refuses a place where it can't go, if it is a channel copy; gives whether it is one.
    pub(super) fn check_place(
        &self,
        place: Loid,
        name: &str,
        family: FamilyKind,
        turns: &mut Turns,
        context: &Context<'_>,
    ) -> Result<bool, Fault> {
        let Some(copy) = &self.copy else { return Ok(false) };
        let bundle = turns.any(place)?.record.clone();
        if bundle.is_discarded() {
            return Err(Error::not_found(place).into());
        }
        let is_well = bundle.family == FamilyKind::Bundle && family == FamilyKind::Document && *copy.channel == *name;
        if !is_well {
            let message = format!(
                "A channel copy for `{}` is a document that lies in its bundle under that name, and no {} `{name}` in `{place}`.",
                copy.channel,
                family.name()
            );
            return Err(Error::new(Code::InvalidForContainer, message).with_source(place).into());
        }
        check_room(place, context)?;
        Ok(true)
    }

    /// What stands in the record of the object, which is new.
    pub(super) fn stamp(&self, record: &mut Record, context: &Context<'_>) -> Result<(), Fault> {
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

    /// Refuses names that links can't have.
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
            let message = format!("There are {} links; {MAX_CORRELATES} are allowed.", self.links.len());
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_CORRELATES));
        }
        Ok(())
    }

    /// Makes the links of the object, which is new, with what is there.
    pub(super) fn link(&self, loid: Loid, turns: &mut Turns, context: &mut Context<'_>) -> Result<(), Fault> {
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
            if links_of(context.look(), View::Latest, other)?.len() + links.len() > MAX_CORRELATES {
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

/// Everything that is imported takes this object's turn, for a uuid to be looked for and taken in
/// one.
pub(super) fn turn() -> Loid {
    root(DatabaseId::main())
}
