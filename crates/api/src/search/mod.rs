//! Search (docs/api/search.md).

mod criteria;
pub mod routes;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stet_base::json::{JoinedMembers, ReadyJson, ReplyList};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::liveblog::Post;
use stet_domain::object::SharedText;
use stet_endpoint::records::{path_if_shown, readable, record_of};
use stet_newsroom::messages::Message;
use stet_newsroom::records::{Display, Groups, ObjectRecord, render};
use stet_search::{Category, FoundItem, Hit, HitHighlight, NewsroomSearch, SearchPage};
use stet_web::call::Call;
use stet_web::listing::Listing;
use stet_web::reply::Json;

pub use self::criteria::SearchBody;
use self::criteria::{MOST_SUGGESTIONS, criteria_of, number_between};

/// A page of hits.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchReply {
    /// Hits of the page, in the order of the search.
    items: ReplyList<SearchHit>,
    /// Total number of hits that the caller may read.
    total: u64,
    /// Whether everything can be found. It is false for a while after the start of the server, and
    /// while the index is rebuilt.
    complete: bool,
    /// Id of the event up to which all changes can be found.
    indexed_up_to: String,
    /// Numbers of hits by category and value, for the wanted categories.
    facets: Facets,
}

/// The numbers of hits by category.
#[derive(Default, Serialize, JsonSchema)]
pub struct Facets {
    /// Counts by kind: object, post, message.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Vec<FacetCount>>,
    /// Counts by family of objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<Vec<FacetCount>>,
    /// Counts by type.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<Vec<FacetCount>>,
    /// Counts by status.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Vec<FacetCount>>,
    /// Counts by author.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<Vec<FacetCount>>,
}

/// The number of hits with a value.
#[derive(Serialize, JsonSchema)]
pub struct FacetCount {
    /// The value.
    value: String,
    /// Number of hits.
    count: u64,
}

/// A hit.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SearchHit {
    /// An object or a post: its record, and the members of a hit.
    Record(ReadyJson<JoinedMembers<ObjectRecord, HitInfo>>),
    /// A message.
    Message(MessageHit),
}

/// The members of a hit beside those of its record.
#[derive(Serialize, JsonSchema)]
pub struct HitInfo {
    /// Kind of the hit: `object` or `post`.
    kind: &'static str,
    /// Extracts of the texts in which words were found.
    highlights: Vec<HighlightView>,
    /// Post, if the hit is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    post: Option<PostHit>,
}

/// The parts of a post that a hit shows.
#[derive(Serialize, JsonSchema)]
pub struct PostHit {
    /// Loid of the liveblog.
    #[schemars(with = "Loid")]
    liveblog: String,
    /// Title.
    title: SharedText,
    /// Summary.
    summary: SharedText,
    /// Option `type`.
    r#type: SharedText,
    /// Status.
    status: &'static str,
    /// Time among the posts, in epoch milliseconds.
    timestamp: u64,
    /// Whether it is listed before others.
    pinned: bool,
}

/// A message as a hit shows it.
#[derive(Serialize, JsonSchema)]
pub struct MessageHit {
    /// Id of the message.
    #[schemars(with = "Loid")]
    id: String,
    /// Kind of the hit: `message`.
    kind: &'static str,
    /// Subject.
    subject: String,
    /// Name of the user who sent it.
    sender: SharedText,
    /// Time of sending, in epoch seconds.
    sent: u64,
    /// Extracts of the texts in which words were found.
    highlights: Vec<HighlightView>,
}

/// An extract of a text.
#[derive(Clone, Serialize, JsonSchema)]
pub struct HighlightView {
    /// Field of the text: `name`, `title` or `text`.
    field: &'static str,
    /// Extract.
    text: String,
    /// Begin and end of each match, in characters of `text`.
    matches: Vec<[usize; 2]>,
}

/// Words that continue what was typed.
#[derive(Serialize, JsonSchema)]
pub struct SuggestionList {
    /// Words, the most frequent first.
    items: Vec<String>,
}

/// Returns the search of the server.
fn search_of(call: &Call) -> Result<&Arc<NewsroomSearch>> {
    call.app
        .kept::<Option<Arc<NewsroomSearch>>>()
        .as_ref()
        .ok_or_else(|| Error::new(Code::NoSuchEndpoint, "This server has no search: `search.enabled` is off."))
}

