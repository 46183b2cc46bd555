//! Rendered pages, each kept in memory until its live blog changes.
//!
//! A page that is kept costs a reader's request a look-up of the live blog and no rendering. Few
//! pages are rendered at a time, each once for all readers who wait for it. The cache bounds the
//! memory, and each page takes at most a part of it, so that it is always kept.

use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use quick_cache::Weighter;
use sha2::{Digest, Sha256};
use stet_base::limits::bounded_cache::{self, BoundedCache};
use stet_base::limits::{FairQueue, SharedOutcome, SharedReservation, SharedWork, begin_call, behalf};
use stet_domain::error::Result;
use stet_domain::expect::RevisionTag;
use stet_domain::id::Loid;
use stet_web::app::App;
use stet_web::etag::ETag;
use stet_web::kept_text::KeptText;
use stet_web::pieces::{ReplyAccounting, in_pieces};

use super::super::OpenLiveblog;
use super::pages::{self, PageNumber};
use super::{ReadOutcome, headers, render};

/// The pages rendered at a time. One takes some milliseconds of a thread that serves requests.
const AT_ONCE: usize = 2;

/// Maximum number of pages that wait to be rendered for one address.
const WAITING: usize = 64;

/// The time in milliseconds after which a page is rendered anew although its live blog has not
/// changed. It shows names of users and facts of the configuration, which have no revision there.
const LONGEST_MS: u64 = 60_000;

/// The form of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PageForm {
    /// For browsers, with the head of a page.
    Page,
    /// The posts alone, for the script.
    Posts,
}

/// A page of a live blog in a form.
type PageKey = (Loid, PageForm, PageNumber);

/// A state of a page: the revision of the live blog, and the minute.
type PageState = (RevisionTag, u64);

/// A rendered page.
pub(super) struct KeptPage {
    state: PageState,
    bytes: usize,
    text: KeptText,
    tag: ETag,
    share: SharedReservation,
}

#[derive(Clone)]
struct PageWeighter;

impl Weighter<PageKey, Arc<KeptPage>> for PageWeighter {
    fn weight(&self, _: &PageKey, page: &Arc<KeptPage>) -> u64 {
        // Its three compressed forms together take less than the text.
        (bounded_cache::ENTRY + 2 * page.bytes) as u64
    }
}

/// The rendered pages of all public live blogs.
pub struct KeptPages {
    kept: BoundedCache<PageKey, Arc<KeptPage>, PageWeighter>,
    making: SharedWork<(PageKey, PageState)>,
    turns: FairQueue,
}

impl KeptPages {
    /// Creates a cache of at most `most` bytes.
    pub fn new(most: u64) -> KeptPages {
        KeptPages {
            // A page of 25 posts has about 64 KiB, with its compressed forms.
            kept: BoundedCache::new("pages", most, 64 << 10, 1, PageWeighter),
            making: SharedWork::default(),
            turns: FairQueue::new("pages", "public pages", AT_ONCE, WAITING),
        }
    }

    /// Returns the bytes of posts that a page may have, so that it is kept: as HTML, as data for
    /// search engines, and both compressed.
    fn room(&self) -> usize {
        usize::try_from(self.kept.most() / 6).unwrap_or(usize::MAX).min(512 << 10)
    }

    fn get(&self, key: &PageKey, state: PageState) -> Option<Arc<KeptPage>> {
        self.kept.peek(key).filter(|page| page.state == state)
    }
}

/// Returns a page of a live blog; nothing if there is no such page.
///
/// # Errors
/// `Overloaded` if too many pages wait to be rendered; errors of disk and store.
pub(super) async fn page(
    app: &Arc<App>,
    open: &OpenLiveblog,
    form: PageForm,
    number: PageNumber,
) -> Result<ReadOutcome<Arc<KeptPage>>> {
    let kept = app.kept::<KeptPages>();
    let total = open.view.state.sequence().visible_len();
    let Some(range) = pages::range(number, total, app.config.liveblog.public.posts) else {
        return Ok(ReadOutcome::Read(None));
    };
    let key = (open.loid(), form, number);
    let state = (open.tag(), app.repository.clock().steady_ms() / LONGEST_MS);
    // Counts as a use of the page.
    if let Some(page) = kept.kept.get(&key).filter(|page| page.state == state) {
        return Ok(ReadOutcome::Read(Some(page)));
    }
    let making = kept.making.there_or_turn((key, state), || kept.get(&key, state), || kept.turns.turn());
    match making.await? {
        SharedOutcome::Ready(page) => Ok(ReadOutcome::Read(Some(page))),
        SharedOutcome::Make(_maker, _turn) => {
            begin_call().await;
            let Some(text) = render::text(app, open, form, &range, kept.room()).await? else {
                return Ok(ReadOutcome::Changed);
            };
            let tag = ETag::of_bytes(<[u8; 32]>::from(Sha256::digest(&text)));
            let (bytes, share) = (text.len(), SharedReservation::default());
            let page = Arc::new(KeptPage { state, bytes, text: KeptText::new(text), tag, share });
            kept.kept.insert(key, page.clone());
            Ok(ReadOutcome::Read(Some(page)))
        }
    }
}

impl KeptPage {
    /// Returns the reply with the page, or a 304 if the client has it.
    ///
    /// # Errors
    /// `Overloaded` if too many replies wait for their clients.
    pub async fn answer(&self, app: &App, http: &HttpRequest, embedded: bool) -> Result<HttpResponse> {
        let mut response = match self.tag.is_known(http.headers()) {
            true => HttpResponse::NotModified().finish(),
            false => {
                let media_type = "text/html; charset=utf-8";
                let whole = self.text.answer(media_type, http, app.config.server.compress_bytes).await?;
                let (holder, share) = (behalf(), self.share.clone());
                let counted = ReplyAccounting::Against { memory: &app.memory, holder, share, may_fail: true };
                in_pieces(whole, 0, &counted)?
            }
        };
        let out = response.headers_mut();
        headers::of_kept(out, &self.tag);
        out.insert(header::CACHE_CONTROL, headers::caching(&app.config));
        headers::of_page(app, out, embedded);
        Ok(response)
    }
}
