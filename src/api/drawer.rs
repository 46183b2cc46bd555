//! Drawers (interface 4.7 and 8.2, decisions 5).

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use stet_actors::command::{Command, containers_of};
use stet_actors::drawer::{self, Address, Drawer, DrawerState, Item, Placed};
use stet_actors::error::{Code, Error, Result};
use stet_actors::family::State;
use stet_actors::id::{DatabaseId, Loid, ShortcutId, Source};
use stet_actors::lifecycle::{Create, CreateMode, NewObject, NewParts, UpdateDrawer};
use stet_actors::object::FamilyKind;
use stet_actors::runtime::Published;
use stet_actors::store::View;

use super::records::{BulkError, info_of, json_of, path_if_shown, quoted, with_path};
use super::requests::{CreateOptions, DatabaseRef, ObjectListRequest, WireCreateMode, check_length, folder_source};
use crate::app::App;
use crate::config::for_user;
use crate::http::call::Call;
use crate::http::display::Display;
use crate::http::etag::{etag, none_match};
use crate::http::reply::{Content, Reply, enveloped, to_json};
use crate::records::{Cached, ObjectRecord, Page, Sort};

type DrawerView = Arc<Published<DrawerState>>;

/// Name of the type of drawers in the objecttypes family.
const TYPE_NAME: &str = "Drawer";

/// `info` of a drawer: its record, and what a drawer has beside.
#[derive(Serialize, JsonSchema)]
pub struct DrawerInfo {
    /// The record.
    #[serde(flatten)]
    pub record: ObjectRecord,
    /// How many items fit.
    pub capacity: u32,
    /// How many items can be seen.
    pub count: usize,
    /// How many are hidden because their objects lie in the recycle bin.
    pub hidden: usize,
    /// Whether it is a user's automatic drawer.
    pub automatic: bool,
    /// May be empty.
    pub title: String,
    /// May be empty.
    pub description: String,
}

/// An item of a drawer.
#[derive(Serialize, JsonSchema)]
pub struct DrawerItem {
    /// The shortcut.
    pub id: String,
    /// Counted from 0 among the items that can be seen.
    pub position: usize,
    /// The object's loid.
    pub source: String,
    /// The object's record.
    pub object: ObjectRecord,
}

/// A drawer. A read has all items with `showItems` and none without; a change has those it concerned.
#[derive(Serialize, JsonSchema)]
pub struct DrawerReply {
    /// The drawer.
    pub info: DrawerInfo,
    /// Its items, first to last.
    pub items: Vec<DrawerItem>,
    /// Of a bulk removal: the sources that were not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<BulkError>,
}

/// The drawers that hold an object, those made first before the others.
#[derive(Serialize, JsonSchema)]
pub struct DrawerListing {
    /// One reply for each drawer of the page asked for.
    pub items: Vec<DrawerReply>,
    /// How many there are in all.
    pub total: usize,
}

/// Body of the creation of a drawer; all optional.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateDrawer {
    /// Generated without it.
    name: Option<String>,
    /// Loid, uuid or path of the folder; the user's home without it.
    folder: Option<String>,
    /// Path of the folder.
    folder_path: Option<String>,
    /// 1 to 10,000; the default comes from configuration.
    capacity: Option<i64>,
    title: Option<String>,
    description: Option<String>,
    /// XML text or JSON.
    attributes: Option<Value>,
    /// Objects to begin with.
    sources: Option<Vec<String>>,
    /// The main one without it.
    database_id: Option<DatabaseRef>,
    create_mode: Option<WireCreateMode>,
    options: Option<CreateOptions>,
}

/// Body of the update of a drawer: what is named changes.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdateRequest {
    name: Option<String>,
    /// Not below the present count.
    capacity: Option<i64>,
    title: Option<String>,
    description: Option<String>,
    /// XML text or JSON.
    attributes: Option<Value>,
}

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

