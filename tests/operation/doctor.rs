//! `stet doctor`: what an operator reads, and that nothing is changed.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::*;
use crate::faults::mounted::Mounted;

/// The command, with bounds that every machine has room for, and an address that is free.
fn command(arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = stet(&[&["doctor"], arguments].concat());
    for (key, value) in [
        ("SERVER__LISTEN", "127.0.0.1:0"),
        ("SERVER__WORKERS", "1"),
        ("SERVER__MAX_CONNECTIONS", "10"),
        ("MEMORY__LIMIT_BYTES", "536870912"),
        ("STORE__RESERVE_BYTES", "1"),
    ] {
        command.env(format!("STET_{key}"), value);
    }
    command.envs(variables.iter().copied());
    command
}

fn doctor(data: &Path, variables: &[(&str, &str)]) -> Run {
    run(command(&["--data", path(data)], variables))
}

/// The lines about one thing.
fn lines<'r>(run: &'r Run, check: &str) -> Vec<&'r str> {
    run.out.lines().filter(|line| line.get(6..).is_some_and(|rest| rest.starts_with(check))).collect()
}

#[track_caller]
fn says(run: &Run, code: i32, level: &str, check: &str, parts: &[&str]) {
    assert_eq!(run.code, Some(code), "{}{}", run.out, run.err);
    let fits = |line: &&str| line.starts_with(level) && parts.iter().all(|part| line.contains(part));
    assert!(lines(run, check).iter().any(fits), "{level} {check} {parts:?} is missing in:\n{}", run.out);
}

/// Returns the state of a directory that a command could change: names, bytes, times, owners and
/// rights.
fn state(data: &Path) -> BTreeMap<String, (Vec<u8>, SystemTime, u32, u32)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![data.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("it can be listed") {
            let at = entry.expect("an entry").path();
            let meta = std::fs::symlink_metadata(&at).expect("it can be looked at");
            let bytes = if meta.is_file() { std::fs::read(&at).expect("it can be read") } else { Vec::new() };
            let modified = meta.modified().expect("it has a time");
            found.insert(path(&at).to_owned(), (bytes, modified, meta.uid(), meta.permissions().mode()));
            if meta.is_dir() {
                folders.push(at);
            }
        }
    }
    let own = std::fs::metadata(data).expect("it is there");
    found.insert(
        ".".to_owned(),
        (Vec::new(), own.modified().expect("it has a time"), own.uid(), own.permissions().mode()),
    );
    found
}

#[test]
fn a_sound_directory_is_well_and_nothing_of_it_is_changed() {
    let data = used_directory();
    std::fs::set_permissions(data.path(), std::fs::Permissions::from_mode(0o700)).expect("it can be set");
    let before = state(data.path());
    let looked = doctor(data.path(), &[]);
    assert_eq!(looked.err, "");
    for (check, part) in [
        ("configuration", "it was read"),
        ("limits", "a server started here may open"),
        ("memory", "the server may use 512.0 MiB"),
        ("clock", "it shows 20"),
        ("directory", "is a data directory, and no server has it open"),
        ("permissions", "owns"),
        ("disk", "are free"),
        ("sync", "a sync takes"),
        ("journal", "0 changes not in the tables yet, and none is missing"),
        ("contents", "they belong to this directory"),
        ("databases", "no database with objects is missing"),
        ("listening", "at 127.0.0.1:0, which only this machine can reach"),
    ] {
        assert!(lines(&looked, check).iter().any(|line| line.contains(part)), "{check}: {}", looked.out);
    }
    // A disk under load may be slow, and tests may lie in a container's file system.
    let is_bad =
        |line: &&str| !line.starts_with("ok ") && !line.contains("  file system  ") && !line.contains("  sync  ");
    assert_eq!(looked.out.lines().filter(is_bad).collect::<Vec<_>>(), Vec::<&str>::new());
    assert_eq!(looked.code, Some(0), "{}", looked.out);
    assert_eq!(state(data.path()), before);
    assert_eq!(check(data.path()).code, Some(0));
}

