//! Commands on a data directory that no server has open.

use std::fs::Metadata;
use std::io::{ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::Path;

use stet_config::Config;
use stet_content::{ContentStore, UploadBounds};
use stet_domain::count::count_with_noun;
use stet_domain::store::StoreError;
use stet_newsroom::administration::{AdminReply, AdminRequest};
use stet_newsroom::audit::{self, TrailRequest};
use stet_store::{RedbStore, Salvage, StoreFile, StoreOptions};

use super::{catch_damage, marker, open_store, open_store_with, options_at_rest, unopened};
use crate::admin::command::ask_server;
use crate::admin::socket::SocketReply;
use crate::check::{CheckReport, check_in};
use crate::exit::{self, Exit, Failure};

/// Returns the data directory, which must exist.
///
/// # Errors
/// [`Exit::Data`] if it does not exist, because opening would create it, or if it was not filled
/// completely.
pub fn existing_directory(config: &Config) -> Result<&Path, Failure> {
    let data: &Path = &config.data.directory;
    is_directory(data)?;
    if !look(&data.join(StoreFile::State.name()))?.is_some_and(|state| state.is_file()) {
        return Err(Failure::new(Exit::Data, format!("{} is not a data directory of stet", data.display())));
    }
    check_is_filled(data)?;
    Ok(data)
}

fn is_directory(data: &Path) -> Result<(), Failure> {
    match look(data)? {
        Some(found) if found.is_dir() => Ok(()),
        Some(_) => Err(Failure::new(Exit::Data, marker::no_directory(data))),
        None => Err(Failure::new(Exit::Data, format!("{} does not exist", data.display()))),
    }
}

/// Returns the metadata of a path, if anything is there. A missing permission is an error: a
/// message that nothing is there would look like a lost newsroom.
fn look(path: &Path) -> Result<Option<Metadata>, Failure> {
    match path.metadata() {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => {
            let hint = match error.kind() {
                ErrorKind::PermissionDenied => "; run this as the server's user",
                _ => "",
            };
            Err(Failure::new(Exit::Data, format!("{} can't be accessed: {error}{hint}", path.display())))
        }
    }
}

/// Refuses a data directory whose first start has not ended.
fn check_is_filled(data: &Path) -> Result<(), Failure> {
    if !marker::is_unfilled(data) {
        return Ok(());
    }
    let why = "its first start is running or was interrupted; start the server, which then begins again";
    Err(Failure::new(Exit::Data, format!("{} is not completely filled: {why}", data.display())))
}

/// Opens an existing data directory.
fn open_existing(config: &Config) -> Result<RedbStore, Failure> {
    existing_directory(config)?;
    open_store(config)
}

/// Prints which acknowledged changes the data directory has lost. With `accept_loss`, gives them up
/// so that the directory can be opened.
///
/// # Errors
/// [`Exit::Data`] if something is lost and `accept_loss` is not set, or if the directory can't be
/// read or repaired.
pub fn recover(config: &Config, accept_loss: bool) -> Result<(), Failure> {
    let data: &Path = &config.data.directory;
    is_directory(data)?;
    check_is_filled(data)?;
    let salvage = catch_damage(data, || RedbStore::salvage(options_at_rest(config), accept_loss))?;
    let Salvage { folded, records, kept, loss, aside } = salvage.map_err(|error| unopened(data, &error))?;
    let mut found = format!("state.redb contains all changes up to {folded}\n");
    found += &match kept - folded {
        0 => "journal.wal adds no changes\n".to_owned(),
        more => format!(
            "journal.wal adds {more} more, in {}: all changes up to {kept} are present\n",
            count_with_noun(records, "record")
        ),
    };
    let Some(loss) = loss else {
        return exit::print(&(found + "no change is missing\n"));
    };
    found += &format!("{loss}\n");
    if !accept_loss {
        // The failure about lost changes takes precedence over one to print them.
        let unwritten = exit::print(&found).err().map(|failure| format!("{}. ", failure.message));
        let unwritten = unwritten.unwrap_or_default();
        let why = format!(
            "{unwritten}nothing was changed. Restore a backup of the whole directory if it has more, or give up the \
             missing changes: stet recover --accept-loss --data {}",
            data.display()
        );
        return Err(Failure::new(Exit::Data, why));
    }
    if let Some(aside) = aside {
        found += &format!("renamed journal.wal to {aside}: it holds the rest of the lost changes, and is never read\n");
    }
    let data = data.display();
    found += &format!(
        "gave up the missing changes; the directory can be opened. Verify it with `stet check --data {data}`\n"
    );
    // The report can't be printed a second time.
    exit::print(&found)
        .map_err(|failure| Failure::new(failure.exit, format!("{}; the report is:\n{found}", failure.message)))
}

/// Prints the entries of the audit trail that pass a filter, oldest first: as lines for people, or
/// as JSON objects. If a server has the directory open, it is asked for them.
///
/// # Errors
/// [`Exit::Data`] if the data directory can't be opened or read, [`Exit::Failed`] if printing
/// fails.
pub fn audit(config: &Config, filter: &audit::AuditFilter, json: bool) -> Result<(), Failure> {
    let first: Option<SocketReply> = ask_server(config, &AdminRequest::Audit(TrailRequest::of(filter, None)))?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut written = if json { Ok(()) } else { writeln!(out, "{}", audit::AuditEntry::HEADINGS) };
    let mut print = |entry: &audit::AuditEntry| {
        written = if json { entry.write_json(&mut out) } else { entry.write_line(&mut out) };
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let walked = match first {
        Some(first) => walk_served(config, filter, first, &mut print),
        None => walk_at_rest(config, filter, &mut print),
    };
    match written.and_then(|()| out.flush()) {
        // The reader has closed the pipe, as `head` does.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
        Err(error) => return Err(Failure::new(Exit::Failed, format!("the audit trail can't be printed: {error}"))),
        Ok(()) => {}
    }
    walked
}

type Print<'p> = &'p mut dyn FnMut(&audit::AuditEntry) -> ControlFlow<()>;

fn walk_at_rest(config: &Config, filter: &audit::AuditFilter, print: Print<'_>) -> Result<(), Failure> {
    let store = open_existing(config)?;
    let walked = catch_damage(&config.data.directory, || audit::walk(&store, filter, |entry| print(&entry)));
    store.close();
    walked?.map_err(|error| unreadable(&config.data.directory, &error))
}

fn walk_served(
    config: &Config,
    filter: &audit::AuditFilter,
    first: SocketReply,
    print: Print<'_>,
) -> Result<(), Failure> {
    let mut outcome = first;
    loop {
        let done = outcome.map_err(|refusal| Failure::new(Exit::Failed, refusal.message))?;
        let AdminReply::Audit(page) = done.reply else {
            return Err(Failure::new(
                Exit::Failed,
                "the server's answer could not be parsed. The server may be another version of stet",
            ));
        };
        if page.items.iter().any(|entry| print(entry).is_break()) {
            return Ok(());
        }
        let Some(next) = page.next else { return Ok(()) };
        let request = AdminRequest::Audit(TrailRequest::of(filter, Some(next)));
        let gone = || Failure::new(Exit::Failed, "the server stopped before the end of the audit trail");
        outcome = ask_server(config, &request)?.ok_or_else(gone)?;
    }
}

fn unreadable(data: &Path, error: &StoreError) -> Failure {
    Failure::new(Exit::Data, format!("{} can't be read: {error}", data.display()))
}

/// Adds a hint to the refusal of a directory in use: how it can be checked instead.
fn beside_a_server(failure: Failure) -> Failure {
    if failure.exit != Exit::InUse {
        return failure;
    }
    let instead = "A check needs exclusive access to the directory: stop the server, or check a snapshot or copy \
                   (docs/OPERATION.md, \"Backup\"). While the server runs, `stet doctor` checks machine and \
                   directory, and `/readyz` reports the server's state";
    Failure::new(failure.exit, format!("{}. {instead}", failure.message))
}

/// Examines everything in a data directory that no server has open.
///
/// # Errors
/// [`Exit::Data`] if it can't be opened or read, [`Exit::InUse`].
pub(super) fn examine(data: &Path, options: StoreOptions, small_body_bytes: usize) -> Result<CheckReport, Failure> {
    // There is time to verify every page, and the findings must not come from damaged pages.
    let store = open_store_with(data, StoreOptions { verify: true, ..options })?;
    let content = ContentStore::open(data, small_body_bytes, UploadBounds::NONE).map_err(|error| {
        Failure::new(Exit::Data, format!("{}: the contents can't be opened: {error}", data.display()))
    })?;
    let report = catch_damage(data, || check_in(data, &store, &content));
    store.close();
    report?.map_err(|error| unreadable(data, &error))
}

/// Checks the data directory, and prints what it has.
///
/// # Errors
/// [`Exit::Data`] if it can't be opened or read, [`Exit::Faults`] if it has faults, which are
/// printed.
pub fn check(config: &Config) -> Result<(), Failure> {
    let data = existing_directory(config)?;
    let examined = examine(data, options_at_rest(config), config.store.small_body_bytes);
    let report = examined.map_err(beside_a_server)?;
    let mut found = String::new();
    for (table, rows) in &report.rows {
        found += &format!("{table:20} {rows}\n");
    }
    for fault in &report.faults {
        found += &format!("fault: {fault}\n");
    }
    if report.unused_files > 0 {
        let (files, bytes) = (report.unused_files, report.unused_bytes);
        let (files, bytes) = (count_with_noun(files, "content file"), count_with_noun(bytes, "byte"));
        found += &format!("unreferenced: {files} of {bytes}, which the server will remove\n");
    }
    let faults = count_with_noun(report.fault_count, "fault");
    found += &format!("{faults}\n");
    let printed = exit::print(&found);
    if report.fault_count == 0 {
        return printed;
    }
    Err(Failure::new(Exit::Faults, format!("{} has {faults}", data.display())))
}
