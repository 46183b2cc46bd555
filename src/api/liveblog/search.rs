//! Which posts of a liveblog a reply shows: filters, order and pages (decisions 5).

use std::cmp::Ordering;
use std::collections::HashMap;

use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{Loid, Source};
use stet_actors::liveblog::{LiveBlog, LiveBlogState, Post, PostAddress, PostStatus, Sight};
use stet_actors::object::{FamilyKind, parent_path};
use stet_actors::store::{Table, View};

use super::reply::{Told, liveblog_json, post_json};
use super::types::{Filters, SearchRequest};
use super::{Open, address, open};
use crate::api::records::BulkError;
use crate::api::requests::ObjectListRequest;
use crate::http::call::Call;
use crate::http::etag::ETag;
use crate::http::reply::{Content, Reply, to_json};
use crate::records::{Page, parse_sort};

/// Posts that a search looks at before others get their turn.
const LOOKED_AT: usize = 256;

/// What posts can be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Id,
    Name,
    Type,
    Title,
    Status,
    Timestamp,
    Author,
    Pinned,
    Created,
    Modified,
    LastModifier,
}

const FIELDS: &[(&str, Field)] = &[
    ("id", Field::Id),
    ("name", Field::Name),
    ("type", Field::Type),
    ("title", Field::Title),
    ("status", Field::Status),
    ("timestamp", Field::Timestamp),
    ("author", Field::Author),
    ("creator", Field::Author),
    ("pinned", Field::Pinned),
    ("created", Field::Created),
    ("modified", Field::Modified),
    ("lastModifier", Field::LastModifier),
];

impl Field {
    fn compare(self, a: &Post, b: &Post) -> Ordering {
        match self {
            Field::Id => a.loid().cmp(&b.loid()),
            Field::Name => a.record.name.cmp(&b.record.name),
            Field::Type => a.kind.cmp(&b.kind),
            Field::Title => a.title.cmp(&b.title),
            Field::Status => a.status.name().cmp(b.status.name()),
            Field::Timestamp => a.timestamp.cmp(&b.timestamp),
            Field::Author => a.author().cmp(b.author()),
            Field::Pinned => a.pinned.cmp(&b.pinned),
            Field::Created => a.record.created.cmp(&b.record.created),
            Field::Modified => a.record.modified.cmp(&b.record.modified),
            Field::LastModifier => a.record.last_modifier.cmp(&b.record.last_modifier),
        }
    }
}

/// Which posts, in which order, and which part of them.
pub(super) struct Wanted {
    filter: Filter,
    since: Option<u64>,
    sort: Vec<(Field, bool)>,
    /// Which part.
    pub page: Page,
}

/// The filters of a search, ready to be asked.
#[derive(Default)]
struct Filter {
    status: Vec<PostStatus>,
    author: Vec<String>,
    kind: Vec<String>,
    /// In lower case.
    title: Vec<String>,
    /// In lower case.
    text: Vec<String>,
    source: Option<Vec<PostAddress>>,
    tag: Vec<String>,
    from: Option<u64>,
    to: Option<u64>,
}

