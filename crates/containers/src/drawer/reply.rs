//! Replies about drawers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use stet_auth::Privilege;
use stet_base::json::ChangeAnswer;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::drawer::{Drawer, DrawerItemAddress, DrawerMoveResult, DrawerState, Item, ItemPositions};
use stet_domain::error::{Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::family::State;
use stet_domain::id::Loid;
use stet_endpoint::kept::{RecordCopies, Renderings, ReplyLookup};
use stet_endpoint::records::RemovedObject;
use stet_endpoint::records::{
    BulkError, any_record_of, info_of, locker_of, path_if_shown, record_with_path as shown_record,
};
use stet_newsroom::access::Access;
use stet_newsroom::caller::SeenView;
use stet_newsroom::records::Display;
use stet_newsroom::records::ListingPage;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::listing::{EntryStep, Listing, ListingEntries, ListingSource, NoItem};
use stet_web::minimal::MinimalItem;
use stet_web::prefer::PreferredReply;
use stet_web::reply::Json;
use stet_web::steps::WHOLE;

use super::types::{ChangedDrawer, DrawerInfo, DrawerItem, DrawerReply, MoveRevisions, RemovedDrawer};

/// Bytes up to which the reply for a drawer is kept whole: some 1,500 items. A larger one is built
/// for each call, while it is sent.
const WHOLE_KEPT: usize = 2 << 20;

/// The committed state of a drawer, for a caller who may read it.
pub(super) type DrawerView = SeenView<Drawer>;

pub(super) async fn info(
    call: &Call,
    view: &DrawerView,
    seen: &SeenItems<'_>,
    display: &Display,
) -> Result<DrawerInfo> {
    let (app, state) = (&call.app, &view.state);
    let (count, hidden) = seen.counts();
    let head = state.head();
    Ok(DrawerInfo {
        record: info_of(app, state, display).await?,
        capacity: head.capacity,
        count,
        hidden,
        automatic: head.automatic,
        title: head.title.clone(),
        description: head.description.clone(),
    })
}

/// The items of a drawer that a caller sees.
pub(super) enum SeenItems<'v> {
    /// All items, without a check of each.
    All(&'v DrawerState),
    /// The items that passed the check.
    Some(Vec<&'v Item>),
}

impl<'v> SeenItems<'v> {
    /// Returns the number of visible items, and of items hidden because of the recycle bin. Items
    /// that the caller may not read count in neither.
    fn counts(&self) -> (usize, usize) {
        match self {
            SeenItems::All(drawer) => (drawer.count(), drawer.hidden()),
            SeenItems::Some(seen) => (seen.len(), 0),
        }
    }

    /// Returns a page of the items, with their positions among all.
    pub(super) fn page(&self, page: ListingPage) -> Vec<(usize, &'v Item)> {
        let cut =
            |items: &mut dyn Iterator<Item = &'v Item>| items.enumerate().skip(page.offset).take(page.limit).collect();
        match self {
            SeenItems::All(drawer) => cut(&mut drawer.visible()),
            SeenItems::Some(seen) => cut(&mut seen.iter().copied()),
        }
    }
}

/// Returns the items that the caller sees. Unless the caller may read everything, each item is
/// checked, which should be done once for a reply.
pub(super) async fn seen<'v>(call: &Call, view: &'v DrawerView) -> Result<SeenItems<'v>> {
    if call.access().sees_all() {
        return Ok(SeenItems::All(&view.state));
    }
    let (mut seen, mut timer) = (Vec::new(), YieldTimer::start());
    let access = call.access().knowing_home()?;
    for item in view.state.visible() {
        timer.yield_if_due().await;
        if sees(call, access, item)? {
            seen.push(item);
        }
    }
    Ok(SeenItems::Some(seen))
}

/// Reports whether the caller may read an item's object, in the recycle bin or not: the view alone
/// determines which items are visible. The object may have been discarded since the view was
/// published, after other changes of the drawer that the reply does not show either.
fn sees(call: &Call, access: Access<'_>, item: &Item) -> Result<bool> {
    if access.sees_all() {
        return Ok(true);
    }
    let repository = &call.app.repository;
    if let Some(record) = call.app.records.record(repository, item.object)? {
        return access.may(Privilege::Read, &record);
    }
    repository.any_record(item.object)?.map_or(Ok(false), |record| access.may(Privilege::Read, &record))
}

