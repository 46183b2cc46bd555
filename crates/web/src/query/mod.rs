//! The query of a call, checked against the table of its endpoint (docs/api/README.md, "Query
//! parameters").

use std::borrow::Cow;

use smallvec::SmallVec;
use stet_base::nearest::nearest_name;
use stet_domain::error::{Code, Error, Result};
use stet_newsroom::caller::{MOST_WARNINGS, shown_name};
use stet_newsroom::records::display::{self, BOOLEAN_WANTED, Display, FLAGS, parse_boolean};
use stet_newsroom::records::{FilterValues, ListingPage};

use super::route::{ParameterKind, QueryParam, Route};

/// A parameter of an endpoint. Display options are one parameter each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterSpec {
    /// The name; compared without regard to case.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: ParameterKind,
    /// Whether a call without it is refused with 400.
    pub required: bool,
    /// The default value, as text.
    pub default: Option<&'static str>,
    /// The description for the reference.
    pub about: &'static str,
}

/// The parameters that every endpoint accepts, listed or not. If an endpoint lists one, the listed
/// default applies.
pub const EVERYWHERE: [ParameterSpec; 4] = [
    optional("limit", ParameterKind::Integer, "Maximum number of entries."),
    optional("offset", ParameterKind::Integer, "Number of entries to skip."),
    optional("sortBy", ParameterKind::Text, "Order of the listing."),
    optional("databaseId", ParameterKind::Text, "Number or name of the database."),
];

/// The filters of object listings ([`Route::filters`]).
pub const FILTERS: [ParameterSpec; 7] = [
    optional("type", ParameterKind::TextList, "Names of object types: only objects of these types."),
    optional("status", ParameterKind::TextList, "Names of workflow statuses: only objects with one of them."),
    optional(
        "family",
        ParameterKind::TextList,
        "Families of object types, such as `document`: only objects of these families.",
    ),
    optional(
        "name",
        ParameterKind::TextList,
        "Patterns with `*` and `?`: only objects whose name matches one of them.",
    ),
    optional("creator", ParameterKind::TextList, "Names of users: only objects that one of them created."),
    optional("modifiedAfter", ParameterKind::Integer, "Epoch seconds: only objects that were last changed later."),
    optional("modifiedBefore", ParameterKind::Integer, "Epoch seconds: only objects that were last changed earlier."),
];

/// The parameter for a token.
pub const TOKEN: &str = "token";
/// The parameter for a key, at endpoints that accept one in the address
/// ([`Route::key_in_address`]).
pub const KEY: &str = "key";
/// The parameter that libraries add to bypass caches. It is ignored everywhere.
pub const CACHE_BUSTER: &str = "_";

/// The parameters whose whole numbers must not be negative.
pub const COUNTS: [&str; 2] = ["limit", "offset"];

const fn optional(name: &'static str, kind: ParameterKind, about: &'static str) -> ParameterSpec {
    ParameterSpec { name, kind, required: false, default: None, about }
}

/// Returns the parameters that an endpoint lists, in the interface's order.
pub fn parameters(route: &'static Route) -> impl Iterator<Item = ParameterSpec> {
    route.query.iter().flat_map(|listed| {
        let (one, set) = match *listed {
            QueryParam::One { name, kind, required, default, about } => {
                (Some(ParameterSpec { name, kind, required, default, about }), None)
            }
            QueryParam::Display { additional_info, path, web } => (None, Some(display_set(additional_info, path, web))),
        };
        one.into_iter().chain(set.into_iter().flatten())
    })
}

/// Returns the display options `DISP(additional_info, path)`; see [`QueryParam::Display`].
pub fn display_set(additional_info: bool, path: bool, web: bool) -> impl Iterator<Item = ParameterSpec> {
    let flags = FLAGS.iter().filter(move |flag| match flag.name {
        display::PATH => path,
        display::WEB_TYPE => web,
        _ => true,
    });
    let flags = flags.map(move |flag| {
        let default = if flag.name == display::ADDITIONAL_INFO { additional_info } else { flag.default };
        let default = Some(if default { "true" } else { "false" });
        ParameterSpec { name: flag.name, kind: ParameterKind::Boolean, required: false, default, about: flag.about }
    });
    flags.chain(web.then_some(optional(display::WEB_PRODUCT, ParameterKind::Text, display::WEB_PRODUCT_ABOUT)))
}

/// The names and values of a query, decoded, before any check.
pub struct QueryPairs<'q>(SmallVec<[(Cow<'q, str>, Cow<'q, str>); 4]>);

impl<'q> QueryPairs<'q> {
    /// Splits a query into its pairs.
    pub fn of(raw_query: &'q str) -> QueryPairs<'q> {
        if raw_query.contains(['%', '+']) {
            return QueryPairs(form_urlencoded::parse(raw_query.as_bytes()).collect());
        }
        // Most queries need no decoding and are only split. Every read from memory does this.
        let pairs = raw_query.split('&').filter(|pair| !pair.is_empty());
        QueryPairs(
            pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).map(|(k, v)| (k.into(), v.into())).collect(),
        )
    }

