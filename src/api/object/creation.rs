//! Creating objects (docs/api/objects.md, "Creating").

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use stet_actors::bundle::Bundle;
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{DatabaseId, Source};
use stet_actors::lifecycle::NewObject;
use stet_actors::object::{CreateMode, FamilyKind, IssueDate, NewContent, Record, Text};
use stet_actors::web_container::WebContainer;
#[cfg(any(test, feature = "fuzzing"))]
use {
    crate::config::LimitsConfig, crate::content::ContentStore, actix_web::error::PayloadError,
    actix_web::http::header::HeaderMap, bytes::Bytes, futures_util::Stream,
};

use super::defaults::{Defaults, IssueDateStrategy, Wanted, with_time};
use super::status::{give_inferred, status_of};
use super::system::{ProductInfo, begin as begin_as, describe_by};
use super::{ChangedRecord, reply_with};
use crate::api::attributes::Given;
use crate::api::form::{self, FilePart, FileRule, Submitted};
use crate::api::requests::{DatabaseRef, WireCreateMode, database_named, folder_source, stays_checked_out};
use crate::api::template::Template;
use crate::http::arriving::Arriving;
use crate::http::body::Object;
use crate::http::call::Call;
use crate::http::prefer::Preferred;

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
    /// Uuid of the new object; a new one without it. The call never changes an object that has
    /// another uuid.
    uuid: Option<String>,
    /// The main one without it.
    database_id: Option<DatabaseRef>,
    /// Loid, uuid or path of the folder; without it that of type and work folder, or the user's
    /// home.
    folder: Option<String>,
    /// Path of the folder.
    folder_path: Option<String>,
    /// Path of the work folder.
    work_folder: Option<String>,
    /// The workflow's first without it.
    status: Option<String>,
    product: Option<String>,
    edition: Option<String>,
    /// `yyyyMMdd`, or `yyMMdd` for 20yy.
    issue_date: Option<String>,
    team: Option<String>,
    /// XML text or JSON.
    attributes: Option<Given>,
    /// XML text or JSON with the root `props`.
    system_attributes: Option<Given>,
    /// XML text or JSON with the root `tl`.
    usage_tickets: Option<Given>,
    /// Story family.
    suid: Option<String>,
    /// When the name is taken.
    create_mode: Option<WireCreateMode>,
    /// Whether it is checked in at once: else it stays checked out, unless `unlock`.
    check_in: Option<bool>,
    /// Without a check-in: whether the caller does not have it checked out at the end.
    unlock: Option<bool>,
    /// Whether the caller has it checked out at the end, though it is checked in.
    keep_checked_out: Option<bool>,
    /// Whether it is for the default product, if no product is named.
    use_default_product: Option<bool>,
    /// Where the issue date comes from, if none is named.
    issue_date_default_strategy: Option<IssueDateStrategy>,
    /// Whether the time of the call stands behind the name.
    time_suffix: Option<bool>,
    options: Option<Object<ObjectOptions>>,
}

/// What may stand under `options` of the creation of an object, too, and wins there.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectOptions {
    /// Whether it is for the default product, if no product is named.
    use_default_product: Option<bool>,
    /// Where the issue date comes from, if none is named.
    issue_date_default_strategy: Option<IssueDateStrategy>,
    /// Whether the time of the call stands behind the name.
    time_suffix: Option<bool>,
    /// Kept for clients; has no effect.
    #[schemars(with = "Option<bool>")]
    checkin_action: Option<IgnoredAny>,
    /// When the name is taken.
    create_mode: Option<WireCreateMode>,
    /// Whether it is checked in at once: else it stays checked out, unless `unlock`.
    check_in: Option<bool>,
    /// Without a check-in: whether the caller does not have it checked out at the end.
    unlock: Option<bool>,
    /// Whether the caller has it checked out at the end, though it is checked in.
    keep_checked_out: Option<bool>,
}

