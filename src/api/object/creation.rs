//! Creating objects (decisions 3, 6).

use std::collections::HashMap;

use actix_multipart::{Multipart, MultipartError};
use actix_web::error::PayloadError;
use actix_web::http::header::HeaderMap;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use stet_actors::error::{Code, Error, Result};
use stet_actors::lifecycle::NewObject;
use stet_actors::object::{FamilyKind, NewContent, Text};

use super::reply_with;
use crate::api::requests::{CreateOptions, DatabaseRef, WireCreateMode, folder_source};
use crate::app::App;
use crate::config::LimitsConfig;
use crate::content::ContentStore;
use crate::http::body::{self, too_large};
use crate::http::call::Call;
use crate::http::pace::Paced;
use crate::http::reply::Reply;
use crate::xml;

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

/// `POST /v3/object/create`: a multipart form of `options` (JSON) and `content` (file, optional), in any order.
pub async fn create(mut call: Call) -> Result<Reply> {
    let form = read_form(&mut call).await?;
    call.look_again()?;
    if let Some(reply) = call.answered_before(&form.sent()).await? {
        return Ok(reply);
    }
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
    let create = app.place_in(&call, folder, database)?.create(object);
    let created = app.repository.joint(create, call.unconditional()?).await;
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
#[derive(Default)]
pub(crate) struct Form {
    options: CreateObject,
    /// The part `options` as it came.
    options_text: Bytes,
    content: Option<NewContent>,
    file_name: Option<String>,
}

impl Form {
    /// What tells the form from others, whatever order and boundary its parts came with.
    pub(crate) fn sent(&self) -> Vec<&[u8]> {
        let mut sent: Vec<&[u8]> = vec![&self.options_text, self.file_name.as_deref().unwrap_or_default().as_bytes()];
        if let Some(NewContent { content, .. }) = &self.content {
            sent.extend([content.content_type.as_bytes(), &content.sha256]);
        }
        sent
    }
}

async fn read_form(call: &mut Call) -> Result<Form> {
    let payload = call.payload.take().ok_or_else(Error::internal)?;
    read_parts(call.headers(), payload, &call.app.config.limits, &call.app.content).await
}

/// Reads a form whose type and boundary `headers` tell; what is uploaded goes to `contents`.
///
/// # Errors
/// `InvalidBody`, `TooLarge`; what the disk says.
pub(crate) async fn read_parts(
    headers: &HeaderMap,
    payload: impl Stream<Item = Result<Bytes, PayloadError>> + Unpin + 'static,
    limits: &LimitsConfig,
    contents: &ContentStore,
) -> Result<Form> {
    let broken = |error: MultipartError| {
        let why = match error {
            // The library's words for it are that there was an error.
            MultipartError::Payload(PayloadError::Io(error)) => error.to_string(),
            other => other.to_string(),
        };
        Error::new(Code::InvalidBody, format!("The form could not be read: {why}."))
    };
    let payload = Paced::new(payload, limits.upload_progress_bytes, limits.upload_progress_seconds);
    let mut parts = Multipart::new(headers, payload);
    let mut seen: HashMap<String, ()> = HashMap::new();
    let mut form = Form::default();
    let mut count = 0;
    while let Some(part) = parts.next().await {
        count += 1;
        if count > limits.upload_parts {
            let message = format!("The form has more than the {} parts allowed.", limits.upload_parts);
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", limits.upload_parts));
        }
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
                form.options = body::parse_object(&bytes, false, limits.json_depth)?;
                form.options_text = bytes.freeze();
            }
            "content" => {
                let limit = limits.upload_bytes;
                let media_type = part.content_type().map(ToString::to_string);
                let disposition = part.content_disposition();
                form.file_name = disposition.and_then(|value| value.get_filename()).map(str::to_owned);
                let mut upload = contents.upload();
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
