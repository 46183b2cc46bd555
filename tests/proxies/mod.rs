//! The examples in `deploy/proxy`, as they stand there, each before a real server: Debian's nginx,
//! HAProxy and Caddy. Only names, addresses and paths of files are put in their place.

mod ending;
mod multiplexed;
mod passing;

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use socket2::{Domain, Socket, Type};
use tempfile::TempDir;

use crate::harness::*;

/// The proxy software.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nginx,
    Haproxy,
    Caddy,
}

/// A proxy that runs, killed when dropped.
struct Proxy {
    child: Child,
    /// The address for TLS.
    tls: SocketAddrV4,
    /// The address for plain HTTP, where requests are redirected to TLS.
    plain: SocketAddrV4,
    /// The certificate that it shows, in PEM.
    certificate: String,
    directory: TempDir,
}

/// An encrypted connection.
type Encrypted = StreamOwned<ClientConnection, TcpStream>;

impl Kind {
    const ALL: [Kind; 3] = [Kind::Nginx, Kind::Haproxy, Kind::Caddy];

    /// The example, from the file that operators have.
    fn example(self) -> String {
        let name = match self {
            Kind::Nginx => "nginx.conf",
            Kind::Haproxy => "haproxy.cfg",
            Kind::Caddy => "Caddyfile",
        };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/proxy").join(name);
        std::fs::read_to_string(path).expect("the example is there")
    }

    /// Starts it before a server, with more of the example replaced.
    fn before(self, server: &Server, changes: &[(&str, &str)]) -> Proxy {
        self.before_address(server.base.strip_prefix("http://").expect("it has no TLS"), changes)
    }

    /// Starts it before any address, with more of the example replaced.
    fn before_address(self, backend: &str, changes: &[(&str, &str)]) -> Proxy {
        let directory = TempDir::new().expect("a temporary directory can be made");
        let [tls, plain, admin] = addresses();
        let made = rcgen::generate_simple_self_signed(vec![tls.ip().to_string()]).expect("a certificate can be made");
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let put = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).expect("a file can be written");
            path.to_str().expect("the path is text").to_owned()
        };
        let (certificate_file, key_file) = (put("certificate.pem", &certificate), put("key.pem", &key));
        let both = put("both.pem", &format!("{certificate}{key}"));
        let (tls_text, plain_text, ip) = (tls.to_string(), plain.to_string(), tls.ip().to_string());
        let to_backend = ("127.0.0.1:8080", backend);
        let site = format!("https://{tls} {{\n\tbind {ip}");
        let global = format!("{{\n\tadmin {admin}\n\tauto_https disable_redirects\n\tservers {{");
        let (on_plain, on_tls) = (format!("listen {plain_text};"), format!("listen {tls_text} ssl"));
        let (bind_plain, bind_tls) = (format!("bind {plain_text}\n"), format!("bind {tls_text} ssl"));
        let own: Vec<(&str, &str)> = match self {
            Kind::Nginx => vec![
                ("    listen [::]:80;\n", ""),
                ("    listen [::]:443 ssl http2;\n", ""),
                ("listen 80;", &on_plain),
                ("listen 443 ssl", &on_tls),
                ("/etc/ssl/news.example.org/certificate.pem", &certificate_file),
                ("/etc/ssl/news.example.org/key.pem", &key_file),
                ("news.example.org", &ip),
                to_backend,
            ],
            Kind::Haproxy => vec![
                ("    log /dev/log local0\n", "    log stdout format raw local0\n"),
                // Only for who starts it as root.
                ("    chroot /var/lib/haproxy\n", ""),
                ("    user haproxy\n", ""),
                ("    group haproxy\n", ""),
                ("bind :80\n", &bind_plain),
                ("bind :443 ssl", &bind_tls),
                ("/etc/haproxy/news.example.org.pem", &both),
                to_backend,
            ],
            Kind::Caddy => vec![
                ("{\n\tservers {", &global),
                ("/etc/caddy/news.example.org/certificate.pem", &certificate_file),
                ("/etc/caddy/news.example.org/key.pem", &key_file),
                ("news.example.org {", &site),
                to_backend,
            ],
        };
        let mut text = self.example();
        // First those of the caller, who has only seen the example.
        for (from, to) in changes.iter().chain(&own) {
            assert!(text.contains(from), "{self:?} has no `{from}`:\n{text}");
            text = text.replace(from, to);
        }
        let log = File::create(directory.path().join("log")).expect("a log can be made");
        let mut command = self.command(directory.path(), &put("example", &text));
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log has handles")).stderr(log);
        let child = command.spawn().unwrap_or_else(|error| panic!("{self:?} can't be started: {error}"));
        let mut proxy = Proxy { child, tls, plain, certificate, directory };
        let begun = Instant::now();
        while TcpStream::connect(proxy.tls).is_err() {
            assert!(proxy.child.try_wait().expect("it can be asked").is_none(), "{self:?} has ended");
            assert!(begun.elapsed() < PATIENCE, "{self:?} does not listen");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let said = proxy.log().to_lowercase();
        assert!(
            !said.contains("[warn") && !said.contains("not formatted"),
            "{self:?} finds fault with its example: {said}"
        );
        proxy
    }

    /// Returns the command that runs it in the foreground, with all that it writes in a directory.
    fn command(self, directory: &Path, example: &str) -> Command {
        let place = directory.to_str().expect("the path is text");
        match self {
            Kind::Nginx => {
                let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                    .map(|kind| format!("{kind}_temp_path {place}/{kind};"))
                    .join("\n");
                // Debian's own file compresses, too, and an example that leaves it on weakens tags.
                let whole = format!(
                    "user {};\npid {place}/pid;\ndaemon off;\nworker_processes 2;\nevents {{ worker_connections 4096; }}\n\
                     http {{\naccess_log off;\n\
                     gzip on;\ngzip_types *;\ngzip_proxied any;\ngzip_min_length 1;\n{temporary}\ninclude {example};\n}}\n",
                    if rustix::process::geteuid().is_root() { "root" } else { "nobody" },
                );
                let file = directory.join("nginx.conf");
                std::fs::write(&file, whole).expect("a file can be written");
                let mut command = Command::new(found("nginx"));
                command.args(["-p", place, "-e", "stderr", "-c"]).arg(file);
                command
            }
            Kind::Haproxy => {
                let mut command = Command::new(found("haproxy"));
                command.args(["-db", "-f", example]);
                command
            }
            Kind::Caddy => {
                let mut command = Command::new(found("caddy"));
                command.args(["run", "--adapter", "caddyfile", "--config", example]);
                command.env("HOME", place).env("XDG_DATA_HOME", place).env("XDG_CONFIG_HOME", place);
                command
            }
        }
    }
}

