//! A CAS server with `/p3/serviceValidate` only. Each ticket is answered once, as the test has
//! scripted.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::harness::{wait_patiently_until, wait_until};

/// The scripted answer to a ticket.
pub enum Script {
    /// Status line and body.
    Answer(&'static str, String),
    /// Exactly these bytes; then the connection is closed.
    Raw(Vec<u8>),
    /// No answer, until [`CasServer::let_go`] closes the connection.
    Hold,
    /// A byte now and then, until the client has closed the connection.
    Drip,
}

/// A successful validation.
pub fn success(inside: &str) -> Script {
    response(&format!("<cas:authenticationSuccess>{inside}</cas:authenticationSuccess>"))
}

/// A failed validation.
pub fn failure(code: &str, why: &str) -> Script {
    response(&format!("<cas:authenticationFailure code=\"{code}\">{why}</cas:authenticationFailure>"))
}

fn response(inside: &str) -> Script {
    let body = format!("<cas:serviceResponse xmlns:cas='http://www.yale.edu/tp/cas'>{inside}</cas:serviceResponse>");
    Script::Answer("200 OK", body)
}

/// One received request.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    pub service: String,
    pub ticket: String,
}

#[derive(Default)]
struct State {
    scripts: Mutex<HashMap<String, Script>>,
    asked: Mutex<Vec<Asked>>,
    let_go: AtomicBool,
    stopped: AtomicBool,
}

/// Listens until it is dropped.
pub struct CasServer {
    address: SocketAddr,
    state: Arc<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl CasServer {
    pub fn start() -> CasServer {
        CasServer::serving(None)
    }

    /// Starts a server with TLS as `localhost`. Returns it and its self-signed certificate in PEM.
    pub fn start_with_tls() -> (CasServer, String) {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate can be made");
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
        let config = rustls::ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key.into())
            })
            .expect("key and certificate belong together");
        (CasServer::serving(Some(Arc::new(config))), own.cert.pem())
    }

    fn serving(tls: Option<Arc<rustls::ServerConfig>>) -> CasServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let state = Arc::new(State::default());
        let serving = state.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.stopped.load(Ordering::SeqCst) {
                    break;
                }
                let (state, tls) = (serving.clone(), tls.clone());
                std::thread::spawn(move || {
                    // The client may have closed the connection. The test checks that, not this
                    // thread.
                    let _ = match tls {
                        None => state.serve(stream),
                        Some(config) => {
                            let connection = rustls::ServerConnection::new(config).expect("the configuration serves");
                            state.serve(rustls::StreamOwned::new(connection, stream))
                        }
                    };
                });
            }
        });
        CasServer { address, state, thread: Mutex::new(Some(thread)) }
    }

    /// Returns the base URL for the configuration.
    pub fn url(&self) -> String {
        format!("http://{}/cas", self.address)
    }

    /// Returns the base URL with TLS. The host may differ from the name in the certificate.
    pub fn safe_url(&self, host: &str) -> String {
        format!("https://{host}:{}/cas", self.address.port())
    }

    /// Answers a ticket so, the first time; and with INVALID_TICKET after it, as to any other.
    pub fn issue(&self, ticket: &str, script: Script) {
        self.state.scripts.lock().expect("no panic holds it").insert(ticket.to_owned(), script);
    }

    /// Returns all requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().expect("no panic holds it").clone()
    }

    /// Closes all held connections.
    pub fn let_go(&self) {
        self.state.let_go.store(true, Ordering::SeqCst);
    }

    /// Listens no more.
    pub fn stop(&self) {
        self.let_go();
        self.state.stopped.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.lock().expect("no panic holds it").take() {
            // Wakes it, so that it sees that it is to stop.
            drop(TcpStream::connect(self.address));
            thread.join().expect("it ends in good order");
        }
    }
}

impl Drop for CasServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl State {
    fn serve(&self, mut stream: impl Read + Write) -> std::io::Result<()> {
        let mut head = Vec::new();
        let mut buffer = [0; 4096];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut buffer)? {
                0 => return Ok(()),
                count => head.extend_from_slice(&buffer[..count]),
            }
        }
        let head = String::from_utf8_lossy(&head);
        let target = head.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query: HashMap<_, _> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let given = |name: &str| query.get(name).cloned().unwrap_or_default();
        let asked = Asked { path: path.to_owned(), service: given("service"), ticket: given("ticket") };
        let script = self.scripts.lock().expect("no panic holds it").remove(&asked.ticket);
        let unknown = || failure("INVALID_TICKET", &format!("Ticket {} not recognized", asked.ticket.replace('&', "")));
        let script = script.unwrap_or_else(unknown);
        self.asked.lock().expect("no panic holds it").push(asked);
        match script {
            Script::Answer(status, body) => {
                let length = body.len();
                write!(stream, "HTTP/1.1 {status}\r\ncontent-type: application/xml\r\n")?;
                write!(stream, "content-length: {length}\r\n\r\n{body}")?;
                stream.flush()
            }
            Script::Raw(bytes) => stream.write_all(&bytes),
            Script::Hold => {
                wait_patiently_until("the test lets go", || self.let_go.load(Ordering::SeqCst));
                Ok(())
            }
            Script::Drip => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")?;
                let stream = RefCell::new(stream);
                let gone = || stream.borrow_mut().write_all(b" ").is_err();
                wait_until("the asker goes", || gone() || self.let_go.load(Ordering::SeqCst));
                Ok(())
            }
        }
    }
}
