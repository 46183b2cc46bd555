//! The command line.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::{Args, Parser, Subcommand};
use stet_auth::Name;
use stet_config::{Config, ConfigError, ConfigOverrides};
use stet_domain::id::Loid;
use stet_domain::store::EventPeriod;
use stet_load::LoadArgs;
use stet_newsroom::audit::AuditFilter;
use stet_transfer::Transfer;

use crate::admin::command::{AdminOptions, GroupArgs, KeyArgs, SessionArgs, UserArgs};
use crate::admin::reindex::ReindexArgs;
use crate::admin::webhook::WebhookArgs;
use crate::backup::{BackupArgs, RestoreArgs};

const AFTER_HELP: &str = "\
Examples:
  stet                                    serve ./data at 127.0.0.1:8080; a new directory gets a sample newsroom
  stet --data /srv/stet --listen 0.0.0.0:8080
  stet serve --config /etc/stet.toml --listen 127.0.0.1:0
  stet check --data /srv/stet             verify that the stored data is complete and consistent
  stet probe --config /etc/stet.toml      report whether the server is ready, like a load balancer
  stet recover --data /srv/stet           report what a damaged journal has lost; with --accept-loss continue without it
  stet user passwd admin --data /srv/stet reset a lost password, with or without a running server
  stet group join desk ada                put a user into a group
  stet key add wire --user agency --privilege read --privilege create
  stet session list --json                list the users who are logged in
  stet webhook list                       list the webhooks and what each is doing
  stet reindex --data /srv/stet           make the index of the search of a running server anew
  stet backup now                         take a copy of all tables for the backup of a running server
  stet backup prune                       remove from the backup what is older than backup.keep_days
  stet backup probe --from s3://bucket/stet   report whether a target can do all that a backup needs
  stet restore --from file:///backup/stet --data /srv/stet --at 2026-01-31T08:00:00Z
  stet audit --data /srv/stet --user ada --from 2026-01-31T08:00:00Z
  stet export /srv/copy --data /srv/stet  write objects as a tree of files; `import` creates them again
  stet import wire --url http://127.0.0.1:8080 --into /News/Wire
  stet config apply newsroom --url http://127.0.0.1:8080   check files, write those that differ, bring them into force
  stet config check newsroom              report all faults of configuration files before they are saved
  stet doctor --data /srv/stet            report faults of machine, configuration and directory, with remedies
  stet load drawer --clients 64           put a running server under load, verify it, write a report
  stet completions bash                   print the completions of commands and options for a shell
  stet man user add | man -l -            read the manual of a command; --dir writes those of all commands

Environment:
  STET_SECTION__KEY      sets a key of the configuration, over the file and under the options here:
                         STET_LOG__FORMAT=json is `format = \"json\"` in [log]; config.toml lists every key
  STET_ADMIN_PASSWORD    password of `admin` in a new data directory; without it a random one is printed once
  STET_SAMPLE_PASSWORD   password of the sample newsroom's other users; without it they can't log in
  STET_LOAD_PASSWORD     password of the user that `load` logs in as
  STET_PASSWORD          password of the user that `import`, `export` and `config apply` log in as
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN   credentials of a backup on an S3 server

Exit codes:
  0  success
  1  failed while running, or refused
  2  the command line or the configuration is wrong
  3  the data directory can't be opened: written by a newer stet, damaged, or missing acknowledged changes
  4  `check`, `config check`, `config apply`, `backup probe` or `doctor` found faults, or `load` found acknowledged changes missing
  5  calls of `load` failed, or another of its conditions holds
  6  another process has the data directory open";

const ABOUT: &str = "\
stet is a content repository for newsrooms: stories, drawers, live blogs, topics and their configuration, behind a REST
interface. All data is in one data directory.

Once the server accepts requests, it prints `listening on http://…` to standard output. The log goes to standard error.
SIGTERM stops the server cleanly.";

/// An open newsroom content-repository server
#[derive(Debug, Parser)]
#[command(name = "stet", version, long_about = ABOUT, after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<CliCommand>,
    /// The options of `serve`, which is the default command.
    #[command(flatten)]
    serve: ServeArgs,
}