#[test]
fn beside_a_running_server_it_says_so_and_what_can_be_told() {
    let server = Server::start();
    let looked = doctor(server.data(), &[]);
    let process = format!("a server (process {})", server.pid());
    says(&looked, 0, "ok", "directory", &[&process, "open"]);
    says(&looked, 0, "ok", "limits", &["the running server may open"]);
    says(&looked, 0, "ok", "journal", &["journal.wal has", "can be checked only while no server"]);
    // The server has the port of its own configuration; it is not tried.
    let at = server.base.strip_prefix("http://").expect("it has no TLS");
    says(&doctor(server.data(), &[("STET_SERVER__LISTEN", at)]), 0, "ok", "listening", &[at]);
    // To another user the server is hidden: that its port is taken is no fault then.
    if rustix::process::geteuid().is_root() {
        let mut stranger = command(&["--data", path(server.data())], &[("STET_SERVER__LISTEN", at)]);
        stranger.uid(65_534).gid(65_534);
        let looked = run(stranger);
        says(&looked, 4, "fail", "permissions", &["run stet as the owner"]);
        says(&looked, 4, "ok", "listening", &[at]);
    }
    assert_eq!(server.login("editor").get("/v3/auth/connection/check").status, 200);
}

#[test]
fn without_a_directory_it_says_what_the_first_start_does_and_makes_none() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let data = home.path().join("a").join("b");
    says(
        &doctor(&data, &[]),
        0,
        "ok",
        "directory",
        &["does not exist yet; the first start creates and fills it", path(&data)],
    );
    assert!(!data.exists() && !home.path().join("a").exists());
    says(&doctor(home.path(), &[]), 0, "ok", "directory", &["is empty; the first start fills it"]);
    let file = home.path().join("file");
    std::fs::write(&file, "x").expect("it can be written");
    says(&doctor(&file, &[]), 4, "fail", "directory", &["is a file, not a directory", path(&file)]);
    says(&doctor(&file.join("below"), &[]), 4, "fail", "directory", &[path(&file)]);
    says(&doctor(home.path(), &[]), 0, "warn", "directory", &["has no state.redb, and is not empty"]);
    std::fs::write(home.path().join("filling"), "x").expect("it can be written");
    says(&doctor(home.path(), &[]), 0, "warn", "directory", &["was interrupted", "begins again"]);
}

/// Regression test: a start refuses to continue without tables that held changes. The doctor ended
/// with 0 and only warned.
#[test]
fn the_doctor_fails_if_tables_are_missing_while_other_files_are_left() {
    for left in ["journal.wal", "journal.mark", "content/ab"] {
        let data = used_directory();
        for gone in ["state.redb", "journal.wal", "journal.mark"].iter().filter(|name| **name != left) {
            std::fs::remove_file(data.path().join(gone)).expect("it can be removed");
        }
        let contents = data.path().join("content");
        std::fs::remove_dir_all(&contents).expect("it can be removed");
        if left.starts_with("content") {
            std::fs::create_dir_all(data.path().join(left)).expect("it can be made");
        }
        let named = left.split('/').next().expect("it has a name");
        says(&doctor(data.path(), &[]), 4, "fail", "directory", &["has no state.redb", &format!("there is {named}")]);
    }
}

#[test]
fn a_configuration_that_can_not_be_read_is_told_with_what_needs_none() {
    let data = used_directory();
    let wrong = doctor(data.path(), &[("STET_MEMORY__LIMIT_BYTES", "much")]);
    says(&wrong, 4, "fail", "configuration", &["STET_MEMORY__LIMIT_BYTES", "much"]);
    says(&wrong, 4, "ok", "journal", &["none is missing"]);
    says(&wrong, 4, "warn", "unchecked", &["limits"]);
    assert!(lines(&wrong, "limits").is_empty() && wrong.err.contains("1 check fails"), "{}{}", wrong.out, wrong.err);
    let nowhere = run(command(&["--config", "/nowhere/stet.toml"], &[]));
    says(&nowhere, 4, "fail", "configuration", &["/nowhere/stet.toml does not exist"]);
    assert!(lines(&nowhere, "directory").is_empty(), "{}", nowhere.out);
    let file = data.path().with_extension("toml");
    std::fs::write(&file, "[store]\ndurability = \"none\"\n").expect("it can be written");
    let read = run(command(&["--config", path(&file), "--data", path(data.path())], &[("STET_LOG_FORMAT", "json")]));
    std::fs::remove_file(&file).expect("it can be removed");
    says(&read, 0, "ok", "configuration", &[path(&file)]);
    says(&read, 0, "warn", "configuration", &["STET_LOG_FORMAT", "two underscores"]);
    says(&read, 0, "warn", "configuration", &["store.durability", "loses every change"]);
}

