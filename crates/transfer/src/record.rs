//! The record file of an object: everything but its content (docs/TRANSFER.md).

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::files;

/// The format number that is written; any other is refused.
pub const FORMAT: u32 = 1;

/// Most bytes of a record file: the limit for a form's options, with room for the JSON notation.
const MAX_BYTES: u64 = 64 << 20;

/// The family of folders.
const FOLDER: &str = "folder";

/// A record file. Times are epoch seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportRecord {
    pub format: u32,
    pub uuid: String,
    pub name: String,
    pub r#type: String,
    /// The object's family, for repositories that do not know the type.
    pub family: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_folder: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue_date: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    pub created: u64,
    pub modified: u64,
    pub creator: String,
    pub last_modifier: String,
    /// XML as it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_attributes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_tickets: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_copy: Option<ChannelCopy>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<ExportLink>,
    /// The content in the file beside the record, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ExportContent>,
}

/// The origin of a channel copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChannelCopy {
    pub channel: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherit_from: Option<String>,
    /// A uuid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited_from: Option<String>,
    pub follows: bool,
}

/// A link, as it is seen from the object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportLink {
    pub link_name: String,
    pub other_link_name: String,
    /// `source` or `target`.
    pub side: String,
    /// A uuid.
    pub other: String,
}

/// The bytes of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportContent {
    pub content_type: String,
    pub size: u64,
    /// The hash in hexadecimal.
    pub sha256: String,
}

/// Returns a text of the object, if it has one.
fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Like [`text`], where `empty` stands for a value that was never set.
fn text_unless(value: &Value, empty: &str) -> Option<String> {
    text(value).filter(|text| text != empty)
}

impl ExportRecord {
    /// Builds the record of an object from the server's reply, which must contain unparsed XML,
    /// virtual attributes and additional information. The caller adds links and the source of a
    /// channel copy.
    ///
    /// # Errors
    /// The name of the missing field.
    pub fn of(shown: &Value) -> Result<ExportRecord, &'static str> {
        let word = |value: &Value, field| text(value).ok_or(field);
        let number = |value: &Value, field| value.as_u64().ok_or(field);
        let copy = &shown["channelCopy"];
        let channel_copy = text(&copy["channel"]).map(|channel| ChannelCopy {
            channel,
            inherit_from: text(&copy["inheritFrom"]),
            inherited_from: None,
            follows: copy["follows"] == true,
        });
        let (of_content, sha256) = (&shown["virtualAttributes"], text(&shown["additionalInfo"]["sha256"]));
        let content = match sha256 {
            Some(sha256) => Some(ExportContent {
                content_type: word(&of_content["contentType"], "contentType")?,
                size: number(&of_content["size"], "size")?,
                sha256,
            }),
            None => None,
        };
        Ok(ExportRecord {
            format: FORMAT,
            uuid: word(&shown["pstate"]["uuid"], "pstate")?,
            name: word(&shown["name"], "name")?,
            r#type: word(&shown["type"], "type")?,
            family: word(&shown["additionalInfo"]["family"], "family")?,
            work_folder: text(&shown["workFolder"]),
            issue_date: text(&shown["issueDate"]),
            suid: text(&shown["suid"]),
            status: text(&shown["statusInfo"]["name"]),
            created: number(&shown["created"], "created")?,
            modified: number(&shown["modified"], "modified")?,
            creator: word(&shown["creator"], "creator")?,
            last_modifier: word(&shown["lastModifier"], "lastModifier")?,
            attributes: text_unless(&shown["attributesXml"], ""),
            system_attributes: text_unless(&shown["systemAttributesXml"], "<props/>"),
            usage_tickets: text_unless(&shown["usageTicketsXml"], "<tl/>"),
            channel_copy,
            links: Vec::new(),
            content,
        })
    }

    /// Reads a record file.
    ///
    /// # Errors
    /// A sentence without the file's name.
    pub fn read(file: &Path) -> Result<ExportRecord, String> {
        let text = files::read(file, MAX_BYTES).map_err(|error| error.to_string())?;
        // Editors put a byte order mark in front of files.
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        #[derive(Deserialize)]
        struct FormatHeader {
            format: u32,
        }
        let FormatHeader { format } = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if format != FORMAT {
            return Err(format!("it has the format {format}; this program reads {FORMAT}"));
        }
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }

    /// Returns the text of the record file. Equal records give equal bytes.
    pub fn written(&self) -> String {
        // It has only texts as keys of maps, and nothing else can fail.
        serde_json::to_string_pretty(self).expect("a record can be written") + "\n"
    }

    /// Returns the part `options` of the form that imports the record into a folder.
    pub fn options(&self, folder: &str) -> Value {
        let mut options = json!(self);
        if let Some(fields) = options.as_object_mut() {
            fields.remove("format");
            fields.remove("content");
            fields.insert("folderPath".to_owned(), folder.into());
        }
        options
    }

    /// Reports whether the record is a folder's.
    pub fn is_folder(&self) -> bool {
        self.family == FOLDER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_nothing_else_is_one() {
        let shown = json!({
            "id": "1$1.0.9", "pstate": { "uuid": "u" }, "name": "a.xml", "type": "Story", "workFolder": null, "issueDate": "20240229",
            "suid": null, "statusInfo": { "name": "Story/Ready" }, "created": 1, "modified": 2, "creator": "ada",
            "lastModifier": "bob", "attributesXml": "<a/>", "systemAttributesXml": "<props/>", "usageTicketsXml": "<tl/>",
            "virtualAttributes": { "contentType": "text/xml", "size": 4 }, "additionalInfo": { "sha256": "00", "family": "document" },
            "channelCopy": { "channel": "Web", "inheritFrom": null, "follows": false },
        });
        let record = ExportRecord::of(&shown).expect("it is complete");
        assert_eq!(
            (record.attributes.as_deref(), &record.system_attributes, &record.usage_tickets),
            (Some("<a/>"), &None, &None)
        );
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("a.record.json");
        std::fs::write(&file, record.written()).expect("it can be written");
        assert_eq!(ExportRecord::read(&file), Ok(record.clone()));
        std::fs::write(&file, format!("\u{feff}{}", record.written())).expect("it can be written");
        assert_eq!(ExportRecord::read(&file), Ok(record.clone()), "editors put a byte order mark in front");
        let options = record.options("/News");
        assert_eq!(
            (&options["folderPath"], &options["content"], &options["format"]),
            (&json!("/News"), &Value::Null, &Value::Null)
        );
        assert_eq!((&options["lastModifier"], &options["channelCopy"]["channel"]), (&json!("bob"), &json!("Web")));
        for (from, to) in [("\"format\": 1", "\"format\": 2"), ("\"uuid\"", "\"uid\""), ("}", "")] {
            std::fs::write(&file, record.written().replacen(from, to, 1)).expect("it can be written");
            assert!(ExportRecord::read(&file).is_err(), "{to}");
        }
        let mut without = shown.clone();
        without["creator"].take();
        assert_eq!(ExportRecord::of(&without), Err("creator"));
    }
}
