//! Removal of several items of one topic (docs/api/topics.md, "Removing several items").

use stet_auth::Privilege;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Code, Result};
use stet_domain::family::State;
use stet_domain::id::Loid;
use stet_domain::planning::LineupEntry;
use stet_domain::planning::topic::{ItemAddress, RemoveTopicItem, Topic, TopicItemPath};
use stet_newsroom::caller::{BulkChange, NamedContainer};
use stet_web::call::Call;
use stet_web::reply::Json;

use super::reply::address;
use super::topic;
use stet_endpoint::records::BulkItem;
use stet_endpoint::records::{BulkBuilder, BulkReply};
use stet_endpoint::requests::{BulkSources, ObjectListRequest};
use stet_endpoint::settled::change_in_place;

/// `DELETE /v3/container/topic/{topic}/topicitem`: items and subitems of the topic.
pub async fn remove_items(mut call: Call) -> Result<Json<BulkReply<BulkItem>>> {
    let BulkSources { given, .. } = ObjectListRequest::of(&call).await?;
    let topic = topic(&call)?;
    let (mut bulk, mut each) = (BulkBuilder::of(&call, &given), call.each_of(given.len())?);
    let (mut timer, mut has_changed) = (YieldTimer::start(), false);
    for (place, source) in given.iter().enumerate() {
        timer.yield_if_due().await;
        let outcome = async { Box::pin(remove_item(&each.at(place)?, &topic, source)).await };
        match outcome.await {
            // Nothing has been changed, so the call is refused like that for a single item.
            Err(error) if !has_changed && error.code == Code::PreconditionFailed => return Err(error),
            outcome => {
                has_changed |= outcome.is_ok();
                bulk.note(place, outcome);
            }
        }
    }
    bulk.answer().await
}

/// Removes an item or subitem, if the caller may still change the topic.
async fn remove_item(one: &BulkChange<'_>, topic: &NamedContainer<Topic>, source: &str) -> Result<BulkItem> {
    let named = address("sources", source)?;
    let find = async || {
        let (caller, loid) = (one.caller(), topic.loid());
        let view = caller.view(topic).await?;
        caller.access().check(Privilege::Write, &view.state.object().record, &loid)?;
        let item = view.state.get(named)?;
        let found = ItemAddress::Loid(item.loid());
        let which = match item.under() {
            Some(above) => TopicItemPath { item: ItemAddress::Loid(above), subitem: Some(found) },
            None => TopicItemPath { item: found, subitem: None },
        };
        Ok((item.loid(), which))
    };
    let remove =
        async |(item, which): (Loid, TopicItemPath)| one.change_in(topic, item, RemoveTopicItem { which }).await;
    let done = change_in_place(find, remove).await?;
    Ok(BulkItem { source: source.to_owned(), id: done.item.to_string() })
}
