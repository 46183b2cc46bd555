//! Records as JSON, according to the display options.

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use stet_base::json::ReadyJson;
use stet_base::limits::offload;
use stet_domain::error::{Error, Result};
use stet_domain::id::{Loid, ObjectUuid};
use stet_domain::object::{FamilyKind, Record, SharedText, Version, names_in};
use stet_domain::store::ReadLevel;
use stet_xml::Limits;

use super::{AttributeGroup, Display, Groups, XmlGroup};
use crate::Newsroom;

/// `pstate` of a record.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Uuid {
    /// UUID in lower case with hyphens.
    #[schemars(with = "ObjectUuid")]
    pub uuid: String,
}

/// `statusInfo` of a record.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatusInfo {
    /// The workflow status, e.g. `Story/Ready`.
    pub name: String,
    /// Colour of the status, e.g. `rgb(0,160,0)`; null when the workflow no longer knows the
    /// status.
    pub identifier: Option<String>,
}

/// `locker` of a record.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LockerInfo {
    /// Name of the user.
    pub id: String,
    /// The user's full name.
    pub full_name: String,
    /// End of the lock, in epoch seconds.
    pub lock_expires: u64,
}

/// Computed attributes of an object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VirtualAttributes {
    /// Bytes of the content, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Media type of the content, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<SharedText>,
    /// Number of versions.
    pub version_count: u32,
    /// Number of objects in the folder; 10000 stands for 10000 or more. Only for folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_count: Option<u64>,
}

/// Further information about an object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdditionalInfo {
    /// Name of the family.
    pub family: String,
    /// Label of the type; null while the configuration does not know the type.
    pub label: Option<String>,
    /// Name of the type's workflow, if it has one.
    pub workflow: Option<String>,
    /// Loid of the folder; null for a root.
    #[schemars(with = "Option<Loid>")]
    pub folder_id: Option<String>,
    /// SHA-256 of the content in hexadecimal, if there is one.
    pub sha256: Option<String>,
}

/// Origin of a channel copy.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelCopyInfo {
    /// Name of the channel.
    pub channel: SharedText,
    /// Name of the channel that it was inherited from; null if it was created without one.
    pub inherit_from: Option<SharedText>,
    /// Loid of its source: the bundle, or another copy there; null if it was created without one.
    #[schemars(with = "Option<Loid>")]
    pub inherited_from: Option<String>,
    /// Number of the source's version that its content was last taken from.
    pub version: u32,
    /// Whether it still takes over each content that is checked in at the source.
    pub follows: bool,
}

/// An object record. The display options decide which attribute groups it contains, and in which
/// forms.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRecord {
    /// The loid.
    #[schemars(with = "Loid")]
    pub id: String,
    /// Name in its folder.
    pub name: SharedText,
    /// Name of its type.
    pub r#type: SharedText,
    /// Path; with `showPath`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^/"))]
    pub path: Option<String>,
    /// The uuid.
    pub pstate: Uuid,
    /// Number of the database.
    pub database_id: u16,
    /// Path of the work folder.
    pub work_folder: Option<SharedText>,
    /// Issue date as `yyyyMMdd`.
    pub issue_date: Option<SharedText>,
    /// Time of creation, epoch seconds.
    pub created: u64,
    /// Time of the last change, epoch seconds.
    pub modified: u64,
    /// Name of the user who created the object.
    pub creator: SharedText,
    /// Name of the user who last changed the object.
    pub last_modifier: SharedText,
    /// Number of the latest version; 0 without content.
    pub version: u32,
    /// Identifier that the objects of a story family share.
    pub suid: Option<SharedText>,
    /// Origin of a channel copy; only for channel copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_copy: Option<ChannelCopyInfo>,
    /// Time of locking, epoch seconds; null while the object is not locked.
    pub locked: Option<u64>,
    /// User who has locked the object; null while it is not locked.
    pub locker: Option<LockerInfo>,
    /// Workflow status.
    pub status_info: Option<StatusInfo>,
    /// Number that each change of the object raises.
    pub revision: u64,
    /// System attributes as JSON, with the root key `props`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub system_attributes: Option<AttributeGroup>,
    /// Attributes as JSON, with the root element's name as key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub attributes: Option<AttributeGroup>,
    /// Usage tickets as JSON, with the root key `tl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub usage_tickets: Option<AttributeGroup>,
    /// Computed attributes as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_attributes: Option<VirtualAttributes>,
    /// System attributes as XML text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub system_attributes_xml: Option<XmlGroup>,
    /// Attributes as XML text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub attributes_xml: Option<XmlGroup>,
    /// Usage tickets as XML text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub usage_tickets_xml: Option<XmlGroup>,
    /// Computed attributes as XML text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_attributes_xml: Option<String>,
    /// Family, workflow, hash and so on; with `showAdditionalInfo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_info: Option<AdditionalInfo>,
    /// Text that differs for any two states of any two objects; with `showUniquenessString`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uniqueness_string: Option<String>,
    /// Web type, with `showWebType`; always null, because the site configuration gives no object a
    /// web type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_type: Option<Option<String>>,
}

impl ObjectRecord {
    /// Returns the estimated bytes of the record as JSON.
    fn bytes(&self) -> usize {
        let json = [&self.system_attributes, &self.attributes, &self.usage_tickets].into_iter().flatten();
        let xml = [&self.system_attributes_xml, &self.attributes_xml, &self.usage_tickets_xml].into_iter().flatten();
        json.map(AttributeGroup::bytes).sum::<usize>() + xml.map(XmlGroup::bytes).sum::<usize>()
    }

