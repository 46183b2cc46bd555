//! The search for the endpoint of a path. The path is matched while it is still percent-encoded, so
//! that a `%2F` inside a segment does not end the segment (docs/api/README.md, "Sources"). Each
//! captured segment is decoded afterwards.

use std::borrow::Cow;
use std::collections::HashSet;

use percent_encoding::percent_decode_str;
use smallvec::SmallVec;
use stet_domain::error::Error;
use stet_domain::id::ObjectSource;

use super::route::{ParameterKind, PathParam, Route, Verb};

/// The endpoints by their paths, in one tree per method. If a method has both, a fixed path takes
/// precedence over a parameter; if not, it does not hide the parameter's.
pub struct Router {
    trees: [matchit::Router<&'static Route>; Verb::ALL.len()],
    routes: Vec<&'static Route>,
    /// The fixed words of all paths.
    words: HashSet<&'static str>,
}

/// The largest number of segments of a path for which a hint is searched, which bounds the cost.
pub const MOST_SEGMENTS: usize = 16;

/// The shortest fixed word that may be misspelt: shorter ones have too many neighbours.
const SHORTEST_MISSPELT: usize = 4;

/// The longest segment, in bytes, that is compared with fixed words.
const LONGEST_COMPARED: usize = 64;

/// The probable meaning of a path that leads to no endpoint.
#[derive(Debug, PartialEq, Eq)]
pub enum RouteHint {
    /// The path with `%2F` in place of slashes within the path of an object.
    Slashes(String),
    /// The path with one fixed word corrected.
    Misspelt(String),
}

/// The result of looking up a path and a method.
#[derive(Debug)]
pub enum RouteMatch<'p> {
    /// An endpoint, and the values in its path.
    Route(&'static Route, PathParams<'p>),
    /// An endpoint, but a value in its path is not text.
    Invalid(Error),
    /// Only other methods have endpoints at that path: the value of the `Allow` header.
    MethodNotAllowed(String),
    /// No endpoint has that path.
    NoEndpoint,
}

/// The values in a path, decoded, in path order. The inline capacity is enough for every endpoint,
/// so there is no allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathParams<'p>(SmallVec<[(&'static str, Cow<'p, str>); 4]>);

impl<'p> PathParams<'p> {
    /// Reports whether the parameters needed no allocation.
    #[cfg(any(test, feature = "testing"))]
    pub fn is_inline(&self) -> bool {
        !self.0.spilled()
    }

    /// Returns the value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns the parameters with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, &**value))
    }

    /// Copies the values, so that they no longer borrow the path.
    pub fn into_owned(self) -> PathParams<'static> {
        PathParams(self.0.into_iter().map(|(name, value)| (name, Cow::Owned(value.into_owned()))).collect())
    }
}