#[test]
fn the_doctor_reports_directory_faults_with_a_remedy() {
    let data = used_directory();
    let at = |name: &str| data.path().join(name);
    let open =
        |mode| std::fs::set_permissions(data.path(), std::fs::Permissions::from_mode(mode)).expect("it can be set");
    open(0o755);
    says(&doctor(data.path(), &[]), 0, "warn", "permissions", &["every user of the machine", "chmod 700"]);
    open(0o750);
    says(&doctor(data.path(), &[]), 0, "warn", "permissions", &["its group", "chmod 700"]);
    open(0o700);

    // One without rights: of another user, where the test may become one.
    let mut stranger = command(&["--data", path(data.path())], &[]);
    if rustix::process::geteuid().is_root() {
        stranger.uid(65_534).gid(65_534);
    } else {
        open(0o000);
    }
    let looked = run(stranger);
    open(0o700);
    says(&looked, 4, "fail", "permissions", &["may not read, write and enter", "run stet as the owner"]);

    let ahead = SystemTime::now() + Duration::from_secs(3 * 3600);
    let journal = std::fs::File::options().write(true).open(at("journal.wal")).expect("it is there");
    journal.set_modified(ahead).expect("it can be set");
    says(&doctor(data.path(), &[]), 0, "warn", "clock", &["before the last write to the directory", "set the clock"]);
    journal.set_modified(SystemTime::now()).expect("it can be set");

    let full = doctor(data.path(), &[("STET_STORE__RESERVE_BYTES", "1099511627776")]);
    let free = rustix::fs::statvfs(data.path()).map(|disk| disk.f_bavail * disk.f_frsize).expect("it can be told");
    if free < 1 << 40 {
        says(&full, 4, "fail", "disk", &["less than `store.reserve_bytes` (1.0 TiB)", "free some space"]);
    }

    let whole = std::fs::read(at("journal.wal")).expect("it can be read");
    std::fs::remove_file(at("journal.wal")).expect("it can be removed");
    let before = state(data.path());
    let lost = doctor(data.path(), &[]);
    says(&lost, 4, "fail", "journal", &["journal.wal is missing or empty", "stet recover --data"]);
    assert_eq!(state(data.path()), before, "nothing was made");
    std::fs::write(at("journal.wal"), whole).expect("it can be written");
    says(&doctor(data.path(), &[]), 0, "ok", "journal", &["none is missing"]);
    std::fs::write(at("state.redb"), [7; 8192]).expect("it can be written");
    assert_eq!(lines(&doctor(data.path(), &[]), "journal").len(), 1);
    says(&doctor(data.path(), &[]), 4, "fail", "journal", &["state.redb"]);
}

/// Regression test: after its entry was removed from the configuration, nothing was reported, and
/// all calls for it were refused.
#[test]
fn an_unconfigured_database_with_objects_is_reported_at_start_too() {
    let data = TempDir::new().expect("a temporary directory can be made");
    let both = [("DATABASES__1__ID", "2"), ("DATABASES__1__NAME", "archive")];
    let configured = both.map(|(key, value)| (format!("STET_{key}"), value));
    let configured: Vec<(&str, &str)> = configured.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    let mut server = Server::on(data.path(), &both);
    assert_eq!(server.terminate(), Some(0));
    says(&doctor(data.path(), &[]), 0, "ok", "databases", &["no database with objects"]);

    let mut server = Server::on(data.path(), &both);
    let options = json!({ "name": "old", "type": "Story", "folderPath": "/", "databaseId": 2 });
    server.login("admin").upload("/v3/object/create", &options, Some(("old", "text/plain", b"x"))).ok();
    assert_eq!(server.terminate(), Some(0));
    let missing = "database 2 has objects, but is not in `databases`";
    assert!(!server.log().contains(missing), "{}", server.log());
    says(&doctor(data.path(), &configured), 0, "ok", "databases", &["no database with objects"]);
    says(&doctor(data.path(), &[]), 0, "warn", "databases", &[missing, "[[databases]] entry, with its former number"]);

    let mut server = Server::on(data.path(), &[]);
    wait_until("it is told", || server.log().contains(missing));
    assert_eq!(server.terminate(), Some(0));
}

/// Regression test: folders of contents that a server can't write to were not reported. A copy made
/// as root leaves such folders. Only uploads failed.
#[test]
fn folders_of_contents_of_another_user_are_told() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let data = used_directory();
    let owned = |owner: u32, below: &[&str]| {
        for name in below {
            std::os::unix::fs::chown(data.path().join(name), Some(owner), Some(owner)).expect("root may do so");
        }
    };
    std::fs::set_permissions(data.path(), std::fs::Permissions::from_mode(0o700)).expect("it can be set");
    std::fs::create_dir_all(data.path().join("content/ab")).expect("it can be made");
    let all = state(data.path());
    for name in all.keys().filter(|name| *name != ".") {
        owned(65_534, &[name]);
    }
    owned(65_534, &["."]);
    let as_owner = || {
        let mut command = command(&["--data", path(data.path())], &[]);
        command.uid(65_534).gid(65_534);
        run(command)
    };
    says(&as_owner(), 0, "ok", "permissions", &["user 65534 owns"]);
    for folder in ["content/tmp", "content/ab", "content"] {
        owned(0, &[folder]);
        let told = doctor(data.path(), &[]);
        says(&told, 4, "fail", "permissions", &["1 of the files and folders", folder, "chown -R 65534"]);
        let told = as_owner();
        says(&told, 4, "fail", "permissions", &["user 65534 may not read, write and enter", folder]);
        owned(65_534, &[folder]);
    }
    says(&as_owner(), 0, "ok", "permissions", &["user 65534 owns"]);
}

