//! Servers that end and start behind a proxy, while clients go on working: no call is lost.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread::JoinHandle;

use serde_json::json;

use super::*;

/// Clients that read and write without a break, each over connections of its own.
struct Work {
    threads: Vec<JoinHandle<Vec<String>>>,
    /// Calls of each that were answered as they should be.
    done: Arc<Vec<AtomicUsize>>,
    enough: Arc<AtomicBool>,
}

impl Work {
    const CLIENTS: usize = 32;

    /// Starts the clients, with the rights of `client`, in a folder of their own.
    fn begin(client: &Client, folder: &str) -> Work {
        let done: Arc<Vec<AtomicUsize>> = Arc::new((0..Work::CLIENTS).map(|_| AtomicUsize::new(0)).collect());
        let enough = Arc::new(AtomicBool::new(false));
        let thread = |number: usize| {
            let (client, folder, done, enough) = (client.afresh(), folder.to_owned(), done.clone(), enough.clone());
            std::thread::spawn(move || {
                let mut lost = Vec::new();
                for turn in 0.. {
                    if enough.load(Ordering::Relaxed) {
                        break;
                    }
                    let answer = if turn % 3 == 0 {
                        let body = json!({ "folderPath": folder, "name": format!("{number}-{turn}") }).to_string();
                        let headers = [("content-type", "application/json")];
                        client.try_send("POST", "/v3/container/drawer", &headers, body.as_bytes())
                    } else {
                        client.try_send("GET", "/v3/folder/%2FNews%2FCity?limit=3", &[], b"")
                    };
                    match answer {
                        Ok(answer) if answer.status == 200 => _ = done[number].fetch_add(1, Ordering::Relaxed),
                        Ok(answer) => lost.push(format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body))),
                        Err(error) => lost.push(error),
                    }
                }
                lost
            })
        };
        Work { threads: (0..Work::CLIENTS).map(thread).collect(), done, enough }
    }

    /// Waits until each has been answered a few times more, or has failed.
    fn goes_on(&self) {
        let before: Vec<_> = self.done.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        wait_patiently_until("each client is answered", || {
            self.done.iter().zip(&before).all(|(count, before)| count.load(Ordering::Relaxed) >= before + 6)
        });
    }

    /// Ends it: no call may have been lost.
    fn ends(self, what: &str) {
        self.enough.store(true, Ordering::Relaxed);
        let lost: Vec<_> =
            self.threads.into_iter().flat_map(|thread| thread.join().expect("a client goes on")).collect();
        assert!(
            lost.is_empty(),
            "{what}: {} calls were lost, the first as {:?}",
            lost.len(),
            &lost[..lost.len().min(5)]
        );
    }
}

/// Returns the number of objects in a folder, without the folder itself.
fn objects_in(client: &Client, folder: &str) -> u64 {
    let answer = client.get(&format!("/v3/folder/{}?limit=1", encoded(folder)));
    if answer.status == 404 { 0 } else { answer.ok()["total"].as_u64().expect("a list has a total") }
}

#[test]
fn a_load_balancer_loses_no_call_when_another_server_takes_over() {
    // It drains until it is asked again, so that no clock decides.
    let settings = [("SERVER__TRUSTED_PROXIES", "127.0.0.1"), ("SERVER__DRAIN_SECONDS", "3600")];
    let mut first = Server::with(&settings);
    let editor = first.login("editor");
    // Two servers with the same sessions, each with data of its own.
    first.kill();
    let data = TempDir::new().expect("a temporary directory can be made");
    Filled::of(first.data()).lay_out(data.path());
    let (mut first, second) = (first.restart(), Server::on(data.path(), &settings));
    let two = second.base.strip_prefix("http://").expect("it has no TLS");
    let servers = format!(
        "    option httpchk GET /readyz\n    timeout check 30s\n    default-server check inter 100 fall 1\n    server one 127.0.0.1:8080\n    \
         server two {two} backup\n"
    );
    let proxy = Kind::Haproxy.before(&first, &[("    server stet 127.0.0.1:8080\n", &servers)]);
    let mut client = proxy.client();
    client.token = editor.token.clone();
    let folder = own_folder();
    let work = Work::begin(&client, &folder);
    work.goes_on();
    let here = editor.to(&second);
    assert_eq!(objects_in(&here, &folder), 0, "the first server does all");
    first.ask_to_end();
    wait_patiently_until("the other has taken over", || objects_in(&here, &folder) > 0);
    work.goes_on();
    first.ask_to_end();
    assert_eq!(first.ended(), Some(0));
    work.goes_on();
    work.ends("a server has ended");
}