/// A subcommand with its options.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum CliCommand {
    /// Serve the repository until SIGTERM; the default without a command
    Serve(ServeArgs),
    /// Ask a running server whether it is ready (`/readyz`): exit code 0 if it is, 1 if not
    Probe(ProbeArgs),
    /// Check a data directory that no server has open; repairs nothing
    Check(CheckArgs),
    /// Report what a damaged or missing journal has lost, and with --accept-loss go on without it
    Recover(RecoverArgs),
    /// Create, change and list users, whether a server runs or not
    User(UserArgs),
    /// Create, change and list groups and their members, whether a server runs or not
    Group(GroupArgs),
    /// Create, revoke and list keys for machine clients, whether a server runs or not
    Key(KeyArgs),
    /// List and end sessions, whether a server runs or not
    Session(SessionArgs),
    /// Create, change and list webhooks of a running server, which report changes to other systems
    Webhook(WebhookArgs),
    /// Make the index of the search of a running server anew, which is never needed
    Reindex(ReindexArgs),
    /// Report on the continuous backup, take a base, prune, verify what it has, try a target
    Backup(BackupArgs),
    /// Write a data directory from a backup, as of any change or time
    Restore(RestoreArgs),
    /// Print the audit trail, oldest change first, whether a server runs or not
    Audit(AuditArgs),
    /// Write the contents of a folder as a tree of files, each with its record beside it
    Export(ExportArgs),
    /// Create objects from a tree of files; existing objects are left as they are
    Import(ImportArgs),
    /// Check configuration files, or print their schema
    Config(ConfigArgs),
    /// Report faults of machine, configuration and data directory, with remedies; changes nothing
    Doctor(DoctorArgs),
    /// Put a running server under load over HTTP, verify its data, and write a report
    Load(LoadArgs),
    /// Print the completions of commands and options for a shell
    Completions(CompletionsArgs),
    /// Print the manual of a command, or write the manuals of all commands
    Man(ManArgs),
}

/// The options of `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = DOCTOR_HELP)]
pub struct DoctorArgs {
    #[command(flatten)]
    locations: LocationArgs,
    /// Address at which the server is to listen, in place of the configured one
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Print one JSON object in place of lines
    #[arg(long)]
    pub json: bool,
}

const DOCTOR_HELP: &str = "\
Lines:
  Each has a level (ok, warn or fail), the checked thing, the finding, and a remedy. The checks cover the configuration, unknown
  environment variables, limits of open files, memory, the clock, the directory and its permissions, the disk and its file system,
  a sync, the journal, the address, proxies, and the certificate. Run it as the server's user, with or without a running server.

Examples:
  stet doctor --config /etc/stet/config.toml
  sudo -u stet stet doctor --data /srv/stet
  stet doctor --json | jq '.findings[] | select(.level != \"ok\")'

Exit codes:
  0  no check failed; there may be warnings
  4  a check failed: a server would not start, or not work properly";

/// The options of `completions`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  stet completions bash > /usr/share/bash-completion/completions/stet
  stet completions zsh > /usr/share/zsh/vendor-completions/_stet
  stet completions fish > /usr/share/fish/vendor_completions.d/stet.fish";

/// The options of `man`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = MAN_HELP)]
pub struct ManArgs {
    /// The command, such as `user add`; stet itself without one
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Write the pages of all commands into this directory, which is created if it is missing
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub dir: Option<PathBuf>,
}

const MAN_HELP: &str = "\
Examples:
  stet man user add | man -l -
  stet man --dir /usr/share/man/man1";

/// The options of `config`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ConfigArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub job: ConfigCommand,
}

/// A subcommand of `config`.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Report all faults of configuration files, without bringing them into force
    Check(ConfigCheckArgs),
    /// Check configuration files, write those that differ to a server, and bring them into force
    Apply(ConfigApplyArgs),
    /// Print the schema of the files, in RELAX NG
    Schema,
}

