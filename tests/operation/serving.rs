//! A server from start to end: its output, the reports of faults, and the handling of signals.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use super::*;

#[test]
fn the_password_of_admin_is_printed_once_and_is_good() {
    let data = TempDir::new().expect("a temporary directory can be made");
    let serving = Serving::in_directory(data.path());
    assert_eq!(serving.lines.len(), 2, "{:?}", serving.lines);
    let password = serving.lines[0].rsplit(' ').next().expect("a line has words").to_owned();
    assert!(password.len() >= 16 && serving.lines[0].contains("admin"), "{:?}", serving.lines);
    assert_eq!(serving.login("admin", &password), 200);
    assert_eq!(serving.end(), (Some(0), String::new()));
    let again = Serving::in_directory(data.path());
    assert_eq!(again.lines.len(), 1, "{:?}", again.lines);
    assert_eq!(again.login("admin", &password), 200);
}

#[test]
fn each_data_directory_gets_a_password_of_its_own() {
    let print =
        || Serving::in_directory(TempDir::new().expect("a temporary directory can be made").path()).lines[0].clone();
    assert_ne!(print(), print());
}

#[test]
fn with_the_password_given_where_it_listens_is_the_only_line() {
    let data = TempDir::new().expect("a temporary directory can be made");
    let mut command = stet(&["serve", "--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    command.env("STET_ADMIN_PASSWORD", "given-one");
    let serving = Serving::start(command);
    assert_eq!(serving.lines.len(), 1, "{:?}", serving.lines);
    assert!(serving.base().starts_with("http://127.0.0.1:"), "{}", serving.base());
    assert_eq!(serving.login("admin", "given-one"), 200);
    assert_eq!(serving.end(), (Some(0), String::new()));
}

#[test]
fn an_invalid_first_password_is_refused_before_anything_is_created() {
    let data = TempDir::new().expect("a temporary directory can be made");
    let start_on = |data: &Path, variables: &[(&str, &str)]| {
        let mut command = stet(&["--data", path(data), "--listen", "127.0.0.1:0"]);
        command.envs(variables.iter().copied());
        command
    };
    let start = |variables: &[(&str, &str)]| start_on(data.path(), variables);
    let given = ("STET_ADMIN_PASSWORD", ADMIN_PASSWORD);
    for (variables, part) in [
        (&[("STET_ADMIN_PASSWORD", "seven77")][..], "at least 8 characters"),
        (&[("STET_ADMIN_PASSWORD", "Admin"), ("STET_AUTH__PASSWORD_MIN_LENGTH", "5")], "`admin`"),
        (&[given, ("STET_SAMPLE_PASSWORD", "seven77")], "at least 8 characters"),
        (&[given, ("STET_SAMPLE_PASSWORD", "Reporter")], "`reporter`"),
        (&[given, ("STET_AUTH__PASSWORD_MIN_LENGTH", "129")], "auth.password_min_length"),
    ] {
        let ended = run(start(variables));
        assert_eq!(ended.code, Some(2), "{variables:?}: {}", ended.err);
        let (name, value) = variables[variables.len() - 1];
        let told = if part.starts_with("auth.") { "STET_AUTH__PASSWORD_MIN_LENGTH" } else { part };
        assert!(ended.err.contains(part) && ended.err.contains(told), "{variables:?}: {}", ended.err);
        if name.ends_with("_PASSWORD") {
            assert!(ended.err.contains(name) && !ended.err.contains(value), "{variables:?}: {}", ended.err);
        }
        assert_eq!(ended.out, "", "no password is printed");
        assert_eq!(std::fs::read_dir(data.path()).expect("it can be listed").count(), 0, "{variables:?}");
    }
    let nowhere = data.path().join("new");
    assert_eq!(run(start_on(&nowhere, &[("STET_ADMIN_PASSWORD", "seven77")])).code, Some(2));
    assert!(!nowhere.exists());
    // Without the sample its password is not used. A random one has the required length.
    let variables =
        [("STET_SAMPLE__ENABLED", "false"), ("STET_SAMPLE_PASSWORD", "s"), ("STET_AUTH__PASSWORD_MIN_LENGTH", "40")];
    let serving = Serving::start(start(&variables));
    let printed = serving.lines[0].rsplit(' ').next().expect("the password is its last word").to_owned();
    assert_eq!((printed.len(), serving.login("admin", &printed)), (40, 200));
    assert_eq!(serving.end().0, Some(0));
    // Once the directory is filled, they are ignored.
    assert_eq!(Serving::start(start(&[("STET_ADMIN_PASSWORD", "x")])).login("admin", &printed), 200);
}

#[test]
fn a_password_given_later_changes_nothing() {
    let data = used_directory();
    let mut command = stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    command.env("STET_ADMIN_PASSWORD", "another-one");
    let serving = Serving::start(command);
    assert_eq!((serving.login("admin", "another-one"), serving.login("admin", ADMIN_PASSWORD)), (401, 200));
}

#[test]
fn the_users_of_the_sample_are_disabled_without_a_password_for_them() {
    let data = used_directory();
    let serving = Serving::in_directory(data.path());
    for user in ["editor", "reporter", "contributor", "reader"] {
        for password in ["", user, SAMPLE_PASSWORD, ADMIN_PASSWORD] {
            assert_eq!(serving.login(user, password), 401, "{user} {password}");
        }
    }
}

#[test]
fn without_the_sample_there_is_admin_alone() {
    let data = TempDir::new().expect("a temporary directory can be made");
    let mut command = stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    command.envs([
        ("STET_SAMPLE__ENABLED", "false"),
        ("STET_ADMIN_PASSWORD", "given-one"),
        ("STET_SAMPLE_PASSWORD", "s"),
    ]);
    let serving = Serving::start(command);
    assert_eq!((serving.login("admin", "given-one"), serving.login("editor", "s")), (200, 401));
    assert_eq!(serving.end().0, Some(0));
    assert_eq!(check(data.path()).code, Some(0));
}

#[test]
fn a_port_in_use_is_a_failure_that_names_the_address() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
    let address = taken.local_addr().expect("it has an address").to_string();
    let home = TempDir::new().expect("a temporary directory can be made");
    let data = home.path().join("data");
    let ended = run(stet(&["--data", path(&data), "--listen", &address]));
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.lines().any(|line| line.starts_with("stet: ") && line.contains(&address)), "{}", ended.err);
    // No useless password is printed, and no directory is left that an operator would have to
    // remove.
    assert!(ended.out.is_empty() && !data.exists(), "{}", ended.out);
    // The same where a server that serves has it.
    let serving = Serving::in_directory(used_directory().path());
    let address = serving.base().strip_prefix("http://").expect("it has no TLS");
    let ended = run(stet(&["--data", path(&data), "--listen", address]));
    assert!(ended.code == Some(1) && ended.out.is_empty() && !data.exists(), "{}", ended.err);
}

