//! The feed: the thread that keeps the index up to date.
//!
//! There is one, at a low priority, so changes and searches need not wait for it. A round takes
//! what has changed, reads it from the store, and commits the index. The order of the steps makes a
//! commit complete: the place in the log is read first, then the notes about changes are taken, and
//! only then rows are read. Each change up to that place has left its note by then.
//!
//! An error of the store or the index ends the round. The next one opens the index again and
//! compares everything, so nothing is left out. A panic is treated the same way.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use metrics::{counter, gauge};
use stet_actors::runtime::store_failure;
use stet_actors::thread::lower_priority;
use stet_base::disk::free_at;
use stet_domain::error::Error;
use stet_domain::id::Loid;
use stet_domain::liveblog::{Liveblog, Post};
use stet_domain::object::FamilyKind;
use stet_domain::part::PartReader;
use stet_domain::store::StoreError;
use stet_fulltext::{SearchError, TextIndex};
use stet_newsroom::Newsroom;

use crate::changes::FeedTask;
use crate::comparison;
use crate::documents::{key_of, message_document, object_document, post_document};
use crate::service::NewsroomSearch;

/// The longest time between two rounds. A round without changes only notes the place in the log.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The pause after an error.
const AFTER_ERROR: Duration = Duration::from_secs(5);

/// The number of documents after which a long update commits what it has.
pub const COMMIT_AFTER: usize = 20_000;

/// The running feed.
pub struct FeedThread {
    search: Arc<NewsroomSearch>,
    thread: JoinHandle<()>,
}

impl FeedThread {
    /// Starts the feed.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(search: Arc<NewsroomSearch>) -> std::io::Result<FeedThread> {
        let feed = Feed { search: search.clone() };
        let thread = std::thread::Builder::new().name("stet-search".to_owned()).spawn(move || {
            lower_priority();
            feed.run();
        })?;
        Ok(FeedThread { search, thread })
    }

    /// Ends the feed after the current object, and commits the index.
    pub fn end(self) {
        self.search.changes.end();
        if self.thread.join().is_err() {
            tracing::error!("the thread that indexes changes has failed");
        }
    }
}

/// The reason why a round ended early.
#[derive(Debug)]
pub enum FeedFault {
    /// A new index is asked for, or the end.
    Interrupted,
    /// The disk has no more room than changes need.
    NoRoom,
    /// The index can't be read or written.
    Index(SearchError),
    /// The store can't be read.
    Store(Error),
}

impl fmt::Display for FeedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FeedFault::Interrupted => f.write_str("it was interrupted"),
            FeedFault::NoRoom => f.write_str("the disk has less free space than store.reserve_bytes"),
            FeedFault::Index(error) => error.fmt(f),
            FeedFault::Store(error) => error.fmt(f),
        }
    }
}

impl From<SearchError> for FeedFault {
    fn from(error: SearchError) -> FeedFault {
        FeedFault::Index(error)
    }
}

impl From<Error> for FeedFault {
    fn from(error: Error) -> FeedFault {
        FeedFault::Store(error)
    }
}

impl From<StoreError> for FeedFault {
    fn from(error: StoreError) -> FeedFault {
        FeedFault::Store(store_failure(&error))
    }
}

struct Feed {
    search: Arc<NewsroomSearch>,
}

impl Feed {
    fn run(&self) {
        let mut empty = false;
        loop {
            let outcome = catch_unwind(AssertUnwindSafe(|| self.work(std::mem::take(&mut empty))));
            match outcome {
                Ok(FeedEnd::Ended) => return,
                Ok(FeedEnd::Rebuild) => empty = true,
                _ if self.search.changes.has_ended() => return self.search.index.close(),
                Ok(FeedEnd::Failed(fault)) => {
                    tracing::error!(%fault, "changes can't be indexed for the search; trying again");
                    self.pause();
                }
                Err(_) => {
                    tracing::error!("indexing changes for the search has failed; trying again");
                    self.pause();
                }
            }
        }
    }

