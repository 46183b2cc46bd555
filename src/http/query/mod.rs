//! The query of a call, checked against its endpoint's table (docs/api/README.md, "Query
//! parameters").

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use smallvec::SmallVec;
use stet_actors::error::{Code, Error, Result};

use super::route::{Kind, QueryParam, Route};
use super::warnings::{MOST, shown_name};
use crate::nearest::nearest_name;
use crate::records::display::{self, BOOLEAN_WANTED, Display, FLAGS, parse_boolean};
use crate::records::{FilterValues, Page};

/// A parameter of an endpoint, the display options taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Name; compared without regard to case.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// 400 without it.
    pub required: bool,
    /// The value where it is absent, as text.
    pub default: Option<&'static str>,
    /// For the reference.
    pub about: &'static str,
}

/// Taken by every endpoint whether it lists them or not; where one is listed, its default is the
/// listed one.
pub const EVERYWHERE: [Parameter; 4] = [
    optional("limit", Kind::Integer, "How many entries at most."),
    optional("offset", Kind::Integer, "How many entries to skip."),
    optional("sortBy", Kind::Text, "Order of the listing."),
    optional("databaseId", Kind::Text, "Number or name of the database."),
];

/// The filters of listings of objects ([`Route::filters`]).
pub const FILTERS: [Parameter; 7] = [
    optional("type", Kind::TextList, "Names of object types: only their objects."),
    optional("status", Kind::TextList, "Names of workflow statuses: only objects with one of them."),
    optional("family", Kind::TextList, "Families of object types, such as `document`: only their objects."),
    optional("name", Kind::TextList, "Patterns with `*` and `?`: only objects whose name matches one of them."),
    optional("creator", Kind::TextList, "Names of users: only objects that one of them created."),
    optional("modifiedAfter", Kind::Integer, "Epoch seconds: only objects that were last changed later."),
    optional("modifiedBefore", Kind::Integer, "Epoch seconds: only objects that were last changed earlier."),
];

/// The parameter with a token.
pub const TOKEN: &str = "token";
/// The parameter with a key, at the endpoints that take one in their address
/// ([`Route::key_in_address`]).
pub const KEY: &str = "key";
/// The parameter that libraries add so that no cache answers. It is ignored everywhere.
pub const CACHE_BUSTER: &str = "_";

/// The whole numbers that count something, and are never below 0.
pub const COUNTS: [&str; 2] = ["limit", "offset"];

const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Parameter {
    Parameter { name, kind, required: false, default: None, about }
}

/// The parameters that an endpoint lists, in the interface's order.
pub fn parameters(route: &'static Route) -> impl Iterator<Item = Parameter> {
    route.query.iter().flat_map(|listed| {
        let (one, set) = match *listed {
            QueryParam::One { name, kind, required, default, about } => {
                (Some(Parameter { name, kind, required, default, about }), None)
            }
            QueryParam::Display { additional_info, path, web } => (None, Some(display_set(additional_info, path, web))),
        };
        one.into_iter().chain(set.into_iter().flatten())
    })
}

/// The display options `DISP(additional_info, path)`; see [`QueryParam::Display`].
pub fn display_set(additional_info: bool, path: bool, web: bool) -> impl Iterator<Item = Parameter> {
    let flags = FLAGS.iter().filter(move |flag| match flag.name {
        display::PATH => path,
        display::WEB_TYPE => web,
        _ => true,
    });
    let flags = flags.map(move |flag| {
        let default = if flag.name == display::ADDITIONAL_INFO { additional_info } else { flag.default };
        let default = Some(if default { "true" } else { "false" });
        Parameter { name: flag.name, kind: Kind::Boolean, required: false, default, about: flag.about }
    });
    flags.chain(web.then_some(optional(display::WEB_PRODUCT, Kind::Text, display::WEB_PRODUCT_ABOUT)))
}

/// The names and values of a query, decoded, before any check.
pub struct Pairs<'q>(SmallVec<[(Cow<'q, str>, Cow<'q, str>); 4]>);

