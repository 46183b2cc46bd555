//! The administration of users, groups, keys, sessions and webhooks: over HTTP, and with `stet
//! user`, `stet group`, `stet key`, `stet session` and `stet webhook`. `stet reindex` makes
//! the index of the search anew. `stet audit` reads the trail
//! of a running server in the same way.
//!
//! A command sends its request to the server that has the data directory open, through the Unix
//! socket `admin.sock` in that directory. If no server listens, the command opens the directory
//! itself and runs the same code, `Admin::carry_out`. The socket asks for no password, because
//! any user who may open it may read and write the data directory anyway. So it is the way back in
//! for an operator who has been locked out.

pub mod command;
mod local;
mod print;
pub mod reindex;
pub(crate) mod socket;
pub mod webhook;

pub(crate) use self::local::carry_out;
