//! Bundles: a text, with a document for each channel (docs/api/bundles.md).

use std::sync::Arc;

use stet_auth::Privilege;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::id::Loid;
use stet_domain::object::{FamilyKind, FolderKey, PathLimits, Record};
use stet_endpoint::records::{path_if_shown, record_of, record_with_path};
use stet_newsroom::records::{CachedRecord, PageCollector, Sort};
use stet_sysconfig::ListKind;
use stet_web::call::Call;
use stet_web::pieces::no_room;
use stet_web::reply::Json;

use super::folder::FolderReply;
use super::folder::filter::{FolderFilter, list_filtered};
use super::folder::listing::{FolderEntries, FolderListingKind, ListingSelection, listing, reply};
use super::folder::views::{FolderView, FolderViewRequest, list_in_view};
use super::object::RecordReply;

pub mod routes;

/// Refuses an object that is no bundle.
///
/// # Errors
/// `InvalidType`.
pub fn check_bundle(record: &Record, source: &str) -> Result<()> {
    if record.family == FamilyKind::Bundle {
        return Ok(());
    }
    let message = format!("`{source}` is of type {}, not a bundle.", record.type_name);
    Err(Error::new(Code::InvalidType, message).with_source(source))
}

/// Resolves the bundle that the path names.
///
/// # Errors
/// The errors of [`Caller::resolve`](stet_newsroom::caller::Caller::resolve); `InvalidType`.
fn named(call: &Call) -> Result<Arc<CachedRecord>> {
    let bundle = call.resolve("source")?;
    check_bundle(&bundle, call.param("source"))?;
    Ok(bundle)
}

/// Resolves the bundle or channel copy that the path names.
///
/// # Errors
/// The errors of [`Caller::resolve`](stet_newsroom::caller::Caller::resolve); `InvalidType`.
fn bundle_or_copy(call: &Call) -> Result<Arc<CachedRecord>> {
    let object = call.resolve("source")?;
    if object.copy.is_none() {
        check_bundle(&object, call.param("source"))?;
    }
    Ok(object)
}

/// `GET /v3/bundle/{source}`
pub async fn list(call: Call) -> Result<Json<FolderReply>> {
    let bundle = named(&call)?;
    listing(call, &bundle, FolderListingKind::All).await
}

/// `GET /v3/bundle/{source}/recursive`
pub async fn recursive(call: Call) -> Result<Json<FolderReply>> {
    let bundle = named(&call)?;
    let selection = ListingSelection::of_query(&call, bundle.loid.database)?;
    let wanted = FolderFilter::of_bundle(call.query.boolean("recursive"), selection);
    // On the heap: the record beside it would make the future too large to copy with each call.
    Box::pin(list_filtered(call, &bundle, wanted)).await
}

/// `GET` and `POST /v3/bundle/{source}/view` and `/v3/bundle/{source}/view/{view}`
pub async fn view(call: Call) -> Result<Json<FolderView>> {
    let bundle = named(&call)?;
    let asked = FolderViewRequest::of(&call, ListKind::Bundle).await?;
    list_in_view(call, &bundle, asked).await
}

/// `GET /v3/bundle/{source}/root`: the outermost bundle that the object is, or that contains it.
pub async fn root(call: Call) -> Result<Json<RecordReply>> {
    let mut at = bundle_or_copy(&call)?;
    for _ in 0..PathLimits::WIDEST.depth {
        let Some(above) = at.folder() else { break };
        let Some(above) = live(&call, above)?.filter(|above| above.family == FamilyKind::Bundle) else { break };
        at = above;
    }
    call.access().check(Privilege::Read, &at, &call.param("source"))?;
    let shown = record_of(&call.app, &at, &call.display()).await?;
    let bytes = shown.text().len();
    Json::tagged(shown, bytes, RevisionTag::of(&at)).await
}

/// `GET /v3/bundle/{source}/chain`: the object, its source of inheritance, the source of that, and
/// so on.
pub async fn chain(call: Call) -> Result<Json<FolderReply>> {
    let first = bundle_or_copy(&call)?;
    let (sort, page, display) = (Sort::parse(call.query.text("sortBy"))?, call.query.page(), call.display());
    let mut gathering = PageCollector::new(sort, page, call.reply_memory());
    let mut next = Some(first.clone());
    // A copy is created after its source of inheritance, so this ends.
    while let Some(object) = next {
        if call.as_seen(object.clone())?.is_some() && !gathering.push(&object) {
            return Err(no_room());
        }
        let from = object.copy.as_ref().and_then(|copy| copy.inherited_from);
        next = from.map(|FolderKey(from)| live(&call, from)).transpose()?.flatten();
    }
    let (found, total) = gathering.page().await;
    let path = path_if_shown(&call.app, &first, &display)?;
    let info = record_with_path(&call.app, &first, &display, path.as_deref()).await?;
    reply(call, &first, info, FolderEntries::new(found, None, display), total).await
}

fn live(call: &Call, loid: Loid) -> Result<Option<Arc<CachedRecord>>> {
    call.app.records.get(&call.app.repository, loid)
}
