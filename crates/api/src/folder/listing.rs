//! Listings of folders and bundles: the objects in them, and their records.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use stet_auth::Privilege;
use stet_base::json::ReadyJson;
use stet_base::limits::offload;
use stet_base::limits::yielding::YieldTimer;
use stet_base::nearest::nearest_name;
use stet_domain::error::{Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::folder::children;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::object::{FamilyKind, Record, names_in};
use stet_domain::store::{ReadLevel, StoreError};
use stet_endpoint::records::{locker_of, path_if_shown, record_with_path};
use stet_newsroom::access::ObjectVisibility;
use stet_newsroom::caller::{Warning, shown_name};
use stet_newsroom::records::{
    CachedRecord, Display, FilterValues, ListingPage, ObjectRecord, PageCollector, RecordFilter, Sort, outline,
};
use stet_sysconfig::ObjectTypes;
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::etag::{ETag, hash_of_json};
use stet_web::listing::{Listing, ListingEntries, ListingSource, NoItem};
use stet_web::pieces::no_room;
use stet_web::reply::Json;

use super::FolderReply;

/// The kind of objects that a listing of a folder contains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderListingKind {
    All,
    Folders,
}

/// The filter, order and page of a listing.
pub(crate) struct ListingSelection {
    pub filter: RecordFilter,
    pub sort: Sort,
    pub page: ListingPage,
}

impl ListingSelection {
    /// Reads the selection from the query of a listing whose objects lie in `database`.
    ///
    /// # Errors
    /// `InvalidParameter`.
    pub(crate) fn of_query(call: &Call, database: DatabaseId) -> Result<ListingSelection> {
        let sort = Sort::parse(call.query.text("sortBy"))?;
        let filter = filter_of(call, call.query.filters(), database)?;
        Ok(ListingSelection { filter, sort, page: call.query.page() })
    }
}

/// Reads the filters of a listing whose objects lie in `database`.
///
/// # Errors
/// `InvalidParameter`.
pub(crate) fn filter_of(call: &Call, values: FilterValues, database: DatabaseId) -> Result<RecordFilter> {
    let types = call.app.sysconfig.object_types(database);
    let filter = RecordFilter::of(values.clone(), types.clone())?;
    warn_of_values(call, &values, &types, database);
    Ok(filter)
}

/// The largest number of unknown values of one filter that are reported. Each is compared with all
/// known names, on the thread of the request.
const MOST_REPORTED: usize = 3;

/// Warns of types, statuses and families that the configuration does not know: most likely they
/// were misspelt.
fn warn_of_values(call: &Call, values: &FilterValues, types: &ObjectTypes, database: DatabaseId) {
    let FilterValues { types: of_type, statuses, families, .. } = values;
    if of_type.is_empty() && statuses.is_empty() && families.is_empty() {
        return;
    }
    let workflows = call.app.sysconfig.workflows(database);
    let report = |name: &str, given: &[String], known: &[&str], is_known: &dyn Fn(&str) -> bool| {
        let unknown = given.iter().filter(|value| !value.is_empty() && !is_known(value));
        for value in unknown.take(MOST_REPORTED) {
            let message = format!("The configuration does not know the {name} `{}`.", shown_name(value));
            let nearest = nearest_name(value, known.iter().copied()).map(str::to_owned);
            call.warn(Warning::new(name, message).with_nearest(nearest));
        }
    };
    let known: Vec<&str> = types.iter().map(|known| &*known.name).collect();
    report("type", of_type, &known, &|value| types.get(value).is_some());
    let known = workflows.iter().flat_map(|workflow| &workflow.statuses).map(|status| &*status.name);
    let known: Vec<&str> = known.collect();
    report("status", statuses, &known, &|value| known.contains(&value));
    let known: Vec<&str> = types.iter().map(|known| known.family.name()).collect();
    report("family", families, &known, &|value| known.iter().any(|known| known.eq_ignore_ascii_case(value)));
}

