//! The OpenAPI document, made of the table of endpoints: what it says can't differ from what the server does.

#[cfg(test)]
mod tests;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use stet_actors::error::Code;

use super::query::{Parameter, parameters};
use super::route::{Body, Group, Kind, Produces, Route, Token, TypeOf};

/// Where a session's token may stand, in the order in which it is looked for (decisions 1, Token).
const TOKEN_SCHEMES: [&str; 4] = ["queryToken", "headerToken", "bearerToken", "cookieToken"];

/// Statuses that every endpoint may give.
const EVERYWHERE: [u16; 4] = [400, 413, 500, 503];

/// The document for these endpoints, mounted under a base path. The same table gives the same text.
pub fn document(groups: &'static [Group], base_path: &str) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();

    let mut paths = Map::new();
    let mut used = Vec::new();
    for route in groups.iter().flat_map(Group::routes) {
        let operation = operation(groups, route, &mut generator);
        used.push(tag(groups, route));
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.name().to_ascii_lowercase()] = operation;
    }
    let tags: Vec<_> = groups
        .iter()
        .filter(|group| used.contains(&group.name))
        .map(|group| json!({"name": group.name, "description": group.about}))
        .collect();

    let mut schemas = generator.take_definitions(true);
    for (name, schema) in own_schemas() {
        let taken = schemas.insert(name, schema);
        debug_assert!(taken.is_none(), "a type has the name of one of the failures' schemas");
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "stet",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Content repository of a newsroom. Everywhere `limit`, `offset`, `sortBy` and `databaseId` \
                are taken, parameter names match without regard to case, and unknown parameters are ignored. HEAD is \
                answered wherever GET is.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": if base_path.is_empty() { "/" } else { base_path }}],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": failures(),
            "securitySchemes": {
                "queryToken": {"type": "apiKey", "in": "query", "name": "token"},
                "headerToken": {"type": "apiKey", "in": "header", "name": "token"},
                "bearerToken": {"type": "http", "scheme": "bearer"},
                "cookieToken": {"type": "apiKey", "in": "cookie", "name": "MRS_CONNECTION_TOKEN"},
            },
        },
    })
}

fn tag(groups: &'static [Group], route: &Route) -> &'static str {
    let group = groups.iter().find(|group| group.routes().any(|member| member.id == route.id));
    group.map_or("other", |group| group.name)
}

/// Whether the endpoint answers in the envelope.
fn enveloped(route: &Route) -> bool {
    route.path.starts_with("/v3/")
}

fn operation(groups: &'static [Group], route: &'static Route, generator: &mut SchemaGenerator) -> Value {
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "tags": [tag(groups, route)],
        "parameters": parameter_list(route),
    });
    if let Some(body) = request_body(route.body, generator) {
        operation["requestBody"] = body;
    }
    operation["responses"] = responses(route, generator);
    operation["security"] = security(route.token);
    operation["x-stet-privilege"] = json!(route.privilege);
    operation["x-stet-scope"] = json!(route.privilege.map(|_| route.scope()));
    operation["x-stet-source"] = json!(route.source);
    operation["x-stet-implemented"] = json!(route.handler.is_some());
    operation
}

fn security(token: Token) -> Value {
    let one_of = TOKEN_SCHEMES.iter().map(|scheme| json!({*scheme: []}));
    match token {
        Token::Required => one_of.collect(),
        // The empty requirement stands for a call without a token.
        Token::NotListed => one_of.chain([json!({})]).collect(),
        Token::InBody | Token::Login => json!([]),
    }
}

