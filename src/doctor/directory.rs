//! Findings about the data directory.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};
use stet_api::server::DoctorFinding;
use stet_config::Config;
use stet_domain::count::count_with_noun;
use stet_domain::store::{KeyRange, Table};
use stet_store::{ClosedStore, OpenError, RedbStore, StoreFile};

use super::bytes;
use super::disk::{self, DiskContents};
use crate::admin::socket;
use crate::server::left_out::{self, has_objects, left_out};
use crate::server::main_database;
use crate::server::{catch_damage, is_unfilled, options_at_rest};

/// A server that has a data directory open.
pub(super) struct RunningServer {
    /// Number of its process, if the system reports it.
    pid: Option<i32>,
}

impl RunningServer {
    /// Returns the server that is this process.
    pub(super) fn own() -> RunningServer {
        RunningServer { pid: i32::try_from(std::process::id()).ok() }
    }

    /// Returns the number of files that the server may open: its present limit, which it has raised
    /// as far as it may.
    pub(super) fn open_files(&self) -> Option<u64> {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", self.pid?)).ok()?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
        // Soft and hard limit; `unlimited` is no number, and more than ever needed.
        let hard = line.split_whitespace().nth(1)?;
        Some(hard.parse().unwrap_or(u64::MAX))
    }
}

/// Returns the server on a data directory, if one answers there.
pub(super) fn server_on(data: &Path) -> Option<RunningServer> {
    let stream: UnixStream = socket::connect(data).ok()?;
    #[cfg(target_os = "linux")]
    let pid = rustix::net::sockopt::socket_peercred(&stream).ok().map(|peer| peer.pid.as_raw_nonzero().get());
    #[cfg(not(target_os = "linux"))]
    let pid = None;
    drop(stream);
    Some(RunningServer { pid })
}

/// Reports whether another user's server may have a data directory open: its socket can't be
/// opened.
pub(super) fn may_have_server(data: &Path) -> bool {
    matches!(socket::connect(data), Err(error) if error.kind() == ErrorKind::PermissionDenied)
}

pub(super) fn look(config: &Config, running: Option<&RunningServer>) -> Vec<DoctorFinding> {
    let data: &Path = &config.data.directory;
    let found = match std::fs::metadata(data) {
        Ok(found) if !found.is_dir() => {
            let found = format!("{} is a file, not a directory", data.display());
            return vec![DoctorFinding::fail("directory", found, "name another with --data or `data.directory`")];
        }
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return not_yet(config),
        Err(error) => {
            let found = format!("{} can't be accessed: {error}", data.display());
            return vec![DoctorFinding::fail(
                "directory",
                found,
                "run this as the server's user, and let it enter the folders above",
            )];
        }
    };
    let mut findings = vec![directory(data, running)];
    findings.extend(permissions(data, &found));
    let folder = stet_content::folder_in(data);
    // A folder that can't be read is a finding about permissions.
    let is_elsewhere = std::fs::metadata(&folder).is_ok_and(|contents| contents.dev() != found.dev());
    let disks: &[(&Path, DiskContents)] = if is_elsewhere {
        &[(data, DiskContents::Tables), (&folder, DiskContents::Contents)]
    } else {
        &[(data, DiskContents::All)]
    };
    findings.extend(disks.iter().flat_map(|&(at, holds)| disk::look(config, at, holds)));
    findings.extend(journal(config, data, running));
    findings.extend(tables(config, data, running));
    findings
}

/// Returns findings about a directory that the first start will create.
fn not_yet(config: &Config) -> Vec<DoctorFinding> {
    let data: &Path = &config.data.directory;
    let above = data.ancestors().skip(1).map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above });
    let Some(above) = above.into_iter().find(|above| above.exists()) else {
        let found = format!("neither {} nor a directory above it exists", data.display());
        return vec![DoctorFinding::fail("directory", found, "name another with --data or `data.directory`")];
    };
    let mut findings = Vec::new();
    if !above.is_dir() {
        let found = format!("{} can't be created: {} is a file", data.display(), above.display());
        findings.push(DoctorFinding::fail("directory", found, "name another with --data or `data.directory`"));
        return findings;
    }
    findings.push(match check_access(above, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => DoctorFinding::ok(
            "directory",
            format!("{} does not exist yet; the first start creates and fills it", data.display()),
        ),
        Err(error) => {
            let found = format!("{} can't be created in {}: {error}", data.display(), above.display());
            DoctorFinding::fail(
                "directory",
                found,
                format!("create it for the server's user: install -d -m 700 -o USER {}", data.display()),
            )
        }
    });
    findings.extend(disk::look_above(config, above, DiskContents::All));
    findings
}

