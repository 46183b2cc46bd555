//! A record as JSON, as the display options ask.

use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{Loid, ObjectUuid};
use stet_actors::object::{Attributes, FamilyKind, Record, Text, Version};
use stet_actors::store::{Range, Table, View};
use stet_xml::Limits;

use super::Display;
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

/// A group of attributes as JSON.
#[derive(Debug)]
pub enum Group {
    /// As the stored text has it.
    Stored(Value),
    /// There is no text: an empty object below the root key, or at the top where there is none. Most objects' groups are, and a
    /// reply to a change shows three of them.
    Empty(&'static str),
}

impl Serialize for Group {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Group::Stored(value) => value.serialize(serializer),
            Group::Empty("") => serializer.serialize_map(Some(0))?.end(),
            Group::Empty(root) => {
                let mut group = serializer.serialize_map(Some(1))?;
                group.serialize_entry(root, &Group::Empty(""))?;
                group.end()
            }
        }
    }
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
    pub child_count: Option<usize>,
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

/// An object record. Which of the attribute groups are there, and in which forms, is up to the display options.
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
    pub system_attributes_xml: Option<String>,
    /// As XML text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes_xml: Option<String>,
    /// As XML text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_tickets_xml: Option<String>,
    /// As XML text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_attributes_xml: Option<String>,
    /// Family, workflow, hash and so on; with `showAdditionalInfo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_info: Option<AdditionalInfo>,
    /// Differs for any two states of any two objects; with `showUniquenessString`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uniqueness_string: Option<String>,
    /// With `showWebType`; null while the site configuration gives the type none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_type: Option<Option<String>>,
}

/// Stored attribute texts were checked when they came; one that can't be read now is our fault.
fn unreadable(record: &Record, error: &stet_xml::XmlError) -> Error {
    tracing::error!(object = %record.loid, %error, "stored attributes can't be read");
    Error::new(Code::RepositoryError, format!("The attributes of `{}` can't be read.", record.loid))
}

/// Renders a record without its path.
///
/// # Errors
/// That the store fails, or a stored attribute text can't be read.
pub fn render(
    newsroom: &Newsroom,
    record: &Record,
    attributes: &Attributes,
    display: &Display,
) -> Result<ObjectRecord> {
    let limits = Limits::default();
    let as_json = |shown: bool, text: Option<&str>, root: &'static str| {
        if !(shown && display.json) {
            return Ok(None);
        }
        match text {
            Some(text) => match stet_xml::to_json(text, &limits) {
                Ok(group) => Ok(Some(Group::Stored(group))),
                Err(error) => Err(unreadable(record, &error)),
            },
            None => Ok(Some(Group::Empty(root))),
        }
    };
    let as_xml = |shown: bool, text: Option<&str>, root: &str| {
        if !(shown && display.xml) {
            return Ok(None);
        }
        match text {
            Some(text) if display.unparsed_xml => Ok(Some(text.to_owned())),
            Some(text) => stet_xml::reserialize(text, &limits).map(Some).map_err(|error| unreadable(record, &error)),
            None if root.is_empty() => Ok(Some(String::new())),
            None => Ok(Some(format!("<{root}/>"))),
        }
    };
    let (system, own, tickets) = (
        attributes.system_attributes.as_deref(),
        attributes.attributes.as_deref(),
        attributes.usage_tickets.as_deref(),
    );
    let computed = if display.virtual_attributes { Some(virtual_attributes(newsroom, record)?) } else { None };
    let computed_xml = match &computed {
        Some(computed) if display.xml => {
            // Numbers and texts in a struct: nothing here can fail to become a value.
            let value = serde_json::to_value(computed).unwrap_or_default();
            let rooted = Map::from_iter([("virtualAttributes".to_owned(), value)]);
            Some(stet_xml::from_json(&rooted.into(), &limits).map_err(|error| unreadable(record, &error))?)
        }
        _ => None,
    };
    let workflows = newsroom.sysconfig.workflows();
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
        system_attributes: as_json(display.system_attributes, system, "props")?,
        attributes: as_json(display.attributes, own, "")?,
        usage_tickets: as_json(display.usage_tickets, tickets, "tl")?,
        virtual_attributes: computed.filter(|_| display.json),
        system_attributes_xml: as_xml(display.system_attributes, system, "props")?,
        attributes_xml: as_xml(display.attributes, own, "")?,
        usage_tickets_xml: as_xml(display.usage_tickets, tickets, "tl")?,
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
    attributes: &Attributes,
    version: &Version,
    display: &Display,
) -> Result<ObjectRecord> {
    let mut record = record.clone();
    record.content = Some(version.content.clone());
    record.version = version.loid.version;
    let mut shown = render(newsroom, &record, attributes, display)?;
    shown.id = version.loid.to_string();
    shown.modified = version.at;
    shown.last_modifier = version.author.clone();
    Ok(shown)
}

/// Objects in a folder that are counted: they are, each time that a folder is shown after a change in it, and a listing has many
/// folders.
const MOST_COUNTED: usize = 10_000;

fn virtual_attributes(newsroom: &Newsroom, record: &Record) -> Result<VirtualAttributes> {
    let child_count = match record.family {
        FamilyKind::Folder => {
            let names = Range::prefix(&record.loid.to_key());
            let children = newsroom.repository.look().scan(View::Committed, Table::Names, &names, MOST_COUNTED, false);
            let children = children.map_err(|error| {
                tracing::error!(%error, "a folder can't be counted");
                Error::internal()
            })?;
            Some(children.len())
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
    let types = newsroom.sysconfig.object_types();
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
