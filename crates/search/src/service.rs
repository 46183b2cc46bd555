//! The search of a newsroom: the index, its state, and searches by callers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics::{gauge, histogram};
use parking_lot::Mutex;
use stet_base::limits::offload;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::store::EventId;
use stet_fulltext::{Category, FoundDocuments, MAX_RESULT_WINDOW, SearchError, SearchQuery, SearchRequest, SortOrder};
use stet_newsroom::Newsroom;
use stet_newsroom::caller::Caller;
use tokio::sync::watch;

use crate::changes::ChangedObjects;
use crate::index::IndexSlot;
use crate::results::{ResultReader, SearchPage};
use crate::rights::ReadableDocuments;

/// The longest time that a search waits for a change to become searchable.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The longest time that one search may take.
const LONGEST_SEARCH: Duration = Duration::from_secs(5);

/// The part of [`LONGEST_SEARCH`] after which no more extracts are looked for.
const LONGEST_HIGHLIGHTS: Duration = Duration::from_secs(2);

/// The search of a newsroom.
pub struct NewsroomSearch {
    pub(crate) newsroom: Arc<Newsroom>,
    pub(crate) changes: Arc<ChangedObjects>,
    pub(crate) index: IndexSlot,
    state: watch::Sender<SearchState>,
    /// The time since which the index is incomplete.
    incomplete_since: Mutex<Option<Instant>>,
}

/// The state of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchState {
    /// The place in the log of events up to which all changes can be found.
    pub up_to: EventId,
    /// Whether everything can be found. False after the start until the index has been compared
    /// with the data, and while it is rebuilt.
    pub complete: bool,
}

/// The change that must be found before a search begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitTarget {
    /// Every change before the search.
    Now,
    /// The change with this event.
    Event(EventId),
}

/// The criteria of a search.
#[derive(Debug, Clone)]
pub struct SearchCriteria {
    /// The words.
    pub query: SearchQuery,
    /// Values of categories: one of the values of each must apply.
    pub include: Vec<(Category, Vec<String>)>,
    /// The folder in which objects and posts must lie, at any depth.
    pub within: Option<Loid>,
    /// The earliest time of the last change, inclusive, in epoch milliseconds.
    pub from_ms: Option<i64>,
    /// The end of the times of the last change, exclusive, in epoch milliseconds.
    pub to_ms: Option<i64>,
    /// The order.
    pub sort: SortOrder,
    /// Whether the order is ascending; `None` for the natural one.
    pub ascending: Option<bool>,
    /// The categories whose values are counted.
    pub facets: Vec<Category>,
    /// Maximum number of hits.
    pub limit: usize,
    /// Number of hits to skip.
    pub offset: usize,
    /// Whether hits have extracts.
    pub highlight: bool,
    /// The change to wait for.
    pub wait: Option<WaitTarget>,
}

impl NewsroomSearch {
    /// Creates the search of a newsroom, whose commits are reported to `changes`. The index is
    /// opened by the [`crate::FeedThread`].
    pub fn of(newsroom: Arc<Newsroom>, changes: Arc<ChangedObjects>) -> NewsroomSearch {
        let config = &newsroom.config;
        let index = IndexSlot::of(&config.data.directory, config.search.languages.clone());
        let state = watch::Sender::new(SearchState { up_to: EventId::default(), complete: false });
        NewsroomSearch { newsroom, changes, index, state, incomplete_since: Mutex::new(Some(Instant::now())) }
    }

    /// Returns the state of the index.
    pub fn state(&self) -> SearchState {
        *self.state.borrow()
    }

    /// Returns the number of documents in the index.
    pub fn documents(&self) -> u64 {
        self.index.get().map_or(0, |index| index.documents())
    }

    /// Begins to rebuild the index. Until that is done, results are incomplete.
    pub fn rebuild(&self) {
        self.set_complete(false);
        self.changes.rebuild();
    }

    /// Sets the metrics of the present.
    pub fn measure(&self) {
        let since = [self.changes.first(), *self.incomplete_since.lock()].into_iter().flatten().min();
        let behind = since.map_or(Duration::ZERO, |since| since.elapsed());
        gauge!("stet_search_behind_seconds").set(behind.as_secs_f64());
        gauge!("stet_search_complete").set(f64::from(u8::from(self.state().complete)));
    }

    pub(crate) fn set_complete(&self, complete: bool) {
        let mut since = self.incomplete_since.lock();
        *since = if complete { None } else { since.or_else(|| Some(Instant::now())) };
        self.state.send_if_modified(|state| std::mem::replace(&mut state.complete, complete) != complete);
    }

    pub(crate) fn set_up_to(&self, up_to: EventId) {
        self.state.send_if_modified(|state| std::mem::replace(&mut state.up_to, up_to) != up_to);
    }

