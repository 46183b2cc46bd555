//! From an HTTP request to an endpoint and back: the steps that all endpoints share.
//!
//! CORS preflights and probes are answered first. Each other call is checked in this order:
//!
//! 1. its place in the connection: a change that was sent ahead of a reply is refused
//! 2. the length of the URL
//! 3. the route
//! 4. the token, and the origin of the page if only a cookie authorises the call
//! 5. the quota of calls
//! 6. the privilege that the route requires
//! 7. `If-Match`, `If-None-Match`, and the headers of a body
//! 8. the `Idempotency-Key`, which is claimed for this call
//! 9. the query, the database in it, and the path parameters
//! 10. the objects in the path
//! 11. the body. After it has arrived, the caller and the objects are checked again. The handler
//!     reads a body that arrives in pieces.
//! 12. whether the call is a retry: then the reply is a stored one, or path sources are resolved to
//!     the objects of the first attempt. A call with a key is refused for its objects only here.
//! 13. unknown names in query and body, which are reported or refused
//!
//! Then the handler runs. The reply gets warnings, is stored under the `Idempotency-Key`, becomes a
//! 304 if the client has it already, and is compressed. A call that fails in the steps 1 to 4
//! counts against the quota of its address.

use std::cell::Cell;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use actix_web::http::header::{self, HeaderMap};
use actix_web::web::{Data, Payload};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::FutureExt;
use stet_auth::LiveSession;
use stet_base::limits::offload;
use stet_base::limits::{
    CallTask, Holder, MemoryPurpose, QuotaBalance, SharedReservation, begin_call, counted_as, on_behalf_of,
};
use stet_config::Config;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::Precondition;
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::trace::{RequestOrigin, Trace};
use stet_newsroom::caller::{BeginSpan, CallContext, Caller, NamedObject, NamedObjects, Warnings};
use stet_newsroom::receipts::Claim;
use stet_observe::traces::{self, ClientTrace, TracedResponse};

use super::app::App;
use super::boundary::check_form_type;
use super::call::Call;
use super::compress::Compression;
use super::connection::Connection;
use super::error::ApiSurface;
use super::identify::{identify, key_in_address};
use super::meters::{NO_ENDPOINT, TimedBody, TimedCall};
use super::pieces::{self, ReplyAccounting};
use super::pipeline::PipelineSlot;
use super::probe::Probe;
use super::query::{Query, QueryPairs};
use super::render::{finish, render, render_error};
use super::reply::{Reply, ReplyBody};
use super::route::{BodyRule, CallEffect, ParameterKind, Route, Verb};
use super::router::{PathParams, RouteHint, RouteMatch};
use super::{body, body_headers, calls, client, cors, etag, idempotency, pace, prefer};

/// Answers a request of any kind.
pub async fn dispatch(http: HttpRequest, payload: Payload, app: Data<App>) -> HttpResponse {
    let (connection, turn) = {
        let extensions = http.extensions();
        (extensions.get::<Rc<Connection>>().cloned(), extensions.get::<Rc<PipelineSlot>>().cloned())
    };
    if let Some(turn) = &turn
        && turn.is_behind_the_last()
    {
        return turn.silence().await;
    }
    let call = match connection {
        Some(connection) => Some(connection.call().await),
        None => None,
    };
    let reply = reply(http, payload, app).await;
    let reply = match &turn {
        Some(turn) => turn.end(reply).await,
        None => reply,
    };
    match call {
        Some(call) => call.until_sent(reply),
        None => reply,
    }
}

