//! The recycle bin and its entries (docs/api/objects.md, "The recycle bin").

use schemars::JsonSchema;
use serde::Serialize;
use stet_auth::Privilege;
use stet_base::json::{JoinedMembers, ReadyJson, ReplyList};
use stet_base::limits::offload;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Error, Result};
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::lifecycle::entries_of_bin;
use stet_domain::object::{DiscardNote, SharedText};
use stet_endpoint::records::any_record_of;
use stet_newsroom::records::{Display, ObjectRecord, PageCollector};
use stet_web::call::Call;
use stet_web::listing::Listing;
use stet_web::pieces::no_room;
use stet_web::reply::Json;

use super::folder::listing::ListingSelection;

pub mod routes;

/// A page of the recycle bin.
#[derive(Serialize, JsonSchema)]
pub struct RecycleBinReply {
    /// Entries of the page. The most recently discarded come first, unless `sortBy` sets another
    /// order.
    items: ReplyList<ReadyJson<BinEntry>>,
    /// Total number of entries that the caller sees.
    total: usize,
}

/// A discarded object. The objects in it were discarded together with it.
pub type BinEntry = JoinedMembers<ObjectRecord, BinInfo>;

/// The circumstances of an object's removal.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BinInfo {
    /// Path before it was discarded.
    former_path: SharedText,
    /// Time at which it was discarded, in epoch seconds.
    discarded: u64,
    /// Name of the user who discarded it.
    discarded_by: SharedText,
}

/// `GET /v3/recyclebin`
pub async fn list(call: Call) -> Result<Json<RecycleBinReply>> {
    let database = call.database()?;
    let (ListingSelection { filter, sort, page }, display) =
        (ListingSelection::of_query(&call, database)?, call.display());
    let (app, access) = (&call.app, call.access());
    let as_discarded = access.sees_all() && sort.keeps_order() && filter.is_empty();
    let mut gathering = PageCollector::new(sort, page, call.reply_memory());
    let loids = entries(&call, database).await?;
    if !gathering.counts(size_of_val(&*loids)) {
        return Err(no_room());
    }
    let (found, total) = if as_discarded {
        let total = loids.len();
        (page.cut(loids), total)
    } else {
        let mut timer = YieldTimer::start();
        for loid in loids {
            timer.yield_if_due().await;
            let Some(record) = app.repository.any_record(loid)? else { continue };
            let wanted = filter.accepts(&record) && access.may(Privilege::Read, &record)?;
            if wanted && !gathering.push(&record) {
                return Err(no_room());
            }
        }
        gathering.page().await
    };
    let render = async move |call: &Call, loid: &Loid, _| bin_entry(call, *loid, &display).await;
    Ok(Listing::each(&call, found, render, |items, _| RecycleBinReply { items, total }).await?.answer(call))
}

/// Returns all entries, the most recently discarded first.
async fn entries(call: &Call, database: DatabaseId) -> Result<Vec<Loid>> {
    let repository = call.app.repository.clone();
    offload::offload(move || entries_of_bin(repository.look(), database)).await?.map_err(|error| {
        tracing::error!(%error, "the recycle bin can't be read");
        Error::internal()
    })
}

/// Renders an entry; `None` for an object that was restored or destroyed since it was found.
async fn bin_entry(call: &Call, loid: Loid, display: &Display) -> Result<Option<ReadyJson<BinEntry>>> {
    let note = call.app.repository.any_record(loid)?.and_then(|record| record.bin);
    let Some(DiscardNote { at, by, path, .. }) = note else { return Ok(None) };
    let Some(record) = any_record_of(call, loid, display).await? else { return Ok(None) };
    let info = BinInfo { former_path: path, discarded: at, discarded_by: by };
    let made = offload::offload_if_large(record.text().len(), move || JoinedMembers::ready(&record, &info));
    made.await?.map(Some)
}
