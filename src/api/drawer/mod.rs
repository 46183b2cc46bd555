//! Drawers (docs/api/drawers.md).

use stet_actors::command::Command;
use stet_actors::drawer::{self, Address, Drawer, Item, NewDrawer, Placed, UpdateDrawer};
use stet_actors::error::{Code, Error, Result};
use stet_actors::family::State;
use stet_actors::id::{DatabaseId, ShortcutId, Source};
use stet_actors::lifecycle::NewObject;
use stet_actors::object::{CreateMode, FamilyKind, containers_of};
use stet_actors::store::View;

use super::records::{Bulk, BulkReply};
use super::requests::{CreateOptions, ObjectListRequest, Sources, check_length, database_named, folder_source};
use crate::config::for_user;
use crate::give_way::GiveWay;
use crate::http::call::Call;
use crate::http::change::Container;
use crate::http::reply::Json;
use crate::records::{Page, Sort};

mod reply;
pub mod routes;
mod types;

pub(crate) use self::reply::RenderedDrawers;
use self::reply::{answer, changed, moved_reply, rendered, reply_of, shown};
pub use self::types::{CreateDrawer, DrawerListing, DrawerReply, UpdateRequest};

/// Name of the type of drawers in the objecttypes family.
const TYPE_NAME: &str = "Drawer";

/// The drawer of the path, and who calls it.
struct Desk<'c> {
    call: &'c Call,
    drawer: Container<Drawer>,
}

