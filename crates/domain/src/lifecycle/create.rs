//! Creation of objects, together with missing folders of their path.

use std::fmt::Debug;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::NewParts;
use super::imported::{ImportedObject, find_live, import_turn};
use crate::amend::{AmendedTexts, AmendmentAttempt, check_work_folder};
use crate::checkout::{check_lock, latest_is_unseen, lock_of, propagate_content, set_draft_aside};
use crate::command::{CommandFault, Context};
use crate::document::Document;
use crate::error::{Code, Error, Result};
use crate::family::Family;
use crate::folder::{self, Folder, check_place, child, free_name};
use crate::id::{Loid, ObjectUuid};
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{
    Attributes, CreateMode, FamilyKind, FolderKey, IssueDate, MAX_NAME_BYTES, NewContent, Object, Reach, Record,
    SharedText, Version, file_name, name_for,
};
use crate::store::{ReadLevel, loid_key};

/// The rules for statuses by object type. If a creation names no type, the type is that of an
/// existing object, which is only known in the command.
pub trait TypeStatuses: Debug + Send + Sync + 'static {
    /// Refuses a status that objects of that type may not have.
    ///
    /// # Errors
    /// `StatusNotFound`, `InvalidStatus`.
    fn check(&self, type_name: &str, status: &str) -> Result<()>;
}

/// An object to be created.
#[derive(Debug, Clone)]
pub struct NewObject {
    /// The name, as the client gave it.
    pub name: String,
    /// The type.
    pub type_name: SharedText,
    /// The path of the work folder; see `Record`.
    pub work_folder: Option<SharedText>,
    /// The day of issue.
    pub issue_date: Option<IssueDate>,
    /// The name of the workflow status. The type must allow it, unless it is `inferred`.
    pub status: Option<SharedText>,
    /// The status of an object without `status`, if the object is new or changes its type.
    pub initial_status: Option<SharedText>,
    /// The rules for statuses, if the caller did not name a type. An existing object then keeps its
    /// type, and these rules decide whether it may have the status.
    pub inferred: Option<Arc<dyn TypeStatuses>>,
    /// The story family.
    pub suid: Option<SharedText>,
    /// The attributes, XML.
    pub attributes: Option<SharedText>,
    /// The system attributes, XML with the root `props`.
    pub system_attributes: Option<SharedText>,
    /// The usage tickets, XML with the root `tl`.
    pub usage_tickets: Option<SharedText>,
    /// The content.
    pub content: Option<NewContent>,
    /// The defaults for a new object.
    pub begins_with: ObjectDefaults,
    /// The partial change of the attribute texts of an existing object.
    pub amending: Option<AmendmentAttempt>,
    /// The settings as a container, which also determine the family.
    pub parts: NewParts,
    /// The action if the name is taken.
    pub mode: CreateMode,
    /// The reach of the caller's right to change an existing object, by its creator.
    pub reach: Reach,
    /// The lock time: seconds without use until the caller's lock ends. Without it a new object is
    /// not checked out, and an existing one keeps its lock.
    pub checked_out_s: Option<u64>,
    /// The time of creation in epoch seconds, if it is not now.
    pub created: Option<u64>,
    /// The additional data of an object that comes from another repository.
    pub imported: Option<ImportedObject>,
    /// The uuid of the new object, if the caller chose it. Then the call is about the object that
    /// has the uuid, and never writes over another one.
    pub uuid: Option<ObjectUuid>,
}

/// The defaults of a new object, for example from its template. An existing object ignores them.
/// The exception is a new version, which must have some content.
#[derive(Debug, Clone, Default)]
pub struct ObjectDefaults {
    /// The attributes, XML.
    pub attributes: Option<SharedText>,
    /// The system attributes, XML with the root `props`.
    pub system_attributes: Option<SharedText>,
    /// The path of the work folder; see `Record`.
    pub work_folder: Option<SharedText>,
    /// The day of issue.
    pub issue_date: Option<IssueDate>,
    /// The content.
    pub content: Option<NewContent>,
}

