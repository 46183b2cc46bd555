//! The sockets on which the server listens.
//!
//! An address is bound before the data directory is opened, so that an address in use leaves no
//! trace there. The server listens only once it can answer. Until then connections are refused, so
//! that clients and proxies know at once that nobody serves.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::time::Duration;

use listenfd::ListenFd;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

/// The number of connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Returns the listeners that this process was started with, as by systemd for a `.socket` unit
/// (`LISTEN_FDS`, sd_listen_fds(3)); mostly none. It removes the variables from the environment, so
/// call it before there are threads.
///
/// # Errors
/// An error if one of them is no TCP listener.
pub fn take_passed_listeners() -> io::Result<Vec<TcpListener>> {
    let mut passed = ListenFd::from_env();
    (0..passed.len()).filter_map(|index| passed.take_tcp_listener(index).transpose()).collect()
}

/// Bound addresses on which the server does not listen yet.
pub struct BoundAddresses {
    sockets: Vec<Socket>,
    /// The listeners from the parent process, which listen already: it wants clients to wait.
    passed: Vec<TcpListener>,
}

impl BoundAddresses {
    /// Binds every available address of `host:port`, or uses the listeners in `passed` instead.
    ///
    /// The system disconnects a client that accepts no data for the time `unread`; connections
    /// inherit that from the listener. Otherwise such a client could hold connections and their
    /// replies for ever.
    ///
    /// # Errors
    /// An error if no address is available.
    pub fn take(address: &str, passed: Vec<TcpListener>, unread: Option<Duration>) -> io::Result<BoundAddresses> {
        for listener in &passed {
            cut_off(&SockRef::from(listener), unread)?;
        }
        if !passed.is_empty() {
            return Ok(BoundAddresses { sockets: Vec::new(), passed });
        }
        let (mut sockets, mut last) = (Vec::new(), None);
        for address in address.to_socket_addrs()? {
            match bind_socket(address, unread) {
                Ok(socket) => sockets.push(socket),
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) if sockets.is_empty() => Err(error),
            _ if sockets.is_empty() => Err(io::Error::other("the name has no address")),
            _ => Ok(BoundAddresses { sockets, passed }),
        }
    }

    /// Reports whether the parent process keeps the sockets open, so that clients may wait there
    /// after this process has ended.
    pub fn is_held(&self) -> bool {
        !self.passed.is_empty()
    }

    /// Begins to accept connections.
    ///
    /// # Errors
    /// An error if another process has taken the address at the same moment and listens.
    pub fn listen(self) -> io::Result<Vec<TcpListener>> {
        let BoundAddresses { sockets, passed } = self;
        let listening = sockets.into_iter().map(|socket| socket.listen(BACKLOG).map(|()| socket.into()));
        passed.into_iter().map(Ok).chain(listening).collect()
    }
}

fn bind_socket(address: SocketAddr, unread: Option<Duration>) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // The port of a server that has just ended can be reused.
    socket.set_reuse_address(true)?;
    cut_off(&socket, unread)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn cut_off(socket: &Socket, unread: Option<Duration>) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(unread)?;
    #[cfg(not(target_os = "linux"))]
    let _ = (socket, unread);
    Ok(())
}