/// `GET /v3/search`
pub async fn get(call: Call) -> Result<Json<SearchReply>> {
    let display = call.display();
    let body = SearchBody::of_query(&call.query)?;
    reply(call, body, display).await
}

/// `POST /v3/search`
pub async fn post(call: Call) -> Result<Json<SearchReply>> {
    let display = call.display_of_body().await?;
    let body: SearchBody = call.any_json().await?;
    reply(call, body, display).await
}

/// `GET /v3/search/suggest`
pub async fn suggest(call: Call) -> Result<Json<SuggestionList>> {
    let limit = number_between("limit", call.query.integer("limit"), 10, 1, MOST_SUGGESTIONS)?;
    let text = criteria::short_query(call.query.text("query").unwrap_or_default())?.to_owned();
    Json::of(&SuggestionList { items: search_of(&call)?.suggest(&call, text, limit).await? })
}

async fn reply(call: Call, body: SearchBody, display: Display) -> Result<Json<SearchReply>> {
    let search = search_of(&call)?.clone();
    let criteria = criteria_of(&call, body)?;
    let SearchPage { hits, total, facets, state } = search.search(&call, criteria).await?;
    let shown = move |items| SearchReply {
        items,
        total,
        complete: state.complete,
        indexed_up_to: state.up_to.to_string(),
        facets: facets_of(facets),
    };
    let render = async move |call: &Call, hit: &Hit, _| hit_of(call, hit, &display).await;
    Ok(Listing::each(&call, hits, render, |items, _| shown(items)).await?.answer(call))
}

fn facets_of(counted: Vec<(Category, Vec<(String, u64)>)>) -> Facets {
    let mut facets = Facets::default();
    for (category, values) in counted {
        let place = match category {
            Category::Kind => &mut facets.kind,
            Category::Family => &mut facets.family,
            Category::Type => &mut facets.r#type,
            Category::Status => &mut facets.status,
            Category::Author => &mut facets.author,
        };
        *place = Some(values.into_iter().map(|(value, count)| FacetCount { value, count }).collect());
    }
    facets
}

/// Renders a hit; `None` for an object that was removed since, or may no longer be read.
async fn hit_of(call: &Call, hit: &Hit, display: &Display) -> Result<Option<SearchHit>> {
    let highlights: Vec<HighlightView> = hit.highlights.iter().map(HighlightView::of).collect();
    match &hit.item {
        FoundItem::Object(loid) => {
            let Some(cached) = readable(call, *loid)? else { return Ok(None) };
            let record = record_of(&call.app, &cached, display).await?;
            let info = HitInfo { kind: "object", highlights, post: None };
            JoinedMembers::ready(&record, &info).map(|hit| Some(SearchHit::Record(hit)))
        }
        FoundItem::Post(post) => {
            let record = post_record(call, post, display).await?;
            let info = HitInfo { kind: "post", highlights, post: Some(PostHit::of(post)) };
            JoinedMembers::ready(&record, &info).map(|hit| Some(SearchHit::Record(hit)))
        }
        FoundItem::Message(message) => Ok(Some(SearchHit::Message(MessageHit::of(message, highlights)))),
    }
}

async fn post_record(call: &Call, post: &Post, display: &Display) -> Result<ReadyJson<ObjectRecord>> {
    let attributes = call.app.repository.attributes(post.loid())?;
    let groups = Groups::of(&attributes, display).await?;
    let path = path_if_shown(&call.app, &post.record, display)?;
    ObjectRecord { path, ..render(&call.app, &post.record, groups, display)? }.ready().await
}

impl PostHit {
    fn of(post: &Post) -> PostHit {
        PostHit {
            liveblog: post.liveblog.to_string(),
            title: post.title.clone(),
            summary: post.summary.clone(),
            r#type: post.kind.clone(),
            status: post.status.name(),
            timestamp: post.timestamp,
            pinned: post.pinned,
        }
    }
}

impl MessageHit {
    fn of(message: &Message, highlights: Vec<HighlightView>) -> MessageHit {
        MessageHit {
            id: message.id().to_string(),
            kind: "message",
            subject: message.subject.clone(),
            sender: message.sender.clone(),
            sent: message.sent_ms / 1000,
            highlights,
        }
    }
}

impl HighlightView {
    fn of(highlight: &HitHighlight) -> HighlightView {
        let matches = highlight.matches.iter().map(|(begin, end)| [*begin, *end]).collect();
        HighlightView { field: highlight.field, text: highlight.text.clone(), matches }
    }
}
