//! The checks of received events that do not depend on the kind of container.

use super::FollowerOutcome;
use super::board::BoardSummary;
use crate::figures::{format_count, number};

/// The received events by revision, from the first of the load on, and the outcome for the
/// followers.
pub struct ReceivedEvents<'h> {
    /// The received event of each revision.
    pub what: &'h [Box<str>],
    /// The number of impossible events, and the first of them.
    pub odd: &'h (u64, Option<String>),
    /// The outcome for the followers.
    pub followed: &'h FollowerOutcome,
}

impl<'h> ReceivedEvents<'h> {
    /// Combines a summary with the outcome for the followers.
    pub fn of(summary: &'h BoardSummary, followed: &'h FollowerOutcome) -> ReceivedEvents<'h> {
        ReceivedEvents { what: &summary.what, odd: &summary.odd, followed }
    }

    /// Checks the events. `compare` compares them with the acknowledged changes. Adds a sentence
    /// for each fault, or one that there is none.
    pub fn look(
        &self,
        details: &mut Vec<String>,
        problems: &mut Vec<String>,
        compare: impl FnOnce(&ReceivedEvents<'_>, &mut Vec<String>),
    ) {
        let before = problems.len();
        compare(self, problems);
        if let (count, Some(first)) = self.odd {
            problems.push(format!("{} impossible: {first}", format_count(*count, "event is", "events are")));
        }
        self.followed(problems);
        if problems.len() == before {
            details.push(self.all_heard());
        }
        let drops = self.followed.faults.drops();
        if drops > 0 {
            details.push(format!(
                "Streams ended {} and resumed {}, {} of these with the instruction to read again; {} not connected at \
                 the end.",
                format_count(drops, "time", "times"),
                format_count(self.followed.faults.resumed, "time", "times"),
                number(self.followed.faults.resets),
                format_count(self.followed.away, "follower was", "followers were")
            ));
        }
    }

    fn all_heard(&self) -> String {
        let FollowerOutcome { whole, followers, .. } = *self.followed;
        let of = if whole == followers { "All".to_owned() } else { number(whole) + " of" };
        format!(
            "{of} {} received all {}, each once and in order.",
            format_count(followers, "follower", "followers"),
            format_count(self.what.len() as u64, "revision", "revisions")
        )
    }

    /// Checks that each follower that stayed connected received everything, once and in order.
    fn followed(&self, problems: &mut Vec<String>) {
        let faults = &self.followed.faults;
        for (count, words) in [
            (faults.gaps, "left out of the events for followers"),
            (faults.repeats, "sent to followers again, or out of order"),
        ] {
            if count > 0 {
                problems.push(format!("{} {words}", format_count(count, "revision was", "revisions were")));
            }
        }
        if faults.gaps + faults.repeats > 0 {
            problems.extend(faults.words.iter().cloned());
        }
        if let Some((number_of_one, last)) = self.followed.behind.first() {
            problems.push(format!(
                "{} there never received the last revision: follower {number_of_one}, for one, ended with {last}",
                format_count(self.followed.behind.len() as u64, "follower that was", "followers that were")
            ));
        }
    }
}