#[test]
fn a_fault_in_the_configuration_is_named_before_anything_is_made() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let (data, file) = (home.path().join("data"), home.path().join("stet.toml"));
    let expect = |command: Command, words: &[&str]| {
        let ended = run(command);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(words.iter().all(|word| ended.err.contains(word)), "{words:?} in {}", ended.err);
        assert!(ended.out.is_empty() && !data.exists(), "{}", ended.out);
    };
    let serve = |more: &[&str]| stet(&[&["--data", path(&data)], more].concat());
    let with_file = |text: &str| {
        std::fs::write(&file, text).expect("the file can be written");
        serve(&["--config", path(&file)])
    };
    let with_variable = |name: &str, value: &str| {
        let mut command = serve(&[]);
        command.env(name, value);
        command
    };
    expect(with_file("[server]\nlissten = \"x\"\n"), &["server.lissten", "stet.toml"]);
    expect(with_file("[serverr]\n"), &["serverr"]);
    expect(with_file("[limits]\njson_depth = 1000\n"), &["limits.json_depth", "1000", "127"]);
    expect(with_file("[server\n"), &["line 1"]);
    expect(with_variable("STET_SERVER__LISSTEN", "x"), &["STET_SERVER__LISSTEN"]);
    expect(with_variable("STET_LIMITS__JSON_BYTES", "many"), &["STET_LIMITS__JSON_BYTES", "many"]);
    expect(with_variable("STET_LOG__FILTER", "stet=loud"), &["log.filter"]);
    expect(serve(&["--listen", "nowhere"]), &["--listen", "nowhere"]);
    expect(serve(&["--config", "/nowhere/stet.toml"]), &["/nowhere/stet.toml"]);
    expect(serve(&["--nonsense"]), &["--nonsense"]);
    expect(serve(&["nonsense"]), &["nonsense"]);
}

