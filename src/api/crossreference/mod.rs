//! Cross references between objects.

pub mod routes;