/// A program of those that administer a machine, which the paths of other users often lack.
fn found(name: &str) -> PathBuf {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
    let places = folders.map(|folder| Path::new(folder).join(name));
    places
        .into_iter()
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("{name} is missing: scripts/test installs it"))
}

/// Returns three unused addresses: an address of this machine by the process, ports by the proxy. A
/// port that was free before may be in use by now.
fn addresses() -> [SocketAddrV4; 3] {
    static PORT: AtomicU16 = AtomicU16::new(20_000);
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    let ip = Ipv4Addr::new(127, 64 + high % 64, middle, low);
    [0; 3].map(|_| SocketAddrV4::new(ip, PORT.fetch_add(1, Ordering::Relaxed)))
}

impl Proxy {
    /// The host and port that clients ask.
    fn host(&self) -> String {
        self.tls.to_string()
    }

    /// A client of the server behind it, without a session.
    fn client(&self) -> Client {
        Client::over_tls(&format!("https://{}", self.tls), &self.certificate)
    }

    /// A user of the sample, logged in through it.
    fn login(&self, user: &str) -> Client {
        let mut client = self.client();
        let reply = client.call("auth-login-post", &[]).json(&credentials(user, SAMPLE_PASSWORD)).ok();
        client.token = Some(reply["token"]["value"].as_str().expect("a login gives a token").to_owned());
        client
    }

    /// A connection to it, from an address of this machine.
    fn connect(&self, from: Ipv4Addr) -> Encrypted {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("there are sockets");
        socket.bind(&SocketAddr::from((from, 0)).into()).expect("it is an address of this machine");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
        socket.set_write_timeout(Some(PATIENCE)).expect("a time can be set");
        socket.connect(&SocketAddr::from(self.tls).into()).expect("it listens");
        let client = ClientConnection::new(Arc::new(self.tls_config()), self.tls_name());
        StreamOwned::new(client.expect("a client can be made of this"), socket.into())
    }

    /// The configuration of a client that trusts its certificate.
    fn tls_config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes()).expect("it is PEM");
        roots.add(certificate).expect("it is a certificate");
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("there are versions")
            .with_root_certificates(roots)
            .with_no_client_auth()
    }

    /// The name that its certificate has.
    fn tls_name(&self) -> ServerName<'static> {
        ServerName::from(std::net::IpAddr::from(*self.tls.ip()))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // A signal that lets the first process end the others. It may have ended already.
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < PATIENCE {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the proxy ---\n{}", self.log());
        }
    }
}
