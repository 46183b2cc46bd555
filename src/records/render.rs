//! A record as JSON, as the display options ask.

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use stet_actors::error::{Error, Result};
use stet_actors::id::{Loid, ObjectUuid};
use stet_actors::object::{FamilyKind, Record, Text, Version, names_in};
use stet_actors::store::View;
use stet_xml::Limits;

use super::{Display, Group, Groups, XmlGroup};
use crate::json::Ready;
use crate::limits::offload;
use crate::newsroom::Newsroom;

/// `pstate` of a record.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Uuid {
    /// Lower-case, hyphenated.
    #[schemars(with = "ObjectUuid")]
    pub uuid: String,
}

/// `statusInfo` of a record.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatusInfo {
    /// The workflow status, e.g. `Story/Ready`.
    pub name: String,
    /// Its colour, e.g. `rgb(0,160,0)`; null when the workflow no longer knows the status.
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
    /// Epoch seconds.
    pub lock_expires: u64,
}

/// What is computed of an object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VirtualAttributes {
    /// Bytes of the content, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Media type of the content, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<Text>,
    /// How many versions there are.
    pub version_count: u32,
    /// Of a folder: how many objects lie in it; 10000 for so many or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_count: Option<u64>,
}

/// What is known of an object beside its record.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdditionalInfo {
    /// Name of the family.
    pub family: String,
    /// What people call the type; null while the configuration does not know it.
    pub label: Option<String>,
    /// Name of the type's workflow, if it has one.
    pub workflow: Option<String>,
    /// Loid of the folder; null for a root.
    #[schemars(with = "Option<Loid>")]
    pub folder_id: Option<String>,
    /// SHA-256 of the content in hexadecimal, if there is one.
    pub sha256: Option<String>,
}

/// How a channel copy came to be.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelCopyInfo {
    /// Name of the channel.
    pub channel: Text,
    /// Name of the channel that it was inherited from; null if it was made without one.
    pub inherit_from: Option<Text>,
    /// Loid of what it was inherited from: its bundle, or another copy there; null if it was made
    /// without.
    #[schemars(with = "Option<Loid>")]
    pub inherited_from: Option<String>,
    /// Number of the version there that its content was last taken from.
    pub version: u32,
    /// Whether it still gets each content that is checked in there.
    pub follows: bool,
}

/// An object record. Which of the attribute groups are there, and in which forms, is up to the
/// display options.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRecord {
    /// The loid.
    #[schemars(with = "Loid")]
    pub id: String,
    /// Name in its folder.
    pub name: Text,
    /// Name of its type.
    pub r#type: Text,
    /// With `showPath`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^/"))]
    pub path: Option<String>,
    /// The uuid.
    pub pstate: Uuid,
    /// Number of the database.
    pub database_id: u16,
    /// Path of the work folder.
    pub work_folder: Option<Text>,
    /// `yyyyMMdd`
    pub issue_date: Option<Text>,
    /// Epoch seconds.
    pub created: u64,
    /// Epoch seconds.
    pub modified: u64,
    /// Name of the user who made it.
    pub creator: Text,
    /// Name of the user who last changed it.
    pub last_modifier: Text,
    /// Number of the latest version; 0 without content.
    pub version: u32,
    /// What a story family shares.
    pub suid: Option<Text>,
    /// How it came to be, if it is a channel copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_copy: Option<ChannelCopyInfo>,
    /// When it was locked, epoch seconds; null while it is not.
    pub locked: Option<u64>,
    /// Who has it locked.
    pub locker: Option<LockerInfo>,
    /// Workflow status.
    pub status_info: Option<StatusInfo>,
    /// Counts the object's changes.
    pub revision: u64,
    /// As JSON, root key `props`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub system_attributes: Option<Group>,
    /// As JSON, keyed by the root element.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub attributes: Option<Group>,
    /// As JSON, root key `tl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub usage_tickets: Option<Group>,
    /// Computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_attributes: Option<VirtualAttributes>,
    /// As XML text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub system_attributes_xml: Option<XmlGroup>,
    /// As XML text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub attributes_xml: Option<XmlGroup>,
    /// As XML text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub usage_tickets_xml: Option<XmlGroup>,
    /// As XML text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_attributes_xml: Option<String>,
    /// Family, workflow, hash and so on; with `showAdditionalInfo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_info: Option<AdditionalInfo>,
    /// Differs for any two states of any two objects; with `showUniquenessString`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uniqueness_string: Option<String>,
    /// With `showWebType`; always null, for nothing in the site configuration gives an object a web
    /// type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_type: Option<Option<String>>,
}

impl ObjectRecord {
    /// About how many bytes it has as JSON.
    fn bytes(&self) -> usize {
        let json = [&self.system_attributes, &self.attributes, &self.usage_tickets].into_iter().flatten();
        let xml = [&self.system_attributes_xml, &self.attributes_xml, &self.usage_tickets_xml].into_iter().flatten();
        json.map(Group::bytes).sum::<usize>() + xml.map(XmlGroup::bytes).sum::<usize>()
    }

    /// As JSON, made aside if it is large.
    ///
    /// # Errors
    /// As [`Ready::of`].
    pub fn ready(self) -> impl Future<Output = Result<Ready<ObjectRecord>>> {
        // No `async fn`, as `by_size` is none.
        offload::offload_if_large(self.bytes(), move || Ready::of(&self)).map(|made| made?)
    }
}

/// Renders a record without its path.
///
/// # Errors
/// That the store fails.
pub fn render(newsroom: &Newsroom, record: &Record, groups: Groups, display: &Display) -> Result<ObjectRecord> {
    let computed = if display.virtual_attributes { Some(virtual_attributes(newsroom, record)?) } else { None };
    let computed_xml = match &computed {
        Some(computed) if display.xml => {
            // Numbers and texts in a struct: nothing here can fail to become a value.
            let value = serde_json::to_value(computed).unwrap_or_default();
            let rooted = Map::from_iter([("virtualAttributes".to_owned(), value)]);
            let written = stet_xml::from_json(&rooted.into(), &Limits::default());
            Some(written.map_err(|error| {
                tracing::error!(object = %record.loid, %error, "what is computed of an object is no XML");
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

/// Renders the object as one of its versions has it.
///
/// # Errors
/// As [`render`].
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
            let children = names_in(newsroom.repository.look(), View::Committed, record.loid).map_err(|error| {
                tracing::error!(%error, "a folder can't be counted");
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

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
