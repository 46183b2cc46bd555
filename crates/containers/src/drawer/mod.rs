//! Drawers (docs/api/drawers.md).

use stet_actors::runtime::JointResult;
use stet_base::limits::yielding::YieldTimer;
use stet_config::for_user;
use stet_domain::command::Command;
use stet_domain::drawer::{self, Drawer, DrawerItemAddress, Item, ItemPositions, NewDrawer, UpdateDrawer};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, Loid, ObjectSource, ShortcutId};
use stet_domain::lifecycle::{CreateResult, NewParts};
use stet_domain::object::{CreateMode, FamilyKind, HolderCursor, SharedText};
use stet_domain::store::ReadLevel;
use stet_endpoint::records::{BulkBuilder, BulkParts};
use stet_endpoint::requests::{BulkSources, CreateOptions, ObjectListRequest, database_named, folder_source};
use stet_newsroom::attribute_input::attribute_text;
use stet_newsroom::caller::{NamedContainer, PastTurn, SeenView};
use stet_newsroom::creation::{Creation, CreationKind, CreationPlace};
use stet_newsroom::records::{Display, ListingPage, PageCollector, Sort};
use stet_web::call::Call;
use stet_web::listing::{Listing, NestedItem};
use stet_web::pieces::no_room;
use stet_web::prefer::PreferredReply;
use stet_web::reply::Json;

mod reply;
pub mod routes;
mod types;

pub use self::reply::RenderedDrawers;
use self::reply::{ChangeReply, WholeReply, changed, gone_reply, info, list_items, moved_reply, read, read_past, seen};
pub use self::types::{ChangedDrawer, CreateDrawer, DrawerListing, DrawerReply, UpdateRequest};

use crate::history::past_moment;

/// Name of the type of drawers in the objecttypes family.
const TYPE_NAME: &str = "Drawer";

/// The drawer that the path names, with its call.
struct DrawerCall<'c> {
    call: &'c Call,
    drawer: NamedContainer<Drawer>,
}

