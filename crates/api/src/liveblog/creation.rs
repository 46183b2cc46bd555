//! Creation of liveblogs from templates: objects whose content a new liveblog starts with
//! (docs/api/liveblogs.md, "Making a liveblog").

use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::lifecycle::{NewObject, NewParts};
use stet_domain::liveblog::{HEAD, Liveblog, LiveblogHead, NewLiveblog};
use stet_domain::object::{CreateMode, FamilyKind, IssueDate, Record, SharedText};
use stet_domain::store::RowPlace;
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::prefer::PreferredReply;

use super::reply::changed_reply;
use super::types::{ChangedLiveblog, CreateLiveblog};
use crate::attributes::attribute_text;
use crate::attributes::rooted_text;
use crate::destination::database_of_folder;
use crate::destination::find_object_destination;
use crate::object::{ProductInfo, begin_as, describe_system, give_status_inferred, give_title, status_of};
use crate::requests::{CreateOptions, database_named, folder_source};
use crate::template::Template;

/// The default object type of liveblogs.
const TYPE_NAME: &str = "LiveBlog";

/// `POST /v3/container/liveblog/from/template`
pub async fn create_from_default(call: Call) -> Result<PreferredReply<ChangedLiveblog>> {
    let template = ObjectSource::Path(call.app.config.liveblog.template.clone());
    create(&call, &template, DatabaseId::main()).await
}

/// `POST /v3/container/liveblog/from/template/{source}`
pub async fn create_from_template(call: Call) -> Result<PreferredReply<ChangedLiveblog>> {
    let template = call.source("source")?;
    create(&call, &template, call.database()?).await
}

async fn create(
    call: &Call,
    template: &ObjectSource,
    template_database: DatabaseId,
) -> Result<PreferredReply<ChangedLiveblog>> {
    let mut request: CreateLiveblog = call.json().await?;
    let (app, display) = (&call.app, call.display_of_body().await?);
    let database = database_named(call, request.database_id.as_ref())?;
    let folder = folder_source(request.folder.as_deref(), request.folder_path.as_deref())?;
    let of = database_of_folder(app, folder.as_ref(), database)?;
    let object = new_liveblog(call, &mut request, of, template, template_database).await?;
    let (product, edition, team) = (request.product.as_deref(), request.edition.as_deref(), request.team.as_deref());
    let said = ProductInfo { product, edition, issue_date: None, team };
    let created = find_object_destination(call, folder, database, &object, &said)?.make(call, object).await?;
    changed_reply(call, created.reply.loid, created.left.as_ref(), &display).await
}

/// Builds a new liveblog for `database` from the body of the request and the template.
async fn new_liveblog(
    call: &Call,
    request: &mut CreateLiveblog,
    database: DatabaseId,
    template: &ObjectSource,
    template_database: DatabaseId,
) -> Result<NewObject> {
    let app = &call.app;
    let template = Template::find(call, template, template_database).await?;
    let types = app.sysconfig.object_types(database);
    let wanted = request.r#type.as_deref().filter(|name| !name.is_empty());
    let known = match (types.get(wanted.unwrap_or(TYPE_NAME)), wanted) {
        (Some(known), _) if known.family == FamilyKind::Liveblog => Some(known),
        (Some(known), Some(_)) => {
            let message = format!("A {} is not a liveblog.", known.name);
            return Err(Error::new(Code::InvalidType, message).with_source(&known.name));
        }
        (None, Some(wanted)) => return Err(types.unknown(wanted)),
        (_, None) => None,
    };
    let workflow = known.and_then(|known| known.workflow.as_deref());
    let issue_date = IssueDate::given(request.issue_date.as_deref())?;
    let text = |value: &Option<String>| value.as_deref().filter(|text| !text.is_empty()).map(SharedText::from);
    let mut object = NewObject::of::<Liveblog>(
        request.name.as_deref().unwrap_or(TYPE_NAME),
        known.map_or(TYPE_NAME, |known| &*known.name),
        NewLiveblog::default(),
    );
    let status = request.status.as_deref();
    match wanted {
        Some(_) => (object.status, object.initial_status) = status_of(app, database, status, workflow)?,
        None => give_status_inferred(app, database, &mut object, status, workflow),
    }
    object.work_folder = text(&request.work_folder);
    object.issue_date = issue_date.clone();
    object.suid = text(&request.suid);
    object.attributes = attribute_text(app, "attributes", request.attributes.take()).await?;
    let said = ProductInfo {
        product: request.product.as_deref(),
        edition: request.edition.as_deref(),
        issue_date: issue_date.as_ref(),
        team: request.team.as_deref(),
    };
    let shown = describe_system(app, database, &mut object, request.system_attributes.take(), &said).await?;
    let is_moderated = is_moderated(app, &template.record)?;
    let begins = begin_as(app, &mut object, template).await?;
    object.parts = NewParts::of::<Liveblog>(NewLiveblog {
        moderated: request.moderated.map_or_else(|| shown.moderated(), |said| Ok(Some(said)))?,
        begins_moderated: is_moderated.or(begins.moderated().unwrap_or_default()).unwrap_or(false),
    });
    if let Some(title) = &request.title {
        give_title(app, &mut object, title, &said)?;
    }
    object.usage_tickets = rooted_text(app, "usageTickets", request.usage_tickets.take(), "tl").await?;
    // A generated name is made unique; for a given one, the caller chooses the mode.
    let mode = CreateOptions::mode(request.options.as_ref(), request.create_mode);
    object.mode = if request.name.is_none() { CreateMode::AutoRename } else { mode };
    Ok(object)
}

/// Returns whether a template is moderated; `None` if it is no liveblog. Its system attributes may
/// state otherwise.
fn is_moderated(app: &App, template: &Record) -> Result<Option<bool>> {
    if template.family != FamilyKind::Liveblog {
        return Ok(None);
    }
    let RowPlace { table, key } = HEAD.place(template.loid, &[]);
    Ok(app.repository.row::<LiveblogHead>(table, &key)?.map(|head| head.moderated))
}