    /// Returns all pairs in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Returns the last value of a parameter, such as the token.
    pub fn last(&self, name: &str) -> Option<&str> {
        self.0.iter().rfind(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

/// The checked parameters of a call. An absent one has its default.
#[derive(Debug, Clone)]
pub struct Query {
    route: &'static Route,
    /// The given values, under the names as the table spells them; each name once.
    given: Vec<(&'static str, QueryValue)>,
    /// The names that the endpoint does not know, each once, at most as many as a reply reports.
    unknown: Vec<UnknownParameter>,
}

/// A parameter that its endpoint does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownParameter {
    /// The name, shortened.
    pub name: String,
    /// The most similar known name.
    pub nearest: Option<&'static str>,
}

#[derive(Debug, Clone)]
enum QueryValue {
    Text(String),
    Boolean(bool),
    Integer(i64),
    List(Vec<String>),
}

impl Query {
    /// Returns the number of values that there is memory for.
    #[cfg(any(test, feature = "testing"))]
    pub fn capacity(&self) -> usize {
        self.given.capacity()
    }

    /// Parses and checks a query. Unknown parameters are collected ([`Query::unknown`]). The last
    /// value of a repeated parameter counts, but all values of a list.
    pub fn parse(route: &'static Route, pairs: QueryPairs<'_>) -> Result<Query> {
        let mut query = Query { route, given: Vec::new(), unknown: Vec::new() };
        for (key, value) in pairs.0 {
            match find(route, display::canonical(&key)) {
                Some(parameter) => query.take(&parameter, value)?,
                None => query.note_unknown(&key),
            }
        }
        // Display options are never required.
        let required = route.query.iter().filter_map(|listed| match listed {
            QueryParam::One { name, required: true, .. } => Some(*name),
            _ => None,
        });
        match required.into_iter().find(|name| !query.has(name)) {
            Some(missing) => Err(Error::new(Code::InvalidParameter, format!("`{missing}` is required."))),
            None => Ok(query),
        }
    }

    fn take(&mut self, parameter: &ParameterSpec, value: Cow<'_, str>) -> Result<()> {
        let name = parameter.name;
        let given = match parameter.kind {
            ParameterKind::Text | ParameterKind::Source => {
                if name == display::WEB_PRODUCT {
                    display::check_web_product(&value)?;
                }
                QueryValue::Text(value.into_owned())
            }
            // An empty value counts as absent.
            _ if value.is_empty() => return Ok(()),
            ParameterKind::Boolean => QueryValue::Boolean(
                parse_boolean(&value).ok_or_else(|| Error::parameter(name, &value, BOOLEAN_WANTED))?,
            ),
            ParameterKind::Integer => QueryValue::Integer(parse_integer(name, &value)?),
            ParameterKind::TextList => {
                let mut pieces = value.split(',').filter(|piece| !piece.is_empty()).map(str::to_owned).peekable();
                if pieces.peek().is_none() {
                    return Ok(());
                }
                if let Some((_, QueryValue::List(list))) = self.given.iter_mut().find(|(known, _)| *known == name) {
                    list.extend(pieces);
                    return Ok(());
                }
                QueryValue::List(pieces.collect())
            }
        };
        match self.given.iter_mut().find(|(known, _)| *known == name) {
            Some((_, earlier)) => *earlier = given,
            None => self.given.push((name, given)),
        }
        Ok(())
    }

    /// Notes a name that the endpoint does not know, unless any call may have it.
    fn note_unknown(&mut self, name: &str) {
        let is_key = self.route.key_in_address && name.eq_ignore_ascii_case(KEY);
        if name.is_empty() || name == CACHE_BUSTER || name.eq_ignore_ascii_case(TOKEN) || is_key {
            return;
        }
        if self.unknown.len() < MOST_WARNINGS {
            let filters = FILTERS.into_iter().filter(|_| self.route.filters);
            let known = parameters(self.route).chain(filters).chain(EVERYWHERE);
            let known = known.map(|parameter| parameter.name).chain([TOKEN]);
            let unknown = UnknownParameter { name: shown_name(name), nearest: nearest_name(name, known) };
            if !self.unknown.contains(&unknown) {
                self.unknown.push(unknown);
            }
        }
    }

    /// Returns the parameters that the endpoint does not know, in their order: each once, at most
    /// the first [`MOST_WARNINGS`].
    pub fn unknown(&self) -> &[UnknownParameter] {
        &self.unknown
    }

    fn given(&self, name: &str) -> Option<&QueryValue> {
        self.given.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Reports whether the caller gave the parameter a value.
    pub fn has(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// Returns a boolean; false if it is absent and has no default.
    pub fn boolean(&self, name: &str) -> bool {
        self.boolean_if_any(name).unwrap_or(false)
    }

    /// Returns a boolean; `None` if it is absent and has no default.
    pub fn boolean_if_any(&self, name: &str) -> Option<bool> {
        match self.given(name) {
            Some(QueryValue::Boolean(value)) => Some(*value),
            _ => self.default(name, &[ParameterKind::Boolean]).and_then(parse_boolean),
        }
    }

    /// Returns a whole number.
    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.given(name) {
            Some(QueryValue::Integer(value)) => Some(*value),
            _ => self.default(name, &[ParameterKind::Integer]).and_then(|text| text.parse().ok()),
        }
    }

    /// Returns the page of a listing that `limit` and `offset` select; all entries without `limit`.
    pub fn page(&self) -> ListingPage {
        let number = |name| self.integer(name).and_then(|number| usize::try_from(number).ok());
        ListingPage { offset: number("offset").unwrap_or(0), limit: number("limit").unwrap_or(usize::MAX) }
    }

    /// Returns the filters of a listing.
    pub fn filters(&self) -> FilterValues {
        let list = |name| self.list(name).to_vec();
        FilterValues {
            types: list("type"),
            statuses: list("status"),
            families: list("family"),
            names: list("name"),
            creators: list("creator"),
            modified_after: self.integer("modifiedAfter"),
            modified_before: self.integer("modifiedBefore"),
        }
    }

    /// Returns a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.given(name) {
            Some(QueryValue::Text(value)) => Some(value),
            _ => self.default(name, &[ParameterKind::Text, ParameterKind::Source]),
        }
    }

    /// Reports whether the endpoint has a parameter of that name.
    pub fn lists(&self, name: &str) -> bool {
        find(self.route, name).is_some()
    }

    /// Returns a list of texts in their order; empty if it is absent.
    pub fn list(&self, name: &str) -> &[String] {
        match self.given(name) {
            Some(QueryValue::List(values)) => values,
            _ => {
                self.default(name, &[ParameterKind::TextList]);
                &[]
            }
        }
    }

    /// Returns the display options.
    pub fn display(&self) -> Display {
        debug_assert!(find(self.route, "showJson").is_some(), "{} has no display options", self.route.id);
        let additional_info = self.route.query.iter().any(|listed| match *listed {
            QueryParam::Display { additional_info, .. } => additional_info,
            QueryParam::One { .. } => false,
        });
        let mut display = Display::with_defaults(additional_info);
        for (name, value) in &self.given {
            if let QueryValue::Boolean(value) = value {
                display.set(name, *value);
            }
        }
        display
    }

    /// Returns the default of a parameter, which must be listed with one of these kinds.
    fn default(&self, name: &str, kinds: &[ParameterKind]) -> Option<&'static str> {
        let parameter = find(self.route, name);
        debug_assert!(
            parameter.is_some_and(|parameter| kinds.contains(&parameter.kind)),
            "{} has no parameter {name} of that kind",
            self.route.id
        );
        parameter.and_then(|parameter| parameter.default)
    }
}

/// Returns the parameter of a name: the endpoint's own, or one that every endpoint accepts.
fn find(route: &'static Route, name: &str) -> Option<ParameterSpec> {
    let is_meant = |known: &str| known.eq_ignore_ascii_case(name);
    // The display options come last: there are many, and their names differ from those of all other
    // parameters.
    route
        .query
        .iter()
        .find_map(|listed| match *listed {
            QueryParam::One { name, kind, required, default, about } if is_meant(name) => {
                Some(ParameterSpec { name, kind, required, default, about })
            }
            _ => None,
        })
        .or_else(|| FILTERS.into_iter().filter(|_| route.filters).find(|parameter| is_meant(parameter.name)))
        .or_else(|| EVERYWHERE.into_iter().find(|parameter| is_meant(parameter.name)))
        .or_else(|| parameters(route).find(|parameter| is_meant(parameter.name)))
}

fn parse_integer(name: &str, value: &str) -> Result<i64> {
    let counts = COUNTS.contains(&name);
    let wanted = if counts { "a whole number of 0 or more" } else { "a whole number" };
    let read = value.parse::<i64>().ok().filter(|number| !counts || *number >= 0);
    read.ok_or_else(|| Error::parameter(name, value, wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_without_escapes_is_taken_apart_as_the_library_does() {
        for raw in
            ["", "&", "a", "a=", "=a", "=", "a=1&&b=2&", "a=b=c", "&a&=&b=ä", "A=1&a=2", "a;b=1", "a=%3D&b", "x+y=+z"]
        {
            let expected: Vec<_> = form_urlencoded::parse(raw.as_bytes()).collect();
            assert_eq!(QueryPairs::of(raw).0.to_vec(), expected, "{raw:?}");
        }
    }
}
