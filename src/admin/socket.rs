//! The socket in the data directory: each connection carries one line of JSON in, and one out.
//!
//! # Access
//!
//! Any process that may open the socket may send requests. The socket has mode 0600, and is created
//! in a directory of mode 0700 before it is moved to its place. So there is no moment at which
//! another user could connect. The move also replaces the socket of a killed server. The data
//! directory is locked by then, so no server can be listening there.

use std::fs::{File, Permissions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stet_archiver::BackupService;
use stet_auth::leaves_no_administrator;
use stet_domain::count::count_with_noun;
use stet_domain::error::{Code, Error};
use stet_newsroom::administration::{Admin, AdminOutcome, AdminRequest};
use stet_search::NewsroomSearch;
use stet_webhooks::Webhooks;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use super::reindex::{self, ReindexCommand, ReindexReply};
use super::webhook::{self, WebhookCommand, WebhookReply};
use crate::backup::{self, BackupCommand, BackupReply};

/// The socket's name in the data directory.
pub const NAME: &str = "admin.sock";

/// Bytes of the longest request, far more than a user or key with all its fields has.
const MAX_REQUEST: u64 = 1 << 16;

/// The time limit for a client's line, and for a command that waits for the reply.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of a path that fit into a socket's address on every system, including the terminator.
const MAX_PATH: usize = 100;

/// An error as it is sent to the command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AdminRefusal {
    /// The code, without a prefix.
    pub code: String,
    /// A sentence.
    pub message: String,
    /// Whether the request would succeed with `force`: it was refused because it would leave no
    /// administrator.
    #[serde(default)]
    pub can_be_forced: bool,
}

impl From<Error> for AdminRefusal {
    fn from(error: Error) -> AdminRefusal {
        let can_be_forced = leaves_no_administrator(&error);
        AdminRefusal { code: error.code.name().to_owned(), message: error.message, can_be_forced }
    }
}

/// The reply on the socket to an [`AdminRequest`].
pub type SocketReply = Result<AdminOutcome, AdminRefusal>;

/// A request on the socket. The names of the variants differ.
#[derive(Deserialize)]
#[serde(untagged)]
enum SocketRequest {
    Admin(AdminRequest),
    Webhook(WebhookCommand),
    Reindex(ReindexCommand),
    Backup(BackupCommand),
}

/// The outcome of either request.
#[derive(Serialize)]
#[serde(untagged)]
enum SocketOutcome {
    Admin(AdminOutcome),
    Webhook(WebhookReply),
    Reindex(ReindexReply),
    Backup(BackupReply),
}

/// The operations that the socket offers.
#[derive(Clone)]
pub struct AdminOperations {
    /// Users, groups, keys, sessions and the audit trail.
    pub admin: Admin,
    /// Webhooks.
    pub webhooks: Arc<Webhooks>,
    /// The search, if the server has one.
    pub search: Option<Arc<NewsroomSearch>>,
    /// The backup, if the server has one.
    pub backup: Option<Arc<BackupService>>,
}

/// The open socket; it is closed and removed when dropped.
pub struct AdminSocket {
    path: PathBuf,
    task: JoinHandle<()>,
}

impl AdminSocket {
    /// Opens the socket in a locked data directory, and starts to answer requests. Must be called
    /// inside the runtime.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn open(data: &Path, operations: AdminOperations) -> io::Result<AdminSocket> {
        let reach = SocketDirectory::of(data)?;
        let private = tempfile::Builder::new().prefix(".admin-").tempdir_in(&reach.path)?;
        let made = private.path().join(NAME);
        let listener = StdListener::bind(&made)?;
        std::fs::set_permissions(&made, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        std::fs::rename(&made, reach.path.join(NAME))?;
        let task = actix::spawn(accept(listener, operations));
        Ok(AdminSocket { path: data.join(NAME), task })
    }
}

