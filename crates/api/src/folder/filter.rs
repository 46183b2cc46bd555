//! `GET /v3/folder/{source}/filter`: the objects in a folder, or below it, whose names match one of
//! the patterns.

use stet_auth::Privilege;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::FamilyKind;
use stet_endpoint::records::{path_if_shown, record_with_path};
use stet_newsroom::access::ObjectVisibility;
use stet_newsroom::records::{CachedRecord, NamePatterns, PageCollector, outline};
use stet_web::call::Call;
use stet_web::pieces::no_room;
use stet_web::reply::Json;

use super::listing::{FolderEntries, ListingSelection, names, reply};
use super::{FolderReply, folder_in_path};

/// The criteria of a filtered listing.
pub(crate) struct FolderFilter {
    /// Patterns, one of which must match the name.
    patterns: NamePatterns,
    exclude_folders: bool,
    show_hidden: bool,
    recursive: bool,
    /// The largest number of entries.
    how_many: usize,
    /// The family of containers that are searched recursively: folders in a folder, bundles in a
    /// bundle.
    inner: FamilyKind,
    selection: ListingSelection,
}

impl FolderFilter {
    fn of(call: &Call, selection: ListingSelection) -> Result<FolderFilter> {
        let patterns = NamePatterns::of("patternSequence", call.query.list("patternSequence"))?;
        let how_many = call.query.integer("howMany").unwrap_or(0);
        let how_many = usize::try_from(how_many)
            .map_err(|_| Error::parameter("howMany", how_many.to_string(), "0 for all, or a positive number"))?;
        Ok(FolderFilter {
            patterns,
            exclude_folders: call.query.boolean("excludeFolders"),
            show_hidden: call.query.boolean("showHidden"),
            recursive: call.query.boolean("recursive"),
            how_many: if how_many == 0 { usize::MAX } else { how_many },
            inner: FamilyKind::Folder,
            selection,
        })
    }

    /// Returns the criteria for the selected objects in a bundle.
    pub(crate) fn of_bundle(recursive: bool, selection: ListingSelection) -> FolderFilter {
        let (patterns, inner) = (NamePatterns::default(), FamilyKind::Bundle);
        FolderFilter {
            patterns,
            exclude_folders: false,
            show_hidden: true,
            recursive,
            how_many: usize::MAX,
            inner,
            selection,
        }
    }
}

/// `GET /v3/folder/{source}/filter`
pub async fn filter(call: Call) -> Result<Json<FolderReply>> {
    let folder = folder_in_path(&call)?;
    let wanted = FolderFilter::of(&call, ListingSelection::of_query(&call, folder.loid.database)?)?;
    // On the heap: the record beside it would make the future too large to be copied with each
    // call.
    Box::pin(list_filtered(call, &folder, wanted)).await
}

/// Lists the objects in a folder or bundle that meet the criteria.
///
/// # Errors
/// Those of a listing.
pub(crate) async fn list_filtered(
    call: Call,
    folder: &CachedRecord,
    wanted: FolderFilter,
) -> Result<Json<FolderReply>> {
    let (display, recursive) = (call.display(), wanted.recursive);
    let all = call.access().sees_all() || call.access().may(Privilege::Read, folder)?;
    let (found, total) = found(&call, folder.loid, all, wanted).await?;
    let path = path_if_shown(&call.app, folder, &display)?;
    let info = record_with_path(&call.app, folder, &display, path.as_deref()).await?;
    let entries = FolderEntries::new(found, path.filter(|_| !recursive), display);
    reply(call, folder, info, entries, total).await
}

/// Returns the objects of the page, and the total number. Their natural order is by name in each
/// folder, with a folder's contents directly after the folder.
async fn found(call: &Call, folder: Loid, all: bool, wanted: FolderFilter) -> Result<(Vec<Loid>, usize)> {
    let (app, access, mut timer) = (&call.app, call.access(), YieldTimer::start());
    let ListingSelection { filter, sort, mut page } = wanted.selection;
    let mut left = wanted.how_many;
    if !sort.keeps_order() {
        // The first entries are known only when all have been found.
        page.limit = page.limit.min(wanted.how_many.saturating_sub(page.offset));
        left = usize::MAX;
    }
    let mut gathering = PageCollector::new(sort, page, call.reply_memory());
    // The folders being read, the innermost last. The limit on the depth of paths bounds their
    // number.
    let mut open = vec![names(app, folder, usize::MAX).await?.into_iter()];
    while let Some(names_left) = open.last_mut() {
        timer.yield_if_due().await;
        let Some(loid) = names_left.next() else {
            open.pop();
            continue;
        };
        let Some(record) = app.records.record(&app.repository, loid)? else { continue };
        let record = match if all { ObjectVisibility::Whole } else { access.seen(&record)? } {
            ObjectVisibility::Whole => record,
            ObjectVisibility::OnTheWay => outline(&record),
            ObjectVisibility::Nothing => continue,
        };
        if !wanted.show_hidden && record.name.starts_with('.') {
            continue;
        }
        let is_inner = record.family == wanted.inner;
        let fits = !(is_inner && wanted.exclude_folders) && wanted.patterns.matches(&record.name);
        if fits && filter.accepts(&record) {
            if !gathering.push(&record) {
                return Err(no_room());
            }
            left -= 1;
            if left == 0 {
                break;
            }
        }
        if is_inner && wanted.recursive {
            let below = names(app, loid, usize::MAX).await?;
            if !gathering.counts(size_of_val(&*below)) {
                return Err(no_room());
            }
            open.push(below.into_iter());
        }
    }
    let (found, total) = gathering.page().await;
    Ok((found, total.min(wanted.how_many)))
}
