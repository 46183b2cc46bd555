//! The replies of operations: every possible status, with headers and body.

use serde_json::{Map, Value, json};
use stet_auth::Privilege;
use stet_newsroom::caller::WarningList;

use super::super::error::{FailureBody, FailureEnvelope, Problem};
use super::super::minimal::{self, MinimalReply};
use super::super::route::{QueryParam, ReplyFormat, Route, TokenRule, type_of};
use super::schemas::Schemas;
use super::{ReplyShape, bodies, is_enveloped};

/// Returns the statuses of an operation whose replies have this shape.
fn statuses(route: &'static Route, shape: ReplyShape) -> Vec<u16> {
    // Any operation may fail for an invalid parameter, body or token, a long URL, too many calls, a
    // failing disk, or too much work at once.
    let mut codes = vec![200, 400, 401, 413, 429, 500, 503];
    codes.extend(route.codes.iter().chain(route.further));
    let mut also = |holds: bool, more: &[u16]| {
        if holds {
            codes.extend(more);
        }
    };
    also(route.headers.contains(&"Range"), &[206, 416]);
    also(route.is_dated(), &[412]);
    also(route.is_conditional(shape.container), &[304]);
    // On the older surface a missing privilege is a 401 (docs/api/README.md, "Codes"), but a write,
    // login or logout from a foreign page is not. Below `/v3` every caller may lack a right. An
    // endpoint without a privilege may still be closed to keys, if it manages sessions.
    let by_cookie = !route.is_read() && matches!(route.token, TokenRule::Required | TokenRule::NotListed);
    also(by_cookie || route.cookie || is_enveloped(route) && route.token != TokenRule::Login, &[403]);
    also(names_something(route), &[404]);
    let changes = !route.is_read() && !matches!(route.privilege, None | Some(Privilege::Read));
    also(changes, &[409]);
    // A login writes a session, and a logout removes it.
    also(
        !route.only_reads() || route.ends_session || matches!(route.token, TokenRule::Login | TokenRule::InBody),
        &[507],
    );
    also(route.takes_if_match(), &[412]);
    also(route.takes_key(), &[409, 422]);
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Reports whether a call may name an object or a database that does not exist.
fn names_something(route: &Route) -> bool {
    let named = |param: &QueryParam| matches!(param, QueryParam::One { name: "databaseId" | "loid", .. });
    let something = route.query.iter().any(named) || route.is_about_a_database();
    !route.path_params.is_empty() || something || !route.is_read()
}

/// Returns the responses of an operation.
pub fn list(
    route: &'static Route,
    shape: ReplyShape,
    reply: Option<Value>,
    schemas: &mut Schemas,
) -> Map<String, Value> {
    let mut success = success(route, reply, schemas);
    if route.handler().may_be_minimal {
        let minimal = schemas.reply(type_of::<MinimalReply>);
        success[minimal::MEDIA_TYPE] = json!({"schema": envelope(&minimal, schemas)});
    }
    let response = |code: u16| match code {
        200 => json!({"description": description(200), "headers": success_headers(route, shape), "content": success}),
        206 => {
            let mut headers = success_headers(route, shape);
            headers.insert("Content-Range".to_owned(), header("Content-Range"));
            json!({"description": description(206), "headers": headers, "content": success})
        }
        304 => json!({"$ref": "#/components/responses/NotModified"}),
        code => {
            let surface = if is_enveloped(route) { "Failure" } else { "OlderFailure" };
            debug_assert!(FAILURES.contains(&code), "{code} is not listed");
            json!({"$ref": format!("#/components/responses/{surface}-{code}")})
        }
    };
    statuses(route, shape).into_iter().map(|code| (code.to_string(), response(code))).collect()
}

fn success_headers(route: &'static Route, shape: ReplyShape) -> Map<String, Value> {
    let mut headers = vec!["X-Request-Id"];
    if route.is_conditional(shape.container) || (!route.is_read() && shape.state) {
        headers.push("ETag");
    }
    if route.takes_key() {
        headers.push("Idempotency-Replayed");
    }
    headers.push("Preference-Applied");
    if route.headers.contains(&"Range") {
        headers.push("Accept-Ranges");
    }
    if route.headers.contains(&"Range") || route.produces == ReplyFormat::Export {
        headers.push("Content-Disposition");
    }
    if route.is_dated() {
        headers.push("Last-Modified");
    }
    headers.into_iter().map(|name| (name.to_owned(), header(name))).collect()
}

fn success(route: &Route, reply: Option<Value>, schemas: &mut Schemas) -> Value {
    let kind = match route.produces {
        ReplyFormat::Json | ReplyFormat::Any => {
            let result = reply.unwrap_or_else(|| json!({}));
            let schema = if is_enveloped(route) { envelope(&result, schemas) } else { result };
            return json!({"application/json": {"schema": schema}});
        }
        ReplyFormat::Xml => "application/xml;charset=utf-8",
        ReplyFormat::Text => "text/plain",
        ReplyFormat::Events => "text/event-stream",
        ReplyFormat::Export => {
            let text = json!({"schema": {"type": "string"}});
            return json!({"text/calendar": text, "text/csv": text});
        }
        // The object's own bytes and type, of which a schema can't say more, because they may be
        // JSON. Generators look for a known type, so that is listed first.
        ReplyFormat::Stream => {
            return json!({"application/octet-stream": {"schema": bodies::bytes()}, "*/*": {"schema": {}}});
        }
    };
    json!({kind: {"schema": {"type": "string"}}})
}

fn envelope(result: &Value, schemas: &mut Schemas) -> Value {
    let warnings = schemas.reply(type_of::<WarningList>);
    json!({
        "type": "object",
        "properties": {"status": {"type": "string", "const": "success"}, "result": result, "warnings": warnings},
        "required": ["status", "result"],
    })
}

/// The statuses of failures.
const FAILURES: [u16; 13] = [400, 401, 403, 404, 409, 412, 413, 416, 422, 429, 500, 503, 507];

/// Returns the failure responses, one for each status and surface.
pub fn failures(schemas: &mut Schemas) -> Map<String, Value> {
    let problem = schemas.reply(type_of::<Problem<'static>>);
    let surfaces = [
        ("Failure", schemas.reply(type_of::<FailureEnvelope<'static>>)),
        ("OlderFailure", schemas.reply(type_of::<FailureBody<'static>>)),
    ];
    let mut responses = Map::new();
    for (surface, schema) in surfaces {
        let content = json!({"application/json": {"schema": schema}, "application/problem+json": {"schema": problem}});
        for code in FAILURES {
            let mut headers = Map::from_iter([("X-Request-Id".to_owned(), header("X-Request-Id"))]);
            let more = match code {
                401 => Some("WWW-Authenticate"),
                416 => Some("Content-Range"),
                429 | 503 => Some("Retry-After"),
                _ => None,
            };
            headers.extend(more.map(|name| (name.to_owned(), header(name))));
            let response = json!({"description": description(code), "headers": headers, "content": content});
            responses.insert(format!("{surface}-{code}"), response);
        }
    }
    let headers = json!({"ETag": header("ETag"), "X-Request-Id": header("X-Request-Id")});
    responses.insert("NotModified".to_owned(), json!({"description": description(304), "headers": headers}));
    responses
}

/// The documented response headers.
const HEADERS: [(&str, &str, &str); 10] = [
    ("Accept-Ranges", "string", "`bytes`: `Range` is supported."),
    ("Content-Disposition", "string", "The name under which to save the content."),
    ("Content-Range", "string", "The range of the bytes in the reply, and the total size (RFC 9110)."),
    ("ETag", "string", "Revision, object and representation, for `If-None-Match`, and for `If-Match` of a change."),
    ("Idempotency-Replayed", "string", "`true`: the call was carried out before, and this is its stored reply."),
    ("Last-Modified", "string", "The time at which the content was written, if it is sent as stored."),
    ("Preference-Applied", "string", "The preferences in `Prefer` that were followed."),
    ("Retry-After", "integer", "Seconds to wait before a retry."),
    ("WWW-Authenticate", "string", "The required authentication: a bearer token."),
    ("X-Request-Id", "string", "The id of the request, as in the log."),
];

/// Returns the response headers, which operations refer to.
pub fn headers() -> Map<String, Value> {
    let made = HEADERS
        .iter()
        .map(|(name, kind, about)| ((*name).to_owned(), json!({"description": about, "schema": {"type": kind}})));
    made.collect()
}

fn header(name: &str) -> Value {
    debug_assert!(HEADERS.iter().any(|(known, ..)| *known == name), "{name} is not listed");
    json!({"$ref": format!("#/components/headers/{name}")})
}

fn description(code: u16) -> &'static str {
    match code {
        200 => "The call succeeded.",
        206 => "The requested part of the content.",
        304 => "The client's copy is current.",
        400 => "A parameter or the body is not valid.",
        401 => "Not authorized: the token is missing, unknown or expired, or the login failed.",
        403 => "Forbidden: a privilege is missing, the object is locked, or a cookie was sent from another site.",
        404 => "Something that the call names does not exist.",
        409 => "A name is taken, a drawer is full, an object does not fit, or the same call is still running.",
        412 => {
            "`If-Match` has no current ETag of the object, or the object does not exist, or the content was modified \
             after `If-Unmodified-Since`."
        }
        413 => "The body or the URL is larger than allowed.",
        416 => "The range contains no byte of the content.",
        422 => "The `Idempotency-Key` was used for another call.",
        429 => "The caller sends too many calls.",
        500 => "The repository failed.",
        503 => "The server is overloaded. Try again later.",
        507 => "The disk of the repository is full: nothing was changed.",
        _ => "See the status code.",
    }
}
