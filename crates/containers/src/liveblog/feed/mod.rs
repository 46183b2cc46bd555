//! Liveblogs for feed readers (ours): the approved posts, in the liveblog's order, for every caller
//! who may read it.
//!
//! A post's text is in the feed if it is short enough to be stored in the tables. For longer texts,
//! pictures and other files the feed has the address. Addresses start with the origin that the
//! caller used. They require a token, as everything does. A key in the address of a feed is
//! repeated in the feed's addresses of itself, so that a reader can follow them.

mod atom;
mod json;
pub(super) mod ld;

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use stet_base::limits::yielding::YieldTimer;
use stet_base::nearest::with_nearest;
use stet_content::ContentReader;
use stet_content::text::decode_text;
use stet_content::words::{essence, is_text, read_of};
use stet_domain::error::{Error, Result};
use stet_domain::family::State;
use stet_domain::id::Loid;
use stet_domain::liveblog::{Liveblog, Post};
use stet_domain::object::{ContentLocation, SharedText};
use stet_endpoint::settled::{UnsettledReply, build_settled};
use stet_endpoint::whole::stream_reader;
use stet_newsroom::titles::choose_title;
use stet_newsroom::titles::read_liveblog_title;
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::client;
use stet_web::etag::ETag;
use stet_web::reply::Reply;

use super::piece::{address_of, bytes_of};
use super::{OpenLiveblog, open};

/// The largest number of posts in one reply, which is built in memory.
const MOST: u64 = 1000;

/// The bytes of posts after which a reply ends, with the address of the rest.
const ENOUGH: usize = 1 << 20;

/// The last millisecond of the year 9999, the latest that the times of feeds can express.
const LAST_MS: u64 = 253_402_300_799_999;

/// The format of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum FeedFormat {
    Atom,
    Json,
    Ld,
}

impl FeedFormat {
    const ALL: [FeedFormat; 3] = [FeedFormat::Atom, FeedFormat::Json, FeedFormat::Ld];

    const fn name(self) -> &'static str {
        match self {
            FeedFormat::Atom => "atom",
            FeedFormat::Json => "json",
            FeedFormat::Ld => "jsonld",
        }
    }

    const fn media_type(self) -> &'static str {
        match self {
            FeedFormat::Atom => "application/atom+xml",
            FeedFormat::Json => "application/feed+json",
            FeedFormat::Ld => "application/ld+json",
        }
    }
}

/// A liveblog as a feed, in the terms that all formats share. Times are RFC 3339 in UTC.
pub(super) struct Feed {
    /// `urn:uuid:…`
    pub id: String,
    pub title: String,
    /// Full name of the user who created it; empty for readers who may not know it.
    pub author: String,
    pub created: String,
    /// The last change of the posts shown; never before `created`.
    pub updated: String,
    /// The earliest and the latest time of all approved posts; without any, the creation of the
    /// liveblog.
    pub covers: (String, String),
    /// The address of this part of the feed, and of the next if there is one.
    pub address: String,
    pub next: Option<String>,
    pub entries: Vec<FeedEntry>,
}

/// A post in a feed.
pub(super) struct FeedEntry {
    /// `urn:uuid:…`
    pub id: String,
    /// The title, never empty.
    pub title: String,
    /// The summary, which may be empty.
    pub summary: String,
    /// Full name of the author; empty for readers who may not know it.
    pub author: String,
    pub published: String,
    /// The time of the last change; never before `published`.
    pub updated: String,
    pub tags: Vec<String>,
    pub body: FeedContent,
    pub attachments: Vec<FeedFile>,
}

impl FeedEntry {
    /// Returns the approximate size of the entry.
    fn bytes(&self) -> usize {
        let body = match &self.body {
            FeedContent::Html(html, text) => html.len() + text.len(),
            FeedContent::Text(text) => text.len(),
            FeedContent::Elsewhere(_) => 0,
        };
        let attachments = self.attachments.iter().map(|file| file.address.len() + file.name.len() + 128);
        let tags = self.tags.iter().map(|tag| tag.len() + 32);
        512 + self.title.len() + self.summary.len() + body + attachments.sum::<usize>() + tags.sum::<usize>()
    }
}

/// The content of a post.
pub(super) enum FeedContent {
    /// HTML as it is stored, and its text.
    Html(String, String),
    /// Text, of XML without its mark-up.
    Text(String),
    /// A file with a content that is too long, or no text.
    Elsewhere(FeedFile),
}

/// A file.
pub(super) struct FeedFile {
    pub address: String,
    pub name: String,
    pub media_type: String,
    pub size: u64,
}