/// Returns the finding about the state of the directory.
fn directory(data: &Path, running: Option<&RunningServer>) -> DoctorFinding {
    let shown = data.display();
    if let Some(running) = running {
        let process = running.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
        return DoctorFinding::ok("directory", format!("a server{process} has {shown} open"));
    }
    if is_unfilled(data) {
        let found = format!("the first start on {shown} is running or was interrupted");
        return DoctorFinding::warn(
            "directory",
            found,
            "start the server: it removes the created files and begins again",
        );
    }
    let contents = || match std::fs::read_dir(data) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) => Err(error),
    };
    match (data.join(StoreFile::State.name()).try_exists(), contents()) {
        (Ok(true), _) => {
            DoctorFinding::ok("directory", format!("{shown} is a data directory, and no server has it open"))
        }
        (Ok(false), Ok(false)) => DoctorFinding::ok("directory", format!("{shown} is empty; the first start fills it")),
        (Ok(false), Ok(true)) => {
            let found = format!("{shown} has no {}, and is not empty", StoreFile::State.name());
            let advice = "if it was a data directory, restore a backup of the whole directory; else name an empty one";
            match rest_of_another(data) {
                // No start goes on in this state.
                Some(rest) => DoctorFinding::fail("directory", format!("{found}: there is {rest}"), advice),
                None => DoctorFinding::warn("directory", found, advice),
            }
        }
        (Err(error), _) | (_, Err(error)) => {
            DoctorFinding::fail("directory", format!("{shown} can't be read: {error}"), "run this as the server's user")
        }
    }
}

/// Returns a sign that a directory without tables once had some, if there is one.
fn rest_of_another(data: &Path) -> Option<String> {
    let is_there = |path: &Path| path.try_exists().unwrap_or(true);
    let file = StoreFile::ALL.into_iter().map(StoreFile::name).find(|name| is_there(&data.join(name)));
    file.map(str::to_owned).or_else(|| stet_content::is_any_in(data).unwrap_or(true).then(|| "contents".to_owned()))
}

/// Returns findings about the permissions of the directory and its entries.
fn permissions(data: &Path, found: &Metadata) -> Vec<DoctorFinding> {
    let shown = data.display();
    let (owner, me) = (found.uid(), rustix::process::geteuid());
    let mut findings = Vec::new();
    if let Some(readers) = readers_of(found) {
        let found = format!("{shown} can be entered by {readers}: it contains password hashes and unpublished work");
        findings.push(DoctorFinding::warn("permissions", found, format!("chmod 700 {shown}")));
    }
    let wanted = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    if let Err(error) = check_access(data, wanted) {
        let found =
            format!("user {} may not read, write and enter {shown}, which user {owner} owns: {error}", me.as_raw());
        findings.push(DoctorFinding::fail(
            "permissions",
            found,
            "run stet as the owner, or give the directory to its user (chown -R)",
        ));
        return findings;
    }
    for folder in stet_content::folders().map(|folder| data.join(folder)) {
        match check_access(&folder, wanted) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let shown = folder.display();
                let found = format!("user {} may not read, write and enter {shown}: {error}", me.as_raw());
                let advice = "make the directory's owner the owner of everything in it, with write permission; until \
                              then uploads fail";
                findings.push(DoctorFinding::fail("permissions", found, advice));
                break;
            }
            _ => {}
        }
    }
    let others = others_files(data, owner);
    if let Some(first) = others.first() {
        let found = format!(
            "{} of the files and folders in {shown} do not belong to its owner, user {owner}, such as {first}",
            others.len()
        );
        let advice = format!("chown -R {owner} {shown}: a server of that user can't open them");
        findings.push(DoctorFinding::fail("permissions", found, advice));
    }
    if findings.is_empty() {
        let as_whom = match me.as_raw() {
            0 if owner != 0 => {
                format!("user {owner} owns everything in {shown}; stet must run as this user (this check ran as root)")
            }
            _ => format!("user {owner} owns everything in {shown}, and can read and write it"),
        };
        findings.push(DoctorFinding::ok("permissions", as_whom));
    }
    findings
}

/// Returns the entries of the directory, and the folders of contents, that another user owns. Files
/// of contents are not checked: there may be millions.
fn others_files(data: &Path, owner: u32) -> BTreeSet<String> {
    let entries = std::fs::read_dir(data).into_iter().flatten().flatten().map(|entry| PathBuf::from(entry.file_name()));
    let is_others = |entry: &PathBuf| {
        let found = std::fs::symlink_metadata(data.join(entry));
        found.is_ok_and(|found| found.uid() != owner && !found.file_type().is_socket())
    };
    // The folder of contents is among the entries, too.
    entries.chain(stet_content::folders()).filter(is_others).map(|entry| entry.to_string_lossy().into_owned()).collect()
}

