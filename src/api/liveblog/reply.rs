//! Replies about liveblogs and posts.

use std::fmt::Write;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use stet_actors::error::{Error, Result};
use stet_actors::liveblog::{Post, PostStatus};
use stet_actors::object::{SmallBody, Stored};
use stet_actors::store::View;

use super::Open;
use super::piece::are_of;
use super::settled::{Unsettled, of_post, settled};
use super::types::{Attachment, Post as WirePost, StatusChange};
use crate::api::records::{info_of, quoted};
use crate::content::text::decoded;
use crate::content::words;
use crate::http::app::App;
use crate::http::call::Call;
use crate::http::display::Display;
use crate::http::etag::ETag;
use crate::http::reply::{Content, Reply, to_json};
use crate::records::render;

/// Posts that are rendered before others get their turn.
const AT_A_TIME: usize = 64;

/// How a post's JSON begins.
const BEGINNING: &str = "{\"info\":{";

/// A post as JSON.
///
/// # Errors
/// [`Unsettled::Changed`]; what the store says.
pub(super) fn post_json(app: &App, post: &Post, display: &Display) -> Result<Arc<str>, Unsettled> {
    let mut plain = display.clone();
    // The path depends on the folders above, and what types are called on the configuration: neither is kept.
    plain.path = false;
    let key = (post.loid(), post.record.revision, plain);
    let kept = if display.additional_info { None } else { app.posts.get(&key) };
    let json = match kept {
        Some(kept) => kept,
        None => {
            let json: Arc<str> =
                of_post(&app.repository, post, || rendered(app, post, &key.2, content_of(app, post)?))?.into();
            if !display.additional_info {
                app.posts.put(key, json.clone());
            }
            json
        }
    };
    if !display.path {
        return Ok(json);
    }
    let path = quoted(&app.repository.path_of(&post.record)?);
    // `info` is first, and never empty.
    let rest = json.strip_prefix(BEGINNING).unwrap_or_default();
    Ok(format!("{BEGINNING}\"path\":{path},{rest}").into())
}

fn rendered(app: &App, post: &Post, display: &Display, bytes: Option<Bytes>) -> Result<String> {
    let attributes = app.repository.attributes(post.loid())?;
    let content = post.record.content.as_ref().zip(bytes.as_ref());
    let content = content.map(|(content, bytes)| decoded(&content.content_type, bytes).into_owned());
    let shown = WirePost {
        info: render(app, &post.record, &attributes, display)?,
        status: post.status.name().to_owned(),
        title: post.title.to_string(),
        summary: post.summary.to_string(),
        description: post.description.to_string(),
        r#type: post.kind.to_string(),
        timestamp: post.timestamp,
        author: post.author().to_string(),
        moderated: post.moderated,
        pinned: post.pinned,
        tags: post.tags.iter().map(ToString::to_string).collect(),
        content,
        attachments: post
            .attachments
            .iter()
            .map(|attachment| Attachment {
                id: attachment.id.to_string(),
                name: attachment.name.to_string(),
                content_type: attachment.content.content_type.to_string(),
                size: attachment.content.size,
            })
            .collect(),
        history: post
            .history
            .iter()
            .map(|change| StatusChange {
                from: change.from.map(|from| from.name().to_owned()),
                to: change.to.name().to_owned(),
                user: change.user.to_string(),
                at: change.at_ms,
            })
            .collect(),
    };
    Ok(String::from_utf8_lossy(&to_json(&shown)?).into_owned())
}

/// The bytes of the content, if it is text and lies in the tables.
fn content_of(app: &App, post: &Post) -> Result<Option<Bytes>> {
    let Some(content) = &post.record.content else { return Ok(None) };
    if content.stored != Stored::Row || !words::is_text(&content.content_type) {
        return Ok(None);
    }
    let key = SmallBody::key(post.loid().at_version(post.record.version));
    app.repository.look().get(View::Committed, key.table, &key.key).map_err(|error| {
        tracing::error!(post = %post.loid(), %error, "the bytes of a post can't be read");
        Error::internal()
    })
}