/// The fields of a body. A struct would also take a list, for its fields in their order.
fn fields<T: DeserializeOwned>(call: &Call) -> Result<T> {
    if call.body.trim_ascii_start().starts_with(b"[") {
        call.json::<Map<String, Value>>()?;
    }
    call.json()
}

/// An item by its shortcut id or its object.
fn address(call: &Call, parameter: &str, text: &str) -> Result<Address> {
    if let Ok(shortcut) = text.parse::<ShortcutId>() {
        return Ok(Address::Shortcut(shortcut));
    }
    let source = Source::parse(parameter, text)?;
    Ok(Address::Object(call.app.resolve(&source, call.database()?)?.loid))
}

/// `info` as JSON: a record, and behind it what a drawer has beside.
fn info(app: &App, view: &DrawerView, display: &Display) -> Result<String> {
    let state = &view.state;
    let head = state.head();
    let mut json = info_of(app, state, display)?;
    // A record is never the empty object: its last brace makes room for more members.
    json.pop();
    // Writing to a String can't fail.
    let _ = write!(
        json,
        ",\"capacity\":{},\"count\":{},\"hidden\":{},\"automatic\":{},\"title\":{},\"description\":{}}}",
        head.capacity,
        state.count(),
        state.hidden(),
        head.automatic,
        quoted(&head.title),
        quoted(&head.description)
    );
    Ok(json)
}

/// What a rendered drawer was made of, so that it can be told whether it is still so.
type Seen = Vec<(Loid, Option<Arc<Cached>>)>;

fn write_items<'i>(
    app: &App,
    items: impl IntoIterator<Item = (usize, &'i Item)>,
    display: &Display,
    out: &mut String,
) -> Result<Seen> {
    let mut seen = Seen::new();
    for (position, item) in items {
        let cached = app.records.get(&app.repository, item.object)?;
        let comma = if seen.is_empty() { "" } else { "," };
        // Writing to a String can't fail.
        let _ = write!(
            out,
            "{comma}{{\"id\":\"{}\",\"position\":{position},\"source\":\"{}\",\"object\":",
            item.shortcut, item.object
        );
        match &cached {
            Some(cached) => {
                let json = json_of(app, cached, display)?;
                match path_if_shown(app, &cached.record, display)? {
                    Some(path) => out.push_str(&with_path(&json, &path)),
                    None => out.push_str(&json),
                }
            }
            // Destroyed since the view was published; the next view is without it.
            None => out.push_str("null"),
        }
        out.push('}');
        seen.push((item.object, cached));
    }
    Ok(seen)
}

/// A container reply: `info`, and the given items.
fn write_reply<'i>(
    app: &App,
    view: &DrawerView,
    items: impl IntoIterator<Item = (usize, &'i Item)>,
    display: &Display,
) -> Result<(String, Seen)> {
    let info = info(app, view, display)?;
    let mut out = String::with_capacity(info.len() + 32);
    out.push_str("{\"info\":");
    out.push_str(&info);
    out.push_str(",\"items\":[");
    let seen = write_items(app, items, display, &mut out)?;
    out.push_str("]}");
    Ok((out, seen))
}

/// The reply to a change: the drawer as it is right after, and the items concerned. The display is asked for beforehand: a call
/// whose options are wrong must change nothing.
fn changed(app: &App, view: &DrawerView, items: &Placed, display: &Display) -> Result<Reply> {
    let (json, _) = write_reply(app, view, items.iter().map(|(position, item)| (*position, item)), display)?;
    Ok(Reply::new(Content::Json(json.into())).with_etag(etag(view.revision(), "change")))
}

async fn execute<C: Command<Family = Drawer, Reply = Placed>>(call: &Call, command: C) -> Result<Reply> {
    let (drawer, display) = (drawer_of(call, "source")?, call.display_of_body()?);
    let done = call.app.with_current(call.app.repository.execute(drawer, command, call.request(drawer)?).await)?;
    changed(&call.app, &done.view, &done.reply, &display)
}

