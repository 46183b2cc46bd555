//! Objects (interface 4.17, decisions 3, 4 and 6).

use std::collections::HashMap;

use actix_multipart::Multipart;
use actix_web::http::header::{CONTENT_DISPOSITION, HeaderValue};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{DatabaseId, Loid, Source};
use stet_actors::lifecycle::{Create, CreateMode, Destroy, Discard, NewContent, NewObject, Restore};
use stet_actors::object::{self, FamilyKind, Record, SmallBody, Stored, Text, Version};
use stet_actors::store::View;

use super::records::{BulkError, BulkReply, record_of};
use super::requests::{CreateOptions, DatabaseRef, ObjectListRequest, WireCreateMode, folder_source};
use crate::app::App;
use crate::content::ContentReader;
use crate::http::body::{self, too_large};
use crate::http::call::Call;
use crate::http::display::Display;
use crate::http::etag::etag;
use crate::http::reply::{BodyStream, Content, Reply, to_json};
use crate::records::{ObjectRecord, render, render_version};
use crate::xml;

/// What a bulk call did to an object.
#[derive(Serialize, JsonSchema)]
pub struct BulkItem {
    /// As the client gave it.
    pub source: String,
    /// The object's loid.
    pub id: String,
}

/// A record as the only thing in a reply.
pub type RecordReply = ObjectRecord;

/// The answer to a single discard, destroy or restore.
#[derive(Serialize, JsonSchema)]
pub struct Removed {
    /// The object's loid.
    pub id: String,
}

/// Part `options` of the creation of an object.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateObject {
    /// The name; that of the uploaded file without it.
    name: Option<String>,
    /// Inferred from the content type and the name's extension without it.
    r#type: Option<String>,
    /// Kept for clients; has no effect.
    application: Option<String>,
    /// The main one without it.
    database_id: Option<DatabaseRef>,
    /// Loid, uuid or path of the folder; the user's home without it.
    folder: Option<String>,
    /// Path of the folder.
    folder_path: Option<String>,
    /// Path of the work folder.
    work_folder: Option<String>,
    /// The workflow's first without it.
    status: Option<String>,
    product: Option<String>,
    edition: Option<String>,
    /// `yyyyMMdd`
    issue_date: Option<String>,
    team: Option<String>,
    /// XML text or JSON.
    attributes: Option<Value>,
    /// XML text or JSON with the root `props`.
    system_attributes: Option<Value>,
    /// XML text or JSON with the root `tl`.
    usage_tickets: Option<Value>,
    /// Story family.
    suid: Option<String>,
    create_mode: Option<WireCreateMode>,
    options: Option<CreateOptions>,
}

/// Body of a restore; all optional.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RestoreRequest {
    /// Where to; the former folder without it.
    folder: Option<String>,
    /// Path of the folder.
    folder_path: Option<String>,
    /// `EXCEPTION` or `AUTO_RENAME`.
    create_mode: Option<WireCreateMode>,
    options: Option<CreateOptions>,
}

/// `GET /v3/object/{source}`: an object, or it as one of its versions has it.
pub async fn get(call: Call) -> Result<Reply> {
    let (revision, json) = shown(&call.app, &call.source("source")?, call.database()?, &call.display())?;
    let tag = etag(revision, &json);
    Ok(Reply::new(Content::Json(json.into())).with_etag(tag))
}

/// The JSON of the object or version that a source names, and the object's revision.
fn shown(app: &App, source: &Source, database: DatabaseId, display: &Display) -> Result<(u64, String)> {
    let record = app.repository.resolve(source, database)?;
    let json = match version_named(app, source, &record)? {
        Some(version) => {
            let attributes = app.repository.attributes(record.loid)?;
            let mut shown = render_version(app, &record, &attributes, &version, display)?;
            if display.path {
                shown.path = Some(app.repository.path_of(&record)?);
            }
            String::from_utf8_lossy(&to_json(&shown)?).into_owned()
        }
        None => record_of(app, record.loid, display)?.ok_or_else(|| Error::not_found(source))?,
    };
    Ok((record.revision, json))
}

/// The version that the source names, if it names one.
fn version_named(app: &App, source: &Source, record: &Record) -> Result<Option<Version>> {
    match source {
        Source::Loid(loid) if loid.version != 0 => version(app, record, loid.version).map(Some),
        _ => Ok(None),
    }
}

