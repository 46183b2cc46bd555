//! The machine of the load generator. Figures mean little without it.

use std::fs;

use rustix::system::uname;
use serde::Serialize;

/// The machine on which the load generator runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// Processors that this process may use.
    pub cores: usize,
    /// The processor's model name, if the system reports it.
    pub processor: Option<String>,
    /// Total memory in bytes, if the system reports it.
    pub memory_bytes: Option<u64>,
    /// The system's name, its kernel release and the processor architecture, as `uname` reports
    /// them.
    pub kernel: String,
}

impl Machine {
    /// Describes the machine on which this process runs.
    pub fn here() -> Machine {
        let field = |file: &str, name: &str| {
            let text = fs::read_to_string(file).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))?;
            Some(line.trim().to_owned())
        };
        let memory = field("/proc/meminfo", "MemTotal");
        let kib = memory.and_then(|memory| memory.split(' ').next()?.parse::<u64>().ok());
        let system = uname();
        let parts = [system.sysname(), system.release(), system.machine()].map(|part| part.to_string_lossy());
        Machine {
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            processor: field("/proc/cpuinfo", "model name"),
            memory_bytes: kib.map(|kib| kib << 10),
            kernel: parts.join(" "),
        }
    }
}