async fn reply(http: HttpRequest, payload: Payload, app: Data<App>) -> HttpResponse {
    let app = app.into_inner();
    let started = Instant::now();
    let request_id = app.next_request_id();
    let path = http.uri().path();
    let task = CallTask::new(&app.time_slices);
    if let Some(response) = answer_aside(&app, &http, &task).await {
        return finish(&app, &http, response, request_id);
    }
    let path = below_base(&app.config, path);
    let surface = ApiSurface::of(path);
    let span = tracing::debug_span!("request", id = %request_id, method = %http.method(), path);
    let client = client::client_address(&http, &app.proxies);
    let trace = Trace::of(RequestOrigin { request: request_id, client }, span);
    let otel = app.traces.as_ref().map(|traces| traces.begin(&client_trace(&http), SystemTime::now()));
    let mut facts = CallFacts { otel: otel.clone(), ..CallFacts::default() };
    let route = facts.route.clone();
    let endpoint = || route.get().map_or(NO_ENDPOINT, |route| route.id);
    let answering = trace.follow(answer(&app, &http, path, payload, (client, &trace), &mut facts));
    let outcome = TimedCall::new(&task, pin!(answering), endpoint).await;
    // The reply may be built from rows, while the next call reads views. Both must agree.
    app.repository.views_agree().await;
    let CallFacts { route: found, claim, call_quota, holder, otel: _, warnings } = facts;
    let found = found.get();
    let is_strict = found.is_some() && prefer::prefers_strict(http.headers());
    let mut response = match outcome {
        Ok(reply) => {
            let unknown = UnknownNames { warnings: &warnings, is_strict };
            deliver(&app, reply, found, surface, &http, unknown, (claim.as_deref(), holder))
        }
        Err(error) => Err(error),
    }
    .unwrap_or_else(|error| {
        let mut response = render_error(&app, &warnings.within(error), surface, &http, request_id);
        if is_strict {
            prefer::note_strict(response.headers_mut());
        }
        response
    });
    if let Some(call_quota) = call_quota {
        calls::report(&call_quota, response.headers_mut());
    }
    let response = finish(&app, &http, response, request_id);
    let status = response.status();
    let took = started.elapsed();
    let endpoint = found.map_or(NO_ENDPOINT, |route| route.id);
    app.meters.record(endpoint, status, took);
    let response = response.map_body(|_, body| TimedBody::of(task, endpoint, body));
    if let Some(otel) = otel {
        let (route, id) = (found.map(|route| route.path), request_id.to_string());
        otel.answered(&TracedResponse {
            endpoint,
            route,
            method: http.method().as_str(),
            path,
            status: status.as_u16(),
            id: &id,
        });
    }
    trace.in_scope(|| {
        let took_us = took.as_micros() as u64;
        if status.is_server_error() {
            tracing::warn!(endpoint, status = status.as_u16(), took_us, "answered");
        } else {
            tracing::debug!(endpoint, status = status.as_u16(), took_us, "answered");
        }
    });
    response
}

/// Answers a CORS preflight, a probe or a reader without a token; returns `None` for any other
/// request.
async fn answer_aside(app: &Arc<App>, http: &HttpRequest, task: &CallTask) -> Option<HttpResponse> {
    let probe = Probe::at(&app.config, http.uri().path());
    let response = match (cors::preflight(app, http), probe) {
        (Some(preflight), _) => preflight,
        (None, Some(probe)) => TimedCall::new(task, pin!(probe.answer(app, http)), || NO_ENDPOINT).await,
        (None, None) => return answer_reader(app, http, task).await,
    };
    // These replies are the same for all clients and always in memory.
    let response = pieces::in_pieces(response, 0, &ReplyAccounting::Not).expect("what is not counted is not refused");
    if matches!(probe, Some(Probe::Console(_))) {
        // Its files were compressed when the binary was built.
        return Some(response);
    }
    let compression =
        Compression { from: app.config.server.compress_bytes, secret: false, memory: &app.memory, holder: None };
    Some(compression.of(response, http))
}

/// Answers a request for a page for readers without a token.
async fn answer_reader(app: &Arc<App>, http: &HttpRequest, task: &CallTask) -> Option<HttpResponse> {
    let answer = AssertUnwindSafe((app.readers)(app, http)?).catch_unwind();
    Some(TimedCall::new(task, pin!(answer), || NO_ENDPOINT).await.unwrap_or_else(|_| {
        tracing::error!("a public page panicked");
        HttpResponse::InternalServerError().finish()
    }))
}

