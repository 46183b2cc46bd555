//! `stet user`, `stet group`, `stet key`, `stet session`: beside a running server and without one.

use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::Value;

use super::*;

/// Runs a command on a data directory with a text on its standard input.
fn on_with(data: &Path, input: &str, arguments: &[&str]) -> Run {
    let mut command = stet(&[arguments, &["--data", path(data)]].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary can be started");
    // It may end without reading.
    let _ = child.stdin.take().expect("its input is piped").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("output is text");
    Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn on(data: &Path, arguments: &[&str]) -> Run {
    on_with(data, "", arguments)
}

/// Returns a file to which nothing can be written.
fn full() -> std::fs::File {
    std::fs::File::options().write(true).open("/dev/full").expect("there is one")
}

#[test]
fn a_key_whose_token_cannot_be_printed_is_told() {
    let data = used_directory();
    let serving = Serving::in_directory(data.path());
    let add = |name: &str| {
        let mut command =
            stet(&["key", "add", name, "--user", "admin", "--privilege", "read", "--data", path(data.path())]);
        command.stdout(full()).stderr(Stdio::piped());
        let output = command.spawn().and_then(|child| child.wait_with_output()).expect("it runs");
        let err = String::from_utf8(output.stderr).expect("output is text");
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(err.contains(&format!("stet key revoke {name}")), "{err}");
    };
    add("served");
    assert_eq!(serving.end().0, Some(0));
    add("offline");
    let mut list = stet(&["key", "list", "--data", path(data.path())]);
    list.stdout(full());
    assert_eq!(list.status().expect("it runs").code(), Some(1));
}

#[track_caller]
fn done(ended: Run) -> String {
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    assert_eq!(ended.err, "", "nothing goes wrong");
    ended.out
}

#[track_caller]
fn json_of(ended: Run) -> Value {
    serde_json::from_str(&done(ended)).expect("the output is JSON")
}

fn socket(data: &Path) -> PathBuf {
    data.join("admin.sock")
}

fn status(server: &Server, user: &str, password: &str) -> u16 {
    let body = json!({ "connectionId": "Editorial", "applicationId": "t", "username": user, "password": password });
    server.client().post("/v3/auth/login", &body).status
}

#[test]
fn an_operator_lets_in_who_is_locked_out() {
    let server = Server::with(&[("AUTH__FAILURES_PER_USER", "2"), ("AUTH__FAILURE_WINDOW_SECONDS", "86400")]);
    let statuses = |times: usize| (0..times).map(|_| status(&server, "editor", "wrong")).collect::<Vec<_>>();
    assert_eq!(statuses(3), [401, 401, 429]);
    assert_eq!(status(&server, "editor", SAMPLE_PASSWORD), 429);
    let unlock = |name: &str| on(server.data(), &["user", "unlock", name]);
    assert!(done(unlock("editor")).contains("editor"));
    assert_eq!(status(&server, "editor", SAMPLE_PASSWORD), 200);
    let unknown = unlock("nobody");
    assert_ne!(unknown.code, Some(0));
    assert!(unknown.err.contains("nobody"), "{}", unknown.err);
}

#[test]
fn users_are_looked_after_beside_a_running_server() {
    let server = Server::with(&[("LOG__FILTER", "debug")]);
    let data = server.data();
    let first = "first-password-of-grace";
    let add = ["user", "add", "grace", "--full-name", "Grace Holt", "--group", "editors", "--home", "/Users/grace"];
    let mut printed = done(on_with(data, &format!("{first}\n"), &add));
    assert!(printed.contains("grace") && printed.contains("Grace Holt") && printed.contains("editors"), "{printed}");
    assert_eq!(status(&server, "grace", first), 200);
    let mut grace = server.client();
    let body = json!({ "connectionId": "Editorial", "applicationId": "t", "username": "grace", "password": first,
        "options": { "showUserInfo": true } });
    let login = server.client().post("/v3/auth/login", &body).ok();
    assert_eq!(login["user"]["home"], "/Users/grace");
    grace.token = login["token"]["value"].as_str().map(str::to_owned);
    grace.get("/v3/auth/connection/check").ok();

    let second = "second-password-of-grace";
    printed += &done(on_with(data, second, &["user", "passwd", "grace"]));
    grace.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    assert_eq!((status(&server, "grace", first), status(&server, "grace", second)), (401, 200));
    printed += &done(on(data, &["user", "disable", "grace"]));
    assert_eq!(status(&server, "grace", second), 401);
    let list = json_of(on(data, &["user", "list", "--json"]));
    let users = list["users"].as_array().expect("a list of users").clone();
    let found = users.iter().find(|user| user["name"] == "grace").expect("she is in it");
    assert_eq!((&found["disabled"], &found["groups"]), (&json!(true), &json!(["editors"])));
    done(on(data, &["user", "enable", "grace"]));
    assert_eq!(status(&server, "grace", second), 200);
    printed += &done(on(data, &["user", "list"]));
    printed += &list.to_string();
    wait_until("it is in the log", || server.log().contains("user changed"));
    let log = server.log();
    assert!(log.contains("user changed"), "{log}");
    for secret in [first, second, "argon2", ADMIN_PASSWORD] {
        assert!(!printed.contains(secret) && !log.contains(secret), "{secret}");
    }
}

#[test]
fn groups_are_looked_after_beside_a_running_server_and_without_one() {
    let mut server = Server::start();
    let life = |data: &Path| {
        let group =
            |arguments: &[&str]| json_of(on(data, &[&["group"], arguments, &["--json"]].concat()))["groups"].clone();
        let made =
            group(&["add", "night", "--description", "The night desk", "--member", "reader", "--privilege", "read"]);
        let night = json!({ "groupName": "night", "description": "The night desk", "members": ["reader"],
            "privileges": [{ "privilege": "read", "folder": null }] });
        assert_eq!(made, json!([night]));
        let joined = group(&["join", "night", "editor", "reporter"]);
        assert_eq!(joined, json!([with(night.clone(), json!({ "members": ["editor", "reader", "reporter"] }))]));
        let left = group(&["leave", "night", "reader", "editor"]);
        let night = with(night, json!({ "members": ["reporter"] }));
        assert_eq!(left, json!([night]));
        let changed = group(&["change", "night", "--privilege", "write:/News", "--privilege", "read"]);
        let grants = json!([{ "privilege": "write", "folder": "/News" }, { "privilege": "read", "folder": null }]);
        let night = with(night, json!({ "privileges": grants }));
        assert_eq!(changed, json!([night]));
        let printed = done(on(data, &["group", "list"]));
        let line = printed.lines().find(|line| line.starts_with("night ")).expect("it is listed");
        assert!(line.contains("reporter") && line.contains("write:/News,read"), "{printed}");
        assert!(group(&["list"]).as_array().is_some_and(|groups| groups.contains(&night)));
        assert_eq!(group(&["change", "night", "--no-privileges"])[0]["privileges"], json!([]));
        assert_eq!(group(&["remove", "night"])[0]["groupName"], "night");
        assert!(!done(on(data, &["group", "list"])).contains("night"));
    };
    life(server.data());
    let told = server.user("admin").call("stet-audit-get", &[]).query("limit", 1).ok()["items"][0].clone();
    includes(
        &told,
        &json!({ "action": "group.leave", "objects": ["night", "reporter"], "user": "", "address": "local" }),
    );
    assert_eq!(server.terminate(), Some(0));
    life(server.data());
    let trail = run(stet(&["audit", "--data", path(server.data())]));
    assert_eq!(trail.out.matches(" - group.join - - night,editor,reporter - local -\n").count(), 2, "{}", trail.out);
    assert_eq!(check(server.data()).code, Some(0));
}

#[test]
fn only_an_operator_and_only_by_force_takes_the_last_administrator_away() {
    let mut server = Server::start();
    let admin = server.user("admin");
    for (id, body) in [
        ("group-update-post", json!({ "groupName": "administrators", "members": [], "force": true })),
        ("group-update-post", json!({ "groupName": "administrators", "privileges": [], "force": true })),
    ] {
        let error = admin.call(id, &[]).json(&body).query("force", true).fails(403, "PermissionDenied");
        assert_eq!(error["details"]["reason"], "lastAdministrator");
    }
    let disabled = json!({ "disabled": true, "force": true });
    admin.call("stet-user-update-put", &[&"admin"]).json(&disabled).fails(403, "PermissionDenied");
    let deleted = admin.call("group-delete", &[]).query("groupName", "administrators").query("force", true);
    deleted.fails(403, "PermissionDenied");

    let life = |data: &Path| {
        let again = ["group", "add", "administrators", "--member", "admin", "--privilege", "manageGroups"];
        for (away, back) in [
            (&["user", "disable", "admin"][..], &["user", "enable", "admin"][..]),
            (&["group", "leave", "administrators", "admin"], &["group", "join", "administrators", "admin"]),
            (
                &["group", "change", "administrators", "--no-privileges"],
                &["group", "change", "administrators", "--privilege", "manageGroups"],
            ),
            (&["group", "remove", "administrators"], &again),
        ] {
            let refused = on(data, away);
            assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{away:?}");
            assert!(refused.err.contains("no administrator") && refused.err.contains("--force"), "{}", refused.err);
            let forced = run(stet(&[away, &["--force", "--data", path(data)]].concat()));
            assert_eq!(forced.code, Some(0), "{away:?}: {}", forced.err);
            assert!(forced.out.contains("No user is left who may manage users and groups"), "{away:?}: {}", forced.out);
            assert!(!done(on(data, back)).contains("No user is left"), "{back:?}");
            // While another administrator is left, `--force` is not needed.
            let other = ["group", "leave", "editors", "editor", "--force"];
            assert!(!done(on(data, &other)).contains("No user is left"));
        }
    };
    life(server.data());
    let told = server.log();
    assert!(told.contains("forced a change that leaves no administrator"), "{told}");
    assert_eq!(server.terminate(), Some(0));
    life(server.data());
    assert_eq!(check(server.data()).code, Some(0));
}

#[test]
fn commands_say_what_they_did() {
    let mut server = Server::start();
    let says = |data: &Path, input: &str, arguments: &[&str], told: &str| {
        let printed = done(on_with(data, input, arguments));
        assert!(printed.contains(told), "{arguments:?}: {printed}");
    };
    let of_json = |arguments: &[&str], input: &str| json_of(on_with(server.data(), input, arguments));
    let data = server.data().to_owned();
    let sessions: Vec<_> = (0..2).map(|_| server.login("editor")).collect();
    done(on(&data, &["key", "add", "wire", "--user", "editor", "--privilege", "read"]));
    says(&data, "next-password", &["user", "passwd", "editor"], "Set the password of `editor` and ended 2 sessions.");
    for session in &sessions {
        session.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    }
    let told = of_json(&["user", "passwd", "editor", "--json"], "other-password");
    assert_eq!((&told["sessionsEnded"], &told["users"][0]["name"]), (&json!(0), &json!("editor")));
    assert!(told.get("keysEnded").is_none() && told.get("noAdministrator").is_none(), "{told}");
    says(&data, "", &["user", "disable", "editor"], "Disabled user `editor`. Ended no session and revoked 1 key.");
    says(&data, "next-password", &["user", "passwd", "editor"], "The user is still disabled");
    says(&data, "", &["user", "enable", "editor"], "Enabled user `editor`.");
    says(&data, "", &["user", "unlock", "editor"], "Cleared the failed logins of `editor`.");
    says(&data, "", &["user", "add", "machine", "--no-password"], "Created user `machine` without a password");
    says(&data, "", &["user", "enable", "machine"], "has no password");
    says(&data, "", &["group", "add", "night", "--member", "reader", "--member", "editor"], "Created group `night`.");
    says(&data, "", &["group", "leave", "night", "reader"], "Changed group `night`:");
    says(&data, "", &["group", "remove", "night"], "Removed group `night`, which had 1 user.");
    let reader = server.login("reader");
    let id = of_json(&["session", "list", "--user", "reader", "--json"], "")["sessions"][0]["id"].clone();
    says(
        &data,
        "",
        &["session", "end", id.as_str().expect("it has one")],
        "of `reader`. Its token is no longer valid.",
    );
    reader.get("/v3/auth/connection/check").fails(401, "InvalidToken");

    // A key that was never used is reported as such, over a restart too, and a used one is not.
    let made = json_of(on(&data, &["key", "add", "wire", "--user", "reader", "--privilege", "read", "--json"]));
    done(on(&data, &["key", "add", "idle", "--user", "reader", "--privilege", "read"]));
    let mut machine = server.client();
    machine.token = made["newKey"]["token"].as_str().map(str::to_owned);
    machine.get("/v3/auth/connection").ok();
    let used = |data: &Path| {
        let printed = done(on(data, &["key", "list"]));
        let line = |name: &str| printed.lines().find(|line| line.starts_with(name)).expect("it is listed").to_owned();
        assert!(line("idle").contains("  never  ") && !line("wire").contains("  never  "), "{printed}");
        assert!(line("NAME").contains("LAST USED"), "{printed}");
        let keys = json_of(on(data, &["key", "list", "--json"]))["keys"].clone();
        assert_eq!((&keys[0]["used"], &keys[1]["used"]), (&json!(true), &json!(false)), "{keys}");
    };
    used(&data);
    assert_eq!(server.terminate(), Some(0));
    used(&data);
    let mut server = server.restart();
    used(&data);
    says(&data, "", &["key", "revoke", "idle"], "Revoked key `idle` of `reader`. It was never used.");
    says(&data, "", &["key", "revoke", "wire"], "It was last used at 20");
    assert_eq!(server.terminate(), Some(0));
    says(&data, "", &["user", "unlock", "editor"], "No server is running");
}

#[test]
fn an_operator_who_is_locked_out_gets_back_in() {
    let server = Server::start();
    done(on_with(server.data(), "found-again\n", &["user", "passwd", "admin"]));
    assert_eq!((status(&server, "admin", ADMIN_PASSWORD), status(&server, "admin", "found-again")), (401, 200));
}

#[test]
fn without_a_server_the_same_is_done_and_lasts() {
    let data = used_directory();
    done(on_with(data.path(), "found-again", &["user", "passwd", "admin"]));
    done(on(data.path(), &["user", "add", "machine", "--no-password"]));
    let key = json_of(on(data.path(), &["key", "add", "wire", "--user", "machine", "--privilege", "read", "--json"]));
    let token = key["newKey"]["token"].as_str().expect("a new key has a token").to_owned();
    assert!(!socket(data.path()).exists(), "only a server opens the socket");
    let serving = Serving::in_directory(data.path());
    assert_eq!((serving.login("admin", ADMIN_PASSWORD), serving.login("admin", "found-again")), (401, 200));
    assert_eq!(serving.login("machine", ""), 401);
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let get = agent.get(format!("{}/v3/auth/connection", serving.base())).header("token", &token).call();
    assert_eq!(get.expect("it answers").status().as_u16(), 200);
    assert_eq!(serving.end().0, Some(0));
    let sessions = json_of(on(data.path(), &["session", "list", "--json"]));
    let sessions = sessions["sessions"].as_array().expect("a list of sessions").clone();
    assert_eq!(sessions.len(), 1, "the login, and not the key: {sessions:?}");
    assert_eq!((&sessions[0]["user"], &sessions[0]["address"]), (&json!("admin"), &json!("127.0.0.1")));
    done(on(data.path(), &["session", "end", sessions[0]["id"].as_str().expect("a session has an id")]));
    assert_eq!(json_of(on(data.path(), &["session", "list", "--json"])), json!({ "sessions": [] }));
    assert_eq!(check(data.path()).code, Some(0));
}

#[test]
fn a_key_is_made_used_and_revoked_beside_a_running_server() {
    let server = Server::with(&[("LOG__FILTER", "debug")]);
    let data = server.data();
    let add = ["key", "add", "wire", "--user", "reporter", "--privilege", "read", "--privilege", "write:/News"];
    let printed = done(on(data, &[&add[..], &["--days", "30"]].concat()));
    let token = printed.lines().find(|line| line.starts_with("stk_")).expect("the token has a line of its own");
    assert!(printed.contains("read,write:/News"), "{printed}");
    let mut machine = server.client();
    machine.token = Some(token.to_owned());
    assert_eq!(machine.get("/v3/auth/connection").ok()["username"], "reporter");
    // Its own privileges, not those of the user's groups.
    machine.get("/v3/folder/home").ok();
    machine.post("/v3/container/drawer", &json!({})).fails(403, "PermissionDenied");
    server.login("reporter").post("/v3/container/drawer", &json!({})).ok();
    let keys = json_of(on(data, &["key", "list", "--json"]));
    assert_eq!((&keys["keys"][0]["name"], &keys["keys"][0]["user"]), (&json!("wire"), &json!("reporter")));
    let (created, expires) = (keys["keys"][0]["created"].as_u64(), keys["keys"][0]["expires"].as_u64());
    let days = (expires.expect("it has an end") - created.expect("it has a beginning")) / (24 * 60 * 60);
    assert!((29..=30).contains(&days), "{days}");
    done(on(data, &["key", "revoke", "wire"]));
    machine.get("/v3/auth/connection").fails(401, "InvalidToken");
    let listed = done(on(data, &["key", "list"]));
    assert_eq!(listed.lines().count(), 1, "the heads alone: {listed}");
    wait_until("it is in the log", || server.log().contains("key revoked"));
    let log = server.log();
    assert!(log.contains("key revoked") && !log.contains(token), "{log}");
    assert!(!keys.to_string().contains(token) && !keys.to_string().contains("stk_"));
}

#[test]
fn sessions_are_listed_and_ended_beside_a_running_server() {
    let server = Server::start();
    let (editor, reporter) = (server.login("editor"), server.login("reporter"));
    let all = json_of(on(server.data(), &["session", "list", "--json"]));
    assert_eq!(all["sessions"].as_array().map(Vec::len), Some(2), "{all}");
    let list = json_of(on(server.data(), &["session", "list", "--user", "editor", "--json"]));
    let session = &list["sessions"][0];
    assert_eq!((&session["user"], &session["applicationId"]), (&json!("editor"), &json!("test")));
    let id = session["id"].as_str().expect("a session has an id");
    let table = done(on(server.data(), &["session", "list"]));
    assert!(table.contains(id) && table.contains("127.0.0.1"), "{table}");
    for client in [&editor, &reporter] {
        let token = client.token.as_deref().expect("it has logged in");
        assert!(!table.contains(token) && !all.to_string().contains(token));
    }
    done(on(server.data(), &["session", "end", id]));
    editor.get("/v3/auth/connection/check").fails(401, "InvalidToken");
    reporter.get("/v3/auth/connection/check").ok();
}

#[test]
fn refused_admin_commands_end_with_their_code_and_change_nothing() {
    let server = Server::start();
    let data = server.data();
    let home = TempDir::new().expect("a temporary directory can be made");
    let before = done(on(data, &["user", "list"]));
    let key = ["key", "add", "k", "--privilege"];
    for (ended, code, part) in [
        (on_with(data, "x", &["user", "passwd", "nobody"]), 1, "nobody"),
        (on_with(data, "x", &["user", "add", "editor"]), 1, "editor"),
        (on_with(data, "x", &["user", "add", "a/b"]), 1, "a/b"),
        (on_with(data, "x", &["user", "add", "new", "--group", "nogroup"]), 1, "nogroup"),
        (on_with(data, "x", &["user", "add", "new", "--home", "relative"]), 1, "relative"),
        (on(data, &["user", "disable", "nobody"]), 1, "nobody"),
        (on(data, &["user", "disable", "admin"]), 1, "no administrator"),
        (on(data, &["group", "leave", "administrators", "admin"]), 1, "no administrator"),
        (on(data, &["group", "change", "administrators", "--no-privileges"]), 1, "no administrator"),
        (on(data, &["group", "remove", "administrators"]), 1, "no administrator"),
        (on(data, &["group", "remove", "nogroup"]), 1, "nogroup"),
        (on(data, &["group", "join", "editors", "nobody"]), 1, "nobody"),
        (on(data, &["group", "add", "editors"]), 1, "editors"),
        (on(data, &["group", "change", "editors", "--privilege", "fly"]), 2, "fly"),
        (on(data, &["key", "revoke", "nokey"]), 1, "nokey"),
        (on(data, &[&key[..], &["read", "--user", "nobody"]].concat()), 1, "nobody"),
        (on(data, &["session", "end", "nosession"]), 1, "nosession"),
        (on(data, &["session", "list", "--user", "nobody"]), 1, "nobody"),
        (on(data, &["user", "passwd", "editor"]), 2, "password"),
        (on_with(data, "\n", &["user", "add", "new"]), 2, "password"),
        (on_with(data, "seven77\n", &["user", "passwd", "editor"]), 1, "at least 8 characters, and has 7"),
        (on_with(data, "seven77\n", &["user", "add", "new"]), 1, "at least 8 characters, and has 7"),
        (on_with(data, "Reporter\n", &["user", "passwd", "reporter"]), 1, "the user's name, `reporter`"),
        (on_with(data, "Constance\n", &["user", "add", "constance"]), 1, "the user's name, `constance`"),
        (on(data, &["user", "passwd", "editor", "a-password"]), 2, "a-password"),
        (on(data, &[&key[..], &["fly", "--user", "editor"]].concat()), 2, "fly"),
        (on(data, &["key", "add", "k", "--user", "editor"]), 2, "--privilege"),
        (on(&home.path().join("nowhere"), &["user", "list"]), 3, "nowhere"),
        (on(home.path(), &["user", "list"]), 3, path(home.path())),
    ] {
        assert_eq!(ended.code, Some(code), "{part}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains(part) && ended.out.is_empty(), "{part}: {}{}", ended.out, ended.err);
    }
    assert_eq!(done(on(data, &["user", "list"])), before);
    assert_eq!(status(&server, "editor", SAMPLE_PASSWORD), 200);
    assert_eq!(std::fs::read_dir(home.path()).expect("it can be read").count(), 0, "nothing was made");
}

#[test]
fn the_socket_is_its_owners_alone_and_goes_with_the_server() {
    let mut server = Server::start();
    let socket = socket(server.data());
    let meta = std::fs::metadata(&socket).expect("it is there once the server listens");
    assert!(meta.file_type().is_socket());
    assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    let left = |server: &Server| {
        let entries = std::fs::read_dir(server.data()).expect("it can be read");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(".admin")).count()
    };
    assert_eq!(left(&server), 0, "where it was made is gone");
    assert_eq!(server.terminate(), Some(0));
    assert!(!socket.exists());
}

#[test]
fn sockets_left_by_a_killed_server_block_no_command_and_no_start() {
    let mut server = Server::start();
    server.kill();
    assert!(socket(server.data()).exists());
    done(on_with(server.data(), "found-again", &["user", "passwd", "admin"]));
    let server = server.restart();
    assert_eq!(status(&server, "admin", "found-again"), 200);
    done(on(server.data(), &["user", "disable", "editor"]));
    assert_eq!(status(&server, "editor", SAMPLE_PASSWORD), 401);
}

#[test]
fn a_data_directory_with_a_long_path_has_its_socket_too() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let data = home.path().join("x".repeat(120)).join("y".repeat(120));
    std::fs::create_dir_all(&data).expect("it can be made");
    let serving = Serving::in_directory(&data);
    done(on_with(&data, "found-again", &["user", "passwd", "admin"]));
    assert_eq!(serving.login("admin", "found-again"), 200);
    assert_eq!(serving.end().0, Some(0));
    assert!(!socket(&data).exists());
}

#[test]
fn servers_without_admin_socket_serve_and_commands_say_directory_in_use() {
    let data = used_directory();
    std::fs::create_dir_all(socket(data.path()).join("in the way")).expect("a directory can be made");
    let serving = Serving::in_directory(data.path());
    assert_eq!(serving.login("admin", ADMIN_PASSWORD), 200);
    let ended = on(data.path(), &["user", "list"]);
    assert_eq!(ended.code, Some(6), "{}", ended.err);
    assert!(ended.err.contains("in use"), "{}", ended.err);
    assert_eq!(serving.login("admin", ADMIN_PASSWORD), 200);
}

#[test]
fn nonsense_on_the_socket_is_refused_without_quoting_it_and_harms_nobody() {
    let server = Server::start();
    let say = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(socket(server.data())).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
        // It may hang up before it has read all.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8(reply).expect("it answers in text")
    };
    for line in [
        "nonsense\n",
        "{\"userPassword\":{\"name\":\"editor\",\"password\":[\"hunter2\"]}}\n",
        "\"hunter2\"\n",
        "[]\n",
        "\n",
    ] {
        let reply = say(line.as_bytes());
        assert!(reply.contains("InvalidBody") && !reply.contains("hunter2"), "{line}: {reply}");
    }
    // Broken off, and longer than anything that could be meant.
    assert_eq!(say(b"\"userList\""), "");
    assert_eq!(say(&[b'x'; 1 << 20]), "");
    let _silent = UnixStream::connect(socket(server.data())).expect("the server listens");
    assert!(say(b"\"userList\"\n").contains("\"editor\""));
    assert!(!server.log().contains("hunter2"));
}
