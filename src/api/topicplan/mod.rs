//! Topic plans.

pub mod routes;
