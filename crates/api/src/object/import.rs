//! Imports of objects (docs/api/objects.md, "Importing").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_auth::Privilege;
use stet_containers::correlates::LinkSide;
use stet_domain::error::{Error, Result};
use stet_domain::id::{ObjectSource, ObjectUuid};
use stet_domain::lifecycle::{CreateOutcome, ImportedCopy, ImportedLink, ImportedObject};
use stet_domain::object::{MAX_WORD_BYTES, SharedText, check_texts};
use stet_endpoint::form::{self, FileRule, FormSubmission};
use stet_endpoint::requests::{DatabaseRef, database_named};
use stet_newsroom::attribute_input::AttributeInput;
use stet_newsroom::creation::{Creation, CreationKind, CreationPlace};
use stet_newsroom::records::Display;
use stet_web::arriving::IncomingCall;
use stet_web::body::JsonObject;
use stet_web::call::Call;
use stet_web::prefer::PreferredReply;

use super::{ChangedRecord, reply_after};

/// Part `options` of an import: an object in the terms of its record.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ImportObject {
    /// Uuid of the object; required.
    uuid: Option<String>,
    /// Name of the object; required.
    name: Option<String>,
    /// Name of its object type; required.
    r#type: Option<String>,
    /// Family of a type that the configuration does not know: `document`, `bundle`, `webcontainer`
    /// or `folder`.
    family: Option<String>,
    /// Path of its folder or bundle; required.
    folder_path: Option<String>,
    /// Database; the main one by default.
    database_id: Option<DatabaseRef>,
    work_folder: Option<String>,
    /// Issue date: `yyyyMMdd`
    issue_date: Option<String>,
    suid: Option<String>,
    /// Name of its workflow status, whether the configuration knows it or not.
    status: Option<String>,
    /// Time of creation in epoch seconds; now by default.
    created: Option<u64>,
    /// Time of the last change in epoch seconds; `created` by default.
    modified: Option<u64>,
    /// Name of the user who created it; the caller by default.
    creator: Option<String>,
    /// Name of the user who changed it last; the creator by default.
    last_modifier: Option<String>,
    /// XML text or JSON.
    attributes: Option<AttributeInput>,
    /// XML text or JSON with the root `props`.
    system_attributes: Option<AttributeInput>,
    /// XML text or JSON with the root `tl`.
    usage_tickets: Option<AttributeInput>,
    /// Origin of a channel copy; only for channel copies.
    channel_copy: Option<JsonObject<ImportChannelCopy>>,
    /// Links of the object; at most 100.
    links: Option<Vec<JsonObject<ImportLink>>>,
}

/// The origin of a channel copy.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportChannelCopy {
    /// Name of the channel, and of the copy.
    channel: String,
    /// Name of the channel that it was inherited from.
    #[serde(default)]
    inherit_from: Option<String>,
    /// Uuid of the bundle, or of its copy, that it was inherited from.
    #[serde(default)]
    inherited_from: Option<String>,
    /// Whether it inherits new contents from there.
    #[serde(default)]
    follows: Option<bool>,
}

/// A link of the object.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportLink {
    /// Name of the link at the object.
    link_name: String,
    /// Name of the link on the other side.
    other_link_name: String,
    /// The object's side of the link.
    side: LinkSide,
    /// Uuid of the other object.
    other: String,
}

/// The reply to an import.
#[derive(Serialize, JsonSchema)]
pub struct ImportReply {
    /// Whether the object was created. An existing object with the uuid, or an existing folder with
    /// the name, is left unchanged.
    created: bool,
    /// The object.
    info: ChangedRecord,
}

/// `POST /v3/object/import`: a multipart form of `options` (JSON) and `content` (file, optional),
/// in any order.
pub async fn import(arriving: IncomingCall) -> Result<PreferredReply<ImportReply>> {
    // An import states who created what, which only few may do.
    let may = |call: &Call| call.access().check_everywhere(Privilege::Configure);
    let (call, mut form): (_, form::MultipartForm<ImportObject>) = match form::read(arriving, may, FILES).await? {
        FormSubmission::New(call, form) => (call, form),
        FormSubmission::Answered(reply) => return Ok(reply.into()),
    };
    let file = form.take("content");
    let options = form.options;
    let content = file.map(|file| file.content_as(options.name.as_deref()));
    let database = database_named(&call, options.database_id.as_ref())?;
    let folder = ObjectSource::parse("folderPath", required("folderPath", options.folder_path.as_deref())?)?;
    let creation = options.creation(&call)?;
    let place = CreationPlace::Folder(Some(folder));
    let done = call.create(Creation { content, database, place, ..creation }).await?;
    let created = done.reply.outcome == CreateOutcome::New;
    let display = Display { path: true, ..Display::with_defaults(false) };
    reply_after(&call, done.reply.loid, done.left.as_ref(), &display, 0, move |info| ImportReply { created, info })
        .await
}

