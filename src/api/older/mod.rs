//! The older, unversioned resources.

pub mod routes;
