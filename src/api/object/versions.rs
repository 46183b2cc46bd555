//! Versions: which there are, and an old one again (ours; decisions 4).

use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::checkout::RestoreVersion;
use stet_actors::error::{Error, Result};
use stet_actors::object::Version;

use super::{reply_with, target};
use crate::http::call::Call;
use crate::http::etag::ETag;
use crate::http::reply::Reply;
use crate::http::route::Privilege;
use crate::records::{Page, hex};

/// Versions, the newest first.
#[derive(Serialize, JsonSchema)]
pub struct VersionList {
    /// The page asked for.
    pub items: Vec<VersionItem>,
    /// How many there are in all.
    pub total: usize,
}

/// One version.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionItem {
    /// Its number, counted from 1.
    pub version: u32,
    /// Its own loid.
    pub id: String,
    /// Name of the user who wrote it.
    pub author: String,
    /// When, epoch seconds.
    pub created: u64,
    /// Bytes.
    pub size: u64,
    /// Media type.
    pub content_type: String,
    /// SHA-256 of the bytes, in hexadecimal.
    pub sha256: String,
}

impl VersionItem {
    fn of(version: &Version) -> VersionItem {
        VersionItem {
            version: version.loid.version,
            id: version.loid.to_string(),
            author: version.author.to_string(),
            created: version.at,
            size: version.content.size,
            content_type: version.content.content_type.to_string(),
            sha256: hex(&version.content.sha256),
        }
    }
}

/// `GET /v3/object/{source}/versions`
pub async fn versions(call: Call) -> Result<Reply> {
    let record = call.resolve("source")?;
    let page = Page::of(&call.query);
    let mut items = Vec::new();
    // Numbers are given one after the other, and no version is ever removed but with its object.
    for number in (1..=record.version).rev().skip(page.offset).take(page.limit) {
        let key = Version::key(record.loid.at_version(number));
        if let Some(version) = call.app.repository.row::<Version>(key.table, &key.key)? {
            items.push(VersionItem::of(&version));
        }
    }
    let tag = ETag::new(record.revision, ("versions", page.offset, page.limit));
    Ok(Reply::json(&VersionList { items, total: record.version as usize })?.with_etag(tag))
}

/// `POST /v3/object/{source}/versions/{version}/restore`: a new version with the same bytes.
pub async fn restore_version(call: Call) -> Result<Reply> {
    let object = target(&call, Privilege::Write, &call.source("source")?, call.database()?)?;
    let number = call.integer("version")?;
    let version = u32::try_from(number).ok().filter(|number| *number > 0);
    let version = version.ok_or_else(|| Error::parameter("version", number, "a version's number"))?;
    let done = call.app.repository.joint(RestoreVersion { object, version }, call.request(object)?).await;
    call.app.with_current(done)?;
    reply_with(&call.app, object)
}
