//! The server's process as the kernel describes it: memory, processor time and bytes written.

use std::fs;

/// The clock ticks per second in `/proc/PID/stat`; Linux fixes them at 100 on all common machines.
const TICKS: f64 = 100.0;

/// The figures of a process at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moment {
    /// The bytes in memory.
    pub resident: u64,
    /// The seconds of processor time since the process was started.
    pub processor: f64,
    /// The bytes written to files since the process was started. Sockets do not count.
    pub written: u64,
}

impl Moment {
    /// Reads the figures of a process; all zeros once it has ended.
    pub fn of(pid: u32) -> Moment {
        Moment {
            resident: line(pid, "status", "VmRSS:") << 10,
            processor: processor(pid),
            written: line(pid, "io", "wchar:"),
        }
    }
}

/// Resets the highest memory of a process, so that [`peak`] counts from now on.
pub fn reset_peak(pid: u32) {
    // Without the permission, the peak since the start remains, which is too high rather than too
    // low.
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

/// Returns the highest memory of a process since [`reset_peak`], in bytes.
pub fn peak(pid: u32) -> u64 {
    line(pid, "status", "VmHWM:") << 10
}

/// Returns the number after a key in a file of a process.
fn line(pid: u32, file: &str, key: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse().ok());
    value.unwrap_or_default()
}

fn processor(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The program's name, in brackets, may contain spaces.
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) / TICKS
}
