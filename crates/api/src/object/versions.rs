//! Versions: their listing, and the restoration of an old one (docs/api/content.md, "Versions").

use std::ops::RangeInclusive;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::repository::Reader;
use stet_auth::Privilege;
use stet_base::json::ReplyList;
use stet_domain::checkout::RestoreVersion;
use stet_domain::error::{Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::id::Loid;
use stet_domain::object::Version;
use stet_domain::store::{KeyRange, Table};
use stet_newsroom::records::hex;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::listing::Listing;
use stet_web::prefer::PreferredReply;
use stet_web::reply::Json;

use super::{ChangedRecord, reply_with, target};

/// The number of versions that are read at once.
const AT_A_TIME: u32 = 256;

/// Versions, the newest first.
#[derive(Serialize, JsonSchema)]
pub struct VersionList {
    /// The versions of the page.
    pub items: ReplyList<VersionItem>,
    /// Total number of versions.
    pub total: usize,
}

/// One version.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionItem {
    /// Number of the version, counted from 1.
    pub version: u32,
    /// Loid of the version.
    #[schemars(with = "Loid")]
    pub id: String,
    /// Name of the user who wrote it.
    pub author: String,
    /// Time of creation in epoch seconds.
    pub created: u64,
    /// Size in bytes.
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
pub async fn versions(call: Call) -> Result<Json<VersionList>> {
    let record = call.resolve_seen("source")?;
    let page = call.query.page();
    // Numbers are consecutive, and versions are removed only together with their object.
    let newest = record.version.saturating_sub(u32::try_from(page.offset).unwrap_or(u32::MAX));
    let total = record.version as usize;
    let tag = ETag::new(RevisionTag::of(&record), ("versions", page.offset, page.limit));
    let object = record.loid;
    let render = async move |call: &Call, numbers: &RangeInclusive<u32>, _| -> Result<Vec<VersionItem>> {
        let found = versions_of(&call.app.repository, object, numbers)?;
        Ok(found.iter().map(VersionItem::of).collect())
    };
    let batches = batches_down(newest, page.limit);
    let listing = Listing::each(&call, batches, render, |items, _| VersionList { items, total }).await?;
    Ok(listing.answer(call).with_etag(tag))
}

/// Divides at most `limit` version numbers from `newest` down into batches that are read at once.
fn batches_down(newest: u32, limit: usize) -> Vec<RangeInclusive<u32>> {
    // No version has the number 0.
    let oldest = newest.saturating_sub(u32::try_from(limit).unwrap_or(u32::MAX)) + 1;
    let lasts = (oldest..=newest).rev().step_by(AT_A_TIME as usize);
    lasts.map(|last| last.saturating_sub(AT_A_TIME - 1).max(oldest)..=last).collect()
}

/// Returns the versions of an object with these numbers in descending order.
fn versions_of(repository: &Reader, object: Loid, numbers: &RangeInclusive<u32>) -> Result<Vec<Version>> {
    let range = KeyRange {
        from: Bytes::copy_from_slice(&object.at_version(*numbers.start()).to_key()),
        to: Some(Bytes::copy_from_slice(&object.at_version(numbers.end().saturating_add(1)).to_key())),
    };
    repository.rows_within::<Version>(Table::Versions, &range, AT_A_TIME as usize, true)
}

/// `POST /v3/object/{source}/versions/{version}/restore`: creates a new version with the same
/// bytes.
pub async fn restore_version(call: Call) -> Result<PreferredReply<ChangedRecord>> {
    let display = call.display_of_change().await?;
    let object = target(&call, Privilege::Write, &call.source("source")?, call.database()?)?;
    let number = call.integer("version")?;
    let version = u32::try_from(number).ok().filter(|number| *number > 0);
    let version = version.ok_or_else(|| Error::parameter("version", number, "a version's number"))?;
    let done = call.change_jointly(RestoreVersion { object, version }).await?;
    reply_with(&call, object, done.left.as_ref(), &display).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stet_actors::repository::Repository;
    use stet_actors::runtime::RuntimeOptions;
    use stet_domain::clock::SystemClock;
    use stet_domain::id::DatabaseId;
    use stet_domain::object::{Content, ContentLocation};
    use stet_domain::store::memory::MemoryStore;
    use stet_domain::store::{ChangeSet, Row, RowChange, RowPlace, Store, encode_value};

    use super::*;

    #[actix_web::test]
    async fn many_versions_are_read_some_at_a_time() {
        let store = Arc::new(MemoryStore::new());
        let object = |number| Loid::new(DatabaseId::FIRST, number);
        let mut set = ChangeSet::fence(store.epoch(), |_| ());
        for (loid, versions) in [(object(6), 3), (object(7), 600), (object(8), 3)] {
            for number in 1..=versions {
                let content =
                    Content { content_type: "text/xml".into(), size: 8, sha256: [7; 32], stored: ContentLocation::Row };
                let version = Version { loid: loid.at_version(number), author: "editor".into(), at: 1, content };
                let RowPlace { table, key } = version.place();
                set.changes.push(RowChange { table, key, value: Some(encode_value(Version::FORMAT, &version)) });
            }
        }
        store.submit(set).expect("it is taken");
        let started = Repository::start(store, Arc::new(SystemClock), RuntimeOptions::default()).await;
        let repository = started.expect("a repository starts");
        for (newest, limit) in
            [(600, usize::MAX), (600, 257), (600, 256), (599, 1), (300, 290), (3, 10), (1, 1), (0, 9), (5, 0)]
        {
            let mut numbers = Vec::new();
            for batch in batches_down(newest, limit) {
                let read = versions_of(&repository, object(7), &batch).expect("they can be read");
                assert!(read.len() <= AT_A_TIME as usize);
                numbers.extend(read.iter().map(|version| version.loid.version));
            }
            let wanted: Vec<u32> = (1..=newest).rev().take(limit).collect();
            assert_eq!(numbers, wanted, "{limit} from {newest}");
        }
    }
}