/// Refuses a version, which can't be changed, where an object is to be changed.
fn check_whole(source: &Source) -> Result<()> {
    match source {
        Source::Loid(loid) if loid.version != 0 => {
            let message =
                format!("`{loid}` is a version, which can't be changed: name the object, `{}`.", loid.object());
            Err(Error::new(Code::InvalidType, message).with_source(loid))
        }
        _ => Ok(()),
    }
}

/// The live object that is to be changed.
fn target(app: &App, source: &Source, database: DatabaseId) -> Result<Loid> {
    let record = app.repository.resolve(source, database)?;
    check_whole(source)?;
    Ok(record.loid)
}

/// The same, in the recycle bin or not.
fn any_target(app: &App, source: &Source, database: DatabaseId) -> Result<Loid> {
    let record = app.repository.resolve_any(source, database)?;
    check_whole(source)?;
    Ok(record.loid)
}

fn version(app: &App, record: &Record, number: u32) -> Result<Version> {
    let loid = record.loid.at_version(number);
    let key = Version::key(loid);
    app.repository.row(key.table, &key.key)?.ok_or_else(|| Error::not_found(loid))
}

/// `POST /v3/object`: the records of all sources, and what could not be found.
pub async fn list(call: Call) -> Result<Reply> {
    let request = ObjectListRequest::of(&call)?;
    let app = &call.app;
    let display = call.display_of_body()?;
    let database = call.database()?;
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    for source in &request.sources {
        match Source::parse("sources", source).and_then(|source| shown(app, &source, database, &display)) {
            Ok((_, json)) => items.push(json),
            Err(error) => errors.push(BulkError::new(app, source, &error)),
        }
    }
    let errors = String::from_utf8_lossy(&to_json(&errors)?).into_owned();
    let json = format!("{{\"items\":[{}],\"errors\":{errors}}}", items.join(","));
    Ok(Reply::new(Content::Json(json.into())))
}

/// `GET /v3/object/{source}/lastversionloid`: as plain text; the object's own loid while it has no version.
pub async fn last_version_loid(call: Call) -> Result<Reply> {
    let record = call.resolve("source")?;
    Ok(Reply::text(record.loid.at_version(record.version).to_string()))
}

/// `DELETE /v3/object/{source}/discard`
pub async fn discard(call: Call) -> Result<Reply> {
    let object = target(&call.app, &call.source("source")?, call.database()?)?;
    let done = call.app.repository.joint(Discard { object }, call.request(object)?).await;
    call.app.with_current(done)?;
    Reply::json(&Removed { id: object.to_string() })
}

/// `DELETE /v3/object/{source}/destroy`: from its folder or from the recycle bin.
pub async fn destroy(call: Call) -> Result<Reply> {
    let object = any_target(&call.app, &call.source("source")?, call.database()?)?;
    let done = call.app.repository.joint(Destroy { object }, call.request(object)?).await;
    call.app.with_current(done)?;
    Reply::json(&Removed { id: object.to_string() })
}

/// `DELETE /v3/object/discard`
pub async fn discard_all(call: Call) -> Result<Reply> {
    bulk(&call, false).await
}

/// `DELETE /v3/object/destroy`
pub async fn destroy_all(call: Call) -> Result<Reply> {
    bulk(&call, true).await
}

async fn bulk(call: &Call, destroy: bool) -> Result<Reply> {
    let request = ObjectListRequest::of(call)?;
    let (app, database) = (&call.app, call.database()?);
    let mut reply = BulkReply { items: Vec::new(), errors: Vec::new() };
    for source in &request.sources {
        let one = async {
            let parsed = Source::parse("sources", source)?;
            let object = if destroy {
                let object = any_target(app, &parsed, database)?;
                app.repository.joint(Destroy { object }, call.request(object)?).await?;
                object
            } else {
                let object = target(app, &parsed, database)?;
                app.repository.joint(Discard { object }, call.request(object)?).await?;
                object
            };
            Ok::<Loid, Error>(object)
        };
        match one.await {
            Ok(object) => reply.items.push(BulkItem { source: source.clone(), id: object.to_string() }),
            Err(error) => reply.errors.push(BulkError::new(app, source, &error)),
        }
    }
    Reply::json(&reply)
}

