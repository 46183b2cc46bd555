//! Liveblogs are made from templates: objects of the repository whose content they begin with (docs/api/liveblogs.md, "Making a
//! liveblog").

use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{DatabaseId, Source};
use stet_actors::lifecycle::NewObject;
use stet_actors::liveblog::{Liveblog, NewLiveblog};
use stet_actors::object::{CreateMode, FamilyKind, IssueDate, NewContent, Stored, Text, Version};
use stet_actors::store::Key;

use super::reply::changed_reply;
use super::types::{ChangedLiveblog, CreateLiveblog};
use crate::api::download::{Found, opened};
use crate::api::object::{ProductInfo, status_of, version_named, with_product_info};
use crate::api::requests::{CreateOptions, database_named, folder_source};
use crate::http::call::Call;
use crate::http::reply::Json;

/// Name of the type of liveblogs in the objecttypes family, where no other is asked for.
const TYPE_NAME: &str = "LiveBlog";

/// `POST /v3/container/liveblog/from/template`
pub async fn create_from_default(call: Call) -> Result<Json<ChangedLiveblog>> {
    let template = Source::Path(call.app.config.liveblog.template.clone());
    create(&call, &template, DatabaseId::MAIN).await
}

/// `POST /v3/container/liveblog/from/template/{source}`
pub async fn create_from_template(call: Call) -> Result<Json<ChangedLiveblog>> {
    let template = Source::parse("source", call.param("source"))?;
    create(&call, &template, call.database()?).await
}

async fn create(call: &Call, template: &Source, template_database: DatabaseId) -> Result<Json<ChangedLiveblog>> {
    let mut request: CreateLiveblog = call.json().await?;
    let (app, display) = (&call.app, call.display_of_body().await?);
    let database = database_named(call, request.database_id.as_ref())?;
    let object = new_liveblog(call, &mut request, template, template_database).await?;
    let folder = folder_source(request.folder.as_deref(), request.folder_path.as_deref())?;
    let create = app.destination(call, folder, database)?.create(object);
    let created = call.change_all(create).await?;
    changed_reply(call, created.reply.loid, created.left.as_ref(), &display).await
}

/// A liveblog to be made with what a body says of it, and what a template has beside.
async fn new_liveblog(
    call: &Call,
    request: &mut CreateLiveblog,
    template: &Source,
    template_database: DatabaseId,
) -> Result<NewObject> {
    let app = &call.app;
    let not_found = || {
        let message = format!("There is no template `{template}`.");
        Error::new(Code::TemplateNotFound, message).with_source(template)
    };
    let found = call.find(template, template_database).map_err(|error| match error.code {
        Code::ObjectNotFound => not_found(),
        _ => error,
    })?;
    let version = version_named(app, template, &found)?.map_or(found.version, |version| version.loid.version);
    if version == 0 {
        let message = format!("`{template}` is of type {} and has no content to begin with.", found.type_name);
        return Err(Error::new(Code::InvalidType, message).with_source(template));
    }
    let content = content_of(call, Version::key(found.loid.at_version(version)), template).await?;
    let content = content.ok_or_else(not_found)?;

    let types = app.sysconfig.object_types();
    let wanted = request.r#type.as_deref().filter(|name| !name.is_empty());
    let known = match (types.get(wanted.unwrap_or(TYPE_NAME)), wanted) {
        (Some(known), _) if known.family == FamilyKind::Liveblog => Some(known),
        (Some(known), Some(_)) => {
            let message = format!("A {} is no liveblog.", known.name);
            return Err(Error::new(Code::InvalidType, message).with_source(&known.name));
        }
        (None, Some(wanted)) => {
            let message = format!("There is no object type `{wanted}`.");
            return Err(Error::new(Code::TypeNotFound, message).with_source(wanted));
        }
        (_, None) => None,
    };
    let workflow = known.and_then(|known| known.workflow.as_deref());
    let issue_date = request.issue_date.as_deref().map(IssueDate::parse).transpose()?;
    let text = |value: &Option<String>| value.as_deref().filter(|text| !text.is_empty()).map(Text::from);
    let mut object = NewObject::of::<Liveblog>(
        request.name.as_deref().unwrap_or(TYPE_NAME),
        known.map_or(TYPE_NAME, |known| &*known.name),
        NewLiveblog { moderated: request.moderated },
    );
    (object.status, object.initial_status) = status_of(app, request.status.as_deref(), workflow)?;
    object.type_inferred = wanted.is_none();
    object.work_folder = text(&request.work_folder);
    object.suid = text(&request.suid);
    let attributes = app.attribute_text("attributes", request.attributes.take()).await?;
    object.attributes = attributes.or_else(|| found.attributes.attributes.clone());
    let system = app.rooted_text("systemAttributes", request.system_attributes.take(), "props").await?;
    let said = ProductInfo {
        product: request.product.as_deref(),
        edition: request.edition.as_deref(),
        issue_date: issue_date.as_ref(),
        team: request.team.as_deref(),
    };
    // Whoever says anything of these says all of it: the template's product must not stand beside the caller's edition.
    object.system_attributes =
        with_product_info(app, system, &said).await?.or_else(|| found.attributes.system_attributes.clone());
    object.issue_date = issue_date;
    object.usage_tickets = app.rooted_text("usageTickets", request.usage_tickets.take(), "tl").await?;
    object.content = Some(content);
    // A generated name has to be free; a given one is up to the caller.
    let mode = CreateOptions::mode(request.options.as_ref(), request.create_mode);
    object.mode = if request.name.is_none() { CreateMode::AutoRename } else { mode };
    Ok(object)
}

/// The content of a version, with its bytes where they are small; `None` if it is not there any more. Both as they are in the
/// tables: the template's record, which was read before, may be that of a content that has been replaced since.
async fn content_of(call: &Call, version: Key, template: &Source) -> Result<Option<NewContent>> {
    let (app, repository) = (&call.app, &call.app.repository);
    let found = || -> Result<Found> {
        let version: Option<Version> = repository.row(version.table, &version.key)?;
        Ok(version.ok_or_else(|| Error::not_found(template))?.into())
    };
    let (found, reader) = match opened(repository, &app.content, template, found).await {
        Ok(opened) => opened,
        Err(error) if error.code == Code::ObjectNotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(match found.content.stored {
        // The template may end before the liveblog refers to the file, too.
        Stored::File => app.content.pin(&found.content).map(|pin| NewContent {
            content: found.content,
            small: None,
            pin: Some(pin),
        }),
        Stored::Row => Some(NewContent { content: found.content, small: Some(reader.read_all().await?), pin: None }),
    })
}
