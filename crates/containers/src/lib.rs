//! The endpoints of the containers that newsrooms work in: drawers, liveblogs, topics and topic
//! plans, with their feeds, calendars and tables.
//!
//! One module for each resource, with its routes, handlers and types on the wire. `stet-api` lists
//! the routes. Nothing here knows the endpoints of objects, folders or users; `stet-endpoint` has
//! what they share. [`correlates`] shows the links of objects as well, because they may lead to
//! items of topics.

pub mod correlates;
pub mod drawer;
pub mod history;
pub mod liveblog;
pub mod topic;
pub mod topicplan;

use stet_config::Config;
use stet_web::app::HandlerState;

/// Returns the caches that the handlers keep between calls.
pub fn handler_state(config: &Config) -> HandlerState {
    let caches = config.memory.caches();
    let pages = if config.liveblog.public.is_on() { caches.pages() } else { 0 };
    HandlerState::default()
        .with(drawer::RenderedDrawers::new(caches.drawers() - pages))
        .with(liveblog::KeptPosts::new(caches.posts()))
        .with(topic::KeptStructures::new(caches.structures()))
        .with(topic::KeptItems::new(caches.topic_items()))
        .with(liveblog::ResolvedLengths::new(caches.lengths()))
        .with(liveblog::public::KeptPages::new(pages))
}

#[cfg(test)]
fn surface(config: &Config) -> stet_web::app::ServedEndpoints {
    use stet_web::route::{EndpointGroup, Route};
    const TABLES: &[&[Route]] = &[drawer::routes::ROUTES, liveblog::post::routes::ROUTES, topicplan::routes::ROUTES];
    const GROUPS: &[EndpointGroup] = &[EndpointGroup { name: "containers", about: "", tables: TABLES }];
    stet_web::app::ServedEndpoints { groups: GROUPS, kept: handler_state(config), readers: liveblog::public::answer }
}
