//! A call on its way to its handler: the request with all values that have been checked, in named
//! types.

use std::net::IpAddr;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::HeaderMap;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stet_base::limits::Reservation;
use stet_base::limits::offload;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
#[cfg(any(test, feature = "testing"))]
use stet_newsroom::caller::CallContext;
use stet_newsroom::caller::Caller;
use stet_newsroom::records::Display;

use super::app::App;
use super::body::{IncomingBody, JsonBodyReader};
use super::compress::is_form_known;
use super::etag::ETag;
use super::identify::{check_origin, key_in_address, token_of};
use super::query::{Query, QueryPairs};
use super::reply::Json;
use super::route::{BodyRule, QueryParam, Route};
use super::router::PathParams;

/// A call that has passed all checks, for its handler. It is its [`Caller`], with the request.
pub struct Call {
    /// The state of the server.
    pub app: Arc<App>,
    /// The endpoint.
    pub route: &'static Route,
    /// The request, for its headers and connection.
    pub http: HttpRequest,
    /// Typed query parameters.
    pub query: Query,
    /// Path parameters, decoded.
    pub params: PathParams<'static>,
    /// The client's address, as reported by trusted proxies.
    pub client: IpAddr,
    /// The body, if the route has one that is not a multipart form.
    pub body: Bytes,
    /// The unread body, if it is a multipart form or a content.
    pub(super) incoming: Option<IncomingBody>,
    /// The body's part of the memory budget, held until the call is answered; `None` if the route
    /// has no body.
    pub(super) room: Option<Arc<Reservation>>,
    /// The caller.
    pub(super) caller: Caller,
}

impl Deref for Call {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl DerefMut for Call {
    fn deref_mut(&mut self) -> &mut Caller {
        &mut self.caller
    }
}

impl Call {
    /// Returns a call without a session, with these query parameters and nothing else.
    #[cfg(any(test, feature = "testing"))]
    pub fn of_test(app: Arc<App>, route: &'static Route, query: &str) -> Call {
        let pairs = super::query::QueryPairs::of(query);
        let (newsroom, context) = (app.newsroom.clone(), CallContext::default());
        let caller = Caller::new(newsroom, Option::None.into(), context).expect("nobody has no rights");
        Call {
            app,
            route,
            http: actix_web::test::TestRequest::default().to_http_request(),
            query: Query::parse(route, pairs).expect("the parameters are those of the endpoint"),
            params: PathParams::default(),
            client: IpAddr::from([127, 0, 0, 1]),
            body: Bytes::new(),
            incoming: None,
            room: None,
            caller,
        }
    }

    /// Returns the request's headers.
    pub fn headers(&self) -> &HeaderMap {
        self.http.headers()
    }

    /// Reports whether a read may be answered with
    /// [`Reply::not_modified`](super::reply::Reply::not_modified) before the representation with
    /// this tag is rendered.
    ///
    /// `false` may also mean that only the finished reply shows which tag the 304 must have. Then
    /// the reply is rendered, and its ETag is compared again before it is sent.
    pub fn has(&self, tag: &ETag) -> bool {
        tag.is_known(self.headers()) && is_form_known(&self.http, self.app.config.server.compress_bytes, tag)
    }

    /// Returns the token as the client sent it.
    pub fn token(&self) -> Option<String> {
        token_of(&self.http)
    }

    /// Returns the key in the address, if the caller is identified by it.
    pub fn key_in_address(&self) -> Option<String> {
        key_in_address(self.route, &QueryPairs::of(self.http.query_string())).map(str::to_owned)
    }

    /// Returns a path parameter.
    pub fn param(&self, name: &str) -> &str {
        // The router provides every parameter of the pattern.
        self.params.get(name).unwrap_or_default()
    }

    /// Parses a path parameter as a source.
    ///
    /// # Errors
    /// `InvalidParameter` for a parameter that the route does not declare as a source, and whose
    /// value is none.
    pub fn source(&self, name: &str) -> Result<ObjectSource> {
        match self.objects().iter().find(|object| object.name == name) {
            Some(object) => Ok(object.source.clone()),
            None => ObjectSource::parse(name, self.param(name)),
        }
    }

    /// Parses a path parameter as a whole number.
    ///
    /// # Errors
    /// `InvalidParameter`.
    pub fn integer(&self, name: &str) -> Result<i64> {
        let text = self.param(name);
        text.parse().map_err(|_| Error::parameter(name, text, "a whole number"))
    }

    /// Returns the database that the call names.
    ///
    /// # Errors
    /// `DatabaseNotFound`.
    pub fn database(&self) -> Result<DatabaseId> {
        self.app.database(self.query.text("databaseId"))
    }

    /// Refuses the call if it comes from a page of another site and the cookie alone authorises it.
    /// Needed for a GET that changes something, if not all calls of its endpoint do
    /// ([`CallEffect::Acts`](super::route::CallEffect::Acts)).
    ///
    /// # Errors
    /// `OriginRefused`.
    pub fn refuse_foreign_origin(&self) -> Result<()> {
        check_origin(&self.app, &self.http)
    }

