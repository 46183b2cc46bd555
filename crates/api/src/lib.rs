//! Thin handlers, one module for each resource, named as in the interface. Each reads the request,
//! calls the repository, and replies.
//!
//! Everything about an endpoint is stated once, in its row beside its handler. The router, the
//! checks, the OpenAPI document and the contract test read the tables of rows, which [`GROUPS`]
//! lists.

pub mod audit;
pub mod auth;
pub mod bundle;
pub mod cache;
pub mod channel_copy;
pub mod conf;
mod configuration;
pub mod crossreference;
pub mod drawer;
mod dtd;
pub mod events;
pub mod folder;
mod form;
pub mod group;
mod kept;
pub mod key;
mod linked;
pub mod liveblog;
pub mod message;
pub mod object;
pub mod older;
pub mod opendocument;
pub mod print;
pub mod records;
pub mod recyclebin;
pub mod requests;
pub mod session;
mod settled;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod topic;
pub mod topicplan;
pub mod user;
pub mod web;
mod whole;

use stet_config::Config;
use stet_web::app::{HandlerState, ServedEndpoints};
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
    table_of("audit", "The audit trail of changes.", &[audit::routes::ROUTES]),
    table_of("events", "Live events of containers.", &[events::routes::ROUTES]),
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
    let kept = HandlerState::default()
        .with(drawer::RenderedDrawers::new(config.memory.caches().drawers()))
        .with(liveblog::KeptPosts::new(config.memory.caches().posts()))
        .with(topic::KeptStructures::new(config.memory.caches().structures()))
        .with(topic::KeptItems::new(config.memory.caches().topic_items()))
        .with(liveblog::ResolvedLengths::new(config.memory.caches().lengths()));
    ServedEndpoints { groups: GROUPS, kept }
}
