//! The listeners: from a connection to its calls.
//!
//! They are built like `actix_web::HttpServer`, with one more layer between connection and protocol
//! ([`PortionedStream`]).

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpService, Protocol, Request};
use actix_server::{GracefulShutdownSignal, Server, ServerBuilder};
use actix_service::{IntoServiceFactory, ServiceFactory, ServiceFactoryExt, apply_fn_factory, fn_service, map_config};
use actix_tls::accept::rustls_0_23::{Acceptor, TlsStream};
use actix_tls::accept::{TlsError, max_concurrent_tls_connect};
use actix_web::dev::{AppConfig, Service};
use actix_web::rt::net::TcpStream;
use actix_web::web::{self, Data};
use actix_web::{App as WebApp, Error as WebError, HttpMessage};
use stet_actors::thread;
use stet_web::app::App;
use stet_web::client::OverTls;
use stet_web::connection::Connection;
use stet_web::dispatch::dispatch;
use stet_web::intake::{self, PortionedStream};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::tls::Certificates;

/// Threads of each worker for work that waits for the disk. More than disks and processors together
/// bring no gain.
const BLOCKING_THREADS: usize = 4;

/// A server of `app` that is being set up. [`ServerFront::listen`] adds listeners.
pub struct ServerFront {
    app: Data<App>,
    builder: ServerBuilder,
    certificates: Option<Arc<Certificates>>,
}

impl ServerFront {
    /// Creates a server with this number of workers, and of connections per worker.
    pub fn new(
        app: &Arc<App>,
        workers: usize,
        connections: usize,
        certificates: Option<Arc<Certificates>>,
    ) -> ServerFront {
        let server = &app.config.server;
        // Concurrent handshakes per worker; the default is 256. With any number below that of
        // connections, clients that begin a handshake and fall silent could keep all others out.
        max_concurrent_tls_connect(connections);
        let builder = Server::build()
            .workers(workers)
            .worker_max_blocking_threads(BLOCKING_THREADS)
            .max_concurrent_connections(connections)
            .shutdown_timeout(server.shutdown_seconds)
            .disable_signals();
        ServerFront { app: Data::from(app.clone()), builder, certificates }
    }

    /// Adds a listener, with TLS if there are certificates.
    ///
    /// # Errors
    /// The listener or the certificates can't be used.
    pub fn listen(mut self, listener: TcpListener) -> io::Result<ServerFront> {
        let name = listener.local_addr()?.to_string();
        let (app, stops) = (self.app.clone(), self.builder.graceful_shutdown_signal());
        self.builder = match &self.certificates {
            None => self.builder.listen(name, listener, move || {
                fn_service(async |stream: TcpStream| {
                    let peer = stream.peer_addr().ok();
                    Ok((PortionedStream::new(stream), Protocol::Http1, peer))
                })
                .and_then(calls(app.clone(), stops.clone(), false))
            })?,
            Some(certificates) => {
                let mut config = certificates.server_config().map_err(io::Error::other)?;
                config.alpn_protocols = vec![b"http/1.1".to_vec()];
                let handshake = Duration::from_secs(app.config.server.tls.handshake_seconds);
                self.builder.listen(name, listener, move || {
                    let mut acceptor = Acceptor::new(config.clone());
                    acceptor.set_handshake_timeout(handshake);
                    acceptor
                        .map_init_err(|_| ())
                        .map_err(TlsError::<io::Error, Infallible>::into_service_error)
                        .and_then(fn_service(async |stream: TlsStream<TcpStream>| {
                            let peer = stream.get_ref().0.peer_addr().ok();
                            Ok((PortionedStream::new(stream), Protocol::Http1, peer))
                        }))
                        .and_then(calls(app.clone(), stops.clone(), true).map_err(TlsError::Service))
                })?
            }
        };
        Ok(self)
    }

    /// Starts the server.
    pub fn run(self) -> Server {
        self.builder.run()
    }
}

/// Returns the service that turns a connection into calls.
fn calls<S>(
    app: Data<App>,
    stops: GracefulShutdownSignal,
    over_tls: bool,
) -> impl ServiceFactory<
    (PortionedStream<S>, Protocol, Option<SocketAddr>),
    Config = (),
    Response = (),
    Error = DispatchError,
    InitError = (),
>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    // Each worker calls this on its own thread.
    thread::name_this(c"stet-http");
    let server = &app.config.server;
    let idle = Duration::from_secs(server.keep_alive_seconds);
    let head = Duration::from_secs(server.slow_request_seconds);
    let patience = (!head.is_zero()).then_some(idle + head);
    let service = WebApp::new()
        .app_data(app)
        .default_service(web::to(dispatch))
        .into_factory()
        .map_err(|error: WebError| error.error_response());
    let service = map_config(service, |()| AppConfig::default());
    let service = apply_fn_factory(service, move |mut request: Request, service| {
        intake::begin(&mut request);
        if over_tls {
            request.extensions_mut().insert(OverTls);
        }
        service.call(request)
    });
    let http = HttpService::build()
        .graceful_shutdown_signal(move || {
            let stops = stops.clone();
            async move { stops.notified().await }
        })
        .keep_alive(idle)
        .client_request_timeout(head)
        .client_disconnect_timeout(intake::LINGER)
        .h1_allow_half_closed(true)
        .on_connect_ext(move |stream: &PortionedStream<S>, data| {
            data.insert(stream.queue());
            if let Some(connection) = patience.and_then(|patience| Connection::new(stream.inner(), patience)) {
                data.insert(connection);
            }
        })
        .finish(service);
    apply_fn_factory(http, |connection: (PortionedStream<S>, Protocol, Option<SocketAddr>), http| {
        let client = connection.2;
        let served = http.call(connection);
        async move { served.await.inspect_err(|error| note_unreadable(client, error)) }
    })
}

/// Logs a request head that can't be parsed. Clients cause such errors and may send any number of
/// them, so the level is `debug`.
fn note_unreadable(client: Option<SocketAddr>, error: &DispatchError) {
    if let DispatchError::Parse(error) = error {
        let client = client.map(|client| client.ip().to_canonical().to_string());
        tracing::debug!(client, %error, "the head of a request can't be read");
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use stet_config::ServerConfig;

    use super::*;

    #[test]
    fn the_configured_maximum_of_workers_is_the_maximum_of_the_library() {
        let takes = |workers| catch_unwind(|| drop(Server::build().workers(workers))).is_ok();
        assert!(takes(ServerConfig::MAX_WORKERS), "a configuration that is accepted must not end the server");
        assert!(!takes(ServerConfig::MAX_WORKERS + 1), "more are possible by now");
    }
}
