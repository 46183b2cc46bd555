//! Search.

use stet_web::route::words::*;

use crate::search::{self, SearchBody};

const ABOUT: &str = "docs/api/search.md";

const QUERY: QueryParam = text("query", None, "Words to find, in the query language. Without it, everything matches.");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "stet-search-get",
        path: "/v3/search",
        summary: "Find objects, posts and messages by words in their texts, names and fields.",
        query: &[
            QUERY,
            list("kinds", false, "Kinds of hits: `object`, `post`, `message`."),
            list("types", false, "Types of objects; of posts, their option `type`."),
            list("families", false, "Families of objects."),
            list("status", false, "Workflow statuses; of posts, their status."),
            list("author", false, "Names of the users who created the object, wrote the post or sent the message."),
            text("folder", None, "Folder in which objects and posts must lie, at any depth: loid, uuid or path."),
            number("from", None, "Earliest time of the last change, epoch milliseconds."),
            number("to", None, "End of the times of the last change, exclusive, epoch milliseconds."),
            text(
                "sort",
                None,
                "Order: `relevance`, `modified`, `created` or `name`, with `:asc` or `:desc` if wanted.",
            ),
            list("facets", false, "Categories to count: `kind`, `family`, `type`, `status`, `author`."),
            number("limit", Some("20"), "Maximum number of hits, at most 100."),
            number("offset", Some("0"), "Number of hits to skip; hits behind the first 10000 are not shown."),
            flag("highlight", true, "Show extracts with the words that were found."),
            flag("asYouType", false, "Take the last word as the beginning of a word."),
            text(
                "waitFor",
                None,
                "`now`, or id of an event: wait until that change can be found, at most two seconds.",
            ),
            DATABASE,
            disp(true),
        ],
        codes: &[200, 401, 403, 404],
        handler: handler!(search::get),
        ..base(Verb::Get, Privilege::Read, ABOUT)
    },
    Route {
        id: "stet-search-post",
        path: "/v3/search",
        summary: "Find objects, posts and messages, the criteria in the body.",
        query: &[DATABASE],
        body: optional::<SearchBody>(BodySizeRule::Long),
        codes: &[200, 401, 403, 404],
        handler: handler!(search::post),
        ..base(Verb::Post, Privilege::Read, ABOUT)
    },
    Route {
        id: "stet-search-suggest-get",
        path: "/v3/search/suggest",
        summary: "Suggest words that continue the last word of a query.",
        query: &[
            needed("query", "Words typed so far."),
            number("limit", Some("10"), "Maximum number of suggestions, at most 50."),
        ],
        codes: CODES_WITHOUT_OBJECT,
        handler: handler!(search::suggest),
        ..base(Verb::Get, Privilege::Read, ABOUT)
    },
];
