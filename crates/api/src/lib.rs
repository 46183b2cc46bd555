//! Thin handlers, one module for each resource, named as in the interface. Each reads the request,
//! calls the repository, and replies.

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
pub mod routes;
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

pub use self::routes::surface;