#[test]
fn the_disk_of_the_contents_is_told_of_where_they_have_one() {
    let Some(mounted) = Mounted::of(8) else { return };
    let data = used_directory();
    assert!(!doctor(data.path(), &[]).out.contains("(contents)"), "there is one disk");
    let contents = data.path().join("content");
    let identity = std::fs::read(contents.join("identity")).expect("it can be read");
    let also = mounted.also_at(&contents);
    std::fs::write(contents.join("identity"), identity).expect("it can be written");
    let well = doctor(data.path(), &[]);
    says(&well, 0, "ok", "disk (contents)", &["are free, of which uploads leave"]);
    says(&well, 0, "warn", "file system (contents)", &["in memory"]);
    says(&well, 0, "ok", "sync (contents)", &["a sync takes"]);
    says(&well, 0, "ok", "contents", &["they belong to this directory"]);
    let reserve = [("STET_STORE__RESERVE_BYTES", "100000000")];
    says(&doctor(data.path(), &reserve), 4, "fail", "disk (contents)", &["less than `store.reserve_bytes`"]);
    mounted.fill();
    let full = doctor(data.path(), &[]);
    says(&full, 4, "fail", "disk (contents)", &["no space is free: uploads are refused"]);
    says(&full, 4, "fail", "sync (contents)", &["can't be written to"]);
    assert!(
        !lines(&full, "disk").iter().any(|line| line.contains("changes are refused (StorageFull)")),
        "{}",
        full.out
    );
    mounted.make_room();
    also.writable(false);
    let read_only = doctor(data.path(), &[]);
    for check in ["disk (contents)", "sync (contents)", "permissions"] {
        assert!(lines(&read_only, check).iter().any(|line| line.starts_with("fail")), "{check}: {}", read_only.out);
    }
    // The server may write, and it is not mounted for it.
    says(&read_only, 4, "fail", "permissions", &[path(&contents), "Read-only file system"]);
    also.writable(true);
    says(&doctor(data.path(), &[]), 0, "ok", "disk (contents)", &["are free"]);
}

#[test]
fn the_doctor_reports_machine_faults_with_a_remedy() {
    let data = used_directory();
    let inner = command(&["--data", path(data.path())], &[]);
    let mut few = Command::new("sh");
    few.args(["-c", "ulimit -n 64 && ulimit -f 1000000 && exec \"$0\" \"$@\""])
        .arg(inner.get_program())
        .args(inner.get_args());
    few.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir("/");
    let few = run(few);
    says(&few, 4, "fail", "limits", &["may open 64 files, but needs", "LimitNOFILE"]);
    says(&few, 4, "warn", "limits", &["files of this process may have", "LimitFSIZE"]);
    let many = doctor(data.path(), &[("STET_SERVER__MAX_CONNECTIONS", "1000000"), ("STET_SERVER__WORKERS", "500")]);
    says(&many, 0, "warn", "limits", &["leaves each worker", "of 1000000 connections"]);
    let large = doctor(data.path(), &[("STET_MEMORY__LIMIT_BYTES", "1099511627776")]);
    says(&large, 4, "fail", "memory", &["may use 1.0 TiB", "`memory.limit_bytes`"]);
}

