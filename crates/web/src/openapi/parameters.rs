//! The parameters of operations. Parameters of many operations are components, which the operations
//! refer to.

use serde_json::{Map, Value, json};
use stet_domain::id::{ObjectSource, ShortcutId};
use stet_newsroom::records::display::{self, FLAGS};

use super::super::query::{COUNTS, EVERYWHERE, FILTERS, ParameterSpec, display_set, parameters};
use super::super::route::{ParameterKind, PathParam, QueryParam, Route, type_of};
use super::ReplyShape;
use super::schemas::Schemas;

/// Returns the parameters of an operation whose replies have this shape.
pub fn list(route: &'static Route, shape: ReplyShape, schemas: &mut Schemas) -> Vec<Value> {
    let mut all: Vec<Value> = route.path_params.iter().map(|param| in_path(param, schemas)).collect();
    for listed in route.query {
        match *listed {
            QueryParam::One { name, kind, required, default, about } => {
                all.push(in_query(&ParameterSpec { name, kind, required, default, about }));
            }
            QueryParam::Display { additional_info, path, web } => {
                all.extend(display_set(additional_info, path, web).map(|option| reference(&option_name(&option))));
            }
        }
    }
    for parameter in &EVERYWHERE {
        let taken = match parameter.name {
            "limit" | "offset" => shape.pages && route.is_read(),
            "sortBy" => route.sorts,
            "databaseId" => route.names_object(),
            _ => false,
        };
        if taken && parameters(route).all(|own| own.name != parameter.name) {
            all.push(reference(parameter.name));
        }
    }
    if route.filters {
        all.extend(FILTERS.iter().map(|filter| reference(filter.name)));
    }
    all.extend(route.headers.iter().map(|name| reference(name)));
    for (name, taken) in [
        ("If-None-Match", route.is_conditional(shape.container)),
        ("If-Match", route.takes_if_match()),
        ("If-Modified-Since", route.is_dated()),
        ("If-Unmodified-Since", route.is_dated()),
        ("Idempotency-Key", route.takes_key()),
        (PREFER_SHORT, route.handler().may_be_minimal),
        (PREFER_STRICT, !route.handler().may_be_minimal),
    ] {
        if taken {
            all.push(reference(name));
        }
    }
    all
}

/// Returns the shared parameters, which operations refer to.
pub fn shared() -> Map<String, Value> {
    let options = [false, true].into_iter().flat_map(|shown| display_set(shown, true, true));
    let options = options.map(|option| (option_name(&option), in_query(&option)));
    let everywhere =
        EVERYWHERE.iter().chain(&FILTERS).map(|parameter| (parameter.name.to_owned(), in_query(parameter)));
    let headers = HEADERS.iter().map(|(name, about)| {
        let mut schema = json!({"type": "string"});
        if *name == "Idempotency-Key" {
            schema = json!({"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"});
        }
        let header = name.split('.').next();
        ((*name).to_owned(), json!({"name": header, "in": "header", "description": about, "schema": schema}))
    });
    options.chain(everywhere).chain(headers).collect()
}

/// The key of the parameter `Prefer` for operations whose reply may be short.
const PREFER_SHORT: &str = "Prefer";
/// The key of the parameter `Prefer` for all other operations.
const PREFER_STRICT: &str = "Prefer.handling";

/// The request headers of operations, by their keys among the shared parameters. The part of a key
/// behind a dot does not belong to the header's name.
const HEADERS: [(&str, &str); 10] = [
    ("Range", "The requested part of the content, in bytes counted from 0 (RFC 9110)."),
    (
        "If-Range",
        "ETag or modification time of the content of which the client has a part. If the content has changed, all of \
         it is sent.",
    ),
    ("Last-Event-ID", "Id of the last event that the client received."),
    ("If-None-Match", "ETags of the client's copies. If one is current, the reply is 304."),
    (
        "If-Match",
        "ETags, of any representation, of the object or container that the call changes: the first one that the path \
         names, or an existing one that a creation finds. If none is current, or the object does not exist, nothing \
         is changed and the reply is 412. In a list of objects to discard or destroy, each is checked, and mismatches \
         are listed in `errors`.",
    ),
    (
        "If-Modified-Since",
        "A time. If the content was not modified later, the reply is 304. Ignored if `If-None-Match` is sent.",
    ),
    (
        "If-Unmodified-Since",
        "A time. If the content was modified later, the reply is 412. Ignored if `If-Match` is sent.",
    ),
    (
        PREFER_SHORT,
        "`return=minimal`: the reply has only id and revision (RFC 7240). `handling=strict`: unknown query \
         parameters and body keys are refused.",
    ),
    (PREFER_STRICT, "`handling=strict`: unknown query parameters and body keys are refused (RFC 7240)."),
    ("Idempotency-Key", "A name for the call. If the call is sent again with it, it is not carried out again."),
];

