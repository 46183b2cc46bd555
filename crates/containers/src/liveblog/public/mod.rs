//! Live blogs for readers without a token (docs/PUBLIC.md): pages, their pictures, and a script by
//! which other sites embed a page.
//!
//! These addresses are beside the endpoints, like the console. A reader acts as a caller with the
//! right to read below the folders of `liveblog.public.folders` and no other. Each request finds
//! the live blog and checks that right, so a live blog that has left the folders is gone at once.
//!
//! The rest is bounded, because any number of readers may ask at any rate:
//!
//! - Pages are rendered once for each revision and kept ([`kept`]). Few are rendered at a time.
//! - A page has a bounded number of posts and bytes ([`content`], [`render`]).
//! - Pages are counted from the oldest post. So there are only as many as the posts fill, and a new
//!   post changes only the first page ([`pages`]).
//! - Pictures are scaled ones, with the limits of all scaled pictures ([`picture`]).
//!
//! Invariants: no reply depends on the client, except for its coding: proxies keep it. No reply has
//! a loid or the name of a user. The contents of posts pass [`clean`], and the headers of
//! [`headers`] stop what might get through.

mod clean;
mod content;
mod files;
mod headers;
mod kept;
mod pages;
mod picture;
mod render;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::{Method, header};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::future::LocalBoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use stet_base::limits::{Holder, counted_as, on_behalf_of};
use stet_config::Config;
use stet_domain::error::{Code, Error, Result};
use stet_domain::family::Family;
use stet_domain::id::{DatabaseId, ObjectSource, ObjectUuid};
use stet_domain::liveblog::Liveblog;
use stet_newsroom::caller::{CallContext, Caller, Principal};
use stet_web::app::App;
use stet_web::call::Call;
use stet_web::client;
use stet_web::reply::Json;

use self::files::PublicFile;
pub use self::kept::KeptPages;
use self::kept::PageForm;
use self::pages::PageNumber;
use super::OpenLiveblog;

/// The path of the public pages below the base path.
const LIVE: &str = "/live/";

/// The largest number of attempts to render a page of a live blog that is being changed.
const TRIES: usize = 100;

/// The wait for a view whose rows are visible already.
const PAUSE: Duration = Duration::from_millis(2);

/// A request of a reader.
enum PublicRequest {
    /// A file that all pages share.
    File(&'static PublicFile),
    /// Posts of a live blog, as a page or alone.
    Posts { liveblog: ObjectUuid, form: PageForm, number: PageNumber, embedded: bool },
    /// A picture of a post, named by the beginning of its hash.
    Picture { liveblog: ObjectUuid, post: ObjectUuid, hash: [u8; picture::NAMED] },
    /// An address without a page.
    Nothing,
}

/// Answers a request for a public page, which is no endpoint; `None` for any other request, and if
/// no live blog is public.
pub fn answer(app: &Arc<App>, http: &HttpRequest) -> Option<LocalBoxFuture<'static, HttpResponse>> {
    let request = PublicRequest::at(&app.config, http.uri().path(), http.query_string())?;
    let (app, http) = (app.clone(), http.clone());
    Some(Box::pin(async move { request.answer(&app, &http).await }))
}

impl PublicRequest {
    /// Returns the request with that path and query; `None` if the path is none of a public page.
    fn at(config: &Config, path: &str, query: &str) -> Option<PublicRequest> {
        if !config.liveblog.public.is_on() {
            return None;
        }
        let rest = path.strip_prefix(config.server.base_path.as_str())?.strip_prefix(LIVE)?;
        if let Some(file) = files::find(rest) {
            return Some(PublicRequest::File(file));
        }
        Some(PublicRequest::below(rest, query).unwrap_or(PublicRequest::Nothing))
    }

