//! The floor of the server: limits of memory, time and rates ([`limits`]), JSON that is
//! rendered once and sent many times ([`json`]), long texts in pieces ([`rope`]), wildcards,
//! dates, suggestions and the wording of errors.
//!
//! The crate knows nothing of a newsroom: callers are holders of memory and time, and values are
//! whatever can be serialised. Readers start at [`limits`].

pub mod disk;
pub mod json;
pub mod limits;
pub mod nearest;
pub mod rope;
pub mod simple_date_format;
pub mod wildcards;
pub mod wording;