/// The options of `config check`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ConfigCheckArgs {
    #[command(flatten)]
    locations: LocationArgs,
    /// Folder with the files, which holds `SysConfig` or is it; without it, the files saved in the
    /// data directory, which no server may have open
    #[arg(value_name = "DIR", conflicts_with = "data")]
    pub folder: Option<PathBuf>,
}

/// The options of `config apply`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = CONFIG_APPLY_HELP)]
pub struct ConfigApplyArgs {
    #[command(flatten)]
    locations: LocationArgs,
    #[command(flatten)]
    apply: stet_transfer::ApplyOptions,
}

const CONFIG_APPLY_HELP: &str = "\
The files are checked together with the server's other files. If there are faults, nothing is written. Files that only the
server has are not changed.

Examples:
  stet config apply newsroom --url https://news.example --dry-run
  stet config apply newsroom --url https://news.example --key-file operator.key
  stet config apply newsroom --data /srv/stet                 while no server has the directory open

Exit codes:
  0  the files that differed are written and in force, or none differed
  1  a file can't be read or written
  4  the files have faults";

impl From<ConfigApplyArgs> for Transfer {
    fn from(args: ConfigApplyArgs) -> Transfer {
        args.apply.into()
    }
}

/// The options of `export`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    locations: LocationArgs,
    #[command(flatten)]
    export: stet_transfer::ExportOptions,
}

/// The options of `import`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ImportArgs {
    #[command(flatten)]
    locations: LocationArgs,
    #[command(flatten)]
    import: stet_transfer::ImportOptions,
}

impl From<ExportArgs> for Transfer {
    fn from(args: ExportArgs) -> Transfer {
        args.export.into()
    }
}

impl From<ImportArgs> for Transfer {
    fn from(args: ImportArgs) -> Transfer {
        args.import.into()
    }
}

/// The options of `serve`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    locations: LocationArgs,
    /// Address and port to listen at; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
}

/// The options of `probe`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ProbeArgs {
    /// Configuration file of the server, which must exist [default: ./config.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address of the server [default: as configured]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
}

/// The options of `check`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    locations: LocationArgs,
}

/// The options of `recover`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct RecoverArgs {
    #[command(flatten)]
    locations: LocationArgs,
    /// Give up the changes that are reported as lost, for good, so that the directory can be
    /// opened; without it nothing is changed
    #[arg(long)]
    pub accept_loss: bool,
}

/// The options of `audit`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct AuditArgs {
    #[command(flatten)]
    locations: LocationArgs,
    /// Only changes of this object
    #[arg(long, value_name = "LOID")]
    object: Option<Loid>,
    /// Only changes by this user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only changes at this time and after, RFC 3339 in UTC
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    from: Option<SystemTime>,
    /// Only changes before this time, RFC 3339 in UTC
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    to: Option<SystemTime>,
    /// One JSON object a line, for machines
    #[arg(long)]
    pub json: bool,
}

impl AuditArgs {
    /// Returns the conditions of the search.
    pub fn filter(&self) -> AuditFilter {
        let ms = |time: SystemTime| {
            let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        };
        let (object, user) = (self.object.map(Loid::object), self.user.as_deref().map(Name::of));
        AuditFilter { object, user, times: EventPeriod { from_ms: self.from.map(ms), to_ms: self.to.map(ms) } }
    }
}

/// The locations of the configuration and the data.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
struct LocationArgs {
    /// Configuration file, which must exist [default: ./config.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory [default: ./data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl Cli {
    /// Returns the command; `serve` if none is given.
    pub fn command(self) -> CliCommand {
        self.command.unwrap_or(CliCommand::Serve(self.serve))
    }
}

impl CliCommand {
    /// Returns the configuration for the command.
    ///
    /// # Errors
    /// The errors of [`Config::load`].
    pub fn config(&self) -> Result<Config, ConfigError> {
        Config::load(self.file(), &self.overrides())
    }

