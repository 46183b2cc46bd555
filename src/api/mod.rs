//! Thin handlers, one file a resource, named as in the interface: extract, ask, reply.

mod attributes;
pub mod audit;
pub mod auth;
mod configuration;
mod download;
pub mod drawer;
mod dtd;
pub mod events;
pub mod folder;
mod form;
pub mod group;
pub mod key;
pub mod liveblog;
pub mod object;
mod place;
pub mod records;
pub mod requests;
pub mod session;
pub mod user;
mod whole;