/// `POST /v3/object/{source}/restore`
pub async fn restore(call: Call) -> Result<Reply> {
    let request: RestoreRequest = call.json()?;
    let app = &call.app;
    let object = any_target(app, &call.source("source")?, call.database()?)?;
    let mode = CreateOptions::mode(request.options.as_ref(), request.create_mode);
    if !matches!(mode, CreateMode::Exception | CreateMode::AutoRename) {
        let given = if mode == CreateMode::Replace { "REPLACE" } else { "NEW_VERSION" };
        return Err(Error::parameter("createMode", given, "EXCEPTION or AUTO_RENAME here"));
    }
    let folder = match folder_source(request.folder.as_deref(), request.folder_path.as_deref())? {
        Some(source) => {
            let folder = app.repository.resolve(&source, object.database)?;
            super::folder::check_folder(&folder, &source.to_string())?;
            Some(folder.loid)
        }
        None => None,
    };
    let done = app.repository.joint(Restore { object, folder, mode }, call.request(object)?).await;
    app.with_current(done)?;
    reply_with(app, object)
}

/// The object's record with its path: what creations answer.
fn reply_with(app: &App, object: Loid) -> Result<Reply> {
    let display = Display { path: true, ..Display::with_defaults(false) };
    Ok(Reply::new(Content::Json(record_after(app, object, &display)?.into())))
}

/// The JSON of a record after a change that has been made. Another call may have discarded or destroyed the object since; that
/// makes no failure of the change.
///
/// # Errors
/// What the store says.
pub fn record_after(app: &App, object: Loid, display: &Display) -> Result<String> {
    if let Some(json) = record_of(app, object, display)? {
        return Ok(json);
    }
    let Some(record) = app.repository.any_record(object)? else {
        return Ok(json!({ "id": object.to_string() }).to_string());
    };
    let mut shown = render(app, &record, &app.repository.attributes(object)?, display)?;
    if display.path {
        shown.path = Some(app.repository.path_of(&record)?);
    }
    Ok(String::from_utf8_lossy(&to_json(&shown)?).into_owned())
}

/// `POST /v3/object/create`: a multipart form of `options` (JSON) and `content` (file, optional), in any order.
pub async fn create(mut call: Call) -> Result<Reply> {
    let form = read_form(&mut call).await?;
    let app = &call.app;
    let options = form.options;
    let name = options.name.clone().or(form.file_name).ok_or_else(|| {
        Error::new(Code::InvalidName, "The object needs a `name` in `options`, or a file name with `content`.")
    })?;
    let types = app.sysconfig.object_types();
    let content_type = form.content.as_ref().map(|content| content.content.content_type.to_string());
    let known = match options.r#type.as_deref().filter(|name| !name.is_empty()) {
        Some(wanted) => types.get(wanted).ok_or_else(|| {
            Error::new(Code::TypeNotFound, format!("There is no object type `{wanted}`.")).with_source(wanted)
        })?,
        None => types.infer(content_type.as_deref(), &name).ok_or_else(|| {
            let message = format!("No object type fits the name `{name}` and its content: name a `type`.");
            Error::new(Code::TypeNotFound, message)
        })?,
    };
    if known.family != FamilyKind::Document {
        let message = format!("A {} is not made by this call but by one of its own.", known.name);
        return Err(Error::new(Code::InvalidType, message).with_source(&known.name));
    }
    let (status, initial_status) = status_of(app, options.status.as_deref(), known.workflow.as_deref())?;
    if let Some(date) = &options.issue_date
        && !(date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return Err(Error::parameter("issueDate", date, "a date as `yyyyMMdd`"));
    }
    let text = |value: &Option<String>| value.as_deref().filter(|text| !text.is_empty()).map(Text::from);
    let mut object = NewObject::document(&name, &known.name);
    object.status = status;
    object.initial_status = initial_status;
    object.type_inferred = options.r#type.as_deref().is_none_or(str::is_empty);
    object.work_folder = text(&options.work_folder);
    object.issue_date = text(&options.issue_date);
    object.suid = text(&options.suid);
    object.attributes = app.attribute_text("attributes", options.attributes.as_ref())?;
    let system = app.rooted_text("systemAttributes", options.system_attributes.as_ref(), "props")?;
    object.system_attributes = with_product_info(app, system, &options)?;
    object.usage_tickets = app.rooted_text("usageTickets", options.usage_tickets.as_ref(), "tl")?;
    object.content = form.content;
    object.mode = CreateOptions::mode(options.options.as_ref(), options.create_mode);
    let database = app.database(options.database_id.as_ref().map(DatabaseRef::text).as_deref())?;
    let folder = folder_source(options.folder.as_deref(), options.folder_path.as_deref())?;
    let (folder, below) = app.place_in(&call, folder, database)?;
    let created = app.repository.joint(Create { folder, below, object }, call.request(folder)?).await;
    reply_with(app, app.with_current(created)?.loid)
}