#[test]
fn at_sigterm_a_request_under_way_gets_its_answer() {
    // One thread for both connections.
    let mut server = Server::with(&[("SERVER__WORKERS", "1")]);
    let client = server.login("editor");
    let token = client.token.clone().expect("a login gives a token");
    let address = server.base.strip_prefix("http://").expect("the address is known").to_owned();
    let body = json!({ "folderPath": "/Test/drained", "name": "late" }).to_string();
    let mut slow = TcpStream::connect(&address).expect("it takes connections");
    slow.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
    let head = format!(
        "POST /v3/container/drawer?token={token} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    slow.write_all(head.as_bytes()).expect("the head can be sent");
    slow.write_all(&body.as_bytes()[..10]).expect("half the body can be sent");
    // Both are on one connection thread, in this order: once the second is answered the first has
    // been taken up. It must be a new connection: one that is there already is no later.
    client.afresh().get("/healthz");
    server.ask_to_end();
    wait_until("it drains", || server.log().contains("draining"));
    slow.write_all(&body.as_bytes()[10..]).expect("the rest of the body can be sent");
    let mut answer = String::new();
    slow.read_to_string(&mut answer).expect("an answer comes");
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert_eq!(server.ended(), Some(0));
    assert!(TcpStream::connect(&address).is_err(), "nobody listens any more");
    // Acknowledged changes are there.
    let server = server.restart();
    let record = client.to(&server).get("/v3/object/%2FTest%2Fdrained%2Flate").ok();
    assert_eq!(record["type"], "Drawer");
}

#[test]
fn sigint_shuts_down_cleanly_and_idle_connections_do_not_delay_it() {
    let data = used_directory();
    let mut command = stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    // If it waited for them it would not end.
    command.env("STET_SERVER__SHUTDOWN_SECONDS", "3600");
    let mut serving = Serving::start(command);
    let address = serving.base().strip_prefix("http://").expect("the address is known").to_owned();
    let _silent = TcpStream::connect(&address).expect("it takes connections");
    let mut idle = TcpStream::connect(&address).expect("it takes connections");
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").expect("a request can be sent");
    assert!(idle.read(&mut [0; 1024]).expect("an answer comes") > 0);
    serving.signal("-INT");
    assert_eq!(ended(&mut serving.child, String::new), Some(0));
}

#[test]
fn sighup_ends_nothing_and_takes_over_what_can_be_changed_while_it_serves() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let [data, file, log] = ["data", "stet.toml", "log"].map(|name| home.path().join(name));
    let configure = |text: &str| std::fs::write(&file, text).expect("the file can be written");
    let read = || std::fs::read_to_string(&log).expect("the log can be read");
    configure("[log]\nfilter = 'info'\n");
    let mut command = stet(&["--data", path(&data), "--listen", "127.0.0.1:0", "--config", path(&file)]);
    command.env("STET_ADMIN_PASSWORD", ADMIN_PASSWORD);
    let serving = Serving::logging(command, std::fs::File::create(&log).expect("the log can be made"));
    let hang_up = |wanted: &str| {
        serving.signal("-HUP");
        wait_until(wanted, || read().contains(wanted));
    };
    hang_up("the log filter is unchanged");
    assert_eq!(serving.login("admin", ADMIN_PASSWORD), 200);
    assert!(!read().contains("answered"), "no request is logged at this level");

    // An unreadable configuration is reported, and changes nothing.
    for (text, told) in [("[log\n", "line 1"), ("[log]\nfilter = 'stet=loud'\n", "log.filter"), ("[loggs]\n", "loggs")]
    {
        configure(text);
        hang_up(told);
        assert_eq!(serving.login("admin", ADMIN_PASSWORD), 200);
    }
    assert!(!read().contains("answered"));

    configure("[log]\nfilter = 'debug'\n[limits]\nurl_bytes = 1000\n[store]\nlinger_microseconds = 151\n");
    hang_up("changing the log filter");
    wait_until("requests are logged now", || {
        serving.login("admin", ADMIN_PASSWORD);
        read().contains("answered")
    });
    let told = read();
    let waiting = told.lines().find(|line| line.contains("at the next start")).expect("they are told of");
    assert!(waiting.contains("limits.url_bytes") && waiting.contains("store.linger_microseconds"), "{waiting}");
    // Behind the time of the line, which has any digits.
    let (_, said) = waiting.split_once("SIGHUP").expect("it says why");
    assert!(!said.contains("log.filter") && !said.contains("151"), "{waiting}");
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let long =
        agent.get(format!("{}/v3/folder/home?x={}", serving.base(), "x".repeat(2000))).call().expect("it answers");
    assert_eq!(long.status().as_u16(), 401, "what is not taken over has not changed");
    assert_eq!(serving.end(), (Some(0), String::new()));
}

