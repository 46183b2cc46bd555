//! Versions: their listing, and the restoration of an old one (docs/api/content.md, "Versions").

use std::collections::VecDeque;

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
use stet_web::listing::{Listing, ListingSource, ListingStep, NoItem};
use stet_web::prefer::PreferredReply;
use stet_web::reply::Json;

use super::{ChangedRecord, reply_with, target};

/// The number of versions that are read at once.
const AT_A_TIME: usize = 256;

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
    let versions = VersionWalk::from(record.loid, newest, page.limit);
    let listing = Listing::of(&call, versions, |items, _| VersionList { items, total }).await?;
    Ok(listing.answer(call).with_etag(tag))
}

/// The versions of an object in descending order.
struct VersionWalk {
    object: Loid,
    /// The loid above the next version to read.
    to: Loid,
    /// The number of versions that remain to be read.
    left: usize,
    /// Versions that were read, but not shown yet.
    read: VecDeque<Version>,
}

impl VersionWalk {
    /// Lists the versions of an object from that number down, `limit` at most.
    fn from(object: Loid, newest: u32, limit: usize) -> VersionWalk {
        let left = limit.min(newest as usize);
        // No version has the number 0.
        VersionWalk { object, to: object.at_version(newest.saturating_add(1)), left, read: VecDeque::new() }
    }

    fn present(&mut self, repository: &Reader) -> Result<Option<&Version>> {
        if self.read.is_empty() && self.left > 0 {
            let range = KeyRange {
                from: Bytes::copy_from_slice(&self.object.at_version(1).to_key()),
                to: Some(Bytes::copy_from_slice(&self.to.to_key())),
            };
            let most = self.left.min(AT_A_TIME);
            self.read = repository.rows_within::<Version>(Table::Versions, &range, most, true)?.into();
            self.left = if self.read.len() < most { 0 } else { self.left - most };
        }
        Ok(self.read.front())
    }
}

impl ListingSource for VersionWalk {
    type Item = VersionItem;
    type Inner = NoItem;
    type Innermost = NoItem;
    type Failed = NoItem;
    type Fault = Error;

    async fn make(&mut self, call: &Call, _: bool) -> Result<ListingStep<VersionItem>> {
        Ok(self
            .present(&call.app.repository)?
            .map_or(ListingStep::End, |version| ListingStep::Item(VersionItem::of(version))))
    }

    fn advance(&mut self) {
        if let Some(shown) = self.read.pop_front() {
            self.to = shown.loid;
        }
    }

    fn bytes(&self) -> usize {
        self.read.capacity() * size_of::<Version>()
    }
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
            let mut down = VersionWalk::from(object(7), newest, limit);
            let mut numbers = Vec::new();
            while let Some(version) = down.present(&repository).expect("they can be read") {
                numbers.push(version.loid.version);
                assert!(down.read.len() <= AT_A_TIME);
                down.advance();
            }
            let wanted: Vec<u32> = (1..=newest).rev().take(limit).collect();
            assert_eq!(numbers, wanted, "{limit} from {newest}");
        }
    }
}
