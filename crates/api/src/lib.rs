//! Thin handlers, one module for each resource, named as in the interface. Each reads the request,
//! calls the repository, and replies.
//!
//! Everything about an endpoint is stated once, in its row beside its handler. The router, the
//! checks, the OpenAPI document and the contract test read the tables of rows, which [`GROUPS`]
//! lists: those of this crate, and those of drawers, liveblogs, topics and topic plans in
//! `stet-containers`. `stet-endpoint` has what several resources share. Nothing here knows sockets,
//! the command line, or where data lies.

pub mod audit;
pub mod auth;
pub mod bundle;
pub mod cache;
pub mod channel_copy;
pub mod conf;
mod configuration;
pub mod crossreference;
pub mod events;
pub mod folder;
pub mod group;
pub mod key;
pub mod message;
pub mod object;
pub mod older;
pub mod opendocument;
pub mod print;
pub mod recyclebin;
pub mod search;
pub mod server;
pub mod session;
#[cfg(test)]
mod tests;
pub mod user;
pub mod web;
pub mod webhook;

use stet_config::Config;
use stet_containers::{drawer, history, liveblog, topic, topicplan};
use stet_web::app::ServedEndpoints;
use stet_web::route::{EndpointGroup, Route, all_answer};

const fn table_of(name: &'static str, about: &'static str, tables: &'static [&'static [Route]]) -> EndpointGroup {
    EndpointGroup { name, about, tables }
}

/// The groups, in the interface's order.
pub const GROUPS: &[EndpointGroup] = &[
    table_of("auth", "Login, logout and the connection.", &[auth::routes::ROUTES]),
    table_of("bundle", "Bundles and their views.", &[bundle::routes::ROUTES]),
    table_of("configuration", "Configuration files and data derived from them.", &[conf::routes::ROUTES]),
    table_of("cache", "Configuration caches.", &[cache::routes::FAMILIES, cache::routes::ALL]),
    table_of("channel copy", "Channel copies of a bundle.", &[channel_copy::routes::ROUTES]),
    table_of("drawer", "Drawers and their items.", &[drawer::routes::ROUTES]),
    table_of("liveblog", "Liveblogs.", &[liveblog::routes::ROUTES]),
    table_of("post", "Posts of a liveblog.", &[liveblog::post::routes::ROUTES]),
    table_of("open document", "Opening of generic containers.", &[opendocument::routes::ROUTES]),
    table_of("topic", "Topics, their items and dividers.", &[topic::routes::ROUTES]),
    table_of("topic plan", "Topic plans.", &[topicplan::routes::ROUTES]),
    table_of("web", "Web containers.", &[web::routes::ROUTES]),
    table_of("cross reference", "Cross references between objects.", &[crossreference::routes::ROUTES]),
    table_of("folder", "Folders and their views.", &[folder::routes::ROUTES, folder::routes::SPECIAL]),
    table_of("group", "Groups of users.", &[group::routes::ROUTES]),
    table_of(
        "user",
        "Users, their sessions, and keys for machine clients.",
        &[user::routes::ROUTES, session::routes::ROUTES, key::routes::ROUTES],
    ),
    table_of("message", "Mail between users.", &[message::routes::ROUTES]),
    table_of("object", "Objects and their content.", &[object::routes::ROUTES]),
    table_of("print", "Previews of stories.", &[print::routes::ROUTES]),
    table_of("recycle bin", "Discarded objects.", &[recyclebin::routes::ROUTES]),
    table_of("search", "Search in everything.", &[search::routes::ROUTES]),
    table_of("audit", "The audit trail of changes.", &[audit::routes::ROUTES]),
    table_of("events", "Live events of containers.", &[events::routes::ROUTES]),
    table_of("history", "The history of containers, and taking changes back.", &[history::routes::ROUTES]),
    table_of("webhook", "Reports of changes to other systems.", &[webhook::routes::ROUTES]),
    table_of("server", "The running server itself.", &[server::routes::ROUTES]),
    table_of("older", "The older, unversioned resources.", &[older::routes::ROUTES]),
];

const _: () = all_answer(GROUPS);

/// Returns every endpoint.
#[cfg(any(test, feature = "fuzzing"))]
pub fn all_routes() -> impl Iterator<Item = &'static Route> {
    GROUPS.iter().flat_map(EndpointGroup::routes)
}

/// Returns all that a server with that configuration offers.
pub fn surface(config: &Config) -> ServedEndpoints {
    let kept = stet_containers::handler_state(config);
    ServedEndpoints { groups: GROUPS, kept, readers: stet_containers::liveblog::public::answer }
}
