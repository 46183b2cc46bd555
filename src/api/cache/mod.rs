//! Configuration caches.

pub mod routes;
