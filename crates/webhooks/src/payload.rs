//! The body of a message: an event and the record of its container, as the owner of the webhook may
//! see them.

use std::task::Poll;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use stet_auth::Privilege;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::Record;
use stet_domain::store::Event;
use stet_newsroom::Newsroom;
use stet_newsroom::access::{Access, Principal};
use stet_newsroom::events::sight::EventFilter;
use stet_newsroom::events::stored::{ContainerEvent, EventText};
use stet_newsroom::records::{Display, Groups, render};

use crate::rows::Webhook;

/// The kind of the message by which a receiver is tried out.
pub const TEST: &str = "webhook.test";

/// The body of a message, in the form of the Standard Webhooks specification.
#[derive(Serialize)]
struct MessageBody<'a> {
    r#type: &'a str,
    /// The time of the change, in RFC 3339.
    timestamp: String,
    data: Map<String, Value>,
}

/// A rendered message.
#[derive(Debug)]
pub struct RenderedEvent {
    /// The kind of the event that the receiver gets.
    pub kind: String,
    /// The body.
    pub body: Bytes,
}

/// Renders an event of a webhook. `None` if it is not wanted, or its owner may see nothing of it.
///
/// # Errors
/// Errors of the store.
pub async fn render_event(newsroom: &Newsroom, webhook: &Webhook, event: Event) -> Result<Option<RenderedEvent>> {
    let Some(container) = event.container else { return Ok(None) };
    let principal = Principal::User(webhook.owner.clone());
    let rights = principal.rights(newsroom)?;
    let access = principal.access(newsroom, &rights);
    // Nothing is left of a destroyed container by which the owner's rights could be checked.
    let Some(record) = record_of(newsroom, container)? else { return Ok(None) };
    let is_below = match webhook.selection.below {
        Some(folder) => access.lies_within(&record, folder)?,
        None => true,
    };
    if !is_below || !access.may(Privilege::Read, &record)? {
        return Ok(None);
    }
    let happening = ContainerEvent::of(container, event);
    let Some((kind, data)) = visible(newsroom, access, &record, &happening).await? else { return Ok(None) };
    let record = record_value(newsroom, &record)?;
    Ok(body_of(Some((&kind, &data)), happening.event.at_ms, Some(record)))
}

/// Renders the message by which a receiver is tried out.
pub fn render_test(now_ms: u64) -> Option<RenderedEvent> {
    body_of(Some((TEST, "{}")), now_ms, None)
}

fn record_of(newsroom: &Newsroom, container: Loid) -> Result<Option<Record>> {
    match newsroom.records.record(&newsroom.repository, container)? {
        Some(record) => Ok(Some(record)),
        None => newsroom.repository.any_record(container),
    }
}

/// Returns the kind and the data of the event that the owner may see; `None` if there is nothing.
async fn visible(
    newsroom: &Newsroom,
    access: Access<'_>,
    record: &Record,
    happening: &ContainerEvent,
) -> Result<Option<(String, String)>> {
    let (mut filter, mut timer) = (EventFilter::of(happening), YieldTimer::start());
    let text = loop {
        match filter.go_on(newsroom, access, record, &timer)? {
            Poll::Ready(text) => break text,
            Poll::Pending => timer.yield_if_due().await,
        }
    };
    let named = text.as_ref().and_then(EventText::named_data);
    Ok(named.map(|(kind, data)| (kind.to_owned(), data.to_owned())))
}

/// Returns the present record without attributes, whose size is bounded.
fn record_value(newsroom: &Newsroom, record: &Record) -> Result<Value> {
    let mut shown = render(newsroom, record, Groups::default(), &Display::bare())?;
    shown.path = newsroom.path_of(record)?;
    serde_json::to_value(&shown).map_err(|error| {
        tracing::error!(%error, "a record can't be rendered");
        Error::internal()
    })
}

fn body_of(named: Option<(&str, &str)>, at_ms: u64, record: Option<Value>) -> Option<RenderedEvent> {
    let (kind, data) = named?;
    let mut data: Map<String, Value> = serde_json::from_str(data).ok()?;
    if let Some(record) = record {
        data.insert("record".to_owned(), record);
    }
    // Later times can't be formatted.
    const END_OF_9999_MS: u64 = 253_402_300_799_999;
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(at_ms.min(END_OF_9999_MS));
    let timestamp = humantime::format_rfc3339_millis(at).to_string();
    let body = serde_json::to_vec(&MessageBody { r#type: kind, timestamp, data }).ok()?;
    Some(RenderedEvent { kind: kind.to_owned(), body: body.into() })
}
