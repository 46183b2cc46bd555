//! Findings about the configuration: whether it can be read, and which parts nothing reads.

use std::path::Path;

use stet_api::server::DoctorFinding;
use stet_config::{Config, ConfigError, Durability};

const CHECK: &str = "configuration";

pub(super) fn look(config: Result<&Config, &ConfigError>, file: Option<&Path>) -> Vec<DoctorFinding> {
    let from = match file {
        Some(file) => format!("`{}`, the environment and the command line", file.display()),
        None => {
            "the environment and the command line: no configuration file is named, and there is no `config.toml` here"
                .to_owned()
        }
    };
    let mut findings = Vec::new();
    match config {
        Ok(config) => {
            findings.push(DoctorFinding::ok(CHECK, format!("it was read from {from}")));
            findings.extend(values(config));
        }
        Err(error) => {
            let found = error.to_string().replace('\n', " ");
            findings.push(DoctorFinding::fail(
                CHECK,
                found.trim_end_matches('.'),
                "config.toml of this release lists every key",
            ));
        }
    }
    for name in Config::unread_variables() {
        let found = format!("nothing reads the environment variable {name}");
        let advice = "keys are STET_SECTION__KEY, with two underscores; `stet --help` lists the other variables";
        findings.push(DoctorFinding::warn(CHECK, found, advice));
    }
    findings
}

/// Returns findings about values that are allowed, but not right for every server.
fn values(config: &Config) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    if config.store.durability == Durability::None {
        let found = "`store.durability` is `none`: a crash loses every change";
        findings.push(DoctorFinding::warn(CHECK, found, "set it to `journal`; `none` is for measurements only"));
    }
    let (mail, backup) = (&config.smtp, &config.backup);
    if !mail.host.is_empty() && !mail.password_file.as_os_str().is_empty() {
        let has_one = |text: &str| text.lines().next().is_some_and(|line| !line.is_empty());
        let lack = "no password in its first line";
        findings.push(secret_file(("mail", "smtp.password_file"), &mail.password_file, has_one, lack));
    }
    if backup.target.starts_with("s3://") && !backup.s3_credentials_file.as_os_str().is_empty() {
        let has_some = |text: &str| text.contains('=');
        let key = ("backup", "backup.s3_credentials_file");
        findings.push(secret_file(key, &backup.s3_credentials_file, has_some, "no credentials"));
    }
    findings
}

/// Returns a finding about a file with a secret, under the name of the check, for a key.
fn secret_file(
    (check, key): (&'static str, &str),
    secret: &Path,
    has_secret: impl Fn(&str) -> bool,
    lack: &str,
) -> DoctorFinding {
    let file = secret.display();
    match std::fs::read_to_string(secret) {
        Ok(text) if !has_secret(&text) => {
            let found = format!("`{key}` {file} has {lack}");
            DoctorFinding::fail(check, found, "write the secret there, or remove the setting")
        }
        Ok(_) => match super::directory::readers(secret) {
            Some(readers) => {
                let found = format!("`{key}` {file} can be read by {readers}");
                DoctorFinding::warn(check, found, format!("chmod 600 {file}"))
            }
            None => DoctorFinding::ok(check, format!("`{key}` {file} can be read")),
        },
        Err(error) => {
            let found = format!("`{key}` {file} can't be read: {error}");
            DoctorFinding::fail(check, found, "let the server's user read it")
        }
    }
}
