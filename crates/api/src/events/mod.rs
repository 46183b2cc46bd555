//! The live event streams of containers (ours): server-sent events (docs/api/events.md).

mod presence;
pub mod routes;

pub use self::presence::{PresenceRequest, note as note_presence};

use actix_web::http::Method;
use actix_web::http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use futures_util::stream::empty;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{Loid, ObjectSource};
use stet_domain::object::FamilyKind;
use stet_domain::store::EventId;
use stet_newsroom::events::control::StreamChange;
use stet_newsroom::events::position::{ContainerPosition, MOST_CONTAINERS, StreamPosition};
use stet_newsroom::events::stream::{FollowRequest, FollowTarget, SubtreePosition};
use stet_newsroom::records::CachedRecord;
use stet_web::body::JsonObject;
use stet_web::call::Call;
use stet_web::reply::{Json, Reply};

/// The header by which a reconnecting client names the last event that it has.
const LAST_EVENT_ID: &str = "Last-Event-ID";

/// The query parameter for the last event, for clients that can't set headers.
const LAST_EVENT_ID_PARAM: &str = "lastEventId";

/// The header that stops proxies such as nginx from buffering events.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The query parameter for the containers of a stream of several.
const CONTAINERS_PARAM: &str = "containers";

/// The query parameter for the folder of a stream of everything below it.
const BELOW_PARAM: &str = "below";

/// `GET /v3/events`
pub async fn follow_many(call: Call) -> Result<Reply> {
    if let Some(below) = call.query.text(BELOW_PARAM) {
        let target = FollowTarget::Subtree(subtree_of_query(&call, below)?);
        return stream(&call, target).await;
    }
    let wanted = "the `id` of an event of such a stream";
    let containers = match last_event_id(&call) {
        Some((name, text)) => StreamPosition::parse(&text).ok_or_else(|| Error::parameter(name, &text, wanted))?.0,
        None => containers_of_query(&call)?,
    };
    stream(&call, FollowTarget::Containers(containers)).await
}

/// Body of a change of an open stream.
#[derive(Deserialize, JsonSchema)]
pub struct StreamChangeRequest {
    /// The containers to follow from now on.
    follow: Option<Vec<JsonObject<FollowedSource>>>,
    /// Loids, uuids or paths of the containers to leave.
    unfollow: Option<Vec<String>>,
}

/// A container to follow.
#[derive(Deserialize, JsonSchema)]
pub struct FollowedSource {
    /// Loid, uuid or path of the container.
    container: String,
    /// Last revision that the client has; without one, the container begins with the present.
    #[serde(default)]
    after: Option<u64>,
}

/// The containers of an open stream.
#[derive(Serialize, JsonSchema)]
pub struct StreamContainers {
    /// Name of the stream.
    pub stream: String,
    /// Loids of the containers that it follows after the change.
    pub containers: Vec<String>,
}

/// `POST /v3/events/{stream}`
pub async fn change_stream(call: Call) -> Result<Json<StreamContainers>> {
    let request: StreamChangeRequest = call.json().await?;
    let (name, user) = (call.param("stream"), call.required_session()?.user().clone());
    let control = call.app.followers.stream(name, &user).ok_or_else(|| {
        Error::new(Code::ObjectNotFound, format!("You have no open stream `{name}`.")).with_source(name)
    })?;
    let (follow, unfollow) = (request.follow.unwrap_or_default(), request.unfollow.unwrap_or_default());
    let count = follow.len() + unfollow.len();
    if count > 2 * MOST_CONTAINERS {
        let message = format!("{count} containers are named; at most {} are allowed.", 2 * MOST_CONTAINERS);
        return Err(Error::new(Code::InvalidBody, message));
    }
    let mut changes = Vec::with_capacity(count);
    for source in &unfollow {
        // One that may no longer be read can be left as well.
        let source = ObjectSource::parse("unfollow", source)?;
        changes.push(StreamChange::Unfollow(match source {
            ObjectSource::Loid(loid) => loid.object(),
            source => call.find(&source, call.database()?)?.loid,
        }));
    }
    for JsonObject(FollowedSource { container, after }) in &follow {
        let source = ObjectSource::parse("container", container)?;
        let container = call.find(&source, call.database()?)?.loid;
        changes.push(StreamChange::Follow(ContainerPosition { container, after: *after }));
    }
    let containers = control.change(&changes)?.iter().map(Loid::to_string).collect();
    Json::of(&StreamContainers { stream: control.name.clone(), containers })
}

