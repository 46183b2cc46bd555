//! `stet backup` and `stet restore`.
//!
//! `status`, `now`, `prune` and `drill` ask the running server through its socket. `list`, `verify`
//! and `restore` read the target by themselves, so they work where no server is.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use stet_archiver::{
    BackupService, BackupStatus, BackupSurvey, NewestBase, PruneReport, RestorePoint, RestoreProgress, RestoreRequest,
    RestoredState, VerifiedState, restore,
};
use stet_backup::{BackupError, BackupTarget, ProbeOutcome, ProbeStep, S3Settings, TimelineId};
use stet_config::{BackupConfig, Config};
use stet_domain::count::count_with_noun;
use stet_domain::error::{Code, Error, Result};
use stet_store::StoreOptions;

use crate::admin::command::{AdminOptions, ask_server};
use crate::admin::socket::AdminRefusal;
use crate::exit::{self, Exit, Failure};
use crate::server::{check, store_options};

const BACKUP_HELP: &str = "\
Examples:
  stet backup status                                 what the target has, and what waits
  stet backup now --data /srv/stet                   take a base, and wait for it
  stet backup prune                                  remove now what is older than backup.keep_days
  stet backup drill                                  let the server restore the newest state, check and remove it
  stet backup list --from file:///backup/stet        the states that can be restored
  stet backup verify --from file:///backup/stet      restore the newest state into a scratch directory, and check it
  stet backup probe --from s3://bucket/stet          try whether the target can do all that a backup needs

Exit codes of probe:
  0  everything works
  1  the target can't be opened, or something that a backup needs does not work
  4  the target can be used, but lacks something";

/// The options of `backup`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = BACKUP_HELP)]
pub struct BackupArgs {
    #[command(flatten)]
    pub(crate) common: AdminOptions,
    #[command(subcommand)]
    job: BackupJob,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
enum BackupJob {
    /// Print the state of a running server's backup
    Status,
    /// Take a base, a copy of all tables, now
    Now,
    /// Remove what is older than the span that is kept, now
    Prune {
        /// Days whose every state stays restorable [default: backup.keep_days of the server]
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(..=3650))]
        keep_days: Option<u64>,
        /// Allow fewer days than backup.keep_days; 0 keep the newest base and what follows it
        #[arg(long)]
        force: bool,
    },
    /// Let the server restore the newest state beside its own directory, check and remove it
    Drill,
    /// List the states that can be restored
    List {
        /// The target [default: backup.target of the configuration]
        #[arg(long, value_name = "TARGET")]
        from: Option<String>,
    },
    /// Restore the newest state into a scratch directory, and check it
    Verify {
        /// The target [default: backup.target of the configuration]
        #[arg(long, value_name = "TARGET")]
        from: Option<String>,
        /// Directory for the scratch directory, which is removed [default: that of temporary files]
        #[arg(long, value_name = "DIR")]
        scratch: Option<PathBuf>,
    },
    /// Try everything that a backup does with a target, and leave nothing behind
    Probe {
        /// The target, which must exist [default: backup.target of the configuration]
        #[arg(long, value_name = "TARGET")]
        from: Option<String>,
    },
}

const RESTORE_HELP: &str = "\
The directory is complete when the command has ended. Until then it is named DIR.restoring, and the next attempt keeps the
contents that it has. A restored directory goes on on a timeline of its own, so it may have the same target.

Examples:
  stet restore --from file:///backup/stet --data /srv/stet
  stet restore --from file:///backup/stet --data /srv/stet --at 2026-01-31T08:00:00Z
  stet restore --from file:///backup/stet --data /srv/stet --change 4711

Exit codes:
  0  the directory is restored and checked
  1  the target can't be read, or the state can't be restored from it
  4  the restored directory has faults";

