//! Concurrent histories, recorded over HTTP and checked for linearizability. One order of the calls
//! must explain all answers when the calls are carried out one after the other on a plain
//! whiteboard. In it, no call precedes one that had been answered before its start. Reads count as
//! calls. There are histories of drawers, posts of a liveblog, the content and the lock of an
//! object, topics, and plans.
//!
//! In some rounds the server is killed (`kill -9`) and started again. A call without an answer may
//! have been carried out or not. Every answer must still be explained.
//!
//! `STET_HISTORY_ROUNDS` sets the number of rounds of six histories (36 of drawers, 16 of topics
//! and of plans, 12 of each other kind). `STET_HISTORY_SEED` repeats the clients' choices.

mod checker;
mod drawers;
pub mod newsroom;
pub mod objects;
pub mod plans;
mod plants;
mod posts;
pub mod record;
mod tell;
pub mod topics;

use std::time::Instant;

use self::drawers::Drawers;
use self::newsroom::{Plan, Subject, run};
use self::objects::Object;
use self::plans::Plans;
use self::posts::LiveBlog;
use self::topics::Topics;
use crate::harness::{seed, setting};

fn is_explained<S: Subject>(rounds: u64) {
    let (seed, begun) = (seed("STET_HISTORY_SEED"), Instant::now());
    let rounds = setting("STET_HISTORY_ROUNDS").unwrap_or(rounds) as usize;
    let plan = Plan { seed, rounds, kills_every: Some(4), settings: &[] };
    let done = run::<S>(&plan).unwrap_or_else(|story| panic!("{story}"));
    println!("{done}, {:.1} s", begun.elapsed().as_secs_f64());
    // Otherwise it has shown nothing.
    assert!(done.overlapping > done.calls / 4, "{done:?}");
    assert!(done.undecided <= done.histories / 20, "{done:?}");
    assert!(rounds < 4 || (done.kills > 0 && done.unknown > 0), "{done:?}");
}

#[test]
fn every_drawer_history_is_explained_by_one_order_across_crashes_too() {
    is_explained::<Drawers>(36);
}

#[test]
fn every_post_history_is_explained_by_one_order_across_crashes_too() {
    is_explained::<LiveBlog>(12);
}

#[test]
fn every_content_history_is_explained_by_one_order_across_crashes_too() {
    is_explained::<Object<false>>(12);
}

#[test]
fn every_lock_history_is_explained_by_one_order_across_crashes_too() {
    is_explained::<Object<true>>(12);
}

#[test]
fn every_topic_history_is_explained_by_one_order_across_crashes_too() {
    is_explained::<Topics>(16);
}

#[test]
fn every_plan_history_is_explained_by_one_order_across_crashes_too() {
    is_explained::<Plans>(16);
}