impl<'c> DrawerCall<'c> {
    fn of(call: &'c Call) -> Result<DrawerCall<'c>> {
        Ok(DrawerCall { call, drawer: call.container::<Drawer>("source")? })
    }

    /// Resolves an item by its shortcut id or its object. The command determines whether it exists
    /// for the caller, and which item is at a position that they name.
    fn address(&self, parameter: &str, text: &str, database: DatabaseId) -> Result<DrawerItemAddress> {
        if let Ok(shortcut) = text.parse::<ShortcutId>() {
            return Ok(DrawerItemAddress::Shortcut(shortcut));
        }
        let source = ObjectSource::parse(parameter, text)?;
        Ok(DrawerItemAddress::Object(self.call.find(&source, database)?.loid))
    }

    /// Resolves an item that the path names.
    fn item(&self, parameter: &str) -> Result<DrawerItemAddress> {
        self.address(parameter, self.call.param(parameter), self.call.database()?)
    }

    async fn change<C: Command<Family = Drawer, Reply = ItemPositions>>(&self, command: C) -> Result<ChangeReply> {
        let display = self.call.display_of_body().await?;
        let done = self.call.change(&self.drawer, command).await?;
        changed(self.call, &done.view, &done.reply, &display).await
    }
}

/// `POST /v3/container/drawer/{source}/item/{item}`
pub async fn add_item(call: Call) -> Result<PreferredReply<DrawerReply>> {
    let target = DrawerCall::of(&call)?;
    let items = vec![target.item("item")?];
    Ok(target.change(drawer::AddDrawerItems { items }).await?.answer(call))
}

/// `POST /v3/container/drawer/{source}/item`
pub async fn add_items(call: Call) -> Result<PreferredReply<DrawerReply>> {
    let BulkSources { given, database } = ObjectListRequest::of(&call).await?;
    let target = DrawerCall::of(&call)?;
    let (mut items, mut timer) = (Vec::with_capacity(given.len()), YieldTimer::start());
    for source in &given {
        timer.yield_if_due().await;
        items.push(target.address("sources", source, database)?);
    }
    Ok(target.change(drawer::AddDrawerItems { items }).await?.answer(call))
}

/// `PUT /v3/container/drawer/{source}/item/{item}/position/{position}`
pub async fn position_item(call: Call) -> Result<PreferredReply<DrawerReply>> {
    let target = DrawerCall::of(&call)?;
    let (item, position) = (target.item("item")?, call.integer("position")?);
    Ok(target.change(drawer::PlaceDrawerItem { item, position }).await?.answer(call))
}

/// `PUT /v3/container/drawer/{source}/shortcut/{shortcut}/position/{position}`
pub async fn position_shortcut(call: Call) -> Result<PreferredReply<DrawerReply>> {
    let target = DrawerCall::of(&call)?;
    let (item, position) = (target.item("shortcut")?, call.integer("position")?);
    Ok(target.change(drawer::ShiftDrawerItem { item, position }).await?.answer(call))
}

/// `DELETE /v3/container/drawer/{source}/item/{item}`
pub async fn delete_item(call: Call) -> Result<PreferredReply<DrawerReply>> {
    let (target, display) = (DrawerCall::of(&call)?, call.display_of_body().await?);
    let items = vec![target.item("item")?];
    let done = call.change(&target.drawer, drawer::RemoveDrawerItems { items, strict: true }).await?;
    let items = removed(&done.reply.items).collect();
    let reply = ChangeReply::of(&call, &done.view, None, items, &display, |drawer| drawer).await?;
    Ok(reply.answer(call))
}

/// Removed items, with the positions that they had for the caller.
fn removed(items: &ItemPositions) -> impl Iterator<Item = (usize, &Item)> {
    items.iter().map(|(position, item)| (*position, item))
}

/// `DELETE /v3/container/drawer/{source}/item`
pub async fn delete_items(call: Call) -> Result<Json<DrawerReply>> {
    let BulkSources { given, database } = ObjectListRequest::of(&call).await?;
    let (target, display) = (DrawerCall::of(&call)?, call.display_of_body().await?);
    let mut bulk = BulkBuilder::of(&call, &given);
    let (mut items, mut places) = (Vec::new(), Vec::new());
    let mut timer = YieldTimer::start();
    for (place, source) in given.iter().enumerate() {
        timer.yield_if_due().await;
        match target.address("sources", source, database) {
            Ok(address) => {
                items.push(address);
                places.push(place);
            }
            Err(error) => bulk.note(place, Err(error)),
        }
    }
    let done = call.change(&target.drawer, drawer::RemoveDrawerItems { items, strict: false }).await?;
    let drawer::DrawerRemovalResult { items, errors } = done.reply;
    // Each of the others was removed, in their order.
    let (mut taken, mut missing) = (items.into_iter(), errors.into_iter().peekable());
    for (index, place) in places.into_iter().enumerate() {
        let outcome = match missing.next_if(|(at, _)| *at == index) {
            Some((_, error)) => Err(error),
            None => taken.next().ok_or_else(Error::internal),
        };
        bulk.note(place, outcome);
    }
    let BulkParts { items, errors } = bulk.parts();
    let items = removed(&items).collect();
    // Always complete, whatever the client prefers, because it contains the errors.
    let reply = WholeReply::of(&call, &done.view, None, (items, Some(errors)), &display, |drawer| drawer).await?;
    Ok(reply.answer(call))
}

/// `PUT /v3/container/drawer/{source}/item/clear`
pub async fn clear(call: Call) -> Result<PreferredReply<DrawerReply>> {
    let done = call.change(&call.container("source")?, drawer::ClearDrawer).await?;
    Ok(changed(&call, &done.view, &Vec::new(), &call.display()).await?.answer(call))
}

/// `PUT /v3/container/drawer/{source}/item/{item}/move/{target}`; the reply is the target.
pub async fn move_item(call: Call) -> Result<PreferredReply<ChangedDrawer>> {
    let source = DrawerCall::of(&call)?;
    let target = call.container::<Drawer>("target")?;
    let (from, to) = (source.drawer.loid(), target.loid());
    let item = source.item("item")?;
    let JointResult { reply: moved, left } = call.change_jointly(drawer::MoveDrawerItem { item, from, to }).await?;
    let Some(view) = call.view_after::<Drawer>(to, left.as_ref()).await? else { return gone_reply(to) };
    // Others may have changed the drawer since. The item's position is that in the replied drawer.
    let now = moved.items.iter().filter_map(|(_, item)| view.state.find(DrawerItemAddress::Object(item.object)));
    let now: ItemPositions = now.map(|(position, item)| (position, *item)).collect();
    Ok(moved_reply(&call, &view, &now, &moved).await?.answer(call).shown())
}

/// Returns the items that a read shows: all, those of a page, or none.
fn page_of_items(call: &Call) -> ListingPage {
    if call.query.boolean("showItems") { call.query.page() } else { ListingPage { offset: 0, limit: 0 } }
}

/// `GET /v3/container/drawer/{source}`
pub async fn get(call: Call) -> Result<Json<DrawerReply>> {
    let drawer = call.container::<Drawer>("source")?;
    let page = page_of_items(&call);
    match past_moment(&call)? {
        None => {
            let view = call.view(&drawer).await?;
            read(call, &view, page).await
        }
        Some(moment) => {
            let turn = PastTurn::wait().await?;
            let view = call.view_at(&turn, &drawer, moment).await?;
            read_past(call, &view, page).await
        }
    }
}

/// Returns the reply to a change of the given items.
///
/// # Errors
/// Errors of the store.
pub async fn changed_reply(
    call: Call,
    view: &SeenView<Drawer>,
    items: &ItemPositions,
    display: &Display,
) -> Result<PreferredReply<DrawerReply>> {
    Ok(changed(&call, view, items, display).await?.answer(call))
}

/// `GET /v3/container/drawer/object/{source}`
pub async fn get_by_object(call: Call) -> Result<Json<DrawerListing>> {
    let app = &call.app;
    let object = call.resolve("source")?.loid;
    let sort = Sort::parse(call.query.text("sortBy"))?;
    let mut found = PageCollector::new(sort, call.query.page(), call.reply_memory());
    let access = call.access().knowing_home()?;
    let (mut holders, mut timer) = (HolderCursor::of(object), YieldTimer::start());
    while let Some(batch) = holders.batch(app.repository.look(), ReadLevel::Committed).map_err(|error| {
        tracing::error!(%error, "the containers of an object can't be listed");
        Error::internal()
    })? {
        for holder in batch {
            timer.yield_if_due().await;
            // Other kinds of containers are not listed. Neither are drawers in the recycle bin,
            // which keep their items.
            let record = app.records.record(&app.repository, holder)?;
            let Some(record) = record.filter(|record| record.family == FamilyKind::Drawer) else { continue };
            if access.sees(&record)? && !found.push(&record) {
                return Err(no_room());
            }
        }
    }
    let (drawers, total) = found.page().await;
    let limit = if call.query.boolean("showItems") { usize::MAX } else { 0 };
    let (page, display) = (ListingPage { offset: 0, limit }, call.display());
    let render = async move |call: &Call, drawer: &Loid, _| -> Result<_> {
        let view = match call.view_of::<Drawer>(*drawer).await {
            Ok(view) => view,
            // It was removed in between, or may not be seen any more.
            Err(error) if error.code == Code::ObjectNotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let seen = seen(call, &view).await?;
        let info = info(call, &view, &seen, &display).await?;
        let items = list_items(seen.page(page), &display, |_| ());
        Ok(Some(NestedItem::open(items, |items| DrawerReply { info, items, errors: None, revisions: None })))
    };
    let listing = Listing::each(&call, drawers, render, |items, _| DrawerListing { items, total }).await?;
    Ok(listing.answer(call))
}

/// Builds a new drawer from a request's body. Its sources are resolved in `database`.
async fn new_drawer(
    call: &Call,
    automatic: bool,
    request: CreateDrawer,
    (database, folder): (DatabaseId, Option<ObjectSource>),
) -> Result<Creation> {
    let app = &call.app;
    let sources = request.sources.unwrap_or_default().read(app)?;
    let mut items = Vec::with_capacity(sources.len());
    let mut timer = YieldTimer::start();
    for source in &sources {
        timer.yield_if_due().await;
        items.push(call.find(&ObjectSource::parse("sources", source)?, database)?.loid);
    }
    let capacity = request.capacity.unwrap_or_else(|| app.config.drawer.default_capacity.into());
    let new = NewDrawer {
        capacity: drawer::check_capacity(capacity)?,
        automatic,
        title: request.title.as_deref().unwrap_or_default().into(),
        description: request.description.as_deref().unwrap_or_default().into(),
        items,
        given: drawer::DrawerHeadUpdate {
            capacity: request.capacity.map(drawer::check_capacity).transpose()?,
            title: request.title,
            description: request.description,
        },
    };
    let kind = CreationKind::Container { type_name: TYPE_NAME.into(), parts: NewParts::of::<Drawer>(new) };
    let (name, mode) = CreateOptions::name_and_mode(request.name, TYPE_NAME, request.options, request.create_mode);
    Ok(Creation {
        mode,
        database,
        place: CreationPlace::Folder(folder),
        status: request.status,
        attributes: request.attributes,
        ..Creation::of(kind, name)
    })
}

/// `POST /v3/container/drawer`
pub async fn create(call: Call) -> Result<PreferredReply<ChangedDrawer>> {
    let request: CreateDrawer = call.json().await?;
    let database = database_named(&call, request.database_id.as_ref())?;
    let folder = folder_source(request.folder.as_deref(), request.folder_path.as_deref())?;
    let creation = new_drawer(&call, false, request, (database, folder)).await?;
    // Boxed, because the future is too large to hold beside the data above.
    Box::pin(make(call, creation)).await
}

/// `POST /v3/container/drawer/automatic`: the user's own drawer, created at the first call.
pub async fn create_automatic(call: Call) -> Result<PreferredReply<ChangedDrawer>> {
    let request: CreateDrawer = call.json().await?;
    let database = database_named(&call, request.database_id.as_ref())?;
    let config = &call.app.config.drawer;
    let user = call.user()?;
    let (name, folder) = (for_user(&config.automatic_name, user), for_user(&config.automatic_folder, user));
    let folder = folder_source(None, Some(&folder))?;
    let creation = new_drawer(&call, true, request, (database, folder)).await?;
    Box::pin(make(call, Creation { name, mode: CreateMode::Existing, ..creation })).await
}

async fn make(call: Call, creation: Creation) -> Result<PreferredReply<ChangedDrawer>> {
    let display = call.display_of_body().await?;
    let JointResult { reply: CreateResult { loid, .. }, left } = call.create(creation).await?;
    let Some(view) = call.view_after::<Drawer>(loid, left.as_ref()).await? else { return gone_reply(loid) };
    let items: ItemPositions = view.state.visible().copied().enumerate().collect();
    Ok(changed(&call, &view, &items, &display).await?.answer(call).shown())
}

/// `PUT /v3/container/drawer/{source}`
pub async fn update(call: Call) -> Result<PreferredReply<ChangedDrawer>> {
    let mut request: UpdateRequest = call.json().await?;
    let (drawer, display) = (call.container::<Drawer>("source")?, call.display_of_body().await?);
    let capacity = request.capacity.map(drawer::check_capacity).transpose()?;
    let command = UpdateDrawer {
        drawer: drawer.loid(),
        head: drawer::DrawerHeadUpdate { capacity, title: request.title, description: request.description },
        name: request.name,
        attributes: attribute_text(&call.app, "attributes", request.attributes.take()).await?,
        status: request.status.filter(|status| !status.is_empty()).map(SharedText::from),
    };
    let done = call.change_jointly(command).await?;
    let Some(view) = call.view_after::<Drawer>(drawer.loid(), done.left.as_ref()).await? else {
        return gone_reply(drawer.loid());
    };
    Ok(changed(&call, &view, &Vec::new(), &display).await?.answer(call).shown())
}
