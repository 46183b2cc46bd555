//! `stet load`: many clients against a running server, and a report of the outcome.
//!
//! A `scenario` defines the operations and their verification. All other modules are shared by
//! every scenario: `options` from `flags` and a file, the `client`'s connection, the `desk` that
//! prepares and cleans up, the `pace`, `drive`, `measure` and the `report`. docs/LOAD.md is the
//! manual.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

use clap::{Args, Subcommand};

mod call;
mod client;
mod delivery;
mod desk;
mod dice;
mod drawer;
mod drive;
mod figures;
mod flags;
mod followers;
mod hostile;
mod judge;
mod liveblog;
mod machine;
mod measure;
mod newsroom;
mod options;
mod pace;
mod progress;
mod replay;
mod report;
mod saturation;
mod scenario;
mod server;
mod settle;
mod signals;
mod tls;
mod topic;

use self::client::ServerTarget;
use self::desk::Desk;
use self::drive::drive;
use self::flags::{Arguments, DrawerArgs, LiveblogArgs, NewsroomArgs, TopicArgs};
pub use self::hostile::black_picture;
use self::judge::Judge;
use self::options::LoadSettings;
use self::pace::{Pace, Ramp};
use self::progress::ProgressLine;
use self::report::{LoadReport, files, json, text};
use self::scenario::{Scenario, VerificationFinding};
use self::server::ServerInquiry;
use self::signals::{Signals, interruptible};

/// The environment variable with the password.
pub const PASSWORD: &str = "STET_LOAD_PASSWORD";

/// The reason why a load did not end well, each with a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// Wrong options or password.
    Usage(String),
    /// The server cannot be reached or verified, or refuses the user.
    Failed(String),
    /// The server does not hold what it acknowledged.
    Faults(String),
    /// The server holds what it acknowledged, but a condition has failed, such as that no call may
    /// fail.
    Short(String),
}

/// The options of `load`.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct LoadArgs {
    #[command(subcommand)]
    scenario: LoadScenario,
}

#[derive(Debug, Clone, PartialEq, Subcommand)]
enum LoadScenario {
    /// Contention on drawers: adds, moves, deletions and reads of the same few
    Drawer(Box<DrawerArgs>),
    /// Many clients on one liveblog: posts, edits, moderation, polls, and followers of its events
    Liveblog(Box<LiveblogArgs>),
    /// A planning desk: items of a few topics created, edited, shifted and moved, and followers of
    /// the first topic
    Topic(Box<TopicArgs>),
    /// A whole day of a newsroom at once: clients that log in, plan, write, fill drawers, post,
    /// moderate, publish and clean up
    Newsroom(Box<NewsroomArgs>),
}

impl LoadArgs {
    /// Runs the load. Writes the report and prints the final table even if the verification fails.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for invalid options; [`LoadError::Faults`] if the server does not hold
    /// what it acknowledged; [`LoadError::Short`] if a condition of `fail-if` holds.
    /// [`LoadError::Failed`] if the server cannot be reached or verified, or refuses the user. Also
    /// if a second signal has ended the load: the process must end then.
    pub fn run(self) -> Result<(), LoadError> {
        match self.scenario {
            LoadScenario::Drawer(args) => run(&*args, drawer::DrawerLoad::new),
            LoadScenario::Liveblog(args) => run(&*args, liveblog::LiveblogLoad::new),
            LoadScenario::Topic(args) => run(&*args, topic::TopicLoad::new),
            LoadScenario::Newsroom(args) => run(&*args, newsroom::NewsroomLoad::new),
        }
    }
}

/// Runs a scenario with its options.
fn run<S: Scenario>(args: &impl Arguments, make: impl Fn(&LoadSettings) -> Result<S, String>) -> Result<(), LoadError> {
    let usage = LoadError::Usage;
    let settings = LoadSettings::of(args).map_err(usage)?;
    let scenario = make(&settings).map_err(usage)?;
    let compare = settings.compare.as_deref();
    let judge = Judge::new(&settings.fail_if, compare, S::NAME, S::KINDS, json::FORMAT).map_err(usage)?;
    let password = password(&settings)?;
    let loaded = interruptible(move |signals| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| LoadError::Failed(format!("no runtime can be created: {error}")))?;
        runtime.block_on(load(scenario, &settings, &password, &judge, signals))
    });
    loaded.unwrap_or_else(|why| Err(LoadError::Failed(why)))
}