impl NewObject {
    /// Returns an empty document.
    pub fn document(name: &str, type_name: &str) -> NewObject {
        NewObject::of::<Document>(name, type_name, ())
    }

    /// Returns an object of the family `F` that has nothing but its settings as a container.
    pub fn of<F: Family>(name: &str, type_name: &str, new: F::New) -> NewObject {
        NewObject {
            name: name.to_owned(),
            type_name: type_name.into(),
            work_folder: None,
            issue_date: None,
            status: None,
            initial_status: None,
            inferred: None,
            suid: None,
            attributes: None,
            system_attributes: None,
            usage_tickets: None,
            content: None,
            begins_with: ObjectDefaults::default(),
            amending: None,
            parts: NewParts::of::<F>(new),
            mode: CreateMode::Exception,
            reach: Reach::All,
            checked_out_s: None,
            created: None,
            imported: None,
            uuid: None,
        }
    }

    /// Returns a folder; an existing one of the name is used.
    pub fn folder(name: &str) -> NewObject {
        NewObject { mode: CreateMode::Existing, ..NewObject::of::<Folder>(name, folder::TYPE_NAME, ()) }
    }
}

/// Creates an object in a folder, together with missing folders of its path.
#[derive(Debug, Clone)]
pub struct CreateInFolder {
    /// An existing folder.
    pub folder: Loid,
    /// The names of the folders from there to the object; missing ones are made.
    pub below: Vec<String>,
    /// The object.
    pub object: NewObject,
}

/// Creates an object that always exists, such as a root folder: the reply is the object, and
/// nothing changes.
#[derive(Debug, Clone, Copy)]
pub struct ConfirmObject {
    /// The object.
    pub object: Loid,
}

impl JointCommand for ConfirmObject {
    type Reply = ();
    const NAME: &'static str = "object.meet";

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn about(&self, (): &()) -> Option<Loid> {
        Some(self.object)
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        context.expects(&turns.any(self.object)?.record);
        Ok(())
    }
}

/// The outcome of [`CreateInFolder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CreateOutcome {
    /// A new object.
    New,
    /// An existing object, which is unchanged.
    Existing,
    /// An existing object, which has been changed.
    Changed,
    /// An existing object whose texts are slow to amend. Nothing has been changed, and the texts
    /// are to be amended before the command (see [`EarlyAmendment`](crate::amend::EarlyAmendment)).
    Postponed,
}

/// The reply of [`CreateInFolder`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CreateResult {
    /// The object.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// The outcome for the object.
    pub outcome: CreateOutcome,
}

impl JointCommand for CreateInFolder {
    type Reply = CreateResult;
    const NAME: &'static str = "object.create";

    fn was_made(created: &CreateResult) -> bool {
        created.outcome != CreateOutcome::Postponed
    }

    fn wants(&self) -> Vec<Loid> {
        let turn = (self.object.imported.is_some() || self.object.uuid.is_some()).then(import_turn);
        std::iter::once(self.folder).chain(turn).collect()
    }

    fn about(&self, created: &CreateResult) -> Option<Loid> {
        Some(created.loid)
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<CreateResult, CommandFault> {
        self.object.check(context)?;
        let imported = self.object.imported.as_ref();
        if let Some(imported) = imported {
            context.keep_stamp();
            context.imports();
            if let Some(known) = imported.known(context)? {
                turns.need([known])?;
                context.expects(&turns.any(known)?.record);
                return Ok(CreateResult { loid: known, outcome: CreateOutcome::Existing });
            }
        }
        let place = self.make_folders(turns, context)?;
        self.put_in(place, CreationRole::Main, turns, context)
    }
}

/// The role of an object in the command that creates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CreationRole {
    /// The object that the command is about: the caller's precondition applies to it, and events
    /// name it.
    Main,
    /// An object that is created along with another one.
    Beside,
}

