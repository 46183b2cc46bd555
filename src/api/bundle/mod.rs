//! Bundles.

pub mod routes;
