//! Hints about addresses that no endpoint has.

use std::collections::HashSet;

use stet_domain::error::Code;
use stet_web::route::{Route, Verb};
use stet_web::router::*;

/// Reports whether a segment of an endpoint's path is a parameter.
fn is_parameter(segment: &str) -> bool {
    segment.starts_with('{')
}

fn router() -> Router {
    Router::new(crate::all_routes())
}

#[test]
fn slashes_that_should_have_been_encoded_are_told() {
    let router = router();
    let joined = |path: &str| match router.hint(path, Verb::Get) {
        Some(RouteHint::Slashes(joined)) => joined,
        other => format!("{other:?}"),
    };
    assert_eq!(joined("/v3/folder/News/City"), "/v3/folder/%2FNews%2FCity");
    assert_eq!(joined("/v3/folder//News/City"), "/v3/folder/%2FNews%2FCity");
    assert_eq!(joined("/v3/folder/%2FNews/City"), "/v3/folder/%2FNews%2FCity");
    assert_eq!(joined("/v3/object/News/storm.xml/versions"), "/v3/object/%2FNews%2Fstorm.xml/versions");
    let deep = |levels| router.hint(&format!("/v3/folder{}", "/a".repeat(levels)), Verb::Get);
    assert!(deep(MOST_SEGMENTS - 2).is_some() && deep(MOST_SEGMENTS - 1).is_none());
    assert_eq!(router.hint(&"/".repeat(60_000), Verb::Get), None);
}

#[test]
fn one_misspelt_word_is_put_right() {
    let router = router();
    for (verb, path, mended) in [
        (Verb::Delete, "/v3/object/1$1.0.5/discrad", "/v3/object/1$1.0.5/discard"),
        (Verb::Delete, "/v3/object/1$1.0.5/Discard", "/v3/object/1$1.0.5/discard"),
        (Verb::Delete, "/v3/object/1$1.0.5/destory", "/v3/object/1$1.0.5/destroy"),
        (Verb::Get, "/v3/foldr/home/view", "/v3/folder/home/view"),
        (Verb::Get, "/v3/objects/%2FNews%2Fa.xml", "/v3/object/%2FNews%2Fa.xml"),
    ] {
        assert_eq!(router.hint(path, verb), Some(RouteHint::Misspelt(mended.to_owned())), "{path}");
    }
}

#[test]
fn whatever_could_mean_something_else_has_no_hint() {
    let router = router();
    for (verb, path) in [
        (Verb::Get, ""),
        (Verb::Get, "/"),
        (Verb::Get, "/v3/folder/home/"),
        (Verb::Get, "/nothing"),
        (Verb::Get, "/nothing/at/all"),
        (Verb::Get, "v3/folder/News/City"),
        // Two edits may as well mean another word.
        (Verb::Delete, "/v3/object/1$1.0.5/disscrad"),
        (Verb::Delete, "/v3/object/1$1.0.5/delete"),
        (Verb::Delete, "/v3/object/1$1.0.5/remove"),
        (Verb::Post, "/v3/object/1$1.0.5/relock"),
        (Verb::Get, "/v3/objcet/1$1.0.5/versoins"),
        // Words of endpoints and their near misses, loids and uuids are not names of folders.
        (Verb::Delete, "/v3/container/liveblog/1$1.0.5/post/1$1.0.9/attachment"),
        (Verb::Delete, "/v3/container/liveblog/Blogs/night/psot"),
        (Verb::Delete, "/v3/container/drawer/1$1.0.5/1$1.0.9"),
        (Verb::Get, "/v3/object/1$1.0.5/0190f3a1-7c1e-7000-8000-0123456789ab"),
        (Verb::Get, "/v3/object/News/a.xml/verisons"),
    ] {
        assert_eq!(router.hint(path, verb), None, "{} {path}", verb.name());
    }
}

