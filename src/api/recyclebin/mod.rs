//! The recycle bin and its entries (docs/api/objects.md, "The recycle bin").

use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::error::{Error, Result};
use stet_actors::id::{DatabaseId, Loid};
use stet_actors::lifecycle::entries_of_bin;
use stet_actors::object::{Bin, Text};
use stet_actors::store::View;

use super::folder::listing::Selection;
use super::records::any_record_of;
use crate::auth::Privilege;
use crate::http::call::Call;
use crate::http::listing::{Items, Listing, Made, Never};
use crate::http::pieces::no_room;
use crate::http::reply::Json;
use crate::json::{Listed, Ready, With};
use crate::limits::offload;
use crate::limits::yielding::YieldTimer;
use crate::records::{Display, Gathering, ObjectRecord};

pub mod routes;

/// A page of the recycle bin.
#[derive(Serialize, JsonSchema)]
pub struct RecycleBinReply {
    /// Entries of the page. The most recently discarded come first, unless `sortBy` sets another
    /// order.
    items: Listed<Ready<BinEntry>>,
    /// Total number of entries that the caller sees.
    total: usize,
}

/// A discarded object. The objects in it were discarded together with it.
pub type BinEntry = With<ObjectRecord, BinInfo>;

/// The circumstances of an object's removal.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BinInfo {
    /// Path before it was discarded.
    former_path: Text,
    /// Time at which it was discarded, in epoch seconds.
    discarded: u64,
    /// Name of the user who discarded it.
    discarded_by: Text,
}

/// `GET /v3/recyclebin`
pub async fn list(call: Call) -> Result<Json<RecycleBinReply>> {
    let database = call.database()?;
    let (Selection { filter, sort, page }, display) = (Selection::of_query(&call, database)?, call.display());
    let (app, access) = (&call.app, call.access());
    let as_discarded = access.sees_all() && sort.keeps_order() && filter.is_empty();
    let mut gathering = Gathering::new(sort, page, call.reply_memory());
    let loids = entries(&call, database).await?;
    if !gathering.counts(size_of_val(&*loids)) {
        return Err(no_room());
    }
    let (found, total) = if as_discarded {
        let total = loids.len();
        (page.cut(loids), total)
    } else {
        let mut way = YieldTimer::new();
        for loid in loids {
            way.yield_if_due().await;
            let Some(record) = app.repository.any_record(loid)? else { continue };
            let wanted = filter.accepts(&record) && access.may(Privilege::Read, &record)?;
            if wanted && !gathering.push(&record) {
                return Err(no_room());
            }
        }
        gathering.page().await
    };
    let entries = Entries { loids: found, next: 0, display };
    Ok(Listing::of(&call, entries, |items, _| RecycleBinReply { items, total }).await?.answer(call))
}

/// Returns all entries, the most recently discarded first.
async fn entries(call: &Call, database: DatabaseId) -> Result<Vec<Loid>> {
    let repository = call.app.repository.clone();
    let read = move || {
        let all = entries_of_bin(repository.look(), View::Committed, database, None, (usize::MAX, true));
        all.map(|(entries, _)| entries)
    };
    offload::offload(read).await?.map_err(|error| {
        tracing::error!(%error, "the recycle bin can't be read");
        Error::internal()
    })
}

/// Entries of the recycle bin.
struct Entries {
    loids: Vec<Loid>,
    next: usize,
    display: Display,
}

impl Items for Entries {
    type Item = Ready<BinEntry>;
    type Inner = Never;
    type Innermost = Never;
    type Failed = Never;
    type Fault = Error;

    async fn make(&mut self, call: &Call, _: bool) -> Result<Made<Ready<BinEntry>>> {
        let Some(loid) = self.loids.get(self.next) else { return Ok(Made::End) };
        // It may have been restored or destroyed since it was found.
        let Some(Bin { at, by, path, .. }) = call.app.repository.any_record(*loid)?.and_then(|record| record.bin)
        else {
            return Ok(Made::Nothing);
        };
        let Some(record) = any_record_of(call, *loid, &self.display).await? else { return Ok(Made::Nothing) };
        let info = BinInfo { former_path: path, discarded: at, discarded_by: by };
        Ok(Made::Item(With::ready(&record, &info)?))
    }

    fn advance(&mut self) {
        self.next += 1;
    }

    fn bytes(&self) -> usize {
        self.loids.capacity() * size_of::<Loid>()
    }
}
