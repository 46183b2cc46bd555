//! Tests of the actors from outside: one binary, for linking each alone takes longer than running
//! it.

mod beside;
mod bundles;
mod cache;
mod checkout;
mod common;
mod depth;
mod families;
mod large;
mod liveblog;
mod memory;
mod places;
mod readable;
mod runtime_model;
mod runtime_rules;
mod statuses;
mod subtrees;
mod topics;
