//! Opening of generic containers.

pub mod routes;
