mod audit;
mod auth;
mod bundle;
mod cache;
mod cas;
mod client_day;
mod clients;
pub mod conf;
mod crossreference;
mod drawer;
pub mod edge;
mod endpoints;
mod events;
mod folder;
mod form;
mod group;
mod http;
mod idempotency;
mod key;
mod liveblog;
mod message;
mod metadata;
mod object;
mod older;
mod paths;
mod rights;
mod search;
mod server;
mod session;
mod status;
mod topic;
mod user;
pub mod webhook;

use self::endpoints::cases::Case;

/// The calls that succeed, of all endpoints.
const CASES: &[&[Case]] = &[
    audit::CASES,
    auth::CASES,
    bundle::CASES,
    cache::CASES,
    conf::CASES,
    crossreference::CASES,
    drawer::CASES,
    events::CASES,
    folder::CASES,
    group::CASES,
    key::CASES,
    liveblog::CASES,
    message::CASES,
    object::CASES,
    older::CASES,
    search::CASES,
    server::CASES,
    session::CASES,
    topic::CASES,
    user::CASES,
    webhook::CASES,
];
