//! The endpoints, one table per group of the interface. Everything that is said about an endpoint is said here once;
//! the router, the checks, the OpenAPI document and the contract test read it.

mod audit;
mod auth;
mod bundle;
mod cache;
mod channel_copy;
mod conf;
mod crossreference;
mod drawer;
mod events;
mod folder;
mod group;
mod liveblog;
mod message;
mod object;
mod older;
mod opendocument;
mod parts;
mod post;
#[cfg(test)]
mod tests;
mod topic;
mod topicplan;
mod users;
mod web;

use super::route::Route;

/// Endpoints that belong together.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// Name in the reference.
    pub name: &'static str,
    /// One line for the reference.
    pub about: &'static str,
    /// The endpoints, in the interface's order.
    pub tables: &'static [&'static [Route]],
}

const fn group(name: &'static str, about: &'static str, tables: &'static [&'static [Route]]) -> Group {
    Group { name, about, tables }
}

/// The groups, in the interface's order.
pub static GROUPS: &[Group] = &[
    group("auth", "Login, logout and the connection.", &[auth::ROUTES]),
    group("bundle", "Bundles and their views.", &[bundle::ROUTES]),
    group("configuration", "Configuration files and what is derived from them.", &[conf::ROUTES]),
    group("cache", "Configuration caches.", &[cache::FAMILIES, cache::ALL]),
    group("channel copy", "Channel copies of a bundle.", &[channel_copy::ROUTES]),
    group("drawer", "Drawers and their items.", &[drawer::ROUTES]),
    group("liveblog", "Liveblogs.", &[liveblog::ROUTES]),
    group("post", "Posts of a liveblog.", &[post::ROUTES]),
    group("open document", "Opening of generic containers.", &[opendocument::ROUTES]),
    group("topic", "Topics, their items and dividers.", &[topic::ROUTES]),
    group("topic plan", "Topic plans.", &[topicplan::ROUTES]),
    group("web", "Web containers.", &[web::ROUTES]),
    group("cross reference", "Cross references between objects.", &[crossreference::ROUTES]),
    group("folder", "Folders and their views.", &[folder::ROUTES, folder::SPECIAL]),
    group("group", "Groups of users.", &[group::ROUTES]),
    group(
        "user",
        "Users, their sessions, and keys for machine clients.",
        &[users::USERS, users::SESSIONS, users::KEYS],
    ),
    group("message", "Mail between users.", &[message::ROUTES]),
    group("object", "Objects and their content.", &[object::ROUTES]),
    group("audit", "Who changed what, and when.", &[audit::ROUTES]),
    group("events", "Following containers live.", &[events::ROUTES]),
    group("older", "The older, unversioned resources.", &[older::ROUTES]),
];

impl Group {
    /// The group's endpoints.
    pub fn routes(&self) -> impl Iterator<Item = &'static Route> + use<> {
        self.tables.iter().flat_map(|table| table.iter())
    }
}

/// Every endpoint.
pub fn all() -> impl Iterator<Item = &'static Route> {
    GROUPS.iter().flat_map(Group::routes)
}
