//! Topics.

pub mod routes;