/// Runs the whole load of one scenario.
async fn load<S: Scenario>(
    scenario: S,
    settings: &LoadSettings,
    password: &str,
    judge: &Judge,
    signals: Signals,
) -> Result<(), LoadError> {
    let failed = LoadError::Failed;
    let target = ServerTarget::find(&settings.url, settings.ca.as_deref(), settings.patience()).await;
    let target = target.map_err(LoadError::Usage)?;
    let (user, connection) = (&settings.user, &settings.connection);
    let logged_in = Desk::log_in(target.clone(), user, password, connection, &settings.folder).await;
    let mut desk = logged_in.map_err(failed)?;
    // Before the server does any work for it: a load without a report is useless.
    let directory = match files::directory(settings.report.as_deref(), S::NAME) {
        Ok(directory) => directory,
        Err(error) => {
            desk.log_out().await;
            return Err(LoadError::Usage(error));
        }
    };
    signals.leaves(Some(desk.folder.clone()));
    let done = work(scenario, settings, &mut desk, &target, judge, &signals).await;
    let left = if settings.keep { Ok(()) } else { desk.clean_up().await };
    signals.leaves(None);
    desk.log_out().await;
    let mut report = done.map_err(failed)?;
    report.saturation.remarks.extend(left.err());
    files::write(&directory, &report).map_err(|error| failed(format!("the report can't be written: {error}")))?;
    // The reader may be gone; the report is written.
    let _ = write!(std::io::stdout(), "{}\nreport: {}\n", text::table(&report), directory.join(files::HTML).display());
    verdict(&report)
}

/// Returns the outcome of a load whose report is written. Violations of what the server
/// acknowledged come before failed conditions.
fn verdict(report: &LoadReport) -> Result<(), LoadError> {
    let problems = &report.verdict.problems;
    match report.verdict.finding {
        VerificationFinding::Verified => {}
        VerificationFinding::Violated => {
            let first = problems.first().map_or("", String::as_str);
            return Err(LoadError::Faults(format!("the server does not hold what it acknowledged: {first}")));
        }
        VerificationFinding::Unknown => {
            return Err(LoadError::Failed(format!("it could not be verified: {}", problems.join(" "))));
        }
    }
    let met = report.judged.iter().filter(|judged| judged.holds);
    let met: Vec<_> = met.map(|judged| format!("`{}` ({})", judged.condition, judged.value)).collect();
    if met.is_empty() { Ok(()) } else { Err(LoadError::Short(format!("`fail-if` holds: {}", met.join(", ")))) }
}

/// Prepares, drives and verifies a load.
async fn work<S: Scenario>(
    mut scenario: S,
    settings: &LoadSettings,
    desk: &mut Desk,
    target: &Arc<ServerTarget>,
    judge: &Judge,
    signals: &Signals,
) -> Result<LoadReport, String> {
    let mut progress = ProgressLine::new(settings.quiet);
    progress.say(&format!("preparing in {}", desk.folder));
    tokio::select! {
        prepared = scenario.prepare(desk) => prepared?,
        () = signals.clone().heard() => return Err("it was interrupted before it began".to_owned()),
    }
    let pace = Pace {
        ramp: match (&settings.ramp, settings.rate) {
            (Some(ramp), _) => ramp.clone(),
            (None, Some(rate)) => Ramp::level(rate.into()),
            (None, None) => Ramp::level(settings.clients() as f64),
        },
        open: settings.is_open(),
        clients: settings.clients(),
        count: settings.count,
        length: settings.length(),
    };
    let connections = (0..settings.clients()).map(|_| desk.connection()).collect();
    let scenario = Arc::new(scenario);
    let (threads, quiet) = (settings.threads(), ProgressLine::new(settings.quiet));
    let inquiry = ServerInquiry::begin(target).await;
    signals.waited_for(true);
    let driven = drive(scenario.clone(), pace.clone(), threads, connections, progress, signals.clone().heard()).await;
    signals.waited_for(false);
    let mut driven = driven?;
    let server = inquiry.end().await;
    let mut progress = quiet;
    progress.say("verifying");
    let notes = std::mem::take(&mut driven.notes);
    let verdict = scenario.verify(desk, notes).await;
    Ok(LoadReport::new(&*scenario, settings, &pace, driven, (server, target.is_near()), verdict, judge))
}

/// Returns the password: from the given file, the environment, the terminal, or the first line of
/// standard input. Never from an argument, which every process of the machine could see.
fn password(settings: &LoadSettings) -> Result<String, LoadError> {
    let usage = LoadError::Usage;
    let mut line = String::new();
    if let Some(file) = &settings.password_file {
        let read = std::fs::read_to_string(file);
        let text =
            read.map_err(|error| usage(format!("`password-file`: {} can't be read: {error}", file.display())))?;
        line = text.lines().next().unwrap_or_default().to_owned();
    } else if let Ok(password) = std::env::var(PASSWORD) {
        line = password;
    } else if std::io::stdin().is_terminal() {
        let asked = rpassword::prompt_password(format!("Password of {}: ", settings.user));
        line = asked.map_err(|error| usage(format!("the password can't be read: {error}")))?;
    } else {
        let read = std::io::stdin().lock().read_line(&mut line);
        read.map_err(|error| usage(format!("the password can't be read from standard input: {error}")))?;
    }
    let password = line.trim_end_matches(['\n', '\r']);
    if password.is_empty() {
        return Err(usage(format!("no password was given. Use --password-file, {PASSWORD}, or standard input")));
    }
    Ok(password.to_owned())
}
