//! Changes of workflow statuses (docs/api/objects.md, "Changing the status").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_actors::runtime::ResultingObject;
use stet_auth::Privilege;
use stet_base::json::{ChangeAnswer, ReadyJson};
use stet_base::limits::yielding::YieldTimer;
use stet_containers::topic::TopicItemInfo;
use stet_containers::topic::record_of_item;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::RevisionTag;
use stet_domain::family::State;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::object::SharedText;
use stet_domain::planning::Planning;
use stet_domain::planning::topic::{Topic, TopicItem};
use stet_domain::status::ChangeStatus;
use stet_endpoint::records::{BulkBuilder, BulkItem, BulkReply};
use stet_endpoint::requests::{DatabaseRef, SourceList, database_named};
use stet_endpoint::settled::change_in_place;
use stet_newsroom::caller::{Caller, check_whole};
use stet_newsroom::records::Display;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::prefer::PreferredReply;
use stet_web::reply::Json;

use super::{ChangedRecord, RemovedObject, reply_after};

/// Body of a change of status.
#[derive(Deserialize, JsonSchema)]
pub struct StatusRequest {
    /// Name of the workflow status.
    status: String,
}

/// Body of a change of the statuses of several objects.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusesRequest {
    /// Loids, uuids or paths of objects; loids or uuids of items of topics.
    sources: SourceList,
    /// Name of the new workflow status.
    status: String,
    /// Database of `sources`; the main one by default.
    #[serde(default)]
    database_id: Option<DatabaseRef>,
}

/// The reply to a change of status: the record of the object, or of the item of a topic.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ChangedStatus")]
pub enum ChangedStatus {
    /// An item of a topic.
    Item(ChangeAnswer<ReadyJson<TopicItemInfo>, RemovedObject>),
    /// An object.
    Object(ChangedRecord),
}

/// The largest number of searches for an item that others move at the same time.
const TRIES: usize = 5;

/// The object that a source names, or the topic and the item in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StatusTarget {
    object: Loid,
    item: Option<Loid>,
}

impl StatusTarget {
    /// Finds the target of a change to a status, if the caller may make that change.
    fn find(caller: &Caller, source: &ObjectSource, database: DatabaseId, status: &str) -> Result<StatusTarget> {
        StatusTarget::look(caller, source, database, status, TRIES)
    }

    fn look(
        caller: &Caller,
        source: &ObjectSource,
        database: DatabaseId,
        status: &str,
        tries: usize,
    ) -> Result<StatusTarget> {
        let newsroom = caller.newsroom();
        let (record, item) = match newsroom.resolve(source, database) {
            Ok(record) => (record, None),
            Err(error) if error.code == Code::ObjectNotFound => {
                let (topic, item) = newsroom.item(source)?;
                (topic, Some(item))
            }
            Err(error) => return Err(error),
        };
        caller.access().check(Privilege::Read, &record, source)?;
        check_whole(source)?;
        let type_name = match item {
            Some(item) => {
                let place = Topic::ENTRY.place(record.loid, &item.to_key());
                match newsroom.repository.row::<TopicItem>(place.table, &place.key)? {
                    Some(row) => row.record.type_name,
                    // The item was moved since, so it is searched for again.
                    None if tries > 1 => return StatusTarget::look(caller, source, database, status, tries - 1),
                    None => return Err(Error::not_found(source)),
                }
            }
            None => record.type_name.clone(),
        };
        let needed = newsroom.sysconfig.privileges_for(record.loid.database, &type_name, status);
        caller.access().check_any(&needed, &record, source)?;
        Ok(StatusTarget { object: record.loid, item })
    }

    fn loid(self) -> Loid {
        self.item.unwrap_or(self.object)
    }

    fn change_to(self, status: &SharedText) -> ChangeStatus {
        ChangeStatus { object: self.object, item: self.item, status: status.clone() }
    }
}

/// Returns the new status, which must not be empty.
fn named(status: String) -> Result<SharedText> {
    if status.is_empty() { Err(Error::parameter("status", status, "the name of a status")) } else { Ok(status.into()) }
}

/// `POST /v3/object/{source}/status`
pub async fn change_status(call: Call) -> Result<PreferredReply<ChangedStatus>> {
    let request: StatusRequest = call.json().await?;
    let (status, display) = (named(request.status)?, call.display_of_change().await?);
    let (source, database) = (call.source("source")?, call.database()?);
    let find = async || StatusTarget::find(&call, &source, database, &status);
    let change = async |target: StatusTarget| {
        let done = call.change_jointly(target.change_to(&status)).await?;
        Ok((target, done.left))
    };
    let (target, left) = change_in_place(find, change).await?;
    match target.item {
        Some(item) => Box::pin(reply_of_item(&call, target.object, item, left.as_ref(), &display)).await,
        None => reply_after(&call, target.object, left.as_ref(), &display, 0, ChangedStatus::Object).await,
    }
}

/// Builds the reply to the change of an item's status: its record, as the change has left it.
async fn reply_of_item(
    call: &Call,
    topic: Loid,
    item: Loid,
    left: Option<&ResultingObject>,
    display: &Display,
) -> Result<PreferredReply<ChangedStatus>> {
    let Some(view) = call.view_after::<Topic>(topic, left).await? else { return gone(item) };
    let state = RevisionTag::of(&view.state.object().record);
    if let Some(minimal) = call.minimal(item, state)? {
        return Ok(minimal);
    }
    match record_of_item(call, view, item, display).await {
        Ok(record) => {
            let reply = ChangedStatus::Item(ChangeAnswer::Shown(record));
            Ok(Json::of(&reply)?.with_etag(ETag::new(state, "change")).into())
        }
        // The change was made. Others have removed the item since, or change the topic continually.
        Err(error) if matches!(error.code, Code::ObjectNotFound | Code::Overloaded) => gone(item),
        Err(error) => Err(error),
    }
}

/// Builds the reply to the change of an item that no longer exists, or that the caller may not
/// read.
fn gone(item: Loid) -> Result<PreferredReply<ChangedStatus>> {
    Ok(Json::of(&ChangedStatus::Item(ChangeAnswer::Gone(RemovedObject { id: item.to_string() })))?.into())
}

/// `POST /v3/object/status`
pub async fn change_statuses(mut call: Call) -> Result<Json<BulkReply<BulkItem>>> {
    let request: StatusesRequest = call.json().await?;
    let (status, database) = (named(request.status)?, database_named(&call, request.database_id.as_ref())?);
    let given = request.sources.read(&call.app)?;
    let (mut bulk, mut each) = (BulkBuilder::of(&call, &given), call.each_of(given.len())?);
    let mut timer = YieldTimer::start();
    for (place, text) in given.iter().enumerate() {
        timer.yield_if_due().await;
        let outcome = async {
            let one = each.at(place)?;
            if let Some(done) = one.done_before() {
                return Ok(BulkItem { source: text.clone(), id: done.to_string() });
            }
            let source = ObjectSource::parse("sources", text)?;
            let find = async || StatusTarget::find(one.caller(), &source, database, &status);
            let change = async |target: StatusTarget| {
                one.change_part(target.loid(), target.object, target.change_to(&status)).await?;
                Ok(target)
            };
            let target = change_in_place(find, change).await?;
            Ok(BulkItem { source: text.clone(), id: target.loid().to_string() })
        };
        bulk.note(place, outcome.await);
    }
    bulk.answer().await
}
