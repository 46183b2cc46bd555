//! Thin handlers, one file a resource, named as in the interface: extract, ask, reply.

mod attributes;
pub mod audit;
pub mod auth;
pub mod bundle;
pub mod cache;
pub mod channel_copy;
pub mod conf;
mod configuration;
pub mod crossreference;
mod download;
pub mod drawer;
mod dtd;
pub mod events;
pub mod folder;
mod form;
pub mod group;
mod kept;
pub mod key;
pub mod liveblog;
pub mod message;
pub mod object;
pub mod older;
pub mod opendocument;
mod place;
pub mod records;
pub mod requests;
pub mod routes;
pub mod session;
mod settled;
pub mod topic;
pub mod topicplan;
pub mod user;
pub mod web;
mod whole;

pub use self::routes::surface;
