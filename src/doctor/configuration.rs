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
    let secret = &config.smtp.password_file;
    if !config.smtp.host.is_empty() && !secret.as_os_str().is_empty() {
        findings.push(match std::fs::read_to_string(secret) {
            Ok(text) if text.lines().next().is_none_or(str::is_empty) => {
                let found = format!("`smtp.password_file` {} has no password in its first line", secret.display());
                DoctorFinding::fail("mail", found, "write it there, or remove `smtp.user`")
            }
            Ok(_) => match super::directory::readers(secret) {
                Some(readers) => {
                    let found = format!("`smtp.password_file` {} can be read by {readers}", secret.display());
                    DoctorFinding::warn("mail", found, format!("chmod 600 {}", secret.display()))
                }
                None => DoctorFinding::ok("mail", format!("`smtp.password_file` {} can be read", secret.display())),
            },
            Err(error) => {
                let found = format!("`smtp.password_file` {} can't be read: {error}", secret.display());
                DoctorFinding::fail("mail", found, "let the server's user read it")
            }
        });
    }
    findings
}