/// Returns the client's trace that a request is part of.
fn client_trace(http: &HttpRequest) -> ClientTrace<'_> {
    let text = |name: &'static str| http.headers().get(name)?.to_str().ok();
    ClientTrace { parent: text("traceparent"), state: text("tracestate") }
}

/// The path of the endpoint that also answers at `compat.login_path`.
const OLDER_LOGIN: &str = "/login";

/// Returns the part of a request's path below the base path. A path outside of it gives an empty
/// text, which no endpoint has.
fn below_base<'p>(config: &Config, path: &'p str) -> &'p str {
    let (base, login) = (config.server.base_path.as_str(), config.compat.login_path.as_str());
    match base {
        _ if path == login && !login.is_empty() => OLDER_LOGIN,
        "" => path,
        _ => path.strip_prefix(base).filter(|rest| rest.starts_with('/')).unwrap_or(""),
    }
}

/// The treatment of names that a call does not know.
struct UnknownNames<'w> {
    warnings: &'w Warnings,
    /// Whether the client wants calls with unknown names to be refused.
    is_strict: bool,
}

/// Builds the response of a successful call. It is kept if the call may be repeated, becomes a 304
/// if the client has it, and is compressed if the client accepts that.
///
/// # Errors
/// `Overloaded` if too many replies to reads wait for their clients.
fn deliver(
    app: &App,
    reply: Reply,
    route: Option<&'static Route>,
    surface: ApiSurface,
    http: &HttpRequest,
    unknown: UnknownNames<'_>,
    (claim, holder): (Option<&Claim>, Option<Holder>),
) -> Result<HttpResponse> {
    let UnknownNames { warnings, is_strict } = unknown;
    // With warnings the text is this client's alone, although it shares bytes with that of others.
    let share = if warnings.is_empty() { reply.share() } else { SharedReservation::default() };
    let (held, is_repeated) = (reply.held(), matches!(reply.content, ReplyBody::Kept(_)));
    let (mut response, client_has_it) = render(reply, route, warnings, surface, http);
    // A repeated reply noted this when it was first sent.
    let notes_strict = is_strict && !is_repeated;
    if notes_strict {
        prefer::note_strict(response.headers_mut());
    }
    let response = match claim {
        Some(claim) => idempotency::keep(&app.receipts, claim, response),
        None => response,
    };
    // A reply to a key in the address may contain links with the key.
    let pairs = QueryPairs::of(http.query_string());
    let secret = route.is_some_and(|route| route.secret || key_in_address(route, &pairs).is_some());
    let from = app.config.server.compress_bytes;
    let compression = Compression { from, secret, memory: &app.memory, holder: holder.clone() };
    if client_has_it {
        let mut bare = compression.not_modified(&response, http);
        if notes_strict {
            prefer::note_strict(bare.headers_mut());
        }
        return Ok(bare);
    }
    let may_fail = route.is_some_and(Route::only_reads);
    let counted = ReplyAccounting::Against { memory: &app.memory, holder, share, may_fail };
    Ok(compression.of(pieces::in_pieces(response, held, &counted)?, http))
}

/// The facts about a call that are known when it is answered or refused.
#[derive(Default)]
struct CallFacts {
    /// Shared, because it is read while the answer is still being built.
    route: Rc<Cell<Option<&'static Route>>>,
    claim: Option<Arc<Claim>>,
    /// The state of the caller's call quota.
    call_quota: Option<QuotaBalance>,
    /// The user or address that a large reply is charged to.
    holder: Option<Holder>,
    /// The call's part in a trace of OpenTelemetry.
    otel: Option<traces::Trace>,
    /// The warnings for the client.
    warnings: Warnings,
}