    /// Returns the request for something of a live blog.
    fn below(rest: &str, query: &str) -> Option<PublicRequest> {
        let mut parts = rest.split('/');
        let liveblog = uuid(parts.next()?)?;
        let form = match parts.next() {
            None => PageForm::Page,
            Some("posts") => PageForm::Posts,
            Some("picture") => {
                let (post, hash) = (uuid(parts.next()?)?, picture::named(parts.next()?)?);
                return parts.next().is_none().then_some(PublicRequest::Picture { liveblog, post, hash });
            }
            Some(_) => return None,
        };
        if parts.next().is_some() {
            return None;
        }
        let (mut number, mut embedded) = (PageNumber::Newest, false);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "page" => number = PageNumber::Older(value.parse().ok().filter(|number| *number > 0)?),
                "embed" => embedded = true,
                _ => {}
            }
        }
        Some(PublicRequest::Posts { liveblog, form, number, embedded })
    }

    async fn answer(self, app: &Arc<App>, http: &HttpRequest) -> HttpResponse {
        if !matches!(*http.method(), Method::GET | Method::HEAD) {
            return HttpResponse::MethodNotAllowed().insert_header((header::ALLOW, "GET, HEAD")).finish();
        }
        let outcome = match self {
            PublicRequest::File(file) => file.answer(app, http).await.map(Some),
            PublicRequest::Nothing => Ok(None),
            _ => {
                on_behalf_of(Holder::Address(counted_as(client::client_address(http, &app.proxies))));
                self.answer_of_liveblog(app, http).await
            }
        };
        match outcome {
            Ok(Some(response)) => response,
            Ok(None) => headers::not_found(app),
            Err(error) => headers::failure(app, &error),
        }
    }

    /// Answers a request about a live blog; `None` if there is no such page or picture.
    async fn answer_of_liveblog(self, app: &Arc<App>, http: &HttpRequest) -> Result<Option<HttpResponse>> {
        match self {
            PublicRequest::Posts { liveblog, form, number, embedded } => {
                let Some(reader) = LiveblogReader::of(app, liveblog)? else { return Ok(None) };
                let page = reader.settled(async |open| kept::page(app, open, form, number).await).await?;
                match page {
                    Some(page) => page.answer(app, http, embedded).await.map(Some),
                    None => Ok(None),
                }
            }
            PublicRequest::Picture { liveblog, post, hash } => {
                let Some(reader) = LiveblogReader::of(app, liveblog)? else { return Ok(None) };
                reader.settled(async |open| picture::answer(app, http, open, post, &hash).await).await
            }
            PublicRequest::File(_) | PublicRequest::Nothing => Ok(None),
        }
    }
}

/// The place of a live blog's public page.
#[derive(Serialize, JsonSchema)]
pub struct PublicAddress {
    /// Address of the page for readers, or only its path if `liveblog.public.address` is empty.
    /// Null if the liveblog is not public.
    address: Option<String>,
}

/// `GET /v3/container/liveblog/{source}/public`
pub async fn public_address(call: Call) -> Result<Json<PublicAddress>> {
    call.container::<Liveblog>("source")?;
    let uuid = call.resolve("source")?.record.uuid;
    let (public, base_path) = (&call.app.config.liveblog.public, &call.app.config.server.base_path);
    let is_public = public.is_on() && LiveblogReader::of(&call.app, uuid)?.is_some();
    Json::of(&PublicAddress { address: is_public.then(|| format!("{}{base_path}{LIVE}{uuid}", public.address)) })
}

/// The outcome of reading a live blog in one state.
enum ReadOutcome<T> {
    /// The value; `None` if there is none.
    Read(Option<T>),
    /// A post has changed since the view was published.
    Changed,
}

/// A reader of a public live blog.
struct LiveblogReader {
    caller: Caller,
    liveblog: stet_domain::id::Loid,
}

impl LiveblogReader {
    /// Returns the reader of the live blog with that uuid; `None` if it is not public.
    ///
    /// # Errors
    /// Errors of the store.
    fn of(app: &Arc<App>, liveblog: ObjectUuid) -> Result<Option<LiveblogReader>> {
        let Some(record) = if_there(app.resolve(&ObjectSource::Uuid(liveblog), DatabaseId::main()))? else {
            return Ok(None);
        };
        if record.family != Liveblog::KIND {
            return Ok(None);
        }
        let reader = Principal::reader(&app.newsroom, &app.config.liveblog.public.folders)?;
        let caller = Caller::new(app.newsroom.clone(), reader, CallContext::default())?;
        let may = caller.access().may(stet_auth::Privilege::Read, &record)?;
        Ok(may.then_some(LiveblogReader { caller, liveblog: record.loid }))
    }

    /// Reads the live blog with `read`, and again from a newer view whenever a post has changed in
    /// between. `None` if it is no longer public.
    ///
    /// # Errors
    /// Errors of `read`; `Overloaded` if the live blog changes all the time.
    async fn settled<T>(&self, read: impl AsyncFn(&OpenLiveblog) -> Result<ReadOutcome<T>>) -> Result<Option<T>> {
        for _ in 0..TRIES {
            let Some(view) = if_there(self.caller.view_of::<Liveblog>(self.liveblog).await)? else { return Ok(None) };
            match read(&OpenLiveblog::of_caller(&self.caller, view)?).await? {
                ReadOutcome::Read(value) => return Ok(value),
                ReadOutcome::Changed => tokio::time::sleep(PAUSE).await,
            }
        }
        Err(Error::new(Code::Overloaded, "The posts keep changing; try again."))
    }
}

/// Returns `None` in place of an error about a missing object.
fn if_there<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.code, Code::ObjectNotFound | Code::InvalidType | Code::PermissionDenied) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Parses a uuid in its usual form. Other forms would be further addresses of the same page.
fn uuid(text: &str) -> Option<ObjectUuid> {
    text.parse().ok().filter(|uuid: &ObjectUuid| uuid.to_string() == text)
}