impl<'c> Desk<'c> {
    fn of(call: &'c Call) -> Result<Desk<'c>> {
        Ok(Desk { call, drawer: call.container::<Drawer>("source")? })
    }

    /// An item by its shortcut id or its object. Whether it is there for the caller, and what stands at a position that they
    /// name, the command finds out.
    fn address(&self, parameter: &str, text: &str, database: DatabaseId) -> Result<Address> {
        if let Ok(shortcut) = text.parse::<ShortcutId>() {
            return Ok(Address::Shortcut(shortcut));
        }
        let source = Source::parse(parameter, text)?;
        Ok(Address::Object(self.call.find(&source, database)?.loid))
    }

    /// An item that the path names.
    fn item(&self, parameter: &str) -> Result<Address> {
        self.address(parameter, self.call.param(parameter), self.call.database()?)
    }

    async fn change<C: Command<Family = Drawer, Reply = Placed>>(&self, command: C) -> Result<Json<DrawerReply>> {
        let display = self.call.display_of_body().await?;
        let done = self.call.change(&self.drawer, command).await?;
        changed(self.call, &done.view, &done.reply, &display)
    }
}

/// `POST /v3/container/drawer/{source}/item/{item}`
pub async fn add_item(call: Call) -> Result<Json<DrawerReply>> {
    let desk = Desk::of(&call)?;
    let items = vec![desk.item("item")?];
    desk.change(drawer::Add { items }).await
}

/// `POST /v3/container/drawer/{source}/item`
pub async fn add_items(call: Call) -> Result<Json<DrawerReply>> {
    let Sources { given, database } = ObjectListRequest::of(&call).await?;
    let desk = Desk::of(&call)?;
    let (mut items, mut way) = (Vec::with_capacity(given.len()), GiveWay::new());
    for source in &given {
        way.now_and_then().await;
        items.push(desk.address("sources", source, database)?);
    }
    desk.change(drawer::Add { items }).await
}

/// `PUT /v3/container/drawer/{source}/item/{item}/position/{position}`
pub async fn position_item(call: Call) -> Result<Json<DrawerReply>> {
    let desk = Desk::of(&call)?;
    let (item, position) = (desk.item("item")?, call.integer("position")?);
    desk.change(drawer::Position { item, position }).await
}

/// `PUT /v3/container/drawer/{source}/shortcut/{shortcut}/position/{position}`
pub async fn position_shortcut(call: Call) -> Result<Json<DrawerReply>> {
    let desk = Desk::of(&call)?;
    let (item, position) = (desk.item("shortcut")?, call.integer("position")?);
    desk.change(drawer::Shift { item, position }).await
}

/// `DELETE /v3/container/drawer/{source}/item/{item}`
pub async fn delete_item(call: Call) -> Result<Json<DrawerReply>> {
    let (desk, display) = (Desk::of(&call)?, call.display_of_body().await?);
    let items = vec![desk.item("item")?];
    let done = call.change(&desk.drawer, drawer::Remove { items, strict: true }).await?;
    let (drawer, _) = reply_of(&call, &done.view, removed(&done.reply.items), &display)?;
    answer(&done.view, &drawer)
}

/// Items that were taken out, with the positions that they had for the caller.
fn removed(items: &Placed) -> impl Iterator<Item = (usize, &Item)> {
    items.iter().map(|(position, item)| (*position, item))
}

/// `DELETE /v3/container/drawer/{source}/item`
pub async fn delete_items(call: Call) -> Result<Json<DrawerReply>> {
    let Sources { given, database } = ObjectListRequest::of(&call).await?;
    let (desk, display) = (Desk::of(&call)?, call.display_of_body().await?);
    let mut bulk = Bulk::of(&call, &given);
    let (mut items, mut places) = (Vec::new(), Vec::new());
    let mut way = GiveWay::new();
    for (place, source) in given.iter().enumerate() {
        way.now_and_then().await;
        match desk.address("sources", source, database) {
            Ok(address) => {
                items.push(address);
                places.push(place);
            }
            Err(error) => bulk.note(place, Err(error)),
        }
    }
    let done = call.change(&desk.drawer, drawer::Remove { items, strict: false }).await?;
    let drawer::Removed { items, errors } = done.reply;
    // Each of the rest was taken out, in their order.
    let (mut taken, mut missing) = (items.into_iter(), errors.into_iter().peekable());
    for (index, place) in places.into_iter().enumerate() {
        let outcome = match missing.next_if(|(at, _)| *at == index) {
            Some((_, error)) => Err(error),
            None => taken.next().ok_or_else(Error::internal),
        };
        bulk.note(place, outcome);
    }
    let BulkReply { items, errors } = bulk.reply();
    let (drawer, _) = reply_of(&call, &done.view, removed(&items), &display)?;
    answer(&done.view, &DrawerReply { errors: Some(errors), ..drawer })
}

/// `PUT /v3/container/drawer/{source}/item/clear`
pub async fn clear(call: Call) -> Result<Json<DrawerReply>> {
    let done = call.change(&call.container("source")?, drawer::Clear).await?;
    changed(&call, &done.view, &Vec::new(), &call.display())
}

/// `PUT /v3/container/drawer/{source}/item/{item}/move/{target}`; the reply is the target.
pub async fn move_item(call: Call) -> Result<Json<DrawerReply>> {
    let desk = Desk::of(&call)?;
    let target = call.container::<Drawer>("target")?;
    let (from, to) = (desk.drawer.loid(), target.loid());
    let item = desk.item("item")?;
    let moved = call.change_all(drawer::Move { item, from, to }).await?;
    let view = call.view(&target).await?;
    // Others may have changed the drawer since: the item has the position that it has in the drawer of the reply.
    let now = moved.items.iter().filter_map(|(_, item)| view.state.find(Address::Object(item.object)));
    let now: Placed = now.map(|(position, item)| (position, *item)).collect();
    moved_reply(&call, &view, &now, &moved)
}

/// Which items a read shows: all, those of a page, or none.
fn page_of_items(call: &Call) -> Page {
    if call.query.boolean("showItems") { call.query.page() } else { Page { offset: 0, limit: 0 } }
}

/// `GET /v3/container/drawer/{source}`
pub async fn get(call: Call) -> Result<Json<DrawerReply>> {
    let drawer = call.container::<Drawer>("source")?;
    let view = call.view(&drawer).await?;
    Ok(rendered(&call, &view, &call.display(), page_of_items(&call))?.answer(call.headers()))
}

/// `GET /v3/container/drawer/object/{source}`
pub async fn get_by_object(call: Call) -> Result<Json<DrawerListing>> {
    let app = &call.app;
    let object = call.resolve("source")?.loid;
    let display = call.display();
    let holders = containers_of(app.repository.look(), View::Committed, object).map_err(|error| {
        tracing::error!(%error, "the containers of an object can't be listed");
        Error::internal()
    })?;
    let mut views = Vec::with_capacity(holders.len());
    for holder in holders {
        // Others that hold it are not listed; neither are drawers in the recycle bin, which keep their items.
        if app.records.get(&app.repository, holder)?.is_none_or(|record| record.family != FamilyKind::Drawer) {
            continue;
        }
        match app.repository.view::<Drawer>(holder).await {
            Ok(view) if call.access().sees(&view.state.object().record)? => views.push(view),
            Ok(_) => {}
            // It was removed meanwhile.
            Err(error) if error.code == Code::ObjectNotFound => {}
            Err(error) => return Err(error),
        }
    }
    let total = views.len();
    let views = Sort::parse(call.query.text("sortBy"))?.apply(views, |view| &*view.state.object().record).await;
    let limit = if call.query.boolean("showItems") { usize::MAX } else { 0 };
    let views = call.query.page().cut(views);
    let items = views.iter().map(|view| {
        let items = shown(&call, view, Page { offset: 0, limit })?;
        Ok(reply_of(&call, view, items, &display)?.0)
    });
    Json::of(&DrawerListing { items: items.collect::<Result<_>>()?, total })
}

/// A drawer to be made with what a body says of it.
async fn new_drawer(
    call: &Call,
    name: &str,
    automatic: bool,
    request: &CreateDrawer,
    database: DatabaseId,
) -> Result<NewObject> {
    let app = &call.app;
    let sources = request.sources.as_deref().unwrap_or_default();
    check_length(app, sources.len())?;
    let mut items = Vec::with_capacity(sources.len());
    let mut way = GiveWay::new();
    for source in sources {
        way.now_and_then().await;
        items.push(call.find(&Source::parse("sources", source)?, database)?.loid);
    }
    let capacity = request.capacity.unwrap_or_else(|| app.config.drawer.default_capacity.into());
    let attributes = app.attribute_text("attributes", request.attributes.as_ref()).await?;
    let new = NewDrawer {
        capacity: drawer::check_capacity(capacity)?,
        automatic,
        title: request.title.as_deref().unwrap_or_default().into(),
        description: request.description.as_deref().unwrap_or_default().into(),
        items,
        said: drawer::Update {
            capacity: request.capacity.map(drawer::check_capacity).transpose()?,
            title: request.title.clone(),
            description: request.description.clone(),
        },
    };
    Ok(NewObject { attributes, ..NewObject::of::<Drawer>(name, TYPE_NAME, new) })
}

/// `POST /v3/container/drawer`
pub async fn create(call: Call) -> Result<Json<DrawerReply>> {
    let request: CreateDrawer = call.json().await?;
    let database = database_named(&call, request.database_id.as_ref())?;
    let mut object = new_drawer(&call, request.name.as_deref().unwrap_or(TYPE_NAME), false, &request, database).await?;
    // A generated name has to be free; a given one is up to the caller.
    let mode = CreateOptions::mode(request.options.as_ref(), request.create_mode);
    object.mode = if request.name.is_none() { CreateMode::AutoRename } else { mode };
    let folder = folder_source(request.folder.as_deref(), request.folder_path.as_deref())?;
    make(&call, folder, object, database).await
}

/// `POST /v3/container/drawer/automatic`: the user's own drawer, made at the first call.
pub async fn create_automatic(call: Call) -> Result<Json<DrawerReply>> {
    let request: CreateDrawer = call.json().await?;
    let database = database_named(&call, request.database_id.as_ref())?;
    let config = &call.app.config.drawer;
    let user = call.caller()?.user();
    let (name, folder) = (for_user(&config.automatic_name, user), for_user(&config.automatic_folder, user));
    let mut object = new_drawer(&call, &name, true, &request, database).await?;
    object.mode = CreateMode::Existing;
    make(&call, folder_source(None, Some(&folder))?, object, database).await
}

async fn make(
    call: &Call,
    folder: Option<Source>,
    object: NewObject,
    database: DatabaseId,
) -> Result<Json<DrawerReply>> {
    let (app, display) = (&call.app, call.display_of_body().await?);
    let create = app.destination(call, folder, database)?.create(object);
    let created = call.change_all(create).await?;
    let view = app.repository.view::<Drawer>(created.loid).await?;
    let items: Placed = view.state.visible().copied().enumerate().collect();
    changed(call, &view, &items, &display)
}

/// `PUT /v3/container/drawer/{source}`
pub async fn update(call: Call) -> Result<Json<DrawerReply>> {
    let request: UpdateRequest = call.json().await?;
    let (drawer, display) = (call.container::<Drawer>("source")?, call.display_of_body().await?);
    let capacity = request.capacity.map(drawer::check_capacity).transpose()?;
    let command = UpdateDrawer {
        drawer: drawer.loid(),
        head: drawer::Update { capacity, title: request.title, description: request.description },
        name: request.name,
        attributes: call.app.attribute_text("attributes", request.attributes.as_ref()).await?,
    };
    call.change_all(command).await?;
    let view = call.view(&drawer).await?;
    changed(&call, &view, &Vec::new(), &display)
}
