//! Findings about the disk of the data directory, and that of the contents if it is another: free
//! space, file system, and whether it can be written to.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{StatVfs, StatVfsMountFlags};
use stet_api::server::DoctorFinding;
use stet_config::Config;
use stet_domain::count::count_with_noun;

use super::bytes;

/// Duration of a sync from which on there is a warning; on an SSD it takes some milliseconds.
const SLOW_SYNC: Duration = Duration::from_millis(100);

/// Number of trial syncs; the median counts.
const SYNCS: usize = 5;

/// Names of findings about a disk: for the directory's own, and for that of the contents if it is
/// another.
const DISK: (&str, &str) = ("disk", "disk (contents)");
const FILE_SYSTEM: (&str, &str) = ("file system", "file system (contents)");
const SYNC: (&str, &str) = ("sync", "sync (contents)");

/// The parts of a data directory that are on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiskContents {
    /// The whole directory.
    All,
    /// All but the contents, which have a disk of their own.
    Tables,
    /// The contents alone.
    Contents,
}

impl DiskContents {
    /// Selects the name of a finding about the disk, from that for the directory's own and that for
    /// the contents'.
    const fn name(self, (own, of_contents): (&'static str, &'static str)) -> &'static str {
        match self {
            DiskContents::All | DiskContents::Tables => own,
            DiskContents::Contents => of_contents,
        }
    }
}

/// Returns all findings about the disk of an existing folder.
pub(super) fn look(config: &Config, at: &Path, holds: DiskContents) -> Vec<DoctorFinding> {
    let mut findings = look_above(config, at, holds);
    findings.push(sync(at, holds));
    findings
}

/// Returns the findings that need no writing to the folder. It may be one above a directory that is
/// still to be created.
pub(super) fn look_above(config: &Config, at: &Path, holds: DiskContents) -> Vec<DoctorFinding> {
    let mut findings = disk(config, at, holds);
    findings.extend(file_system(at, holds));
    findings
}

/// Returns findings about the free space.
fn disk(config: &Config, at: &Path, holds: DiskContents) -> Vec<DoctorFinding> {
    match rustix::fs::statvfs(at) {
        Ok(disk) => judge_disk(config.store.reserve_bytes, &disk, holds),
        Err(error) => {
            vec![DoctorFinding::warn(holds.name(DISK), format!("the free space can't be read: {error}"), "see `df`")]
        }
    }
}

fn judge_disk(reserve: u64, disk: &StatVfs, holds: DiskContents) -> Vec<DoctorFinding> {
    let check = holds.name(DISK);
    let mut findings = Vec::new();
    if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
        findings.push(DoctorFinding::fail(check, "it is mounted read-only", "mount it read-write"));
    }
    // Some file systems do not count names.
    if disk.f_files > 0 && disk.f_favail < 1000 {
        let found = format!("it has room for {} more", count_with_noun(disk.f_favail, "file"));
        findings.push(DoctorFinding::fail(check, found, "free some inodes (`df -i`), or use a file system with more"));
    }
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let (free_told, reserve_told) = (bytes(free), bytes(reserve));
    let room = "free some space, or move it to a larger disk";
    let refused = if holds == DiskContents::Contents { "uploads" } else { "changes" };
    findings.push(if free == 0 {
        DoctorFinding::fail(check, format!("no space is free: {refused} are refused (StorageFull)"), room)
    } else if holds == DiskContents::Tables {
        let found = format!("{free_told} are free");
        if free < reserve {
            let refused = "large changes, and small ones beyond a user's share, are refused (StorageFull)";
            let found = format!("{found}, less than `store.reserve_bytes` ({reserve_told}): {refused}");
            DoctorFinding::warn(check, found, room)
        } else {
            DoctorFinding::ok(check, found)
        }
    } else if free < reserve {
        let found = format!(
            "{free_told} are free, less than `store.reserve_bytes` ({reserve_told}): uploads are refused (StorageFull)"
        );
        DoctorFinding::fail(check, found, room)
    } else if free < reserve.saturating_mul(4) {
        let found = format!("{free_told} are free, of which uploads leave `store.reserve_bytes` ({reserve_told})");
        DoctorFinding::warn(check, found, room)
    } else {
        DoctorFinding::ok(check, format!("{free_told} are free, of which uploads leave {reserve_told}"))
    });
    findings
}

/// Returns the finding about the kind of file system, on systems that report it.
#[cfg(target_os = "linux")]
fn file_system(at: &Path, holds: DiskContents) -> Option<DoctorFinding> {
    let kind = rustix::fs::statfs(at).ok()?.f_type;
    // Magic numbers have 32 bits, whatever type they are kept in.
    #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation)]
    let kind = kind as u32;
    Some(judge_file_system(kind, holds))
}

#[cfg(not(target_os = "linux"))]
fn file_system(_: &Path, _: DiskContents) -> Option<DoctorFinding> {
    None
}