#[test]
fn the_doctor_reports_network_faults_with_a_remedy() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let data = home.path().join("data");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port can be had");
    let at = taken.local_addr().expect("it has an address").to_string();
    let listening = |at: &str, more: &[(&str, &str)]| doctor(&data, &[&[("STET_SERVER__LISTEN", at)], more].concat());
    says(&listening(&at, &[]), 4, "fail", "listening", &["can't listen at", &at, "ss -ltnp"]);
    says(&run(command(&["--listen", &at, "--data", path(&data)], &[])), 4, "fail", "listening", &[&at]);
    says(&listening("host.invalid:80", &[]), 4, "fail", "listening", &["host.invalid:80 is not an address"]);
    let open = "0.0.0.0:0";
    says(&listening(open, &[]), 0, "warn", "listening", &["without TLS", "server.trusted_proxies"]);
    let proxy = [("STET_SERVER__TRUSTED_PROXIES", "192.0.2.1")];
    says(&listening(open, &proxy), 0, "ok", "listening", &["behind 192.0.2.1"]);
    let everybody = [("STET_SERVER__TRUSTED_PROXIES", "192.0.2.1,0.0.0.0/0")];
    says(&listening(open, &everybody), 0, "warn", "proxies", &["0.0.0.0/0", "any address"]);

    let (certificate, key) = (home.path().join("c.pem"), home.path().join("k.pem"));
    let until = |until: rcgen::CertificateParams| {
        let pair = rcgen::KeyPair::generate().expect("a key can be made");
        let made = until.self_signed(&pair).expect("a certificate can be made");
        std::fs::write(&certificate, made.pem()).expect("it can be written");
        std::fs::write(&key, pair.serialize_pem()).expect("it can be written");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("it can be set");
    };
    let params = || rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name is one");
    let tls = [("STET_SERVER__TLS__CERTIFICATE", path(&certificate)), ("STET_SERVER__TLS__KEY", path(&key))];
    says(&listening(open, &tls), 4, "fail", "certificate", &["c.pem can't be read"]);
    until(params());
    let good = listening(open, &tls);
    says(&good, 0, "ok", "certificate", &["c.pem is valid until"]);
    says(&good, 0, "ok", "listening", &["with TLS"]);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).expect("it can be set");
    says(&listening(open, &tls), 0, "warn", "certificate", &["every user of the machine", "chmod 600"]);
    let mut old = params();
    old.not_before = rcgen::date_time_ymd(2020, 1, 1);
    old.not_after = rcgen::date_time_ymd(2021, 1, 1);
    until(old);
    says(&listening(open, &tls), 4, "fail", "certificate", &["c.pem has expired at 2021-01-01"]);
    std::fs::write(&key, rcgen::KeyPair::generate().expect("a key can be made").serialize_pem())
        .expect("it can be written");
    says(&listening(open, &tls), 4, "fail", "certificate", &["can't be used"]);

    let secret = home.path().join("relay");
    let relay = [
        ("STET_SMTP__HOST", "relay.example.org"),
        ("STET_SMTP__FROM", "news@example.org"),
        ("STET_SMTP__USER", "news"),
        ("STET_SMTP__PASSWORD_FILE", path(&secret)),
    ];
    says(&doctor(&data, &relay), 4, "fail", "mail", &["smtp.password_file", "can't be read"]);
    std::fs::write(&secret, "hunter2\n").expect("it can be written");
    let looked = doctor(&data, &relay);
    says(&looked, 0, "warn", "mail", &["can be read by", "chmod 600"]);
    assert!(!looked.out.contains("hunter2"), "{}", looked.out);
    std::fs::write(&secret, "\n").expect("it can be written");
    says(&doctor(&data, &relay), 4, "fail", "mail", &["no password in its first line"]);
    let backup = [("STET_BACKUP__TARGET", "s3://bucket/stet"), ("STET_BACKUP__S3_CREDENTIALS_FILE", path(&secret))];
    says(&doctor(&data, &backup), 4, "fail", "backup", &["backup.s3_credentials_file", "no credentials"]);
    std::fs::write(&secret, "aws_secret_access_key = hunter2\n").expect("it can be written");
    let looked = doctor(&data, &backup);
    says(&looked, 0, "warn", "backup", &["can be read by", "chmod 600"]);
    assert!(!looked.out.contains("hunter2"), "{}", looked.out);
}

#[test]
fn for_machines_it_prints_one_json_object() {
    let data = used_directory();
    let looked = run(command(
        &["--json", "--data", path(data.path())],
        &[("STET_LOG_FORMAT", "json"), ("STET_SERVER__LISTEN", "host.invalid:1")],
    ));
    assert_eq!(looked.code, Some(4), "{}", looked.err);
    let report: Value = serde_json::from_str(&looked.out).expect("it is JSON");
    let findings = report["findings"].as_array().expect("a list").clone();
    let number = |level: &str| findings.iter().filter(|finding| finding["level"] == level).count();
    assert_eq!((report["warnings"].as_u64(), report["failures"].as_u64()), (Some(number("warn") as u64), Some(1)));
    assert!(number("ok") > 5 && number("warn") >= 1, "{report}");
    for finding in &findings {
        let is_text = |name: &str| finding[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(is_text("check") && is_text("found"), "{finding}");
        assert_eq!(finding["advice"].is_null(), finding["level"] == "ok", "{finding}");
    }
    assert_eq!(run(stet(&["doctor", "--nonsense"])).code, Some(2));
}
