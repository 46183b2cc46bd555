//! Drawers (docs/api/drawers.md).

use stet_actors::command::Command;
use stet_actors::drawer::{self, Address, Drawer, NewDrawer, Placed, UpdateDrawer};
use stet_actors::error::{Code, Error, Result};
use stet_actors::family::State;
use stet_actors::id::{DatabaseId, Loid, ShortcutId, Source};
use stet_actors::lifecycle::NewObject;
use stet_actors::object::{CreateMode, FamilyKind, containers_of};
use stet_actors::store::View;

use super::records::BulkError;
use super::requests::{CreateOptions, ObjectListRequest, check_length, folder_source};
use crate::config::for_user;
use crate::http::call::Call;
use crate::http::reply::Json;
use crate::records::{Page, Sort};

mod rendered;
mod reply;
pub mod routes;
mod types;

pub(crate) use self::rendered::RenderedDrawers;
use self::reply::{DrawerView, answer, changed, moved_reply, rendered, reply_of, seen, sees, shown};
pub use self::types::{CreateDrawer, DrawerListing, DrawerReply, UpdateRequest};

/// Name of the type of drawers in the objecttypes family.
const TYPE_NAME: &str = "Drawer";

/// The drawer that a path parameter names.
fn drawer_of(call: &Call, param: &str) -> Result<Loid> {
    // One that is in memory is known to be a drawer, and one that is changed all the time is in no other cache.
    if let Source::Loid(loid) = call.source(param)?
        && loid.version == 0
        && call.app.repository.is_in_memory::<Drawer>(loid)
    {
        return Ok(loid);
    }
    let record = call.resolve(param)?;
    if record.family == FamilyKind::Drawer {
        return Ok(record.loid);
    }
    let message = format!("`{}` is of type {}, not a drawer.", call.param(param), record.type_name);
    Err(Error::new(Code::InvalidType, message).with_source(call.param(param)))
}

/// The drawer of the path, as it is on disk.
async fn view_of(call: &Call) -> Result<(Loid, DrawerView)> {
    if let Source::Loid(loid) = call.source("source")?
        && loid.version == 0
        && let Some(view) = call.app.repository.loaded::<Drawer>(loid)
    {
        return Ok((loid, view));
    }
    let drawer = drawer_of(call, "source")?;
    Ok((drawer, call.app.repository.view::<Drawer>(drawer).await?))
}

/// An item by its shortcut id or its object. One whose object may not be read is not there under either.
async fn address(call: &Call, parameter: &str, text: &str) -> Result<Address> {
    let Ok(shortcut) = text.parse::<ShortcutId>() else {
        let source = Source::parse(parameter, text)?;
        return Ok(Address::Object(call.find(&source, call.database()?)?.loid));
    };
    let address = Address::Shortcut(shortcut);
    if !call.access().sees_all() {
        let (_, view) = view_of(call).await?;
        if let Some((_, item)) = view.state.find(address)
            && !sees(call, item)?
        {
            return Err(view.state.not_held(address));
        }
    }
    Ok(address)
}

/// The position in the whole drawer that stands for one among the items that the caller sees.
async fn position(call: &Call) -> Result<i64> {
    let told = call.integer("position")?;
    let Ok(index) = usize::try_from(told) else { return Ok(told) };
    if call.access().sees_all() {
        return Ok(told);
    }
    let (_, view) = view_of(call).await?;
    let seen = seen(call, &view)?;
    // Behind the last that they see is behind the last of all.
    let real = seen.get(index).map_or_else(|| view.state.count() + index - seen.len(), |(position, _)| *position);
    Ok(i64::try_from(real).unwrap_or(i64::MAX))
}

async fn execute<C: Command<Family = Drawer, Reply = Placed>>(call: &Call, command: C) -> Result<Json<DrawerReply>> {
    let (drawer, display) = (drawer_of(call, "source")?, call.display_of_body()?);
    let done = call.app.with_current(call.app.repository.execute(drawer, command, call.request(drawer)?).await)?;
    changed(call, &done.view, &done.reply, &display)
}

/// `POST /v3/container/drawer/{source}/item/{item}`
pub async fn add_item(call: Call) -> Result<Json<DrawerReply>> {
    let items = vec![address(&call, "item", call.param("item")).await?];
    execute(&call, drawer::Add { items }).await
}

