//! Creation of liveblogs from templates: objects whose content a new liveblog starts with
//! (docs/api/liveblogs.md, "Making a liveblog").

use stet_domain::error::Result;
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_endpoint::requests::{CreateOptions, database_named, folder_source};
use stet_newsroom::creation::{Creation, CreationKind, CreationPlace, LIVEBLOG_TYPE, Template};
use stet_web::call::Call;
use stet_web::prefer::PreferredReply;

use super::reply::changed_reply;
use super::types::{ChangedLiveblog, CreateLiveblog};

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
    let request: CreateLiveblog = call.json().await?;
    let display = call.display_of_body().await?;
    let database = database_named(call, request.database_id.as_ref())?;
    let folder = folder_source(request.folder.as_deref(), request.folder_path.as_deref())?;
    let template = Template::find(call, template, template_database).await?;
    let kind = CreationKind::Liveblog { type_name: request.r#type, moderated: request.moderated };
    let (name, mode) = CreateOptions::name_and_mode(request.name, LIVEBLOG_TYPE, request.options, request.create_mode);
    let creation = Creation {
        mode,
        database,
        place: CreationPlace::SiteFolder(folder),
        status: request.status,
        title: request.title,
        product: request.product,
        edition: request.edition,
        team: request.team,
        issue_date: request.issue_date,
        work_folder: request.work_folder,
        suid: request.suid,
        attributes: request.attributes,
        system_attributes: request.system_attributes,
        usage_tickets: request.usage_tickets,
        template: Some(template),
        ..Creation::of(kind, name)
    };
    let created = call.create(creation).await?;
    changed_reply(call, created.reply.loid, created.left.as_ref(), &display).await
}