impl Router {
    /// Builds the trees.
    ///
    /// # Panics
    ///
    /// When two endpoints have the same method and path, or a path is malformed: faults of the
    /// table.
    pub fn new(routes: impl Iterator<Item = &'static Route>) -> Router {
        let mut trees: [matchit::Router<&'static Route>; Verb::ALL.len()] = Default::default();
        let routes: Vec<_> = routes.collect();
        for route in routes.iter().copied() {
            if let Err(fault) = trees[route.method as usize].insert(route.path, route) {
                panic!("the table of endpoints is at fault at {} ({}): {fault}", route.id, route.path);
            }
        }
        let words = routes.iter().flat_map(|route| route.path.split('/'));
        let words = words.filter(|word| !word.is_empty() && !is_parameter(word)).collect();
        Router { trees, routes, words }
    }

    /// Finds the endpoint for a path below the base path, without its query.
    pub fn find<'p>(&self, raw_path: &'p str, verb: Verb) -> RouteMatch<'p> {
        let Ok(found) = self.trees[verb as usize].at(raw_path) else { return self.others(raw_path) };
        let route = *found.value;
        let mut params = PathParams::default();
        // The names are those of the table, which outlive the call. The tree returns the values in
        // the same order.
        for (parameter, (_, raw)) in route.path_params.iter().zip(found.params.iter()) {
            match percent_decode_str(raw).decode_utf8() {
                Ok(value) => params.0.push((parameter.name, value)),
                Err(_) => return RouteMatch::Invalid(Error::parameter(parameter.name, raw, "percent-encoded UTF-8")),
            }
        }
        RouteMatch::Route(route, params)
    }

    /// Returns the probable meaning of a path that leads to no endpoint.
    ///
    /// Two mistakes are recognised, one at a time: unencoded slashes within the path of an object,
    /// and one fixed word that is a single edit away. A fixed word of any endpoint is never
    /// corrected, wherever it occurs. So a hint never leads to an endpoint with another meaning.
    pub fn hint(&self, raw_path: &str, verb: Verb) -> Option<RouteHint> {
        let segments: Vec<&str> = raw_path.strip_prefix('/')?.split('/').take(MOST_SEGMENTS + 1).collect();
        if segments.len() > MOST_SEGMENTS {
            return None;
        }
        let misspelt = self.misspelt(&segments, verb).map(RouteHint::Misspelt);
        misspelt.or_else(|| self.joined(&segments, verb).map(RouteHint::Slashes))
    }

    /// Returns the path of the one endpoint that differs by a single edit in a single fixed word.
    fn misspelt(&self, segments: &[&str], verb: Verb) -> Option<String> {
        let mut found: Option<String> = None;
        for route in self.routes.iter().filter(|route| route.method == verb) {
            let Some(mended) = self.mended(route, segments) else { continue };
            match &found {
                Some(other) if *other != mended => return None,
                _ => found = Some(mended),
            }
        }
        found
    }

    /// Returns the path with its one wrong fixed word replaced by the endpoint's.
    fn mended(&self, route: &Route, segments: &[&str]) -> Option<String> {
        let pattern: Vec<&str> = route.path.strip_prefix('/')?.split('/').collect();
        if pattern.len() != segments.len() {
            return None;
        }
        let differs = |place: &usize| {
            let (word, segment) = (pattern[*place], segments[*place]);
            if is_parameter(word) { segment.is_empty() } else { word != segment }
        };
        let mut wrong = (0..pattern.len()).filter(differs);
        let (Some(place), None) = (wrong.next(), wrong.next()) else { return None };
        if is_parameter(pattern[place])
            || self.words.contains(segments[place])
            || !is_near(segments[place], pattern[place])
        {
            return None;
        }
        let mended =
            segments.iter().enumerate().map(|(at, segment)| if at == place { pattern[place] } else { *segment });
        Some(mended.flat_map(|segment| ["/", segment]).collect())
    }

    /// Returns the path with adjacent segments joined into the path of an object, if that leads to
    /// an endpoint.
    fn joined(&self, segments: &[&str], verb: Verb) -> Option<String> {
        // Each segment is examined once, whatever the number of runs that contain it.
        let names: Vec<bool> = segments.iter().map(|segment| self.may_be_a_name(segment)).collect();
        let runs = (0..segments.len()).flat_map(|from| (from + 2..=segments.len()).map(move |to| (from, to)));
        let may_be_a_path = |&(from, to): &(usize, usize)| {
            !segments[to - 1].is_empty() && names[from..to].iter().all(|is_name| *is_name)
        };
        runs.filter(may_be_a_path).find_map(|(from, to)| {
            let (before, path, after) = (&segments[..from], segments[from..to].join("%2F"), &segments[to..]);
            // A path is absolute.
            let slash = if path.starts_with("%2F") || path.starts_with("%2f") { "" } else { "%2F" };
            let whole = [before, &[&format!("{slash}{path}")], after].concat().join("/");
            let whole = format!("/{whole}");
            let route = self.trees[verb as usize].at(&whole).ok()?.value;
            let name = route.path.split('/').nth(from + 1)?;
            let is_source =
                |param: &PathParam| param.kind == ParameterKind::Source && name == format!("{{{}}}", param.name);
            route.path_params.iter().any(is_source).then_some(whole)
        })
    }

    /// Reports whether a segment may be a name in the path of an object. Fixed words of endpoints,
    /// near misses of them, loids and uuids are not taken for names.
    fn may_be_a_name(&self, segment: &str) -> bool {
        !self.words.iter().any(|word| is_near(segment, word))
            && !matches!(segment.parse(), Ok(ObjectSource::Loid(_) | ObjectSource::Uuid(_)))
    }

    /// Returns the answer to a path that no endpoint of the method has.
    fn others<'p>(&self, raw_path: &'p str) -> RouteMatch<'p> {
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
        if allow.is_empty() { RouteMatch::NoEndpoint } else { RouteMatch::MethodNotAllowed(allow) }
    }
}

/// Reports whether a segment of an endpoint's path is a parameter.
fn is_parameter(segment: &str) -> bool {
    segment.starts_with('{')
}

/// Reports whether a segment is a fixed word, or a single edit away from it, without regard to
/// case.
fn is_near(segment: &str, word: &str) -> bool {
    if segment.eq_ignore_ascii_case(word) {
        return true;
    }
    let comparable = word.len() >= SHORTEST_MISSPELT && segment.len() <= LONGEST_COMPARED;
    // A single edit changes the length by one character, of four bytes at most.
    comparable
        && segment.len().abs_diff(word.len()) <= 4
        && strsim::osa_distance(&segment.to_lowercase(), &word.to_lowercase()) <= 1
}