/// `POST /v3/container/drawer/{source}/item/{item}`
pub async fn add_item(call: Call) -> Result<Reply> {
    let items = vec![address(&call, "item", call.param("item"))?];
    execute(&call, drawer::Add { items }).await
}

/// `POST /v3/container/drawer/{source}/item`
pub async fn add_items(call: Call) -> Result<Reply> {
    let request = ObjectListRequest::of(&call)?;
    let items = request.sources.iter().map(|source| address(&call, "sources", source)).collect::<Result<_>>()?;
    execute(&call, drawer::Add { items }).await
}

/// `PUT /v3/container/drawer/{source}/item/{item}/position/{position}`
pub async fn position_item(call: Call) -> Result<Reply> {
    let item = address(&call, "item", call.param("item"))?;
    let position = call.integer("position")?;
    execute(&call, drawer::Position { item, position }).await
}

/// `PUT /v3/container/drawer/{source}/shortcut/{shortcut}/position/{position}`
pub async fn position_shortcut(call: Call) -> Result<Reply> {
    let item = address(&call, "shortcut", call.param("shortcut"))?;
    let position = call.integer("position")?;
    execute(&call, drawer::Shift { item, position }).await
}

/// `DELETE /v3/container/drawer/{source}/item/{item}`
pub async fn delete_item(call: Call) -> Result<Reply> {
    let items = vec![address(&call, "item", call.param("item"))?];
    let (drawer, display) = (drawer_of(&call, "source")?, call.display_of_body()?);
    let command = drawer::Remove { items, strict: true };
    let done = call.app.with_current(call.app.repository.execute(drawer, command, call.request(drawer)?).await)?;
    changed(&call.app, &done.view, &done.reply.items, &display)
}