/// The options of `restore`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = RESTORE_HELP)]
pub struct RestoreArgs {
    /// Configuration file, which must exist [default: ./config.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Data directory to be written, which must not exist [default: ./data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The target [default: backup.target of the configuration]
    #[arg(long, value_name = "TARGET")]
    from: Option<String>,
    /// The state at this time, RFC 3339 in UTC [default: the newest]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak, conflicts_with = "change")]
    at: Option<SystemTime>,
    /// The state after this change
    #[arg(long, value_name = "NUMBER")]
    change: Option<u64>,
    /// The timeline, as `stet backup list` names it [default: the newest]
    #[arg(long, value_name = "NAME")]
    timeline: Option<String>,
}

/// The request on the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum BackupCommand {
    /// Report the state.
    #[serde(rename = "backupStatus")]
    Status,
    /// Take a base.
    #[serde(rename = "backupNow")]
    Now,
    /// Remove what is not needed.
    #[serde(rename = "backupPrune", rename_all = "camelCase")]
    Prune {
        /// The days whose every state stays, if not those of the configuration.
        keep_days: Option<u64>,
        /// Whether they may be fewer.
        force: bool,
    },
    /// Restore the newest state, and check it.
    #[serde(rename = "backupDrill")]
    Drill,
}

/// The reply on the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BackupReply {
    /// The state.
    Status(Box<BackupStatus>),
    /// The work was begun. It lasts until the status has that number of ended bases, removals or
    /// drills.
    Requested {
        /// The number.
        until: u64,
    },
}

/// Carries out a request of the socket.
///
/// # Errors
/// `NoSuchEndpoint` on a server without a backup. `InvalidParameter` for fewer days than
/// configured.
pub fn carry_out(backup: Option<&BackupService>, command: &BackupCommand) -> Result<BackupReply> {
    let none = || Error::new(Code::NoSuchEndpoint, "This server has no backup: `backup.target` is empty.");
    let backup = backup.ok_or_else(none)?;
    Ok(match command {
        BackupCommand::Status => BackupReply::Status(Box::new(backup.status())),
        BackupCommand::Now => BackupReply::Requested { until: backup.request_base() },
        BackupCommand::Prune { keep_days, force } => {
            let requested = backup.request_prune(*keep_days, *force);
            let until = requested.map_err(|error| Error::new(Code::InvalidParameter, error.to_string()))?;
            BackupReply::Requested { until }
        }
        BackupCommand::Drill => BackupReply::Requested { until: backup.request_drill() },
    })
}

/// Runs `stet backup`.
///
/// # Errors
/// [`Exit::Failed`] if no server runs, or the target can't be read; those of [`check`].
pub fn run(config: &Config, args: BackupArgs) -> std::result::Result<(), Failure> {
    let json = args.common.json;
    match args.job {
        BackupJob::Status => {
            let status = status(config)?;
            exit::print(&if json { as_json(&status)? } else { describe_status(&status) })
        }
        BackupJob::Now => {
            let base = take_base(config)?;
            let text = || format!("took a base of change {} at {}\n", base.change, time(base.taken_ms));
            exit::print(&if json { as_json(&base)? } else { text() })
        }
        BackupJob::Prune { keep_days, force } => {
            let report = prune(config, keep_days, force)?;
            exit::print(&if json { as_json(&report)? } else { describe_prune(&report) })
        }
        BackupJob::Drill => {
            let verified = drill(config)?;
            let text = || format!("restored and checked change {} at {}\n", verified.change, time(verified.at_ms));
            exit::print(&if json { as_json(&verified)? } else { text() })
        }
        BackupJob::List { from } => {
            let survey = survey(&open(config, from.as_deref())?)?;
            exit::print(&if json { as_json(&survey)? } else { describe_survey(&survey) })
        }
        BackupJob::Verify { from, scratch } => {
            let scratch = scratch.map_or_else(tempfile::tempdir, tempfile::tempdir_in);
            let scratch = scratch.map_err(|error| Failure::new(Exit::Failed, error))?;
            let data = scratch.path().join("data");
            let target = open(config, from.as_deref())?;
            restore_into(config, &target, data, None, RestorePoint::Newest)
        }
        BackupJob::Probe { from } => probe(&open(config, from.as_deref())?, json),
    }
}

