//! The live event streams of containers (ours).

use stet_web::route::words::*;

use crate::events::{self, PresenceRequest, StreamChangeRequest};

const LAST_EVENT_ID: QueryParam =
    text("lastEventId", None, "Id of the last received event, for clients that can't send `Last-Event-ID`.");

const WAIT: QueryParam =
    flag("wait", true, "Wait for further events; otherwise the reply ends after the stored events.");

const GET: Route = Route {
    query: &[LAST_EVENT_ID, WAIT],
    headers: &["Last-Event-ID"],
    produces: ReplyFormat::Events,
    ..base(Verb::Get, Privilege::Read, "docs/api/events.md")
};

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "stet-events-get",
        path: "/v3/events",
        summary: "Follow several containers on one connection, or everything below a folder: their changes as \
                  server-sent events.",
        query: &[
            list(
                "containers",
                false,
                "The containers: a loid, uuid or path each, from the present on; or a revision, a colon and that, like \
                 `41:1$1.0.4711`, after that revision. A path may not contain a comma.",
            ),
            text(
                "below",
                None,
                "Loid, uuid or path of a folder: follow it and all containers below it, in place of `containers`.",
            ),
            LAST_EVENT_ID,
            WAIT,
        ],
        handler: handler!(events::follow_many),
        ..GET
    },
    Route {
        id: "stet-events-post",
        path: "/v3/events/{stream}",
        summary: "Change which containers an open stream of several follows.",
        path_params: &[word("stream", "name of the stream, from its event `stream`")],
        body: required::<StreamChangeRequest>(BodySizeRule::Long),
        handler: handler!(events::change_stream),
        ..base(Verb::Post, Privilege::Read, "docs/api/events.md")
    },
    Route {
        id: "stet-presence-post",
        path: "/v3/presence",
        summary: "Tell others that the caller looks at a container or edits it, for 45 seconds.",
        body: required::<PresenceRequest>(BodySizeRule::Long),
        handler: handler!(events::note_presence),
        ..base(Verb::Post, Privilege::Read, "docs/api/events.md")
    },
    Route {
        id: "stet-container-events-get",
        path: "/v3/container/{source}/events",
        summary: "Follow a container: its changes as server-sent events, each sent once it is on disk.",
        path_params: &[source("the container: a drawer, a folder, a liveblog or any other object")],
        handler: handler!(events::follow),
        ..GET
    },
    Route {
        id: "stet-liveblog-events-get",
        path: "/v3/container/liveblog/{source}/events",
        summary: "Follow a liveblog: its changes as server-sent events, each sent once it is on disk.",
        path_params: &[source("the liveblog")],
        handler: handler!(events::follow_liveblog),
        ..GET
    },
];