/// Renders an item with the record of its object. An item whose object was destroyed since the view
/// was published is left out, as in the next view. In a late piece, items are left out, too, that
/// the caller may not read any more, or whose objects are in the recycle bin now. `is_changed`
/// means that the change was about the item, which is shown even in the recycle bin.
///
/// The second value is the copy of the record that the item shows.
async fn drawer_item(
    call: &Call,
    &(position, item): &(usize, Item),
    display: &Display,
    late: bool,
    is_changed: bool,
) -> Result<(Option<DrawerItem>, Option<u64>)> {
    if late && !sees(call, call.access(), &item)? {
        return Ok((None, None));
    }
    let app = &call.app;
    let cached = app.records.get(&app.repository, item.object)?;
    let object = match &cached {
        Some(cached) => {
            let path = path_if_shown(app, cached, display)?;
            Some(shown_record(app, cached, display, path.as_deref()).await?)
        }
        None if late && !is_changed => None,
        None => any_record_of(call, item.object, display).await?,
    };
    let object = object.map(|object| DrawerItem { id: item.shortcut, position, source: item.object, object });
    Ok((object, cached.map(|cached| cached.copy())))
}

/// Lists items of a drawer with the records of their objects. `note` is called with each object and
/// the copy of its record from which the first piece of the reply was rendered.
pub(super) fn list_items<N: FnMut((Loid, Option<u64>)) + 'static>(
    items: Vec<(usize, &Item)>,
    display: &Display,
    mut note: N,
) -> impl ListingSource<Item = DrawerItem, Failed = NoItem, Fault = Error> + use<N> {
    let display = display.clone();
    let items: Vec<(usize, Item)> = items.into_iter().map(|(position, item)| (position, *item)).collect();
    ListingEntries::of(items, async move |call: &Call, item: &(usize, Item), step: EntryStep| -> Result<_> {
        let (shown, copy) = drawer_item(call, item, &display, step.late, false).await?;
        if !step.late {
            note((item.1.object, copy));
        }
        Ok(shown)
    })
}

/// Lists the failed sources of a bulk removal, and the items that a change was about.
fn list_changed_items(
    items: Vec<(usize, &Item)>,
    errors: Option<Vec<BulkError>>,
    display: &Display,
) -> impl ListingSource<Item = DrawerItem, Failed = BulkError, Fault = Error> + use<> {
    let display = display.clone();
    let errors: Vec<_> = errors.into_iter().flatten().map(|error| Err(Box::new(error))).collect();
    let beside = errors.iter().filter_map(|error| error.as_ref().err()).map(|error| error.bytes()).sum();
    let items = items.into_iter().map(|(position, item)| Ok((position, *item)));
    let entries: Vec<Result<(usize, Item), Box<BulkError>>> = errors.into_iter().chain(items).collect();
    let render = async move |call: &Call, entry: &Result<_, Box<BulkError>>, step: EntryStep| -> Result<_> {
        Ok(match entry {
            Ok(item) => Ok(drawer_item(call, item, &display, step.late, true).await?.0),
            Err(error) => Err(BulkError::clone(error)),
        })
    };
    ListingEntries::of(entries, render).beside(beside)
}