impl CreateInFolder {
    /// Puts the object into a folder, which may be new itself (`fresh`).
    pub(super) fn put_in(
        &self,
        (folder, fresh): (Loid, bool),
        role: CreationRole,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<CreateResult, CommandFault> {
        let imported = self.object.imported.as_ref();
        let mut name = name_for(self.object.parts.family(), &self.object.name)?;
        let is_copy = match imported {
            Some(imported) => imported.check_place(folder, &name, self.object.parts.family(), turns, context)?,
            None => false,
        };
        if !fresh && !is_copy {
            check_place(folder, self.object.parts.family(), turns, context)?;
        }
        let taken = if fresh { None } else { child(context.look(), ReadLevel::Latest, folder, &name)? };
        self.check_uuid(taken, context)?;
        if let Some(existing) = taken {
            match self.object.mode {
                CreateMode::AutoRename => {
                    // The object stays as it is, but a precondition of the caller applies to it.
                    if role == CreationRole::Main && context.is_conditional() {
                        turns.need([existing])?;
                        context.expects(&turns.any(existing)?.record);
                    }
                    name = free_name(&name, |name| {
                        Ok::<_, CommandFault>(child(context.look(), ReadLevel::Latest, folder, name)?.is_some())
                    })?;
                }
                _ => return self.meet(existing, &name, role, turns, context),
            }
        }
        let loid = self.object.make(folder, &name, context)?;
        if let Some(imported) = imported {
            imported.link(loid, turns, context)?;
        }
        Ok(CreateResult { loid, outcome: CreateOutcome::New })
    }

    /// Returns the folder of the object, and whether it is new. Missing folders are made.
    pub(super) fn make_folders(
        &self,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<(Loid, bool), CommandFault> {
        turns.need([self.folder])?;
        let (mut at, mut fresh) = (self.folder, false);
        for name in &self.below {
            let name = file_name(name)?;
            let there = if fresh { None } else { child(context.look(), ReadLevel::Latest, at, &name)? };
            match there {
                Some(next) => {
                    turns.need([next])?;
                    at = next;
                }
                None => {
                    if !fresh {
                        check_place(at, FamilyKind::Folder, turns, context)?;
                    }
                    at = NewObject::folder(&name).make(at, &name, context)?;
                    fresh = true;
                }
            }
        }
        Ok((at, fresh))
    }

    /// Refuses a uuid that belongs to another object than the one that has the name.
    fn check_uuid(&self, taken: Option<Loid>, context: &Context<'_>) -> Result<(), CommandFault> {
        let Some(uuid) = self.object.uuid else { return Ok(()) };
        match (find_live(uuid, context)?, taken) {
            (Some(known), taken) if taken != Some(known) => {
                Err(context.name_taken(format!("Another object already has the uuid `{uuid}`."), known))
            }
            // Another name would lead to two objects with the uuid.
            (Some(known), _) if self.object.mode == CreateMode::AutoRename => {
                Err(context.name_taken(format!("The object that has the name already has the uuid `{uuid}`."), known))
            }
            (None, Some(taken)) if self.object.mode != CreateMode::AutoRename => {
                let message = format!("The name is taken in the folder by an object whose uuid is not `{uuid}`.");
                Err(context.name_taken(message, taken))
            }
            _ => Ok(()),
        }
    }

    /// Handles a name that is taken by `existing`.
    fn meet(
        &self,
        existing: Loid,
        name: &str,
        role: CreationRole,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<CreateResult, CommandFault> {
        let mode = self.object.mode;
        let taken =
            |context: &Context<'_>| context.name_taken(format!("The name `{name}` is taken in the folder."), existing);
        if mode == CreateMode::Exception {
            return Err(taken(context));
        }
        let object = turns.any(existing)?;
        if !self.object.may_be_written_over(object.record.family) {
            return Err(taken(context));
        }
        let family = object.record.family;
        if role == CreationRole::Main {
            context.expects(&object.record);
        }
        if mode == CreateMode::Existing {
            return Ok(CreateResult { loid: existing, outcome: CreateOutcome::Existing });
        }
        // The check is made here, since only here is it certain which object it is.
        if !self.object.reach.covers(&object.record.creator, &context.who.user) {
            let message = match self.object.reach {
                Reach::Nothing => format!("A key that lacks the privilege `write` may not change `{existing}`."),
                _ => format!("`{}` may not change `{existing}`, which another user created.", context.who.user),
            };
            let error = Error::new(Code::PermissionDenied, message).with_source(existing);
            return Err(error.with_detail("privilege", "write").into());
        }
        check_lock(&object.record, context)?;
        let amended = match &self.object.amending {
            None => None,
            Some(amending) => match amending.of(object)? {
                None => return Ok(CreateResult { loid: existing, outcome: CreateOutcome::Postponed }),
                amended => amended,
            },
        };
        self.object.write_into(object, amended, mode, context)?;
        if let Some(content) = self.object.content_over(mode) {
            propagate_content(existing, content, mode != CreateMode::Replace, turns, context)?;
        }
        if family == self.object.parts.family() {
            self.object.parts.write_over(existing, mode, turns, context)?;
        }
        if role == CreationRole::Main {
            context.is_about(existing);
        }
        Ok(CreateResult { loid: existing, outcome: CreateOutcome::Changed })
    }
}

impl NewObject {
    /// Reports whether it may be written over an object of that family. That is its own family, or,
    /// if the caller did not name a type, another one of the plain families. Their other data stays
    /// as it is.
    fn may_be_written_over(&self, family: FamilyKind) -> bool {
        let own = self.parts.family();
        family == own || self.inferred.is_some() && family.is_plain() && own.is_plain()
    }

    /// Refuses overlong texts of the record, as each listing shows them.
    pub(super) fn check(&self, context: &Context<'_>) -> Result<()> {
        for path in self.work_folder.iter().chain(&self.begins_with.work_folder) {
            check_work_folder(path, context)?;
        }
        if let Some(long) = self.suid.as_deref().filter(|suid| suid.len() > MAX_NAME_BYTES) {
            let wanted = format!("a text of {MAX_NAME_BYTES} bytes at most");
            return Err(Error::parameter("suid", long, &wanted).with_detail("limit", MAX_NAME_BYTES));
        }
        self.imported.as_ref().map_or(Ok(()), ImportedObject::check)
    }

    /// Refuses a status that the type does not allow, for a caller who did not name a type.
    fn check_status(&self, type_name: &str) -> Result<()> {
        match (&self.inferred, &self.status) {
            (Some(statuses), Some(status)) => statuses.check(type_name, status),
            _ => Ok(()),
        }
    }

    /// Returns the content for a new object.
    fn content_of_new(&self) -> Option<&NewContent> {
        self.content.as_ref().or(self.begins_with.content.as_ref())
    }

    /// Returns the content for an existing object. With `Replace` the defaults do not count, since
    /// the replaced content is gone.
    fn content_over(&self, mode: CreateMode) -> Option<&NewContent> {
        if mode == CreateMode::NewVersion { self.content_of_new() } else { self.content.as_ref() }
    }

    fn attributes_of(&self, loid: Loid) -> Attributes {
        let begins = &self.begins_with;
        Attributes {
            loid,
            attributes: self.attributes.as_ref().or(begins.attributes.as_ref()).cloned(),
            system_attributes: self.system_attributes.as_ref().or(begins.system_attributes.as_ref()).cloned(),
            usage_tickets: self.usage_tickets.clone(),
        }
    }

    /// Makes the object under a free name.
    fn make(&self, folder: Loid, name: &str, context: &mut Context<'_>) -> Result<Loid, CommandFault> {
        self.check_status(&self.type_name)?;
        let loid = Loid::new(folder.database, context.next_number()?);
        let (created, content) = (self.created.unwrap_or(context.now_s()), self.content_of_new());
        let begins = &self.begins_with;
        let issue_date = self.issue_date.as_ref().or(begins.issue_date.as_ref());
        let mut record = Record {
            folder: Some(FolderKey(folder)),
            work_folder: self.work_folder.as_ref().or(begins.work_folder.as_ref()).cloned(),
            issue_date: issue_date.map(|date| date.text().clone()),
            created,
            modified: created,
            version: u32::from(content.is_some()),
            suid: self.suid.clone(),
            status: self.status.clone().or_else(|| self.initial_status.clone()),
            content: content.map(|new| new.content.clone()),
            lock: self.checked_out_s.map(|lasts_s| lock_of(None, lasts_s, context)),
            ..Record::new(loid, name, &self.type_name, self.parts.family(), &context.who.user, context.now_ms)
        };
        record.uuid = self.uuid.unwrap_or(record.uuid);
        if let Some(imported) = &self.imported {
            imported.stamp(&mut record, context)?;
        }
        let object = Object { record: Arc::new(record), attributes: Arc::new(self.attributes_of(loid)) };
        context.create(&object)?;
        if let Some(new) = content {
            context.put_version(None, loid.at_version(1), new, created);
        }
        let bytes = self.parts.make(object, context)?;
        context.note_container_bytes(loid, bytes)?;
        context.concerns(folder, loid);
        Ok(loid)
    }

    /// Writes the given fields and the amended texts over an existing object.
    fn write_into(
        &self,
        object: &mut Object,
        amended: Option<AmendedTexts>,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        let (loid, content) = (object.record.loid, self.content_over(mode));
        if let Some(amended) = amended {
            amended.put_into(object, context)?;
        }
        let record = Arc::make_mut(&mut object.record);
        self.check_status(&record.type_name)?;
        if self.inferred.is_none() && record.type_name != self.type_name {
            record.type_name = self.type_name.clone();
            // The old status may belong to a workflow that the new type does not have.
            let stays = |status: &SharedText| context.has_status(loid.database, &self.type_name, status);
            if !record.status.as_ref().is_some_and(stays) {
                record.status.clone_from(&self.initial_status);
            }
        }
        let given = |new: &Option<SharedText>, field: &mut Option<SharedText>| {
            if new.is_some() {
                field.clone_from(new);
            }
        };
        given(&self.work_folder, &mut record.work_folder);
        given(&self.issue_date.as_ref().map(|date| date.text().clone()), &mut record.issue_date);
        given(&self.status, &mut record.status);
        given(&self.suid, &mut record.suid);
        let was_held = record.lock_at(context.now_s()).is_some();
        let stays = latest_is_unseen(record, was_held, context)?;
        let mut draft_is_latest = false;
        if let Some(lasts_s) = self.checked_out_s {
            let held = record.lock_at(context.now_s());
            record.lock = Some(lock_of(held, lasts_s, context));
            if content.is_some() {
                // A caller who has the object checked out continues from the content given here,
                // and not from an earlier draft.
                draft_is_latest = set_draft_aside(record, was_held, context)?;
            }
        }
        if let Some(new) = content {
            let replaced = match mode {
                CreateMode::Replace if record.version > 0 && !draft_is_latest && !stays => {
                    let key = Version::key(loid.at_version(record.version));
                    context.look_up::<Version>(&key)?
                }
                _ => {
                    record.version += 1;
                    None
                }
            };
            record.content = Some(new.content.clone());
            context.put_version(replaced.as_ref(), loid.at_version(record.version), new, context.now_s());
        }
        let mut attributes = Attributes::clone(&object.attributes);
        given(&self.attributes, &mut attributes.attributes);
        given(&self.system_attributes, &mut attributes.system_attributes);
        given(&self.usage_tickets, &mut attributes.usage_tickets);
        if attributes != *object.attributes {
            object.attributes = Arc::new(attributes);
        }
        Ok(())
    }
}
