//! The criteria of a search, from the query or the body of a call.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use stet_base::nearest::with_nearest;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::ObjectSource;
use stet_domain::object::FamilyKind;
use stet_domain::store::EventId;
use stet_search::{Category, KINDS, MAX_QUERY_BYTES, QueryOptions, SearchCriteria, SearchQuery, SortOrder, WaitTarget};
use stet_web::call::Call;
use stet_web::query::Query;

/// Hits of a page without a `limit`, and the most allowed.
const LIMITS: (usize, usize) = (20, 100);

/// Maximum number of values of all filters.
const MOST_VALUES: usize = 200;

/// Maximum number of suggestions.
pub(super) const MOST_SUGGESTIONS: usize = 50;

/// Body of a search. Everything may be omitted.
#[derive(Default, Deserialize, JsonSchema)]
#[schemars(rename = "SearchCriteria")]
#[serde(rename_all = "camelCase", default)]
pub struct SearchBody {
    /// Words to find, in the query language. Without it, everything matches.
    query: Option<String>,
    /// Kinds of hits: `object`, `post`, `message`.
    kinds: Option<Vec<String>>,
    /// Types of objects; of posts, their option `type`.
    types: Option<Vec<String>>,
    /// Families of objects.
    families: Option<Vec<String>>,
    /// Workflow statuses; of posts, their status.
    status: Option<Vec<String>>,
    /// Names of the users who created the object, wrote the post or sent the message.
    author: Option<Vec<String>>,
    /// Folder in which objects and posts must lie, at any depth: loid, uuid or path.
    folder: Option<String>,
    /// Earliest time of the last change, epoch milliseconds.
    from: Option<i64>,
    /// End of the times of the last change, exclusive, epoch milliseconds.
    to: Option<i64>,
    /// Order: `relevance`, `modified`, `created` or `name`, with `:asc` or `:desc` if wanted.
    sort: Option<String>,
    /// Categories to count: `kind`, `family`, `type`, `status`, `author`.
    facets: Option<Vec<String>>,
    /// Maximum number of hits, at most 100; 20 by default.
    limit: Option<i64>,
    /// Number of hits to skip; hits behind the first 10000 are not shown.
    offset: Option<i64>,
    /// Whether hits have extracts; true by default.
    highlight: Option<bool>,
    /// Whether the last word is the beginning of a word.
    as_you_type: Option<bool>,
    /// `now`, or id of an event: wait until that change can be found, at most two seconds.
    wait_for: Option<String>,
    /// Display options.
    #[schemars(with = "Option<Value>")]
    options: Option<IgnoredAny>,
}

impl SearchBody {
    /// Reads the criteria from the query of a call.
    ///
    /// # Errors
    /// None at present: values are checked by [`criteria_of`].
    pub(super) fn of_query(query: &Query) -> Result<SearchBody> {
        let text = |name: &str| query.text(name).map(str::to_owned);
        let list = |name: &str| Some(query.list(name).to_vec());
        Ok(SearchBody {
            query: text("query"),
            kinds: list("kinds"),
            types: list("types"),
            families: list("families"),
            status: list("status"),
            author: list("author"),
            folder: text("folder"),
            from: query.integer("from"),
            to: query.integer("to"),
            sort: text("sort"),
            facets: list("facets"),
            limit: query.integer("limit"),
            offset: query.integer("offset"),
            highlight: Some(query.boolean("highlight")),
            as_you_type: Some(query.boolean("asYouType")),
            wait_for: text("waitFor"),
            options: None,
        })
    }
}

