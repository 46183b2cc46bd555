//! Histories for people.

use std::fmt::Write;

use super::record::{Call, Whiteboard};
use crate::harness::Answer;

/// The history for people, one line a call.
pub fn told<W: Whiteboard>(history: &[Call<W>]) -> String {
    let last = history.iter().filter_map(|call| Some(call.answered.as_ref()?.0.place)).max();
    let mut text = format!(
        "{}; times in microseconds, in brackets the order of the moments\n\
         client      asked          answered\n",
        W::legend()
    );
    for Call { client, op, asked, answered } in history {
        let (asked_at, place) = (asked.micros, asked.place);
        // Writing to a String can't fail.
        let _ = match answered {
            Some((moment, reply)) => {
                let mark = if Some(moment.place) == last { "   <- nothing explains this" } else { "" };
                let (at, until) = (moment.micros, moment.place);
                writeln!(text, "{client:6} {asked_at:8}[{place:3}] {at:8}[{until:3}]  {op} -> {reply}{mark}")
            }
            None => writeln!(text, "{client:6} {asked_at:8}[{place:3}]  no answer yet      {op}"),
        };
    }
    text
}

/// An answer that nothing explains, for people.
pub fn as_it_came(answer: &Answer) -> String {
    format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body))
}