    /// Reports whether the command administers a repository and prints what it did, rather than
    /// being a server.
    pub fn is_brief(&self) -> bool {
        matches!(
            self,
            CliCommand::User(_)
                | CliCommand::Group(_)
                | CliCommand::Key(_)
                | CliCommand::Session(_)
                | CliCommand::Webhook(_)
                | CliCommand::Reindex(_)
                | CliCommand::Backup(_)
                | CliCommand::Restore(_)
                | CliCommand::Export(_)
                | CliCommand::Import(_)
                | CliCommand::Config(_)
                | CliCommand::Probe(_)
        )
    }

    /// Returns the configuration file and data directory.
    fn locations(&self) -> (Option<&Path>, Option<&Path>) {
        let (config, data) = match self {
            CliCommand::Serve(ServeArgs { locations, .. })
            | CliCommand::Check(CheckArgs { locations })
            | CliCommand::Recover(RecoverArgs { locations, .. })
            | CliCommand::Doctor(DoctorArgs { locations, .. })
            | CliCommand::Export(ExportArgs { locations, .. })
            | CliCommand::Import(ImportArgs { locations, .. })
            | CliCommand::Config(ConfigArgs { job: ConfigCommand::Check(ConfigCheckArgs { locations, .. }) })
            | CliCommand::Config(ConfigArgs { job: ConfigCommand::Apply(ConfigApplyArgs { locations, .. }) })
            | CliCommand::Audit(AuditArgs { locations, .. }) => (&locations.config, &locations.data),
            CliCommand::User(UserArgs { common, .. })
            | CliCommand::Group(GroupArgs { common, .. })
            | CliCommand::Key(KeyArgs { common, .. })
            | CliCommand::Session(SessionArgs { common, .. })
            | CliCommand::Webhook(WebhookArgs { common, .. })
            | CliCommand::Backup(BackupArgs { common, .. })
            | CliCommand::Reindex(ReindexArgs { common }) => {
                let AdminOptions { config, data, .. } = common;
                (config, data)
            }
            CliCommand::Restore(RestoreArgs { config, data, .. }) => (config, data),
            CliCommand::Probe(ProbeArgs { config, .. }) => (config, &None),
            // Its server is configured elsewhere.
            CliCommand::Load(_) => return (None, None),
            // Their output does not depend on the configuration.
            CliCommand::Completions(_) | CliCommand::Man(_) => return (None, None),
            CliCommand::Config(ConfigArgs { job: ConfigCommand::Schema }) => return (None, None),
        };
        (config.as_deref(), data.as_deref())
    }

    /// Returns the configuration file that the command line names.
    pub fn file(&self) -> Option<&Path> {
        self.locations().0
    }

    /// Returns the values of the configuration that the command line sets.
    pub fn overrides(&self) -> ConfigOverrides {
        let listen = match self {
            CliCommand::Serve(serve) => serve.listen.clone(),
            CliCommand::Doctor(doctor) => doctor.listen.clone(),
            CliCommand::Probe(probe) => probe.listen.clone(),
            _ => None,
        };
        ConfigOverrides { data: self.locations().1.map(Path::to_owned), listen }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;
    use crate::exit::Exit;

    fn parse(line: &str) -> Result<CliCommand, ErrorKind> {
        Cli::try_parse_from(line.split(' ')).map(Cli::command).map_err(|error| error.kind())
    }

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        <Cli as CommandFactory>::command().debug_assert();
    }

    #[test]
    fn without_a_command_it_serves_with_the_same_options() {
        assert_eq!(parse("stet"), parse("stet serve"));
        let options = "--config c.toml --data d --listen 127.0.0.1:0";
        let command = parse(&format!("stet {options}")).expect("the options are known");
        assert_eq!(Ok(command.clone()), parse(&format!("stet serve {options}")));
        assert_eq!(command.file(), Some(Path::new("c.toml")));
        let listen = Some("127.0.0.1:0".to_owned());
        assert_eq!(command.overrides(), ConfigOverrides { data: Some("d".into()), listen });
    }

