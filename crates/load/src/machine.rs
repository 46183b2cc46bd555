//! The machine that a load comes from: a figure means nothing without it.

use std::fs;

use rustix::system::uname;
use serde::Serialize;

/// See the module's head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// Processors that this process may use.
    pub cores: usize,
    /// Their name, where the system tells.
    pub processor: Option<String>,
    /// Bytes of memory in all, where the system tells.
    pub memory_bytes: Option<u64>,
    /// The system's name, the release of its kernel, and what the processors are, as `uname` has
    /// them.
    pub kernel: String,
}

impl Machine {
    /// This one.
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