/// Returns the users beside the owner who may read a file; `None` if there are none.
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

/// Checks that this process may access a path, with its present rights.
fn check_access(path: &Path, access: Access) -> io::Result<()> {
    Ok(rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS)?)
}

/// Returns the finding about the journal and its additions to the tables. Nothing is changed: it is
/// read as by `stet recover`.
fn journal(config: &Config, data: &Path, running: Option<&RunningServer>) -> Option<DoctorFinding> {
    let size = |file: StoreFile| std::fs::metadata(data.join(file.name())).map_or(0, |found| found.len());
    let sizes =
        format!("journal.wal has {}, state.redb {}", bytes(size(StoreFile::Journal)), bytes(size(StoreFile::State)));
    if running.is_some() {
        return Some(DoctorFinding::ok(
            "journal",
            format!("{sizes}; their content can be checked only while no server has them open"),
        ));
    }
    if is_unfilled(data) || !data.join(StoreFile::State.name()).is_file() {
        return None;
    }
    let recover =
        format!("`stet recover --data {}` reports what is missing; DURABILITY.md describes what to do", data.display());
    let salvage = match catch_damage(data, || RedbStore::salvage(options_at_rest(config), false)) {
        Ok(salvage) => salvage,
        Err(failure) => return Some(DoctorFinding::fail("journal", failure.message, recover)),
    };
    Some(match salvage {
        Ok(salvage) => match salvage.loss {
            None => {
                let more = salvage.kept - salvage.folded;
                DoctorFinding::ok(
                    "journal",
                    format!("{sizes}; {} not in the tables yet, and none is missing", count_with_noun(more, "change")),
                )
            }
            Some(loss) => DoctorFinding::fail("journal", loss.to_string(), recover),
        },
        Err(OpenError::InUse(_)) => DoctorFinding::ok(
            "journal",
            format!("{sizes}; another process has them open, so their content can't be checked"),
        ),
        Err(error @ OpenError::Newer { .. }) => {
            DoctorFinding::fail("journal", error.to_string(), "install the stet that wrote it, or a newer one")
        }
        Err(error) => DoctorFinding::fail("journal", error.to_string(), recover),
    })
}

/// Returns findings about what the tables state: the identity of their contents, and the databases.
/// A running server has checked these at its start.
fn tables(config: &Config, data: &Path, running: Option<&RunningServer>) -> Vec<DoctorFinding> {
    if running.is_some() || is_unfilled(data) || !data.join(StoreFile::State.name()).is_file() {
        return Vec::new();
    }
    let options = options_at_rest(config);
    let look = || {
        let Some(tables) = ClosedStore::open(&options)? else { return Ok((None, BTreeSet::new(), Ok(None))) };
        let keys = |table: Table, range: &KeyRange, limit: usize| tables.keys(table, range, limit);
        let mark = tables.get(Table::Marks, stet_content::identity::MARK)?;
        let other_main = match main_database::named_by(tables.get(Table::Marks, main_database::MARK)?.as_deref()) {
            Ok(noted) if noted != config.main_database() && has_objects(noted, &keys)? => Ok(Some(noted)),
            noted => noted.map(|_| None),
        };
        Ok::<_, OpenError>((mark, left_out(config, keys)?, other_main))
    };
    // Errors in reading are findings about the journal.
    let Ok(Ok((mark, left_out, other_main))) = catch_damage(data, look) else { return Vec::new() };
    let contents = mark.map(|mark| match stet_content::identity::compare(&mark, data) {
        Ok(()) => DoctorFinding::ok("contents", "they belong to this directory"),
        Err(foreign) => DoctorFinding::fail("contents", foreign, "until then a start is refused, with exit code 3"),
    });
    let databases = match left_out::describe_left_out(&left_out) {
        Some(told) => DoctorFinding::warn("databases", told, left_out::ADVICE),
        None => DoctorFinding::ok("databases", "no database with objects is missing from `databases`"),
    };
    let main = match other_main {
        Ok(None) => None,
        Ok(Some(noted)) => Some((main_database::mismatch(noted, config.main_database()), main_database::ADVICE)),
        Err(damaged) => Some((damaged, "restore a backup of the whole directory")),
    };
    let main = main.map(|(why, advice)| DoctorFinding::fail("main database", why, advice));
    contents.into_iter().chain([databases]).chain(main).collect()
}