/// `GET /v3/container/liveblog/{source}/feed/{format}`
pub async fn feed(call: Call) -> Result<Reply> {
    // An unknown liveblog is reported before any other error.
    call.container::<Liveblog>("source")?;
    let named = call.param("format");
    let format = FeedFormat::ALL.into_iter().find(|format| format.name() == named);
    let format = format.ok_or_else(|| {
        let error = Error::parameter("format", named, "atom, json or jsonld");
        with_nearest(error, named, FeedFormat::ALL.iter().map(|format| format.name()))
    })?;
    let (limit, offset) = (number(&call, "limit", MOST)?, number(&call, "offset", u64::MAX)?);
    let origin = client::origin(&call.http, &call.app.proxies);
    // JSON-LD is embedded in public pages, so it must not contain a key.
    let key = call.key_in_address().filter(|_| format != FeedFormat::Ld);
    build_settled(&call, open(&call).await?, async |open| {
        // Addresses contain these.
        let place = (&origin, &call.app.config.server.base_path, &key);
        let named = FeedNames::of(&call.app, open, limit, offset).await?;
        let tag = ETag::new(open.tag(), ("feed", format, limit, offset, place, &named));
        if call.has(&tag) {
            return Ok(Reply::not_modified(tag));
        }
        let part = FeedPage { format, origin: &origin, key: key.as_deref(), limit, offset };
        let feed = feed_of(&call.app, open, &named, part).await?.ok_or(UnsettledReply::Changed)?;
        let text = match format {
            FeedFormat::Atom => atom::text(&feed),
            FeedFormat::Json => json::text(&feed)?,
            FeedFormat::Ld => ld::text(&feed)?,
        };
        let (media_type, size) = (format.media_type().to_owned(), text.len() as u64);
        let reply = Reply::stream(media_type, size, stream_reader(ContentReader::of(text.into())));
        Ok(reply.holding(size).with_etag(tag))
    })
    .await
}

fn number(call: &Call, name: &str, most: u64) -> Result<u64> {
    // Both have defaults.
    let number = call.query.integer(name).unwrap_or_default();
    let found = u64::try_from(number).ok().filter(|number| *number <= most);
    found.ok_or_else(|| Error::parameter(name, number, &format!("between 0 and {}", most.min(i64::MAX as u64))))
}

/// Names in a feed that depend on more than the liveblog.
#[derive(Hash)]
struct FeedNames {
    /// Title of the liveblog.
    title: SharedText,
    /// Full names by user name, for the liveblog's creator and the authors of the posts shown.
    people: BTreeMap<SharedText, String>,
}

impl FeedNames {
    async fn of(app: &App, open: &OpenLiveblog, limit: u64, offset: u64) -> Result<FeedNames> {
        let state = &open.view.state;
        let object = state.object();
        let title = choose_title(app, object, &read_liveblog_title(app, object).await?).await?;
        let mut people = BTreeMap::new();
        let mut note = |user: &SharedText| {
            people.entry(user.clone()).or_insert_with(|| app.directory.full_name(user));
        };
        note(&object.record.creator);
        let mut timer = YieldTimer::start();
        for post in state.sequence().visible_at(first(open, offset)).take(limit as usize) {
            timer.yield_if_due().await;
            note(post.author());
        }
        Ok(FeedNames { title, people })
    }

    /// Returns the full name of a user of the feed.
    fn person(&self, user: &SharedText) -> String {
        self.people.get(user).cloned().unwrap_or_else(|| user.to_string())
    }
}

/// Returns the place of the first post at an offset. Any offset beyond all posts counts as their
/// number.
fn first(open: &OpenLiveblog, offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX).min(open.view.state.sequence().visible_len())
}

/// Returns the time of a post's last change in epoch milliseconds. It is never before the post's
/// own time, which callers choose.
pub(super) fn updated(post: &Post) -> u64 {
    let decided = post.history.last().map_or(0, |change| change.at_ms);
    post.timestamp.max(post.record.modified * 1000).max(decided)
}

/// The part of a feed that a call asks for.
#[derive(Clone, Copy)]
struct FeedPage<'c> {
    format: FeedFormat,
    /// Scheme, host and port of the feed's addresses.
    origin: &'c str,
    /// The key in the call's address, which the addresses of other parts repeat.
    key: Option<&'c str>,
    limit: u64,
    offset: u64,
}

impl FeedPage<'_> {
    /// Returns the address of the part of a liveblog's feed from an offset on.
    fn address(&self, base: &str, liveblog: Loid, offset: u64) -> String {
        let FeedPage { format, origin, key, limit, .. } = self;
        let format = format.name();
        let mut address =
            format!("{origin}{base}/v3/container/liveblog/{liveblog}/feed/{format}?limit={limit}&offset={offset}");
        if let Some(key) = key {
            address.push_str("&key=");
            address.extend(form_urlencoded::byte_serialize(key.as_bytes()));
        }
        address
    }
}

