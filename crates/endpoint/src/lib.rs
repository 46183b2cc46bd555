//! Parts of requests and replies that the endpoints of several resources share.
//!
//! Nothing here knows which endpoints exist, or how a single resource looks on the wire. A reader
//! starts with [`requests`] (sources, databases, options), [`records`] (objects in replies, bulk
//! replies) and [`settled`] (each part of a container in one state). [`content`] and [`whole`] send
//! bytes, [`form`] receives them, and [`kept`] caches rendered replies.

pub mod content;
pub mod dtd;
pub mod form;
pub mod kept;
pub mod linked;
pub mod records;
pub mod requests;
pub mod settled;
pub mod whole;