/// Tries a target, and prints a line for each part.
fn probe(target: &BackupTarget, json: bool) -> std::result::Result<(), Failure> {
    let steps = runtime()?.block_on(target.probe());
    let word = |step: &ProbeStep| match step.outcome {
        ProbeOutcome::Works => "ok",
        ProbeOutcome::Missing(_) => "missing",
        ProbeOutcome::Failed(_) => "failed",
    };
    let as_value = |step: &ProbeStep| {
        let ProbeStep { name, outcome } = step;
        serde_json::json!({ "name": name, "outcome": word(step), "detail": outcome.to_string() })
    };
    let as_line = |step: &ProbeStep| format!("{:<18} {}\n", step.name, step.outcome);
    exit::print(&if json {
        as_json(&steps.iter().map(as_value).collect::<Vec<_>>())?
    } else {
        steps.iter().map(as_line).collect()
    })?;
    let count = |of: &str| steps.iter().filter(|step| word(step) == of).count() as u64;
    match (count("failed"), count("missing")) {
        (0, 0) => Ok(()),
        (0, missing) => {
            Err(Failure::new(Exit::Faults, format!("the target lacks {}", count_with_noun(missing, "thing"))))
        }
        (failed, _) => {
            let found = count_with_noun(failed, "step");
            Err(Failure::new(Exit::Failed, format!("{found} failed: the target can't have a backup")))
        }
    }
}

/// Runs `stet restore`.
///
/// # Errors
/// [`Exit::Failed`] if the state can't be restored; those of [`check`].
pub fn run_restore(config: &Config, args: &RestoreArgs) -> std::result::Result<(), Failure> {
    let unknown =
        |name: &String| Failure::new(Exit::Usage, format!("`{name}` is no timeline: it has 16 digits of 0-9 and a-f"));
    let timeline =
        args.timeline.as_ref().map(|name| TimelineId::parse(name).ok_or_else(|| unknown(name))).transpose()?;
    let point = match (args.change, args.at) {
        (Some(change), _) => RestorePoint::Change(change),
        (None, Some(time)) => RestorePoint::Time(milliseconds(time)),
        (None, None) => RestorePoint::Newest,
    };
    let target = open(config, args.from.as_deref())?;
    restore_into(config, &target, config.data.directory.clone(), timeline, point)
}

fn restore_into(
    config: &Config,
    target: &BackupTarget,
    data: PathBuf,
    timeline: Option<TimelineId>,
    point: RestorePoint,
) -> std::result::Result<(), Failure> {
    let request = RestoreRequest { target, data: &data, timeline, point, own_contents: None };
    let options = |folder: &std::path::Path| StoreOptions { event_retention_ms: None, ..options_for(config, folder) };
    let mut shown = ShownProgress::new();
    let begun = Instant::now();
    let restored = restore(&request, options, &mut |progress| {
        shown.show(progress);
        Ok(())
    });
    let restored = restored.map_err(|error| failed(&error))?;
    shown.end();
    let RestoredState { timeline, change, missing_contents } = restored;
    let seconds = begun.elapsed().as_secs_f64();
    let mut text = format!("restored change {change} of timeline {timeline} in {seconds:.1} s\n");
    if missing_contents > 0 {
        text +=
            &format!("{} had been removed before the backup had them\n", count_with_noun(missing_contents, "content"));
    }
    exit::print(&text)?;
    let mut config = config.clone();
    config.data.directory = data;
    check(&config)
}

fn options_for(config: &Config, folder: &std::path::Path) -> StoreOptions {
    let mut config = config.clone();
    config.data.directory = folder.to_owned();
    store_options(&config)
}

/// Opens the target that the command or the configuration names.
fn open(config: &Config, from: Option<&str>) -> std::result::Result<BackupTarget, Failure> {
    let address = from.unwrap_or(&config.backup.target);
    if address.is_empty() {
        return Err(Failure::new(Exit::Usage, "name the target with --from, or in the configuration as backup.target"));
    }
    BackupTarget::open(address, &s3_settings(&config.backup)).map_err(|error| failed(&error))
}