/// `POST /v3/container/drawer/{source}/item`
pub async fn add_items(call: Call) -> Result<Json<DrawerReply>> {
    let request = ObjectListRequest::of(&call)?;
    let mut items = Vec::with_capacity(request.sources.len());
    for source in &request.sources {
        items.push(address(&call, "sources", source).await?);
    }
    execute(&call, drawer::Add { items }).await
}

/// `PUT /v3/container/drawer/{source}/item/{item}/position/{position}`
pub async fn position_item(call: Call) -> Result<Json<DrawerReply>> {
    let item = address(&call, "item", call.param("item")).await?;
    let position = position(&call).await?;
    execute(&call, drawer::Position { item, position }).await
}

/// `PUT /v3/container/drawer/{source}/shortcut/{shortcut}/position/{position}`
pub async fn position_shortcut(call: Call) -> Result<Json<DrawerReply>> {
    let item = address(&call, "shortcut", call.param("shortcut")).await?;
    let position = position(&call).await?;
    execute(&call, drawer::Shift { item, position }).await
}

/// `DELETE /v3/container/drawer/{source}/item/{item}`
pub async fn delete_item(call: Call) -> Result<Json<DrawerReply>> {
    let items = vec![address(&call, "item", call.param("item")).await?];
    let (drawer, display) = (drawer_of(&call, "source")?, call.display_of_body()?);
    let command = drawer::Remove { items, strict: true };
    let done = call.app.with_current(call.app.repository.execute(drawer, command, call.request(drawer)?).await)?;
    changed(&call, &done.view, &done.reply.items, &display)
}

/// `DELETE /v3/container/drawer/{source}/item`
pub async fn delete_items(call: Call) -> Result<Json<DrawerReply>> {
    let request = ObjectListRequest::of(&call)?;
    let mut errors = Vec::new();
    let (mut items, mut named) = (Vec::new(), Vec::new());
    for source in &request.sources {
        match address(&call, "sources", source).await {
            Ok(address) => {
                items.push(address);
                named.push(source);
            }
            Err(error) => errors.push(BulkError::new(&call.app, source, &error)),
        }
    }
    let (drawer, display) = (drawer_of(&call, "source")?, call.display_of_body()?);
    let command = drawer::Remove { items, strict: false };
    let done = call.app.with_current(call.app.repository.execute(drawer, command, call.request(drawer)?).await)?;
    for (index, error) in &done.reply.errors {
        errors.push(BulkError::new(&call.app, named[*index], error));
    }
    let removed = done.reply.items.iter().map(|(position, item)| (*position, item));
    let (drawer, _) = reply_of(&call, &done.view, removed, &display)?;
    answer(&done.view, &DrawerReply { errors: Some(errors), ..drawer })
}

/// `PUT /v3/container/drawer/{source}/item/clear`
pub async fn clear(call: Call) -> Result<Json<DrawerReply>> {
    let drawer = drawer_of(&call, "source")?;
    let request = call.request(drawer)?;
    let done = call.app.with_current(call.app.repository.execute(drawer, drawer::Clear, request).await)?;
    changed(&call, &done.view, &Vec::new(), &call.display())
}

/// `PUT /v3/container/drawer/{source}/item/{item}/move/{target}`; the reply is the target.
pub async fn move_item(call: Call) -> Result<Json<DrawerReply>> {
    let item = address(&call, "item", call.param("item")).await?;
    let (from, to) = (drawer_of(&call, "source")?, drawer_of(&call, "target")?);
    let moved = call.app.repository.joint(drawer::Move { item, from, to }, call.request(from)?).await;
    let moved = call.app.with_current(moved)?;
    let view = call.app.repository.view::<Drawer>(to).await?;
    // Others may have been here since: the item is shown where it stands in the drawer that the reply shows.
    let now = moved.items.iter().filter_map(|(_, item)| view.state.find(Address::Object(item.object)));
    let now: Placed = now.map(|(position, item)| (position, *item)).collect();
    moved_reply(&call, &view, &now, &moved)
}

/// All items, those of a page, or none.
fn page_of_items(call: &Call) -> Page {
    if call.query.boolean("showItems") { call.query.page() } else { Page { offset: 0, limit: 0 } }
}

