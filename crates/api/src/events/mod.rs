//! The live event streams of containers (ours): server-sent events.

pub mod routes;

use actix_web::http::Method;
use actix_web::http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use futures_util::stream::empty;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::FamilyKind;
use stet_newsroom::events::stream::FollowRequest;
use stet_newsroom::records::CachedRecord;
use stet_web::call::Call;
use stet_web::reply::Reply;

/// The header by which a reconnecting client names the last event that it has.
const LAST_EVENT_ID: &str = "Last-Event-ID";

/// The query parameter for the last event, for clients that can't set headers.
const LAST_EVENT_ID_PARAM: &str = "lastEventId";

/// The header that stops proxies such as nginx from buffering events.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// `GET /v3/container/{source}/events`
pub async fn follow(call: Call) -> Result<Reply> {
    let container = call.resolve("source")?;
    stream(&call, &container).await
}

/// `GET /v3/container/liveblog/{source}/events`
pub async fn follow_liveblog(call: Call) -> Result<Reply> {
    let container = call.resolve("source")?;
    if container.family != FamilyKind::Liveblog {
        let source = call.param("source");
        let message = format!("`{source}` is of type {}, not a liveblog.", container.type_name);
        return Err(Error::new(Code::InvalidType, message).with_source(source));
    }
    stream(&call, &container).await
}

async fn stream(call: &Call, container: &CachedRecord) -> Result<Reply> {
    let after = last_event_id(call)?;
    let body = if call.http.method() == Method::HEAD {
        // No client reads it.
        Box::pin(empty())
    } else {
        let following = FollowRequest {
            newsroom: call.app.newsroom.clone(),
            session: call.required_session()?.clone(),
            container: container.loid,
            after,
            wait: call.query.boolean("wait"),
            memory: call.app.memory.clone(),
        };
        following.begin(&call.app.followers).await?
    };
    Ok(Reply::events(body)
        .with_header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .with_header(ACCEL_BUFFERING, HeaderValue::from_static("no")))
}

/// Returns the id of the last event that the caller has. The header takes precedence: a browser
/// that reconnects on its own repeats the parameter of its first request.
fn last_event_id(call: &Call) -> Result<Option<u64>> {
    let header = call.headers().get(LAST_EVENT_ID).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let header = header.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let param = call.query.text(LAST_EVENT_ID_PARAM).filter(|text| !text.is_empty());
    let Some((name, text)) = header.map(|text| (LAST_EVENT_ID, text)).or(param.map(|text| (LAST_EVENT_ID_PARAM, text)))
    else {
        return Ok(None);
    };
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let id = text.parse::<u64>().ok().filter(|_| digits);
    id.map(Some).ok_or_else(|| Error::parameter(name, text, "the `id` of an event, a whole number of 0 or more"))
}
