//! A call on its way to its handler: the request with all values that have been checked, in named
//! types.

use std::net::IpAddr;
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::HeaderMap;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use smallvec::SmallVec;
use stet_auth::{LiveSession, Privilege, Rights};
use stet_base::limits::offload;
use stet_base::limits::{MemoryPurpose, Reservation, behalf};
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::Precondition;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::receipt::IdempotentCall;
use stet_domain::trace::Trace;
use stet_newsroom::access::{Access, ObjectVisibility};
use stet_newsroom::receipts::Claim;
use stet_newsroom::records::CachedRecord;
use stet_newsroom::records::Display;
use stet_observe::traces;

use super::app::App;
use super::authorise::check_again;
use super::body::{IncomingBody, JsonBodyReader};
use super::compress::is_form_known;
use super::etag::ETag;
use super::identify::{check_origin, key_in_address, token_of};
use super::query::{Query, QueryPairs};
use super::reply::Json;
use super::route::{BodyRule, QueryParam, Route};
use super::router::PathParams;
use super::warnings::{Warning, Warnings};

/// The sources in a path, by the names of their parameters. The inline capacity is enough for every
/// endpoint, so there is no allocation.
pub type PathSources = SmallVec<[(&'static str, ObjectSource); 2]>;

/// A call that has passed all checks, for its handler.
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
    /// The path parameters that are sources.
    pub sources: PathSources,
    /// The caller's session; always present if the route requires a token.
    pub session: Option<Arc<LiveSession>>,
    /// The rights of the session.
    pub rights: Arc<Rights>,
    /// The body, if the route has one that is not a multipart form.
    pub body: Bytes,
    /// The unread body, if it is a multipart form or a content.
    pub(super) incoming: Option<IncomingBody>,
    /// The body's part of the memory budget, held until the call is answered; `None` if the route
    /// has no body.
    pub(super) room: Option<Arc<Reservation>>,
    /// The claim on the call's `Idempotency-Key`.
    pub claim: Option<Arc<Claim>>,
    /// The condition from `If-Match` on the changed object.
    pub(super) expect: Option<Arc<Precondition>>,
    /// The client's address, as reported by trusted proxies.
    pub client: IpAddr,
    /// The request that the call's work and log lines are attributed to.
    pub trace: Trace,
    /// The request's part in a trace of OpenTelemetry, if there is one.
    pub otel: Option<traces::Trace>,
    /// The warnings for the client; see [`Call::warn`].
    pub(super) warnings: Warnings,
}

impl Call {
    /// Returns a call without a session, with these query parameters and nothing else.
    #[cfg(any(test, feature = "testing"))]
    pub fn of_test(app: Arc<App>, route: &'static Route, query: &str) -> Call {
        let pairs = super::query::QueryPairs::of(query);
        Call {
            app,
            route,
            http: actix_web::test::TestRequest::default().to_http_request(),
            query: Query::parse(route, pairs).expect("the parameters are those of the endpoint"),
            params: PathParams::default(),
            sources: PathSources::new(),
            session: None,
            rights: Arc::default(),
            body: Bytes::new(),
            incoming: None,
            room: None,
            claim: None,
            expect: None,
            client: IpAddr::from([127, 0, 0, 1]),
            trace: Trace::none(),
            otel: None,
            warnings: Warnings::default(),
        }
    }

    /// Adds a warning to the reply of a call that is carried out nevertheless.
    pub fn warn(&self, warning: Warning) {
        self.warnings.add(warning);
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
        match self.sources.iter().find(|(known, _)| *known == name) {
            Some((_, source)) => Ok(source.clone()),
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

    /// Returns an empty reservation for memory that the reply needs while it is built.
    pub fn reply_memory(&self) -> Reservation {
        self.app.memory.reservation(behalf(), MemoryPurpose::Replies)
    }

    /// Returns the caller's access to objects.
    pub fn access(&self) -> Access<'_> {
        match &self.session {
            Some(session) => Access::of(&self.app, session, &self.rights),
            None => Access::anonymous(&self.app),
        }
    }

    /// Checks the caller again, who may have lost the session or rights since the call arrived: see
    /// [`check_again`]. After a refusal the call has no rights.
    ///
    /// # Errors
    /// The errors of [`check_again`].
    pub(super) fn look_again(&mut self) -> Result<()> {
        let rights =
            check_again(&self.app, self.route, self.session.as_ref(), &self.query, &self.params, &self.sources);
        self.rights = rights.as_ref().map(Arc::clone).unwrap_or_default();
        rights.map(drop)
    }

    /// Notes that a long call still uses the session, which has just been checked.
    pub(super) fn still_in_use(&self) {
        if let Some(session) = &self.session {
            self.app.sessions.used_still(session);
        }
    }

    /// Returns a check whether the caller may continue to read an object, for replies that take as
    /// long as the client likes. Each run counts as a use of the session. If the object was
    /// removed, the caller may read the rest.
    pub fn may_go_on_reading(&self, object: Loid) -> impl Fn() -> Result<()> + use<> {
        let (app, session) = (self.app.clone(), self.session.clone());
        move || {
            let rights = match &session {
                Some(session) => {
                    app.sessions.check(session)?;
                    app.sessions.used_still(session);
                    session.rights()
                }
                None => Arc::default(),
            };
            let access = match &session {
                Some(session) => Access::of(&app, session, &rights),
                None => Access::anonymous(&app),
            };
            if access.sees_all() {
                return Ok(());
            }
            let record = match app.records.record(&app.repository, object)? {
                Some(record) => Some(record),
                None => app.repository.any_record(object)?,
            };
            record.map_or(Ok(()), |record| access.check(Privilege::Read, &record, &object))
        }
    }

    /// Returns the record of the object that a path parameter names, if the endpoint's privilege
    /// holds for it. The check is repeated because the path may name another object by now.
    ///
    /// # Errors
    /// `InvalidParameter`, `ObjectNotFound`, `PermissionDenied`.
    pub fn resolve(&self, name: &str) -> Result<Arc<CachedRecord>> {
        self.find_for(self.needed_for(name), &self.source(name)?, self.database()?)
    }

    fn needed_for(&self, name: &str) -> Privilege {
        self.route.needs().find(|(known, _)| *known == name).map_or(Privilege::Read, |(_, needed)| needed)
    }

    /// Returns the record as [`Call::resolve`] does, but only the outline of a folder that the
    /// caller may not read but that leads to objects they may: see [`Call::find_seen`].
    ///
    /// # Errors
    /// `InvalidParameter`, `ObjectNotFound`.
    pub fn resolve_seen(&self, name: &str) -> Result<Arc<CachedRecord>> {
        self.find_seen(&self.source(name)?, self.database()?)
    }

    /// Returns the record of the object that a source names, if the caller may read it.
    ///
    /// # Errors
    /// `ObjectNotFound`, `PermissionDenied`, `InvalidPath`, errors of the store.
    pub fn find(&self, source: &ObjectSource, database: DatabaseId) -> Result<Arc<CachedRecord>> {
        self.find_for(Privilege::Read, source, database)
    }

    /// Returns the record of a template or another object of the configuration, if the caller may
    /// read it: see
    /// [`Newsroom::resolve_configured`](stet_newsroom::Newsroom::resolve_configured).
    ///
    /// # Errors
    /// The errors of [`Call::find`].
    pub fn find_configured(&self, source: &ObjectSource, database: DatabaseId) -> Result<Arc<CachedRecord>> {
        let record = self.app.resolve_configured(source, database)?;
        self.access().check(Privilege::Read, &record, source)?;
        Ok(record)
    }

    /// Returns the record of the object that a source names, if the privilege holds for it.
    /// Privileges other than reading are about objects, so a version is refused.
    ///
    /// # Errors
    /// The errors of [`Call::find`]; `InvalidType` for a version.
    pub fn find_for(
        &self,
        privilege: Privilege,
        source: &ObjectSource,
        database: DatabaseId,
    ) -> Result<Arc<CachedRecord>> {
        let record = self.app.resolve(source, database)?;
        self.access().check(privilege, &record, source)?;
        if privilege != Privilege::Read {
            check_whole(source)?;
        }
        Ok(record)
    }

    /// Returns the record of the object that a source names. Of a folder that the caller may not
    /// read, but that leads to readable objects, only the outline is returned. Use it only to show
    /// what is in the record: everything else about an object is found by its loid, which the
    /// outline contains.
    ///
    /// # Errors
    /// `ObjectNotFound`, `InvalidPath`, errors of the store.
    pub fn find_seen(&self, source: &ObjectSource, database: DatabaseId) -> Result<Arc<CachedRecord>> {
        let record = self.app.resolve(source, database)?;
        self.as_seen(record)?.ok_or_else(|| Error::not_found(source))
    }

    /// Returns a record as the caller may see it: in full, as the outline of a folder on the way to
    /// readable objects, or `None` if it is hidden.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn as_seen(&self, record: Arc<CachedRecord>) -> Result<Option<Arc<CachedRecord>>> {
        Ok(match self.access().seen(&record)? {
            ObjectVisibility::Whole => Some(record),
            ObjectVisibility::OnTheWay => Some(Arc::new(record.outline())),
            ObjectVisibility::Nothing => None,
        })
    }

    /// Returns the caller's session.
    ///
    /// # Errors
    /// `InvalidToken` if the route requires no token and the call has none.
    pub fn caller(&self) -> Result<&Arc<LiveSession>> {
        self.session.as_ref().ok_or_else(|| Error::new(Code::InvalidToken, "This call needs a token."))
    }

    /// Returns the caller's identity for requests to the repository.
    ///
    /// # Errors
    /// The errors of [`Call::caller`].
    pub fn who(&self) -> Result<CallerIdentity> {
        let session = self.caller()?;
        Ok(CallerIdentity {
            user: session.user().clone(),
            session: session.id().clone(),
            address: Some(self.address().to_string().as_str().into()),
        })
    }

    /// Refuses the call if it comes from a page of another site and the cookie alone authorises it.
    /// Needed for a GET that changes something, if not all calls of its endpoint do
    /// ([`Route::acts`]).
    ///
    /// # Errors
    /// `OriginRefused`.
    pub fn refuse_foreign_origin(&self) -> Result<()> {
        check_origin(&self.app, &self.http)
    }

    /// Returns the network address of the client.
    pub fn address(&self) -> IpAddr {
        self.client
    }

    /// Returns the receipt that keeps the outcome of this call, if it has an `Idempotency-Key`.
    pub fn once(&self) -> Option<Arc<IdempotentCall>> {
        self.claim.as_ref().and_then(|claim| claim.once())
    }

    /// Returns the kept reply if the call has been answered before. For multipart forms, whose
    /// content only their reader knows. `body` identifies the form's content, whatever its
    /// boundary.
    ///
    /// # Errors
    /// `IdempotencyMismatch`; errors of the store.
    pub async fn answered_before<T>(&self, body: &[&[u8]]) -> Result<Option<Json<T>>> {
        let Some(claim) = &self.claim else { return Ok(None) };
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

/// Refuses a version where an object is to be changed, because versions can't be changed
/// (docs/api/README.md, "Versions").
///
/// # Errors
/// `InvalidType`.
pub fn check_whole(source: &ObjectSource) -> Result<()> {
    match source {
        ObjectSource::Loid(loid) if loid.version != 0 => {
            let message =
                format!("`{loid}` is a version, which can't be changed. Name the object, `{}`.", loid.object());
            Err(Error::new(Code::InvalidType, message).with_source(loid))
        }
        _ => Ok(()),
    }
}