/// What a reply about a liveblog has beside `info`.
pub(super) struct Told<'v> {
    /// The posts shown.
    pub posts: Vec<&'v Arc<Post>>,
    /// How many there are.
    pub total: usize,
    /// Of a search with `since`.
    pub removed: Option<Vec<String>>,
}

/// A liveblog and posts of it.
///
/// # Errors
/// [`Unsettled::Changed`]; what the store says.
pub(super) async fn liveblog_json(
    app: &App,
    open: &Open,
    told: &Told<'_>,
    display: &Display,
) -> Result<String, Unsettled> {
    let mut json = "{\"info\":".to_owned();
    json.push_str(&info(app, open, display)?);
    json.push_str(",\"items\":[");
    for (index, post) in told.posts.iter().enumerate() {
        if index > 0 {
            json.push(',');
            if index % AT_A_TIME == 0 {
                tokio::task::yield_now().await;
            }
        }
        json.push_str(&post_json(app, post, display)?);
    }
    // Writing to a String can't fail.
    let _ = write!(json, "],\"total\":{},\"revision\":{}", told.total, open.view.revision());
    if let Some(removed) = &told.removed {
        let _ = write!(json, ",\"removed\":{}", Value::from(removed.as_slice()));
    }
    json.push('}');
    Ok(json)
}

/// `info` as JSON: a record, and behind it what a liveblog has beside.
fn info(app: &App, open: &Open, display: &Display) -> Result<String> {
    let state = &open.view.state;
    let mut json = info_of(app, state, display)?;
    // A record is never the empty object: its last brace makes room for more members.
    json.pop();
    json.push_str(",\"postCounts\":{");
    for (index, (status, count)) in PostStatus::ALL.iter().zip(state.seen_counts(&open.sight)).enumerate() {
        let comma = if index > 0 { "," } else { "" };
        // Writing to a String can't fail.
        let _ = write!(json, "{comma}\"{}\":{count}", status.name());
    }
    let last = state.last_timestamp().map_or("null".to_owned(), |last| last.to_string());
    let _ = write!(json, "}},\"moderated\":{},\"lastPostTimestamp\":{last}}}", state.head().moderated);
    Ok(json)
}

/// The reply to a change of a liveblog: as it is now, and none of its posts.
pub(super) async fn changed_reply(call: &Call, open: Open, display: &Display) -> Result<Reply> {
    settled(call, open, async |open| {
        let total = open.view.state.seen_counts(&open.sight).iter().sum();
        let told = Told { posts: Vec::new(), total, removed: None };
        let json = liveblog_json(&call.app, open, &told, display).await?;
        Ok(Reply::new(Content::Json(json.into())).with_etag(ETag::new(open.view.revision(), "change")))
    })
    .await
}

/// A post alone.
///
/// # Errors
/// [`Unsettled::Changed`]; what the store says.
pub(super) fn post_reply(app: &App, open: &Open, post: &Post, what: &str) -> Result<Reply, Unsettled> {
    Ok(reply_of(open, post, what, &post_json(app, post, &Display::with_defaults(false))?))
}

/// The post as a change has left it, for who made the change and so sees all of the post: although others have changed it since. `None` if
/// its bytes were replaced in place. Attributes are those of now.
pub(super) fn post_as_left(app: &App, open: &Open, post: &Post) -> Result<Option<Reply>> {
    let bytes = content_of(app, post)?;
    let is_left = match (&bytes, &post.record.content) {
        (Some(bytes), Some(content)) => are_of(content, bytes),
        // Gone, or nothing that is shown.
        (None, Some(content)) => content.stored != Stored::Row || !words::is_text(&content.content_type),
        (_, None) => true,
    };
    if !is_left {
        return Ok(None);
    }
    let json = rendered(app, post, &Display::with_defaults(false), bytes)?;
    Ok(Some(reply_of(open, post, "change", &json)))
}

fn reply_of(open: &Open, post: &Post, what: &str, json: &str) -> Reply {
    // The post is an object: its last brace makes room for one more member.
    let json = format!("{},\"revision\":{}}}", json.strip_suffix('}').unwrap_or(json), open.view.revision());
    let tag = ETag::new(open.view.revision(), (what, post.loid(), post.record.revision));
    Reply::new(Content::Json(json.into())).with_etag(tag)
}
