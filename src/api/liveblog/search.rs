//! Which posts of a liveblog a reply shows: filters, order and pages (docs/api/liveblogs.md, "Search").

use std::cmp::Ordering;
use std::collections::HashSet;

use stet_actors::error::{Code, Error, Result};
use stet_actors::id::Loid;
use stet_actors::liveblog::{Post, PostAddress, PostStatus};

use super::reply::{PostList, liveblog_reply};
use super::types::{Filters, SearchReply, SearchRequest};
use super::{Open, address, open};
use crate::api::settled::settled;
use crate::http::call::Call;
use crate::http::etag::ETag;
use crate::http::reply::Json;
use crate::records::{Page, parse_sort};

/// Posts that a search with one filter examines before other calls get their turn; with many filters, fewer.
const AT_A_TIME: usize = 256;

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
    /// The number of entries of all lists together.
    entries: usize,
}

impl Filter {
    fn of(call: &Call, liveblog: Loid, request: &SearchRequest) -> Result<Filter> {
        let Filters { status, author, r#type, title, text, source, tag } = &request.filters.0;
        let entries = [author, r#type, title, text, source, tag, status].iter().map(|list| list.len()).sum();
        let limit = call.app.config.limits.list_sources;
        if entries > limit {
            let message = format!("The filters have {entries} entries; at most {limit} are allowed.");
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", limit));
        }
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
            entries,
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
        Ok(Wanted { filter: Filter::default(), since: None, sort, page: call.query.page() })
    }

    /// What a body asks for; what it leaves open, the query may say.
    fn of_request(call: &Call, liveblog: Loid, request: &SearchRequest) -> Result<Wanted> {
        let Page { offset, limit } = call.query.page();
        Ok(Wanted {
            filter: Filter::of(call, liveblog, request)?,
            since: request.since,
            sort: parse_sort(request.sort_by.as_deref().or(call.query.text("sortBy")), FIELDS)?,
            page: Page { offset: request.offset.unwrap_or(offset), limit: request.limit.unwrap_or(limit) },
        })
    }

    /// The posts, and how many there are.
    pub(super) async fn find<'o>(&self, open: &'o Open) -> PostList<'o> {
        let Page { offset, limit } = self.page;
        let (state, sight) = (&open.view.state, &open.sight);
        if self.since.is_none() && self.sort.is_empty() {
            // A part of the listing itself: posts that are not shown are not walked.
            if self.filter.is_only(None) {
                let total = state.seen_counts(sight).iter().sum();
                return PostList { posts: state.seen_from(sight, offset).take(limit).collect(), total, removed: None };
            }
            if self.filter.is_only(Some(PostStatus::Approved)) {
                let posts = state.sequence().visible_at(offset).take(limit).collect();
                return PostList { posts, total: state.sequence().visible_len(), removed: None };
            }
        }
        let (mut found, mut removed) = (Vec::new(), None);
        let named = self.filter.source.as_ref();
        let named: Option<Vec<_>> = named.map(|named| named.iter().filter_map(|post| state.get(post).ok()).collect());
        let mut turn = Turn { left: AT_A_TIME, each: 1 + self.filter.entries };
        match (self.since, named) {
            (Some(since), named) => {
                let named: Option<HashSet<Loid>> =
                    named.map(|named| named.into_iter().map(|post| post.loid()).collect());
                let gone = removed.insert(Vec::new());
                for change in state.since(since) {
                    turn.pass_on().await;
                    match change {
                        Err(removed) if sight.may_have_seen_removed(removed) => gone.push(removed.post.to_string()),
                        Err(_) => {}
                        Ok(post) => {
                            let is_named = named.as_ref().is_none_or(|named| named.contains(&post.loid()));
                            if state.sees(sight, post) && is_named && self.filter.takes(post) {
                                found.push(post);
                            } else if sight.may_have_seen(post) {
                                gone.push(post.loid().to_string());
                            }
                        }
                    }
                }
            }
            (None, Some(named)) => {
                for post in named {
                    turn.pass_on().await;
                    if state.sees(sight, post) && self.filter.takes(post) {
                        found.push(post);
                    }
                }
                found.sort_by_key(|post| post.place_in_order());
                found.dedup_by_key(|post| post.loid());
            }
            (None, None) => {
                for post in state.seen_from(sight, 0) {
                    turn.pass_on().await;
                    if self.filter.takes(post) {
                        found.push(post);
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
        PostList { posts: found.into_iter().skip(offset).take(limit).collect(), total, removed }
    }
}

/// Gives way to other calls now and then.
struct Turn {
    left: usize,
    /// What one post takes of it.
    each: usize,
}

impl Turn {
    async fn pass_on(&mut self) {
        match self.left.checked_sub(self.each) {
            Some(left) => self.left = left,
            None => {
                self.left = AT_A_TIME;
                tokio::task::yield_now().await;
            }
        }
    }
}

/// `POST /v3/container/liveblog/{source}`
pub async fn search(call: Call) -> Result<Json<SearchReply>> {
    let request: SearchRequest = call.json()?;
    let (open, display) = (open(&call).await?, call.display_of_body()?);
    let wanted = Wanted::of_request(&call, open.loid(), &request)?;
    let (listing, revision) = settled(&call, open, async |open| {
        let mut list = wanted.find(open).await;
        let removed = list.removed.take();
        let listing =
            liveblog_reply(&call, open, &list, &display, |liveblog| SearchReply { liveblog, removed }).await?;
        Ok((listing, open.view.revision()))
    })
    .await?;
    Ok(listing.answer(call).with_etag(ETag::new(revision, "search")))
}
