//! `stet export` and `stet import`: what lies in a repository as a tree of files, and back, through
//! the interface of a server. `stet config apply` brings configuration files the same way.
//!
//! docs/TRANSFER.md is the manual. All that is written of an object beside its content is its
//! [`record`]; where both lie is up to the [`layout`]. Both ways may be cut short and begun again:
//! what is there as it should be is left alone.

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

use self::apply::Apply;
pub use self::apply::{CheckFiles, Findings, ReadFile, configuration_files};
use self::client::Client;
use self::export::Export;
use self::import::Import;
use self::progress::{Fate, Progress};

/// The media type of a file of which nothing else tells it, by the extension of its name; `None`
/// where that tells nothing. A server goes by it, too.
pub fn media_type_of(name: &str) -> Option<&'static str> {
    mime_guess::from_path(name).first_raw()
}

/// Environment variable with the password.
pub const PASSWORD: &str = "STET_PASSWORD";

/// Why a transfer ended otherwise than well: each a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferError {
    /// The options or the password are at fault.
    Usage(String),
    /// The server can't be reached, or refuses the user, or not all could be transferred.
    Failed(String),
    /// The files are at fault, and nothing was changed.
    Faults {
        /// A line for each fault.
        told: String,
        /// A sentence.
        message: String,
    },
}

/// Who calls which server, and how.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Through {
    /// A running server, its base path and all; without it a data directory that no server has open
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "data"])]
    url: Option<String>,
    /// Whose privileges count
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
    /// How many calls are made at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    clients: u8,
    /// Show no progress
    #[arg(long)]
    quiet: bool,
}

/// The options of `export`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ExportOptions {
    /// Where to write; made if it is not there
    directory: PathBuf,
    /// Path of the folder whose content is written
    #[arg(long, value_name = "PATH", default_value = "/")]
    folder: String,
    /// Number or name of the database that it lies in; the main one without it
    #[arg(long, value_name = "ID")]
    database: Option<String>,
    #[command(flatten)]
    through: Through,
}

/// The options of `import`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ImportOptions {
    /// What to read: what `export` has written, or any tree of files
    directory: PathBuf,
    /// Path of the folder that it goes into
    #[arg(long, value_name = "PATH", default_value = "/")]
    into: String,
    /// Number or name of the database that it goes into; the main one without it
    #[arg(long, value_name = "ID")]
    database: Option<String>,
    /// Make a newer version of a wire item a new version of its object, in place of reporting it
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    through: Through,
}

/// The options of `config apply`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ApplyOptions {
    /// Folder with the files, which holds `SysConfig` or is it
    directory: PathBuf,
    /// Say what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Number or name of the database that is configured; the main one without it
    #[arg(long, value_name = "ID")]
    database: Option<String>,
    #[command(flatten)]
    through: Through,
}

/// What is to be transferred, and through whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    task: Task,
    database: Option<String>,
    through: Through,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Task {
    Export { folder: String, directory: PathBuf },
    Import { directory: PathBuf, into: String, update: bool },
    Apply { directory: PathBuf, dry_run: bool },
}

impl From<ExportOptions> for Transfer {
    fn from(ExportOptions { directory, folder, database, through }: ExportOptions) -> Transfer {
        Transfer { task: Task::Export { folder, directory }, database, through }
    }
}

impl From<ImportOptions> for Transfer {
    fn from(ImportOptions { directory, into, database, update, through }: ImportOptions) -> Transfer {
        Transfer { task: Task::Import { directory, into, update }, database, through }
    }
}

impl From<ApplyOptions> for Transfer {
    fn from(ApplyOptions { directory, dry_run, database, through }: ApplyOptions) -> Transfer {
        Transfer { task: Task::Apply { directory, dry_run }, database, through }
    }
}

impl Transfer {
    /// The running server that was named, if one was.
    pub fn url(&self) -> Option<&str> {
        self.through.url.as_deref()
    }

    /// Whose privileges count.
    pub fn user(&self) -> &str {
        &self.through.user
    }

