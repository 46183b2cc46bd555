//! The selection of a liveblog's posts for a reply: filters, order and pages
//! (docs/api/liveblogs.md, "Search").

use std::cmp::Ordering;
use std::collections::HashSet;

use aho_corasick::AhoCorasick;
use stet_auth::Name;
use stet_base::limits::offload;
use stet_base::limits::yielding::{self, YieldTimer};
use stet_base::nearest::with_nearest;
use stet_content::words::{FoldedText, visible_form};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::liveblog::{Post, PostAddress, PostStatus};
use stet_endpoint::settled::build_settled;
use stet_newsroom::records::{ListingPage, in_order, parse_sort};
use stet_web::body::JsonObject;
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::Json;

use super::reply::{PostList, liveblog_reply};
use super::types::{LiveblogFilters, SearchReply, SearchRequest};
use super::{OpenLiveblog, address, open};

/// The largest total size in bytes of the parts that are searched for in titles and texts. Their
/// size decides how long building the search automaton takes.
const MAX_PARTS_BYTES: usize = 64 << 10;

/// The size in bytes up to which the automaton is built in a fraction of a millisecond.
const FEW_PARTS_BYTES: usize = 1 << 10;

/// The fields by which posts can be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PostSortField {
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

const FIELDS: &[(&str, PostSortField)] = &[
    ("id", PostSortField::Id),
    ("name", PostSortField::Name),
    ("type", PostSortField::Type),
    ("title", PostSortField::Title),
    ("status", PostSortField::Status),
    ("timestamp", PostSortField::Timestamp),
    ("author", PostSortField::Author),
    ("creator", PostSortField::Author),
    ("pinned", PostSortField::Pinned),
    ("created", PostSortField::Created),
    ("modified", PostSortField::Modified),
    ("lastModifier", PostSortField::LastModifier),
];

impl PostSortField {
    fn compare(self, a: &Post, b: &Post) -> Ordering {
        match self {
            PostSortField::Id => a.loid().cmp(&b.loid()),
            PostSortField::Name => a.record.name.cmp(&b.record.name),
            PostSortField::Type => a.kind.cmp(&b.kind),
            PostSortField::Title => a.title.cmp(&b.title),
            PostSortField::Status => a.status.name().cmp(b.status.name()),
            PostSortField::Timestamp => a.timestamp.cmp(&b.timestamp),
            PostSortField::Author => a.author().cmp(b.author()),
            PostSortField::Pinned => a.pinned.cmp(&b.pinned),
            PostSortField::Created => a.record.created.cmp(&b.record.created),
            PostSortField::Modified => a.record.modified.cmp(&b.record.modified),
            PostSortField::LastModifier => a.record.last_modifier.cmp(&b.record.last_modifier),
        }
    }
}

/// The filters, order and page of the posts in a reply.
pub(super) struct PostSelection {
    filter: PostFilter,
    since: Option<u64>,
    sort: Vec<(PostSortField, bool)>,
    /// The page of the posts.
    pub page: ListingPage,
}

/// The filters of a search, prepared so that the cost per post does not depend on their number of
/// entries.
#[derive(Default)]
struct PostFilter {
    status: Vec<PostStatus>,
    author: HashSet<String>,
    kind: HashSet<String>,
    title: Option<SearchTerms>,
    text: Option<SearchTerms>,
    source: Option<Vec<PostAddress>>,
    tag: HashSet<String>,
    pinned: Option<bool>,
    from: Option<u64>,
    to: Option<u64>,
}

/// Parts of a text, one of which it must contain. All are searched for in one pass.
struct SearchTerms(AhoCorasick);

impl SearchTerms {
    /// Builds the automaton; `None` for an empty list, which filters nothing.
    fn of(parts: &[String]) -> Result<Option<SearchTerms>> {
        if parts.is_empty() {
            return Ok(None);
        }
        // Too many parts were refused before, so this can't fail.
        let found = AhoCorasick::new(parts.iter().map(|part| FoldedText::of(part).to_string()));
        found.map(|parts| Some(SearchTerms(parts))).map_err(|_| Error::internal())
    }

    fn are_in(&self, text: &FoldedText<'_>) -> bool {
        self.0.is_match(&**text)
    }
}

/// Collects a set of texts, whose total size may be that of a body.
async fn set(texts: impl Iterator<Item = String>) -> HashSet<String> {
    let (mut set, mut timer) = (HashSet::with_capacity(texts.size_hint().0), YieldTimer::start());
    for text in texts {
        timer.yield_if_due().await;
        set.insert(text);
    }
    set
}