    /// Returns the page of what the caller may read and the criteria select.
    ///
    /// # Errors
    /// `Overloaded` for a search that takes too long; `InvalidParameter` for an offset that is too
    /// deep; errors of the store and the index.
    pub async fn search(self: &Arc<Self>, caller: &Caller, criteria: SearchCriteria) -> Result<SearchPage> {
        if let Some(target) = criteria.wait {
            self.wait(target).await;
        }
        let (search, principal, rights) = (self.clone(), caller.principal().clone(), caller.rights().clone());
        let began = Instant::now();
        let work = move || {
            let state = search.state();
            let access = principal.access(&search.newsroom, &rights);
            let person = principal.user().filter(|_| principal.is_person()).map(|user| &**user);
            let filter = ReadableDocuments::of(&search.newsroom, access, person, criteria.within)?;
            let found = search.find(&criteria, &filter, began + LONGEST_SEARCH)?;
            let highlight = criteria.highlight.then_some(&criteria.query);
            let mut reader = ResultReader::of(&search.newsroom, search.index.languages(), highlight);
            reader.until = began + LONGEST_HIGHLIGHTS;
            let mut hits = Vec::with_capacity(found.keys.len());
            for key in &found.keys {
                hits.extend(reader.read(*key, &filter)?);
            }
            filter.finish()?;
            Ok(SearchPage { hits, total: found.total, facets: found.facets, state })
        };
        let page = offload::offload(work).await?;
        histogram!("stet_search_seconds").record(began.elapsed().as_secs_f64());
        // A client that receives a hit must find its change in the container.
        self.newsroom.repository.views_agree().await;
        page
    }

    fn find(&self, criteria: &SearchCriteria, filter: &ReadableDocuments<'_>, end: Instant) -> Result<FoundDocuments> {
        // While there is none, the reply says that it is incomplete.
        let Some(index) = self.index.get() else { return Ok(FoundDocuments::default()) };
        let request = SearchRequest {
            query: &criteria.query,
            filter,
            include: criteria.include.clone(),
            modified_from_ms: criteria.from_ms,
            modified_to_ms: criteria.to_ms,
            sort: criteria.sort,
            ascending: criteria.ascending,
            facets: criteria.facets.clone(),
            limit: criteria.limit,
            offset: criteria.offset,
            deadline: Some(end),
        };
        if criteria.offset.saturating_add(criteria.limit) <= MAX_RESULT_WINDOW {
            return index.search(&request).map_err(unsearchable);
        }
        // An offset behind the last hit leads to an empty page, as everywhere.
        let counted = index.search(&SearchRequest { limit: 0, offset: 0, ..request }).map_err(unsearchable)?;
        if counted.total > criteria.offset as u64 {
            let most = MAX_RESULT_WINDOW - criteria.limit;
            return Err(Error::parameter("offset", criteria.offset, &format!("at most {most} with this `limit`")));
        }
        Ok(counted)
    }

    /// Returns continuations of the last word of a text: words that occur in what the caller may
    /// read, the most frequent first.
    ///
    /// # Errors
    /// Like [`NewsroomSearch::search`].
    pub async fn suggest(self: &Arc<Self>, caller: &Caller, text: String, limit: usize) -> Result<Vec<String>> {
        let (search, principal, rights) = (self.clone(), caller.principal().clone(), caller.rights().clone());
        let work = move || {
            let access = principal.access(&search.newsroom, &rights);
            let person = principal.user().filter(|_| principal.is_person()).map(|user| &**user);
            let filter = ReadableDocuments::of(&search.newsroom, access, person, None)?;
            let Some(index) = search.index.get() else { return Ok(Vec::new()) };
            let words = index.suggest(&text, &filter, limit).map_err(unsearchable)?;
            filter.finish().map(|()| words)
        };
        offload::offload(work).await?
    }

    /// Waits until a change can be found, or for long enough.
    async fn wait(&self, target: WaitTarget) {
        let target = match target {
            WaitTarget::Now => self.newsroom.repository.end_of_log(),
            WaitTarget::Event(event) => event,
        };
        let mut state = self.state.subscribe();
        if state.borrow().up_to >= target {
            return;
        }
        self.changes.hurry();
        // The sender lives as long as this search. After the time the reply states how far it is.
        let _ = tokio::time::timeout(LONGEST_WAIT, state.wait_for(|state| state.up_to >= target)).await;
    }
}

fn unsearchable(error: SearchError) -> Error {
    if matches!(error, SearchError::TimedOut) {
        let message = "The search takes too long; name more words, or fewer documents by filters.";
        return Error::new(Code::Overloaded, message);
    }
    tracing::error!(%error, "the index of the search can't be read");
    Error::internal()
}
