//! The processor time that each kind of the server's threads spends on a change.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::time::{Duration, Instant};

use super::client::{Load, Target, drive};
use super::stet::Stet;
use super::{Plan, Requests, median};

/// A compared workload: its title, and the requests of each client.
type Work = (&'static str, fn(&Stet) -> Requests);

const CLIENTS: usize = 64;

const WORK: [Work; 4] = [
    ("items of one drawer", |server| server.changes_in(CLIENTS, 1)),
    ("the same with short replies", |server| server.changes_with(CLIENTS, 1, &[("prefer", "return=minimal")])),
    ("items of 1,000 drawers", |server| server.changes_in(CLIENTS, 1_000)),
    ("posts of one liveblog, by form", |server| {
        let blog = server.liveblog_of(0);
        vec![vec![server.post(&blog, None)]; CLIENTS]
    }),
];

/// Microseconds a change, by thread: in the program, and in the kernel for it. They need no free
/// processor to be true, as rates do.
pub fn costs(plan: &Plan) {
    for (what, work) in WORK {
        let server = Stet::start("journal");
        let asked = work(&server);
        let mut costs = Costs::default();
        let mut rates = Vec::new();
        for _ in 0..plan.rounds {
            let load = costs.during(server.pid(), || drive(&Target::new(&server.address), &asked, plan.length));
            assert_eq!(load.errors, 0, "{what}");
            rates.push(load.rate);
        }
        println!(
            "\n{what}, {CLIENTS} clients, {:.0}/s; microseconds each, in the program and in the kernel:",
            median(&mut rates)
        );
        costs.print();
    }
}

/// Processor time per answer, by thread name and round: microseconds in the program and in the
/// kernel.
#[derive(Default)]
pub struct Costs(BTreeMap<String, Vec<[f64; 2]>>);

impl Costs {
    /// A round: runs the load, and notes what the process has used meanwhile.
    pub fn during(&mut self, pid: u32, load: impl FnOnce() -> Load) -> Load {
        let before = ticks(pid);
        let load = load();
        let mut round: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        for (thread, (name, after)) in ticks(pid) {
            let before = before.get(&thread).map_or([0, 0], |(_, before)| *before);
            let used = round.entry(name).or_default();
            for kind in [0, 1] {
                used[kind] += micros(after[kind] - before[kind]) / load.answers as f64;
            }
        }
        for (name, used) in round {
            self.0.entry(name).or_default().push(used);
        }
        load
    }

    /// A line for each name of threads, with the medians of its rounds, and their sum.
    pub fn print(&self) {
        let mut sum = 0.0;
        for (thread, each) in &self.0 {
            let [program, kernel] =
                [0, 1].map(|kind| median(&mut each.iter().map(|round| round[kind]).collect::<Vec<_>>()));
            sum += program + kernel;
            if program + kernel >= 0.05 {
                println!("  {thread:<24} {program:>6.1} {kernel:>6.1}");
            }
        }
        println!("  {:<24} {sum:>6.1}", "together");
    }
}

/// Waits until a process is nearly idle, so that its deferred work is done.
pub fn settle(pid: u32) {
    let used = || ticks(pid).values().map(|(_, used)| used[0] + used[1]).sum::<u64>();
    let begun = Instant::now();
    let mut before = used();
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let now = used();
        // A tick is some ten milliseconds.
        if now <= before + 1 {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "process {pid} does not come to rest");
        before = now;
    }
}

/// Returns the ticks that each thread has used since its start, in the program and in the kernel.
/// The key is the thread's number; the name comes without trailing digits.
fn ticks(pid: u32) -> BTreeMap<OsString, (String, [u64; 2])> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("the server runs");
    let used = |task: DirEntry| {
        // One that has ended meanwhile has no file any more.
        let stat = fs::read_to_string(task.path().join("stat")).ok()?;
        // `NUMBER (NAME) STATE …`; the times are the 14th and 15th field.
        let (head, rest) = stat.rsplit_once(')')?;
        let name = head.split_once('(')?.1.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '-');
        let fields: Vec<&str> = rest.split(' ').collect();
        let field = |at: usize| fields.get(at).and_then(|field| field.parse().ok());
        Some((task.file_name(), (name.to_owned(), [field(12)?, field(13)?])))
    };
    tasks.filter_map(|task| used(task.ok()?)).collect()
}

/// Converts the kernel's ticks (`USER_HZ`) to microseconds.
fn micros(ticks: u64) -> f64 {
    ticks as f64 * 1e6 / rustix::param::clock_ticks_per_second() as f64
}