    /// Refuses paths that are none, before anything is opened.
    ///
    /// # Errors
    /// [`TransferError::Usage`].
    pub fn check(&self) -> Result<(), TransferError> {
        let is_directory = |directory: &Path| {
            let wrong = || TransferError::Usage(format!("{} is no directory", directory.display()));
            directory.is_dir().then_some(()).ok_or_else(wrong)
        };
        let (option, path) = match &self.task {
            Task::Export { folder, .. } => ("--folder", folder),
            Task::Import { into, directory, .. } => {
                is_directory(directory)?;
                ("--into", into)
            }
            Task::Apply { directory, .. } => return is_directory(directory),
        };
        if path.starts_with('/') {
            return Ok(());
        }
        Err(TransferError::Usage(format!("`{option}` is `{path}`, which is no path like /News")))
    }

    /// Does it through the server that was named; gives what there is to tell. `check` is for
    /// configuration files.
    ///
    /// # Errors
    /// See [`TransferError`].
    pub fn run(&self, check: CheckFiles) -> Result<String, TransferError> {
        let Through { url, user, connection, password_file, key_file, ca, .. } = &self.through;
        let url = url.as_deref().unwrap_or_default();
        let client = Client::new(url, ca.as_deref()).map_err(TransferError::Usage)?;
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
        // It ends by itself soon enough.
        let _ = client.get("/v3/auth/logout");
        done
    }

    /// Does it through the server at that address with that token; gives what there is to tell.
    ///
    /// # Errors
    /// See [`TransferError`].
    pub fn run_at(&self, url: &str, token: &str, check: CheckFiles) -> Result<String, TransferError> {
        self.run_as(Client::new(url, None).map_err(TransferError::Usage)?.with_token(token), check)
    }

    fn run_as(&self, main: Client, check: CheckFiles) -> Result<String, TransferError> {
        let client = &main.clone().in_database(self.database.as_deref());
        if let Task::Apply { directory, dry_run } = &self.task {
            return Apply { client, main: &main, directory, dry_run: *dry_run, check }.run();
        }
        let threads = usize::from(self.through.clients);
        let verb = match &self.task {
            Task::Export { .. } => "written",
            Task::Import { .. } | Task::Apply { .. } => "made",
        };
        let progress = Progress::new(verb, self.through.quiet);
        let mut others = Vec::new();
        progress.while_shown(|| match &self.task {
            Task::Export { folder, directory } => {
                let export = Export::new(client, &progress);
                export.run(folder, directory, threads);
                // Whoever names neither is taken to want everything.
                if self.database.is_none() && folder == "/" {
                    others = export.other_databases();
                }
            }
            Task::Import { directory, into, update } => {
                Import::new(client, &progress, into, *update).run(directory, into, threads);
            }
            // It has ended above.
            Task::Apply { .. } => {}
        });
        let mut told = progress.to_string();
        if !others.is_empty() {
            told += &format!("; without the databases {}", others.join(", "));
        }
        if let Some(unrecognised) = progress.unrecognised() {
            told += &format!("\n{unrecognised}");
        }
        match progress.count(Fate::Failed) + progress.count(Fate::Differs) {
            0 => Ok(told),
            _ => Err(TransferError::Failed(format!("not all is as it should be: {told}"))),
        }
    }
}

/// The first line of a file.
fn first_line(file: &Path, option: &str) -> Result<String, TransferError> {
    let read = std::fs::read_to_string(file);
    let text =
        read.map_err(|error| TransferError::Usage(format!("`{option}`: {} can't be read: {error}", file.display())))?;
    match text.lines().next().map(str::trim) {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err(TransferError::Usage(format!("`{option}`: the first line of {} is empty", file.display()))),
    }
}

/// The password: from the file, the environment, the terminal or the first line of standard input.
fn password(user: &str, file: Option<&Path>) -> Result<String, TransferError> {
    if let Some(file) = file {
        return first_line(file, "--password-file");
    }
    if let Ok(password) = std::env::var(PASSWORD) {
        return Ok(password);
    }
    let unread = |error: std::io::Error| TransferError::Usage(format!("no password can be read: {error}"));
    let mut line = String::new();
    if std::io::stdin().is_terminal() {
        line = rpassword::prompt_password(format!("Password of {user}: ")).map_err(unread)?;
    } else {
        std::io::stdin().lock().read_line(&mut line).map_err(unread)?;
    }
    match line.trim_end_matches(['\n', '\r']) {
        "" => {
            Err(TransferError::Usage(format!("a password is wanted: --password-file, {PASSWORD}, or standard input")))
        }
        password => Ok(password.to_owned()),
    }
}