/// Checks the criteria of a call.
///
/// # Errors
/// `InvalidParameter`, `TooLarge`; `ObjectNotFound` and `InvalidType` for the folder.
pub(super) fn criteria_of(call: &Call, body: SearchBody) -> Result<SearchCriteria> {
    let limit = number_between("limit", body.limit, LIMITS.0, 0, LIMITS.1)?;
    let offset = number_between("offset", body.offset, 0, 0, usize::MAX)?;
    let query = body.query.unwrap_or_default();
    let options = QueryOptions { as_you_type: body.as_you_type.unwrap_or(false), ..QueryOptions::default() };
    let query = SearchQuery::parse(short_query(&query)?, options)
        .map_err(|error| Error::new(Code::InvalidParameter, format!("`query` can't be read: {error}.")))?;
    let facets = named_values("facets", body.facets.unwrap_or_default(), &Category::ALL.map(Category::name))?;
    let facets = Category::ALL.into_iter().filter(|category| facets.iter().any(|name| name == category.name()));
    let (sort, ascending) = sort_of(body.sort.as_deref().unwrap_or_default())?;
    let filters = [
        (Category::Kind, named_values("kinds", body.kinds.unwrap_or_default(), &KINDS)?),
        (Category::Family, named_values("families", body.families.unwrap_or_default(), &FamilyKind::NAMES)?),
        (Category::Type, body.types.unwrap_or_default()),
        (Category::Status, body.status.unwrap_or_default()),
        (Category::Author, body.author.unwrap_or_default()),
    ];
    let values: usize = filters.iter().map(|(_, values)| values.len()).sum();
    if values > MOST_VALUES {
        let message = format!("The filters have {values} values; at most {MOST_VALUES} are allowed.");
        return Err(Error::new(Code::TooLarge, message).with_detail("limit", MOST_VALUES));
    }
    let folder = body.folder.filter(|folder| !folder.is_empty());
    Ok(SearchCriteria {
        query,
        include: filters.into_iter().filter(|(_, values)| !values.is_empty()).collect(),
        within: folder.map(|folder| folder_of(call, &folder)).transpose()?,
        from_ms: body.from,
        to_ms: body.to,
        sort,
        ascending,
        facets: facets.collect(),
        limit,
        offset,
        highlight: body.highlight.unwrap_or(true),
        wait: body.wait_for.as_deref().filter(|text| !text.is_empty()).map(wait_target).transpose()?,
    })
}

/// Returns the words of a query.
///
/// # Errors
/// `TooLarge` for a query that is too long.
pub(super) fn short_query(query: &str) -> Result<&str> {
    if query.len() <= MAX_QUERY_BYTES {
        return Ok(query);
    }
    let message = format!("`query` has {} bytes; at most {MAX_QUERY_BYTES} are allowed.", query.len());
    Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_QUERY_BYTES))
}

/// Checks a number.
///
/// # Errors
/// `InvalidParameter`.
pub(super) fn number_between(
    name: &str,
    given: Option<i64>,
    default: usize,
    least: usize,
    most: usize,
) -> Result<usize> {
    let Some(number) = given else { return Ok(default) };
    let fits = usize::try_from(number).ok().filter(|number| (least..=most).contains(number));
    fits.ok_or_else(|| Error::parameter(name, number, &format!("between {least} and {most}")))
}

/// Checks values that must be known names, without regard to case.
fn named_values(field: &str, values: Vec<String>, known: &[&str]) -> Result<Vec<String>> {
    let find = |value: String| {
        let found = known.iter().find(|name| name.eq_ignore_ascii_case(&value));
        found.map(|name| (*name).to_owned()).ok_or_else(|| {
            let error = Error::parameter(field, &value, &format!("one of {}", known.join(", ")));
            with_nearest(error, &value, known.iter().copied())
        })
    };
    values.into_iter().filter(|value| !value.is_empty()).map(find).collect()
}

fn sort_of(text: &str) -> Result<(SortOrder, Option<bool>)> {
    let wanted = "`relevance`, `modified`, `created` or `name`, and `:asc` or `:desc` behind it if wanted";
    let fault = || Error::parameter("sort", text, wanted);
    let (field, direction) = text.split_once(':').map_or((text, None), |(field, direction)| (field, Some(direction)));
    let sort = match field {
        "" | "relevance" => SortOrder::Relevance,
        "modified" => SortOrder::Modified,
        "created" => SortOrder::Created,
        "name" => SortOrder::Name,
        _ => return Err(fault()),
    };
    let ascending = match direction {
        None => None,
        Some("asc") => Some(true),
        Some("desc") => Some(false),
        Some(_) => return Err(fault()),
    };
    Ok((sort, ascending))
}

fn wait_target(text: &str) -> Result<WaitTarget> {
    if text.eq_ignore_ascii_case("now") {
        return Ok(WaitTarget::Now);
    }
    let event =
        EventId::parse(text).ok_or_else(|| Error::parameter("waitFor", text, "`now`, or the id of an event"))?;
    Ok(WaitTarget::Event(event))
}

fn folder_of(call: &Call, folder: &str) -> Result<stet_domain::id::Loid> {
    let source = ObjectSource::parse("folder", folder)?;
    let found = call.find_seen(&source, call.database()?)?;
    if !found.family.holds_by_name() {
        let message = format!("`{source}` is no folder or bundle, in which objects lie.");
        return Err(Error::new(Code::InvalidType, message).with_source(&source));
    }
    Ok(found.loid)
}
