//! The console: its files over HTTP, and its pages in a browser.

mod access;
mod admin;
mod api_browser;
mod browser;
mod drawers;
mod driving;
mod files;
mod finding;
mod folders;
mod front;
mod keyboard;
mod liveblogs;
mod messages;
mod objects;
mod pace;
mod planning;
mod public;
mod templates;
mod typing;

use crate::harness::*;