impl Filter {
    fn of(call: &Call, liveblog: Loid, request: &SearchRequest) -> Result<Filter> {
        let Filters { status, author, r#type, title, text, source, tag } = &request.filters;
        let status = status.iter().map(|name| {
            let found = PostStatus::ALL.into_iter().find(|status| status.name().eq_ignore_ascii_case(name));
            found.ok_or_else(|| Error::parameter("filters.status", name, "pending, approved, rejected or deleted"))
        });
        let folded = |parts: &[String]| parts.iter().map(|part| part.to_lowercase()).collect();
        let source = source.iter().map(|source| address(call, liveblog, source)).collect::<Result<Vec<_>>>()?;
        Ok(Filter {
            status: status.collect::<Result<_>>()?,
            author: author.clone(),
            kind: r#type.clone(),
            title: folded(title),
            text: folded(text),
            source: (!source.is_empty()).then_some(source),
            tag: tag.clone(),
            from: request.from,
            to: request.to,
        })
    }

    /// Whether it lets through what has this status, and asks for nothing else.
    fn is_only(&self, status: Option<PostStatus>) -> bool {
        self.status.as_slice() == status.as_slice()
            && [&self.author, &self.kind, &self.title, &self.text, &self.tag].iter().all(|list| list.is_empty())
            && self.source.is_none()
            && self.from.is_none()
            && self.to.is_none()
    }

    fn takes(&self, post: &Post) -> bool {
        fn any<T>(list: &[T], fits: impl Fn(&T) -> bool) -> bool {
            list.is_empty() || list.iter().any(fits)
        }
        self.from.is_none_or(|from| post.timestamp >= from)
            && self.to.is_none_or(|to| post.timestamp <= to)
            && any(&self.status, |status| post.status == *status)
            && any(&self.author, |author| **post.author() == **author)
            && any(&self.kind, |kind| *post.kind == **kind)
            && any(&self.tag, |tag| post.tags.iter().any(|known| **known == **tag))
            && (self.title.is_empty() || {
                let title = post.title.to_lowercase();
                any(&self.title, |part| title.contains(part))
            })
            && any(&self.text, |part| post.text.contains(part.as_str()))
    }
}

impl Wanted {
    /// All that the caller sees, in the order and part that the query asks for.
    ///
    /// # Errors
    /// `InvalidParameter`.
    pub(super) fn of_query(call: &Call) -> Result<Wanted> {
        let sort = parse_sort(call.query.text("sortBy"), FIELDS)?;
        Ok(Wanted { filter: Filter::default(), since: None, sort, page: Page::of(&call.query) })
    }

    /// What a body asks for; what it leaves open, the query may say.
    fn of_request(call: &Call, liveblog: Loid, request: &SearchRequest) -> Result<Wanted> {
        let Page { offset, limit } = Page::of(&call.query);
        Ok(Wanted {
            filter: Filter::of(call, liveblog, request)?,
            since: request.since,
            sort: parse_sort(request.sort_by.as_deref().or(call.query.text("sortBy")), FIELDS)?,
            page: Page { offset: request.offset.unwrap_or(offset), limit: request.limit.unwrap_or(limit) },
        })
    }