    /// Waits after an error, and lets changes be noted no more: everything will be compared.
    fn pause(&self) {
        self.search.set_complete(false);
        let end = Instant::now() + AFTER_ERROR;
        while Instant::now() < end && !self.search.changes.is_interrupted() {
            self.search.changes.forget();
            self.search.changes.wait(end.saturating_duration_since(Instant::now()));
        }
    }

    /// Opens the index, compares it with the store, and follows changes. With `empty` it begins
    /// with an empty index.
    fn work(&self, empty: bool) -> FeedEnd {
        let search = &self.search;
        search.set_complete(false);
        let opened = if empty { search.index.open_empty() } else { search.index.open() };
        let index = match opened {
            Ok(index) => index,
            Err(error) => return FeedEnd::Failed(error.into()),
        };
        let mut compare = true;
        loop {
            let round = if compare { self.compare(&index) } else { self.follow(&index) };
            compare = match round {
                Ok(RoundEnd::UpToDate) => false,
                Ok(RoundEnd::TooMuch) => true,
                Err(FeedFault::Interrupted) => match search.changes.take() {
                    FeedTask::End => return self.close(&index),
                    FeedTask::Rebuild => return FeedEnd::Rebuild,
                    FeedTask::Update { .. } | FeedTask::Compare => true,
                },
                Err(fault) => return FeedEnd::Failed(fault),
            };
        }
    }

    /// Commits the index at the end, so that the next start has little to compare.
    fn close(&self, index: &TextIndex) -> FeedEnd {
        // Whatever the commit lacks is found by the next comparison.
        if let Err(error) = index.commit(index.state().unwrap_or_default()) {
            tracing::warn!(%error, "the last changes are not in the index yet; the next start adds them");
        }
        self.search.index.close();
        FeedEnd::Ended
    }

    /// Compares the whole store with the index, and brings the index up to date.
    fn compare(&self, index: &TextIndex) -> Result<RoundEnd, FeedFault> {
        let (search, began) = (&self.search, Instant::now());
        search.set_complete(false);
        check_room(&search.newsroom)?;
        let up_to = search.newsroom.repository.end_of_log();
        search.changes.forget();
        if index.state().is_some_and(|state| state > up_to.seq) {
            tracing::warn!("the index is newer than the data, and is made anew");
            search.changes.rebuild();
        }
        let indexed = comparison::bring_up_to_date(search, index, up_to)?;
        index.commit(up_to.seq)?;
        counter!("stet_search_comparisons_total").increment(1);
        let (documents, seconds) = (index.documents(), began.elapsed().as_secs_f64());
        tracing::info!(documents, indexed, seconds, "compared the index of the search with the data");
        measure(index);
        search.set_up_to(up_to);
        search.set_complete(true);
        Ok(RoundEnd::UpToDate)
    }

    /// Waits for changes and indexes them.
    fn follow(&self, index: &TextIndex) -> Result<RoundEnd, FeedFault> {
        let search = &self.search;
        search.changes.wait(LONGEST_WAIT);
        let up_to = search.newsroom.repository.end_of_log();
        if search.changes.is_interrupted() {
            return Err(FeedFault::Interrupted);
        }
        let (objects, messages) = match search.changes.take() {
            FeedTask::Update { objects, messages } => (objects, messages),
            FeedTask::Compare => return Ok(RoundEnd::TooMuch),
            FeedTask::End => return Err(FeedFault::Interrupted),
            FeedTask::Rebuild => {
                // Requested after the check above. The handler of the interruption takes it.
                search.changes.rebuild();
                return Err(FeedFault::Interrupted);
            }
        };
        if !objects.is_empty() || !messages.is_empty() {
            check_room(&search.newsroom)?;
            for object in &objects {
                update_object(&search.newsroom, index, *object, false)?;
            }
            for message in &messages {
                update_message(&search.newsroom, index, *message)?;
            }
            index.commit(up_to.seq)?;
            measure(index);
        }
        search.set_up_to(up_to);
        Ok(RoundEnd::UpToDate)
    }
}

