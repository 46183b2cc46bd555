//! A newsroom at work beside hostile clients, which do all that one user, or a client without a
//! login, could do to a server. The work is verified, and memory and open files stay bounded. The
//! ordinary tests run it for some seconds, `scripts/soak` for a chosen time.

mod hostile;

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use self::hostile::{ATTACKS, Hostile};
use crate::harness::*;

/// The default duration.
const SECONDS: u64 = 12;
const MIB: u64 = 1 << 20;
/// The permitted memory at the end, in addition to 125 % of that of the warm server.
const MORE: u64 = 96 * MIB;

/// Measurements of the server and its disk at a moment.
#[derive(Debug, Clone, Copy)]
struct Moment {
    /// Bytes in memory.
    resident: u64,
    /// Files and connections.
    open: usize,
    /// The time that another caller waited for an answer.
    waited: Duration,
    /// The longest sync of one block since the previous moment. No change can be faster.
    disk: Duration,
}

/// Measures the disk by syncing one block of a file over and over, so that a slow disk is not taken
/// for a slow server.
#[derive(Debug, Default)]
struct Disk {
    /// Microseconds.
    slowest: AtomicU64,
}

impl Disk {
    fn watch(&self, over: &AtomicBool) {
        let file = tempfile::tempfile().expect("a file can be made");
        while !over.load(Ordering::Relaxed) {
            self.sync(&file);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn sync(&self, file: &File) {
        let asked = Instant::now();
        file.write_all_at(&[1; 4096], 0).and_then(|()| file.sync_data()).expect("a file can be written");
        self.slowest.fetch_max(u64::try_from(asked.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

fn moment(server: &Server, other: &Client, disk: &Disk) -> Moment {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("the server runs");
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("the server runs").count();
    let asked = Instant::now();
    other.call("folder-home-get", &[]).ok();
    let disk = Duration::from_micros(disk.slowest.swap(0, Ordering::Relaxed));
    Moment { resident: kib.unwrap_or(0_u64) << 10, open, waited: asked.elapsed(), disk }
}

/// Returns the moments as a table for the report.
fn table(moments: &[(Duration, Moment)]) -> String {
    let mut table = "seconds,resident_bytes,open_files,wait_ms,disk_ms\n".to_owned();
    for (at, Moment { resident, open, waited, disk }) in moments {
        let [waited, disk] = [waited, disk].map(|time| time.as_secs_f64() * 1000.0);
        let written = writeln!(table, "{:.1},{resident},{open},{waited:.2},{disk:.2}", at.as_secs_f64());
        written.expect("a text can be written");
    }
    table
}

/// `stet load`, on its way.
fn load(scenario: &str, server: &Server, options: &[&str], seconds: u64, report: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_stet"))
        .args(["load", scenario, "--quiet", "--url", &server.base, "--seconds", &seconds.to_string(), "--report"])
        .arg(report)
        .args(options)
        .current_dir(report.parent().expect("it lies in a directory"))
        .env("STET_LOAD_PASSWORD", ADMIN_PASSWORD)
        .stdin(Stdio::null())
        .spawn()
        .expect("the binary can be started")
}

/// Returns the finding of a load.
fn finding(report: &Path) -> String {
    let text = std::fs::read_to_string(report.join("report.json")).expect("there is a report");
    let report: Value = serde_json::from_str(&text).expect("it is JSON");
    report["verdict"]["finding"].to_string()
}

#[test]
fn a_newsroom_at_work_does_not_mind_hostile_clients() {
    let seconds = setting("STET_SOAK_SECONDS").unwrap_or(SECONDS);
    // The newsroom grows throughout. Caches fill soon, and other data is kept for a limited time.
    // So growth later on means that something has no bound.
    let server = Server::with(&[
        ("LIMITS__IDEMPOTENCY_SECONDS", "60"),
        ("CONTENT__COLLECT_AFTER_SECONDS", "60"),
        ("RUNTIME__IDLE_SECONDS", "60"),
        ("MEMORY__PAGES_BYTES", "16777216"),
        ("MEMORY__CACHES_BYTES", "33554432"),
    ]);
    let (other, reports) = (server.login("reporter"), TempDir::new().expect("a directory can be made"));
    // The variable sets the place of the reports, for those who want to read them.
    let directory = std::env::var_os("STET_SOAK_REPORTS").map_or_else(|| reports.path().to_owned(), Into::into);
    std::fs::create_dir_all(&directory).expect("the directory of the reports can be made");
    let (drawers, blog) = (directory.join("drawer"), directory.join("liveblog"));
    let disk = Disk::default();
    let before = moment(&server, &other, &disk);
    let hostile = Hostile::new(&server);
    let mut loads = [
        load("drawer", &server, &["--clients", "6", "--rate", "60"], seconds, &drawers),
        load("liveblog", &server, &["--clients", "4", "--rate", "20", "--followers", "20"], seconds, &blog),
    ];
    let (begun, over) = (Instant::now(), AtomicBool::new(false));
    let mut moments = Vec::new();
    std::thread::scope(|scope| {
        let (hostile, disk, over) = (&hostile, &disk, &over);
        scope.spawn(move || disk.watch(over));
        let attackers: Vec<_> = (0..2).map(|first| scope.spawn(move || hostile.attack(first, over))).collect();
        while loads.iter_mut().any(|load| load.try_wait().expect("it can be asked").is_none()) {
            moments.push((begun.elapsed(), moment(&server, &other, disk)));
            std::thread::sleep(Duration::from_millis(500));
        }
        over.store(true, Ordering::Relaxed);
        let rounds: usize =
            attackers.into_iter().map(|attacker| attacker.join().expect("no attack found anything")).sum();
        assert!(rounds >= ATTACKS.len(), "only {rounds} attacks were made");
        println!("{rounds} attacks");
    });
    for report in [&drawers, &blog] {
        assert_eq!(finding(report), "\"verified\"", "{}", report.display());
    }
    std::fs::write(directory.join("moments.csv"), table(&moments)).expect("a file can be written");
    flat(&moments);
    drop(hostile);
    wait_patiently_until("connections are closed", || moment(&server, &other, &disk).open <= before.open + 16);
    let mut server = server;
    assert_eq!(server.terminate(), Some(0), "{}", server.log());
    let (code, said) = server.check();
    assert_eq!(code, Some(0), "{said}");
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

/// Asserts that the last quarter has no more in memory than the second, but for what little a warm
/// cache still grows by.
fn flat(moments: &[(Duration, Moment)]) {
    fn most<T: Ord + Default>(moments: &[(Duration, Moment)], what: impl Fn(&Moment) -> T) -> T {
        moments.iter().map(|(_, moment)| what(moment)).max().unwrap_or_default()
    }
    let quarter = moments.len().div_ceil(4);
    let resident = |moments| most(moments, |moment| moment.resident);
    let (warm, late) = (resident(&moments[..2 * quarter]), resident(&moments[moments.len() - quarter..]));
    let (waited, disk) = (most(moments, |moment| moment.waited), most(moments, |moment| moment.disk));
    let open = most(moments, |moment| moment.open);
    println!(
        "{} MiB once warm, {} MiB at the end; {open} open files at most; {waited:?} the longest wait, {disk:?} the disk's",
        warm / MIB,
        late / MIB
    );
    assert!(late < warm + warm / 4 + MORE, "{} MiB, then {} MiB", warm / MIB, late / MIB);
}
