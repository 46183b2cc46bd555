//! The schedule of calls: right after the last answer (closed loop) or at times fixed in advance
//! (open loop), each with a ramp over time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Deserializer};
use tokio::sync::oneshot;

/// A value over time: linear between points, constant before the first and after the last.
#[derive(Debug, Clone, PartialEq)]
pub struct Ramp(Vec<(f64, f64)>);

impl Ramp {
    /// Creates a ramp with a constant value.
    pub fn level(value: f64) -> Ramp {
        Ramp(vec![(0.0, value)])
    }

    /// Parses a ramp such as `0s:1,30s:64`.
    ///
    /// # Errors
    /// One sentence that names the fault.
    pub fn parse(text: &str) -> Result<Ramp, String> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for part in text.split(',') {
            let wrong = |why: &str| format!("`{}` in the ramp `{text}` {why}", part.trim());
            let (time, value) = part.split_once(':').ok_or_else(|| wrong("is not like 30s:64"))?;
            let time = humantime::parse_duration(time.trim()).map_err(|_| wrong("has no time like 30s"))?.as_secs_f64();
            let value: u32 = value.trim().parse().map_err(|_| wrong("has no whole number behind its time"))?;
            if value == 0 {
                return Err(wrong("is 0, and the minimum is 1"));
            }
            if points.last().is_some_and(|(before, _)| *before >= time) {
                return Err(wrong("is not later than the one before"));
            }
            points.push((time, f64::from(value)));
        }
        Ok(Ramp(points))
    }

    /// Returns the value at a time in seconds.
    pub fn at(&self, time: f64) -> f64 {
        // A ramp has at least one point.
        let behind = self.0.partition_point(|(point, _)| *point <= time);
        if behind == 0 {
            return self.0[0].1;
        }
        let (from, low) = self.0[behind - 1];
        match self.0.get(behind) {
            Some((to, high)) => low + (high - low) * (time - from) / (to - from),
            None => low,
        }
    }

    /// Returns the largest value.
    pub fn most(&self) -> f64 {
        self.0.iter().map(|(_, value)| *value).fold(0.0, f64::max)
    }

    /// Returns the linear sections: their begin, length (`None`: endless), initial value, and rise
    /// per second.
    fn stretches(&self) -> impl Iterator<Item = (f64, Option<f64>, f64, f64)> + '_ {
        let (first, level) = self.0[0];
        let head = (first > 0.0).then_some((0.0, Some(first), level, 0.0));
        let rest = self.0.iter().enumerate().map(|(index, (from, low))| match self.0.get(index + 1) {
            Some((to, high)) => (*from, Some(to - from), *low, (high - low) / (to - from)),
            None => (*from, None, *low, 0.0),
        });
        head.into_iter().chain(rest)
    }

    /// Returns the time, in seconds, at which the integral of the value reaches `sum`. At this time
    /// the arrival of that number is due.
    pub fn due(&self, mut sum: f64) -> f64 {
        for (from, length, low, rise) in self.stretches() {
            let whole = length.map(|length| length * (low + rise * length / 2.0));
            if let Some(whole) = whole
                && sum > whole
            {
                sum -= whole;
                continue;
            }
            // low·x + rise·x²/2 = sum, solved in the form that keeps its precision where rise is
            // small.
            return from + 2.0 * sum / (low + (low * low + 2.0 * rise * sum).max(0.0).sqrt());
        }
        // The last section is endless.
        f64::INFINITY
    }

    /// Returns the first time from `time` on at which the value is at least `least`; `None` if
    /// there is none.
    pub fn reaches(&self, least: f64, time: f64) -> Option<f64> {
        if self.at(time) >= least {
            return Some(time);
        }
        self.stretches().find_map(|(from, length, low, rise)| {
            let x = if low >= least { 0.0 } else { (least - low) / rise };
            let at = from + x;
            (x.is_finite() && x >= 0.0 && length.is_none_or(|length| x <= length) && at >= time).then_some(at)
        })
    }
}