/// A server at a socket that stays open, as systemd's do.
struct Activated {
    child: Child,
}

impl Activated {
    fn start(listener: &TcpListener, data: &Path) -> Activated {
        let socket: OwnedFd = listener.try_clone().expect("a socket has handles").into();
        let activate = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" \"$@\"";
        let log = File::options().create(true).append(true).open(data.with_extension("log"));
        let mut child = Command::new("sh")
            .args(["-c", activate])
            .arg(binary())
            .args(["serve", "--data"])
            .arg(data)
            .env("STET_SERVER__TRUSTED_PROXIES", "127.0.0.1")
            .env("STET_SERVER__DRAIN_SECONDS", "1")
            .stdin(Stdio::from(socket))
            .stdout(Stdio::piped())
            .stderr(log.expect("a log can be written"))
            .spawn()
            .expect("the binary can be started");
        let mut out = BufReader::new(child.stdout.take().expect("its output is piped"));
        let activated = Activated { child };
        let mut line = String::new();
        out.read_line(&mut line).expect("its output is text");
        assert!(line.starts_with("listening on "), "{line}");
        activated
    }

    /// SIGTERM; waits for the end, which must be in good order.
    fn end(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("`kill` can be run").success());
        assert_eq!(ended(&mut self.child, String::new), Some(0));
    }
}

impl Drop for Activated {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_call_that_comes_while_nobody_listens_waits_until_somebody_does() {
    for kind in [Kind::Haproxy, Kind::Caddy] {
        let data = TempDir::new().expect("a temporary directory can be made");
        Filled::sample().lay_out(data.path());
        // Bound, so that no other process takes the port. Connections are refused, since nothing
        // listens.
        let port = Socket::new(Domain::IPV4, Type::STREAM, None).expect("there are sockets");
        port.set_reuse_address(true).expect("it can be set");
        port.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a port can be had");
        let address =
            port.local_addr().ok().and_then(|address| address.as_socket()).expect("it has an address").to_string();
        let proxy = kind.before_address(&address, &[]);
        let client = proxy.client();
        let (asks, asked) = std::sync::mpsc::channel();
        let asking = std::thread::spawn(move || {
            asks.send(()).expect("somebody waits for it");
            client.try_send("GET", "/readyz", &[], b"")
        });
        asked.recv().expect("it asks");
        let mut command = Command::new(binary());
        command.args(["serve", "--listen", &address, "--data"]).arg(data.path());
        let mut server = Activated {
            child: command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it can be started"),
        };
        let answer = asking.join().expect("it asks").unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert_eq!(answer.status, 200, "{kind:?}: {}", String::from_utf8_lossy(&answer.body));
        assert!(server.child.try_wait().expect("it can be asked").is_none());
    }
}

#[test]
fn restarts_at_an_inherited_socket_lose_no_call() {
    for kind in Kind::ALL {
        let data = TempDir::new().expect("a temporary directory can be made");
        Filled::sample().lay_out(data.path());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let address = listener.local_addr().expect("it has an address").to_string();
        let mut server = Activated::start(&listener, data.path());
        let proxy = kind.before_address(&address, &[]);
        let work = Work::begin(&proxy.login("editor"), &own_folder());
        for _ in 0..2 {
            work.goes_on();
            server.end();
            server = Activated::start(&listener, data.path());
        }
        work.goes_on();
        work.ends(&format!("{kind:?}"));
        let _ = std::fs::remove_file(data.path().with_extension("log"));
    }
}
