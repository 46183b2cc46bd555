//! One client: a persistent HTTP/1.1 connection that is reopened when lost, with a timeout for
//! every wait.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, ETAG, HOST};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

pub use super::call::{Call, CallAnswer, FormFile};
use super::tls;

/// The number of connections that one thread opens at a time before the load begins. A listener's
/// queue takes as many.
pub const CONNECTING: usize = 32;

/// The address of a server.
pub struct ServerTarget {
    addresses: Vec<SocketAddr>,
    authority: String,
    base_path: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    patience: Duration,
}

impl ServerTarget {
    /// Parses a base address and resolves the host.
    ///
    /// # Errors
    /// A sentence that names the address.
    pub async fn find(
        url: &str,
        ca: Option<&std::path::Path>,
        patience: Duration,
    ) -> Result<Arc<ServerTarget>, String> {
        let wrong = |why: &str| format!("`url` is `{url}`, which {why}");
        let uri: Uri = url.parse().map_err(|_| wrong("is no address like http://127.0.0.1:8080"))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("begins neither with http:// nor with https://")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("names no host"))?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err("`url` has a user or a query in it, which have no place there".to_owned());
        }
        let host = authority.host().trim_matches(['[', ']']);
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let found = tokio::net::lookup_host((host, port)).await;
        let addresses: Vec<_> = found.map_err(|error| format!("{host} can't be found: {error}"))?.collect();
        let tls = if secure {
            let name = ServerName::try_from(host.to_owned()).map_err(|_| wrong("names no host that TLS knows"))?;
            Some((tls::connector(ca)?, name))
        } else {
            None
        };
        let base_path = uri.path().trim_end_matches('/').to_owned();
        Ok(Arc::new(ServerTarget { addresses, authority: authority.to_string(), base_path, tls, patience }))
    }

    /// Returns the timeout of every wait.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Returns the host and port, as they were given.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the same server without the base path, for resources outside it. Waits take at most
    /// `patience`.
    pub fn root(&self, patience: Duration) -> Arc<ServerTarget> {
        let ServerTarget { addresses, authority, tls, .. } = self;
        let (addresses, authority, tls) = (addresses.clone(), authority.clone(), tls.clone());
        Arc::new(ServerTarget {
            addresses,
            authority,
            base_path: String::new(),
            tls,
            patience: patience.min(self.patience),
        })
    }

    /// Reports whether the server is on this machine.
    pub fn is_near(&self) -> bool {
        self.addresses.iter().any(|address| address.ip().is_loopback())
    }

    /// Returns path and query of a call with a token.
    pub fn uri(&self, path: &str, token: Option<&str>) -> String {
        let glue = if path.contains('?') { '&' } else { '?' };
        let token = token.map(|token| format!("{glue}token={token}")).unwrap_or_default();
        format!("{}{path}{token}", self.base_path)
    }

    /// Opens a raw connection.
    ///
    /// # Errors
    /// A sentence if no connection can be opened.
    pub async fn socket(&self) -> Result<Box<dyn Socket>, String> {
        let stream = TcpStream::connect(self.addresses.as_slice()).await.map_err(|error| error.to_string())?;
        // Small calls must not wait for the acknowledgement of earlier ones.
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        match &self.tls {
            None => Ok(Box::new(stream)),
            Some((connector, name)) => {
                let stream = connector.connect(name.clone(), stream).await.map_err(|error| error.to_string())?;
                Ok(Box::new(stream))
            }
        }
    }

    /// Opens a stream of events on a separate connection, after the event `last` if given. The
    /// caller decides how long to wait for events.
    ///
    /// # Errors
    /// The answer of a server that refuses, or [`CallTrouble`].
    pub async fn stream(
        &self,
        token: &str,
        path: &str,
        last: Option<u64>,
    ) -> Result<AnswerStream, Result<CallAnswer, CallTrouble>> {
        let opened = async {
            let mut sender = open(self).await.map_err(|why| Err(CallTrouble::Unreachable(why)))?;
            let mut request = Request::get(self.uri(path, Some(token)))
                .header(HOST, &self.authority)
                .header(ACCEPT, "text/event-stream");
            if let Some(last) = last {
                request = request.header("last-event-id", last);
            }
            let request = request.body(Full::default()).expect(WELL_FORMED);
            let lost = |error: hyper::Error| Err(CallTrouble::Lost(error.to_string()));
            let response = sender.send_request(request).await.map_err(lost)?;
            if response.status().is_success() {
                return Ok(AnswerStream { _sender: sender, body: response.into_body() });
            }
            Err(Ok(answer(response).await.map_err(lost)?))
        };
        timeout(self.patience, opened).await.unwrap_or(Err(Err(CallTrouble::TimedOut)))
    }
}

/// A connection to a server, with TLS or without.
pub trait Socket: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Socket for S {}

