//! Users, groups, keys and sessions as an operator or administrator looks after them: over HTTP,
//! and with `stet user`, `stet group`, `stet key` and `stet session`. `stet audit` reads the trail
//! of a running server the same way.
//!
//! A command speaks to the server that has the data directory open, through the Unix socket
//! `admin.sock` in it; if nobody listens there, it opens the directory itself, and does the same by
//! the same code, [`Admin::carry_out`]. Who may open the socket may read and write the data
//! directory anyway, so it asks for no password: it is the way back in for an operator who has been
//! locked out.

pub mod command;
mod local;
mod operations;
mod print;
pub(crate) mod socket;
mod views;

pub(crate) use self::local::carry_out;
pub use self::operations::{Admin, AdminReply, AdminRequest, Done};
pub use self::views::{GroupUpdate, KeyRequest, KeyView, Secret, SessionView, UserChange, UserView};