/// Returns a hash of everything that a reply shows of items, for the ETag of a reply too large to
/// hash as a whole.
async fn facts_of_items(call: &Call, items: Vec<(usize, &Item)>, display: &Display) -> Result<u64> {
    let (app, mut timer) = (&call.app, YieldTimer::start());
    let mut hasher = DefaultHasher::new();
    display.hash(&mut hasher);
    for (position, item) in items {
        timer.yield_if_due().await;
        let record = match app.records.record(&app.repository, item.object)? {
            Some(record) => Some(record),
            None => app.repository.any_record(item.object)?,
        };
        let path = record.as_ref().map(|record| path_if_shown(app, record, display)).transpose()?;
        (position, item.shortcut, item.object, path).hash(&mut hasher);
        record.map(|record| (record.revision, locker_of(app, &record))).hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// The reply to a change: the drawer right after it, and the given items. The display options are
/// read beforehand, because a call with wrong options must change nothing.
pub(super) struct WholeReply {
    listing: Listing<DrawerReply>,
    tag: RevisionTag,
}

impl WholeReply {
    /// Builds the reply with items, and the failed sources of a bulk removal; completed by `more`.
    /// `seen` is the caller's view of the drawer, if that has been determined.
    pub(super) async fn of(
        call: &Call,
        view: &DrawerView,
        seen: Option<SeenItems<'_>>,
        (items, errors): (Vec<(usize, &Item)>, Option<Vec<BulkError>>),
        display: &Display,
        more: impl FnOnce(DrawerReply) -> DrawerReply,
    ) -> Result<WholeReply> {
        let seen = match seen {
            Some(seen) => seen,
            None => self::seen(call, view).await?,
        };
        let info = info(call, view, &seen, display).await?;
        drop(seen);
        let is_bulk = errors.is_some();
        let items = list_changed_items(items, errors, display);
        let reply =
            |items, errors| more(DrawerReply { info, items, errors: is_bulk.then_some(errors), revisions: None });
        let listing = Listing::of(call, items, reply).await?;
        Ok(WholeReply { listing, tag: tag_of(view) })
    }

    /// Converts to the reply with its ETag.
    pub(super) fn answer(self, call: Call) -> Json<DrawerReply> {
        self.listing.answer(call).with_etag(ETag::new(self.tag, "change"))
    }
}

/// The reply to a change: whole, or minimal if the client prefers that.
pub(super) enum ChangeReply {
    Whole(Box<WholeReply>),
    Minimal(PreferredReply<DrawerReply>),
}

impl ChangeReply {
    /// Builds the reply; the arguments are as for [`WholeReply::of`].
    pub(super) async fn of(
        call: &Call,
        view: &DrawerView,
        seen: Option<SeenItems<'_>>,
        items: Vec<(usize, &Item)>,
        display: &Display,
        more: impl FnOnce(DrawerReply) -> DrawerReply,
    ) -> Result<ChangeReply> {
        let short = items.iter().map(|(position, item)| MinimalItem {
            id: item.shortcut,
            position: *position,
            source: item.object,
        });
        Ok(match call.minimal_with(tag_of(view), short.collect()).await? {
            Some(minimal) => ChangeReply::Minimal(minimal),
            None => ChangeReply::Whole(Box::new(WholeReply::of(call, view, seen, (items, None), display, more).await?)),
        })
    }

    /// Converts to the reply with its ETag.
    pub(super) fn answer(self, call: Call) -> PreferredReply<DrawerReply> {
        match self {
            ChangeReply::Whole(whole) => whole.answer(call).into(),
            ChangeReply::Minimal(minimal) => minimal,
        }
    }
}

fn tag_of(view: &DrawerView) -> RevisionTag {
    RevisionTag::of(&view.state.object().record)
}

/// Builds the reply to a change of the given items.
pub(super) async fn changed(
    call: &Call,
    view: &DrawerView,
    items: &ItemPositions,
    display: &Display,
) -> Result<ChangeReply> {
    let seen = seen(call, view).await?;
    let shown = shown_of_change(call, view, &seen, items).await?;
    ChangeReply::of(call, view, Some(seen), shown, display, |drawer| drawer).await
}

/// Builds the reply to a move: the target, and the revisions of both drawers right after it.
pub(super) async fn moved_reply(
    call: &Call,
    view: &DrawerView,
    items: &ItemPositions,
    moved: &DrawerMoveResult,
) -> Result<ChangeReply> {
    let revisions = MoveRevisions { source: moved.source_revision, target: moved.target_revision };
    let seen = seen(call, view).await?;
    let shown = shown_of_change(call, view, &seen, items).await?;
    let more = |drawer| DrawerReply { revisions: Some(revisions), ..drawer };
    ChangeReply::of(call, view, Some(seen), shown, &call.display(), more).await
}

/// Builds the reply to a change of a drawer that does not exist any more, or not for the caller.
pub(super) fn gone_reply(drawer: Loid) -> Result<PreferredReply<ChangedDrawer>> {
    let gone = ChangeAnswer::Gone(RemovedDrawer { info: RemovedObject { id: drawer.to_string() }, items: [] });
    Json::of(&gone).map(PreferredReply::from)
}

/// Returns the items of a change that the caller sees, with their positions as the caller counts
/// them.
async fn shown_of_change<'i>(
    call: &Call,
    view: &DrawerView,
    seen: &SeenItems<'_>,
    items: &'i ItemPositions,
) -> Result<Vec<(usize, &'i Item)>> {
    let SeenItems::Some(seen) = seen else {
        return Ok(items.iter().map(|(position, item)| (*position, item)).collect());
    };
    let mut shown = Vec::with_capacity(items.len());
    if items.is_empty() {
        return Ok(shown);
    }
    let (mut places, mut timer) = (HashMap::with_capacity(seen.len()), YieldTimer::start());
    for (place, item) in seen.iter().enumerate() {
        timer.yield_if_due().await;
        places.insert(item.shortcut, place);
    }
    let access = call.access().knowing_home()?;
    for (_, item) in items {
        timer.yield_if_due().await;
        let place = places.get(&item.shortcut).copied();
        let taken_out = place.is_none() && view.state.find(DrawerItemAddress::Shortcut(item.shortcut)).is_none();
        if place.is_some() || (taken_out && sees(call, access, item)?) {
            shown.push((place.unwrap_or(0), item));
        }
    }
    Ok(shown)
}

/// Whole replies for small drawers, with all of their items or with none.
pub type RenderedDrawers = Renderings<Drawer, bool, DrawerReply>;

/// Replies to a read. Callers who do not see everything have replies of their own; pages and large
/// drawers are rendered anew.
///
/// # Errors
/// Errors of the store; `Overloaded`.
pub(super) async fn read(call: Call, view: &DrawerView, page: ListingPage) -> Result<Json<DrawerReply>> {
    let display = call.display();
    let with_items = match page {
        ListingPage { limit: 0, .. } => Some(false),
        ListingPage { offset: 0, limit: usize::MAX } => Some(true),
        _ => None,
    };
    let part = with_items.filter(|_| call.access().sees_all());
    let kept = call.app.kept::<RenderedDrawers>();
    let asked = kept.ask(&call.app, view, &display, part)?;
    let asked = match asked {
        ReplyLookup::Kept(kept) => return Ok(kept.answer(&call)),
        ReplyLookup::Missing(missing) => missing,
    };
    let seen = seen(&call, view).await?;
    let info = info(&call, view, &seen, &display).await?;
    let reply = |items, _| DrawerReply { info, items, errors: None, revisions: None };
    let copies = Rc::new(RefCell::new(RecordCopies::new()));
    let noted = Rc::clone(&copies);
    let items = list_items(seen.page(page), &display, move |copy| noted.borrow_mut().push(copy));
    let whole = if asked.is_kept() { WHOLE_KEPT } else { WHOLE };
    let listing = Listing::up_to(whole, &call, items, reply).await?;
    let copies = copies.take();
    if let Some(whole) = listing.whole().cloned() {
        return Ok(kept.keep(asked, view, whole, copies).answer(&call));
    }
    let tag = ETag::new(tag_of(view), facts_of_items(&call, seen.page(page), &display).await?);
    Ok(listing.answer(call).with_etag(tag))
}

/// Replies to a read of a past state, which is kept nowhere.
///
/// # Errors
/// Errors of the store; `Overloaded`.
pub(super) async fn read_past(call: Call, view: &DrawerView, page: ListingPage) -> Result<Json<DrawerReply>> {
    let display = call.display();
    let seen = seen(&call, view).await?;
    let info = info(&call, view, &seen, &display).await?;
    let reply = |items, _| DrawerReply { info, items, errors: None, revisions: None };
    let listing = Listing::of(&call, list_items(seen.page(page), &display, |_| ()), reply).await?;
    let tag = ETag::new(tag_of(view), facts_of_items(&call, seen.page(page), &display).await?);
    Ok(listing.answer(call).with_etag(tag))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;
    use stet_auth::{Grant, Rights};
    use stet_domain::drawer::NewDrawer;
    use stet_domain::id::DatabaseId;
    use stet_domain::lifecycle::{DiscardObject, NewObject};
    use stet_domain::object::Reach;
    use stet_endpoint::records::{BulkFailures, BulkReply};
    use stet_newsroom::testing::by_editor;

    use super::*;
    use stet_web::testing::ServerFixture;

    /// A drawer with that many stories, and a caller who may read none of them.
    async fn filled(fixture: &ServerFixture, stories: usize) -> DrawerView {
        let mut items = Vec::new();
        for number in 0..stories {
            items.push(fixture.create(NewObject::document(&format!("{number}.xml"), "Story")).await);
        }
        let new = NewDrawer { items, ..NewDrawer::empty(10_000) };
        let drawer = fixture.create(NewObject::of::<Drawer>("d", "Drawer", new)).await;
        SeenView::of_test(fixture.app.repository.view::<Drawer>(drawer).await.expect("it is there"))
    }

    #[actix_web::test]
    async fn others_have_their_turns_while_each_item_of_a_drawer_is_looked_at() {
        let fixture = ServerFixture::of(crate::surface).await;
        let (call, view) = (fixture.call_of("drawer-get"), filled(&fixture, 1_000).await);
        let turns = Cell::new(0);
        let others = async {
            loop {
                turns.set(turns.get() + 1);
                tokio::task::yield_now().await;
            }
        };
        let seen = tokio::select! {
            biased;
            seen = seen(&call, &view) => seen.expect("the store reads"),
            () = others => unreachable!("they have no end"),
        };
        assert_eq!((seen.counts(), view.state.count()), ((0, 0), 1_000));
        assert!(turns.get() > 1, "{}", turns.get());
    }

    #[actix_web::test]
    async fn items_discarded_since_the_view_was_published_are_shown_with_it() {
        let fixture = ServerFixture::of(crate::surface).await;
        let (call, view) = (fixture.call_of("drawer-get"), filled(&fixture, 2).await);
        let root = stet_domain::folder::root(DatabaseId::FIRST);
        let user = "ada".into();
        let grants = [Grant { privilege: Privilege::Read, folder: Some(root.to_string()) }];
        let rights = Rights::sum(&grants, |folder| Ok::<_, Error>(folder.parse().ok())).expect("grants add up");
        let access = Access::of_user(&fixture.newsroom, &user, &rights, true);
        let first = view.state.visible().next().expect("it has items");
        assert!(!access.sees_all() && sees(&call, access, first).expect("the store reads"));
        let discard = DiscardObject { object: first.object, reach: Reach::All };
        fixture.repository.joint(discard, by_editor()).await.expect("it can be discarded");
        assert!(sees(&call, access, first).expect("the store reads"));
        assert!(!sees(&call, Access::anonymous(&fixture.newsroom), first).expect("the store reads"));
    }

    #[actix_web::test]
    async fn failed_sources_are_reported_in_order_and_counted_in_the_reply_size() {
        let fixture = ServerFixture::of(crate::surface).await;
        let call = fixture.call_of("drawer-get");
        let sources: Vec<String> = (0..100).map(|number| format!("/{number}{}", "x".repeat(400))).collect();
        let errors = sources.iter().map(|source| BulkFailures::of(&call).describe(source, Error::not_found(source)));
        let display = Display::with_defaults(false);
        assert_eq!(list_changed_items(Vec::new(), None, &display).bytes(), 0);
        let items = list_changed_items(Vec::new(), Some(errors.collect()), &display);
        assert!(items.bytes() > 100 * 800, "{}", items.bytes());
        let listing = Listing::of(&call, items, |items, errors| BulkReply { items, errors }).await;
        let reply = listing.expect("the store reads").answer(call).result();
        let reported = reply["errors"].as_array().expect("there are errors").iter().map(|error| &error["source"]);
        assert!(reported.eq(&sources) && reply["items"] == json!([]), "{reply}");
    }
}
