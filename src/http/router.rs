//! Finds the endpoint of a path. The path is matched as it came, still percent-encoded, so that a `%2F` inside a
//! segment does not end it (docs/api/README.md, "Sources"); each captured segment is decoded afterwards.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use smallvec::SmallVec;
use stet_actors::error::Error;

use super::route::{Route, Verb};

/// The endpoints by their paths: one tree per method. So a fixed path wins over a parameter wherever the method has
/// both, and does not hide the parameter's where it has not.
pub struct Router {
    trees: [matchit::Router<&'static Route>; Verb::ALL.len()],
}

/// Segments of a path of which some are tried as one: some hundred tries at most, for whoever asks.
const MOST_JOINED: usize = 16;

/// What a path and a method lead to.
#[derive(Debug)]
pub enum Found<'p> {
    /// An endpoint, and the values in its path.
    Route(&'static Route, Params<'p>),
    /// An endpoint, but a value in its path is not text.
    Invalid(Error),
    /// Endpoints of that path have other methods: the value of the `Allow` header.
    MethodNotAllowed(String),
    /// No endpoint has that path.
    NoEndpoint,
}

/// The values in a path, decoded, in path order. No endpoint has more than fit in without an allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params<'p>(SmallVec<[(&'static str, Cow<'p, str>); 4]>);

impl<'p> Params<'p> {
    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The parameters with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, &**value))
    }

    /// The same, without a hold on the path.
    pub fn into_owned(self) -> Params<'static> {
        Params(self.0.into_iter().map(|(name, value)| (name, Cow::Owned(value.into_owned()))).collect())
    }
}

impl Router {
    /// Builds the trees.
    ///
    /// # Panics
    ///
    /// When two endpoints have the same method and path, or a path can't be understood: faults of the table.
    pub fn new(routes: impl Iterator<Item = &'static Route>) -> Router {
        let mut trees: [matchit::Router<&'static Route>; Verb::ALL.len()] = Default::default();
        for route in routes {
            if let Err(fault) = trees[route.method as usize].insert(route.path, route) {
                panic!("the table of endpoints is at fault at {} ({}): {fault}", route.id, route.path);
            }
        }
        Router { trees }
    }

    /// The endpoint for a path below the base path, without its query.
    pub fn find<'p>(&self, raw_path: &'p str, verb: Verb) -> Found<'p> {
        let Ok(found) = self.trees[verb as usize].at(raw_path) else { return self.others(raw_path) };
        let route = *found.value;
        let mut params = Params::default();
        // The names are the table's own, which outlive the call; the tree gives the values in the same order.
        for (parameter, (_, raw)) in route.path_params.iter().zip(found.params.iter()) {
            match percent_decode_str(raw).decode_utf8() {
                Ok(value) => params.0.push((parameter.name, value)),
                Err(_) => return Found::Invalid(Error::parameter(parameter.name, raw, "percent-encoded UTF-8")),
            }
        }
        Found::Route(route, params)
    }

    /// The path of an endpoint that is had of one that leads to none by taking neighbouring segments as the path of an object: its
    /// slashes should have been `%2F`.
    pub fn joined(&self, raw_path: &str, verb: Verb) -> Option<String> {
        let segments: Vec<&str> = raw_path.strip_prefix('/')?.split('/').take(MOST_JOINED + 1).collect();
        if segments.len() > MOST_JOINED {
            return None;
        }
        let tree = &self.trees[verb as usize];
        let runs = (0..segments.len()).flat_map(|from| (from + 2..=segments.len()).map(move |to| (from, to)));
        runs.filter(|(_, to)| !segments[to - 1].is_empty()).find_map(|(from, to)| {
            let (before, path, after) = (&segments[..from], segments[from..to].join("%2F"), &segments[to..]);
            // A path is absolute.
            let slash = if path.starts_with("%2F") || path.starts_with("%2f") { "" } else { "%2F" };
            let whole = [before, &[&format!("{slash}{path}")], after].concat().join("/");
            let whole = format!("/{whole}");
            tree.at(&whole).is_ok().then_some(whole)
        })
    }

    /// The answer to a path that no endpoint of the method has.
    fn others<'p>(&self, raw_path: &'p str) -> Found<'p> {
        let mut allow = String::new();
        for verb in Verb::ALL {
            if self.trees[verb as usize].at(raw_path).is_ok() {
                if !allow.is_empty() {
                    allow.push_str(", ");
                }
                allow.push_str(verb.name());
                if verb == Verb::Get {
                    allow.push_str(", HEAD");
                }
            }
        }
        if allow.is_empty() { Found::NoEndpoint } else { Found::MethodNotAllowed(allow) }
    }
}

#[cfg(test)]
mod tests {
    use stet_actors::error::Code;

    use super::*;
    use crate::api::routes;

    fn router() -> Router {
        Router::new(routes::all())
    }

