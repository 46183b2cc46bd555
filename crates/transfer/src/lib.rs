//! `stet export` and `stet import`: a repository's objects as a tree of files, and back, through
//! the interface of a server. `stet config apply` transfers configuration files in the same way.
//!
//! docs/TRANSFER.md is the manual. Everything of an object beside its content is in its [`record`];
//! the [`layout`] defines the place of both. Export and import may be interrupted and started
//! again: objects that are up to date are left alone.

mod apply;
mod client;
mod export;
mod files;
mod former;
mod import;
mod layout;
mod part;
mod places;
mod plain;
mod progress;
mod record;
mod wire;
mod work;

use std::fmt;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use self::apply::ConfigDeployment;
pub use self::apply::{CheckFiles, ConfigFindings, ReadFile, configuration_files};
use self::client::TransferClient;
use self::export::Export;
use self::import::Import;
use self::progress::{TransferOutcome, TransferProgress};

/// Returns the media type for a file name's extension; `None` if that is unknown. The server uses
/// it too, for files whose type nothing else states.
pub fn media_type_of(name: &str) -> Option<&'static str> {
    mime_guess::from_path(name).first_raw()
}

/// Environment variable with the password.
pub const PASSWORD: &str = "STET_PASSWORD";

/// The reason why a transfer failed, as a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferError {
    /// The options or the password are wrong.
    Usage(String),
    /// The server can't be reached, or refuses the user, or some objects could not be transferred.
    Failed(String),
    /// The files have faults, and nothing was changed.
    Faults {
        /// A line for each fault.
        told: String,
        /// A sentence that sums them up.
        message: String,
    },
}

/// The server, the caller and the options of calls.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ConnectionOptions {
    /// URL of a running server, with its base path; without it a data directory that no server has
    /// open
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "data"])]
    url: Option<String>,
    /// User whose privileges count
    #[arg(long, value_name = "NAME", default_value = "admin")]
    user: String,
    /// The server's connection to log in to
    #[arg(long, value_name = "ID", default_value = "Editorial", requires = "url")]
    connection: String,
    /// File whose first line is the password; else STET_PASSWORD, or it is asked for
    #[arg(long, value_name = "FILE", requires = "url")]
    password_file: Option<PathBuf>,
    /// File whose first line is the token of a key, in place of user and password
    #[arg(long, value_name = "FILE", requires = "url", conflicts_with_all = ["password_file", "user"])]
    key_file: Option<PathBuf>,
    /// PEM file of the authority to trust, in place of the system's
    #[arg(long, value_name = "FILE", requires = "url")]
    ca: Option<PathBuf>,
    /// Number of calls at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    clients: u8,
    /// Show no progress
    #[arg(long)]
    quiet: bool,
}

/// The options of `export`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ExportOptions {
    /// Directory to write to; created if it does not exist
    directory: PathBuf,
    /// Path of the folder whose content is written
    #[arg(long, value_name = "PATH", default_value = "/")]
    folder: String,
    /// Number or name of the folder's database; the main one without it
    #[arg(long, value_name = "ID")]
    database: Option<String>,
    #[command(flatten)]
    through: ConnectionOptions,
}

/// The options of `import`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ImportOptions {
    /// Directory to read: one that `export` has written, or any tree of files
    directory: PathBuf,
    /// Path of the target folder
    #[arg(long, value_name = "PATH", default_value = "/")]
    into: String,
    /// Number or name of the target folder's database; the main one without it
    #[arg(long, value_name = "ID")]
    database: Option<String>,
    /// Make a newer version of a wire item a new version of its object, instead of only reporting
    /// it
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    through: ConnectionOptions,
}

/// The options of `config apply`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ApplyOptions {
    /// Folder with the files, which contains `SysConfig` or is it
    directory: PathBuf,
    /// Report the files that would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Number or name of the database to configure; the main one without it
    #[arg(long, value_name = "ID")]
    database: Option<String>,
    #[command(flatten)]
    through: ConnectionOptions,
}

/// A transfer to run, with its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    task: TransferTask,
    database: Option<String>,
    through: ConnectionOptions,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TransferTask {
    Export { folder: String, directory: PathBuf },
    Import { directory: PathBuf, into: String, update: bool },
    Apply { directory: PathBuf, dry_run: bool },
}

impl From<ExportOptions> for Transfer {
    fn from(ExportOptions { directory, folder, database, through }: ExportOptions) -> Transfer {
        Transfer { task: TransferTask::Export { folder, directory }, database, through }
    }
}

impl From<ImportOptions> for Transfer {
    fn from(ImportOptions { directory, into, database, update, through }: ImportOptions) -> Transfer {
        Transfer { task: TransferTask::Import { directory, into, update }, database, through }
    }
}

impl From<ApplyOptions> for Transfer {
    fn from(ApplyOptions { directory, dry_run, database, through }: ApplyOptions) -> Transfer {
        Transfer { task: TransferTask::Apply { directory, dry_run }, database, through }
    }
}

impl Transfer {
    /// Returns the running server that was named, if one was.
    pub fn url(&self) -> Option<&str> {
        self.through.url.as_deref()
    }

    /// Returns the name of the user whose privileges count.
    pub fn user(&self) -> &str {
        &self.through.user
    }