/// Returns the settings of targets on an S3 server.
pub fn s3_settings(config: &BackupConfig) -> S3Settings {
    let BackupConfig { s3_endpoint, s3_region, s3_credentials_file, .. } = config;
    S3Settings {
        endpoint: Some(s3_endpoint).filter(|endpoint| !endpoint.is_empty()).cloned(),
        region: s3_region.clone(),
        credentials_file: Some(s3_credentials_file).filter(|file| !file.as_os_str().is_empty()).cloned(),
    }
}

fn runtime() -> std::result::Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::new(Exit::Failed, error))
}

fn survey(target: &BackupTarget) -> std::result::Result<BackupSurvey, Failure> {
    runtime()?.block_on(BackupSurvey::of(target)).map_err(|error| failed(&error))
}

fn failed(error: &BackupError) -> Failure {
    Failure::new(Exit::Failed, error)
}

fn ask(config: &Config, command: BackupCommand) -> std::result::Result<BackupReply, Failure> {
    let asked: Option<std::result::Result<BackupReply, AdminRefusal>> = ask_server(config, &command)?;
    let data = config.data.directory.display();
    let none = || Failure::new(Exit::Failed, format!("no server has {data} open, and only a running one has a backup"));
    asked.ok_or_else(none)?.map_err(|refusal| Failure::new(Exit::Failed, refusal.message))
}

fn status(config: &Config) -> std::result::Result<BackupStatus, Failure> {
    match ask(config, BackupCommand::Status)? {
        BackupReply::Status(status) => Ok(*status),
        BackupReply::Requested { .. } => Err(Failure::new(Exit::Failed, "the server's answer could not be parsed")),
    }
}

/// Takes a base, and waits for it.
fn take_base(config: &Config) -> std::result::Result<NewestBase, Failure> {
    let status = ended(config, BackupCommand::Now, |status| status.ended_bases)?;
    outcome(status.base_fault, status.base)
}

/// Removes what is not needed, and waits for it.
fn prune(config: &Config, keep_days: Option<u64>, force: bool) -> std::result::Result<PruneReport, Failure> {
    let status = ended(config, BackupCommand::Prune { keep_days, force }, |status| status.ended_prunes)?;
    outcome(status.prune_fault, status.prune)
}

/// Has the newest state restored and checked, and waits for it.
fn drill(config: &Config) -> std::result::Result<VerifiedState, Failure> {
    let status = ended(config, BackupCommand::Drill, |status| status.ended_drills)?;
    let drill = status.drill;
    let fault = drill.as_ref().and_then(|drill| drill.fault.as_ref()).map(|fault| fault.why.clone());
    outcome(fault, drill.and_then(|drill| drill.verified))
}

fn outcome<T>(fault: Option<String>, done: Option<T>) -> std::result::Result<T, Failure> {
    match (fault, done) {
        (None, Some(done)) => Ok(done),
        (fault, _) => {
            Err(Failure::new(Exit::Failed, fault.unwrap_or_else(|| "the server has not said why".to_owned())))
        }
    }
}

