//! Configuration caches (docs/api/README.md, "Not served yet").

use crate::http::route::words::*;

const READ: Route = Route { codes: A, ..base(Verb::Get, Privilege::Read, "docs/api/README.md#not-served-yet") };
/// A refresh is a GET too, but not everyone's.
const REFRESH: Route = Route { privilege: Some(Privilege::Configure), ..READ };

const DATABASE_ID: PathParam = word("databaseId", "number or name of the database");

/// The six operations on the cache of one family.
macro_rules! families {
    ($($family:literal),+ $(,)?) => { &[$(
        Route {
            id: concat!("cache-", $family, "-get"),
            path: concat!("/v3/conf/cache/", $family),
            summary: concat!("Read the ", $family, " cache of all connected databases."),
            ..READ
        },
        Route {
            id: concat!("cache-", $family, "-refresh-get"),
            path: concat!("/v3/conf/cache/", $family, "/refresh"),
            summary: concat!("Refresh the ", $family, " cache of all connected databases."),
            ..REFRESH
        },
        Route {
            id: concat!("cache-", $family, "-timestamp-get"),
            path: concat!("/v3/conf/cache/", $family, "/timestamp"),
            summary: concat!("Say when the ", $family, " cache of each database was last updated."),
            ..READ
        },
        Route {
            id: concat!("cache-", $family, "-db-get"),
            path: concat!("/v3/conf/cache/", $family, "/{databaseId}"),
            summary: concat!("Read the ", $family, " cache of one database."),
            path_params: &[DATABASE_ID],
            ..READ
        },
        Route {
            id: concat!("cache-", $family, "-refresh-db-get"),
            path: concat!("/v3/conf/cache/", $family, "/refresh/{databaseId}"),
            summary: concat!("Refresh the ", $family, " cache of one database."),
            path_params: &[DATABASE_ID],
            ..REFRESH
        },
        Route {
            id: concat!("cache-", $family, "-timestamp-db-get"),
            path: concat!("/v3/conf/cache/", $family, "/timestamp/{databaseId}"),
            summary: concat!("Say when the ", $family, " cache of one database was last updated."),
            path_params: &[DATABASE_ID],
            ..READ
        },
    )+] };
}

/// The caches of the families, one by one.
pub const FAMILIES: &[Route] = families!["commands", "groups", "jobs", "objecttypes", "users", "workflows"];

/// All caches at once.
pub const ALL: &[Route] = &[
    Route {
        id: "cache-all-refresh-get",
        path: "/v3/conf/cache/refresh",
        summary: "Refresh every system cache.",
        ..REFRESH
    },
    Route {
        id: "cache-all-refresh-db-get",
        path: "/v3/conf/cache/refresh/{databaseId}",
        summary: "Refresh every system cache of one database.",
        path_params: &[DATABASE_ID],
        ..REFRESH
    },
    Route {
        id: "cache-all-timestamp-get",
        path: "/v3/conf/cache/timestamp",
        summary: "Say when each system cache was last updated.",
        ..READ
    },
    Route {
        id: "cache-all-timestamp-db-get",
        path: "/v3/conf/cache/timestamp/{databaseId}",
        summary: "Say when each system cache of one database was last updated.",
        path_params: &[DATABASE_ID],
        ..READ
    },
];
