//! The console: its files over HTTP, and its pages in a browser.

mod access;
mod browser;
mod drawers;
mod driving;
mod files;
mod folders;
mod front;
mod liveblogs;
mod messages;
mod planning;
mod templates;
mod typing;

use crate::harness::*;
