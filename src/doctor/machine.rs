//! The machine: limits of the process, memory, clock.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rlimit::Resource;
use stet_store::StoreFile;

use super::directory::Running;
use super::{Finding, bytes};
use crate::config::Config;
use crate::server;

/// 2026-01-01, before which nothing of this was there; epoch seconds.
const SANE_FROM_S: u64 = 1_767_225_600;

/// 2100-01-01; epoch seconds.
const SANE_UNTIL_S: u64 = 4_102_444_800;

/// How far the clock may seem to be behind a file's time: file systems round.
const ROUNDING_S: u64 = 5;

pub(super) fn look(config: &Config, running: Option<&Running>) -> Vec<Finding> {
    let mut findings = vec![open_files(config, running)];
    findings.extend(file_sizes());
    findings.push(memory(config));
    findings.push(clock(&config.data.directory));
    findings
}

/// How many files may be open: of the server that runs, or else of this process, whose limit a server started here would have.
fn open_files(config: &Config, running: Option<&Running>) -> Finding {
    let of_server = running.and_then(|running| running.open_files());
    let (who, limit) = match of_server {
        Some(limit) => ("the running server", limit),
        // What the server raises it to is the hard one.
        None => match rlimit::getrlimit(Resource::NOFILE) {
            Ok((_, hard)) => ("a server started here", hard),
            Err(error) => return Finding::ok("limits", format!("how many files may be open can't be told: {error}")),
        },
    };
    judge_open_files(config, who, limit)
}

fn judge_open_files(config: &Config, who: &str, limit: u64) -> Finding {
    let needed = server::files_for(config, config.server.max_connections);
    let raise = "raise the limit (LimitNOFILE of the systemd unit, or `ulimit -Hn`)";
    match server::connections_within(limit, config) {
        None => {
            let least = server::files_for(config, 1);
            Finding::fail("limits", format!("{who} may open {limit} files, and needs {least} at least"), raise)
        }
        Some(connections) if connections < config.server.max_connections => {
            let found = format!(
                "{who} may open {limit} files, which leaves each worker {connections} of {} connections",
                config.server.max_connections
            );
            Finding::warn("limits", found, format!("{raise} to {needed}, or lower `server.max_connections`"))
        }
        Some(_) => Finding::ok("limits", format!("{who} may open {limit} files, and needs {needed} at most")),
    }
}

/// A limit on the size of files stops the store one day.
fn file_sizes() -> Option<Finding> {
    let (soft, _) = rlimit::getrlimit(Resource::FSIZE).ok()?;
    (soft != rlimit::INFINITY).then(|| {
        let found =
            format!("files of this process may have {} at most, and state.redb grows with the newsroom", bytes(soft));
        Finding::warn("limits", found, "take the limit away (LimitFSIZE, or `ulimit -f unlimited`)")
    })
}

/// The bounds of what a server keeps and what calls need, against the memory there is.
fn memory(config: &Config) -> Finding {
    match memory_there_is() {
        Some(there) => judge_memory(config, there),
        None => Finding::ok("memory", "how much memory there is can't be told here"),
    }
}

fn judge_memory(config: &Config, there: u64) -> Finding {
    let kept = config
        .caches
        .bytes
        .saturating_add(config.store.cache_bytes as u64)
        .saturating_add(config.runtime.container_bytes);
    let calls = [
        config.limits.known_body_bytes,
        config.limits.unknown_body_bytes,
        config.limits.reply_bytes_under_way,
        config.content.picture_memory_bytes.saturating_mul(config.content.scaled_at_once as u64),
    ];
    let sum = calls.iter().fold(kept, |sum, bytes| sum.saturating_add(*bytes));
    let (kept_told, sum_told, there_told) = (bytes(kept), bytes(sum), bytes(there));
    let lower = "lower `caches.bytes`, `store.cache_bytes` and `runtime.container_bytes`";
    if kept >= there {
        let found = format!(
            "what a server keeps grows to {kept_told}, and there are {there_told} of memory: the system will end it"
        );
        Finding::fail("memory", found, lower)
    } else if sum > there {
        let found = format!(
            "what a server keeps grows to {kept_told}, with all that calls may need to {sum_told}, and there are {there_told} of memory"
        );
        Finding::warn("memory", found, format!("{lower}, if more than some hundred people use it"))
    } else {
        Finding::ok(
            "memory",
            format!("all bounds of the configuration add up to {sum_told}, and there are {there_told} of memory"),
        )
    }
}

