//! The checks of received events that do not depend on the kind of container.

use super::Followed;
use super::board::BoardSummary;
use crate::figures::{counted, number};

/// The received events by revision, from the first of the load on, and the outcome for the
/// followers.
pub struct Heard<'h> {
    /// The received event of each revision.
    pub what: &'h [Box<str>],
    /// The number of impossible events, and the first of them.
    pub odd: &'h (u64, Option<String>),
    /// The outcome for the followers.
    pub followed: &'h Followed,
}

impl<'h> Heard<'h> {
    /// Combines a summary with the outcome for the followers.
    pub fn of(summary: &'h BoardSummary, followed: &'h Followed) -> Heard<'h> {
        Heard { what: &summary.what, odd: &summary.odd, followed }
    }

    /// Checks the events. `compare` compares them with the acknowledged changes. Adds a sentence
    /// for each fault, or one that there is none.
    pub fn look(
        &self,
        details: &mut Vec<String>,
        problems: &mut Vec<String>,
        compare: impl FnOnce(&Heard<'_>, &mut Vec<String>),
    ) {
        let before = problems.len();
        compare(self, problems);
        if let (count, Some(first)) = self.odd {
            problems.push(format!("{} can't be: {first}", counted(*count, "event", "events")));
        }
        self.followed(problems);
        if problems.len() == before {
            details.push(self.all_heard());
        }
        let drops = self.followed.faults.drops();
        if drops > 0 {
            details.push(format!(
                "Streams ended {} and went on {}, {} of these with the word to read anew; {} not back in the end.",
                counted(drops, "time", "times"),
                counted(self.followed.faults.resumed, "time", "times"),
                number(self.followed.faults.resets),
                counted(self.followed.away, "follower was", "followers were")
            ));
        }
    }

    fn all_heard(&self) -> String {
        let Followed { whole, followers, .. } = *self.followed;
        let of = if whole == followers { "All".to_owned() } else { number(whole) + " of" };
        format!(
            "{of} {} heard of all {}, each once and in order.",
            counted(followers, "follower", "followers"),
            counted(self.what.len() as u64, "revision", "revisions")
        )
    }

    /// Checks that each follower that stayed connected received everything, once and in order.
    fn followed(&self, problems: &mut Vec<String>) {
        let faults = &self.followed.faults;
        for (count, words) in [
            (faults.gaps, "left out of what followers heard"),
            (faults.repeats, "told to followers again, or out of order"),
        ] {
            if count > 0 {
                problems.push(format!("{} {words}", counted(count, "revision was", "revisions were")));
            }
        }
        if faults.gaps + faults.repeats > 0 {
            problems.extend(faults.words.iter().cloned());
        }
        if let Some((number_of_one, last)) = self.followed.behind.first() {
            problems.push(format!(
                "{} there never heard of the last revision: follower {number_of_one} for one only of {last}",
                counted(self.followed.behind.len() as u64, "follower that was", "followers that were")
            ));
        }
    }
}
