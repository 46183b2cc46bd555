//! The data directory and the disk that it lies on.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD, StatVfs, StatVfsMountFlags};
use stet_actors::store::Table;
use stet_store::{OpenError, RedbStore, StoreFile};

use super::{Finding, bytes};
use crate::admin::socket;
use crate::config::Config;
use crate::content;
use crate::server::{is_unfilled, options_at_rest, survived};

/// How long a sync may take before it is told; on an SSD it takes some milliseconds.
const SLOW_SYNC: Duration = Duration::from_millis(100);

/// How often a sync is tried; the middle one counts.
const SYNCS: usize = 5;

/// A server that has a data directory open.
pub(super) struct Running {
    /// Its process, where the system tells it.
    pid: Option<i32>,
}

impl Running {
    /// How many files the server may open; the limit that it has now, which it has raised itself as far as it may.
    pub(super) fn open_files(&self) -> Option<u64> {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", self.pid?)).ok()?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
        // Soft and hard; `unlimited` is no number, and more than any need.
        let hard = line.split_whitespace().nth(1)?;
        Some(hard.parse().unwrap_or(u64::MAX))
    }
}

/// The server on a data directory, if one answers there.
pub(super) fn server_on(data: &Path) -> Option<Running> {
    let stream: UnixStream = socket::connect(data).ok()?;
    #[cfg(target_os = "linux")]
    let pid = rustix::net::sockopt::socket_peercred(&stream).ok().map(|peer| peer.pid.as_raw_nonzero().get());
    #[cfg(not(target_os = "linux"))]
    let pid = None;
    drop(stream);
    Some(Running { pid })
}

/// Whether there may be a server on a data directory, of a user whose socket this one may not open.
pub(super) fn may_have_server(data: &Path) -> bool {
    matches!(socket::connect(data), Err(error) if error.kind() == ErrorKind::PermissionDenied)
}

pub(super) fn look(config: &Config, running: Option<&Running>) -> Vec<Finding> {
    let data: &Path = &config.data.directory;
    let found = match std::fs::metadata(data) {
        Ok(found) if !found.is_dir() => {
            let found = format!("{} is a file, and no directory", data.display());
            return vec![Finding::fail("directory", found, "name another with --data or `data.directory`")];
        }
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return not_yet(config),
        Err(error) => {
            let found = format!("{} can't be looked at: {error}", data.display());
            return vec![Finding::fail(
                "directory",
                found,
                "run this as the server's user, and let it enter the folders above",
            )];
        }
    };
    let mut findings = vec![directory(data, running)];
    findings.extend(permissions(data, &found));
    findings.extend(disk(config, data));
    findings.extend(file_system(data));
    findings.push(sync(data));
    findings.extend(journal(config, data, running));
    findings.extend(contents(config, data, running));
    findings
}

/// A directory that the first start makes.
fn not_yet(config: &Config) -> Vec<Finding> {
    let data: &Path = &config.data.directory;
    let above = data.ancestors().skip(1).map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above });
    let Some(above) = above.into_iter().find(|above| above.exists()) else {
        let found = format!("{} is not there, and nothing above it", data.display());
        return vec![Finding::fail("directory", found, "name another with --data or `data.directory`")];
    };
    let mut findings = Vec::new();
    if !above.is_dir() {
        let found = format!("{} can't be made: {} is a file", data.display(), above.display());
        findings.push(Finding::fail("directory", found, "name another with --data or `data.directory`"));
        return findings;
    }
    findings.push(match may(above, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => {
            Finding::ok("directory", format!("{} is not there yet; the first start makes and fills it", data.display()))
        }
        Err(error) => {
            let found = format!("{} can't be made in {}: {error}", data.display(), above.display());
            Finding::fail(
                "directory",
                found,
                format!("make it, and give it to the server's user: install -d -m 700 -o USER {}", data.display()),
            )
        }
    });
    findings.extend(disk(config, above));
    findings.extend(file_system(above));
    findings
}

