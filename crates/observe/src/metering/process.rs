//! Metrics of this process, under the names of Prometheus' own client libraries.
//!
//! They are read with the few calls and files that Linux needs; elsewhere some are missing. A
//! library would report processor time in whole seconds, because the recorder's counters are
//! integers. A rate over a short time needs fractions, so that metric is written here.

use std::fs;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::catalogue;

/// Sets the gauges. Returns the processor time in Prometheus' text format.
pub(super) fn report() -> String {
    if let Some([virtual_bytes, resident_bytes, _]) = memory() {
        metrics::gauge!("process_virtual_memory_bytes").set(virtual_bytes as f64);
        metrics::gauge!("process_resident_memory_bytes").set(resident_bytes as f64);
    }
    if let Some(files) = open_files() {
        metrics::gauge!("process_open_fds").set(files as f64);
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        metrics::gauge!("process_max_fds").set(most as f64);
    }
    if let Some(Stat { threads, began }) = Stat::read() {
        metrics::gauge!("process_threads").set(threads as f64);
        // Computed once: the clock may be set later, but the start does not change.
        static BEGAN: OnceLock<Option<f64>> = OnceLock::new();
        if let Some(began) = BEGAN.get_or_init(|| epoch_seconds(began)) {
            metrics::gauge!("process_start_time_seconds").set(*began);
        }
    }
    let name = "process_cpu_seconds_total";
    let seconds = duration(clock_gettime(ClockId::ProcessCPUTime)).as_secs_f64();
    format!("{}{name} {seconds}\n\n", catalogue::head(name))
}

/// Returns the bytes of memory that the process has allocated, without mapped files, which the
/// system may drop; `None` where they can't be determined.
pub fn allocated_bytes() -> Option<u64> {
    memory().map(|[_, resident, mapped]| resident.saturating_sub(mapped))
}

/// Returns the bytes of address space, of resident memory, and of mapped files in it.
fn memory() -> Option<[u64; 3]> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_ascii_whitespace().map(str::parse::<u64>);
    let mut bytes = || Some(pages.next()?.ok()? * page_size() as u64);
    Some([bytes()?, bytes()?, bytes()?])
}

/// Returns the number of open files. Newer kernels report it as a size; for others the folder is
/// listed.
fn open_files() -> Option<u64> {
    let folder = "/proc/self/fd";
    match fs::metadata(folder).ok()?.len() {
        // One of them was opened to list the folder.
        0 => Some((fs::read_dir(folder).ok()?.count() as u64).saturating_sub(1)),
        files => Some(files),
    }
}

/// Figures of `/proc/self/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    threads: u64,
    /// Start of the process, in ticks since boot.
    began: u64,
}

impl Stat {
    fn read() -> Option<Stat> {
        Stat::of(&fs::read_to_string("/proc/self/stat").ok()?)
    }

    fn of(text: &str) -> Option<Stat> {
        // The program's name, in parentheses, may contain any character.
        let (_, rest) = text.rsplit_once(')')?;
        let field = |number: usize| rest.split_ascii_whitespace().nth(number)?.parse().ok();
        // Fields 20 and 22; the first one behind the name is field 3.
        Some(Stat { threads: field(17)?, began: field(19)? })
    }
}

/// Converts a time in ticks since boot to seconds since 1970.
fn epoch_seconds(ticks: u64) -> Option<f64> {
    let running = duration(clock_gettime(ClockId::Boottime)).as_secs_f64();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
    Some(now - running + ticks as f64 / clock_ticks_per_second() as f64)
}

fn duration(time: Timespec) -> Duration {
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_may_have_anything_in_it() {
        let text = "9571 (a) b (c) S 9570 9571 9571 0 -1 4194304 95 0 0 0 0 0 0 0 20 0 7 0 63874 2973696 402 184 1 2\n";
        assert_eq!(Stat::of(text), Some(Stat { threads: 7, began: 63874 }));
        assert_eq!(Stat::of(""), None);
        assert_eq!(Stat::of("9571 (a) S 1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_is_as_old_as_it_is_and_has_what_it_has_open() {
        let began = epoch_seconds(Stat::read().unwrap().began).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        // The tests of one process take minutes, and the clocks are read one after the other.
        assert!(began < now + 1.0 && began > now - 86_400.0, "{began}, and it is {now}");
        let before = open_files().unwrap();
        let files: Vec<_> = (0..300).map(|_| fs::File::open("/dev/null").unwrap()).collect();
        // Other tests open and close some.
        assert!(open_files().unwrap() > before + 100);
        drop(files);
        let [virtual_bytes, resident_bytes, mapped] = memory().unwrap();
        assert!(virtual_bytes > resident_bytes && resident_bytes > mapped && mapped > 1 << 20);
        assert!(allocated_bytes().unwrap() < resident_bytes);
    }
}