    #[test]
    fn slashes_that_should_have_been_encoded_are_told() {
        let joined = |path: &str| router().joined(path, Verb::Get);
        let told = |path: &str| joined(path).unwrap_or_default();
        assert_eq!(told("/v3/folder/News/City"), "/v3/folder/%2FNews%2FCity");
        assert_eq!(told("/v3/folder//News/City"), "/v3/folder/%2FNews%2FCity");
        assert_eq!(told("/v3/folder/%2FNews/City"), "/v3/folder/%2FNews%2FCity");
        assert_eq!(told("/v3/object/News/storm.xml/versions"), "/v3/object/%2FNews%2Fstorm.xml/versions");
        for none in [
            "",
            "/",
            "/v3/folder/home/",
            "/nothing",
            "/nothing/at/all",
            "v3/folder/News/City",
            &"/a".repeat(MOST_JOINED + 1),
        ] {
            assert_eq!(joined(none), None, "{none}");
        }
        let deep = |levels| format!("/v3/folder{}", "/a".repeat(levels));
        assert!(joined(&deep(MOST_JOINED - 2)).is_some() && joined(&deep(MOST_JOINED - 1)).is_none());
        assert_eq!(joined(&"/".repeat(60_000)), None);
    }

    /// The endpoint's id with the values in its path, or, without an endpoint, what stands for it.
    fn find(verb: Verb, raw_path: &str) -> String {
        match router().find(raw_path, verb) {
            Found::Route(route, params) => {
                let values: Vec<_> = params.iter().map(|(name, value)| format!(" {name}={value}")).collect();
                format!("{}{}", route.id, values.concat())
            }
            Found::Invalid(error) => error.to_string(),
            Found::MethodNotAllowed(allow) => format!("only {allow}"),
            Found::NoEndpoint => "none".to_owned(),
        }
    }

    /// The path with a value of its own for each of the endpoint's parameters.
    fn example(route: &Route, mut path: String) -> String {
        for (index, parameter) in route.path_params.iter().enumerate() {
            path = path.replace(&format!("{{{}}}", parameter.name), &format!("1$1.0.{index}"));
        }
        path
    }

    #[test]
    fn every_endpoint_is_found_at_its_path_with_its_values() {
        let router = router();
        for route in routes::all() {
            let path = example(route, route.path.to_owned());
            let Found::Route(found, params) = router.find(&path, route.method) else { panic!("{path} is not found") };
            assert_eq!(found.id, route.id);
            let expected: Vec<_> =
                route.path_params.iter().enumerate().map(|(i, p)| (p.name, format!("1$1.0.{i}"))).collect();
            assert_eq!(params.iter().map(|(name, value)| (name, value.to_owned())).collect::<Vec<_>>(), expected);
            assert!(!params.0.spilled(), "{} has more parameters than fit", route.id);
        }
    }

    #[test]
    fn the_path_params_of_an_endpoint_are_those_in_its_path_in_order() {
        for route in routes::all() {
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
    fn a_fixed_path_that_lacks_the_method_leaves_it_to_the_parameter_that_has_it() {
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

    fn is_param(segment: &str) -> bool {
        segment.starts_with('{')
    }

    /// The endpoint by the rule alone: of those that fit, the one that is fixed where another has a parameter, the
    /// leftmost such segment deciding.
    fn by_rule(verb: Verb, path: &str) -> Option<&'static str> {
        let fits = |pattern: &str| {
            let same = |(pattern, segment)| is_param(pattern) || pattern == segment;
            pattern.split('/').count() == path.split('/').count() && pattern.split('/').zip(path.split('/')).all(same)
        };
        routes::all()
            .filter(|route| route.method == verb && fits(route.path))
            .min_by_key(|route| route.path.split('/').map(is_param).collect::<Vec<_>>())
            .map(|route| route.id)
    }

    #[test]
    fn whatever_fixed_word_stands_for_a_parameter_the_rule_decides() {
        let router = router();
        for route in routes::all() {
            for (place, segment) in route.path.split('/').enumerate().filter(|(_, segment)| is_param(segment)) {
                // The words that some path has in that place.
                let mut words: Vec<_> = routes::all().filter_map(|route| route.path.split('/').nth(place)).collect();
                words.retain(|word| !is_param(word));
                words.sort_unstable();
                words.dedup();
                for word in words {
                    let path = example(route, route.path.replace(segment, word));
                    for verb in Verb::ALL {
                        let found = match router.find(&path, verb) {
                            Found::Route(route, _) => Some(route.id),
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
        let Found::Invalid(error) = router.find("/v3/folder/%2Fa%FF/view", Verb::Get) else { panic!() };
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
        let Found::Route(_, params) = router.find("/v3/container/topic/a/topicitem/b%20c", Verb::Put) else { panic!() };
        let params = params.into_owned();
        assert_eq!(
            (params.get("topic"), params.get("topicItem"), params.get("source")),
            (Some("a"), Some("b c"), None)
        );
    }

    #[test]
    #[should_panic(expected = "the table of endpoints is at fault")]
    fn two_endpoints_of_one_method_and_path_are_a_fault_of_the_table() {
        let route = routes::all().next().expect("there are endpoints");
        Router::new([route, route].into_iter());
    }
}