/// What the directory is.
fn directory(data: &Path, running: Option<&Running>) -> Finding {
    let shown = data.display();
    if let Some(running) = running {
        let process = running.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
        return Finding::ok("directory", format!("a server{process} has {shown} open"));
    }
    if is_unfilled(data) {
        let found = format!("a first start on {shown} is under way or was cut short");
        return Finding::warn("directory", found, "start the server: it removes what was made, and begins anew");
    }
    let contents = || match std::fs::read_dir(data) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) => Err(error),
    };
    match (data.join(StoreFile::State.name()).try_exists(), contents()) {
        (Ok(true), _) => Finding::ok("directory", format!("{shown} is a data directory, and no server has it open")),
        (Ok(false), Ok(false)) => Finding::ok("directory", format!("{shown} is empty; the first start fills it")),
        (Ok(false), Ok(true)) => {
            let found = format!("{shown} has no {}, and is not empty", StoreFile::State.name());
            let advice = "if it was a data directory, restore a backup of the whole; else name an empty one";
            match rest_of_another(data) {
                // No start goes on without it.
                Some(rest) => Finding::fail("directory", format!("{found}: there is {rest}"), advice),
                None => Finding::warn("directory", found, advice),
            }
        }
        (Err(error), _) | (_, Err(error)) => {
            Finding::fail("directory", format!("{shown} can't be read: {error}"), "run this as the server's user")
        }
    }
}

/// What shows that a directory without tables had some, if anything does.
fn rest_of_another(data: &Path) -> Option<String> {
    let is_there = |path: &Path| path.try_exists().unwrap_or(true);
    let file = StoreFile::ALL.into_iter().map(StoreFile::name).find(|name| is_there(&data.join(name)));
    file.map(str::to_owned).or_else(|| content::is_any_in(data).unwrap_or(true).then(|| "contents".to_owned()))
}

/// Who may do what with the directory and what lies in it.
fn permissions(data: &Path, found: &Metadata) -> Vec<Finding> {
    let shown = data.display();
    let (owner, me) = (found.uid(), rustix::process::geteuid());
    let mut findings = Vec::new();
    if let Some(readers) = readers_of(found) {
        let found = format!("{shown} can be entered by {readers}: hashes of passwords and unpublished work are in it");
        findings.push(Finding::warn("permissions", found, format!("chmod 700 {shown}")));
    }
    let wanted = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    if let Err(error) = may(data, wanted) {
        let found =
            format!("user {} may not read, write and enter {shown}, which user {owner} owns: {error}", me.as_raw());
        findings.push(Finding::fail(
            "permissions",
            found,
            "run stet as the owner, or give the directory to its user (chown -R)",
        ));
        return findings;
    }
    let others = others_files(data, owner);
    if let Some(first) = others.first() {
        let found =
            format!("{} of the entries of {shown} are not of user {owner}, who owns it, such as {first}", others.len());
        let advice = format!("chown -R {owner} {shown}: a server of that user can't open them");
        findings.push(Finding::fail("permissions", found, advice));
    }
    if findings.is_empty() {
        let as_whom = match me.as_raw() {
            0 if owner != 0 => {
                format!("user {owner} owns {shown} alone, and must be the one that stet runs as; this looked as root")
            }
            _ => format!("user {owner} owns {shown} alone, and can read and write it"),
        };
        findings.push(Finding::ok("permissions", as_whom));
    }
    findings
}

/// Entries of the directory that another user owns.
fn others_files(data: &Path, owner: u32) -> Vec<String> {
    let entries = std::fs::read_dir(data).into_iter().flatten().flatten();
    let others = entries
        .filter(|entry| entry.metadata().is_ok_and(|found| found.uid() != owner && !found.file_type().is_socket()));
    others.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Who beside its owner may read a file; `None` for nobody.
pub(super) fn readers(path: &Path) -> Option<&'static str> {
    std::fs::metadata(path).ok().and_then(|found| readers_of(&found))
}

fn readers_of(found: &Metadata) -> Option<&'static str> {
    let mode = found.permissions().mode();
    if mode & 0o007 != 0 {
        Some("every user of the machine")
    } else if mode & 0o070 != 0 {
        Some("its group")
    } else {
        None
    }
}

/// Whether this process may, as it is now.
fn may(path: &Path, access: Access) -> io::Result<()> {
    Ok(rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS)?)
}

/// What is free on the disk.
fn disk(config: &Config, at: &Path) -> Vec<Finding> {
    match rustix::fs::statvfs(at) {
        Ok(disk) => judge_disk(config.content.reserve_bytes, &disk),
        Err(error) => vec![Finding::warn("disk", format!("what is free can't be told: {error}"), "see `df`")],
    }
}

