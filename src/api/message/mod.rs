//! Mail between users.

pub mod routes;