/// Finds the endpoint of a request and the session of its caller, the steps 1 to 4. The endpoint is
/// stored in `found` as soon as it is known.
///
/// # Errors
/// The errors of these steps.
fn identify_call<'p>(
    app: &App,
    http: &HttpRequest,
    path: &'p str,
    found: &Cell<Option<&'static Route>>,
) -> Result<(&'static Route, PathParams<'p>, Option<Arc<LiveSession>>)> {
    if let Some(turn) = http.extensions().get::<Rc<PipelineSlot>>() {
        turn.check()?;
    }
    let limit = app.config.limits.url_bytes;
    if http.uri().path_and_query().is_some_and(|whole| whole.as_str().len() > limit) {
        return Err(body::too_large("The URL", limit as u64));
    }
    let (route, params) = find(app, http, path)?;
    found.set(Some(route));
    let session = identify(app, route, http, &QueryPairs::of(http.query_string()))?;
    Ok((route, params, session))
}

/// Answers a request of an endpoint: all steps of the head of this file.
async fn answer(
    app: &Arc<App>,
    http: &HttpRequest,
    path: &str,
    payload: Payload,
    (client, trace): (IpAddr, &Trace),
    facts: &mut CallFacts,
) -> Result<Reply> {
    let known = identify_call(app, http, path, &facts.route);
    // A call that fails before its caller is known counts for its address.
    let (route, params, session) = known.map_err(|error| count_failure(app, client, error, &mut facts.call_quota))?;
    count(app, client, session.as_deref(), &mut facts.call_quota)?;
    let holder = match &session {
        Some(session) => Holder::User(session.user().clone()),
        None => Holder::Address(counted_as(client)),
    };
    on_behalf_of(holder.clone());
    begin_call().await;
    facts.holder = Some(holder.clone());
    let context = CallContext {
        address: Some(client),
        trace: trace.clone(),
        spans: facts.otel.clone().map(begin_spans),
        warnings: facts.warnings.clone(),
    };
    let mut caller = Caller::new(app.newsroom.clone(), session.into(), context)?;
    caller.admit(route.admission(), || route.subject(&params))?;
    caller.set_expectation(expectation_of(route, http.headers())?);
    if !matches!(route.body, BodyRule::None) {
        body_headers::check(http.headers())?;
    }
    let pairs = QueryPairs::of(http.query_string());
    facts.claim = idempotency::claim(&caller, route, path, &pairs, http.headers())?;
    caller.set_claim(facts.claim.clone());
    let query = Query::parse(route, pairs)?;
    let database = database_of(app, route, &query)?;
    caller.name_objects(named_objects(route, &params)?, database);
    let checked = PathObjectCheck::of(caller.check_objects(), facts.claim.as_ref())?;
    let unread = (!matches!(route.body, BodyRule::None)).then(|| {
        let room = Arc::new(app.memory.reservation(Some(holder), MemoryPurpose::Bodies));
        body::IncomingBody { payload, room }
    });
    let mut call = Call {
        app: app.clone(),
        route,
        http: http.clone(),
        query,
        params: params.into_owned(),
        client,
        body: Bytes::new(),
        room: unread.as_ref().map(|unread| unread.room.clone()),
        incoming: unread,
        caller,
    };
    let checked = receive_body(&mut call, checked).await?;
    if let Some(kept) = replay_or_recall(&mut call, checked).await? {
        return Ok(kept);
    }
    call.check_names().await?;
    // A panic would close the connection and the other connections of its thread.
    AssertUnwindSafe((route.handler().answer)(call)).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(endpoint = route.id, "a handler panicked");
        Err(Error::internal())
    })
}

/// The result of checking the objects in the path.
enum PathObjectCheck {
    /// The caller may do this to all of them.
    Well,
    /// An object is missing for the caller, or not theirs to change. The call itself may be the
    /// reason, if an earlier attempt moved the object. That is known once the call has been
    /// identified; otherwise this error is the answer.
    NotThere(Error),
}

impl PathObjectCheck {
    /// Converts the outcome of the check; an error that the call itself may have caused is kept for
    /// later.
    ///
    /// # Errors
    /// Errors that an earlier attempt of the call can't have caused; all errors of a call without a
    /// key.
    fn of(checked: Result<()>, claim: Option<&Arc<Claim>>) -> Result<PathObjectCheck> {
        match checked {
            Ok(()) => Ok(PathObjectCheck::Well),
            Err(error) if claim.is_some() && matches!(error.code, Code::ObjectNotFound | Code::PermissionDenied) => {
                Ok(PathObjectCheck::NotThere(error))
            }
            Err(error) => Err(error),
        }
    }
}

