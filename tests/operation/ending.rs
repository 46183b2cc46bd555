//! Starts and ends of a server beside load balancers, which must lose no call, and a service
//! manager, which is notified.

use std::os::unix::net::UnixDatagram;

use super::*;

/// A server that ends no sooner than it is asked twice.
fn draining() -> Server {
    Server::with(&[("SERVER__DRAIN_SECONDS", "3600")])
}

#[test]
fn while_it_drains_it_is_not_ready_and_serves_all_the_same() {
    let mut server = draining();
    let editor = server.login("editor");
    assert_eq!(server.client().get("/readyz").status, 200);
    server.ask_to_end();
    wait_until("it drains", || server.client().get("/readyz").status == 503);
    assert_eq!(server.client().get("/readyz").json()["why"], "draining");
    assert_eq!(server.client().get("/healthz").status, 200, "it need not be started again");
    let folder = own_folder();
    let drawer = editor.drawer(&folder, "late", 3);
    assert_eq!(editor.get(&format!("/v3/object/{drawer}")).ok()["name"], "late");
    // Asked once more it waits no longer.
    server.ask_to_end();
    assert_eq!(server.ended(), Some(0));
    let server = server.restart();
    assert_eq!(editor.to(&server).get(&format!("/v3/object/{drawer}")).ok()["name"], "late");
}

#[test]
fn while_it_drains_each_reply_closes_its_connection() {
    let mut server = draining();
    let closes = |server: &Server| {
        let reply = server.client().get("/readyz");
        reply.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    };
    assert!(!closes(&server));
    server.ask_to_end();
    wait_until("it drains", || server.client().get("/readyz").status == 503);
    assert!(closes(&server));
    server.ask_to_end();
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn draining_is_over_by_itself_too() {
    let mut server = Server::with(&[("SERVER__DRAIN_SECONDS", "1")]);
    assert_eq!(server.terminate(), Some(0));
    let log = server.log();
    let (drains, closes) = (log.find("draining").expect(&log), log.find("stopped accepting connections").expect(&log));
    assert!(drains < closes && !log.contains("second signal"), "{log}");
}

/// A service manager's socket, which receives one message after the other.
struct Manager {
    socket: UnixDatagram,
    _home: TempDir,
    path: String,
}

impl Manager {
    fn new() -> Manager {
        let home = TempDir::new().expect("a temporary directory can be made");
        let path = path(&home.path().join("notify")).to_owned();
        let socket = UnixDatagram::bind(&path).expect("a socket can be made");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
        Manager { socket, _home: home, path }
    }

    /// The next message.
    fn told(&self) -> String {
        let mut text = [0; 4096];
        let length = self.socket.recv(&mut text).expect("the service manager is told something");
        String::from_utf8(text[..length].to_vec()).expect("it is text")
    }
}

#[test]
fn a_service_manager_is_told_when_it_serves_reloads_and_ends() {
    let (data, manager) = (used_directory(), Manager::new());
    let mut command = stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", &manager.path);
    let serving = Serving::start(command);
    let ready = manager.told();
    assert!(ready.contains("READY=1\n") && ready.contains(&format!("STATUS=serving at {}", serving.base())), "{ready}");
    serving.signal("-HUP");
    let reloading = manager.told();
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(manager.told(), "READY=1\n");
    assert_eq!(serving.end().0, Some(0));
    assert!(manager.told().starts_with("STOPPING=1\n"));
}

#[test]
fn a_service_manager_that_watches_sees_it_alive() {
    let (data, manager) = (used_directory(), Manager::new());
    let mut command = stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", &manager.path).env("WATCHDOG_USEC", "20000");
    let serving = Serving::start(command);
    let mut seen = 0;
    while seen < 10 {
        seen += usize::from(manager.told() == "WATCHDOG=1\n");
    }
    drop(serving);
}

#[test]
fn a_service_manager_that_takes_nothing_holds_nobody_up() {
    // The system keeps some ten messages for it.
    let (data, manager) = (used_directory(), Manager::new());
    let mut command = stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", &manager.path).env("WATCHDOG_USEC", "2000");
    let serving = Serving::start(command);
    for _ in 0..50 {
        assert_eq!(serving.login("admin", ADMIN_PASSWORD), 200);
    }
    assert_eq!(serving.end().0, Some(0));
    assert!(manager.told().starts_with("READY=1\n"));
}

/// Starts what follows with a socket that listens already, as a `.socket` unit does, and says at
/// which port.
const ACTIVATE: &str = "
import os, socket, sys
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen()
print(s.getsockname()[1], file=sys.stderr, flush=True)
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], sys.argv[1:])
";

#[test]
fn the_server_listens_at_the_socket_that_it_inherits() {
    let data = used_directory();
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", ACTIVATE]);
    let command = stet(&["--data", path(data.path()), "--listen", "192.0.2.1:1"]);
    let mut command = started_by(python, &command);
    command.env("STET_LOG__FILTER", "off");
    let mut serving = Serving::logging(command, Stdio::piped());
    let mut port = String::new();
    let err = serving.child.stderr.take().expect("it is piped");
    BufReader::new(err).read_line(&mut port).expect("it is text");
    assert_eq!(serving.base(), format!("http://127.0.0.1:{}", port.trim()));
    assert_eq!(serving.login("admin", ADMIN_PASSWORD), 200);
    assert_eq!(serving.end().0, Some(0));
}

#[test]
fn a_socket_that_is_none_is_told() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let data = home.path().join("data");
    let mut command = stet(&["--data", path(&data), "--listen", "127.0.0.1:0"]);
    command.env("LISTEN_FDS", "1").env("LISTEN_FDS_FIRST_FD", "0");
    let ended = run(command);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.contains("LISTEN_FDS"), "{}", ended.err);
    assert!(!data.exists());
}

#[test]
fn a_server_whose_service_manager_is_gone_serves() {
    let data = used_directory();
    let mut command = stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", "/nowhere/at/all");
    let serving = Serving::start(command);
    assert_eq!(serving.login("admin", ADMIN_PASSWORD), 200);
    assert_eq!(serving.end().0, Some(0));
}