fn parameter_list(route: &'static Route) -> Vec<Value> {
    let path = route.path_params.iter().map(|param| {
        let about = match param.kind {
            Kind::Source => format!("{}: a loid, a uuid, or a path with its slashes as %2F", param.about),
            _ => param.about.to_owned(),
        };
        json!({
            "name": param.name,
            "in": "path",
            "required": true,
            "description": sentence(&about),
            "schema": kind_schema(param.kind, None),
        })
    });
    let query = parameters(route).map(|Parameter { name, kind, required, default, about }| {
        let mut parameter = json!({"name": name, "in": "query"});
        if required {
            parameter["required"] = json!(true);
        }
        if !about.is_empty() {
            parameter["description"] = json!(about);
        }
        parameter["schema"] = kind_schema(kind, default);
        parameter
    });
    let headers = route.headers.iter().map(|name| {
        let about = match *name {
            "Range" => "A part of the content, bytes counted from 0 (RFC 9110).",
            "If-Range" => "ETag or time of the content that the client has a part of; of another one it is sent all.",
            _ => "A header with a meaning of its own here.",
        };
        json!({"name": name, "in": "header", "description": about, "schema": {"type": "string"}})
    });
    let once = route.takes_key().then(|| {
        json!({"name": "Idempotency-Key", "in": "header",
            "description": "Names the call, so that it is carried out once however often it is sent.",
            "schema": {"type": "string", "maxLength": 255, "pattern": "^[!-~]+$"}})
    });
    path.chain(query).chain(headers).chain(once).collect()
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

fn kind_schema(kind: Kind, default: Option<&str>) -> Value {
    let mut schema = match kind {
        Kind::Text | Kind::Source => json!({"type": "string"}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Integer => json!({"type": "integer", "format": "int64"}),
        Kind::TextList => json!({"type": "array", "items": {"type": "string"}}),
    };
    if let Some(default) = default {
        schema["default"] = match kind {
            // A boolean or a number reads as itself in JSON; the table's tests see to it that it is one.
            Kind::Boolean | Kind::Integer => serde_json::from_str(default).unwrap_or_default(),
            Kind::Text | Kind::Source | Kind::TextList => json!(default),
        };
    }
    schema
}

fn request_body(body: Body, generator: &mut SchemaGenerator) -> Option<Value> {
    let mut content = |kind: &str, required: bool, type_of: TypeOf| json!({"required": required, "content": {kind: {"schema": type_of(generator)}}});
    match body {
        Body::None => None,
        Body::Optional(type_of) => Some(content("application/json", false, type_of)),
        Body::Required(type_of) => Some(content("application/json", true, type_of)),
        Body::Bytes => Some(json!({"required": false, "content": {"*/*": {}}})),
        Body::Form(type_of) => {
            let mut both = content("application/x-www-form-urlencoded", true, type_of);
            both["content"]["application/json"] = both["content"]["application/x-www-form-urlencoded"].clone();
            Some(both)
        }
        Body::Multipart(type_of, files) => Some(multipart(type_of(generator).to_value(), files)),
    }
}

/// A form with `options` and file parts: the first kind of file part must be there, once; the others may come any
/// number of times.
fn multipart(options: Value, files: &[&str]) -> Value {
    let mut properties = json!({"options": options});
    let mut encoding = json!({"options": {"contentType": "application/json"}});
    for (index, name) in files.iter().enumerate() {
        // OpenAPI 3.1 describes a part of any bytes by the empty schema.
        properties[*name] = if index == 0 { json!({}) } else { json!({"type": "array", "items": {}}) };
        encoding[*name] = json!({"contentType": "*/*"});
    }
    let schema =
        json!({"type": "object", "properties": properties, "required": files.first().into_iter().collect::<Vec<_>>()});
    json!({"required": true, "content": {"multipart/form-data": {"schema": schema, "encoding": encoding}}})
}

/// The documented codes, and those that decisions 1 adds to them; `default` stands for the failures that come of
/// what a call meets: a foreign `If-Match`, a name taken, a full disk.
fn responses(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut codes: Vec<u16> = route.codes.iter().copied().chain(EVERYWHERE).chain([200]).collect();
    if route.token != Token::Login {
        codes.push(401);
    }
    // On the older surface a missing privilege is a 401 (interface 7.2).
    if route.privilege.is_some() && enveloped(route) {
        codes.push(403);
    }
    if route.produces == Produces::Stream {
        codes.extend([206, 304, 404, 416]);
    }
    if route.handler.is_none() {
        codes.push(501);
    }
    codes.sort_unstable();
    codes.dedup();
    let mut responses = Map::new();
    for code in codes {
        let response = match code {
            200 | 206 => json!({"description": status_text(code), "content": success(route, generator)}),
            304 => json!({"description": status_text(code)}),
            _ => failure_reference(route, &code.to_string()),
        };
        responses.insert(code.to_string(), response);
    }
    responses.insert("default".to_owned(), failure_reference(route, "default"));
    Value::Object(responses)
}

/// The statuses of failures that endpoints name.
const FAILURES: [u16; 9] = [400, 401, 403, 404, 413, 416, 500, 501, 503];

fn failure_reference(route: &Route, code: &str) -> Value {
    debug_assert!(code == "default" || FAILURES.iter().any(|known| known.to_string() == code), "{code} is not listed");
    let surface = if enveloped(route) { "Failure" } else { "OlderFailure" };
    json!({"$ref": format!("#/components/responses/{surface}-{code}")})
}

/// What failures look like, once for each status and surface.
fn failures() -> Map<String, Value> {
    let older =
        json!({"application/json": {"schema": {"$ref": "#/components/schemas/OlderFailure"}}, PROBLEM: problem()});
    let v3 = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}, PROBLEM: problem()});
    let mut responses = Map::new();
    for (surface, content) in [("Failure", v3), ("OlderFailure", older)] {
        for code in FAILURES {
            let response = json!({"description": status_text(code), "content": content});
            responses.insert(format!("{surface}-{code}"), response);
        }
        let other = json!({"description": "Any other failure.", "content": content});
        responses.insert(format!("{surface}-default"), other);
    }
    responses
}

