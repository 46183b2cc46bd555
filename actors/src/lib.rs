//! The actors that serialise changes: one for each container in use, and one for each configuration
//! cache, on threads of their own and under supervision.
//!
//! Dependencies run one way: [`runtime`] (containers, turns, registry; the actor of each [`cache`])
//! ← [`families`], the list of all families ← [`repository`]. The web layer holds a
//! [`repository::Repository`] for changes or its [`repository::Reader`].

pub mod cache;
pub mod families;
mod remains;
pub mod repository;
pub mod rows;
pub mod runtime;
pub mod thread;