    /// Refuses invalid paths before anything is opened.
    ///
    /// # Errors
    /// [`TransferError::Usage`].
    pub fn check(&self) -> Result<(), TransferError> {
        let is_directory = |directory: &Path| {
            let wrong = || TransferError::Usage(format!("{} is not a directory", directory.display()));
            directory.is_dir().then_some(()).ok_or_else(wrong)
        };
        let (option, path) = match &self.task {
            TransferTask::Export { folder, .. } => ("--folder", folder),
            TransferTask::Import { into, directory, .. } => {
                is_directory(directory)?;
                ("--into", into)
            }
            TransferTask::Apply { directory, .. } => return is_directory(directory),
        };
        if path.starts_with('/') {
            return Ok(());
        }
        Err(TransferError::Usage(format!("`{option}` is `{path}`, which is not a path like /News")))
    }

    /// Runs the transfer through the named server and returns a report for the user. `check` checks
    /// configuration files.
    ///
    /// # Errors
    /// [`TransferError`].
    pub fn run(&self, check: CheckFiles) -> Result<String, TransferError> {
        let ConnectionOptions { url, user, connection, password_file, key_file, ca, .. } = &self.through;
        let url = url.as_deref().unwrap_or_default();
        let client = TransferClient::new(url, ca.as_deref()).map_err(TransferError::Usage)?;
        if let Some(file) = key_file {
            let unreached = |error| TransferError::Failed(format!("{url} can't be reached: {error}"));
            client.reach().map_err(unreached)?;
            return self.run_as(client.with_token(&first_line(file, "--key-file")?), check);
        }
        let password = password(user, password_file.as_deref())?;
        let body =
            json!({ "connectionId": connection, "applicationId": "stet", "username": user, "password": password });
        let failed = |why: &dyn fmt::Display| TransferError::Failed(format!("`{user}` can't log in at {url}: {why}"));
        let reply = client.post("/v3/auth/login", &body).map_err(|error| failed(&error))?;
        let token = reply["token"]["value"].as_str().ok_or_else(|| failed(&"there is no token in the answer"))?;
        let client = client.with_token(token);
        let done = self.run_as(client.clone(), check);
        // The session expires by itself soon enough.
        let _ = client.get("/v3/auth/logout");
        done
    }

    /// Runs the transfer through the server at that address with that token, and returns a report
    /// for the user.
    ///
    /// # Errors
    /// [`TransferError`].
    pub fn run_at(&self, url: &str, token: &str, check: CheckFiles) -> Result<String, TransferError> {
        self.run_as(TransferClient::new(url, None).map_err(TransferError::Usage)?.with_token(token), check)
    }

    fn run_as(&self, main: TransferClient, check: CheckFiles) -> Result<String, TransferError> {
        let client = &main.clone().in_database(self.database.as_deref());
        if let TransferTask::Apply { directory, dry_run } = &self.task {
            return ConfigDeployment { client, main: &main, directory, dry_run: *dry_run, check }.run();
        }
        let threads = usize::from(self.through.clients);
        let verb = match &self.task {
            TransferTask::Export { .. } => "written",
            TransferTask::Import { .. } | TransferTask::Apply { .. } => "created",
        };
        let progress = TransferProgress::new(verb, self.through.quiet);
        let mut others = Vec::new();
        progress.while_shown(|| match &self.task {
            TransferTask::Export { folder, directory } => {
                let export = Export::new(client, &progress);
                export.run(folder, directory, threads);
                // A user who names neither a folder nor a database is assumed to want everything.
                if self.database.is_none() && folder == "/" {
                    others = export.other_databases();
                }
            }
            TransferTask::Import { directory, into, update } => {
                Import::new(client, &progress, into, *update).run(directory, into, threads);
            }
            // This task has returned above.
            TransferTask::Apply { .. } => {}
        });
        let mut told = progress.to_string();
        if !others.is_empty() {
            told += &format!("; without the databases {}", others.join(", "));
        }
        if let Some(unrecognised) = progress.unrecognised() {
            told += &format!("\n{unrecognised}");
        }
        match progress.count(TransferOutcome::Failed) + progress.count(TransferOutcome::Differs) {
            0 => Ok(told),
            _ => Err(TransferError::Failed(format!("some objects failed or differ: {told}"))),
        }
    }
}

/// Returns the first line of a file.
fn first_line(file: &Path, option: &str) -> Result<String, TransferError> {
    let read = std::fs::read_to_string(file);
    let text =
        read.map_err(|error| TransferError::Usage(format!("`{option}`: {} can't be read: {error}", file.display())))?;
    match text.lines().next().map(str::trim) {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err(TransferError::Usage(format!("`{option}`: the first line of {} is empty", file.display()))),
    }
}

/// Reads the password from the file, the environment, the terminal or the first line of standard
/// input.
fn password(user: &str, file: Option<&Path>) -> Result<String, TransferError> {
    if let Some(file) = file {
        return first_line(file, "--password-file");
    }
    if let Ok(password) = std::env::var(PASSWORD) {
        return Ok(password);
    }
    let unread = |error: std::io::Error| TransferError::Usage(format!("the password can't be read: {error}"));
    let mut line = String::new();
    if std::io::stdin().is_terminal() {
        line = rpassword::prompt_password(format!("Password of {user}: ")).map_err(unread)?;
    } else {
        std::io::stdin().lock().read_line(&mut line).map_err(unread)?;
    }
    match line.trim_end_matches(['\n', '\r']) {
        "" => Err(TransferError::Usage(format!(
            "no password was given. Use --password-file, {PASSWORD}, or standard input"
        ))),
        password => Ok(password.to_owned()),
    }
}