/// The status that is asked for, and the one that a new object gets without one: the workflow's first.
fn status_of(app: &App, wanted: Option<&str>, workflow: Option<&str>) -> Result<(Option<Text>, Option<Text>)> {
    let workflows = app.sysconfig.workflows();
    let first = workflow.and_then(|workflow| workflows.initial(workflow)).map(|status| status.name.clone());
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else { return Ok((None, first)) };
    if workflows.status(wanted).is_none() {
        let message = format!("There is no workflow status `{wanted}`.");
        return Err(Error::new(Code::StatusNotFound, message).with_source(wanted));
    }
    let fits = workflow.is_none_or(|workflow| {
        workflows.get(workflow).is_none_or(|workflow| workflow.statuses.iter().any(|status| *status.name == *wanted))
    });
    if fits {
        return Ok((Some(wanted.into()), first));
    }
    let message = format!("The status `{wanted}` does not belong to the workflow `{}`.", workflow.unwrap_or_default());
    Err(Error::new(Code::InvalidStatus, message).with_source(wanted))
}

/// System attributes with what the client said of product and team beside them. What stands in them already counts for more.
fn with_product_info(app: &App, system: Option<Text>, options: &CreateObject) -> Result<Option<Text>> {
    let mut product = serde_json::Map::new();
    for (key, value) in [("name", &options.product), ("edition", &options.edition), ("issueDate", &options.issue_date)]
    {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            product.insert(key.into(), value.into());
        }
    }
    let mut said = serde_json::Map::new();
    if !product.is_empty() {
        said.insert("productInfo".into(), product.into());
    }
    if let Some(team) = options.team.as_deref().filter(|team| !team.is_empty()) {
        said.insert("team".into(), team.into());
    }
    let mut props = match &system {
        Some(text) => {
            // It has just been checked.
            let json = xml::to_json(text, &app.xml_limits()).map_err(|_| Error::internal())?;
            match json.get("props") {
                Some(Value::Object(props)) => props.clone(),
                // Empty, or nothing but text.
                Some(Value::String(text)) if !text.is_empty() => {
                    serde_json::Map::from_iter([("#text".to_owned(), text.as_str().into())])
                }
                _ => serde_json::Map::new(),
            }
        }
        None => serde_json::Map::new(),
    };
    said.retain(|key, _| !props.contains_key(key));
    if said.is_empty() {
        // As it came, to the byte.
        return Ok(system);
    }
    props.extend(said);
    app.rooted_text("systemAttributes", Some(&json!({ "props": props })), "props")
}

/// The parts of a creation's form.
struct Form {
    options: CreateObject,
    content: Option<NewContent>,
    file_name: Option<String>,
}

async fn read_form(call: &mut Call) -> Result<Form> {
    let payload = call.payload.take().ok_or_else(Error::internal)?;
    let app = call.app.clone();
    let limits = &app.config.limits;
    let broken = |error: actix_multipart::MultipartError| {
        Error::new(Code::InvalidBody, format!("The form could not be read: {error}."))
    };
    let mut parts = Multipart::new(call.headers(), payload);
    let mut seen: HashMap<String, ()> = HashMap::new();
    let mut form = Form { options: CreateObject::default(), content: None, file_name: None };
    while let Some(part) = parts.next().await {
        let mut part = part.map_err(broken)?;
        let name = part.name().unwrap_or_default().to_owned();
        if matches!(name.as_str(), "options" | "content") && seen.insert(name.clone(), ()).is_some() {
            return Err(Error::new(Code::InvalidBody, format!("The form has the part `{name}` twice.")));
        }
        match name.as_str() {
            "options" => {
                let limit = limits.upload_part_options_bytes;
                let mut bytes = BytesMut::new();
                while let Some(chunk) = part.next().await {
                    let chunk = chunk.map_err(broken)?;
                    if bytes.len() + chunk.len() > limit {
                        return Err(too_large("The part `options`", limit as u64));
                    }
                    bytes.extend_from_slice(&chunk);
                }
                // A struct could be read from a list of its fields, too.
                if bytes.trim_ascii_start().first() == Some(&b'[') {
                    let message = "The part `options` must be a JSON object, but is a list.";
                    return Err(Error::new(Code::InvalidBody, message).with_detail("path", "$"));
                }
                form.options = body::parse(&bytes, false, limits.json_depth)?;
            }
            "content" => {
                let limit = limits.upload_bytes;
                let media_type = part.content_type().map(ToString::to_string);
                let disposition = part.content_disposition();
                form.file_name = disposition.and_then(|value| value.get_filename()).map(str::to_owned);
                let mut upload = app.content.upload();
                while let Some(chunk) = part.next().await {
                    upload.write(&chunk.map_err(broken)?).await?;
                    if upload.size() > limit {
                        return Err(too_large("The part `content`", limit));
                    }
                }
                let media_type = media_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                form.content = Some(upload.finish(&media_type).await?);
            }
            // Parts that nobody knows are passed over, within the bounds of the rest.
            _ => {
                let mut size = 0;
                while let Some(chunk) = part.next().await {
                    size += chunk.map_err(broken)?.len();
                    if size > limits.upload_part_options_bytes {
                        return Err(too_large(&format!("The part `{name}`"), limits.upload_part_options_bytes as u64));
                    }
                }
            }
        }
    }
    Ok(form)
}