/// Bytes of memory that this process may have: the machine's, or those of its control group.
fn memory_there_is() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib =
        info.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse().ok());
    let machine = kib.map(|kib: u64| kib.saturating_mul(1024))?;
    Some(group_limits().into_iter().fold(machine, u64::min))
}

/// The limits of the control groups (version 2) that this process is in.
fn group_limits() -> Vec<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(own) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else { return Vec::new() };
    let root = PathBuf::from("/sys/fs/cgroup");
    let own = root.join(own);
    let limit = |group: &Path| std::fs::read_to_string(group.join("memory.max")).ok()?.trim().parse().ok();
    own.ancestors().take_while(|group| group.starts_with(&root)).filter_map(limit).collect()
}

/// The time, which records, sessions and the audit trail go by, against the newest file of the directory.
fn clock(data: &Path) -> Finding {
    let written = |file: StoreFile| std::fs::metadata(data.join(file.name())).and_then(|found| found.modified()).ok();
    let newest = StoreFile::ALL.into_iter().filter_map(written).max();
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    judge_clock(seconds(SystemTime::now()), newest.map(seconds))
}

fn judge_clock(now_s: u64, newest_s: Option<u64>) -> Finding {
    let shown = |s: u64| humantime::format_rfc3339_seconds(UNIX_EPOCH + std::time::Duration::from_secs(s)).to_string();
    let set =
        "set the clock, and let it be kept (systemd-timesyncd, chrony): records, sessions and the audit trail go by it";
    if !(SANE_FROM_S..SANE_UNTIL_S).contains(&now_s) {
        // Beyond the year 9999 nothing can be shown.
        return Finding::fail("clock", format!("it says {}", shown(now_s.min(253_402_300_799))), set);
    }
    match newest_s.filter(|newest_s| *newest_s > now_s + ROUNDING_S) {
        Some(newest_s) => {
            let behind = humantime::format_duration(std::time::Duration::from_secs(newest_s - now_s));
            let found = format!(
                "it says {}, {behind} before the directory was last written: it is wrong, or was",
                shown(now_s)
            );
            Finding::warn("clock", found, set)
        }
        None => {
            Finding::ok("clock", format!("it says {}, which is later than all that was written here", shown(now_s)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn the_clock_is_sane_and_not_behind_what_was_written() {
        let now = SANE_FROM_S + 1000;
        for (now_s, newest_s, level) in [
            (0, None, Level::Fail),
            (SANE_FROM_S - 1, None, Level::Fail),
            (SANE_UNTIL_S, None, Level::Fail),
            (u64::MAX, None, Level::Fail),
            (now, None, Level::Ok),
            (now, Some(now), Level::Ok),
            (now, Some(now + ROUNDING_S), Level::Ok),
            (now, Some(now + ROUNDING_S + 1), Level::Warn),
        ] {
            assert_eq!(judge_clock(now_s, newest_s).level, level, "{now_s} {newest_s:?}");
        }
    }

    #[test]
    fn memory_is_held_against_what_is_kept_and_against_all_bounds() {
        let config = Config::default();
        let kept = config.caches.bytes + config.store.cache_bytes as u64 + config.runtime.container_bytes;
        for (there, level) in [(kept, Level::Fail), (kept + 1, Level::Warn), (16 << 30, Level::Ok)] {
            assert_eq!(judge_memory(&config, there).level, level, "{there}");
        }
    }

    #[test]
    fn open_files_are_enough_for_all_connections_some_or_none() {
        let config = Config::default();
        let needed = server::files_for(&config, config.server.max_connections);
        for (limit, level) in [(64, Level::Fail), (needed - 1, Level::Warn), (needed, Level::Ok)] {
            assert_eq!(judge_open_files(&config, "a server", limit).level, level, "{limit}");
        }
    }
}
