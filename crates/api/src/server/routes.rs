//! The server itself.

use stet_web::route::words::*;

use crate::server;

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "stet-server-doctor-get",
        path: "/v3/server/doctor",
        summary: "Examine the machine, the configuration and the data directory of the running server.",
        codes: CODES_WITHOUT_OBJECT,
        handler: handler!(server::doctor),
        ..base(Verb::Get, Privilege::Configure, "docs/api/server.md")
    },
    Route {
        id: "stet-server-backup-get",
        path: "/v3/server/backup",
        summary: "Show what the continuous backup has, and what is wrong with it.",
        codes: CODES_WITHOUT_OBJECT,
        handler: handler!(server::backup),
        ..base(Verb::Get, Privilege::Configure, "docs/api/server.md")
    },
];