/// `GET /v3/object/{source}/content` and `/content/binary`: the bytes, streamed.
pub async fn content(call: Call) -> Result<Reply> {
    let record = call.resolve("source")?;
    let named = match version_named(&call.app, &call.source("source")?, &record)? {
        Some(version) => Some(version),
        None => match call.query.integer("version").unwrap_or(-1) {
            -1 => None,
            number => {
                let wanted = u32::try_from(number).ok().filter(|number| *number > 0);
                let wanted = wanted.ok_or_else(|| Error::parameter("version", number, "a version's number, or -1"))?;
                Some(version(&call.app, &record, wanted)?)
            }
        },
    };
    let source = call.param("source");
    let (loid, content) = match named {
        Some(version) => (version.loid, version.content),
        None => {
            let content = record.content.clone().ok_or_else(|| {
                Error::new(Code::ObjectNotFound, format!("`{source}` has no content.")).with_source(source)
            })?;
            (record.loid.at_version(record.version), content)
        }
    };
    let tag = etag(record.revision, (content.sha256, call.query.integer("maxSize")));
    let reader = open(&call.app, loid, &content).await?.range(0, most(&call)?);
    let size = reader.remaining();
    let reply = Reply::new(Content::Stream(content.content_type.to_string(), size, streamed(reader))).with_etag(tag);
    Ok(match disposition(&record.name) {
        Some(value) => reply.with_header(CONTENT_DISPOSITION, value),
        None => reply,
    })
}

/// How many bytes `maxSize` lets through; it counts megabytes of 1,000,000 bytes (decisions 5).
fn most(call: &Call) -> Result<u64> {
    match call.query.integer("maxSize") {
        None => Ok(u64::MAX),
        Some(megabytes) => u64::try_from(megabytes)
            .map(|megabytes| megabytes.saturating_mul(1_000_000))
            .map_err(|_| Error::parameter("maxSize", megabytes, "0 or more megabytes")),
    }
}

/// What a browser calls the file when it saves it. Pages of ours are never shown inline, so that none can act as the user.
fn disposition(name: &str) -> Option<HeaderValue> {
    let ascii: String = name
        .chars()
        .map(|c| if c.is_ascii_graphic() && !matches!(c, '"' | '\\') || c == ' ' { c } else { '_' })
        .collect();
    let encoded = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    HeaderValue::from_str(&format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")).ok()
}

/// All bytes of an object's latest version.
///
/// # Errors
/// `ObjectNotFound` when it has none; what the store says.
pub async fn bytes_of(app: &App, record: &Record) -> Result<Bytes> {
    let content = record.content.as_ref().ok_or_else(|| Error::not_found(record.loid))?;
    open(app, record.loid.at_version(record.version), content).await?.read_all().await
}

async fn open(app: &App, version: Loid, content: &object::Content) -> Result<ContentReader> {
    if content.stored == Stored::File {
        return app.content.open_content(content).await;
    }
    let key = SmallBody::key(version);
    match app.repository.look().get(View::Committed, key.table, &key.key) {
        Ok(Some(bytes)) => Ok(ContentReader::of(bytes)),
        Ok(None) => Err(Error::not_found(version)),
        Err(error) => {
            tracing::error!(%version, %error, "the bytes of a version can't be read");
            Err(Error::internal())
        }
    }
}

/// A reader as the body of a response. A failure midway breaks the connection off, which tells the client that it has not got all.
fn streamed(reader: ContentReader) -> BodyStream {
    Box::pin(futures_util::stream::try_unfold(reader, |mut reader| async {
        let chunk = reader.next_chunk().await.map_err(actix_web::error::ErrorInternalServerError)?;
        Ok(chunk.map(|chunk| (chunk, reader)))
    }))
}
