//! The domain of stet and the actors that serialise its changes.
//!
//! Dependencies run one way: [`id`], [`error`] and [`ends`] ← [`store`] and [`object`] ←
//! [`readable`], [`rules`] and [`workflow`] ← [`command`], [`family`] and [`joint`] ← [`folder`],
//! [`amend`] ← [`checkout`], [`document`] ← [`lifecycle`] ← the other families ([`drawer`],
//! [`liveblog`], [`topic`], [`topic_plan`], [`bundle`], [`web_container`]) ← [`correlate`],
//! [`metadata`], [`status`] and [`runtime`] (which has the actors of each [`cache`], too) ←
//! [`families`] ← [`repository`]. There is no HTTP here and no database engine: the web layer holds
//! a [`repository::Repository`] and its [`repository::Reader`], and persistence implements
//! [`store::Store`].

pub mod amend;
pub mod bundle;
pub mod cache;
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
pub mod families;
pub mod family;
pub mod folder;
pub mod id;
pub mod joint;
pub mod layered;
pub mod lifecycle;
pub mod lineup;
pub mod liveblog;
pub mod metadata;
pub mod object;
pub mod part;
#[cfg(feature = "planted-bugs")]
pub mod planted;
pub mod proof;
pub mod readable;
pub mod receipt;
mod remains;
pub mod repository;
pub mod rows;
pub mod rules;
pub mod runtime;
pub mod sequence;
pub mod status;
pub mod store;
pub mod thread;
pub mod topic;
pub mod topic_plan;
pub mod trace;
pub mod usage;
pub mod web_container;
pub mod workflow;
