//! The binary: command line, log, signals.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

use std::io::{self, Write};
use std::net::TcpListener;
use std::process::ExitCode;

use clap::Parser;
use futures_util::{Stream, stream};
use stet::admin::command::Job;
use stet::cli::{Cli, Command, ConfigArgs, ConfigJob};
use stet::config::{Config, ConfigError, LogConfig};
use stet::exit::{Exit, Failure};
use stet::{admin, doctor, listen, log_lines, manual, probe, reload, server, service_manager, telemetry};
use tokio::signal::unix::{SignalKind, signal};

/// What a request allocates on one thread the writer frees on another, which the system's allocator
/// is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The variable by which the allocator is told how long it keeps memory that was freed, in
/// milliseconds.
const PURGE_DELAY: &str = "MIMALLOC_PURGE_DELAY";

/// The delay of a server. The allocator's own, a second, keeps more memory under load than is in
/// use.
const PURGE_DELAY_MS: &str = "5";

/// Starts this program once more in its own place, with [`PURGE_DELAY`] set: the allocator reads it
/// before `main` begins, and has no other setting for it that is safe to use. If that fails, the
/// server runs as it is, and takes more memory.
fn return_memory_soon() {
    if std::env::var_os(PURGE_DELAY).is_some() {
        return;
    }
    #[cfg(unix)]
    if let Ok(program) = std::env::current_exe() {
        use std::os::unix::process::CommandExt;
        let mut arguments = std::env::args_os();
        let mut again = std::process::Command::new(program);
        if let Some(name) = arguments.next() {
            again.arg0(name);
        }
        let error = again.args(arguments).env(PURGE_DELAY, PURGE_DELAY_MS).exec();
        log_lines::say(&format!("stet: freed memory is kept for a second: {error}"));
    }
}

fn main() -> ExitCode {
    if let Err(error) = outlive_file_limits() {
        log_lines::say(&format!("stet: signals can't be heard: {error}"));
        return Exit::Failed.into();
    }
    let command = Cli::parse().command();
    if matches!(command, Command::Serve(_)) {
        return_memory_soon();
    }
    // Not before: it takes them out of the environment.
    let passed = listen::passed();
    match command {
        // `load` has options of its own: the configuration is the server's.
        Command::Load(load) => return ended(load.run().map_err(Failure::from)),
        Command::Completions(wanted) => return ended(manual::completions(wanted.shell)),
        Command::Man(wanted) => return ended(manual::man(&wanted.command, wanted.dir.as_deref())),
        // A configuration that can't be read is one of the things that it tells.
        Command::Doctor(ref wanted) => {
            let file = Config::file(command.file()).ok().flatten();
            return ended(doctor::run(command.config(), file, command.overrides(), wanted.json));
        }
        _ => {}
    }
    let config = match command.config() {
        Ok(config) => config,
        Err(error) => return ended(Err(Failure::new(Exit::Usage, error))),
    };
    let mut log = config.log.clone();
    if command.is_brief() && log.filter == LogConfig::default().filter {
        // Its own words are enough for who sits at the terminal, save for what goes wrong.
        log.filter = "warn".to_owned();
    }
    let lines = match telemetry::init_tracing(&log) {
        Ok(lines) => lines,
        Err(error) => return ended(Err(Failure::new(Exit::Usage, error))),
    };
    let again = command.clone();
    let outcome = match command {
        // The runtime needs some files before anything else does.
        Command::Serve(_) => serve(config, passed, move || again.config()),
        Command::Probe(_) => probe::run(&config),
        Command::Check(_) => server::check(&config),
        Command::Recover(recover) => server::recover(&config, recover.accept_loss),
        Command::User(user) => user.job().and_then(|job| administer(&config, job)),
        Command::Group(group) => administer(&config, group.job()),
        Command::Key(key) => administer(&config, key.job()),
        Command::Session(session) => administer(&config, session.job()),
        Command::Export(export) => server::transfer(config, export.into()),
        Command::Import(import) => server::transfer(config, import.into()),
        Command::Config(ConfigArgs { job: ConfigJob::Check(wanted) }) => {
            server::check_configuration(config, wanted.folder.as_deref())
        }
        Command::Config(ConfigArgs { job: ConfigJob::Apply(wanted) }) => server::transfer(config, wanted.into()),
        Command::Config(ConfigArgs { job: ConfigJob::Schema }) => server::print_schema(),
        Command::Audit(wanted) => server::audit(&config, &wanted.filter(), wanted.json),
        // They have ended above.
        Command::Load(_) | Command::Completions(_) | Command::Man(_) | Command::Doctor(_) => Ok(()),
    };
    // The last lines of the log stand before the last words.
    lines.end();
    ended(outcome)
}

/// Serves until a signal ends it. `again` reads the configuration anew.
fn serve(
    config: Config,
    passed: io::Result<Vec<TcpListener>>,
    again: impl Fn() -> Result<Config, ConfigError> + Send + Sync + 'static,
) -> Result<(), Failure> {
    let passed = passed.map_err(|error| Failure::new(Exit::Failed, format!("LISTEN_FDS: {error}")))?;
    say_what_starts(&config);
    server::connections(&config)?;
    actix::System::new().block_on(async {
        // Listens for signals from here on: one that comes while it starts, or just as it has, must
        // not kill it.
        let stops = asked_to_stop();
        actix::spawn(reload::at_hang_up(config.clone(), again));
        let listening = |address: &str| {
            // One line, for people and for programs that start stet; the reader may have gone.
            let _ = writeln!(io::stdout(), "listening on {address}");
            service_manager::ready(address);
            actix::spawn(service_manager::show_life());
        };
        for name in Config::unread_variables() {
            tracing::warn!(
                name,
                "nothing reads this environment variable; keys are STET_SECTION__KEY, with two underscores"
            );
        }
        server::serve(config, passed, stops, listening).await
    })
}

/// Which stet starts, with which configuration, on which directory: what is asked first of a log.
fn say_what_starts(config: &Config) {
    let Config { origin, data, .. } = config;
    let file = origin.file.as_deref().map_or("none".into(), |file| file.display().to_string());
    let directory = std::path::absolute(&data.directory).unwrap_or_else(|_| data.directory.clone());
    let set_by = origin.directory.as_deref().unwrap_or("default");
    let (version, directory) = (env!("CARGO_PKG_VERSION"), directory.display());
    tracing::info!(version, configuration = file, data = %directory, data_set_by = set_by, "stet starts");
}

/// Lets a write beyond the largest file that this process may write (`ulimit -f`) fail like one on
/// a full disk: SIGXFSZ would end the process, and nobody would know why. A signal that is listened
/// for once does so no more, whoever listens, to the end of the process.
fn outlive_file_limits() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async { signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())) }).map(drop)
}

fn ended(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => Exit::Ended.into(),
        Err(failure) => {
            log_lines::say(&format!("stet: {}", failure.message));
            failure.exit.into()
        }
    }
}

fn administer(config: &Config, job: Job) -> Result<(), Failure> {
    actix::System::new().block_on(admin::command::run(config, job))
}

/// Each SIGTERM and SIGINT, be it one that came before it was waited for. To be called inside the
/// runtime.
fn asked_to_stop() -> impl Stream<Item = ()> + 'static {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    stream::unfold(signals, async |mut signals| {
        let (Ok(term), Ok(int)) = &mut signals else {
            tracing::error!("signals can't be heard; only SIGKILL ends this process");
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        service_manager::stopping();
        Some(((), signals))
    })
}
