//! Findings of a running server about itself (docs/api/server.md).

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use super::endpoints::cases::{Made, cases};
use crate::harness::*;

/// The checks whose findings have times, or figures that change by themselves.
const CHANGING: [&str; 4] = ["clock", "disk", "journal", "sync"];

fn doctor(client: &Client) -> Call<'_> {
    client.call("stet-server-doctor-get", &[])
}

fn findings(report: &Value) -> &[Value] {
    report["findings"].as_array().expect("a report has findings")
}

/// Returns the findings that do not change by themselves, and the names of the others.
fn settled(report: &Value) -> Vec<Value> {
    let keep = |finding: &Value| {
        let is_changing = CHANGING.iter().any(|check| finding["check"] == *check);
        if is_changing { finding["check"].clone() } else { finding.clone() }
    };
    findings(report).iter().map(keep).collect()
}

/// The report of the command, beside the server and with its environment.
fn printed(server: &Server, variables: &[(&str, &str)]) -> Value {
    let mut command = without_settings(Command::new(binary()));
    command.current_dir(std::env::temp_dir()).args(["doctor", "--json", "--listen", "127.0.0.1:0", "--data"]);
    let output = command.arg(server.data()).envs(variables.iter().copied()).output().expect("it can be started");
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

#[test]
fn findings_are_for_those_who_may_configure() {
    let server = Server::shared();
    doctor(&server.client()).fails(401, "InvalidToken");
    for user in ["editor", "reporter"] {
        says(&doctor(&server.user(user)).fails(403, "PermissionDenied"), "configure");
    }
    let admin = server.user("admin");
    let grants = json!([{ "privilege": "read" }, { "privilege": "manageGroups" }]);
    let key = json!({ "name": "watch", "user": "admin", "privileges": grants });
    let made = admin.call("stet-key-create-post", &[]).json(&key).ok();
    doctor(&server.client_with(&made["token"])).fails(403, "PermissionDenied");
    doctor(&admin).ok();
}

#[test]
fn the_state_of_the_backup_is_shown_to_those_who_may_configure() {
    let server = Server::shared();
    server.user("editor").call("stet-server-backup-get", &[]).fails(403, "PermissionDenied");
    let none = server.user("admin").call("stet-server-backup-get", &[]).ok();
    assert_eq!((&none["enabled"], &none["archived"]), (&json!(false), &Value::Null));
    let target = tempfile::tempdir().expect("there is room");
    let address = format!("file://{}", target.path().display());
    let server = Server::with(&[("BACKUP__TARGET", &address)]);
    let admin = server.user("admin");
    let state = || admin.call("stet-server-backup-get", &[]).ok();
    wait_patiently_until("everything is in the target", || {
        let state = state();
        state["archived"] == state["committed"] && state["base"]["takenAt"].is_u64()
    });
    let state = state();
    assert_eq!((&state["target"], &state["fault"], &state["gap"]), (&json!(address), &Value::Null, &Value::Null));
}

#[test]
fn a_server_finds_what_the_command_prints_beside_it() {
    let variables = [("STET_SMTP_HOST", "relay.invalid")];
    let server = Server::with(&variables.map(|(name, value)| (name.trim_start_matches("STET_"), value)));
    std::fs::set_permissions(server.data(), std::fs::Permissions::from_mode(0o755)).expect("it can be set");
    let admin = server.user("admin");
    let report = doctor(&admin).ok();
    assert_eq!(settled(&report), settled(&printed(&server, &variables)));
    let finding = |check: &str, part: &str| {
        let is_it =
            |one: &&Value| one["check"] == check && one["found"].as_str().is_some_and(|found| found.contains(part));
        findings(&report).iter().find(is_it).unwrap_or_else(|| panic!("no {check} with {part}: {report}"))
    };
    let warning = finding("configuration", "nothing reads the environment variable STET_SMTP_HOST");
    includes(warning, &json!({ "level": "warn" }));
    includes(finding("permissions", "every user of the machine"), &json!({ "level": "warn" }));
    finding("directory", &format!("a server (process {})", server.pid()));
    finding("limits", "the running server may open");
    let number = |level: &str| findings(&report).iter().filter(|one| one["level"] == level).count();
    includes(&report, &json!({ "warnings": number("warn"), "failures": number("fail") }));
    let whole = report.to_string();
    for secret in [ADMIN_PASSWORD, SAMPLE_PASSWORD, "relay.invalid", admin.token()] {
        assert!(!whole.contains(secret), "{secret} in {whole}");
    }
    // Later it looks again.
    std::fs::set_permissions(server.data(), std::fs::Permissions::from_mode(0o700)).expect("it can be set");
    let is_well = || !doctor(&admin).ok().to_string().contains("every user of the machine");
    wait_patiently_until("the permissions are well", is_well);
}

cases! {
    "stet-server-doctor-get": |_| Made::default();
    "stet-server-backup-get": |_| Made::default();
}
