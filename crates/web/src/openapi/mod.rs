//! The OpenAPI document, generated from the table of endpoints, so that it always describes what
//! the server does.
//!
//! It is written for client generators as much as for people: no schema is just `true`, common
//! parts are components, and every possible status of an operation is listed.

mod bodies;
mod parameters;
mod prose;
mod responses;
mod schemas;

use serde_json::{Map, Value, json};

use self::schemas::Schemas;
use super::route::{EndpointGroup, Route, TokenRule};

/// The places of a session's token, in the order in which they are tried (docs/api/README.md,
/// "Tokens").
const TOKEN_SCHEMES: [&str; 4] = ["queryToken", "headerToken", "bearerToken", "cookieToken"];

/// The scheme of a key in the address, for endpoints that accept one. It is tried first.
const KEY_SCHEME: &str = "queryKey";

/// Returns the document for these endpoints, mounted under a base path. The same table gives the
/// same text.
pub fn document(groups: &'static [EndpointGroup], base_path: &str) -> Value {
    let mut schemas = Schemas::new();
    let mut operations = Vec::new();
    for route in groups.iter().flat_map(EndpointGroup::routes) {
        operations.push((route, operation(groups, route, &mut schemas)));
    }
    let tags: Vec<_> = groups
        .iter()
        .filter(|group| operations.iter().any(|(route, _)| tag(groups, route) == group.name))
        .map(|group| json!({"name": group.name, "description": group.about}))
        .collect();
    let failures = responses::failures(&mut schemas);
    let merged = schemas.merge();
    let mut paths = Map::new();
    for (route, mut operation) in operations {
        merged.settle(&mut operation);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.name().to_ascii_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "stet",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Content repository of a newsroom. Parameter names match without regard to case. Unknown \
                            parameters and body keys are reported in `warnings`; with `Prefer: handling=strict` the \
                            call is refused instead. `limit` and `offset` are validated in every call, but have an \
                            effect only where they are listed. `databaseId` applies to every call that looks up or \
                            creates something in a database. Every path that supports GET also supports HEAD.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": if base_path.is_empty() { "/" } else { base_path }}],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": merged.definitions(),
            "parameters": parameters::shared(),
            "headers": responses::headers(),
            "responses": failures,
            "securitySchemes": {
                "queryKey": {"type": "apiKey", "in": "query", "name": "key"},
                "queryToken": {"type": "apiKey", "in": "query", "name": "token"},
                "headerToken": {"type": "apiKey", "in": "header", "name": "token"},
                "bearerToken": {"type": "http", "scheme": "bearer"},
                "cookieToken": {"type": "apiKey", "in": "cookie", "name": "MRS_CONNECTION_TOKEN"},
            },
        },
    })
}

fn tag(groups: &'static [EndpointGroup], route: &Route) -> &'static str {
    let group = groups.iter().find(|group| group.routes().any(|member| member.id == route.id));
    group.map_or("other", |group| group.name)
}

/// Reports whether the endpoint answers in the envelope.
fn is_enveloped(route: &Route) -> bool {
    route.path.starts_with("/v3/")
}

/// The properties of a reply that determine parameters and statuses.
#[derive(Clone, Copy)]
struct ReplyShape {
    /// Whether it is a listing of which pages can be requested: it has `items` and a total count.
    pages: bool,
    /// Whether it is a container.
    container: bool,
    /// Whether it shows one state of an object: a container, a record, or anything with a revision.
    state: bool,
}

fn operation(groups: &'static [EndpointGroup], route: &'static Route, schemas: &mut Schemas) -> Value {
    let reply = route.handler().reply.map(|type_of| schemas.reply(type_of));
    let has = |name: &str| reply.as_ref().and_then(|reply| schemas.property(reply, name));
    let is_counted =
        has("total").is_some() || has("info").is_some_and(|info| schemas.property(info, "count").is_some());
    let shape = ReplyShape {
        pages: has("items").is_some_and(|items| items["type"] == "array") && is_counted,
        container: has("info").is_some(),
        state: ["info", "uniquenessString", "revision"].into_iter().any(|name| has(name).is_some()),
    };
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "description": prose::description(route),
        "tags": [tag(groups, route)],
        "parameters": parameters::list(route, shape, schemas),
    });
    if let Some(body) = bodies::request(route.body, schemas) {
        operation["requestBody"] = body;
    }
    operation["responses"] = responses::list(route, shape, reply, schemas).into();
    operation["security"] = security(route);
    operation["x-stet-privilege"] = json!(route.privilege);
    operation["x-stet-scope"] = json!(route.privilege.map(|_| route.scope()));
    operation["x-stet-source"] = json!(route.source);
    prose::add_example(route, &mut operation);
    operation
}

fn security(route: &Route) -> Value {
    let in_address = route.key_in_address.then_some(KEY_SCHEME);
    let one_of = in_address.into_iter().chain(TOKEN_SCHEMES).map(|scheme| json!({scheme: []}));
    match route.token {
        TokenRule::Required => one_of.collect(),
        // The empty requirement allows a call without a token.
        TokenRule::NotListed => one_of.chain([json!({})]).collect(),
        TokenRule::InBody | TokenRule::Login => json!([]),
    }
}