/// `DELETE /v3/container/drawer/{source}/item`
pub async fn delete_items(call: Call) -> Result<Reply> {
    let request = ObjectListRequest::of(&call)?;
    let mut errors = Vec::new();
    let (mut items, mut named) = (Vec::new(), Vec::new());
    for source in &request.sources {
        match address(&call, "sources", source) {
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
    let (mut json, _) = write_reply(&call.app, &done.view, removed, &display)?;
    // The reply is an object: its last brace makes room for one more member.
    json.pop();
    json.push_str(",\"errors\":");
    json.push_str(&String::from_utf8_lossy(&to_json(&errors)?));
    json.push('}');
    Ok(Reply::new(Content::Json(json.into())).with_etag(etag(done.view.revision(), "change")))
}

/// `PUT /v3/container/drawer/{source}/item/clear`
pub async fn clear(call: Call) -> Result<Reply> {
    let drawer = drawer_of(&call, "source")?;
    let request = call.request(drawer)?;
    let done = call.app.with_current(call.app.repository.execute(drawer, drawer::Clear, request).await)?;
    changed(&call.app, &done.view, &Vec::new(), &call.display())
}

/// `PUT /v3/container/drawer/{source}/item/{item}/move/{target}`; the reply is the target.
pub async fn move_item(call: Call) -> Result<Reply> {
    let item = address(&call, "item", call.param("item"))?;
    let (from, to) = (drawer_of(&call, "source")?, drawer_of(&call, "target")?);
    let moved = call.app.repository.joint(drawer::Move { item, from, to }, call.request(from)?).await;
    let placed = call.app.with_current(moved)?;
    let view = call.app.repository.view::<Drawer>(to).await?;
    // Others may have been here since: the item is shown where it stands in the drawer that the reply shows.
    let now = placed.iter().filter_map(|(_, item)| view.state.find(Address::Object(item.object)));
    let now: Placed = now.map(|(position, item)| (position, *item)).collect();
    changed(&call.app, &view, &now, &call.display())
}

/// A rendered drawer and what it was made of.
pub struct Rendered {
    /// [`RecordCache::changes`](crate::records::RecordCache::changes) when it was last known to be right.
    right_at: AtomicU64,
    view: DrawerView,
    seen: Seen,
    body: Bytes,
    etag: String,
}

impl Rendered {
    /// Whether it would be rendered the same now.
    fn is_current(&self, app: &App, view: &DrawerView) -> Result<bool> {
        if !Arc::ptr_eq(&self.view, view) {
            return Ok(false);
        }
        // Noted before the records are looked at: a change meanwhile is looked at the next time.
        let changes = app.records.changes();
        if self.right_at.load(Ordering::Acquire) == changes {
            return Ok(true);
        }
        for (loid, cached) in &self.seen {
            let same = match (app.records.get(&app.repository, *loid)?, cached) {
                (Some(now), Some(then)) => Arc::ptr_eq(&now, then),
                (None, None) => true,
                _ => false,
            };
            if !same {
                return Ok(false);
            }
        }
        self.right_at.store(changes, Ordering::Release);
        Ok(true)
    }
}

/// The part of a drawer's items that is asked for, with their positions.
fn shown(view: &DrawerView, page: Page) -> impl Iterator<Item = (usize, &Item)> {
    view.state.visible().enumerate().skip(page.offset).take(page.limit)
}

/// All items, those of a page, or none.
fn page_of_items(call: &Call) -> Page {
    if call.query.boolean("showItems") { Page::of(&call.query) } else { Page { offset: 0, limit: 0 } }
}

fn rendered(app: &App, drawer: Loid, view: DrawerView, display: &Display, page: Page) -> Result<Arc<Rendered>> {
    let (all, none) = (page.offset == 0 && page.limit == usize::MAX, page.limit == 0);
    let key = (drawer, display.clone(), all);
    let kept = if all || none { app.drawers.get(&key) } else { None };
    if let Some(kept) = kept
        && kept.is_current(app, &view)?
    {
        return Ok(kept);
    }
    let right_at = AtomicU64::new(app.records.changes());
    let (json, seen) = write_reply(app, &view, shown(&view, page), display)?;
    let tag = etag(view.revision(), &json);
    let fresh = Arc::new(Rendered { right_at, view, seen, body: enveloped(json.as_bytes()), etag: tag });
    // Paths depend on folders above, which nothing here looks at.
    if !display.path && (all || none) {
        app.drawers.put(key, fresh.clone());
    }
    Ok(fresh)
}

/// `GET /v3/container/drawer/{source}`
pub async fn get(call: Call) -> Result<Reply> {
    let (drawer, view) = view_of(&call).await?;
    let rendered = rendered(&call.app, drawer, view, &call.display(), page_of_items(&call))?;
    if none_match(call.headers(), &rendered.etag) {
        return Ok(Reply::not_modified(rendered.etag.clone()));
    }
    Ok(Reply::new(Content::Whole(rendered.body.clone())).with_etag(rendered.etag.clone()))
}

/// `GET /v3/container/drawer/object/{source}`
pub async fn get_by_object(call: Call) -> Result<Reply> {
    let app = &call.app;
    let object = call.resolve("source")?.loid;
    let display = call.display();
    let holders = containers_of(app.repository.look(), View::Committed, object).map_err(|error| {
        tracing::error!(%error, "the containers of an object can't be listed");
        Error::internal()
    })?;
    let mut views = Vec::with_capacity(holders.len());
    for holder in holders {
        match app.repository.view::<Drawer>(holder).await {
            Ok(view) => views.push(view),
            // Drawers in the recycle bin keep their items and are not listed; one that went meanwhile neither.
            Err(error) if error.code == Code::ObjectNotFound => {}
            Err(error) => return Err(error),
        }
    }
    let total = views.len();
    Sort::parse(call.query.text("sortBy"))?.apply(&mut views, |view| &*view.state.object().record);
    let items = if call.query.boolean("showItems") { usize::MAX } else { 0 };
    let mut json = "{\"items\":[".to_owned();
    for (index, view) in Page::of(&call.query).cut(views).iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        let (reply, _) = write_reply(app, view, shown(view, Page { offset: 0, limit: items }), &display)?;
        json.push_str(&reply);
    }
    let _ = write!(json, "],\"total\":{total}}}");
    Ok(Reply::new(Content::Json(json.into())))
}

/// A drawer to be made with what a body says of it.
fn new_drawer(
    app: &App,
    name: &str,
    automatic: bool,
    request: &CreateDrawer,
    database: DatabaseId,
) -> Result<NewObject> {
    let sources = request.sources.as_deref().unwrap_or_default();
    check_length(app, sources.len())?;
    let mut items = Vec::with_capacity(sources.len());
    for source in sources {
        items.push(app.resolve(&Source::parse("sources", source)?, database)?.loid);
    }
    let capacity = request.capacity.unwrap_or_else(|| app.config.drawer.default_capacity.into());
    let mut object = NewObject::document(name, TYPE_NAME);
    object.family = FamilyKind::Drawer;
    object.attributes = app.attribute_text("attributes", request.attributes.as_ref())?;
    object.parts = NewParts::Drawer {
        capacity: drawer::check_capacity(capacity)?,
        automatic,
        title: request.title.as_deref().unwrap_or_default().into(),
        description: request.description.as_deref().unwrap_or_default().into(),
        items,
    };
    Ok(object)
}

/// The database that a creation speaks of: in the body, or in the query.
fn database_of(call: &Call, request: &CreateDrawer) -> Result<DatabaseId> {
    match &request.database_id {
        Some(named) => call.app.database(Some(&named.text())),
        None => call.database(),
    }
}

/// `POST /v3/container/drawer`
pub async fn create(call: Call) -> Result<Reply> {
    let request: CreateDrawer = fields(&call)?;
    let database = database_of(&call, &request)?;
    let mut object = new_drawer(&call.app, request.name.as_deref().unwrap_or(TYPE_NAME), false, &request, database)?;
    // A generated name has to be free; a given one is up to the caller.
    let mode = CreateOptions::mode(request.options.as_ref(), request.create_mode);
    object.mode = if request.name.is_none() { CreateMode::AutoRename } else { mode };
    let folder = folder_source(request.folder.as_deref(), request.folder_path.as_deref())?;
    make(&call, folder, object, database).await
}

/// `POST /v3/container/drawer/automatic`: the user's own drawer, made at the first call.
pub async fn create_automatic(call: Call) -> Result<Reply> {
    let request: CreateDrawer = fields(&call)?;
    let database = database_of(&call, &request)?;
    let config = &call.app.config.drawer;
    let user = call.caller()?.user();
    let (name, folder) = (for_user(&config.automatic_name, user), for_user(&config.automatic_folder, user));
    let mut object = new_drawer(&call.app, &name, true, &request, database)?;
    object.mode = CreateMode::Existing;
    make(&call, folder_source(None, Some(&folder))?, object, database).await
}

async fn make(call: &Call, folder: Option<Source>, object: NewObject, database: DatabaseId) -> Result<Reply> {
    let (app, display) = (&call.app, call.display_of_body()?);
    let (folder, below) = app.place_in(call, folder, database)?;
    let create = Create { folder, below, object };
    let created = app.with_current(app.repository.joint(create, call.request(folder)?).await)?;
    let view = app.repository.view::<Drawer>(created.loid).await?;
    let items: Placed = view.state.visible().copied().enumerate().collect();
    changed(app, &view, &items, &display)
}

/// `PUT /v3/container/drawer/{source}`
pub async fn update(call: Call) -> Result<Reply> {
    let request: UpdateRequest = fields(&call)?;
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
    changed(&call.app, &view, &Vec::new(), &display)
}