/// Receives the body of a call, unless its handler does. Afterwards the caller is checked again,
/// because a body may take any time. `checked` is the result of the first check.
async fn receive_body(call: &mut Call, checked: PathObjectCheck) -> Result<PathObjectCheck> {
    let limits = &call.app.config.limits;
    let Some(most) = call.route.body.most(limits) else {
        if matches!(call.route.body, BodyRule::Multipart { .. }) {
            check_form_type(call.headers())?;
        }
        return Ok(checked);
    };
    let Some(incoming) = call.incoming.take() else { return Ok(checked) };
    let announced = call.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    call.body = pace::within(limits.body_seconds, body::read(incoming, announced, most)).await?;
    call.caller.renew()?;
    PathObjectCheck::of(call.check_objects(), call.claim())
}

/// Returns the kept reply of a call that was answered before. Otherwise, on a retry, the paths of
/// the call name the objects of the first attempt from now on.
///
/// # Errors
/// The error that was postponed in `checked`, unless it is no longer one; `IdempotencyMismatch`;
/// errors of the store.
async fn replay_or_recall(call: &mut Call, checked: PathObjectCheck) -> Result<Option<Reply>> {
    let is_well = matches!(checked, PathObjectCheck::Well);
    if let Some(claim) = call.claim().cloned()
        && call.incoming.is_none()
        // If the caller's rights have changed while the body arrived, the kept reply might show
        // what they may no longer see.
        && (is_well || claim.is_with(call.rights()))
    {
        let (hashed, body) = (claim.clone(), call.body.clone());
        let fingerprint = offload::offload_if_large(body.len(), move || hashed.fingerprint(&[&body])).await?;
        if let Some(kept) = call.app.receipts.identify(&claim, fingerprint).await? {
            return Ok(Some(Reply::kept(kept)));
        }
        if recall(call, &claim)? {
            call.check_objects()?;
            return Ok(None);
        }
    }
    match checked {
        PathObjectCheck::Well => Ok(None),
        PathObjectCheck::NotThere(error) => Err(error),
    }
}

/// Resolves path sources, on a retry, to the objects they named in the first attempt. Returns
/// whether this is a retry. Otherwise it notes the objects that the paths name now.
fn recall(call: &mut Call, claim: &Claim) -> Result<bool> {
    let Some(once) = claim.once() else { return Ok(false) };
    let before = once.names();
    for (object, named) in call.caller.objects_mut().iter_mut().zip(before.unwrap_or_default()) {
        if let Some(loid) = named {
            object.source = ObjectSource::Loid(*loid);
        }
    }
    if call.objects().iter().any(|object| matches!(object.source, ObjectSource::Path(_))) {
        let database = call.database()?;
        // The handler reports a missing object.
        let named = |source: &ObjectSource| match source {
            ObjectSource::Path(_) => call.app.resolve(source, database).ok().map(|record| record.loid),
            ObjectSource::Loid(_) | ObjectSource::Uuid(_) => None,
        };
        once.means(call.objects().iter().map(|object| named(&object.source)).collect());
    }
    Ok(before.is_some())
}

/// Returns the beginning of spans in a trace, for the changes of a call.
fn begin_spans(trace: traces::Trace) -> BeginSpan {
    Arc::new(move |command| Box::new(trace.step(command)))
}

/// Returns the condition of a call on the object that it changes.
///
/// # Errors
/// Errors of the headers.
fn expectation_of(route: &Route, headers: &HeaderMap) -> Result<Option<Precondition>> {
    if route.effect == CallEffect::MeetsObject {
        return etag::expectation_of_meeting(headers);
    }
    if !route.takes_if_match() {
        return Ok(None);
    }
    etag::refuse_none_match(headers)?;
    Ok(etag::expectation(headers))
}