    /// Serialises the record to JSON, on another thread if it is large.
    ///
    /// # Errors
    /// The errors of [`ReadyJson::of`].
    pub fn ready(self) -> impl Future<Output = Result<ReadyJson<ObjectRecord>>> {
        // No `async fn`, which would keep `self` in the future several times; see
        // `offload_if_large`.
        offload::offload_if_large(self.bytes(), move || ReadyJson::of(&self)).map(|made| made?)
    }
}

/// Renders a record without its path.
///
/// # Errors
/// Errors of the store.
pub fn render(newsroom: &Newsroom, record: &Record, groups: Groups, display: &Display) -> Result<ObjectRecord> {
    let computed = if display.virtual_attributes { Some(virtual_attributes(newsroom, record)?) } else { None };
    let computed_xml = match &computed {
        Some(computed) if display.xml => {
            // A struct of numbers and texts can always be converted.
            let value = serde_json::to_value(computed).unwrap_or_default();
            let rooted = Map::from_iter([("virtualAttributes".to_owned(), value)]);
            let written = stet_xml::from_json(&rooted.into(), &Limits::default());
            Some(written.map_err(|error| {
                tracing::error!(
                    object = %record.loid, %error,
                    "cannot write the computed attributes of an object as XML"
                );
                Error::internal()
            })?)
        }
        _ => None,
    };
    let workflows = newsroom.sysconfig.workflows(record.loid.database);
    Ok(ObjectRecord {
        id: record.loid.to_string(),
        name: record.name.clone(),
        r#type: record.type_name.clone(),
        path: None,
        pstate: Uuid { uuid: record.uuid.to_string() },
        database_id: record.loid.database.0,
        work_folder: record.work_folder.clone(),
        issue_date: record.issue_date.clone(),
        created: record.created,
        modified: record.modified,
        creator: record.creator.clone(),
        last_modifier: record.last_modifier.clone(),
        version: record.version,
        suid: record.suid.clone(),
        channel_copy: record.copy.as_ref().map(|copy| ChannelCopyInfo {
            channel: copy.channel.clone(),
            inherit_from: copy.inherit_from.clone(),
            inherited_from: copy.inherited_from.map(|from| from.0.to_string()),
            version: copy.version,
            follows: copy.follows,
        }),
        locked: record.lock.as_ref().map(|lock| lock.at),
        locker: record.lock.as_ref().map(|lock| LockerInfo {
            id: lock.user.to_string(),
            full_name: newsroom.directory.full_name(&lock.user),
            lock_expires: lock.expires,
        }),
        status_info: record.status.as_deref().map(|status| StatusInfo {
            name: status.to_owned(),
            identifier: workflows.status(status).map(|known| known.identifier.to_string()),
        }),
        revision: record.revision,
        system_attributes: groups.system_attributes.json,
        attributes: groups.attributes.json,
        usage_tickets: groups.usage_tickets.json,
        virtual_attributes: computed.filter(|_| display.json),
        system_attributes_xml: groups.system_attributes.xml,
        attributes_xml: groups.attributes.xml,
        usage_tickets_xml: groups.usage_tickets.xml,
        virtual_attributes_xml: computed_xml,
        additional_info: display.additional_info.then(|| additional_info(newsroom, record)),
        uniqueness_string: display.uniqueness_string.then(|| format!("{}:{}", record.uuid, record.revision)),
        web_type: display.web_type.then_some(None),
    })
}

/// Renders the object as of one of its versions.
///
/// # Errors
/// The errors of [`render`].
pub fn render_version(
    newsroom: &Newsroom,
    record: &Record,
    groups: Groups,
    version: &Version,
    display: &Display,
) -> Result<ObjectRecord> {
    let mut record = record.clone();
    record.content = Some(version.content.clone());
    record.version = version.loid.version;
    let mut shown = render(newsroom, &record, groups, display)?;
    shown.id = version.loid.to_string();
    shown.modified = version.at;
    shown.last_modifier = version.author.clone();
    Ok(shown)
}

fn virtual_attributes(newsroom: &Newsroom, record: &Record) -> Result<VirtualAttributes> {
    let child_count = match record.family {
        FamilyKind::Folder => {
            let children =
                names_in(newsroom.repository.look(), ReadLevel::Committed, record.loid).map_err(|error| {
                    tracing::error!(%error, "cannot count the names in a folder");
                    Error::internal()
                })?;
            Some(children)
        }
        _ => None,
    };
    let content = record.content.as_ref();
    Ok(VirtualAttributes {
        size: content.map(|content| content.size),
        content_type: content.map(|content| content.content_type.clone()),
        version_count: record.version,
        child_count,
    })
}

fn additional_info(newsroom: &Newsroom, record: &Record) -> AdditionalInfo {
    let types = newsroom.sysconfig.object_types(record.loid.database);
    let known = types.get(&record.type_name);
    AdditionalInfo {
        family: record.family.name().to_owned(),
        label: known.map(|known| known.label.to_string()),
        workflow: known.and_then(|known| known.workflow.as_ref().map(ToString::to_string)),
        folder_id: record.folder().map(|folder| folder.to_string()),
        sha256: record.content.as_ref().map(|content| hex(&content.sha256)),
    }
}

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