impl CreateObject {
    /// How it is made: what `options` say, and what they leave open, as the top has it.
    fn how(&self) -> ObjectOptions {
        let inner = self.options.as_ref().map(|Object(inner)| *inner).unwrap_or_default();
        ObjectOptions {
            create_mode: inner.create_mode.or(self.create_mode),
            check_in: inner.check_in.or(self.check_in),
            unlock: inner.unlock.or(self.unlock),
            keep_checked_out: inner.keep_checked_out.or(self.keep_checked_out),
            use_default_product: inner.use_default_product.or(self.use_default_product),
            issue_date_default_strategy: inner.issue_date_default_strategy.or(self.issue_date_default_strategy),
            time_suffix: inner.time_suffix.or(self.time_suffix),
            checkin_action: None,
        }
    }
}

/// `POST /v3/object/create`: a multipart form of `options` (JSON) and `content` (file, optional),
/// in any order.
pub async fn create(arriving: Arriving) -> Result<Preferred<ChangedRecord>> {
    let (call, mut form): (_, Form) = match form::read(arriving, form::whoever, FILES).await? {
        Submitted::New(call, form) => (call, form),
        Submitted::Answered(reply) => return Ok(reply.into()),
    };
    let mut options = form.options;
    let content = named_as_file(&mut options, form.files.pop())?;
    Box::pin(make(&call, options, content, None)).await
}

/// The content of a form's only file; the object is called as that, unless it has a name.
pub(super) fn named_as_file(options: &mut CreateObject, file: Option<FilePart>) -> Result<Option<NewContent>> {
    options.name = options.name.take().or_else(|| file.as_ref()?.file_name.clone());
    if let Some(name) = options.name.as_deref() {
        return Ok(file.map(|file| file.content_as(Some(name))));
    }
    let message = "The object needs a `name` in `options`, or a file name with `content`.";
    Err(Error::new(Code::InvalidName, message))
}

/// An object without a name is called as its template, with a number if that is taken.
pub(super) fn named_as_template(options: &mut CreateObject, template: &Record) {
    if options.name.as_deref().is_none_or(str::is_empty) {
        options.name = Some(template.name.to_string());
        options.create_mode = Some(WireCreateMode::AutoRename);
        if let Some(Object(inner)) = &mut options.options {
            inner.create_mode = None;
        }
    }
}

/// `POST /v3/object/create/from/template/path?path=`: with the content of the template, and its
/// attributes where none are given.
pub async fn create_from_template(call: Call) -> Result<Preferred<ChangedRecord>> {
    let mut options: CreateObject = call.json().await?;
    // It is required, so there is one.
    let source = Source::parse("path", call.query.text("path").unwrap_or_default())?;
    let database = database_named(&call, options.database_id.as_ref())?;
    let template = Template::find(&call, &source, database).await?;
    named_as_template(&mut options, &template.record);
    Box::pin(make(&call, options, None, Some(template))).await
}

