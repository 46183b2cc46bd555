//! The processor time of long turns. The time that a turn takes by the clock includes periods in
//! which the kernel ran something else on the processor; its processor time does not.
//!
//! A reading of the processor time is a system call, and a turn takes some microseconds. So a
//! thread keeps its last reading for [`PRECISION`], and a turn may be reported as that much longer
//! than it was.

use std::cell::Cell;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The age at which a reading is replaced when a turn begins.
const PRECISION: Duration = Duration::from_millis(1);

thread_local! {
    /// The last reading of this thread: when it was made, and the processor time then.
    static READING: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// Notes that a turn of this thread begins.
pub(super) fn begin_turn(now: Instant) {
    READING.with(|reading| {
        let is_recent = reading.get().is_some_and(|(at, _)| now.duration_since(at) < PRECISION);
        if !is_recent {
            reading.set(Some((now, processor_time())));
        }
    });
}

/// Returns the processor time that this thread has used since its turn began, and at most
/// a millisecond before. Costs a system call.
pub fn turn_processor_time() -> Duration {
    let before = READING.get().map(|(_, processor)| processor);
    before.map_or(Duration::ZERO, |before| processor_time().saturating_sub(before))
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    #[test]
    fn a_turn_is_the_work_of_its_thread_without_the_time_it_slept() {
        let worked = Duration::from_millis(20);
        begin_turn(Instant::now());
        sleep(worked);
        let start = processor_time();
        while processor_time() - start < worked {}
        sleep(worked);
        let turn = turn_processor_time();
        assert!(turn >= worked && turn < worked * 2, "{turn:?}");
    }

    #[test]
    fn a_turn_does_not_include_the_one_before() {
        begin_turn(Instant::now());
        let start = processor_time();
        while processor_time() - start < PRECISION * 30 {}
        begin_turn(Instant::now());
        let turn = turn_processor_time();
        assert!(turn < PRECISION * 20, "{turn:?}");
    }
}