fn reference(name: &str) -> Value {
    debug_assert!(
        name.starts_with(display::ADDITIONAL_INFO)
            || EVERYWHERE.iter().chain(&FILTERS).any(|known| known.name == name)
            || HEADERS.iter().any(|(known, _)| *known == name)
            || FLAGS.iter().any(|flag| flag.name == name)
            || name == display::WEB_PRODUCT,
        "{name} is not among the shared parameters"
    );
    json!({"$ref": format!("#/components/parameters/{name}")})
}

/// Returns the key of a display option among the shared parameters. One option has a default that
/// depends on the endpoint, and so two keys.
fn option_name(option: &ParameterSpec) -> String {
    match option {
        ParameterSpec { name: display::ADDITIONAL_INFO, default: Some("true"), .. } => format!("{}.shown", option.name),
        _ => option.name.to_owned(),
    }
}

fn in_path(param: &PathParam, schemas: &mut Schemas) -> Value {
    let (about, schema) = match param.kind {
        ParameterKind::Source => {
            let about = format!("{}: a loid, a uuid, or a path with its slashes as %2F", param.about);
            (about, schemas.request(type_of::<ObjectSource>))
        }
        // A part of a topic is looked up in the topic, not among the objects.
        ParameterKind::Text if matches!(param.name, "topicItem" | "topicSubItem") => {
            (param.about.to_owned(), schemas.request(type_of::<ObjectSource>))
        }
        // An item of a drawer has two names.
        ParameterKind::Text if matches!(param.name, "item" | "shortcut") => {
            let names =
                json!({"anyOf": [schemas.request(type_of::<ObjectSource>), schemas.request(type_of::<ShortcutId>)]});
            (param.about.to_owned(), names)
        }
        ParameterKind::Text => (param.about.to_owned(), json!({"type": "string", "minLength": 1})),
        kind => (param.about.to_owned(), schema(param.name, kind, None)),
    };
    json!({"name": param.name, "in": "path", "required": true, "description": sentence(&about), "schema": schema})
}

fn in_query(ParameterSpec { name, kind, required, default, about }: &ParameterSpec) -> Value {
    let mut parameter = json!({"name": name, "in": "query"});
    if *required {
        parameter["required"] = json!(true);
    }
    if !about.is_empty() {
        parameter["description"] = json!(about);
    }
    parameter["schema"] = schema(name, *kind, *default);
    parameter
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

fn schema(name: &str, kind: ParameterKind, default: Option<&str>) -> Value {
    let mut schema = match kind {
        ParameterKind::Text | ParameterKind::Source => json!({"type": "string"}),
        ParameterKind::Boolean => json!({"type": "boolean"}),
        ParameterKind::Integer => json!({"type": "integer", "format": "int64"}),
        ParameterKind::TextList => json!({"type": "array", "items": {"type": "string"}}),
    };
    if COUNTS.contains(&name) {
        schema["minimum"] = json!(0);
    }
    if name == display::WEB_PRODUCT {
        schema["maxLength"] = json!(display::MAX_WEB_PRODUCT_BYTES);
    }
    if let Some(default) = default {
        schema["default"] = match kind {
            // A boolean or number is written the same way in JSON. The tests of the table ensure
            // that it is one.
            ParameterKind::Boolean | ParameterKind::Integer => serde_json::from_str(default).unwrap_or_default(),
            ParameterKind::Text | ParameterKind::Source | ParameterKind::TextList => json!(default),
        };
    }
    schema
}