/// Returns the objects in a folder as a reply.
///
/// # Errors
/// `InvalidParameter`; `Overloaded` if there is not enough memory; errors of the store.
pub(crate) async fn listing(call: Call, folder: &CachedRecord, kind: FolderListingKind) -> Result<Json<FolderReply>> {
    let (selection, display) = (ListingSelection::of_query(&call, folder.loid.database)?, call.display());
    let (entries, total) = entries(&call, folder, kind, selection).await?;
    let path = path_if_shown(&call.app, folder, &display)?;
    let info = record_with_path(&call.app, folder, &display, path.as_deref()).await?;
    let entries = FolderEntries::new(entries, path, display);
    reply(call, folder, info, entries, total).await
}

/// Builds the reply about a folder with these entries. `total` is the number of all.
///
/// # Errors
/// `Overloaded` if there is not enough memory; errors of the store.
pub(crate) async fn reply(
    call: Call,
    folder: &CachedRecord,
    info: ReadyJson<ObjectRecord>,
    entries: FolderEntries,
    total: usize,
) -> Result<Json<FolderReply>> {
    let of_folder = hash_of_json(&info).await?;
    let listing = Listing::of(&call, entries.list(), |items, _| FolderReply { info, items, total }).await?;
    let of = RevisionTag::of(folder);
    let tag = match listing.whole() {
        Some(whole) => whole.tag(of),
        None => ETag::new(of, (of_folder, entries.facts(&call).await?, total)),
    };
    Ok(listing.answer(call).with_etag(tag))
}

/// Objects in a folder, or below it.
#[derive(Clone)]
pub(crate) struct FolderEntries {
    pub loids: Rc<[Loid]>,
    /// The folder's path, if paths are shown and all entries lie directly in the folder.
    path: Option<Rc<str>>,
    pub display: Display,
}

impl FolderEntries {
    /// Creates the entries of a listing. `path` is the folder's, if paths are shown and all entries
    /// lie directly in the folder.
    pub(crate) fn new(loids: Vec<Loid>, path: Option<String>, display: Display) -> FolderEntries {
        FolderEntries { loids: loids.into(), path: path.map(Rc::from), display }
    }

    /// Lists the entries as records.
    pub(crate) fn list(
        &self,
    ) -> impl ListingSource<Item = ReadyJson<ObjectRecord>, Failed = NoItem, Fault = Error> + use<> {
        let entries = self.clone();
        ListingEntries::of(Rc::clone(&self.loids), async move |call: &Call, loid: &Loid, _| -> Result<_> {
            let Some((entry, path)) = entries.seen(call, *loid)? else { return Ok(None) };
            record_with_path(&call.app, &entry, &entries.display, path.as_deref()).await.map(Some)
        })
    }

    /// Returns an entry as the caller sees it, and its path if paths are shown. `None` for an
    /// object that was deleted since the names were read, or that the caller may not see.
    pub(crate) fn seen(&self, call: &Call, loid: Loid) -> Result<Option<(Arc<CachedRecord>, Option<String>)>> {
        let Some(entry) = call.app.records.get(&call.app.repository, loid)? else { return Ok(None) };
        let Some(entry) = call.as_seen(entry)? else { return Ok(None) };
        let path = match &self.path {
            Some(path) => Some(format!("{}/{}", path.trim_end_matches('/'), entry.record.name)),
            None => path_if_shown(&call.app, &entry, &self.display)?,
        };
        Ok(Some((entry, path)))
    }