fn judge_disk(reserve: u64, disk: &StatVfs) -> Vec<Finding> {
    let mut findings = Vec::new();
    if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
        findings.push(Finding::fail("disk", "it is mounted for reading alone", "mount it for writing"));
    }
    // Some systems count no names at all.
    if disk.f_files > 0 && disk.f_favail < 1000 {
        let found = format!("{} more files can be made on it", disk.f_favail);
        findings.push(Finding::fail("disk", found, "make room for names (`df -i`), or take a file system with more"));
    }
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let (free_told, reserve_told) = (bytes(free), bytes(reserve));
    let room = "make room, or move the directory to a larger disk";
    findings.push(if free == 0 {
        Finding::fail("disk", "nothing is free: changes are refused (StorageFull)", room)
    } else if free < reserve {
        let found = format!("{free_told} are free, less than `content.reserve_bytes` ({reserve_told}): uploads are refused (StorageFull)");
        Finding::fail("disk", found, room)
    } else if free < reserve.saturating_mul(4) {
        let found = format!("{free_told} are free, of which uploads leave `content.reserve_bytes` ({reserve_told})");
        Finding::warn("disk", found, room)
    } else {
        Finding::ok("disk", format!("{free_told} are free, of which uploads leave {reserve_told}"))
    });
    findings
}

/// What kind of file system it is, where that matters.
#[cfg(target_os = "linux")]
fn file_system(at: &Path) -> Option<Finding> {
    let kind = rustix::fs::statfs(at).ok()?.f_type;
    // Magic numbers have 32 bits, whatever they are kept in.
    #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation)]
    let kind = kind as u32;
    Some(judge_file_system(kind))
}

#[cfg(not(target_os = "linux"))]
fn file_system(_: &Path) -> Option<Finding> {
    None
}

/// The numbers are those of Linux: `linux/magic.h`, and statfs(2) for those of file systems outside it.
#[cfg(target_os = "linux")]
fn judge_file_system(kind: u32) -> Finding {
    let network = |name: &str| {
        let found =
            format!("{name}: what is synced may not be on a disk, and a lock may not hold against another machine");
        Finding::warn(
            "file system",
            found,
            "take a disk of this machine, or be sure of the server's syncs, and start stet on one machine only",
        )
    };
    match kind {
        0x6969 => network("it is on NFS"),
        0xff53_4d42 | 0xfe53_4d42 | 0x517b => network("it is on SMB"),
        0x0102_1997 => network("it is on 9P, a folder of a host"),
        0x6573_5546 => network("it is on FUSE, a program's file system"),
        0x00c3_6400 => network("it is on Ceph"),
        0x794c_7630 => {
            let found = "it is on overlay, the file system of a container: everything goes with the container";
            Finding::warn("file system", found, "mount a volume, and name a directory on it")
        }
        0x0102_1994 | 0x8584_58f6 => {
            let found = "it is in memory (tmpfs): everything goes with the machine's next start";
            Finding::warn("file system", found, "name a directory on a disk")
        }
        0xef53 => Finding::ok("file system", "it is on ext4 or one of its kind"),
        0x5846_5342 => Finding::ok("file system", "it is on XFS"),
        0x9123_683e => Finding::ok("file system", "it is on btrfs"),
        0x2fc1_2fc1 => Finding::ok("file system", "it is on ZFS"),
        other => Finding::ok("file system", format!("it is of a kind that nothing is known of (0x{other:08x})")),
    }
}

/// Whether what is written gets to the disk, and how long that takes. The file that is written has no name, and is gone with its last
/// byte; where there are no such files, the directory alone is synced.
fn sync(data: &Path) -> Finding {
    match tried(data) {
        Err(error) => {
            Finding::fail("sync", format!("the disk can't be written to: {error}"), "see `dmesg`, and what is free")
        }
        Ok(took) if took > SLOW_SYNC => {
            let found = format!("a sync takes {} ms, and each change waits for one", took.as_millis());
            Finding::warn("sync", found, "take a faster disk, or see what else writes to it")
        }
        Ok(took) => Finding::ok(
            "sync",
            format!("the disk can be written to, and a sync takes {:.1} ms", took.as_secs_f64() * 1000.0),
        ),
    }
}