impl PostFilter {
    async fn of(call: &Call, liveblog: Loid, request: &SearchRequest) -> Result<PostFilter> {
        let none = LiveblogFilters::default();
        let filters = request.filters.as_ref().map_or(&none, |JsonObject(filters)| filters);
        let LiveblogFilters { status, author, r#type, title, text, source, tag, pinned } = filters;
        let lists = [status, author, r#type, title, text, source, tag].map(|list| list.as_deref().unwrap_or_default());
        let entries: usize = lists.iter().map(|list| list.len()).sum();
        let [status, author, kind, title, text, source, tag] = lists;
        let limit = call.app.config.limits.list_sources;
        if entries > limit {
            let message = format!("The filters have {entries} entries; at most {limit} are allowed.");
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", limit));
        }
        let bytes: usize = title.iter().chain(text).map(String::len).sum();
        if bytes > MAX_PARTS_BYTES {
            let message = format!(
                "`filters.title` and `filters.text` have {bytes} bytes together; at most {MAX_PARTS_BYTES} are allowed."
            );
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_PARTS_BYTES));
        }
        let status = status.iter().map(|name| {
            let found = PostStatus::ALL.into_iter().find(|status| status.name().eq_ignore_ascii_case(name));
            found.ok_or_else(|| {
                let error = Error::parameter("filters.status", name, "pending, approved, rejected or deleted");
                with_nearest(error, name, PostStatus::ALL.iter().map(|status| status.name()))
            })
        });
        let mut status = status.collect::<Result<Vec<_>>>()?;
        status.sort_by_key(|status| *status as usize);
        status.dedup();
        let mut timer = YieldTimer::start();
        let mut addresses = Vec::with_capacity(source.len());
        for source in source {
            timer.yield_if_due().await;
            addresses.push(address(call, liveblog, source)?);
        }
        let (title, text) = (title.to_vec(), text.to_vec());
        let parts = move || Ok((SearchTerms::of(&title)?, SearchTerms::of(&text)?));
        let (title, text) = if bytes > FEW_PARTS_BYTES { offload::offload(parts).await?? } else { parts()? };
        Ok(PostFilter {
            status,
            // Users created before names were normalised have theirs unnormalised.
            author: set(author.iter().flat_map(|name| [name.clone(), Name::of(name).to_string()])).await,
            kind: set(kind.iter().cloned()).await,
            title,
            text,
            source: (!addresses.is_empty()).then_some(addresses),
            tag: set(tag.iter().map(|tag| visible_form(tag).into_owned())).await,
            pinned: *pinned,
            from: request.from,
            to: request.to,
        })
    }

    /// Reports whether the filter accepts exactly the posts of this status.
    fn is_only(&self, status: Option<PostStatus>) -> bool {
        self.status.as_slice() == status.as_slice()
            && [&self.author, &self.kind, &self.tag].iter().all(|list| list.is_empty())
            && self.title.is_none()
            && self.text.is_none()
            && self.source.is_none()
            && self.pinned.is_none()
            && self.from.is_none()
            && self.to.is_none()
    }

    fn takes(&self, post: &Post) -> bool {
        let has = |set: &HashSet<String>, text: &str| set.is_empty() || set.contains(text);
        self.pinned.is_none_or(|pinned| post.pinned == pinned)
            && self.from.is_none_or(|from| post.timestamp >= from)
            && self.to.is_none_or(|to| post.timestamp <= to)
            && (self.status.is_empty() || self.status.contains(&post.status))
            && has(&self.author, post.author())
            && has(&self.kind, &post.kind)
            && (self.tag.is_empty() || post.tags.iter().any(|tag| self.tag.contains(&*visible_form(tag))))
            && self.title.as_ref().is_none_or(|parts| parts.are_in(&FoldedText::of(&post.title)))
            && self.text.as_ref().is_none_or(|parts| parts.are_in(&FoldedText::of_words(&post.text)))
    }
}

impl PostSelection {
    /// Returns a selection of all that the caller sees, in the order and page of the query.
    ///
    /// # Errors
    /// `InvalidParameter`.
    pub(super) fn of_query(call: &Call) -> Result<PostSelection> {
        let sort = parse_sort(call.query.text("sortBy"), FIELDS)?;
        Ok(PostSelection { filter: PostFilter::default(), since: None, sort, page: call.query.page() })
    }

