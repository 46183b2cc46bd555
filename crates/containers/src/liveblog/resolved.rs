//! A liveblog's content with its approved posts, rendered while it is sent. Neither the posts nor
//! their XML is ever in memory as a whole.
//!
//! All posts are of one view. They are walked twice: once for the length of the content, which
//! ranges and headers need, and once to send it. The bytes of a post can't differ between the two,
//! because their hash is checked. The length is cached, so that a caller who reads range by range
//! does not cause a walk over all posts for each range.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use quick_cache::Weighter;
use stet_actors::runtime::ContainerView;
use stet_base::limits::bounded_cache::{self, BoundedCache};
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Error, Result};
use stet_domain::id::Loid;
use stet_domain::liveblog::LiveblogState;
use stet_endpoint::whole::BodyPiece;
use stet_web::app::App;
use stet_web::reply::BodyStream;

use super::piece::piece;

/// The number of posts between two places that are noted.
const AT_A_TIME: usize = 64;

/// Bytes to render before they are sent, not counting the last post.
const CHUNK: usize = 32 << 10;

/// The length of a view's posts as XML.
#[derive(Debug, Default)]
struct ResolvedLength {
    size: u64,
    /// The offsets of the posts whose numbers are multiples of [`AT_A_TIME`].
    places: Vec<u64>,
}

/// The liveblog, its revision, and whether a default namespace holds where the posts are. A change
/// results in another key.
type LengthsKey = (Loid, u64, bool);

#[derive(Clone)]
struct ResolvedLengthWeighter;

impl Weighter<LengthsKey, Arc<ResolvedLength>> for ResolvedLengthWeighter {
    fn weight(&self, _: &LengthsKey, length: &Arc<ResolvedLength>) -> u64 {
        (bounded_cache::ENTRY + length.places.capacity() * size_of::<u64>()) as u64
    }
}

/// The cache of recently used lengths.
pub struct ResolvedLengths(BoundedCache<LengthsKey, Arc<ResolvedLength>, ResolvedLengthWeighter>);

impl ResolvedLengths {
    /// Creates a cache of at most `most` bytes. The length of a liveblog with 10,000 posts takes
    /// about 1,400.
    pub fn new(most: u64) -> ResolvedLengths {
        ResolvedLengths(BoundedCache::new("lengths", most, 1 << 10, 1, ResolvedLengthWeighter))
    }
}

/// The approved posts of a liveblog in its order, as XML of a known length.
pub(super) struct ResolvedPosts {
    walk: PostWalk,
    length: Arc<ResolvedLength>,
}

impl ResolvedPosts {
    /// Measures the posts of a view; `None` if one was changed since. `in_default` is as for
    /// [`piece`].
    ///
    /// # Errors
    /// Errors of disk and store.
    pub(super) async fn of(
        app: &Arc<App>,
        view: &Arc<ContainerView<LiveblogState>>,
        in_default: bool,
    ) -> Result<Option<ResolvedPosts>> {
        let mut walk = PostWalk { app: app.clone(), view: view.clone(), in_default, next: 0 };
        let key = (view.state.head().loid, view.revision(), in_default);
        if let Some(length) = app.kept::<ResolvedLengths>().0.get(&key) {
            return Ok(Some(ResolvedPosts { walk, length }));
        }
        let (mut length, mut timer) = (ResolvedLength::default(), YieldTimer::start());
        loop {
            timer.yield_if_due().await;
            if walk.next.is_multiple_of(AT_A_TIME) {
                length.places.push(length.size);
            }
            match walk.next().await? {
                None => return Ok(None),
                Some(ControlFlow::Break(())) => break,
                Some(ControlFlow::Continue(piece)) => length.size += piece.len() as u64,
            }
        }
        let length = Arc::new(length);
        app.kept::<ResolvedLengths>().0.insert(key, length.clone());
        Ok(Some(ResolvedPosts { walk: PostWalk { next: 0, ..walk }, length }))
    }

    /// Returns the posts as a part of a reply's body.
    pub(super) fn part(self) -> BodyPiece {
        BodyPiece::new(self.length.size, |first, len| self.stream(first, len))
    }

    fn stream(self, first: u64, len: u64) -> BodyStream {
        // The first place is 0, so one is always at or before `first`.
        let places = &self.length.places;
        let known = places.partition_point(|place| *place <= first).saturating_sub(1);
        let skip = first - places.get(known).copied().unwrap_or(0);
        let walk = PostWalk { next: known * AT_A_TIME, ..self.walk };
        Box::pin(stream::try_unfold((walk, skip, len), |(mut walk, mut skip, mut left)| async move {
            if left == 0 {
                return Ok(None);
            }
            let (mut gathered, mut timer) = (Vec::new(), YieldTimer::start());
            while left > 0 && gathered.len() < CHUNK {
                timer.yield_if_due().await;
                // If the posts end early, or one was removed, the connection is aborted, because
                // the announced length can't be sent.
                let Ok(Some(ControlFlow::Continue(piece))) = walk.next().await else {
                    tracing::info!(liveblog = %walk.view.state.head().loid, "a post has changed while it was sent");
                    return Err(actix_web::error::ErrorInternalServerError(Error::internal()));
                };
                let size = piece.len() as u64;
                let (from, to) = (skip.min(size), (skip + left).min(size));
                // Both are at most the length of the piece, which is a `usize`.
                gathered.extend_from_slice(&piece.as_bytes()[from as usize..to as usize]);
                (skip, left) = (skip - from, left - (to - from));
            }
            Ok(Some((Bytes::from(gathered), (walk, skip, left))))
        }))
    }
}

/// A position among the approved posts of a view.
struct PostWalk {
    app: Arc<App>,
    view: Arc<ContainerView<LiveblogState>>,
    in_default: bool,
    /// The number of the next post.
    next: usize,
}

impl PostWalk {
    /// Returns the next post as XML, or the end of the walk; `None` if the post was changed since
    /// the view.
    async fn next(&mut self) -> Result<Option<ControlFlow<(), String>>> {
        let Some(post) = self.view.state.sequence().nth_visible(self.next) else {
            return Ok(Some(ControlFlow::Break(())));
        };
        self.next += 1;
        Ok(piece(&self.app, post, self.in_default).await?.map(ControlFlow::Continue))
    }
}
