//! Measured delays between changes and their delivery to followers.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::followers::FollowerOutcome;
use super::followers::board::BoardSummary;
use super::measure::{histogram, micros};

/// The number of points of the course over time, and the shortest period of a point.
const MOMENTS: u32 = 60;
const SHORTEST: Duration = Duration::from_millis(200);

/// The delays of all deliveries. Histograms are in microseconds.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The number of revisions that any follower received.
    pub events: u64,
    /// The number of deliveries to all followers.
    pub deliveries: u64,
    /// The number of deliveries before the answer to the call that made the revision.
    pub before_answer: u64,
    /// The delays of all deliveries since the request of the change was sent.
    pub since_sent: Histogram<u64>,
    /// The delays of all deliveries since the change was answered; 0 for earlier ones.
    pub since_answered: Histogram<u64>,
    /// The delay of each event's last delivery since the request was sent.
    pub last_since_sent: Histogram<u64>,
    /// The delay of each event's last delivery since the change was answered.
    pub last_since_answered: Histogram<u64>,
    /// The last deliveries over time.
    pub course: Vec<DeliveryPeriod>,
    /// The outcome for the followers, and the load of their threads.
    pub followed: FollowerOutcome,
}

/// A period of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeliveryPeriod {
    /// The middle of the period, in seconds since the followers began.
    pub at_s: f64,
    /// The median delay of the period's events in microseconds, from the request to the last
    /// delivery. `None` if nothing was sent.
    pub p50_us: Option<u64>,
    /// The 99th percentile of the delay.
    pub p99_us: Option<u64>,
    /// The greatest delay.
    pub max_us: Option<u64>,
}

impl Delivery {
    /// Creates the figures from a summary.
    pub fn of(summary: BoardSummary, followed: FollowerOutcome) -> Delivery {
        let (mut sent, mut answered) = (histogram(3), histogram(3));
        for (times, last) in &summary.last {
            sent.saturating_record(micros(last.saturating_sub(times.sent)));
            answered.saturating_record(micros(last.saturating_sub(times.answered)));
        }
        let waits: Vec<_> =
            summary.last.iter().map(|(times, last)| (times.sent, last.saturating_sub(times.sent))).collect();
        Delivery {
            events: summary.what.iter().filter(|what| !what.is_empty()).count() as u64,
            deliveries: summary.deliveries,
            before_answer: summary.before_answer,
            since_sent: summary.since_sent,
            since_answered: summary.since_answered,
            last_since_sent: sent,
            last_since_answered: answered,
            course: course(&waits),
            followed,
        }
    }

    /// Returns the four histograms with their names in the page and the table.
    pub fn histograms(&self) -> [(&'static str, &Histogram<u64>); 4] {
        [
            ("since sent", &self.since_sent),
            ("since answered", &self.since_answered),
            ("last, since sent", &self.last_since_sent),
            ("last, since answered", &self.last_since_answered),
        ]
    }
}

/// Returns the course over time of pairs of a sending time and a delay.
fn course(waits: &[(Duration, Duration)]) -> Vec<DeliveryPeriod> {
    let begin = waits.iter().map(|(sent, _)| *sent).min().unwrap_or_default();
    let end = waits.iter().map(|(sent, _)| *sent).max().unwrap_or_default();
    let each = ((end - begin) / MOMENTS).max(SHORTEST);
    let mut stretches: Vec<Histogram<u32>> = Vec::new();
    for (sent, wait) in waits {
        // At most MOMENTS.
        let place = (sent.saturating_sub(begin).as_secs_f64() / each.as_secs_f64()) as usize;
        if place >= stretches.len() {
            stretches.resize_with(place + 1, || histogram(2));
        }
        stretches[place].saturating_record(micros(*wait));
    }
    let moment = |(place, stretch): (usize, &Histogram<u32>)| {
        let at = |share| (!stretch.is_empty()).then(|| stretch.value_at_quantile(share));
        let at_s = (begin + each.mul_f64(place as f64 + 0.5)).as_secs_f64();
        DeliveryPeriod { at_s, p50_us: at(0.5), p99_us: at(0.99), max_us: at(1.0) }
    };
    stretches.iter().enumerate().map(moment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_course_has_a_gap_where_nothing_was_sent_and_never_too_many_points() {
        let second = Duration::from_secs(1);
        let waits = [(second, second), (second, second * 3), (second * 4, second * 2)];
        let course_of = course(&waits);
        assert_eq!(course_of.len(), 16, "three seconds in stretches of 200 ms");
        assert_eq!(course_of[0].at_s, 1.1);
        assert!(course_of[0].max_us >= Some(2_900_000) && course_of[0].p50_us < Some(1_100_000), "{:?}", course_of[0]);
        assert!(course_of[1..15].iter().all(|moment| moment.p50_us.is_none()));
        assert!(course_of[15].p99_us.is_some());
        let long: Vec<_> = (0..10_000).map(|n| (second * n, second)).collect();
        assert!(course(&long).len() <= MOMENTS as usize + 1);
        assert!(course(&[]).is_empty());
    }
}
