//! Web containers.

pub mod routes;
