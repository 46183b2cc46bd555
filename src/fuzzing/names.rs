//! Fuzzing of names of objects: loids, uuids, paths, in requests' paths and elsewhere.

use std::fmt::{Debug, Display};
use std::str::FromStr;
use std::sync::LazyLock;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use stet_domain::id::{DatabaseId, Loid, ObjectSource, ObjectUuid, ShortcutId};
use stet_domain::object::{MAX_NAME_BYTES, PathLimits, check_path, file_name, name_key, parent_path};
use stet_web::route::Verb;
use stet_web::router::{RouteMatch, Router};

static ROUTER: LazyLock<Router> = LazyLock::new(|| Router::new(stet_api::all_routes()));

/// Takes any text as a source, as a name, and as a path of a request.
pub fn source(data: &[u8]) -> bool {
    if let Some(loid) = Loid::from_key(data) {
        assert_eq!(loid.to_key(), data[..Loid::KEY_LEN]);
    }
    let Ok(text) = std::str::from_utf8(data) else { return false };
    in_a_path(text);
    for verb in Verb::ALL {
        if let RouteMatch::Route(route, params) = ROUTER.find(text, verb) {
            assert_eq!(params.iter().count(), route.path_params.len(), "{text:?}");
        }
    }
    names(text);
    round::<Loid>(text);
    round::<ObjectUuid>(text);
    round::<ShortcutId>(text);
    let source = round::<ObjectSource>(text);
    if let Some(source) = &source {
        let json = serde_json::to_string(source).expect("a source can be serialised");
        assert_eq!(&serde_json::from_str::<ObjectSource>(&json).expect("it can be read back"), source);
    }
    source.is_some()
}

/// Asserts that a parsed name, written again, parses to the same value.
fn round<T: FromStr + Display + Debug + PartialEq>(text: &str) -> Option<T> {
    let value: T = text.parse().ok()?;
    let written = value.to_string();
    assert_eq!(written.parse::<T>().ok().as_ref(), Some(&value), "{text:?} is written as {written:?}");
    Some(value)
}

/// Asserts that any text, percent-encoded, is one segment of a path and is decoded to itself.
fn in_a_path(text: &str) {
    if text.is_empty() {
        return;
    }
    let path = format!("/v3/container/drawer/{}", utf8_percent_encode(text, NON_ALPHANUMERIC));
    match ROUTER.find(&path, Verb::Put) {
        RouteMatch::Route(_, params) => assert_eq!(params.iter().map(|(_, value)| value).collect::<Vec<_>>(), [text]),
        other => panic!("{path}: {other:?}"),
    }
}

fn names(text: &str) {
    if let Ok(name) = file_name(text) {
        assert_eq!(file_name(&name).as_ref(), Ok(&name));
        assert!(name.len() <= MAX_NAME_BYTES && !name.contains('/'), "{name:?}");
        let folder = Loid::new(DatabaseId::FIRST, 1);
        let key = name_key(folder, &name);
        let normal = std::str::from_utf8(&key[Loid::KEY_LEN..]).expect("a name's key ends with text");
        assert_eq!(name_key(folder, normal), key, "{name:?}");
    }
    if let Ok(names) = check_path(text, PathLimits::default()) {
        let names: Vec<&str> = names.collect();
        assert!(names.iter().all(|name| !name.is_empty() && !name.contains('/')), "{text:?}");
        let again = format!("/{}", names.join("/"));
        assert_eq!(again, if text == "/" { text } else { text.strip_suffix('/').unwrap_or(text) });
        assert_eq!(parent_path(text).map(|(_, name)| name), names.last().copied(), "{text:?}");
    }
}
