//! `stet config`: checks of configuration files, and the schema of their format.

use std::path::Path;

use stet_config::Config;
use stet_domain::count::count_with_noun;
use stet_sysconfig::{ConfigurationCheck, check_folder, check_with, schema};
use stet_transfer::{ConfigFindings, ReadFile, configuration_files};

use super::{PreparedServer, ServerEnvironment, existing_directory};
use crate::exit::{self, Exit, Failure};

/// Prints the schema of configuration files.
///
/// # Errors
/// The schema can't be printed.
pub fn print_schema() -> Result<(), Failure> {
    exit::print(&schema())
}

/// Checks the configuration files in a folder. Without one, checks those saved in the data
/// directory, which no server may have open. Prints the findings.
///
/// # Errors
/// [`Exit::Faults`] for files that would not be applied; [`Exit::Failed`] and [`Exit::Data`] for a
/// folder or directory that can't be read or has no such file.
pub fn check_configuration(config: Config, folder: Option<&Path>) -> Result<(), Failure> {
    let checked = match folder {
        Some(folder) if !folder.is_dir() => {
            return Err(Failure::new(Exit::Failed, format!("{} is not a folder", folder.display())));
        }
        Some(folder) => check_folder(folder)
            .map_err(|error| Failure::new(Exit::Failed, format!("{} can't be read: {error}", folder.display())))?,
        None => actix::System::new().block_on(check_saved_files(config))?,
    };
    let mut found: String = lines(&checked).iter().map(|line| format!("{line}\n")).collect();
    if let Some(folder) = folder {
        let there = configuration_files(folder)?;
        for path in there.keys().filter(|path| !checked.files.contains(path)) {
            found += &format!("not read: {path}: no file that was read refers to it\n");
        }
    }
    exit::print(&found)?;
    if checked.files.is_empty() {
        // In a wrong folder, the absence of faults means nothing.
        return Err(Failure::new(Exit::Failed, "found no configuration file"));
    }
    let (files, faults, unknown) = (checked.files.len(), checked.faults.len(), checked.unknown.len());
    let (files, faults, unknown) =
        (count_with_noun(files, "file"), count_with_noun(faults, "fault"), count_with_noun(unknown, "unknown part"));
    exit::print(&format!("{files}, {faults}, {unknown}\n"))?;
    if checked.faults.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Exit::Faults, "the configuration would not be applied"))
}

/// Returns a line for each finding.
fn lines(checked: &ConfigurationCheck) -> Vec<String> {
    let faults = checked.faults.iter().map(|fault| format!("fault: {fault}"));
    faults.chain(checked.unknown.iter().map(|unknown| format!("unknown: {unknown}"))).collect()
}

/// Checks configuration files that `read` returns.
///
/// # Errors
/// Errors of `read`.
pub(super) fn check_files(read: &mut ReadFile<'_>) -> Result<ConfigFindings, String> {
    let checked = check_with(read)?;
    Ok(ConfigFindings { lines: lines(&checked), faults: checked.faults.len() })
}

/// Adds a hint to the refusal of a directory in use: how its configuration can be checked without
/// it.
fn beside_a_server(failure: Failure) -> Failure {
    if failure.exit != Exit::InUse {
        return failure;
    }
    let instead = "While a server runs, check the files in a folder: `stet config check DIR`, or `stet config apply \
                   DIR --url URL --dry-run` for a check together with the server's files";
    Failure::new(failure.exit, format!("{}. {instead}", failure.message))
}

async fn check_saved_files(config: Config) -> Result<ConfigurationCheck, Failure> {
    existing_directory(&config)?;
    let ground = ServerEnvironment::of(&config);
    let opened = PreparedServer::open(ground, config, None).await.map_err(beside_a_server)?;
    let checked = opened.app.sysconfig.check().await;
    opened.close().await;
    checked.map_err(|error| Failure::new(Exit::Failed, error.message))
}
