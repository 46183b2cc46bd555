//! Channel copies of a bundle.

pub mod routes;