/// Returns the containers that the query names, each with the last revision that the caller has.
fn containers_of_query(call: &Call) -> Result<Vec<ContainerPosition>> {
    let names = call.query.list(CONTAINERS_PARAM);
    if names.len() > MOST_CONTAINERS {
        let message =
            format!("`{CONTAINERS_PARAM}` names {} containers; at most {MOST_CONTAINERS} are allowed.", names.len());
        return Err(Error::new(Code::InvalidParameter, message).with_detail("parameter", CONTAINERS_PARAM));
    }
    let mut positions: Vec<ContainerPosition> = Vec::with_capacity(names.len());
    for name in names {
        let (after, source) = match name.split_once(':') {
            Some((revision, source)) if is_number(revision) => {
                let wanted = "a loid, uuid or path, perhaps behind a revision and a colon";
                let revision = revision.parse().map_err(|_| Error::parameter(CONTAINERS_PARAM, name, wanted))?;
                (Some(revision), source)
            }
            _ => (None, name.as_str()),
        };
        let source = ObjectSource::parse(CONTAINERS_PARAM, source)?;
        let container = call.find(&source, call.database()?)?.loid;
        // A container that is named twice is followed once.
        if positions.iter().all(|position| position.container != container) {
            positions.push(ContainerPosition { container, after });
        }
    }
    Ok(positions)
}

/// Returns the folder that the query names, with the last place in the log that the caller has.
fn subtree_of_query(call: &Call, below: &str) -> Result<SubtreePosition> {
    if call.query.has(CONTAINERS_PARAM) {
        let message = format!("`{BELOW_PARAM}` and `{CONTAINERS_PARAM}` exclude each other; name one of them.");
        return Err(Error::new(Code::InvalidParameter, message).with_detail("parameter", BELOW_PARAM));
    }
    let after = last_event_id(call).map(|(name, text)| {
        let id = if text == "0" { Some(EventId::default()) } else { EventId::parse(&text) };
        id.ok_or_else(|| Error::parameter(name, &text, "the `id` of an event of such a stream, or 0"))
    });
    let after = after.transpose()?;
    let folder = call.find(&ObjectSource::parse(BELOW_PARAM, below)?, call.database()?)?;
    if !folder.family.holds_by_name() {
        let message = format!("`{below}` is of type {}, and no objects lie below it.", folder.type_name);
        return Err(Error::new(Code::InvalidType, message).with_source(below));
    }
    Ok(SubtreePosition { folder: folder.loid, after })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `GET /v3/container/{source}/events`
pub async fn follow(call: Call) -> Result<Reply> {
    let container = call.resolve("source")?;
    follow_one(&call, &container).await
}

/// `GET /v3/container/liveblog/{source}/events`
pub async fn follow_liveblog(call: Call) -> Result<Reply> {
    let container = call.resolve("source")?;
    if container.family != FamilyKind::Liveblog {
        let source = call.param("source");
        let message = format!("`{source}` is of type {}, not a liveblog.", container.type_name);
        return Err(Error::new(Code::InvalidType, message).with_source(source));
    }
    follow_one(&call, &container).await
}

async fn follow_one(call: &Call, container: &CachedRecord) -> Result<Reply> {
    let after = last_event_id(call).map(|(name, text)| {
        let id = text.parse::<u64>().ok().filter(|_| is_number(&text));
        id.ok_or_else(|| Error::parameter(name, &text, "the `id` of an event, a whole number of 0 or more"))
    });
    let position = ContainerPosition { container: container.loid, after: after.transpose()? };
    stream(call, FollowTarget::Container(position)).await
}

async fn stream(call: &Call, target: FollowTarget) -> Result<Reply> {
    let body = if call.http.method() == Method::HEAD {
        // No client reads it.
        Box::pin(empty())
    } else {
        let following = FollowRequest {
            newsroom: call.app.newsroom.clone(),
            session: call.required_session()?.clone(),
            target,
            wait: call.query.boolean("wait"),
            memory: call.app.memory.clone(),
        };
        following.begin(&call.app.followers).await?
    };
    Ok(Reply::events(body)
        .with_header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .with_header(ACCEL_BUFFERING, HeaderValue::from_static("no")))
}

/// Returns the id of the last event that the caller has, with the name of the header or parameter.
/// The header takes precedence: a browser that reconnects on its own repeats the parameter of its
/// first request.
fn last_event_id(call: &Call) -> Option<(&'static str, String)> {
    let header = call.headers().get(LAST_EVENT_ID).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let header = header.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let param = call.query.text(LAST_EVENT_ID_PARAM).filter(|text| !text.is_empty());
    header.map(|text| (LAST_EVENT_ID, text)).or_else(|| param.map(|text| (LAST_EVENT_ID_PARAM, text.to_owned())))
}
