//! Correlates as replies show them: links between objects, and items of topics
//! (docs/api/objects.md, "Correlates").

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_auth::Privilege;
use stet_base::json::ReadyJson;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::{self, SharedText};
use stet_domain::planning::topic::Topic;
use stet_endpoint::records::{locker_of, record_of};
use stet_newsroom::records::{CachedRecord, Display, ObjectRecord};
use stet_web::call::Call;

use crate::topic::{HiddenObject, TopicItemInfo, record_of_item};
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
///
/// # Errors
/// Errors of the store.
pub async fn correlates(call: &Call, of: Loid) -> Result<Vec<CorrelateView>> {
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
///
/// # Errors
/// Errors of the store.
pub async fn correlated_object(call: &Call, which: Loid) -> Result<CorrelatedObject> {
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
///
/// # Errors
/// Errors of the store.
pub fn facts(call: &Call, of: Loid) -> Result<u64> {
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
