//! `stet user`, `stet group`, `stet key`, `stet session`.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stet_auth::Grant;
use stet_auth::Privilege;
use stet_config::Config;
use stet_newsroom::administration::AdminRequest;
use stet_newsroom::administration::{GroupUpdate, KeyRequest, Secret, UserChange};

use super::local;
use super::print::{self, AdminAction};
use super::socket::{self, SocketReply};
use crate::exit::{self, Exit, Failure};
use crate::server::existing_directory;

/// The options that all commands have. They may precede or follow the subcommand.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct AdminOptions {
    /// Configuration file, which must exist [default: ./config.toml, if it exists]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Data directory, whether served or not [default: ./data]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

const USER_EXAMPLES: &str = "\
Examples:
  stet user add ada --full-name \"Ada Moss\" --group editors    asks for the password, twice
  pwgen -s 20 1 | tee /dev/tty | stet user add ada            or reads the first line of standard input
  stet user passwd admin --data /srv/stet                     resets a lost password, with or without a running server
  stet user disable ada                                       ends her sessions and keys; enable lets her in again
  stet user unlock ada                                        clears failed logins that lock her out
  stet user list --json";

/// The options of `user`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = USER_EXAMPLES)]
pub struct UserArgs {
    #[command(flatten)]
    pub(crate) common: AdminOptions,
    #[command(subcommand)]
    command: UserCommand,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
enum UserCommand {
    /// Create a user; the password is asked for, or read from standard input
    Add {
        /// The name to log in with
        name: String,
        /// Full name, as people write it
        #[arg(long, value_name = "TEXT")]
        full_name: Option<String>,
        /// Description of the user's work
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Name of a group; may be given several times
        #[arg(long = "group", value_name = "NAME")]
        groups: Vec<String>,
        /// Path of the home folder
        #[arg(long, value_name = "PATH")]
        home: Option<String>,
        /// Create the user without a password; nobody can log in under the name until it has one
        #[arg(long)]
        no_password: bool,
    },
    /// Set a password and end the user's sessions; the password is asked for, or read from standard
    /// input
    Passwd {
        /// The user
        name: String,
    },
    /// Disable a user; ends their sessions and keys for good
    Disable {
        /// The user
        name: String,
        #[command(flatten)]
        force: ForceOption,
    },
    /// Enable a user again
    Enable {
        /// The user
        name: String,
    },
    /// Clear failed logins, if too many lock the user out; only a running server counts them
    Unlock {
        /// The user
        name: String,
    },
    /// List the users
    List,
}

const GROUP_EXAMPLES: &str = "\
Privileges:
  read, create, write, delete, destroy, moderate, forceUnlock, manageGroups and configure; with `:PATH`, only below that folder

Examples:
  stet group add night --description \"The night desk\" --privilege read --privilege write:/News --member ada
  stet group change night --privilege read                    replaces all its privileges
  stet group change night --no-privileges
  stet group join night ben cleo
  stet group leave night ben
  stet group remove night                                     its members stay users
  stet group list --json";

/// The options of `group`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = GROUP_EXAMPLES)]
pub struct GroupArgs {
    #[command(flatten)]
    pub(crate) common: AdminOptions,
    #[command(subcommand)]
    command: GroupCommand,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
enum GroupCommand {
    /// Create a group
    Add {
        /// Name of the group
        name: String,
        #[command(flatten)]
        fields: GroupFields,
        /// Name of a member; may be given several times
        #[arg(long = "member", value_name = "NAME")]
        members: Vec<String>,
    },
    /// Change the given fields of a group
    Change {
        /// Name of the group
        name: String,
        #[command(flatten)]
        fields: GroupFields,
        /// Remove all privileges of the group
        #[arg(long, conflicts_with = "privileges")]
        no_privileges: bool,
        #[command(flatten)]
        force: ForceOption,
    },
    /// Add users to a group
    Join {
        /// The group
        name: String,
        /// The users
        #[arg(required = true, value_name = "USER")]
        users: Vec<String>,
    },
    /// Remove users from a group
    Leave {
        /// The group
        name: String,
        /// The users
        #[arg(required = true, value_name = "USER")]
        users: Vec<String>,
        #[command(flatten)]
        force: ForceOption,
    },
    /// Remove a group; its members remain users
    Remove {
        /// Name of the group
        name: String,
        #[command(flatten)]
        force: ForceOption,
    },
    /// List the groups
    List,
}

/// The option of commands that may remove the last administrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
struct ForceOption {
    /// Do it even if no user remains who may manage users and groups
    #[arg(long)]
    force: bool,
}

/// The settable fields of a group.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
struct GroupFields {
    /// Purpose of the group
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Privilege of the members, everywhere or below a folder; may be given several times, and
    /// replaces all present ones
    #[arg(long = "privilege", value_name = "NAME[:PATH]", value_parser = grant)]
    privileges: Vec<Grant>,
}

const KEY_EXAMPLES: &str = "\
Privileges:
  read, create, write, delete, destroy, moderate, forceUnlock, manageGroups and configure; with `:PATH`, only below that folder

Examples:
  stet key add wire --user agency --privilege read --privilege create:/News/Wire --days 365
  stet key list                                               when each was last used, and when it ends
  stet key revoke wire";

/// The options of `key`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = KEY_EXAMPLES)]
pub struct KeyArgs {
    #[command(flatten)]
    pub(crate) common: AdminOptions,
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
enum KeyCommand {
    /// Create a key for a machine client and print its token, once
    Add {
        /// Name of the key
        name: String,
        /// User under whose name the key acts
        #[arg(long, value_name = "NAME")]
        user: String,
        /// Privilege of the key, everywhere or below a folder; may be given several times
        #[arg(long = "privilege", value_name = "NAME[:PATH]", required = true, value_parser = grant)]
        privileges: Vec<Grant>,
        /// Number of days after which the key ends; without it only when it is revoked
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
        days: Option<u32>,
    },
    /// Revoke a key
    Revoke {
        /// Name of the key
        name: String,
    },
    /// List the keys in force
    List,
}

const SESSION_EXAMPLES: &str = "\
Examples:
  stet session list                                           who is logged in, from where, and since when
  stet session list --user ada --json
  stet session end 3q7w2z9k1m5x                               by its reference in the list";

/// The options of `session`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = SESSION_EXAMPLES)]
pub struct SessionArgs {
    #[command(flatten)]
    pub(crate) common: AdminOptions,
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
enum SessionCommand {
    /// List the sessions of people
    List {
        /// User whose sessions are listed; all users without it
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
    },
    /// End a session
    End {
        /// Reference of the session, as in `session list` and the log
        id: String,
    },
}

/// Parses `write`, or `write:/News`.
fn grant(text: &str) -> Result<Grant, String> {
    let (name, folder) = text.split_once(':').map_or((text, None), |(name, folder)| (name, Some(folder.to_owned())));
    let privilege: Privilege = serde_json::from_value(name.into()).map_err(|_| {
        "no such privilege; the privileges are read, create, write, delete, destroy, moderate, forceUnlock, \
         manageGroups and configure"
            .to_owned()
    })?;
    Ok(Grant { privilege, folder })
}

/// A request, and the format of its output.
pub struct AdminJob {
    request: AdminRequest,
    pub(crate) json: bool,
}

impl UserArgs {
    /// Returns the request; asks for the password if one is needed.
    ///
    /// # Errors
    /// [`Exit::Usage`] when no password is given.
    pub fn job(self) -> Result<AdminJob, Failure> {
        let request = match self.command {
            UserCommand::Add { name, full_name, description, groups, home, no_password } => {
                let password = if no_password { None } else { Some(password(&name)?) };
                let groups = Some(groups);
                let name = Some(name);
                let rest = UserChange::default();
                AdminRequest::UserAdd(UserChange { name, full_name, description, groups, home, password, ..rest })
            }
            UserCommand::Passwd { name } => {
                let password = password(&name)?;
                AdminRequest::UserPassword { name, password }
            }
            UserCommand::Disable { name, force: ForceOption { force } } => {
                AdminRequest::UserDisabled { name, disabled: true, force }
            }
            UserCommand::Enable { name } => AdminRequest::UserDisabled { name, disabled: false, force: false },
            UserCommand::Unlock { name } => AdminRequest::UserUnlock { name },
            UserCommand::List => AdminRequest::UserList,
        };
        Ok(AdminJob { request, json: self.common.json })
    }
}

impl GroupArgs {
    /// Returns the request.
    pub fn job(self) -> AdminJob {
        let blank = GroupUpdate::default();
        let named = |privileges: Vec<Grant>| Some(privileges).filter(|privileges| !privileges.is_empty());
        let request = match self.command {
            GroupCommand::Add { name, fields: GroupFields { description, privileges }, members } => {
                let privileges = named(privileges);
                AdminRequest::GroupAdd(GroupUpdate { name, description, privileges, join: members, ..blank })
            }
            GroupCommand::Change { name, fields: GroupFields { description, privileges }, no_privileges, force } => {
                let privileges = if no_privileges { Some(Vec::new()) } else { named(privileges) };
                AdminRequest::GroupChange(GroupUpdate { name, description, privileges, force: force.force, ..blank })
            }
            GroupCommand::Join { name, users } => AdminRequest::GroupChange(GroupUpdate { name, join: users, ..blank }),
            GroupCommand::Leave { name, users, force: ForceOption { force } } => {
                AdminRequest::GroupChange(GroupUpdate { name, leave: users, force, ..blank })
            }
            GroupCommand::Remove { name, force: ForceOption { force } } => AdminRequest::GroupRemove { name, force },
            GroupCommand::List => AdminRequest::GroupList,
        };
        AdminJob { request, json: self.common.json }
    }
}

impl KeyArgs {
    /// Returns the request.
    pub fn job(self) -> AdminJob {
        let request = match self.command {
            KeyCommand::Add { name, user, privileges, days } => {
                // A clock set before 1970 reads as 1970, here as in the server.
                let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
                let expires = days.map(|days| now_s + u64::from(days) * 24 * 60 * 60);
                AdminRequest::KeyAdd(KeyRequest { name, user, privileges, expires })
            }
            KeyCommand::Revoke { name } => AdminRequest::KeyRevoke { name },
            KeyCommand::List => AdminRequest::KeyList,
        };
        AdminJob { request, json: self.common.json }
    }
}

impl SessionArgs {
    /// Returns the request.
    pub fn job(self) -> AdminJob {
        let request = match self.command {
            SessionCommand::List { user } => AdminRequest::SessionList { user },
            SessionCommand::End { id } => AdminRequest::SessionEnd { id },
        };
        AdminJob { request, json: self.common.json }
    }
}

/// Reads a new password: typed twice without echo at a terminal, else the first line of standard
/// input. It is never an argument, which every process of the machine could see.
fn password(user: &str) -> Result<Secret, Failure> {
    let usage = |message: String| Failure::new(Exit::Usage, message);
    let mut line = String::new();
    if std::io::stdin().is_terminal() {
        let ask = |what: String| {
            rpassword::prompt_password(what).map_err(|error| usage(format!("the password can't be read: {error}")))
        };
        line = ask(format!("New password of {user}: "))?;
        if ask("Again: ".to_owned())? != line {
            return Err(usage("the two passwords differ; nothing was changed".to_owned()));
        }
    } else {
        let read = std::io::stdin().lock().read_line(&mut line);
        read.map_err(|error| usage(format!("the password can't be read from standard input: {error}")))?;
    }
    let password = line.trim_end_matches(['\n', '\r']);
    if password.is_empty() {
        return Err(usage(
            "no password was given. Type it at the terminal, or pass it as the first line of standard input".to_owned(),
        ));
    }
    Ok(Secret::new(password.to_owned()))
}

/// Sends a request to the server that has the data directory open; `None` if no server has.
///
/// # Errors
/// [`Exit::Data`] if there is no data directory or it may not be examined; [`Exit::Failed`] if the
/// server does not answer.
pub(crate) fn ask_server<R: DeserializeOwned>(config: &Config, request: &impl Serialize) -> Result<Option<R>, Failure> {
    let data = existing_directory(config)?;
    socket::ask(data, request).map_err(|error| {
        let exit = if error.kind() == std::io::ErrorKind::PermissionDenied { Exit::Data } else { Exit::Failed };
        Failure::new(exit, format!("{}: {error}", data.join(socket::NAME).display()))
    })
}

/// Carries out a request, through the server or without one, and prints the outcome.
///
/// # Errors
/// [`Exit::Data`] when neither socket nor data directory can be opened; [`Exit::Failed`] when the
/// request was refused.
pub async fn run(config: &Config, job: AdminJob) -> Result<(), Failure> {
    let (key, deed) = (job.request.made_key(), AdminAction::of(&job.request));
    let asked: Option<SocketReply> = ask_server(config, &job.request)?;
    let served = asked.is_some();
    let outcome: SocketReply = match asked {
        Some(outcome) => outcome,
        None => local::carry_out(config, job.request).await?,
    };
    let done = outcome.map_err(|refusal| {
        let hint = if refusal.can_be_forced { " Use --force to do it anyway." } else { "" };
        Failure::new(Exit::Failed, refusal.message + hint)
    })?;
    let text = if job.json {
        serde_json::to_string(&done).map_err(|error| Failure::new(Exit::Failed, error))? + "\n"
    } else {
        print::describe_outcome(deed, &done, served)
    };
    let Some(key) = key else { return exit::print(&text) };
    // The token is not stored, so it can't be printed again.
    exit::write(&text).map_err(|error| {
        let message = format!(
            "created key `{key}`, but its token can't be printed: {error}. Revoke the key: stet key revoke {key}"
        );
        Failure::new(Exit::Failed, message)
    })
}