    /// Returns the selection of a body. The query supplies values that the body leaves out.
    async fn of_request(call: &Call, liveblog: Loid, request: &SearchRequest) -> Result<PostSelection> {
        let ListingPage { offset, limit } = call.query.page();
        Ok(PostSelection {
            filter: PostFilter::of(call, liveblog, request).await?,
            since: request.since,
            sort: parse_sort(request.sort_by.as_deref().or(call.query.text("sortBy")), FIELDS)?,
            page: ListingPage { offset: request.offset.unwrap_or(offset), limit: request.limit.unwrap_or(limit) },
        })
    }

    /// Returns the selected posts of the page, and their total number.
    pub(super) async fn find<'o>(&self, open: &'o OpenLiveblog) -> PostList<'o> {
        if let Some(part) = self.part_of_listing(open) {
            return part;
        }
        let (state, sight) = (&open.view.state, &open.sight);
        let (mut found, mut removed) = (Vec::new(), None);
        let mut timer = YieldTimer::start();
        let mut named = self.filter.source.as_ref().map(|addresses| Vec::with_capacity(addresses.len()));
        if let (Some(named), Some(addresses)) = (&mut named, &self.filter.source) {
            for post in addresses {
                timer.yield_if_due().await;
                named.extend(state.find_to_read(post));
            }
        }
        match (self.since, named) {
            (Some(since), named) => {
                let named = named.map(|named| named.into_iter().map(|post| post.loid()).collect::<HashSet<_>>());
                let gone = removed.insert(Vec::new());
                for change in state.since(since) {
                    timer.yield_if_due().await;
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
                    timer.yield_if_due().await;
                    if state.sees(sight, post) && self.filter.takes(post) {
                        found.push(post);
                    }
                }
                found = yielding::sort_yielding(found, |a, b| a.place_in_order().cmp(&b.place_in_order())).await;
                found.dedup_by_key(|post| post.loid());
            }
            (None, None) => {
                for post in state.seen_from(sight, 0) {
                    timer.yield_if_due().await;
                    if self.filter.takes(post) {
                        found.push(post);
                    }
                }
            }
        }
        if !self.sort.is_empty() {
            found = yielding::sort_yielding(found, |a, b| in_order(&self.sort, |field| field.compare(a, b))).await;
        }
        let ListingPage { offset, limit } = self.page;
        PostList { total: found.len(), posts: found.into_iter().skip(offset).take(limit).collect(), removed }
    }

    /// Returns the page if it is a part of the listing itself. Other posts are not walked then.
    fn part_of_listing<'o>(&self, open: &'o OpenLiveblog) -> Option<PostList<'o>> {
        let (ListingPage { offset, limit }, state) = (self.page, &open.view.state);
        if self.since.is_some() || !self.sort.is_empty() {
            return None;
        }
        let (posts, total) = if self.filter.is_only(None) {
            (state.seen_from(&open.sight, offset).take(limit).collect(), state.seen_counts(&open.sight).iter().sum())
        } else if self.filter.is_only(Some(PostStatus::Approved)) {
            (state.sequence().visible_at(offset).take(limit).collect(), state.sequence().visible_len())
        } else {
            return None;
        };
        Some(PostList { posts, total, removed: None })
    }
}

/// `POST /v3/container/liveblog/{source}`
pub async fn search(call: Call) -> Result<Json<SearchReply>> {
    let request: SearchRequest = call.json().await?;
    let (open, display) = (open(&call).await?, call.display_of_body().await?);
    let wanted = PostSelection::of_request(&call, open.loid(), &request).await?;
    let (listing, tag) = build_settled(&call, open, async |open| {
        let mut list = wanted.find(open).await;
        let removed = list.removed.take();
        let listing =
            liveblog_reply(&call, open, &list, &display, |liveblog| SearchReply { liveblog, removed }).await?;
        Ok((listing, open.tag()))
    })
    .await?;
    Ok(listing.answer(call).with_etag(ETag::new(tag, "search")))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn others_have_their_turns_while_a_set_of_long_names_is_made() {
        let names: Vec<String> = (0..1_000).map(|n| format!("{}{n}", "e\u{301}".repeat(1_300))).collect();
        let turns = Cell::new(0);
        let others = async {
            loop {
                turns.set(turns.get() + 1);
                tokio::task::yield_now().await;
            }
        };
        let made = set(names.iter().flat_map(|name| [name.clone(), Name::of(name).to_string()]));
        let made = tokio::select! {
            biased;
            made = made => made,
            () = others => unreachable!("they have no end"),
        };
        assert_eq!(made.len(), 2_000);
        assert!(turns.get() > 1, "{}", turns.get());
    }
}
