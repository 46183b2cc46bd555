//! Correlates: links between objects, and items of topics (docs/api/objects.md, "Correlates").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_auth::Privilege;
use stet_containers::correlates::{CorrelateView, CorrelatedObject, correlated_object, correlates, facts};
use stet_domain::correlate::{CorrelatePair, LinkEnd, MakeLink, RemoveLink};
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::joint::JointCommand;
use stet_domain::object::SharedText;
use stet_endpoint::requests::{DatabaseRef, database_named};
use stet_endpoint::settled::change_in_place;
use stet_newsroom::caller::check_whole;
use stet_newsroom::records::usage;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::Json;

/// Body of a call that links two objects, or removes a link.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CorrelateRequest {
    /// Name of the link at the object of the path.
    source_link_name: String,
    /// Name of the link at the other object.
    target_link_name: String,
    /// The other side: loid, uuid or path of an object, or loid or uuid of an item of a topic.
    target_source: String,
    /// Database of `targetSource`; the main one by default.
    #[serde(default)]
    database_id: Option<DatabaseRef>,
}

/// The links of an object or item.
#[derive(Serialize, JsonSchema)]
pub struct CorrelateList {
    /// The object or item that has the links.
    pub info: CorrelatedObject,
    /// Links in the order of their names, at most 100.
    pub items: Vec<CorrelateView>,
}

/// Returns the object or item that a source names, if the caller has the privilege for it. For an
/// item, the privilege must hold for its topic.
fn end(call: &Call, needed: Privilege, source: &ObjectSource, database: DatabaseId) -> Result<LinkEnd> {
    if needed != Privilege::Read {
        check_whole(source)?;
    }
    let (record, item) = match call.app.resolve(source, database) {
        Ok(record) => (record, None),
        Err(error) if error.code == Code::ObjectNotFound => {
            let (topic, item) = call.app.item(source)?;
            (topic, Some(item))
        }
        Err(error) => return Err(error),
    };
    call.access().check(needed, &record, source)?;
    Ok(LinkEnd { container: record.loid, item })
}

/// `POST /v3/object/{source}/correlate`
pub async fn correlate(call: Call) -> Result<Json<CorrelateList>> {
    change(&call, |pair| MakeLink { pair, ticket: usage::add_ticket }).await
}

/// `POST /v3/object/{source}/uncorrelate`
pub async fn uncorrelate(call: Call) -> Result<Json<CorrelateList>> {
    change(&call, RemoveLink).await
}

/// Creates or removes the link that the body names. The reply lists the links of the object in the
/// path.
async fn change<J: JointCommand<Reply = ()>>(
    call: &Call,
    command: fn(CorrelatePair) -> J,
) -> Result<Json<CorrelateList>> {
    let request: CorrelateRequest = call.json().await?;
    let target = ObjectSource::parse("targetSource", &request.target_source)?;
    let database = database_named(call, request.database_id.as_ref())?;
    let (source_name, target_name) =
        (SharedText::from(request.source_link_name), SharedText::from(request.target_link_name));
    let ends = async || {
        let source = end(call, Privilege::Write, &call.source("source")?, call.database()?)?;
        Ok((source, end(call, Privilege::Write, &target, database)?))
    };
    let link = async |(source, target): (LinkEnd, LinkEnd)| {
        let (source_name, target_name) = (source_name.clone(), target_name.clone());
        let done = call.change_jointly(command(CorrelatePair { source, source_name, target, target_name })).await?;
        Ok((source.loid(), done.left))
    };
    let (source, left) = change_in_place(ends, link).await?;
    let reply = Json::of(&list_of(call, source).await?)?;
    Ok(match left {
        Some(left) => reply.with_etag(ETag::new(RevisionTag::of(&left.object().record), "change")),
        None => reply,
    })
}

/// `GET /v3/object/{source}/correlates`
pub async fn list(call: Call) -> Result<Json<CorrelateList>> {
    let end = end(&call, Privilege::Read, &call.source("source")?, call.database()?)?;
    let record = call.app.records.get(&call.app.repository, end.container)?;
    let record = record.ok_or_else(|| Error::not_found(end.loid()))?;
    let tag = ETag::new(RevisionTag::of(&record), ("correlates", facts(&call, end.loid())?));
    if call.has(&tag) {
        return Ok(Json::not_modified(tag));
    }
    Ok(Json::of(&list_of(&call, end.loid()).await?)?.with_etag(tag))
}

async fn list_of(call: &Call, of: Loid) -> Result<CorrelateList> {
    Ok(CorrelateList { info: correlated_object(call, of).await?, items: correlates(call, of).await? })
}
