//! Findings about the machine: limits of the process, memory, clock.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rlimit::Resource;
use stet_api::server::DoctorFinding;
use stet_config::{Config, machine_memory};
use stet_store::StoreFile;

use super::bytes;
use super::directory::RunningServer;
use crate::server;

/// The earliest plausible time, 2026-01-01: stet is not older. Epoch seconds.
const SANE_FROM_S: u64 = 1_767_225_600;

/// The latest plausible time, 2100-01-01; epoch seconds.
const SANE_UNTIL_S: u64 = 4_102_444_800;

/// Seconds by which the clock may seem to be behind a file's time: file systems round.
const ROUNDING_S: u64 = 5;

pub(super) fn look(config: &Config, running: Option<&RunningServer>) -> Vec<DoctorFinding> {
    let mut findings = vec![open_files(config, running)];
    findings.extend(file_sizes());
    findings.push(memory(config));
    findings.push(clock(&config.data.directory));
    findings
}

/// Returns the finding about the limit of open files: that of the running server, or else that of
/// this process, which a server started here would have.
fn open_files(config: &Config, running: Option<&RunningServer>) -> DoctorFinding {
    let of_server = running.and_then(|running| running.open_files());
    let (who, limit) = match of_server {
        Some(limit) => ("the running server", limit),
        // A server raises its limit to the hard one.
        None => match rlimit::getrlimit(Resource::NOFILE) {
            Ok((_, hard)) => ("a server started here", hard),
            Err(error) => {
                return DoctorFinding::ok("limits", format!("the limit of open files can't be read: {error}"));
            }
        },
    };
    judge_open_files(config, who, limit)
}

fn judge_open_files(config: &Config, who: &str, limit: u64) -> DoctorFinding {
    let needed = server::files_for(config, config.server.max_connections);
    let raise = "raise the limit (LimitNOFILE of the systemd unit, or `ulimit -Hn`)";
    match server::connections_within(limit, config) {
        None => {
            let least = server::files_for(config, 1);
            DoctorFinding::fail("limits", format!("{who} may open {limit} files, but needs at least {least}"), raise)
        }
        Some(connections) if connections < config.server.max_connections => {
            let found = format!(
                "{who} may open {limit} files, which leaves each worker {connections} of {} connections",
                config.server.max_connections
            );
            DoctorFinding::warn("limits", found, format!("{raise} to {needed}, or lower `server.max_connections`"))
        }
        Some(_) => DoctorFinding::ok("limits", format!("{who} may open {limit} files, and needs at most {needed}")),
    }
}

/// Returns a finding if the size of files is limited, since that will stop the store one day.
fn file_sizes() -> Option<DoctorFinding> {
    let (soft, _) = rlimit::getrlimit(Resource::FSIZE).ok()?;
    (soft != rlimit::INFINITY).then(|| {
        let found =
            format!("files of this process may have at most {}, and state.redb grows with the newsroom", bytes(soft));
        DoctorFinding::warn("limits", found, "remove the limit (LimitFSIZE, or `ulimit -f unlimited`)")
    })
}

/// Returns the finding about the memory that the server may take, compared with that of the
/// machine.
fn memory(config: &Config) -> DoctorFinding {
    match machine_memory() {
        Some(machine) => judge_memory(config, machine),
        None => DoctorFinding::ok("memory", "the memory of the machine is unknown on this system"),
    }
}

fn judge_memory(config: &Config, machine: u64) -> DoctorFinding {
    let limit = config.memory.limit();
    let (limit_shown, machine_shown) = (bytes(limit), bytes(machine));
    let found = format!("the server may use {limit_shown}, and the machine has {machine_shown} for it");
    if limit > machine {
        DoctorFinding::fail("memory", format!("{found}: the system will kill it"), "lower `memory.limit_bytes`")
    } else if limit > machine / 10 * 9 {
        DoctorFinding::warn("memory", found, "lower `memory.limit_bytes`: the system needs memory, too")
    } else {
        DoctorFinding::ok("memory", found)
    }
}

/// Returns the finding about the clock, on which records, sessions and the audit trail depend. It
/// is compared with the newest file of the directory.
fn clock(data: &Path) -> DoctorFinding {
    let written = |file: StoreFile| std::fs::metadata(data.join(file.name())).and_then(|found| found.modified()).ok();
    let newest = StoreFile::ALL.into_iter().filter_map(written).max();
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    judge_clock(seconds(SystemTime::now()), newest.map(seconds))
}

fn judge_clock(now_s: u64, newest_s: Option<u64>) -> DoctorFinding {
    let shown = |s: u64| humantime::format_rfc3339_seconds(UNIX_EPOCH + std::time::Duration::from_secs(s)).to_string();
    let set = "set the clock, and keep it synchronised (systemd-timesyncd, chrony): records, sessions and the audit \
               trail depend on it";
    if !(SANE_FROM_S..SANE_UNTIL_S).contains(&now_s) {
        // Times beyond the year 9999 can't be shown.
        return DoctorFinding::fail("clock", format!("it shows {}", shown(now_s.min(253_402_300_799))), set);
    }
    match newest_s.filter(|newest_s| *newest_s > now_s + ROUNDING_S) {
        Some(newest_s) => {
            let behind = humantime::format_duration(std::time::Duration::from_secs(newest_s - now_s));
            let found = format!(
                "it shows {}, which is {behind} before the last write to the directory: it is wrong, or was",
                shown(now_s)
            );
            DoctorFinding::warn("clock", found, set)
        }
        None => DoctorFinding::ok(
            "clock",
            format!("it shows {}, which is later than all writes to the directory", shown(now_s)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use stet_api::server::FindingLevel;

    use super::*;

    #[test]
    fn the_clock_is_sane_and_not_behind_what_was_written() {
        let now = SANE_FROM_S + 1000;
        for (now_s, newest_s, level) in [
            (0, None, FindingLevel::Fail),
            (SANE_FROM_S - 1, None, FindingLevel::Fail),
            (SANE_UNTIL_S, None, FindingLevel::Fail),
            (u64::MAX, None, FindingLevel::Fail),
            (now, None, FindingLevel::Ok),
            (now, Some(now), FindingLevel::Ok),
            (now, Some(now + ROUNDING_S), FindingLevel::Ok),
            (now, Some(now + ROUNDING_S + 1), FindingLevel::Warn),
        ] {
            assert_eq!(judge_clock(now_s, newest_s).level, level, "{now_s} {newest_s:?}");
        }
    }

    #[test]
    fn the_limit_of_memory_leaves_some_of_the_machine() {
        let mut config = Config::default();
        config.memory.limit_bytes = 1 << 30;
        for (machine, level) in
            [((1 << 30) - 1, FindingLevel::Fail), (1 << 30, FindingLevel::Warn), (16 << 30, FindingLevel::Ok)]
        {
            assert_eq!(judge_memory(&config, machine).level, level, "{machine}");
        }
    }

    #[test]
    fn open_files_are_enough_for_all_connections_some_or_none() {
        let config = Config::default();
        let needed = server::files_for(&config, config.server.max_connections);
        for (limit, level) in [(64, FindingLevel::Fail), (needed - 1, FindingLevel::Warn), (needed, FindingLevel::Ok)] {
            assert_eq!(judge_open_files(&config, "a server", limit).level, level, "{limit}");
        }
    }
}