/// Returns the finding about a kind of file system. The numbers are those of Linux:
/// `linux/magic.h`, and statfs(2) for file systems outside it.
#[cfg(target_os = "linux")]
fn judge_file_system(kind: u32, holds: DiskContents) -> DoctorFinding {
    let check = holds.name(FILE_SYSTEM);
    let network = |name: &str| {
        let found = format!("{name}: a sync may not reach a disk, and a lock may not exclude other machines");
        DoctorFinding::warn(
            check,
            found,
            "use a local disk, or make sure that its server syncs to a disk and that only one machine runs stet",
        )
    };
    match kind {
        0x6969 => network("it is on NFS"),
        0xff53_4d42 | 0xfe53_4d42 | 0x517b => network("it is on SMB"),
        0x0102_1997 => network("it is on 9P, a folder of a host"),
        0x6573_5546 => network("it is on FUSE, a program's file system"),
        0x00c3_6400 => network("it is on Ceph"),
        0x794c_7630 => {
            let found = "it is on overlay, the file system of a container: all data is lost with the container";
            DoctorFinding::warn(check, found, "mount a volume, and name a directory on it")
        }
        0x0102_1994 | 0x8584_58f6 => {
            let found = "it is in memory (tmpfs): all data is lost when the machine restarts";
            DoctorFinding::warn(check, found, "name a directory on a disk")
        }
        0xef53 => DoctorFinding::ok(check, "it is on ext2, ext3 or ext4"),
        0x5846_5342 => DoctorFinding::ok(check, "it is on XFS"),
        0x9123_683e => DoctorFinding::ok(check, "it is on btrfs"),
        0x2fc1_2fc1 => DoctorFinding::ok(check, "it is on ZFS"),
        other => DoctorFinding::ok(check, format!("its type is unknown (0x{other:08x})")),
    }
}

/// Tests whether written bytes reach the disk, and how long that takes. The test file has no name,
/// and disappears when it is closed. Where such files are not supported, the directory alone is
/// synced.
fn sync(at: &Path, holds: DiskContents) -> DoctorFinding {
    let check = holds.name(SYNC);
    match measure_sync(at) {
        Err(error) => DoctorFinding::fail(
            check,
            format!("the disk can't be written to: {error}"),
            "see `dmesg`, and check the free space",
        ),
        Ok(took) if took > SLOW_SYNC => {
            let of = if holds == DiskContents::Contents { "upload" } else { "change" };
            let found = format!("a sync takes {} ms, and each {of} waits for one", took.as_millis());
            DoctorFinding::warn(check, found, "use a faster disk, or find out what else writes to it")
        }
        Ok(took) => DoctorFinding::ok(
            check,
            format!("the disk can be written to, and a sync takes {:.1} ms", took.as_secs_f64() * 1000.0),
        ),
    }
}

/// Creates a file in the directory that has no name and disappears when it is closed; `None` if the
/// file system or the system does not support that.
#[cfg(target_os = "linux")]
fn nameless(data: &Path) -> io::Result<Option<File>> {
    use rustix::fs::OFlags;
    use rustix::io::Errno;

    match rustix::fs::open(data, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, 0o600.into()) {
        Ok(file) => Ok(Some(File::from(file))),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Measures a sync of one block.
fn measure_sync(data: &Path) -> io::Result<Duration> {
    let mut file = nameless(data)?;
    let folder = File::open(data)?;
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        let begun = Instant::now();
        match &mut file {
            Some(file) => {
                file.write_all(&[0; 4096])?;
                file.sync_data()?;
            }
            None => folder.sync_all()?,
        }
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times[SYNCS / 2])
}

#[cfg(test)]
mod tests {
    use stet_api::server::FindingLevel;

    use super::*;

    #[test]
    fn free_disk_space_is_compared_with_the_limits_of_uploads() {
        let here = rustix::fs::statvfs(".").unwrap();
        let disk =
            |free: u64| StatVfs { f_bavail: free, f_frsize: 1, f_files: 0, f_flag: StatVfsMountFlags::empty(), ..here };
        for (free, level) in [
            (0, FindingLevel::Fail),
            (99, FindingLevel::Fail),
            (100, FindingLevel::Warn),
            (399, FindingLevel::Warn),
            (400, FindingLevel::Ok),
        ] {
            let findings = judge_disk(100, &disk(free), DiskContents::All);
            assert_eq!((findings.len(), findings[0].level), (1, level), "{free}");
        }
        // Each disk is compared with the limit below which something is refused there.
        for (free, tables, contents) in [
            (0, FindingLevel::Fail, FindingLevel::Fail),
            (99, FindingLevel::Warn, FindingLevel::Fail),
            (100, FindingLevel::Ok, FindingLevel::Warn),
            (400, FindingLevel::Ok, FindingLevel::Ok),
        ] {
            for (holds, check, level) in
                [(DiskContents::Tables, "disk", tables), (DiskContents::Contents, "disk (contents)", contents)]
            {
                let findings = judge_disk(100, &disk(free), holds);
                assert_eq!((findings.len(), findings[0].check, findings[0].level), (1, check, level), "{free}");
            }
        }
        let full = StatVfs { f_files: 1 << 20, f_favail: 3, ..disk(1 << 40) };
        assert_eq!(judge_disk(100, &full, DiskContents::All)[0].level, FindingLevel::Fail);
        let locked = StatVfs { f_flag: StatVfsMountFlags::RDONLY, ..disk(1 << 40) };
        assert_eq!(judge_disk(100, &locked, DiskContents::All)[0].level, FindingLevel::Fail);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_systems_that_lose_what_is_synced_are_warned_of() {
        for (kind, word) in [(0x6969, "NFS"), (0x794c_7630, "overlay"), (0x0102_1994, "memory"), (0xff53_4d42, "SMB")] {
            let finding = judge_file_system(kind, DiskContents::All);
            assert!(finding.level == FindingLevel::Warn && finding.found.contains(word), "{finding:?}");
        }
        for kind in [0xef53, 0x5846_5342, 0x9123_683e, 0x2fc1_2fc1, 0x1234] {
            assert_eq!(judge_file_system(kind, DiskContents::All).level, FindingLevel::Ok, "{kind:x}");
        }
    }
}
