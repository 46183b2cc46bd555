//! The domain of stet: identifiers, objects, the families of containers, and their commands. There
//! is no actor here, no HTTP and no database engine: commands are synchronous functions, and
//! persistence implements [`store::Store`].
//!
//! Dependencies run one way: [`id`], [`error`] and [`ends`] ← [`store`] and [`object`] ←
//! [`readable`], [`rules`] and [`workflow`] ← [`command`], [`family`] and [`joint`] ← [`folder`],
//! [`amend`] ← [`checkout`], [`document`] ← [`lifecycle`] ← the other families ← [`correlate`],
//! [`metadata`] and [`status`].

pub mod amend;
pub mod bundle;
pub mod checkout;
pub mod clock;
pub mod command;
pub mod correlate;
pub mod count;
pub mod document;
pub mod drawer;
pub mod ends;
pub mod error;
pub mod expect;
pub mod family;
pub mod folder;
pub mod history;
pub mod id;
pub mod joint;
pub mod layered;
pub mod lifecycle;
pub mod liveblog;
pub mod metadata;
pub mod object;
pub mod part;
pub mod planning;
#[cfg(feature = "planted-bugs")]
pub mod planted;
pub mod proof;
pub mod readable;
pub mod receipt;
pub mod rules;
pub mod sequence;
pub mod status;
pub mod store;
pub mod trace;
pub mod usage;
pub mod web_container;
pub mod workflow;