/// An answer that does not end.
pub struct AnswerStream {
    /// The sender keeps the connection open.
    _sender: SendRequest<Full<Bytes>>,
    body: Incoming,
}

impl AnswerStream {
    /// Returns the body.
    pub fn body(&mut self) -> &mut Incoming {
        &mut self.body
    }
}

const WELL_FORMED: &str = "paths are made of encoded parts, the token is encoded, and the rest was an address before";

/// The reason why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallTrouble {
    /// No connection could be opened: nothing was sent.
    Unreachable(String),
    /// No answer came in time; the call may have been carried out.
    TimedOut,
    /// The connection ended, or the reply was no HTTP; the call may have been carried out.
    Lost(String),
}

impl CallTrouble {
    /// Returns the name under which it is counted.
    pub fn kind(&self) -> &'static str {
        match self {
            CallTrouble::Unreachable(_) => "no connection",
            CallTrouble::TimedOut => "timeout",
            CallTrouble::Lost(_) => "connection lost",
        }
    }
}

impl std::fmt::Display for CallTrouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CallTrouble::Unreachable(why) => write!(f, "no connection: {why}"),
            CallTrouble::TimedOut => f.write_str("no answer came in time"),
            CallTrouble::Lost(why) => write!(f, "the connection was lost: {why}"),
        }
    }
}

/// A connection that is opened when needed.
pub struct Connection {
    target: Arc<ServerTarget>,
    token: Option<Arc<str>>,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Connection {
    /// Creates a connection that sends this token with each call.
    pub fn new(target: Arc<ServerTarget>, token: Option<Arc<str>>) -> Connection {
        Connection { target, token, sender: None }
    }

    /// Opens the connection, unless it is open.
    ///
    /// # Errors
    /// [`CallTrouble::Unreachable`].
    pub async fn connect(&mut self) -> Result<(), CallTrouble> {
        if let Some(sender) = &mut self.sender
            && !sender.is_closed()
            && sender.ready().await.is_ok()
        {
            return Ok(());
        }
        self.sender = None;
        let made = timeout(self.target.patience, open(&self.target)).await;
        self.sender =
            Some(made.unwrap_or_else(|_| Err("it took too long".to_owned())).map_err(CallTrouble::Unreachable)?);
        Ok(())
    }

    /// Sends a call and reads the whole answer.
    ///
    /// # Errors
    /// Any [`CallTrouble`]; the next call opens a new connection.
    pub async fn send(&mut self, call: &Call) -> Result<CallAnswer, CallTrouble> {
        loop {
            let kept = self.sender.is_some();
            self.connect().await?;
            let sent = timeout(self.target.patience, self.exchange(call)).await;
            match sent {
                Ok(Ok(answer)) => return Ok(answer),
                // The server closed a kept connection before anything was sent, so it has not seen
                // the call.
                Ok(Err(error)) if error.is_canceled() && kept => self.sender = None,
                Ok(Err(error)) => {
                    self.sender = None;
                    return Err(CallTrouble::Lost(error.to_string()));
                }
                Err(_) => {
                    self.sender = None;
                    return Err(CallTrouble::TimedOut);
                }
            }
        }
    }

    /// Sends a call with another token than the connection's own, or with none.
    ///
    /// # Errors
    /// The errors of [`Connection::send`].
    pub async fn send_as(&mut self, call: &Call, token: Option<Arc<str>>) -> Result<CallAnswer, CallTrouble> {
        let own = std::mem::replace(&mut self.token, token);
        let answered = self.send(call).await;
        self.token = own;
        answered
    }

    async fn exchange(&mut self, call: &Call) -> Result<CallAnswer, hyper::Error> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(self.target.uri(&call.path, self.token.as_deref()))
            .header(HOST, &self.target.authority)
            .header(CONTENT_TYPE, call.content_type);
        if let Some(coding) = call.accept_encoding {
            request = request.header(ACCEPT_ENCODING, coding);
        }
        if let Some(key) = &call.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        let request = request.body(Full::new(call.body.clone())).expect(WELL_FORMED);
        let sender = self.sender.as_mut().expect("`connect` has just made it");
        answer(sender.send_request(request).await?).await
    }
}

/// Reads the whole answer.
async fn answer(response: Response<Incoming>) -> Result<CallAnswer, hyper::Error> {
    let status = response.status().as_u16();
    let etag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
    let body = response.into_body().collect().await?.to_bytes();
    Ok(CallAnswer { status, etag, body })
}

async fn open(target: &ServerTarget) -> Result<SendRequest<Full<Bytes>>, String> {
    handshake(TokioIo::new(target.socket().await?)).await
}

async fn handshake<T>(io: T) -> Result<SendRequest<Full<Bytes>>, String>
where
    T: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(io).await.map_err(|error| error.to_string())?;
    // The sender gets the errors of the connection.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}