impl std::fmt::Display for Ramp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (time, value)) in self.0.iter().enumerate() {
            write!(f, "{}{time}s:{value}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Ramp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Ramp, D::Error> {
        Ramp::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// The pace of a load. Times count from its begin.
#[derive(Debug, Clone)]
pub struct Pace {
    /// The number of active clients, or of calls per second, over time.
    pub ramp: Ramp,
    /// `true` if calls are scheduled at times of their own (open loop).
    pub open: bool,
    /// The number of clients that share the calls.
    pub clients: usize,
    /// The total number of operations.
    pub count: Option<u64>,
    /// The time after which no operation begins.
    pub length: Option<Duration>,
}

/// The time at which a client's next operation begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OperationStart {
    /// At once.
    Now,
    /// Not before this time.
    At(Duration),
    /// Never again.
    End,
}

impl Pace {
    /// Returns when client `client` begins its operation number `done`, counted from 0.
    pub fn turn(&self, client: usize, done: u64, now: Duration) -> OperationStart {
        let number = done.saturating_mul(self.clients as u64).saturating_add(client as u64);
        if self.count.is_some_and(|count| number >= count) {
            return OperationStart::End;
        }
        let late = |time: Duration| self.length.is_some_and(|length| time >= length);
        if self.open {
            let due = self.ramp.due(number as f64);
            // A time beyond the range of Duration is beyond every end.
            let Ok(due) = Duration::try_from_secs_f64(due) else { return OperationStart::End };
            return if late(due) || late(now) { OperationStart::End } else { OperationStart::At(due) };
        }
        if late(now) {
            return OperationStart::End;
        }
        match self.ramp.reaches((client + 1) as f64, now.as_secs_f64()) {
            Some(time) if time <= now.as_secs_f64() => OperationStart::Now,
            Some(time) if time.is_finite() && !late(Duration::from_secs_f64(time)) => {
                OperationStart::At(Duration::from_secs_f64(time))
            }
            _ => OperationStart::End,
        }
    }

    /// Returns the number of operations due by the end; 0 in a closed loop, which has no schedule.
    pub fn due_by(&self, end: Duration) -> u64 {
        if !self.open {
            return 0;
        }
        let (mut low, mut high) = (0u64, self.count.unwrap_or(1 << 50));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.ramp.due(middle as f64) < end.as_secs_f64() { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// An alarm clock that is more precise than the runtime's timer, which counts in milliseconds. A
/// thread sleeps until the next alarm.
#[derive(Clone)]
pub struct Alarm(mpsc::Sender<(Instant, oneshot::Sender<()>)>);

struct AlarmRequest(Instant, oneshot::Sender<()>);

impl PartialEq for AlarmRequest {
    fn eq(&self, other: &AlarmRequest) -> bool {
        self.0 == other.0
    }
}

impl Eq for AlarmRequest {}

impl PartialOrd for AlarmRequest {
    fn partial_cmp(&self, other: &AlarmRequest) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AlarmRequest {
    fn cmp(&self, other: &AlarmRequest) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl Alarm {
    /// Starts the thread, which ends with the last clone.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start() -> std::io::Result<Alarm> {
        let (sender, receiver) = mpsc::channel();
        std::thread::Builder::new().name("load-alarm".to_owned()).spawn(move || ring(&receiver))?;
        Ok(Alarm(sender))
    }

    /// Resolves at the given time.
    pub async fn until(&self, at: Instant) {
        let (bell, rung) = oneshot::channel();
        if self.0.send((at, bell)).is_err() || rung.await.is_err() {
            // The thread lives as long as this value. If it has ended all the same, the runtime's
            // timer is used.
            tokio::time::sleep_until(at.into()).await;
        }
    }
}

fn ring(receiver: &mpsc::Receiver<(Instant, oneshot::Sender<()>)>) {
    let mut bells: BinaryHeap<Reverse<AlarmRequest>> = BinaryHeap::new();
    loop {
        let now = Instant::now();
        while let Some(Reverse(next)) = bells.peek()
            && next.0 <= now
        {
            if let Some(Reverse(AlarmRequest(_, bell))) = bells.pop() {
                // The waiting task may have been cancelled.
                let _ = bell.send(());
            }
        }
        let next = match bells.peek() {
            Some(Reverse(next)) => receiver.recv_timeout(next.0.saturating_duration_since(now)),
            None => receiver.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
        };
        match next {
            Ok((at, bell)) => bells.push(Reverse(AlarmRequest(at, bell))),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[cfg(test)]
mod tests;