impl Drop for AdminSocket {
    fn drop(&mut self) {
        self.task.abort();
        // It may have been removed already; a stale socket does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A directory under a path that is short enough for a socket in it.
struct SocketDirectory {
    path: PathBuf,
    /// The open directory to which the path refers, if it is not the directory's own path.
    _open: Option<File>,
}

impl SocketDirectory {
    fn of(data: &Path) -> io::Result<SocketDirectory> {
        // Leaves room for the names of the private directory and the socket.
        if data.as_os_str().as_bytes().len() + 32 <= MAX_PATH {
            return Ok(SocketDirectory { path: data.to_owned(), _open: None });
        }
        let open = File::open(data)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
        // On systems without `/proc`, the path is simply too long.
        if !path.is_dir() {
            let message = format!("the path {} is too long for a socket in it", data.display());
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        Ok(SocketDirectory { path, _open: Some(open) })
    }
}

async fn accept(listener: UnixListener, operations: AdminOperations) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(actix::spawn(answer(stream, operations.clone()))),
            Err(error) => {
                tracing::warn!(%error, "a connection to the administration socket failed");
                // The process may have no file descriptor left; an immediate retry would occupy a
                // whole core.
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn answer(stream: UnixStream, operations: AdminOperations) {
    let AdminOperations { admin, webhooks, search, backup } = operations;
    let (read, mut write) = stream.into_split();
    let mut line = Vec::new();
    let mut read = tokio::io::BufReader::new(read.take(MAX_REQUEST));
    match tokio::time::timeout(PATIENCE, read.read_until(b'\n', &mut line)).await {
        // Without the end of the line, it was interrupted or is too long.
        Ok(Ok(_)) if line.last() == Some(&b'\n') => {}
        _ => return,
    }
    // The error is not reported in full, because it may quote a password.
    let mut key = None;
    let outcome: Result<SocketOutcome, AdminRefusal> = match serde_json::from_slice(&line) {
        Ok(SocketRequest::Admin(request)) => {
            key = request.made_key();
            admin.carry_out(request).await.map(SocketOutcome::Admin).map_err(AdminRefusal::from)
        }
        Ok(SocketRequest::Webhook(command)) => {
            let outcome = webhook::carry_out(&webhooks, command).await;
            outcome.map(SocketOutcome::Webhook).map_err(AdminRefusal::from)
        }
        Ok(SocketRequest::Reindex(ReindexCommand::Reindex)) => {
            reindex::carry_out(search.as_deref()).map(SocketOutcome::Reindex).map_err(AdminRefusal::from)
        }
        Ok(SocketRequest::Backup(command)) => {
            backup::carry_out(backup.as_deref(), &command).map(SocketOutcome::Backup).map_err(AdminRefusal::from)
        }
        Err(_) => Err(Error::new(
            Code::InvalidBody,
            "The request could not be parsed. The command may belong to another version of stet.",
        )
        .into()),
    };
    // Waits until the cached users and groups match the rows, so that the command's user finds the
    // change in the next call.
    admin.directory.agrees().await;
    let mut reply = serde_json::to_vec(&outcome).unwrap_or_default();
    reply.push(b'\n');
    let sent = matches!(tokio::time::timeout(PATIENCE, write.write_all(&reply)).await, Ok(Ok(())));
    // The client may have gone. A key whose token nobody has would be useless, but in force.
    if let (false, Some(name), Ok(_)) = (sent, key, &outcome) {
        let revoked = admin.carry_out(AdminRequest::KeyRevoke { name: name.clone() }).await;
        tracing::warn!(key = name, revoked = revoked.is_ok(), "created a key, but could not deliver its token");
    }
}

/// Connects to the server that has a data directory open. A connection that ends without a line is
/// no request.
///
/// # Errors
/// No server listens, or the socket may not be opened.
pub fn connect(data: &Path) -> io::Result<StdStream> {
    SocketDirectory::of(data).and_then(|reach| StdStream::connect(reach.path.join(NAME)))
}

/// Sends a request to the server that has a data directory open; `None` if no server listens.
///
/// # Errors
/// The socket may not be opened, or the server went away before it answered, or does not answer.
pub fn ask<R: DeserializeOwned>(data: &Path, request: &impl Serialize) -> io::Result<Option<R>> {
    ask_within(PATIENCE, data, request)
}

fn ask_within<R: DeserializeOwned>(patience: Duration, data: &Path, request: &impl Serialize) -> io::Result<Option<R>> {
    let mut stream = match connect(data) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        // No socket can have such a path, so the server has none either.
        Err(error) if error.kind() == ErrorKind::InvalidInput => return Ok(None),
        Err(error) => return Err(error),
    };
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    let mut reply = String::new();
    let asked = stream.write_all(&line).and_then(|()| BufReader::new(stream.take(1 << 30)).read_line(&mut reply));
    asked.map_err(|error| match error.kind() {
        // The kind of error on a timeout depends on the system.
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            let patience = count_with_noun(patience.as_secs(), "second");
            let message = format!(
                "the server has not answered for {patience}; it is unknown whether it has made the change, or will. \
                 Check before you try again"
            );
            io::Error::new(ErrorKind::TimedOut, message)
        }
        _ => error,
    })?;
    if reply.is_empty() {
        let message =
            "the server closed the connection before it answered; it is unknown whether it has made the change";
        return Err(io::Error::new(ErrorKind::UnexpectedEof, message));
    }
    Ok(Some(serde_json::from_str(&reply)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command reported a failure in the system's words, although the request was carried out.
    #[test]
    fn an_unanswered_admin_request_is_reported_as_of_unknown_outcome() {
        let data = tempfile::tempdir().expect("a temporary directory can be made");
        let _silent = StdListener::bind(data.path().join(NAME)).expect("a socket can be opened");
        let request = AdminRequest::KeyRevoke { name: "k".to_owned() };
        let asked: io::Result<Option<SocketReply>> = ask_within(Duration::from_millis(10), data.path(), &request);
        let error = asked.expect_err("nobody answers");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("it is unknown"), "{error}");
    }
}