    #[test]
    fn check_takes_a_data_directory_and_no_address() {
        let command = parse("stet check --data d --config c").expect("the options are known");
        assert!(matches!(command, CliCommand::Check(_)));
        assert_eq!(command.overrides(), ConfigOverrides { data: Some("d".into()), listen: None });
        assert_eq!(parse("stet check --listen x:1"), Err(ErrorKind::UnknownArgument));
    }

    #[test]
    fn recover_gives_up_nothing_unless_told_to() {
        for (line, accept_loss) in [("stet recover --data d", false), ("stet recover --data d --accept-loss", true)] {
            let Ok(CliCommand::Recover(recover)) = parse(line) else { panic!("the options are known") };
            assert_eq!(recover.accept_loss, accept_loss);
        }
    }

    #[test]
    fn audit_takes_what_is_looked_for_and_refuses_what_cannot_be() {
        let line = "stet audit --data d --object 1$1.0.7 --user ada --from 2026-01-31T08:00:00Z --json";
        let Ok(CliCommand::Audit(audit)) = parse(line) else { panic!("the options are known") };
        assert_eq!(audit.object.map(|loid| loid.number), Some(7));
        let from = audit.from.and_then(|from| from.duration_since(SystemTime::UNIX_EPOCH).ok());
        assert_eq!(from.map(|from| from.as_secs()), Some(1_769_846_400));
        assert!(audit.json && audit.to.is_none());
        for line in ["stet audit --from yesterday", "stet audit --object story.xml"] {
            assert_eq!(parse(line), Err(ErrorKind::ValueValidation), "{line}");
        }
    }

    #[test]
    fn maintenance_commands_accept_options_before_and_after_the_subcommand() {
        for (options, line) in [
            ("--data d --config c --json", "stet user list"),
            ("--data d --config c", "stet key revoke wire"),
            ("--data d --config c", "stet session end x"),
        ] {
            let mut words: Vec<_> = line.split(' ').collect();
            words.insert(2, options);
            let before = parse(&words.join(" ")).expect("the options are known");
            assert_eq!(parse(&format!("{line} {options}")), Ok(before.clone()));
            assert_eq!(before.file(), Some(Path::new("c")));
            assert_eq!(before.overrides(), ConfigOverrides { data: Some("d".into()), listen: None });
            assert!(before.is_brief());
        }
        assert_eq!(parse("stet user list --listen x:1"), Err(ErrorKind::UnknownArgument));
        assert_eq!(parse("stet user passwd admin secret"), Err(ErrorKind::UnknownArgument), "no password in arguments");
    }

    #[test]
    fn options_before_a_command_are_refused_rather_than_ignored() {
        assert_eq!(parse("stet --data d serve"), Err(ErrorKind::ArgumentConflict));
    }

    #[test]
    fn a_usage_error_has_the_exit_code_that_is_documented() {
        let error = Cli::try_parse_from(["stet", "--nonsense"]).expect_err("there is no such option");
        assert_eq!(error.exit_code(), i32::from(Exit::Usage as u8));
    }

    #[test]
    fn the_help_names_every_exit_code_and_variable() {
        let help = <Cli as CommandFactory>::command().render_long_help().to_string();
        for part in [
            "STET_ADMIN_PASSWORD",
            "STET_SAMPLE_PASSWORD",
            "STET_LOAD_PASSWORD",
            "STET_SECTION__KEY",
            "Exit codes",
            "check",
            "serve",
            "recover",
            "user",
            "group",
            "key",
            "session",
            "STET_PASSWORD",
            "export",
            "import",
            "config check",
            "probe",
            "load drawer",
        ] {
            assert!(help.contains(part), "`{part}` is missing in:\n{help}");
        }
        for exit in [Exit::Ended, Exit::Failed, Exit::Usage, Exit::Data, Exit::Faults, Exit::Short, Exit::InUse] {
            assert!(help.contains(&format!("\n  {}  ", exit as u8)), "{exit:?} is missing in:\n{help}");
        }
    }

    #[test]
    fn a_configuration_file_that_is_named_must_be_there() {
        let command = parse("stet --config /nowhere/stet.toml").expect("the options are known");
        assert!(command.config().is_err());
    }
}
