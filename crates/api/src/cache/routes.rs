//! Configuration caches (docs/api/caches.md).

use stet_web::route::words::*;

use crate::cache;

const READ: Route = Route { codes: CODES_WITHOUT_OBJECT, ..base(Verb::Get, Privilege::Read, "docs/api/caches.md") };
/// Routes of caches that contain names and addresses of people.
const PEOPLE: Route = Route { about_people: true, ..READ };
/// Routes of refreshes, which are GETs, too, but not open to everyone.
const REFRESH: Route = Route { privilege: Some(Privilege::Configure), effect: CallEffect::Acts, ..READ };

const DATABASE_ID: PathParam = word("databaseId", "number or name of the database");

/// The six operations on the cache of one family.
macro_rules! families {
    ($($family:literal, $kind:path, $read:ident;)+) => { &[$(
        Route {
            id: concat!("cache-", $family, "-get"),
            path: concat!("/v3/conf/cache/", $family),
            summary: concat!("Read the ", $family, " cache of all connected databases."),
            tag: TagRule::OfBytes,
            handler: handler!(cache::read_all::<$kind>),
            ..$read
        },
        Route {
            id: concat!("cache-", $family, "-refresh-get"),
            path: concat!("/v3/conf/cache/", $family, "/refresh"),
            summary: concat!("Refresh the ", $family, " cache of all connected databases."),
            handler: handler!(cache::refresh_all::<$kind>),
            ..REFRESH
        },
        Route {
            id: concat!("cache-", $family, "-timestamp-get"),
            path: concat!("/v3/conf/cache/", $family, "/timestamp"),
            summary: concat!("Report when the ", $family, " cache of each database was last updated."),
            handler: handler!(cache::timestamp_all::<$kind>),
            ..$read
        },
        Route {
            id: concat!("cache-", $family, "-db-get"),
            path: concat!("/v3/conf/cache/", $family, "/{databaseId}"),
            summary: concat!("Read the ", $family, " cache of one database."),
            path_params: &[DATABASE_ID],
            tag: TagRule::OfBytes,
            handler: handler!(cache::read::<$kind>),
            ..$read
        },
        Route {
            id: concat!("cache-", $family, "-refresh-db-get"),
            path: concat!("/v3/conf/cache/", $family, "/refresh/{databaseId}"),
            summary: concat!("Refresh the ", $family, " cache of one database."),
            path_params: &[DATABASE_ID],
            handler: handler!(cache::refresh::<$kind>),
            ..REFRESH
        },
        Route {
            id: concat!("cache-", $family, "-timestamp-db-get"),
            path: concat!("/v3/conf/cache/", $family, "/timestamp/{databaseId}"),
            summary: concat!("Report when the ", $family, " cache of one database was last updated."),
            path_params: &[DATABASE_ID],
            handler: handler!(cache::timestamp::<$kind>),
            ..$read
        },
    )+] };
}

/// The caches of the families, one by one.
pub const FAMILIES: &[Route] = families![
    "commands", cache::CommandCache, READ;
    "groups", cache::GroupCache, PEOPLE;
    "jobs", cache::JobCache, READ;
    "objecttypes", cache::ObjectTypeCache, READ;
    "users", cache::UserCache, PEOPLE;
    "workflows", cache::WorkflowCache, READ;
];

/// All caches at once.
pub const ALL: &[Route] = &[
    Route {
        id: "cache-all-refresh-get",
        path: "/v3/conf/cache/refresh",
        summary: "Refresh every system cache.",
        handler: handler!(cache::refresh_every),
        ..REFRESH
    },
    Route {
        id: "cache-all-refresh-db-get",
        path: "/v3/conf/cache/refresh/{databaseId}",
        summary: "Refresh every system cache of one database.",
        path_params: &[DATABASE_ID],
        handler: handler!(cache::refresh_every_of),
        ..REFRESH
    },
    Route {
        id: "cache-all-timestamp-get",
        path: "/v3/conf/cache/timestamp",
        summary: "Report when each system cache was last updated.",
        handler: handler!(cache::timestamp_every),
        ..READ
    },
    Route {
        id: "cache-all-timestamp-db-get",
        path: "/v3/conf/cache/timestamp/{databaseId}",
        summary: "Report when each system cache of one database was last updated.",
        path_params: &[DATABASE_ID],
        handler: handler!(cache::timestamp_every_of),
        ..READ
    },
];