#[test]
fn the_server_is_healthy_and_ready_once_it_listens() {
    let client = Server::shared().client();
    let (health, ready) = (client.get("/healthz"), client.get("/readyz"));
    assert_eq!((health.status, health.json()), (200, json!({ "status": "ok" })));
    assert_eq!((ready.status, ready.json()), (200, json!({ "status": "ready" })));
}

#[test]
fn the_metrics_count_requests_by_endpoint() {
    let server = Server::start();
    let client = server.login("editor");
    let count = || {
        let metrics = String::from_utf8(client.get("/metrics").body).expect("metrics are text");
        let line = metrics.lines().find(|line| {
            line.starts_with("stet_http_requests_total{")
                && line.contains("\"folder-home-get\"")
                && line.contains("\"200\"")
        });
        line.map_or(0, |line| line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok()).expect("a count"))
    };
    assert_eq!(count(), 0);
    client.get("/v3/folder/home").ok();
    client.get("/v3/folder/home").ok();
    assert_eq!(count(), 2);
}

#[test]
fn help_and_version_go_to_standard_output() {
    let help = run(stet(&["--help"]));
    assert_eq!(help.code, Some(0));
    for word in ["serve", "check", "--config", "--data", "--listen", "STET_ADMIN_PASSWORD", "Exit codes"] {
        assert!(help.out.contains(word), "{word} in {}", help.out);
    }
    for arguments in [&["-h"][..], &["serve", "--help"], &["check", "--help"]] {
        let help = run(stet(arguments));
        assert!(
            help.code == Some(0) && help.out.contains("--data") && help.err.is_empty(),
            "{arguments:?}: {}",
            help.out
        );
    }
    let version = run(stet(&["--version"]));
    assert_eq!((version.code, version.out), (Some(0), format!("stet {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn a_log_of_json_is_one_object_a_line() {
    let mut server = Server::with(&[("LOG__FORMAT", "json"), ("LOG__FILTER", "debug")]);
    server.login("editor").get("/v3/folder/home?x=%0A%22").ok();
    assert_eq!(server.terminate(), Some(0));
    let log = server.log();
    assert!(log.lines().count() > 5, "{log}");
    for line in log.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(event["timestamp"].is_string() && event["level"].is_string(), "{line}");
    }
}

/// Sends `count` heads that can't be read, each on a connection of its own, and waits for what
/// comes of each.
fn send_bad_heads(address: &str, count: usize) {
    use std::io::Read;
    for number in 0..count {
        let mut stream = TcpStream::connect(address).expect("it listens");
        let head: &[u8] = match number % 3 {
            0 => b"GET \0 HTTP/9\r\n\r\n",
            1 => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            _ => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        };
        stream.write_all(head).expect("it can be sent");
        stream.shutdown(std::net::Shutdown::Write).expect("it can be shut");
        // The answer, or a reset, does not matter.
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

fn filled_command(data: &Path) -> Command {
    stet(&["--data", path(data), "--listen", "127.0.0.1:0"])
}

#[test]
fn unreadable_request_heads_are_logged_only_at_debug_level() {
    let data = used_directory();
    for (filter, wanted) in [("info", false), ("info,stet::server::front=debug", true)] {
        let log = data.path().with_extension(format!("{wanted}.log"));
        let mut command = filled_command(data.path());
        command.env("STET_LOG__FILTER", filter);
        let serving = Serving::logging(command, std::fs::File::create(&log).expect("a log can be made"));
        let address = serving.base().strip_prefix("http://").expect("it has no TLS").to_owned();
        send_bad_heads(&address, 300);
        assert_eq!(serving.end().0, Some(0));
        let lines = std::fs::read_to_string(&log).expect("it has logged");
        std::fs::remove_file(&log).expect("it can be removed");
        let bad = lines.lines().filter(|line| line.contains("can't be read")).count();
        assert_eq!(bad > 0, wanted, "{lines}");
        // The last log lines are there.
        assert!(lines.contains("draining"), "{lines}");
    }
}

#[test]
fn a_log_that_nobody_reads_holds_nobody_up() {
    let data = used_directory();
    let mut command = filled_command(data.path());
    // Every request is some lines.
    command.env("STET_LOG__FILTER", "trace");
    let mut serving = Serving::logging(command, Stdio::piped());
    // The other end stays open, and is not read.
    let unread = serving.child.stderr.take().expect("it is piped");
    for _ in 0..300 {
        assert_eq!(serving.login("admin", ADMIN_PASSWORD), 200);
    }
    assert_eq!(serving.end().0, Some(0));
    drop(unread);
}

/// Returns the command of a server with that limit of open files, and one worker.
fn limited(data: &Path, files: usize) -> Command {
    let inner = filled_command(data);
    let mut command = Command::new("sh");
    command.current_dir("/").args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\"")]).arg(inner.get_program());
    command.args(inner.get_args()).stdin(Stdio::null());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("STET_SERVER__WORKERS", "1").env("STET_LIMITS__UPLOADS_AT_ONCE", "10").env("STET_WEBHOOKS__MOST", "0");
    command
}

#[test]
fn a_file_limit_without_room_for_connections_is_reported_at_start() {
    let data = used_directory();
    for files in [19, 22, 25, 28, 64, 256, 523] {
        let ended = run(limited(data.path(), files));
        assert_eq!(ended.code, Some(1), "{files}: {}", ended.err);
        assert!(ended.err.contains(&format!("may open {files} files, but needs at least 524")), "{}", ended.err);
        assert_eq!(ended.out, "");
    }
}

#[test]
fn where_few_files_may_be_open_idle_connections_take_none_from_others() {
    let data = used_directory();
    let log = data.path().with_extension("log");
    // 50 connections.
    let serving = Serving::logging(limited(data.path(), 622), std::fs::File::create(&log).expect("a log can be made"));
    let address = serving.base().strip_prefix("http://").expect("it has no TLS").to_owned();
    let open = || std::fs::read_dir(format!("/proc/{}/fd", serving.child.id())).expect("they can be listed").count();
    let idle: Vec<TcpStream> = (0..400).map(|_| TcpStream::connect(&address).expect("it listens")).collect();
    let begun = std::time::Instant::now();
    while open() < 90 {
        assert!(begun.elapsed() < PATIENCE, "{} files are open", open());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // The number stays far below the limit, for any number of connections.
    assert!(open() < 300, "{} files are open", open());
    drop(idle);
    assert_eq!(serving.login("admin", ADMIN_PASSWORD), 200);
    assert_eq!(serving.end().0, Some(0));
    let lines = std::fs::read_to_string(&log).expect("it has logged");
    std::fs::remove_file(&log).expect("it can be removed");
    assert!(
        lines.lines().any(|line| line.contains("fewer connections") && line.contains("connections=50 ")),
        "{lines}"
    );
    assert!(!lines.contains("cannot watch a connection"), "{lines}");
}

#[test]
fn a_variable_that_nothing_reads_is_told_at_the_start() {
    let data = used_directory();
    let log = data.path().with_extension("log");
    let mut command = filled_command(data.path());
    command.env("STET_SERVER_LISTEN", "x").env("STET_LOAD_PASSWORD", "x");
    let serving = Serving::logging(command, std::fs::File::create(&log).expect("a log can be made"));
    assert_eq!(serving.end().0, Some(0));
    let lines = std::fs::read_to_string(&log).expect("it has logged");
    std::fs::remove_file(&log).expect("it can be removed");
    assert!(lines.contains("STET_SERVER_LISTEN") && !lines.contains("STET_LOAD_PASSWORD"), "{lines}");
}

#[test]
fn a_file_that_may_not_grow_counts_as_a_full_disk_and_ends_nothing() {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

    let mut server = Server::with(&[("STORE__CHECKPOINT_SECONDS", "3600"), ("STORE__RESERVE_BYTES", "0")]);
    let client = server.login("editor");
    let folder = own_folder();
    client.story(&folder, "before.xml");
    let pid = Pid::from_raw(server.pid().cast_signed());
    let limit = |current| {
        let maximum = getrlimit(Resource::Fsize).maximum;
        prlimit(pid, Resource::Fsize, Rlimit { current, maximum }).expect("it is this user's own process");
    };
    limit(Some(64 << 10));
    // One with a file of its own.
    let big = vec![b'x'; 1 << 20];
    let upload = || {
        let options = json!({ "name": "big.xml", "type": "Story", "folderPath": folder });
        client.upload("/v3/object/create", &options, Some(("big.xml", "text/xml", &big)))
    };
    upload().fails(507, "StorageFull");
    // Small ones lie in the journal, which must grow in time.
    let journal = std::fs::metadata(server.data().join("journal.wal")).expect("it is there").len();
    limit(Some(journal));
    let refused = (0..).find_map(|number| {
        let options = json!({ "name": format!("{number}.xml"), "type": "Story", "folderPath": folder });
        let answer = client.upload("/v3/object/create", &options, Some(("s.xml", "text/xml", &[b'y'; 16_000])));
        (answer.status != 200).then_some(answer)
    });
    refused.expect("the journal is not without end").fails(507, "StorageFull");
    client.get("/v3/folder/home").ok();
    limit(getrlimit(Resource::Fsize).maximum);
    upload().ok();
    client.story(&folder, "after.xml");
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn threads_are_told_apart_by_their_names() {
    let server = Server::start();
    let names = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid())).expect("the server runs");
        let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
        tasks.filter_map(|task| name(task.ok()?)).map(|name| name.trim().to_owned()).collect::<Vec<_>>()
    };
    // Some begin with the first request.
    server.login("editor");
    for thread in ["stet-http", "stet-arbiter", "stet-writer", "stet-checkpoint"] {
        wait_until(thread, || names().iter().any(|name| name == thread));
    }
    // Without a thread of its own, the allocator would keep freed memory while the server is idle.
    wait_until("a thread of the allocator", || names().iter().any(|name| name == "jemalloc_bg_thd"));
    // Large work runs on threads of its own, of low priority.
    server.login("editor").post("/v3/object", &json!({ "sources": ["/"], "padding": " ".repeat(100_000) }));
    wait_until("stet-large-work", || names().iter().any(|name| name == "stet-large-work"));
}