/// Sets the metrics of the index after a commit. Clients that wait may
/// begin many rounds without one.
fn measure(index: &TextIndex) {
    gauge!("stet_search_documents").set(index.documents() as f64);
    gauge!("stet_search_bytes").set(index.size_bytes() as f64);
}

/// Checks that the index may grow: the last free bytes of the disk are for changes.
///
/// # Errors
/// [`FeedFault::NoRoom`]. A disk that can't be asked refuses nothing.
pub fn check_room(newsroom: &Newsroom) -> Result<(), FeedFault> {
    let free = free_at(&newsroom.config.data.directory).unwrap_or(u64::MAX);
    if free < newsroom.config.store.reserve_bytes { Err(FeedFault::NoRoom) } else { Ok(()) }
}

enum RoundEnd {
    UpToDate,
    TooMuch,
}

enum FeedEnd {
    Ended,
    Rebuild,
    Failed(FeedFault),
}

/// Brings the documents of an object up to date: its own, and those of the posts in it. With
/// `whole` each post is compared, otherwise only those that have changed since the revision that is
/// indexed. Returns the number of documents that were put.
///
/// # Errors
/// Errors of the store or the index.
pub fn update_object(newsroom: &Newsroom, index: &TextIndex, loid: Loid, whole: bool) -> Result<usize, FeedFault> {
    let key = key_of(loid);
    let Some(record) = newsroom.repository.record(loid)? else {
        index.remove(key);
        index.remove_parts(key);
        return Ok(0);
    };
    let mut put = 1;
    let mut document = object_document(newsroom, &record)?;
    if record.family == FamilyKind::Liveblog {
        let before = if whole { None } else { index.revision_of(key)? };
        let (posts, revision) = update_posts(newsroom, index, loid, before)?;
        put += posts;
        // A view may be a moment behind the row. Then the object is noted as changed once more.
        document.revision = document.revision.min(revision);
    }
    index.put(document)?;
    Ok(put)
}

/// Brings the posts of a liveblog up to date. `before` is the revision that is indexed; without it,
/// all posts are compared. Returns the number of posts that were put, and the revision up to which
/// all are.
fn update_posts(
    newsroom: &Newsroom,
    index: &TextIndex,
    liveblog: Loid,
    before: Option<u64>,
) -> Result<(usize, u64), FeedFault> {
    let mut put = 0;
    if let Some((before, view)) = before.zip(newsroom.repository.loaded::<Liveblog>(liveblog)) {
        for change in view.state.since(before) {
            match change {
                Ok(post) => {
                    index.put(post_document(newsroom, post)?)?;
                    put += 1;
                }
                Err(removed) => index.remove(key_of(removed.post)),
            }
        }
        return Ok((put, stet_domain::family::State::object(&view.state).record.revision));
    }
    let mut indexed: foldhash::HashMap<u128, u64> = index.parts_of(key_of(liveblog))?.into_iter().collect();
    let mut fault = None;
    PartReader::new(newsroom.repository.look(), liveblog).each(stet_domain::liveblog::POST, |_, value| {
        let post: Post = stet_domain::store::decode_value(<Post as stet_domain::store::Row>::FORMAT, &value)?;
        if fault.is_none() && indexed.remove(&key_of(post.loid())) != Some(post.record.revision) {
            let indexing = || -> Result<(), FeedFault> { Ok(index.put(post_document(newsroom, &post)?)?) };
            fault = indexing().err();
            put += 1;
        }
        Ok(())
    })?;
    if let Some(fault) = fault {
        return Err(fault);
    }
    for (removed, _) in indexed {
        index.remove(removed);
    }
    Ok((put, u64::MAX))
}

/// Brings the document of a message up to date.
///
/// # Errors
/// Errors of the store or the index.
pub fn update_message(newsroom: &Newsroom, index: &TextIndex, number: u64) -> Result<(), FeedFault> {
    match newsroom.messages.message(number)? {
        Some(message) => index.put(message_document(&message))?,
        None => index.remove(key_of(stet_newsroom::messages::id_of(number))),
    }
    Ok(())
}
