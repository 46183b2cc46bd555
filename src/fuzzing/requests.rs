//! Fuzzing of queries and JSON bodies.

use serde::de::DeserializeOwned;
use serde_json::Value;
use stet_api::auth::{CopyRequest, LoginRequest};
use stet_api::folder::CreateFolder;
use stet_api::group::GroupRequest;
use stet_api::object::{CreateObject, RestoreRequest};
use stet_api::user::PasswordRequest;
use stet_base::limits::Reservation;
use stet_containers::drawer::{CreateDrawer, UpdateRequest};
use stet_domain::error::Code;
use stet_endpoint::requests::ObjectListRequest;
use stet_newsroom::administration::UserChange;
use stet_newsroom::records::Display;
use stet_web::body::JsonBodyReader;
use stet_web::query::{Query, QueryPairs, parameters};
use stet_web::route::{ParameterKind, QueryParam};

/// Maximum levels of a body here.
const DEPTH: usize = 64;

/// Takes the number of an endpoint (two bytes), then the query of a call.
pub fn query(data: &[u8]) -> bool {
    let Some((head, rest)) = data.split_at_checked(2) else { return false };
    let Ok(raw) = std::str::from_utf8(rest) else { return false };
    let pairs = QueryPairs::of(raw);
    let decoded: Vec<_> = form_urlencoded::parse(raw.as_bytes()).collect();
    assert!(pairs.iter().eq(decoded.iter().map(|(key, value)| (&**key, &**value))), "{raw:?}");
    let _ = pairs.last("token");
    let number = usize::from(u16::from_be_bytes([head[0], head[1]]));
    let count = stet_api::all_routes().count();
    let route = stet_api::all_routes().nth(number % count).expect("the number is below the count");
    let query = match Query::parse(route, pairs) {
        Ok(query) => query,
        Err(error) => {
            assert_eq!(error.code, Code::InvalidParameter);
            assert!(error.message.contains('`'), "{raw:?}: no parameter is named: {error}");
            return false;
        }
    };
    for parameter in parameters(route) {
        let name = parameter.name;
        match parameter.kind {
            ParameterKind::Boolean => drop(query.boolean_if_any(name)),
            ParameterKind::Integer => drop(query.integer(name)),
            ParameterKind::TextList => assert!(query.list(name).iter().all(|text| !text.is_empty()), "{raw:?}"),
            ParameterKind::Text | ParameterKind::Source => drop(query.text(name)),
        }
    }
    if route.query.iter().any(|listed| matches!(listed, QueryParam::Display { .. })) {
        query.display();
    }
    ["limit", "offset"].iter().for_each(|count| assert!(query.integer(count).is_none_or(|number| number >= 0)));
    true
}

/// A function that reads a body as one type, and reports whether it is one.
type BodyCheck = fn(&[u8]) -> bool;

fn object<T: DeserializeOwned>(body: &[u8]) -> bool {
    read(body, |reading| reading.object::<T>(body).map(drop))
}

fn any<T: DeserializeOwned>(body: &[u8]) -> bool {
    read(body, |reading| reading.any::<T>(body).map(drop))
}

fn reading(room: &Reservation) -> JsonBodyReader<'_> {
    JsonBodyReader { required: true, depth: DEPTH, values: 10_000, room, secret: false, entries: 100 }
}

/// Asserts that a secret body is accepted exactly if an open one is. Only the words of errors may
/// differ.
fn read(body: &[u8], reader: impl Fn(JsonBodyReader<'_>) -> stet_domain::error::Result<()>) -> bool {
    let room = Reservation::unaccounted();
    let [open, secret] = [false, true].map(|secret| reader(JsonBodyReader { secret, ..reading(&room) }));
    assert_eq!(open.is_ok(), secret.is_ok(), "{}", String::from_utf8_lossy(body));
    for refusal in [&open, &secret].into_iter().filter_map(|outcome| outcome.as_ref().err()) {
        assert!(matches!(refusal.code, Code::InvalidBody | Code::TooLarge));
    }
    open.is_ok()
}

const BODIES: &[BodyCheck] = &[
    any::<ObjectListRequest>,
    object::<CreateObject>,
    object::<CreateDrawer>,
    object::<UpdateRequest>,
    object::<CreateFolder>,
    object::<RestoreRequest>,
    object::<LoginRequest>,
    object::<CopyRequest>,
    object::<GroupRequest>,
    object::<PasswordRequest>,
    object::<UserChange>,
    object::<Value>,
];

/// Takes the number of a type (one byte, counted from the digit 0), then the JSON body of a call.
pub fn json_body(data: &[u8]) -> bool {
    let Some((number, body)) = data.split_first() else { return false };
    let taken = BODIES[usize::from(number.wrapping_sub(b'0')) % BODIES.len()](body);
    let room = Reservation::unaccounted();
    match reading(&room).some(body) {
        Ok(said) => {
            // A skipped value may be a number that no type holds, or half a character.
            let levels = serde_json::from_slice(body).map_or(0, |value| levels(&value));
            assert!(levels <= DEPTH, "{levels} levels are taken");
            if let Err(refusal) = Display::with_defaults(true).with(said) {
                assert_eq!(refusal.code, Code::InvalidParameter);
            }
        }
        Err(refusal) => assert!(matches!(refusal.code, Code::InvalidBody | Code::TooLarge)),
    }
    taken
}

fn levels(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}