/// Addresses are relative, so they hold behind a proxy that adds a prefix.
#[test]
fn the_documentation_and_its_links_are_served() {
    let server = Server::shared();
    let reply = server.client().get("/docs");
    assert_eq!((reply.status, reply.header("location")), (307, Some("docs/")));
    let page = server.client().get("/docs/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").expect("pages have a policy");
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    let text = String::from_utf8(page.body).expect("it is text");
    let version =
        server.client().get("/openapi.json").json()["info"]["version"].as_str().expect("it has one").to_owned();
    assert!(text.contains("<h1>stet</h1>") && text.contains(&version), "{text}");
    let links: Vec<&str> = text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.contains(&"api/drawers.md") && links.contains(&"../openapi.json"), "{links:?}");
    for link in links {
        let path = link.trim_start_matches("./").to_owned();
        let path = path.strip_prefix("../").map_or_else(|| format!("/docs/{path}"), |outside| format!("/{outside}"));
        assert_eq!(server.client().get(&path).status, 200, "{link}");
    }
    for nothing in ["/docs/none.md", "/docs/../Cargo.toml", "/docs/api", "/docs/%2e%2e/config.toml"] {
        assert_eq!(server.client().get(nothing).status, 404, "{nothing}");
    }
    assert_eq!(server.client().try_send("POST", "/docs/", &[], b"").expect("it answers").status, 405);
}