/// Counts a call against the limit on calls, if there is one, and stores the state of the quota.
fn count(
    app: &App,
    client: IpAddr,
    session: Option<&LiveSession>,
    call_quota: &mut Option<QuotaBalance>,
) -> Result<()> {
    let Some(limit) = &app.call_limit else { return Ok(()) };
    let (outcome, now) = limit.count(session, client, app.repository.clock().steady_ms());
    *call_quota = Some(now);
    outcome
}

/// Counts a call without a session that fails with `error`, and returns the error to answer: that
/// of an exceeded limit takes precedence.
fn count_failure(app: &App, client: IpAddr, error: Error, call_quota: &mut Option<QuotaBalance>) -> Error {
    count(app, client, None, call_quota).err().unwrap_or(error)
}

fn find<'p>(app: &App, http: &HttpRequest, path: &'p str) -> Result<(&'static Route, PathParams<'p>)> {
    let method = http.method();
    // The message has the full path, so that a missing base path is noticed.
    let not_found = || {
        let mut message = format!("There is no endpoint `{}`.", http.uri().path());
        let base = &app.config.server.base_path;
        match Verb::of(method).and_then(|verb| app.router.hint(path, verb)) {
            Some(RouteHint::Slashes(joined)) => {
                message +=
                    &format!(" Slashes of a path within a segment must be written as `%2F`, as in `{base}{joined}`.");
            }
            Some(RouteHint::Misspelt(mended)) => message += &format!(" Did you mean `{base}{mended}`?"),
            None => {}
        }
        Error::new(Code::NoSuchEndpoint, message)
    };
    let not_allowed = |allow: String| {
        let path = match path {
            OLDER_LOGIN => http.uri().path(),
            below_base => below_base,
        };
        Error::new(Code::MethodNotAllowed, format!("`{path}` takes {allow}, not {method}.")).with_detail("allow", allow)
    };
    match Verb::of(method) {
        Some(verb) => match app.router.find(path, verb) {
            RouteMatch::Route(route, params) => Ok((route, params)),
            RouteMatch::Invalid(error) => Err(error),
            RouteMatch::MethodNotAllowed(allow) => Err(not_allowed(allow)),
            RouteMatch::NoEndpoint => Err(not_found()),
        },
        // No endpoint has this method. The reply still lists the methods that fit.
        None => {
            let fitting: Vec<&str> = Verb::ALL
                .into_iter()
                .filter(|verb| matches!(app.router.find(path, *verb), RouteMatch::Route(..)))
                .flat_map(|verb| if verb == Verb::Get { vec!["GET", "HEAD"] } else { vec![verb.name()] })
                .collect();
            Err(if fitting.is_empty() { not_found() } else { not_allowed(fitting.join(", ")) })
        }
    }
}

/// Returns the database in which a call's paths are resolved. It is checked even if no handler
/// needs it: a loid's own database takes precedence, and objects in memory are found without one.
/// Sessions, users, groups and keys belong to the server as a whole.
///
/// # Errors
/// `DatabaseNotFound`.
fn database_of(app: &App, route: &Route, query: &Query) -> Result<DatabaseId> {
    if route.is_about_a_database() { app.database(query.text("databaseId")) } else { Ok(DatabaseId::main()) }
}

/// Checks the values in the path and returns the objects that they name.
fn named_objects(route: &Route, params: &PathParams<'_>) -> Result<NamedObjects> {
    let mut objects = NamedObjects::new();
    for param in route.path_params {
        let value = params.get(param.name).unwrap_or_default();
        match param.kind {
            ParameterKind::Source => {
                let source = ObjectSource::parse(param.name, value)?;
                let needs = route.needs().find(|(name, _)| *name == param.name).map(|(_, needed)| needed);
                objects.push(NamedObject { name: param.name, source, needs });
            }
            ParameterKind::Integer if value.parse::<i64>().is_err() => {
                return Err(Error::parameter(param.name, value, "a whole number"));
            }
            _ => {}
        }
    }
    Ok(objects)
}
