//! The binary: command line, log, signals.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

use std::io::{self, Write};
use std::net::TcpListener;
use std::process::ExitCode;

use clap::Parser;
use futures_util::{Stream, stream};
use stet::admin::command::AdminJob;
use stet::cli::{Cli, CliCommand, ConfigArgs, ConfigCommand};
use stet::exit::{Exit, Failure};
use stet::{admin, backup, doctor, listen, manual, probe, reload, server, service_manager};
use stet_config::{Config, ConfigError, LogConfig};
use stet_observe::{log_lines, telemetry};
use tokio::signal::unix::{SignalKind, signal};

/// The allocator. A request's memory is often allocated on one thread and freed by another.
/// `.cargo/config.toml` sets its options.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    if let Err(error) = outlive_file_limits() {
        log_lines::say(&format!("stet: cannot receive signals: {error}"));
        return Exit::Failed.into();
    }
    let command = Cli::parse().command();
    // Not earlier, because it removes them from the environment.
    let passed = listen::take_passed_listeners();
    match command {
        // `load` has its own options: the configuration is the server's.
        CliCommand::Load(load) => return report_end(load.run().map_err(Failure::from)),
        CliCommand::Completions(wanted) => return report_end(manual::completions(wanted.shell)),
        CliCommand::Man(wanted) => return report_end(manual::man(&wanted.command, wanted.dir.as_deref())),
        // A faulty configuration is one of the things that `doctor` reports.
        CliCommand::Doctor(ref wanted) => {
            let file = Config::file(command.file()).ok().flatten();
            return report_end(doctor::run(command.config(), file, command.overrides(), wanted.json));
        }
        _ => {}
    }
    let config = match command.config() {
        Ok(config) => config,
        Err(error) => return report_end(Err(Failure::new(Exit::Usage, error))),
    };
    let mut log = config.log.clone();
    if command.is_brief() && log.filter == LogConfig::default().filter {
        // Its own output is enough at a terminal, except for errors.
        log.filter = "warn".to_owned();
    }
    let lines = match telemetry::init_tracing(&log) {
        Ok(lines) => lines,
        Err(error) => return report_end(Err(Failure::new(Exit::Usage, error))),
    };
    let again = command.clone();
    let outcome = match command {
        // The runtime needs some files first.
        CliCommand::Serve(_) => serve(config, passed, move || again.config()),
        CliCommand::Probe(_) => probe::run(&config),
        CliCommand::Check(_) => server::check(&config),
        CliCommand::Recover(recover) => server::recover(&config, recover.accept_loss),
        CliCommand::User(user) => user.job().and_then(|job| administer(&config, job)),
        CliCommand::Group(group) => administer(&config, group.job()),
        CliCommand::Key(key) => administer(&config, key.job()),
        CliCommand::Session(session) => administer(&config, session.job()),
        CliCommand::Reindex(args) => admin::reindex::run(&config, args),
        CliCommand::Backup(args) => backup::run(&config, args),
        CliCommand::Restore(args) => backup::run_restore(&config, &args),
        CliCommand::Webhook(webhook) => admin::webhook::run(&config, webhook),
        CliCommand::Export(export) => server::transfer(config, export.into()),
        CliCommand::Import(import) => server::transfer(config, import.into()),
        CliCommand::Config(ConfigArgs { job: ConfigCommand::Check(wanted) }) => {
            server::check_configuration(config, wanted.folder.as_deref())
        }
        CliCommand::Config(ConfigArgs { job: ConfigCommand::Apply(wanted) }) => server::transfer(config, wanted.into()),
        CliCommand::Config(ConfigArgs { job: ConfigCommand::Schema }) => server::print_schema(),
        CliCommand::Audit(wanted) => server::audit(&config, &wanted.filter(), wanted.json),
        // These commands have ended above.
        CliCommand::Load(_) | CliCommand::Completions(_) | CliCommand::Man(_) | CliCommand::Doctor(_) => Ok(()),
    };
    // The last lines of the log are written before the last message.
    lines.end();
    report_end(outcome)
}

/// Serves until a signal ends it. `again` reads the configuration again.
fn serve(
    config: Config,
    passed: io::Result<Vec<TcpListener>>,
    again: impl Fn() -> Result<Config, ConfigError> + Send + Sync + 'static,
) -> Result<(), Failure> {
    let passed = passed.map_err(|error| Failure::new(Exit::Failed, format!("LISTEN_FDS: {error}")))?;
    say_what_starts(&config);
    server::connections(&config)?;
    actix::System::new().block_on(async {
        // Signals are caught from here on: one that arrives during or right after the start must
        // not kill the process.
        let stops = asked_to_stop();
        actix::spawn(reload::at_hang_up(config.clone(), again));
        let listening = |address: &str| {
            // One line, for people and for programs that start stet. The reader may have closed the
            // output.
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
        server::serve(config, passed, doctor::examine_own_server, stops, listening).await
    })
}

/// Logs the version, the configuration file and the data directory: the first questions about any
/// log.
fn say_what_starts(config: &Config) {
    let Config { origin, data, .. } = config;
    let file = origin.file.as_deref().map_or("none".into(), |file| file.display().to_string());
    let directory = std::path::absolute(&data.directory).unwrap_or_else(|_| data.directory.clone());
    let set_by = origin.directory.as_deref().unwrap_or("default");
    let (version, directory) = (env!("CARGO_PKG_VERSION"), directory.display());
    tracing::info!(version, configuration = file, data = %directory, data_set_by = set_by, "stet starts");
}

/// Makes a write beyond the process's file size limit (`ulimit -f`) fail like one on a full disk.
/// Otherwise SIGXFSZ would end the process without an explanation. Once a signal has been handled
/// it never has its default effect again in this process.
fn outlive_file_limits() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async { signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())) }).map(drop)
}

fn report_end(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => Exit::Ended.into(),
        Err(failure) => {
            log_lines::say(&format!("stet: {}", failure.message));
            failure.exit.into()
        }
    }
}

fn administer(config: &Config, job: AdminJob) -> Result<(), Failure> {
    actix::System::new().block_on(admin::command::run(config, job))
}

/// Returns a stream of SIGTERM and SIGINT, including signals that arrived before they were awaited.
/// Call it inside the runtime.
fn asked_to_stop() -> impl Stream<Item = ()> + 'static {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    stream::unfold(signals, async |mut signals| {
        let (Ok(term), Ok(int)) = &mut signals else {
            tracing::error!("cannot receive signals; only SIGKILL ends this process");
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
