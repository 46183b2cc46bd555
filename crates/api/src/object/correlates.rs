//! Correlates: links between objects, and items of topics (docs/api/objects.md, "Correlates").

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_auth::Privilege;
use stet_base::json::ReadyJson;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::correlate::{CorrelatePair, LinkEnd, MakeLink, RemoveLink};
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::joint::JointCommand;
use stet_domain::object::{self, SharedText};
use stet_domain::planning::topic::Topic;
use stet_newsroom::caller::check_whole;
use stet_newsroom::records::{CachedRecord, Display, ObjectRecord, usage};
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::Json;

use crate::records::{locker_of, record_of};
use crate::requests::{DatabaseRef, database_named};
use crate::settled::change_in_place;
use crate::topic::reply::record_of_item;
use crate::topic::{HiddenObject, TopicItemInfo};

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

/// A link as seen from one side.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CorrelateView {
    /// Name of the link on this side.
    #[schemars(with = "String")]
    pub link_name: SharedText,
    /// Name of the link on the other side.
    #[schemars(with = "String")]
    pub other_link_name: SharedText,
    /// The side that this is.
    pub side: LinkSide,
    /// Object or item on the other side: its record without attributes.
    pub object: CorrelatedObject,
}

/// A side of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LinkSide {
    /// The side that the link was created from.
    Source,
    /// The other side.
    Target,
}

/// An object or item that is linked.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "CorrelatedObject")]
pub enum CorrelatedObject {
    /// An item of a topic.
    Item(ReadyJson<TopicItemInfo>),
    /// An object.
    Object(ReadyJson<ObjectRecord>),
    /// An object that lies in the recycle bin or that the caller may not read.
    Hidden(HiddenObject),
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

/// Returns the record of an object, or an item and the record of its topic; `None` if the caller
/// may not see it.
fn seen(call: &Call, which: Loid) -> Result<Option<(Arc<CachedRecord>, Option<Loid>)>> {
    let app = &call.app;
    let container = app.repository.container_of(which)?;
    let Some(record) = app.records.get(&app.repository, container.unwrap_or(which))? else { return Ok(None) };
    let item = container.is_some().then_some(which);
    Ok(call.access().may(Privilege::Read, &record)?.then_some((record, item)))
}

/// Returns the links of an object or item as the caller sees them.
pub(crate) async fn correlates(call: &Call, of: Loid) -> Result<Vec<CorrelateView>> {
    let (mut list, mut timer) = (Vec::new(), YieldTimer::start());
    for object::Correlate { name, other, other_name, from_other } in call.app.repository.correlates(of)? {
        // Records may have megabytes of attributes.
        timer.yield_if_due().await;
        let side = if from_other { LinkSide::Target } else { LinkSide::Source };
        list.push(CorrelateView {
            link_name: name,
            other_link_name: other_name,
            side,
            object: correlated_object(call, other).await?,
        });
    }
    Ok(list)
}

/// Returns an object or item as the caller sees it.
async fn correlated_object(call: &Call, which: Loid) -> Result<CorrelatedObject> {
    let (app, display) = (&call.app, Display::bare());
    let shown = async {
        let Some((record, item)) = seen(call, which)? else { return Err(Error::not_found(which)) };
        let Some(item) = item else { return Ok(CorrelatedObject::Object(record_of(app, &record, &display).await?)) };
        let topic = call.view_of::<Topic>(record.loid).await?;
        Ok(CorrelatedObject::Item(record_of_item(call, topic, item, &display).await?))
    };
    match shown.await {
        // The caller may not see it, or it was deleted since.
        Err(error) if error.code == Code::ObjectNotFound => Ok(CorrelatedObject::Hidden(HiddenObject { hidden: true })),
        shown => shown,
    }
}

/// Returns a hash of all that is shown of the links of `of`, except for the state of `of` itself.
/// It is part of an ETag.
pub(crate) fn facts(call: &Call, of: Loid) -> Result<u64> {
    let (app, mut hasher) = (&call.app, DefaultHasher::new());
    for correlate in app.repository.correlates(of)? {
        correlate.hash(&mut hasher);
        // Read without attributes, which the tag does not cover.
        let which = app.repository.container_of(correlate.other)?.unwrap_or(correlate.other);
        let record = app.records.record(&app.repository, which)?;
        if let Some(record) = record
            && call.access().may(Privilege::Read, &record)?
        {
            (record.revision, locker_of(app, &record)).hash(&mut hasher);
        }
    }
    Ok(hasher.finish())
}
