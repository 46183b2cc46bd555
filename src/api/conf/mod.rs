//! Configuration.

pub mod routes;