    /// The posts, and how many there are.
    pub(super) async fn find(self, open: &Open) -> Told<'_> {
        let Page { offset, limit } = self.page;
        let (state, sight) = (&open.view.state, &open.sight);
        if self.since.is_none() && self.sort.is_empty() {
            // Parts of the listing itself: what is not shown is not walked.
            if self.filter.is_only(None) {
                let total = state.seen_counts(sight).iter().sum();
                return Told { posts: state.seen_from(sight, offset).take(limit).collect(), total, removed: None };
            }
            if self.filter.is_only(Some(PostStatus::Approved)) {
                let posts = state.sequence().visible_at(offset).take(limit).collect();
                return Told { posts, total: state.sequence().visible_len(), removed: None };
            }
        }
        let (mut found, mut removed) = (Vec::new(), None);
        match (self.since, &self.filter.source) {
            (Some(since), source) => {
                let gone = removed.insert(Vec::new());
                for change in state.since(since) {
                    match change {
                        Err(loid) => gone.push(loid.to_string()),
                        Ok(post) => {
                            let named = source.as_ref().is_none_or(|source| names(state, source, post));
                            if state.sees(sight, post) && named && self.filter.takes(post) {
                                found.push(post);
                            } else if may_have_seen(state, sight, post) {
                                gone.push(post.loid().to_string());
                            }
                        }
                    }
                }
            }
            (None, Some(source)) => {
                let named = source.iter().filter_map(|address| state.get(address).ok());
                found.extend(named.filter(|post| state.sees(sight, post) && self.filter.takes(post)));
                found.sort_by_key(|post| post.place_in_order());
                found.dedup_by_key(|post| post.loid());
            }
            (None, None) => {
                for (index, post) in state.seen_from(sight, 0).enumerate() {
                    if self.filter.takes(post) {
                        found.push(post);
                    }
                    if index % LOOKED_AT == LOOKED_AT - 1 {
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
        if !self.sort.is_empty() {
            found.sort_by(|a, b| {
                let mut fields = self.sort.iter().map(|(field, down)| {
                    let order = field.compare(a, b);
                    if *down { order.reverse() } else { order }
                });
                fields.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            });
        }
        let total = found.len();
        Told { posts: found.into_iter().skip(offset).take(limit).collect(), total, removed }
    }
}

fn names(state: &LiveBlogState, source: &[PostAddress], post: &Post) -> bool {
    source.iter().any(|address| state.get(address).is_ok_and(|found| found.loid() == post.loid()))
}

/// Whether the caller sees a post, or may have seen it before it was taken back.
fn may_have_seen(state: &LiveBlogState, sight: &Sight, post: &Post) -> bool {
    state.sees(sight, post) || post.history.iter().any(|change| change.to == PostStatus::Approved)
}

/// `POST /v3/container/liveblog/{source}`
pub async fn search(call: Call) -> Result<Reply> {
    let request: SearchRequest = call.json()?;
    let (open, display) = (open(&call).await?, call.display_of_body()?);
    let told = Wanted::of_request(&call, open.loid, &request)?.find(&open).await;
    let json = liveblog_json(&call.app, &open, &told, &display).await?;
    Ok(Reply::new(Content::Json(json.into())).with_etag(ETag::new(open.view.revision(), "search")))
}

/// `POST /v3/container/liveblog/posts`: posts of any liveblogs, by loid, uuid or path.
pub async fn posts(call: Call) -> Result<Reply> {
    let request = ObjectListRequest::of(&call)?;
    let display = call.display_of_body()?;
    let mut liveblogs: HashMap<Loid, Open> = HashMap::new();
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    for source in &request.sources {
        let one = async {
            let (liveblog, address) = place_of(&call, source)?;
            if !liveblogs.contains_key(&liveblog) {
                // Of one that may not be read, no post is there.
                if call.find(&Source::Loid(liveblog), liveblog.database)?.family != FamilyKind::LiveBlog {
                    return Err(Error::not_found(source));
                }
                let view = call.app.repository.view::<LiveBlog>(liveblog).await?;
                liveblogs.insert(liveblog, Open::of(&call, liveblog, view)?);
            }
            // It has just been put there.
            let open = liveblogs.get(&liveblog).ok_or_else(Error::internal)?;
            post_json(&call.app, open.seen(&address)?, &display)
        };
        match one.await {
            Ok(json) => items.push(json),
            Err(error) => errors.push(BulkError::new(&call.app, source, &hidden(error, source))),
        }
    }
    let errors = String::from_utf8_lossy(&to_json(&errors)?).into_owned();
    Ok(Reply::new(Content::Json(format!("{{\"items\":[{}],\"errors\":{errors}}}", items.join(",")).into())))
}

/// The same error for whatever is not there, so that it doesn't tell which liveblogs there are.
fn hidden(error: Error, source: &str) -> Error {
    if error.code == Code::ObjectNotFound { Error::not_found(source) } else { error }
}

/// The liveblog that a source's post is in, and the post.
fn place_of(call: &Call, text: &str) -> Result<(Loid, PostAddress)> {
    let (repository, database) = (&call.app.repository, call.database()?);
    let source = Source::parse("sources", text)?;
    if let Source::Path(path) = &source {
        let (of, name) = parent_path(path).ok_or_else(|| Error::not_found(text))?;
        let liveblog = repository.loid_of(&Source::Path(of.to_owned()), database)?;
        return Ok((liveblog.ok_or_else(|| Error::not_found(text))?, PostAddress::Name(name.to_owned())));
    }
    let post = repository.loid_of(&source, database)?.ok_or_else(|| Error::not_found(text))?.object();
    let entry = repository.look().get(View::Committed, Table::PartOf, &post.to_key()).map_err(|error| {
        tracing::error!(%error, "the liveblog of a post can't be looked up");
        Error::internal()
    })?;
    let liveblog = entry.and_then(|entry| Loid::from_key(&entry)).ok_or_else(|| Error::not_found(text))?;
    Ok((liveblog, PostAddress::Loid(post)))
}