impl<'q> Pairs<'q> {
    /// Takes a query apart.
    pub fn of(raw_query: &'q str) -> Pairs<'q> {
        if raw_query.contains(['%', '+']) {
            return Pairs(form_urlencoded::parse(raw_query.as_bytes()).collect());
        }
        // Nothing in it needs decoding, as in most: then taking it apart is all there is to do.
        // Every read from memory does it.
        let pairs = raw_query.split('&').filter(|pair| !pair.is_empty());
        Pairs(pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).map(|(k, v)| (k.into(), v.into())).collect())
    }

    /// All of them, in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// The last value of a parameter; how the token is found.
    pub fn last(&self, name: &str) -> Option<&str> {
        self.0.iter().rfind(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

/// The checked parameters of a call. An absent one reads as its default.
#[derive(Debug, Clone)]
pub struct Query {
    route: &'static Route,
    /// The given values, under the table's spelling of the name; each name once.
    given: Vec<(&'static str, Given)>,
    /// The names that the endpoint does not know, each once, and no more than a reply reports.
    unknown: Vec<UnknownParameter>,
}

/// A parameter that its endpoint does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownParameter {
    /// Its name, shortened.
    pub name: String,
    /// The known name that is nearest to it.
    pub nearest: Option<&'static str>,
}

#[derive(Debug, Clone)]
enum Given {
    Text(String),
    Boolean(bool),
    Integer(i64),
    List(Vec<String>),
}

impl Query {
    /// Reads and checks a query. What the endpoint does not know is listed ([`Query::unknown`]); of
    /// a parameter that comes twice the last value counts, save for lists, where all do.
    pub fn parse(route: &'static Route, pairs: Pairs<'_>) -> Result<Query> {
        let mut query = Query { route, given: Vec::new(), unknown: Vec::new() };
        for (key, value) in pairs.0 {
            match find(route, display::canonical(&key)) {
                Some(parameter) => query.take(&parameter, value)?,
                None => query.note_unknown(&key),
            }
        }
        // Display options never are.
        let required = route.query.iter().filter_map(|listed| match listed {
            QueryParam::One { name, required: true, .. } => Some(*name),
            _ => None,
        });
        match required.into_iter().find(|name| !query.has(name)) {
            Some(missing) => Err(Error::new(Code::InvalidParameter, format!("`{missing}` is required."))),
            None => Ok(query),
        }
    }

    fn take(&mut self, parameter: &Parameter, value: Cow<'_, str>) -> Result<()> {
        let name = parameter.name;
        let given = match parameter.kind {
            Kind::Text | Kind::Source => {
                if name == display::WEB_PRODUCT {
                    display::check_web_product(&value)?;
                }
                Given::Text(value.into_owned())
            }
            // Without a value it is as good as absent.
            _ if value.is_empty() => return Ok(()),
            Kind::Boolean => {
                Given::Boolean(parse_boolean(&value).ok_or_else(|| Error::parameter(name, &value, BOOLEAN_WANTED))?)
            }
            Kind::Integer => Given::Integer(parse_integer(name, &value)?),
            Kind::TextList => {
                let mut pieces = value.split(',').filter(|piece| !piece.is_empty()).map(str::to_owned).peekable();
                if pieces.peek().is_none() {
                    return Ok(());
                }
                if let Some((_, Given::List(list))) = self.given.iter_mut().find(|(known, _)| *known == name) {
                    list.extend(pieces);
                    return Ok(());
                }
                Given::List(pieces.collect())
            }
        };
        match self.given.iter_mut().find(|(known, _)| *known == name) {
            Some((_, earlier)) => *earlier = given,
            None => self.given.push((name, given)),
        }
        Ok(())
    }

    /// Notes a name that the endpoint does not know, unless it is one that any call may have.
    fn note_unknown(&mut self, name: &str) {
        let is_key = self.route.key_in_address && name.eq_ignore_ascii_case(KEY);
        if name.is_empty() || name == CACHE_BUSTER || name.eq_ignore_ascii_case(TOKEN) || is_key {
            return;
        }
        if self.unknown.len() < MOST {
            let filters = FILTERS.into_iter().filter(|_| self.route.filters);
            let known = parameters(self.route).chain(filters).chain(EVERYWHERE);
            let known = known.map(|parameter| parameter.name).chain([TOKEN]);
            let unknown = UnknownParameter { name: shown_name(name), nearest: nearest_name(name, known) };
            if !self.unknown.contains(&unknown) {
                self.unknown.push(unknown);
            }
        }
    }

    /// The parameters that the endpoint does not know, in the order they came: each once, the first
    /// [`MOST`].
    pub fn unknown(&self) -> &[UnknownParameter] {
        &self.unknown
    }

    fn given(&self, name: &str) -> Option<&Given> {
        self.given.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Whether the caller gave the parameter a value.
    pub fn has(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// A boolean; false where it is absent and has no default.
    pub fn boolean(&self, name: &str) -> bool {
        self.boolean_if_any(name).unwrap_or(false)
    }

    /// A boolean; `None` where it is absent and has no default.
    pub fn boolean_if_any(&self, name: &str) -> Option<bool> {
        match self.given(name) {
            Some(Given::Boolean(value)) => Some(*value),
            _ => self.default(name, &[Kind::Boolean]).and_then(parse_boolean),
        }
    }

    /// A whole number.
    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.given(name) {
            Some(Given::Integer(value)) => Some(*value),
            _ => self.default(name, &[Kind::Integer]).and_then(|text| text.parse().ok()),
        }
    }

    /// Which part of a listing `limit` and `offset` ask for; without `limit` all.
    pub fn page(&self) -> Page {
        let number = |name| self.integer(name).and_then(|number| usize::try_from(number).ok());
        Page { offset: number("offset").unwrap_or(0), limit: number("limit").unwrap_or(usize::MAX) }
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

    /// A text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.given(name) {
            Some(Given::Text(value)) => Some(value),
            _ => self.default(name, &[Kind::Text, Kind::Source]),
        }
    }

    /// Whether the endpoint has a parameter of that name.
    pub fn lists(&self, name: &str) -> bool {
        find(self.route, name).is_some()
    }

    /// A list of texts, in the order that they came in; empty where it is absent.
    pub fn list(&self, name: &str) -> &[String] {
        match self.given(name) {
            Some(Given::List(values)) => values,
            _ => {
                self.default(name, &[Kind::TextList]);
                &[]
            }
        }
    }

    /// The display options.
    pub fn display(&self) -> Display {
        debug_assert!(find(self.route, "showJson").is_some(), "{} has no display options", self.route.id);
        let additional_info = self.route.query.iter().any(|listed| match *listed {
            QueryParam::Display { additional_info, .. } => additional_info,
            QueryParam::One { .. } => false,
        });
        let mut display = Display::with_defaults(additional_info);
        for (name, value) in &self.given {
            if let Given::Boolean(value) = value {
                display.set(name, *value);
            }
        }
        display
    }

    /// The default of a parameter that should be listed, and as one of these kinds.
    fn default(&self, name: &str, kinds: &[Kind]) -> Option<&'static str> {
        let parameter = find(self.route, name);
        debug_assert!(
            parameter.is_some_and(|parameter| kinds.contains(&parameter.kind)),
            "{} has no parameter {name} of that kind",
            self.route.id
        );
        parameter.and_then(|parameter| parameter.default)
    }
}

/// The parameter of a name: the endpoint's own, or one that is taken everywhere.
fn find(route: &'static Route, name: &str) -> Option<Parameter> {
    let is_meant = |known: &str| known.eq_ignore_ascii_case(name);
    // The display options last: there are many of them, and none is called as another parameter is.
    route
        .query
        .iter()
        .find_map(|listed| match *listed {
            QueryParam::One { name, kind, required, default, about } if is_meant(name) => {
                Some(Parameter { name, kind, required, default, about })
            }
            _ => None,
        })
        .or_else(|| FILTERS.into_iter().filter(|_| route.filters).find(|parameter| is_meant(parameter.name)))
        .or_else(|| EVERYWHERE.into_iter().find(|parameter| is_meant(parameter.name)))
        .or_else(|| parameters(route).find(|parameter| is_meant(parameter.name)))
}

fn parse_integer(name: &str, value: &str) -> Result<i64> {
    let counts = COUNTS.contains(&name);
    let wanted = if counts { "a whole number from 0 on" } else { "a whole number" };
    let read = value.parse::<i64>().ok().filter(|number| !counts || *number >= 0);
    read.ok_or_else(|| Error::parameter(name, value, wanted))
}