/// A file in the directory that has no name and goes when it is closed; `None` where the file system or the system has none such.
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

/// How long a sync of one block takes.
fn tried(data: &Path) -> io::Result<Duration> {
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

/// The journal and what it adds to the tables. Nothing is changed: it is read as `stet recover` does.
fn journal(config: &Config, data: &Path, running: Option<&Running>) -> Option<Finding> {
    let size = |file: StoreFile| std::fs::metadata(data.join(file.name())).map_or(0, |found| found.len());
    let sizes =
        format!("journal.wal has {}, state.redb {}", bytes(size(StoreFile::Journal)), bytes(size(StoreFile::State)));
    if running.is_some() {
        return Some(Finding::ok(
            "journal",
            format!("{sizes}; what is in them can be told while no server has them open"),
        ));
    }
    if is_unfilled(data) || !data.join(StoreFile::State.name()).is_file() {
        return None;
    }
    let recover =
        format!("`stet recover --data {}` says what is missing, and DURABILITY.md what to do", data.display());
    let salvage = match survived(data, || RedbStore::salvage(options_at_rest(config), false)) {
        Ok(salvage) => salvage,
        Err(failure) => return Some(Finding::fail("journal", failure.message, recover)),
    };
    Some(match salvage {
        Ok(salvage) => match salvage.loss {
            None => {
                let more = salvage.kept - salvage.folded;
                Finding::ok(
                    "journal",
                    format!("{sizes}; {more} changes wait to be folded into the tables, and none is missing"),
                )
            }
            Some(loss) => Finding::fail("journal", loss.to_string(), recover),
        },
        Err(OpenError::InUse(_)) => {
            Finding::ok("journal", format!("{sizes}; another process has them open, so what is in them can't be told"))
        }
        Err(error @ OpenError::Newer { .. }) => {
            Finding::fail("journal", error.to_string(), "install the stet that wrote it, or a newer one")
        }
        Err(error) => Finding::fail("journal", error.to_string(), recover),
    })
}

/// Whether the contents are those of the tables. A server has looked at its start.
fn contents(config: &Config, data: &Path, running: Option<&Running>) -> Option<Finding> {
    if running.is_some() || is_unfilled(data) || !data.join(StoreFile::State.name()).is_file() {
        return None;
    }
    let options = options_at_rest(config);
    // What can't be read is told of the journal.
    let read = survived(data, || RedbStore::peek(&options, Table::Marks, content::identity::MARK)).ok()?;
    let mark = read.ok()??;
    Some(match content::identity::compare(&mark, data) {
        Ok(()) => Finding::ok("contents", "they are those of this directory"),
        Err(foreign) => Finding::fail("contents", foreign, "until then a start is refused, with exit code 3"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn what_is_free_is_held_against_what_uploads_leave() {
        let here = rustix::fs::statvfs(".").unwrap();
        let disk =
            |free: u64| StatVfs { f_bavail: free, f_frsize: 1, f_files: 0, f_flag: StatVfsMountFlags::empty(), ..here };
        for (free, level) in
            [(0, Level::Fail), (99, Level::Fail), (100, Level::Warn), (399, Level::Warn), (400, Level::Ok)]
        {
            let findings = judge_disk(100, &disk(free));
            assert_eq!((findings.len(), findings[0].level), (1, level), "{free}");
        }
        let full = StatVfs { f_files: 1 << 20, f_favail: 3, ..disk(1 << 40) };
        assert_eq!(judge_disk(100, &full)[0].level, Level::Fail);
        let locked = StatVfs { f_flag: StatVfsMountFlags::RDONLY, ..disk(1 << 40) };
        assert_eq!(judge_disk(100, &locked)[0].level, Level::Fail);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_systems_that_lose_what_is_synced_are_warned_of() {
        for (kind, word) in [(0x6969, "NFS"), (0x794c_7630, "overlay"), (0x0102_1994, "memory"), (0xff53_4d42, "SMB")] {
            let finding = judge_file_system(kind);
            assert!(finding.level == Level::Warn && finding.found.contains(word), "{finding:?}");
        }
        for kind in [0xef53, 0x5846_5342, 0x9123_683e, 0x2fc1_2fc1, 0x1234] {
            assert_eq!(judge_file_system(kind).level, Level::Ok, "{kind:x}");
        }
    }
}