const PROBLEM: &str = "application/problem+json";

fn problem() -> Value {
    json!({"schema": {"$ref": "#/components/schemas/Problem"}})
}

fn success(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let kind = match route.produces {
        Produces::Json | Produces::Any => {
            let reply = route.handler.and_then(|handler| handler.reply);
            let result = reply.map_or_else(|| json!({}), |type_of| type_of(generator).to_value());
            let schema = if enveloped(route) { envelope("success", &result) } else { result };
            return json!({"application/json": {"schema": schema}});
        }
        Produces::Xml => "application/xml;charset=utf-8",
        Produces::Text => "text/plain",
        Produces::Events => "text/event-stream",
        // Its own bytes under its own type: no schema can say more.
        Produces::Stream => return json!({"*/*": {}}),
    };
    json!({kind: {"schema": {"type": "string"}}})
}

fn envelope(status: &str, result: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {"status": {"const": status}, "result": result},
        "required": ["status", "result"],
    })
}

fn status_text(code: u16) -> &'static str {
    match code {
        200 => "The call succeeded.",
        206 => "The part of the content that `Range` asks for.",
        304 => "The caller's copy is still good.",
        400 => "A parameter or the body is not valid.",
        401 => "Not authorized: the token is missing, unknown or expired, or the login failed.",
        403 => "Forbidden: a privilege is missing, or a lock is in the way.",
        404 => "Something that the call names does not exist.",
        413 => "The body is larger than allowed.",
        416 => "No byte of the content lies in the range.",
        500 => "The repository failed.",
        501 => "The endpoint is not there yet.",
        503 => "There is too much work at once; try again.",
        _ => "See the status code.",
    }
}

/// The schemas of failures, which have no type of the endpoints' own.
fn own_schemas() -> Map<String, Value> {
    let names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
    let code = json!({
        "type": "string",
        "description": format!("A configured prefix, `CMS.` by default, followed by one of: {}.", names.join(", ")),
        "examples": ["CMS.ObjectNotFound"],
    });
    let text = json!({"type": "string"});
    let older = json!({
        "type": "object",
        "properties": {"code": code, "message": text, "requestId": text},
        "required": ["code", "message"],
    });
    let error = json!({
        "type": "object",
        "properties": {
            "code": code,
            "message": text,
            "source": text,
            "details": {"type": "object"},
            "requestId": text,
        },
        "required": ["code", "message"],
    });
    let problem = json!({
        "type": "object",
        "description": "RFC 9457, where `Accept` prefers it.",
        "properties": {
            "type": text,
            "title": text,
            "status": {"type": "integer"},
            "detail": text,
            "code": code,
            "source": text,
            "requestId": text,
        },
        "required": ["status", "code"],
    });
    let all = [("Failure", envelope("error", &error)), ("OlderFailure", older), ("Problem", problem)];
    all.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}