/// The only file of the form.
const FILES: &[FileRule] = &[FileRule { name: "content", many: false, head: 0, keeps_generic_type: true }];

fn required<'o>(field: &str, given: Option<&'o str>) -> Result<&'o str> {
    given.filter(|given| !given.is_empty()).ok_or_else(|| Error::parameter(field, "", "given"))
}

/// Reads a uuid.
///
/// # Errors
/// `InvalidParameter`, which names the field.
pub(super) fn uuid(field: &str, given: &str) -> Result<ObjectUuid> {
    match ObjectSource::parse(field, given) {
        Ok(ObjectSource::Uuid(uuid)) => Ok(uuid),
        _ => Err(Error::parameter(field, given, "a uuid")),
    }
}

/// The last second of the year 9999. Later times can't be written as a date.
const LAST_SECOND: u64 = 253_402_300_799;

/// Checks a time in epoch seconds.
fn time(field: &'static str, given: Option<u64>) -> Result<Option<u64>> {
    match given {
        Some(late) if late > LAST_SECOND => {
            Err(Error::parameter(field, late, "in epoch seconds, before the year 10000"))
        }
        given => Ok(given),
    }
}

/// Checks the name of something that need not exist.
fn word<'g>(field: &'static str, given: &'g str) -> Result<&'g str> {
    check_texts([(field, Some(given), MAX_WORD_BYTES)])?;
    if given.chars().any(char::is_control) {
        return Err(Error::parameter(field, given, "a name without control characters"));
    }
    Ok(given)
}

/// Checks an optional name with [`word`]; an empty one counts as none.
fn named(field: &'static str, given: Option<&str>) -> Result<Option<SharedText>> {
    let given = given.filter(|given| !given.is_empty()).map(|given| word(field, given)).transpose()?;
    Ok(given.map(SharedText::from))
}

impl ImportObject {
    /// Returns the creation that the options describe, without content and place.
    fn creation(self, call: &Call) -> Result<Creation> {
        let name = required("name", self.name.as_deref())?;
        let type_name = word("type", required("type", self.r#type.as_deref())?)?.to_owned();
        let creator = named("creator", self.creator.as_deref())?;
        let creator = creator.map_or_else(|| call.user().cloned(), Ok)?;
        let copy = self.channel_copy.map(|JsonObject(copy)| copy.imported()).transpose()?;
        let links = self.links.into_iter().flatten().map(|JsonObject(link)| link.imported());
        let imported = ImportedObject {
            uuid: uuid("uuid", required("uuid", self.uuid.as_deref())?)?,
            modified: time("modified", self.modified)?,
            last_modifier: named("lastModifier", self.last_modifier.as_deref())?.unwrap_or_else(|| creator.clone()),
            creator,
            copy,
            links: links.collect::<Result<_>>()?,
        };
        if let Some(status) = self.status.as_deref() {
            word("status", status)?;
        }
        let kind = CreationKind::Imported { type_name, family: self.family, imported: Box::new(imported) };
        Ok(Creation {
            status: self.status,
            issue_date: self.issue_date,
            work_folder: self.work_folder,
            suid: self.suid,
            attributes: self.attributes,
            system_attributes: self.system_attributes,
            usage_tickets: self.usage_tickets,
            created: time("created", self.created)?,
            ..Creation::of(kind, name)
        })
    }
}

impl ImportChannelCopy {
    fn imported(self) -> Result<ImportedCopy> {
        Ok(ImportedCopy {
            inherited_from: self.inherited_from.as_deref().map(|given| uuid("inheritedFrom", given)).transpose()?,
            inherit_from: named("inheritFrom", self.inherit_from.as_deref())?,
            channel: self.channel.into(),
            follows: self.follows.unwrap_or_default(),
        })
    }
}

impl ImportLink {
    fn imported(self) -> Result<ImportedLink> {
        Ok(ImportedLink {
            name: self.link_name.into(),
            other_name: self.other_link_name.into(),
            other: uuid("other", &self.other)?,
            from_other: self.side == LinkSide::Target,
        })
    }
}