/// `GET /v3/container/drawer/{source}`
pub async fn get(call: Call) -> Result<Json<DrawerReply>> {
    let (drawer, view) = view_of(&call).await?;
    let rendered = rendered(&call, drawer, view, &call.display(), page_of_items(&call))?;
    if rendered.etag.is_known(call.headers()) {
        return Ok(Json::not_modified(rendered.etag.clone()));
    }
    Ok(Json::from(rendered.reply.clone()).with_etag(rendered.etag.clone()))
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
            // It went meanwhile.
            Err(error) if error.code == Code::ObjectNotFound => {}
            Err(error) => return Err(error),
        }
    }
    let total = views.len();
    Sort::parse(call.query.text("sortBy"))?.apply(&mut views, |view| &*view.state.object().record);
    let limit = if call.query.boolean("showItems") { usize::MAX } else { 0 };
    let views = call.query.page().cut(views);
    let items = views.iter().map(|view| {
        let items = shown(&call, view, Page { offset: 0, limit })?;
        Ok(reply_of(&call, view, items, &display)?.0)
    });
    Json::of(&DrawerListing { items: items.collect::<Result<_>>()?, total })
}

/// A drawer to be made with what a body says of it.
fn new_drawer(
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
    for source in sources {
        items.push(call.find(&Source::parse("sources", source)?, database)?.loid);
    }
    let capacity = request.capacity.unwrap_or_else(|| app.config.drawer.default_capacity.into());
    let attributes = app.attribute_text("attributes", request.attributes.as_ref())?;
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

/// The database that a creation speaks of: in the body, or in the query.
fn database_of(call: &Call, request: &CreateDrawer) -> Result<DatabaseId> {
    match &request.database_id {
        Some(named) => call.app.database(Some(&named.text())),
        None => call.database(),
    }
}

/// `POST /v3/container/drawer`
pub async fn create(call: Call) -> Result<Json<DrawerReply>> {
    let request: CreateDrawer = call.json()?;
    let database = database_of(&call, &request)?;
    let mut object = new_drawer(&call, request.name.as_deref().unwrap_or(TYPE_NAME), false, &request, database)?;
    // A generated name has to be free; a given one is up to the caller.
    let mode = CreateOptions::mode(request.options.as_ref(), request.create_mode);
    object.mode = if request.name.is_none() { CreateMode::AutoRename } else { mode };
    let folder = folder_source(request.folder.as_deref(), request.folder_path.as_deref())?;
    make(&call, folder, object, database).await
}

/// `POST /v3/container/drawer/automatic`: the user's own drawer, made at the first call.
pub async fn create_automatic(call: Call) -> Result<Json<DrawerReply>> {
    let request: CreateDrawer = call.json()?;
    let database = database_of(&call, &request)?;
    let config = &call.app.config.drawer;
    let user = call.caller()?.user();
    let (name, folder) = (for_user(&config.automatic_name, user), for_user(&config.automatic_folder, user));
    let mut object = new_drawer(&call, &name, true, &request, database)?;
    object.mode = CreateMode::Existing;
    make(&call, folder_source(None, Some(&folder))?, object, database).await
}

async fn make(
    call: &Call,
    folder: Option<Source>,
    object: NewObject,
    database: DatabaseId,
) -> Result<Json<DrawerReply>> {
    let (app, display) = (&call.app, call.display_of_body()?);
    let create = app.place_in(call, folder, database)?.create(object);
    let created = app.with_current(app.repository.joint(create, call.unconditional()?).await)?;
    let view = app.repository.view::<Drawer>(created.loid).await?;
    let items: Placed = view.state.visible().copied().enumerate().collect();
    changed(call, &view, &items, &display)
}

/// `PUT /v3/container/drawer/{source}`
pub async fn update(call: Call) -> Result<Json<DrawerReply>> {
    let request: UpdateRequest = call.json()?;
    let (drawer, display) = (drawer_of(&call, "source")?, call.display_of_body()?);
    let capacity = request.capacity.map(drawer::check_capacity).transpose()?;
    let command = UpdateDrawer {
        drawer,
        head: drawer::Update { capacity, title: request.title, description: request.description },
        name: request.name,
        attributes: call.app.attribute_text("attributes", request.attributes.as_ref())?,
    };
    call.app.with_current(call.app.repository.joint(command, call.request(drawer)?).await)?;
    let view = call.app.repository.view::<Drawer>(drawer).await?;
    changed(&call, &view, &Vec::new(), &display)
}
