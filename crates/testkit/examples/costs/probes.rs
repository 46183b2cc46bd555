//! Probes: other users at work while an expensive request is served. Each measures the wait of its
//! calls.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// The time between two calls of one probe.
const PAUSE: Duration = Duration::from_millis(10);
/// The number of connections that request `/healthz`, so that each of the server's threads has one.
const LOOKERS: usize = 4;

/// A change that a probe repeats: two requests that undo each other.
#[derive(Clone)]
pub struct Change {
    pub token: String,
    /// The paths of two PUT requests that alternate.
    pub paths: [String; 2],
}

/// The running probes.
pub struct Probes {
    over: &'static AtomicBool,
    threads: Vec<JoinHandle<()>>,
    /// The waits for reads and for changes, in milliseconds.
    waits: &'static [Mutex<Vec<f64>>; 2],
    changes: &'static AtomicU64,
    /// The thread that measures how late the machine wakes a thread.
    machine: JoinHandle<f64>,
}

/// The waits of other users, in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waits {
    /// The 99th percentile of reads of `/healthz`.
    pub looks: f64,
    /// The 99th percentile of changes.
    pub changes: f64,
    pub longest: f64,
    /// The 99th percentile of the machine's delay in waking a sleeping thread. Others wait that
    /// long without any fault of the server.
    pub machine: f64,
}

impl Waits {
    /// Returns the worse of two measurements.
    pub fn or_worse(self, other: Waits) -> Waits {
        let worse = if other.beyond_machine() > self.beyond_machine() { other } else { self };
        Waits { longest: self.longest.max(other.longest), ..worse }
    }

    /// Returns the longer of the percentiles, less the delay of the machine.
    pub fn beyond_machine(self) -> f64 {
        self.looks.max(self.changes) - self.machine
    }
}

impl Probes {
    /// Starts probes of the server at `base`; each of `changes` has a connection of its own.
    pub fn start(base: &str, changes: &[Change]) -> Probes {
        // A few bytes of each measurement live as long as the program.
        let over: &'static AtomicBool = Box::leak(Box::default());
        let waits: &'static [Mutex<Vec<f64>>; 2] = Box::leak(Box::default());
        let count: &'static AtomicU64 = Box::leak(Box::default());
        let address = base.trim_start_matches("http://").to_owned();
        let health = "GET /healthz HTTP/1.1\r\nhost: costs\r\n\r\n".to_owned();
        let looks = (0..LOOKERS).map(|_| vec![health.clone()]);
        let changes: Vec<_> = changes.iter().map(Change::requests).collect();
        let all = looks.map(|requests| (requests, false)).chain(changes.into_iter().map(|requests| (requests, true)));
        let threads = all
            .map(|(requests, changes)| {
                let address = address.clone();
                let waits = &waits[usize::from(changes)];
                spawn(move || ask(&address, &requests, over, waits, changes.then_some(count)))
            })
            .collect();
        Probes { over, threads, waits, changes: count, machine: spawn(|| lateness(over)) }
    }

    /// Ends the probes. Returns their waits and the number of changes that they made.
    pub fn end(self) -> (Waits, u64) {
        self.over.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
        let sorted = |waits: &Mutex<Vec<f64>>| {
            let mut waits = std::mem::take(&mut *waits.lock().expect("no probe panics with it"));
            waits.sort_by(f64::total_cmp);
            waits
        };
        let [looks, changes] = self.waits.each_ref().map(sorted);
        let longest = looks.iter().chain(&changes).copied().fold(0.0, f64::max);
        let machine = self.machine.join().unwrap_or_default();
        let waits = Waits { looks: p99(&looks), changes: p99(&changes), longest, machine };
        (waits, self.changes.load(Ordering::Relaxed))
    }
}

impl Change {
    fn requests(&self) -> Vec<String> {
        let put = |path: &String| {
            format!("PUT {path} HTTP/1.1\r\nhost: costs\r\ntoken: {}\r\ncontent-length: 0\r\n\r\n", self.token)
        };
        self.paths.iter().map(put).collect()
    }
}

/// Returns the 99th percentile of sorted values.
fn p99(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() * 99 / 100).copied().unwrap_or_default()
}

/// Sleeps repeatedly until `over`. Returns the 99th percentile of the delay in waking, in
/// milliseconds.
fn lateness(over: &AtomicBool) -> f64 {
    const NAP: Duration = Duration::from_millis(2);
    let mut late = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        sleep(NAP);
        late.push(begun.elapsed().saturating_sub(NAP).as_secs_f64() * 1000.0);
    }
    late.sort_by(f64::total_cmp);
    p99(&late)
}

/// Sends the requests in turn until `over`, and records each wait.
fn ask(address: &str, requests: &[String], over: &AtomicBool, waits: &Mutex<Vec<f64>>, changes: Option<&AtomicU64>) {
    let mut connection = None;
    for request in requests.iter().cycle() {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let begun = Instant::now();
        let answered = call(&mut connection, address, request);
        if answered.is_err() {
            connection = None;
        }
        let wait = begun.elapsed();
        {
            // A caller who calls every 10 ms would have met each moment of a long wait.
            let mut waits = waits.lock().expect("no probe panics with it");
            let mut left = wait;
            loop {
                waits.push(left.as_secs_f64() * 1000.0);
                match left.checked_sub(PAUSE) {
                    Some(less) if less > PAUSE => left = less,
                    _ => break,
                }
            }
        }
        if let Some(changes) = changes {
            changes.fetch_add(1, Ordering::Relaxed);
        }
        sleep(PAUSE.saturating_sub(wait));
    }
}

/// Sends one request on a persistent connection, and reads its reply to the end.
fn call(connection: &mut Option<BufReader<TcpStream>>, address: &str, request: &str) -> std::io::Result<()> {
    let stream = match connection {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            connection.insert(BufReader::new(stream))
        }
    };
    stream.get_mut().write_all(request.as_bytes())?;
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    stream.read_exact(&mut vec![0; length])
}