    /// Returns a hash of all that the entries show. It is part of the ETag of a reply that is too
    /// large to be hashed as a whole.
    pub(crate) async fn facts(&self, call: &Call) -> Result<u64> {
        let (app, mut timer) = (&call.app, YieldTimer::start());
        let mut hasher = DefaultHasher::new();
        (&self.display, &self.path).hash(&mut hasher);
        for loid in &*self.loids {
            timer.yield_if_due().await;
            let Some(record) = app.records.record(&app.repository, *loid)? else { continue };
            let record = match call.access().seen(&record)? {
                ObjectVisibility::Whole => record,
                ObjectVisibility::OnTheWay => outline(&record),
                ObjectVisibility::Nothing => continue,
            };
            (loid, record.revision, locker_of(app, &record)).hash(&mut hasher);
            // An outline has no revision, so name and type are hashed as well.
            (&record.name, &record.type_name).hash(&mut hasher);
        }
        Ok(hasher.finish())
    }
}

/// The largest number of names that are read on the thread of the call. More are read on another
/// thread.
const NAMES_AT_ONCE: usize = 256;

/// Returns the selected page of the objects in a folder that the caller sees, in order, and the
/// number of all that pass the filter.
///
/// Reads of each object only what order, filter and the caller's rights need, and no attributes.
/// The memory for the entries is charged to the replies that wait for their clients.
///
/// # Errors
/// `Overloaded` if there is not enough memory; errors of the store.
pub(crate) async fn entries(
    call: &Call,
    folder: &Record,
    kind: FolderListingKind,
    ListingSelection { filter, sort, page }: ListingSelection,
) -> Result<(Vec<Loid>, usize)> {
    let (app, access) = (&call.app, call.access());
    // The right to read a folder extends to everything below it.
    let all = access.sees_all() || access.may(Privilege::Read, folder)?;
    let as_named = all && kind == FolderListingKind::All && sort.keeps_order() && filter.is_empty();
    let mut gathering = PageCollector::new(sort, page, call.reply_memory());
    // A page in the order of names needs no names behind it.
    let most = if as_named { page.end() } else { usize::MAX };
    let loids = names(app, folder.loid, most).await?;
    if !gathering.counts(size_of_val(&*loids)) {
        return Err(no_room());
    }
    if as_named {
        let total = if loids.len() < most { loids.len() } else { total(app, folder.loid)? };
        return Ok((page.cut(loids), total));
    }
    let mut timer = YieldTimer::start();
    for loid in loids {
        timer.yield_if_due().await;
        let Some(record) = app.records.record(&app.repository, loid)? else { continue };
        if kind != FolderListingKind::All && record.family != FamilyKind::Folder {
            continue;
        }
        // Order and filter reveal the values that they use, so they get only what the caller may
        // see.
        let record = match if all { ObjectVisibility::Whole } else { access.seen(&record)? } {
            ObjectVisibility::Whole => record,
            ObjectVisibility::OnTheWay => outline(&record),
            ObjectVisibility::Nothing => continue,
        };
        if filter.accepts(&record) && !gathering.push(&record) {
            return Err(no_room());
        }
    }
    Ok(gathering.page().await)
}

fn unlisted(error: StoreError) -> Error {
    tracing::error!(%error, "a folder can't be listed");
    Error::internal()
}

/// Returns at most `most` objects in a folder by name, all as of one moment.
pub(crate) async fn names(app: &App, folder: Loid, most: usize) -> Result<Vec<Loid>> {
    let at_once = most.min(NAMES_AT_ONCE);
    let few = children(app.repository.look(), ReadLevel::Committed, folder, at_once).map_err(unlisted)?;
    let (loids, true) = few else { return Ok(few.0) };
    if loids.len() == most {
        return Ok(loids);
    }
    let repository = app.repository.clone();
    let read = move || children(repository.look(), ReadLevel::Committed, folder, most);
    Ok(offload::offload(read).await?.map_err(unlisted)?.0)
}

/// Returns the number of objects in a folder.
fn total(app: &App, folder: Loid) -> Result<usize> {
    let total = names_in(app.repository.look(), ReadLevel::Committed, folder).map_err(unlisted)?;
    Ok(usize::try_from(total).unwrap_or(usize::MAX))
}
