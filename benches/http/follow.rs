//! Many followers, whose connections wait for events sent to all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::answer;

/// Bytes that occur exactly once in the text of each event.
const MARK: &[u8] = b"\ndata: ";

/// Delays of events at their followers, in milliseconds since the change that caused them was sent.
pub struct Deliveries {
    pub p50: f64,
    pub p99: f64,
    /// The median for the last follower that each event reached.
    pub last_p50: f64,
    pub last_p99: f64,
    /// The growth of the server's memory per follower in KiB, events under way included.
    pub kib_each: f64,
    /// The text of one event.
    pub event: Vec<u8>,
}

/// A connection of a follower: its request, and the number of events before those that are counted.
pub struct Following<'a> {
    pub request: &'a [u8],
    pub greetings: usize,
}

/// Opens `followers` connections, then sends `cause` every `gap`. Waits until each follower has
/// received all events.
pub fn follow(
    address: &str,
    pid: u32,
    following: &Following<'_>,
    cause: &[u8],
    followers: usize,
    gap: Duration,
    length: Duration,
) -> Deliveries {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    runtime.block_on(async {
        let mut writer = TcpStream::connect(address).await.expect("the server listens");
        writer.set_nodelay(true).expect("the option is there");
        let mut buffer = Vec::new();
        // What the server allocates once and keeps is not the followers'.
        for _ in 0..10 {
            writer.write_all(cause).await.expect("the server reads");
            answer(&mut writer, &mut buffer).await;
        }
        let before = resident(pid);
        // The peak counts from here.
        std::fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("Linux lets its owner");
        let count = (length.as_secs_f64() / gap.as_secs_f64()).ceil() as usize;
        let begun = Arc::new(AtomicUsize::new(0));
        let mut tasks = Vec::new();
        for _ in 0..followers {
            let stream = TcpStream::connect(address).await.expect("the server listens");
            let request = following.request.to_vec();
            tasks.push(tokio::spawn(one(stream, request, (following.greetings, count), begun.clone())));
        }
        while begun.load(Ordering::Relaxed) < followers {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut sent = Vec::new();
        let mut next = tokio::time::interval(gap);
        for _ in 0..count {
            next.tick().await;
            sent.push(Instant::now());
            writer.write_all(cause).await.expect("the server reads");
            answer(&mut writer, &mut buffer).await;
        }
        let (mut all, mut last, mut event) = (Vec::new(), vec![0.0_f64; count], Vec::new());
        for task in tasks {
            let (heard, text) = task.await.expect("a follower runs to its end");
            event = text;
            for (number, heard) in heard.into_iter().enumerate() {
                let took = heard.duration_since(sent[number]).as_secs_f64() * 1e3;
                all.push(took);
                last[number] = last[number].max(took);
            }
        }
        // The connections are closed by now. Their memory is part of the server's peak.
        let kib_each = peak(pid).saturating_sub(before) as f64 / followers as f64;
        all.sort_unstable_by(f64::total_cmp);
        last.sort_unstable_by(f64::total_cmp);
        let at = |sorted: &[f64], share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
        Deliveries {
            p50: at(&all, 0.5),
            p99: at(&all, 0.99),
            last_p50: at(&last, 0.5),
            last_p99: at(&last, 0.99),
            kib_each,
            event,
        }
    })
}

/// Follows `count` events after some greetings. Returns the time at which each arrived, and the text
/// of the last.
async fn one(
    mut stream: TcpStream,
    request: Vec<u8>,
    (mut greetings, count): (usize, usize),
    begun: Arc<AtomicUsize>,
) -> (Vec<Instant>, Vec<u8>) {
    stream.write_all(&request).await.expect("the server reads");
    let (mut heard, mut buffer) = (Vec::with_capacity(count), Vec::new());
    let mut text = Vec::new();
    while heard.len() < count {
        assert!(stream.read_buf(&mut buffer).await.expect("the server tells") > 0, "the server closed the connection");
        let now = Instant::now();
        // Each event ends with an empty line; the first ones say hello.
        while let Some(end) = buffer.windows(2).position(|two| two == b"\n\n") {
            let event: Vec<u8> = buffer.drain(..end + 2).collect();
            if !event.windows(MARK.len()).any(|window| window == MARK) {
                continue;
            }
            if greetings == 0 {
                heard.push(now);
                text = event;
            } else {
                greetings -= 1;
                begun.fetch_add(usize::from(greetings == 0), Ordering::Relaxed);
            }
        }
    }
    // Without what the chunked coding puts before it.
    let from = text.windows(4).position(|four| four == b"id: ").unwrap_or(0);
    (heard, text.split_off(from))
}

/// Returns the resident memory of a process in KiB. `peak` returns its maximum so far.
fn resident(pid: u32) -> u64 {
    status(pid, "VmRSS:")
}

fn peak(pid: u32) -> u64 {
    status(pid, "VmHWM:")
}

fn status(pid: u32, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs, on Linux");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse().expect("it is a number")
}
