//! Concurrent histories of drawers, recorded over HTTP and checked for linearizability: whatever many clients at once are answered
//! must be explained by one order of their calls, carried out one after the other on two plain lists, in which no call comes before
//! one that had been answered before it was asked. Reads count as calls.
//!
//! Some of the time the server is killed (`kill -9`) and started again. A call whose answer never came may have been carried out or
//! not, everything that was answered must still be explained.
//!
//! `STET_HISTORY_ROUNDS` says how many rounds of six histories (36), `STET_HISTORY_SEED` repeats the clients' choices.

mod checker;
mod choice;
mod newsroom;
mod plants;
mod record;
mod rules;
mod spec;
mod tell;

use std::time::Instant;

use self::newsroom::{Plan, run};
use crate::harness::{seed, setting};

#[test]
fn what_many_clients_are_answered_is_explained_by_one_order_across_crashes_too() {
    let (seed, begun) = (seed("STET_HISTORY_SEED"), Instant::now());
    let rounds = setting("STET_HISTORY_ROUNDS").unwrap_or(36) as usize;
    let plan = Plan { seed, rounds, kills_every: Some(4), settings: &[] };
    let done = run(&plan).unwrap_or_else(|story| panic!("{story}"));
    println!("{done}, {:.1} s", begun.elapsed().as_secs_f64());
    // Otherwise it has shown nothing.
    assert!(done.overlapping > done.calls / 4, "{done:?}");
    assert!(rounds < 4 || (done.kills > 0 && done.unknown > 0), "{done:?}");
}
