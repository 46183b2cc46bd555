//! Story families: the objects that share a SUID (docs/api/objects.md, "Story families").

use schemars::JsonSchema;
use serde::Serialize;
use stet_base::json::{ReadyJson, ReplyList};
use stet_base::limits::offload;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::object::{SharedText, family_of};
use stet_domain::store::ReadLevel;
use stet_newsroom::records::{ObjectRecord, PageCollector, Sort};
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::listing::Listing;
use stet_web::pieces::no_room;
use stet_web::reply::Json;

use crate::folder::listing::FolderEntries;

/// A story family.
#[derive(Serialize, JsonSchema)]
pub struct FamilyReply {
    /// SUID that the members share; null for an object without one, which is its only member.
    #[schemars(with = "Option<String>")]
    suid: Option<SharedText>,
    /// The members of the page, in the order of their loids.
    items: ReplyList<ReadyJson<ObjectRecord>>,
    /// Total number of members that the caller sees.
    total: usize,
}

/// `GET /v3/object/{uuid}/family`
pub async fn family(call: Call) -> Result<Json<FamilyReply>> {
    let member = call.resolve("uuid")?;
    let (page, display, suid) = (call.query.page(), call.display(), member.suid.clone());
    let only = call.query.text("databaseId").map(|_| call.database()).transpose()?;
    let loids = match &suid {
        Some(suid) => members(&call, suid.clone()).await?,
        None => vec![member.loid],
    };
    let mut gathering = PageCollector::new(Sort::default(), page, call.reply_memory());
    let (app, mut timer) = (&call.app, YieldTimer::start());
    for loid in loids.into_iter().filter(|loid| is_in(only, *loid)) {
        timer.yield_if_due().await;
        let Some(record) = app.records.get(&app.repository, loid)? else { continue };
        if call.as_seen(record.clone())?.is_some() && !gathering.push(&record) {
            return Err(no_room());
        }
    }
    let (found, total) = gathering.page().await;
    let entries = FolderEntries::new(found, None, display);
    let reply_suid = suid.clone();
    let listing = Listing::of(&call, entries.list(), |items, _| FamilyReply { suid: reply_suid, items, total }).await?;
    let of_entries = entries.facts(&call).await?;
    let tag = ETag::new(RevisionTag::of(&member), (suid, of_entries, total));
    Ok(listing.answer(call).with_etag(tag))
}

fn is_in(database: Option<DatabaseId>, loid: Loid) -> bool {
    database.is_none_or(|database| loid.database == database)
}

/// Returns all live objects with that SUID.
async fn members(call: &Call, suid: SharedText) -> Result<Vec<Loid>> {
    let repository = call.app.repository.clone();
    let read = move || family_of(repository.look(), ReadLevel::Committed, &suid, usize::MAX);
    offload::offload(read).await?.map_err(|error| {
        tracing::error!(%error, "a story family can't be read");
        Error::internal()
    })
}