/// Asks for work, and waits until the number of those that have ended says so. Returns the status
/// then.
fn ended(
    config: &Config,
    command: BackupCommand,
    number: impl Fn(&BackupStatus) -> u64,
) -> std::result::Result<BackupStatus, Failure> {
    let BackupReply::Requested { until } = ask(config, command)? else {
        return Err(Failure::new(Exit::Failed, "the server's answer could not be parsed"));
    };
    loop {
        let status = status(config)?;
        if number(&status) >= until {
            return Ok(status);
        }
        // An earlier attempt may have left a fault of the work itself.
        if let Some(fault) = status.fault {
            return Err(Failure::new(Exit::Failed, fault));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn as_json(value: &impl Serialize) -> std::result::Result<String, Failure> {
    serde_json::to_string(value).map(|text| text + "\n").map_err(|error| Failure::new(Exit::Failed, error))
}

fn describe_status(status: &BackupStatus) -> String {
    let BackupStatus { target, archived, committed, spool_bytes, .. } = status;
    let mut text = format!("target     {target}\n");
    text += &format!(
        "timeline   {}\n",
        status.timeline.map_or_else(|| "not known yet".to_owned(), |name| name.to_string())
    );
    text += &format!("archived   change {archived} of {committed}\n");
    text += &format!("waiting    {}\n", count_with_noun(*spool_bytes, "byte"));
    text += &match status.base {
        Some(base) => format!("base       change {} at {}\n", base.change, time(base.taken_ms)),
        None => "base       none yet\n".to_owned(),
    };
    if status.is_taking_base {
        text += "           another one is being taken\n";
    }
    text += &describe_drill(status);
    if let Some(report) = &status.prune {
        text += &format!("pruned     at {}: {}", time(report.at_ms), describe_prune(report));
    }
    let faults = [
        ("fault", &status.fault),
        ("gap", &status.gap),
        ("base fault", &status.base_fault),
        ("not pruned", &status.prune_fault),
    ];
    for (name, why) in faults {
        if let Some(why) = why {
            text += &format!("{name:<10} {why}\n");
        }
    }
    text
}

fn describe_drill(status: &BackupStatus) -> String {
    let verified = status.drill.as_ref().and_then(|drill| drill.verified);
    let mut text = match verified {
        Some(VerifiedState { change, at_ms }) => format!("verified   change {change} at {}\n", time(at_ms)),
        None => "verified   nothing yet\n".to_owned(),
    };
    if status.is_drilling {
        text += "           the newest state is being restored\n";
    }
    if let Some(fault) = status.drill.as_ref().and_then(|drill| drill.fault.as_ref()) {
        text += &format!("drill      failed at {}: {}\n", time(fault.at_ms), fault.why);
    }
    text
}

fn describe_prune(report: &PruneReport) -> String {
    let PruneReport { files, bytes, merged, refused, .. } = *report;
    let (files, bytes) = (count_with_noun(files, "file"), count_with_noun(bytes, "byte"));
    let mut text = format!("removed {files} of {bytes}, merged {}", count_with_noun(merged, "file"));
    if refused > 0 {
        text += &format!("; the target refuses to delete {}", count_with_noun(refused, "file"));
    }
    text + "\n"
}

fn describe_survey(survey: &BackupSurvey) -> String {
    let mut text = format!("backup {}\n", survey.backup);
    for timeline in &survey.timelines {
        text += &format!("timeline {}, begun at {}\n", timeline.timeline, time(timeline.created_ms));
        if let Some(branch) = timeline.branch {
            text += &format!("  restored from change {} of timeline {}\n", branch.change, branch.parent);
        }
        for range in &timeline.ranges {
            let (first, last) = (time(range.first_ms), time(range.last_ms));
            text += &format!("  changes {} to {}, {first} to {last}\n", range.first, range.last);
        }
        for base in &timeline.bases {
            text += &format!("  base of change {} at {}\n", base.seq, time(base.taken_ms));
        }
    }
    text
}

fn time(ms: u64) -> String {
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + Duration::from_millis(ms)).to_string()
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The progress of a restoration, on a terminal.
struct ShownProgress {
    is_terminal: bool,
    shown: Option<Instant>,
}

impl ShownProgress {
    fn new() -> ShownProgress {
        ShownProgress { is_terminal: std::io::stderr().is_terminal(), shown: None }
    }

    fn show(&mut self, progress: RestoreProgress) {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= Duration::from_millis(100));
        if !self.is_terminal || !is_due {
            return;
        }
        self.shown = Some(Instant::now());
        let text = match progress {
            RestoreProgress::Rows(written, all) => format!("rows: {} of {} MB", written >> 20, all >> 20),
            RestoreProgress::Changes(change) => format!("changes: up to {change}"),
            RestoreProgress::Contents { files, .. } => format!("contents: {files}"),
        };
        overwrite_line(&text);
    }

    fn end(&self) {
        if self.shown.is_some() {
            overwrite_line("");
        }
    }
}

/// Replaces the last line on the terminal. It may be gone, which harms nothing.
fn overwrite_line(text: &str) {
    let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
}