/// Returns the words that are a single edit away from a word.
fn single_edits(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut edits = Vec::new();
    for place in 0..letters.len() {
        let mut shorter = letters.clone();
        shorter.remove(place);
        let mut longer = letters.clone();
        longer.insert(place, 'x');
        let mut other = letters.clone();
        other[place] = 'x';
        edits.extend([shorter, longer, other]);
        if place > 0 {
            let mut swapped = letters.clone();
            swapped.swap(place - 1, place);
            edits.push(swapped);
        }
    }
    edits.into_iter().map(String::from_iter).collect()
}

#[test]
fn a_hint_for_a_near_miss_of_any_endpoint_is_that_endpoint() {
    let router = router();
    let (mut mended, mut silent) = (0, 0);
    for route in crate::all_routes() {
        let right = example(route, route.path.to_owned());
        for (place, word) in
            route.path.split('/').enumerate().filter(|(_, word)| !word.is_empty() && !is_parameter(word))
        {
            for edit in single_edits(word) {
                let mut segments: Vec<&str> = right.split('/').collect();
                segments[place] = &edit;
                let wrong = segments.join("/");
                match router.hint(&wrong, route.method) {
                    // Another endpoint may take the misspelt word as a value.
                    _ if !matches!(router.find(&wrong, route.method), RouteMatch::NoEndpoint) => {}
                    Some(hint) => {
                        assert_eq!(hint, RouteHint::Misspelt(right.clone()), "{wrong}");
                        mended += 1;
                    }
                    None => silent += 1,
                }
            }
        }
    }
    assert!(mended > 3 * silent, "{mended} {silent}");
}

#[test]
fn a_word_of_one_endpoint_is_not_put_right_into_that_of_another() {
    let router = router();
    for route in crate::all_routes() {
        let right = example(route, route.path.to_owned());
        for (place, word) in
            route.path.split('/').enumerate().filter(|(_, word)| !word.is_empty() && !is_parameter(word))
        {
            let in_place = crate::all_routes().filter_map(|other| other.path.split('/').nth(place));
            let words: HashSet<&str> = in_place.filter(|other| *other != word && !is_parameter(other)).collect();
            for other in words {
                let mut segments: Vec<&str> = right.split('/').collect();
                segments[place] = other;
                let wrong = segments.join("/");
                if matches!(router.find(&wrong, route.method), RouteMatch::NoEndpoint) {
                    assert_eq!(router.hint(&wrong, route.method), None, "{wrong}");
                }
            }
        }
    }
}

/// Returns the endpoint's id with the values in its path, or a text for the failure.
fn find(verb: Verb, raw_path: &str) -> String {
    match router().find(raw_path, verb) {
        RouteMatch::Route(route, params) => {
            let values: Vec<_> = params.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            format!("{}{}", route.id, values.concat())
        }
        RouteMatch::Invalid(error) => error.to_string(),
        RouteMatch::MethodNotAllowed(allow) => format!("only {allow}"),
        RouteMatch::NoEndpoint => "none".to_owned(),
    }
}

/// Returns the path with a distinct value for each of the endpoint's parameters.
fn example(route: &Route, mut path: String) -> String {
    for (index, parameter) in route.path_params.iter().enumerate() {
        path = path.replace(&format!("{{{}}}", parameter.name), &format!("1$1.0.{index}"));
    }
    path
}

#[test]
fn every_endpoint_is_found_at_its_path_with_its_values() {
    let router = router();
    for route in crate::all_routes() {
        let path = example(route, route.path.to_owned());
        let RouteMatch::Route(found, params) = router.find(&path, route.method) else { panic!("{path} is not found") };
        assert_eq!(found.id, route.id);
        let expected: Vec<_> =
            route.path_params.iter().enumerate().map(|(i, p)| (p.name, format!("1$1.0.{i}"))).collect();
        assert_eq!(params.iter().map(|(name, value)| (name, value.to_owned())).collect::<Vec<_>>(), expected);
        assert!(params.is_inline(), "{} has more parameters than fit", route.id);
    }
}