    /// Returns the kept reply if the call has been answered before. For multipart forms, whose
    /// content only their reader knows. `body` identifies the form's content, whatever its
    /// boundary.
    ///
    /// # Errors
    /// `IdempotencyMismatch`; errors of the store.
    pub async fn answered_before<T>(&self, body: &[&[u8]]) -> Result<Option<Json<T>>> {
        let Some(claim) = self.claim() else { return Ok(None) };
        let kept = self.app.receipts.identify(claim, claim.fingerprint(body)).await?;
        Ok(kept.map(Json::kept))
    }

    /// Parses the JSON body, which must be an object.
    ///
    /// # Errors
    /// `InvalidBody` with the path of the fault.
    pub async fn json<T: DeserializeOwned + Send + 'static>(&self) -> Result<T> {
        self.read(self.requires_body(), |reading, body| reading.object(body)).await
    }

    /// Parses the JSON body, whose kind may be any that the type accepts.
    ///
    /// # Errors
    /// The errors of [`Call::json`].
    pub async fn any_json<T: DeserializeOwned + Send + 'static>(&self) -> Result<T> {
        self.read(self.requires_body(), |reading, body| reading.any(body)).await
    }

    /// Parses the body, on another thread if it is large: megabytes of JSON take long, and parsing
    /// can't be interrupted.
    async fn read<T: Send + 'static>(
        &self,
        required: bool,
        read: fn(JsonBodyReader<'_>, &[u8]) -> Result<T>,
    ) -> Result<T> {
        let (app, secret, body) = (self.app.clone(), self.route.secret, self.body.clone());
        // The dispatcher provides one for every route that has a body.
        let room = self.room.clone().ok_or_else(Error::internal)?;
        let read = move || {
            let reading = JsonBodyReader::of(&app.config.limits, required, &room);
            read(JsonBodyReader { secret, ..reading }, &body)
        };
        offload::offload_if_large(self.body.len(), read).await?
    }

    fn requires_body(&self) -> bool {
        matches!(self.route.body, BodyRule::Required(..))
    }

    fn content_type(&self) -> Option<&str> {
        self.headers().get("content-type").and_then(|value| value.to_str().ok())
    }

    /// Reports whether the body of a form endpoint is JSON.
    pub(super) fn has_json(&self) -> bool {
        self.content_type().is_some_and(|value| value.trim_start().starts_with("application/json"))
    }

    /// Parses the body of a form endpoint: URL-encoded fields, or the same fields as JSON.
    ///
    /// # Errors
    /// `InvalidBody` with the field at fault, or for a multipart form.
    pub async fn form<T: DeserializeOwned + Send + 'static>(&self) -> Result<T> {
        let content_type = self.content_type();
        if self.has_json() {
            return self.read(true, |reading, body| reading.object(body)).await;
        }
        if let Some(parts) = content_type.filter(|value| value.trim_start().starts_with("multipart/")) {
            let wanted = "`application/x-www-form-urlencoded` or `application/json`";
            return Err(Error::new(Code::InvalidBody, format!("The body must be {wanted}, but is `{parts}`.")));
        }
        let fields = |reading: JsonBodyReader<'_>, body: &[u8]| {
            let fields: serde_json::Map<String, Value> = form_urlencoded::parse(body)
                .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())))
                .collect();
            reading.any(Value::Object(fields).to_string().as_bytes())
        };
        self.read(true, fields).await
    }

    /// Returns the display options of the query; for an endpoint without any, the defaults of
    /// `DISP(false, …)`.
    pub fn display(&self) -> Display {
        let has_options = self.route.query.iter().any(|param| matches!(param, QueryParam::Display { .. }));
        if has_options { self.query.display() } else { Display::with_defaults(false) }
    }

    /// Returns the display options of the query, overridden by those in the body.
    ///
    /// # Errors
    /// `InvalidParameter`, `InvalidBody`.
    pub async fn display_of_body(&self) -> Result<Display> {
        self.display_over(self.display()).await
    }

    /// Returns the display options of the reply to a creation or change: `showPath` is on unless
    /// the query or the body turns it off. Call it before the change, which must not happen if the
    /// options are invalid.
    ///
    /// # Errors
    /// `InvalidParameter`, `InvalidBody`.
    pub async fn display_of_change(&self) -> Result<Display> {
        let asked = self.display();
        let path = asked.path || !self.query.has("showPath");
        self.display_over(Display { path, ..asked }).await
    }

    /// Returns these display options, overridden by those in the body.
    ///
    /// # Errors
    /// `InvalidParameter`, `InvalidBody`.
    pub async fn display_over(&self, display: Display) -> Result<Display> {
        if self.body.is_empty() {
            return Ok(display);
        }
        let (app, required, body) = (self.app.clone(), self.requires_body(), self.body.clone());
        let read = move || {
            display.with(JsonBodyReader::of(&app.config.limits, required, &Reservation::unaccounted()).some(&body)?)
        };
        offload::offload_if_large(self.body.len(), read).await?
    }
}