/// Makes the object that the options describe, with that content. A new one begins with what the
/// template has, where nothing is said.
pub(super) async fn make(
    call: &Call,
    mut options: CreateObject,
    content: Option<NewContent>,
    template: Option<Template>,
) -> Result<Preferred<ChangedRecord>> {
    let (app, display) = (&call.app, call.display_of_change().await?);
    let how = options.how();
    // Both kinds of calls have one by now.
    let mut name = options.name.take().unwrap_or_default();
    if how.time_suffix == Some(true) && !name.is_empty() {
        name = with_time(&name, app.repository.clock().now_ms());
    }
    let database = database_named(call, options.database_id.as_ref())?;
    let folder = folder_source(options.folder.as_deref(), options.folder_path.as_deref())?;
    let of = app.database_of(folder.as_ref(), database)?;
    let types = app.sysconfig.object_types(of);
    let begins_with = content.as_ref().or(template.as_ref().map(|template| &template.content));
    let content_type = begins_with.map(|new| new.content.content_type.to_string());
    let wanted = options.r#type.as_deref().filter(|name| !name.is_empty());
    let known = match wanted {
        Some(wanted) => types.named(wanted)?,
        None => types.infer(content_type.as_deref(), &name).ok_or_else(|| {
            let message = format!("No object type fits the name `{name}` and its content: name a `type`.");
            Error::new(Code::TypeNotFound, message)
        })?,
    };
    let mut object = match known.family {
        FamilyKind::Document => NewObject::document(&name, &known.name),
        FamilyKind::Bundle => NewObject::of::<Bundle>(&name, &known.name, ()),
        FamilyKind::WebContainer => NewObject::of::<WebContainer>(&name, &known.name, ()),
        _ => {
            let message = format!("A {} is not made by this call but by one of its own.", known.name);
            return Err(Error::new(Code::InvalidType, message).with_source(&known.name));
        }
    };
    let issue_date = IssueDate::given(options.issue_date.as_deref())?;
    let text = |value: &Option<String>| value.as_deref().filter(|text| !text.is_empty()).map(Text::from);
    let (status, workflow) = (options.status.as_deref(), known.workflow.as_deref());
    match wanted {
        Some(_) => (object.status, object.initial_status) = status_of(app, of, status, workflow)?,
        None => give_inferred(app, of, &mut object, status, workflow),
    }
    object.work_folder = text(&options.work_folder);
    object.issue_date = issue_date.clone();
    object.suid = text(&options.suid);
    let uuid = options.uuid.as_deref().filter(|uuid| !uuid.is_empty());
    object.uuid = uuid.map(|uuid| super::import::uuid("uuid", uuid)).transpose()?;
    object.attributes = app.attribute_text("attributes", options.attributes.take()).await?;
    let said = ProductInfo {
        product: options.product.as_deref(),
        edition: options.edition.as_deref(),
        issue_date: issue_date.as_ref(),
        team: options.team.as_deref(),
    };
    let system = options.system_attributes.take();
    let defaults = describe(call, &mut object, (of, how), &said, system, template).await?;
    let said = defaults.over(&said);
    object.usage_tickets = app.rooted_text("usageTickets", options.usage_tickets.take(), "tl").await?;
    object.content = content;
    object.mode = how.create_mode.map_or(CreateMode::Exception, CreateMode::from);
    let checked_out = stays_checked_out(how.check_in, how.keep_checked_out, how.unlock);
    object.checked_out_s = checked_out.then_some(app.config.auth.lock_idle_seconds);
    let created = app.destination_of(call, folder, database, &object, &said)?.make(call, object).await?;
    reply_with(call, created.reply.loid, created.left.as_ref(), &display).await
}

/// Gives an object that is to be made, in the database `of`, its system attributes and what its
/// template has; and fills in what the options ask for.
async fn describe(
    call: &Call,
    object: &mut NewObject,
    (of, how): (DatabaseId, ObjectOptions),
    said: &ProductInfo<'_>,
    given: Option<Given>,
    template: Option<Template>,
) -> Result<Defaults> {
    let app = &call.app;
    let wanted = Wanted {
        product: how.use_default_product == Some(true),
        issue_date: how.issue_date_default_strategy == Some(IssueDateStrategy::Calendar),
    };
    let system = app.rooted_text("systemAttributes", given, "props").await?;
    let of_template = template.as_ref().and_then(|template| template.record.attributes.system_attributes.clone());
    let defaults = Defaults::find(call, of, wanted, said, (system.as_ref(), of_template.as_ref())).await?;
    let is_described = system.is_some();
    let system = match system {
        Some(text) => Some(defaults.put_into(call, object, text).await?),
        None => None,
    };
    describe_by(app, of, object, system, said).await?;
    if let Some(template) = template {
        begin_as(app, object, template).await?;
    }
    if !is_described {
        defaults.begin(call, object).await?;
    }
    Ok(defaults)
}

/// The form of a creation.
pub(crate) type Form = form::Form<CreateObject>;

/// Its only file.
pub(super) const FILES: &[FileRule] = &[FileRule { name: "content", many: false, head: 0, keeps_generic_type: false }];

/// Reads a form whose type and boundary are in `headers`; what is uploaded goes to `contents`.
///
/// # Errors
/// `InvalidBody`, `TooLarge`; what the disk says.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) async fn read_parts(
    headers: &HeaderMap,
    payload: impl Stream<Item = Result<Bytes, PayloadError>> + Unpin + 'static,
    limits: &LimitsConfig,
    contents: &ContentStore,
) -> Result<Form> {
    let into = form::Into { contents, room: &crate::limits::Reservation::unaccounted() };
    form::read_parts(headers, payload, limits, into, FILES).await
}