#[test]
fn the_path_params_of_an_endpoint_are_those_in_its_path_in_order() {
    for route in crate::all_routes() {
        let in_path: Vec<_> = route
            .path
            .split('/')
            .filter_map(|segment| segment.strip_prefix('{').and_then(|segment| segment.strip_suffix('}')))
            .collect();
        assert_eq!(in_path, route.path_params.iter().map(|p| p.name).collect::<Vec<_>>(), "{}", route.id);
    }
}

#[test]
fn a_fixed_segment_wins_over_a_parameter() {
    for (verb, path, id) in [
        (Verb::Get, "/v3/folder/home", "folder-home-get"),
        (Verb::Get, "/v3/folder/work/view", "folder-work-view-get"),
        (Verb::Post, "/v3/folder/root/view/list", "folder-root-view-named-post view=list"),
        (Verb::Delete, "/v3/object/discard", "objects-discard"),
        (Verb::Delete, "/v3/object/destroy", "objects-destroy"),
        (Verb::Put, "/v3/container/drawer/1.1.1/item/clear", "drawer-item-clear-put source=1.1.1"),
        (Verb::Post, "/v3/container/opendocument", "opendocument-post"),
        (Verb::Get, "/v3/conf/cache/users/refresh", "cache-users-refresh-get"),
        (Verb::Get, "/v3/conf/cache/refresh/main", "cache-all-refresh-db-get databaseId=main"),
        (Verb::Post, "/v3/container/liveblog/posts", "liveblog-posts-post"),
        (Verb::Put, "/v3/container/topic/move", "topic-move-put"),
        (Verb::Post, "/v3/conf/shapetemplates/list", "conf-shapetemplates-list-post"),
    ] {
        assert_eq!(find(verb, path), id, "{path}");
    }
}

#[test]
fn a_path_that_only_begins_like_a_fixed_one_has_its_parameter() {
    for (verb, path, id) in [
        (Verb::Get, "/v3/folder/home2", "folder-get source=home2"),
        (Verb::Get, "/v3/folder/hom", "folder-get source=hom"),
        (Verb::Get, "/v3/folder/home/filter", "folder-filter-get source=home"),
        (Verb::Get, "/v3/conf/cache/users/refreshing", "cache-users-db-get databaseId=refreshing"),
        (Verb::Post, "/v3/container/drawer/opendocument", "opendocument-source-post source=drawer"),
        (Verb::Get, "/v3/conf/collage/resolvepath", "conf-resolvepath-get source=collage"),
    ] {
        assert_eq!(find(verb, path), id, "{path}");
    }
}

#[test]
fn fixed_paths_without_the_method_fall_back_to_the_parameter_path() {
    for (verb, path, id) in [
        (Verb::Get, "/v3/object/discard", "object-get source=discard"),
        (Verb::Get, "/v3/container/drawer/automatic", "drawer-get source=automatic"),
        (Verb::Get, "/v3/container/topic/move", "topic-get topic=move"),
        (Verb::Delete, "/v3/container/liveblog/posts", "liveblog-delete source=posts"),
        (Verb::Delete, "/v3/container/drawer/a/item/clear", "drawer-item-delete source=a item=clear"),
    ] {
        assert_eq!(find(verb, path), id, "{path}");
    }
}

/// Returns the endpoint by the rule alone. Among those that match, it has a fixed segment where
/// others have a parameter. The leftmost such segment decides.
fn by_rule(verb: Verb, path: &str) -> Option<&'static str> {
    let fits = |pattern: &str| {
        let same = |(pattern, segment)| is_parameter(pattern) || pattern == segment;
        pattern.split('/').count() == path.split('/').count() && pattern.split('/').zip(path.split('/')).all(same)
    };
    crate::all_routes()
        .filter(|route| route.method == verb && fits(route.path))
        .min_by_key(|route| route.path.split('/').map(is_parameter).collect::<Vec<_>>())
        .map(|route| route.id)
}