/// Builds the feed; `None` if a post was changed since the view.
async fn feed_of(app: &App, open: &OpenLiveblog, named: &FeedNames, part: FeedPage<'_>) -> Result<Option<Feed>> {
    let FeedPage { origin, limit, offset, .. } = part;
    let (state, record) = (&open.view.state, &open.view.state.object().record);
    let posts = state.sequence();
    let (mut entries, mut bytes) = (Vec::new(), 0);
    let (mut latest, mut last) = (record.created * 1000, 0);
    let skip = first(open, offset);
    let mut timer = YieldTimer::start();
    for (index, post) in posts.visible_at(skip).take(limit as usize).enumerate() {
        timer.yield_if_due().await;
        let Some(entry) = entry_of(app, post, named, origin).await? else { return Ok(None) };
        bytes += entry.bytes();
        entries.push(entry);
        latest = latest.max(updated(post));
        last = index + 1;
        if bytes >= ENOUGH {
            break;
        }
    }
    let (begin, end) = coverage(open);
    let address = |offset| part.address(&app.config.server.base_path, record.loid, offset);
    let more = last > 0 && skip + last < posts.visible_len();
    Ok(Some(Feed {
        id: record.uuid.0.urn().to_string(),
        title: named.title.to_string(),
        author: named.person(&record.creator),
        created: time(record.created * 1000),
        updated: time(latest),
        covers: (time(begin), time(end)),
        address: address(offset),
        next: more.then(|| address(offset + last as u64)),
        entries,
    }))
}

async fn entry_of(app: &App, post: &Post, named: &FeedNames, origin: &str) -> Result<Option<FeedEntry>> {
    let link = |attachment: Option<u64>, name: &str, content: &stet_domain::object::Content| FeedFile {
        address: format!("{origin}{}", address_of(app, post, attachment)),
        name: name.to_owned(),
        media_type: media_type(&content.content_type),
        size: content.size,
    };
    let body = match &post.record.content {
        None => FeedContent::Text(String::new()),
        Some(content) if content.stored == ContentLocation::Row && is_text(&content.content_type) => {
            let Some(bytes) = bytes_of(app, post, content).await? else { return Ok(None) };
            let text = decode_text(&content.content_type, &bytes);
            let read = read_of(&content.content_type, &text);
            match &*essence(&content.content_type) {
                "text/html" | "application/xhtml+xml" => FeedContent::Html(text.into_owned(), read),
                _ => FeedContent::Text(read),
            }
        }
        Some(content) => FeedContent::Elsewhere(link(None, &post.record.name, content)),
    };
    let title = [&post.title, &post.summary, &post.record.name].into_iter().find(|text| !text.is_empty());
    let attachments = post.attachments.iter();
    Ok(Some(FeedEntry {
        id: post.record.uuid.0.urn().to_string(),
        title: title.map(ToString::to_string).unwrap_or_default(),
        summary: post.summary.to_string(),
        author: named.person(post.author()),
        published: time(post.timestamp),
        updated: time(updated(post)),
        tags: post.tags.iter().map(ToString::to_string).collect(),
        body,
        attachments: attachments.map(|file| link(Some(file.id), &file.name, &file.content)).collect(),
    }))
}

/// Returns the earliest and the latest time of all approved posts; without any, the creation of the
/// liveblog.
pub(super) fn coverage(open: &OpenLiveblog) -> (u64, u64) {
    let (state, posts) = (&open.view.state, open.view.state.sequence());
    // Pinned posts come first, and both groups are sorted from the latest to the earliest. The
    // search is binary, because there may be very many posts.
    let (mut pinned, mut others) = (0, posts.visible_len());
    while pinned < others {
        let middle = pinned + (others - pinned) / 2;
        if posts.nth_visible(middle).is_some_and(|post| post.pinned) { pinned = middle + 1 } else { others = middle }
    }
    let pinned = pinned.checked_sub(1).and_then(|last| posts.nth_visible(last)).map(|post| post.timestamp);
    let oldest = posts.nth_visible(posts.visible_len().saturating_sub(1)).map(|post| post.timestamp);
    let created = state.object().record.created * 1000;
    let begin = pinned.into_iter().chain(oldest).min().unwrap_or(created);
    let end = state.last_timestamp().unwrap_or(created).max(begin);
    (begin, end)
}

/// Formats epoch milliseconds as RFC 3339 in UTC.
pub(super) fn time(ms: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(ms.min(LAST_MS))).to_string()
}

/// Returns the media type of a content, or the generic type if it is malformed: clients may send
/// any text.
pub(super) fn media_type(content_type: &str) -> String {
    let kind = essence(content_type);
    let token = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    match kind.split_once('/') {
        Some((main, sub)) if token(main) && token(sub) => kind,
        _ => "application/octet-stream".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_up_to_the_last_that_can_be() {
        assert_eq!(time(1_763_733_784_005), "2025-11-21T14:03:04.005Z");
        assert_eq!(time(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(time(u64::MAX), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn invalid_media_types_become_octet_stream_in_feeds() {
        assert_eq!(media_type("Image/SVG+xml; charset=utf-8"), "image/svg+xml");
        for nonsense in ["", "text", "text/", "/plain", "a b/c", "text/\"<", "a/b/c"] {
            assert_eq!(media_type(nonsense), "application/octet-stream", "{nonsense}");
        }
    }
}