#[test]
fn whatever_fixed_word_stands_for_a_parameter_the_rule_decides() {
    let router = router();
    for route in crate::all_routes() {
        for (place, segment) in route.path.split('/').enumerate().filter(|(_, segment)| is_parameter(segment)) {
            // The words that any path has at that place.
            let mut words: Vec<_> = crate::all_routes().filter_map(|route| route.path.split('/').nth(place)).collect();
            words.retain(|word| !is_parameter(word));
            words.sort_unstable();
            words.dedup();
            for word in words {
                let path = example(route, route.path.replace(segment, word));
                for verb in Verb::ALL {
                    let found = match router.find(&path, verb) {
                        RouteMatch::Route(route, _) => Some(route.id),
                        _ => None,
                    };
                    assert_eq!(found, by_rule(verb, &path), "{path}");
                }
            }
        }
    }
}

#[test]
fn an_encoded_slash_stays_in_its_segment_and_a_dollar_may_be_encoded() {
    assert_eq!(find(Verb::Get, "/v3/object/%2FSysConfig%2Fa%20b"), "object-get source=/SysConfig/a b");
    assert_eq!(find(Verb::Get, "/v3/object/1$1.0.5"), "object-get source=1$1.0.5");
    assert_eq!(find(Verb::Get, "/v3/object/1%241.0.5"), "object-get source=1$1.0.5");
    assert_eq!(find(Verb::Get, "/v3/object/%2Fa+b%2F%C3%A9%252F"), "object-get source=/a+b/é%2F");
}

#[test]
fn a_segment_that_is_not_utf_8_is_an_invalid_parameter() {
    let router = router();
    let RouteMatch::Invalid(error) = router.find("/v3/folder/%2Fa%FF/view", Verb::Get) else { panic!() };
    assert_eq!(error.code, Code::InvalidParameter);
    assert_eq!(error.message, "`source` must be percent-encoded UTF-8, but is `%2Fa%FF`.");
}

#[test]
fn a_method_that_the_path_has_not_is_told_which_ones_it_has() {
    assert_eq!(find(Verb::Put, "/v3/auth/login"), "only GET, HEAD, POST");
    assert_eq!(find(Verb::Get, "/v3/auth/copy"), "only POST");
    assert_eq!(find(Verb::Put, "/v3/object/discard"), "only GET, HEAD, DELETE");
    assert_eq!(find(Verb::Put, "/v3/folder/home"), "only GET, HEAD");
}

#[test]
fn a_trailing_slash_and_an_empty_segment_are_no_endpoint() {
    for path in [
        "",
        "/",
        "/v3",
        "/v3/",
        "/v3/folder/",
        "/v3/folder/1.1.1/",
        "/v3/folder//view",
        "//v3/folder/home",
        "/v3/folder/home/",
        "/v3/object/1.1.1//family",
        "/v3/object//family",
        "/auth/login/",
        "v3/folder/home",
        "/v3/object/1.1.1/what",
        "/v3/folder/home/view/",
    ] {
        for verb in Verb::ALL {
            assert_eq!(find(verb, path), "none", "{path}");
        }
    }
}

#[test]
fn params_are_looked_up_by_name_and_outlive_the_path() {
    let router = router();
    let RouteMatch::Route(_, params) = router.find("/v3/container/topic/a/topicitem/b%20c", Verb::Put) else {
        panic!()
    };
    let params = params.into_owned();
    assert_eq!((params.get("topic"), params.get("topicItem"), params.get("source")), (Some("a"), Some("b c"), None));
}

#[test]
#[should_panic(expected = "the table of endpoints is at fault")]
fn two_endpoints_of_one_method_and_path_are_a_fault_of_the_table() {
    let route = crate::all_routes().next().expect("there are endpoints");
    Router::new([route, route].into_iter());
}
