//! The sockets that the server listens at.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Listens at every available address of `host:port`.
///
/// A client that takes nothing of what is sent to it, not even after `unread`, is cut off by the system: connections
/// inherit that from the listener. Without it one could hold connections, and what is ready for them, for ever.
///
/// # Errors
/// None of them is available.
pub fn listen(address: &str, unread: Option<Duration>) -> io::Result<Vec<TcpListener>> {
    let (mut listeners, mut last) = (Vec::new(), None);
    for address in address.to_socket_addrs()? {
        match listen_at(address, unread) {
            Ok(listener) => listeners.push(listener),
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) if listeners.is_empty() => Err(error),
        _ if listeners.is_empty() => Err(io::Error::other("the name has no address")),
        _ => Ok(listeners),
    }
}

fn listen_at(address: SocketAddr, unread: Option<Duration>) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A port that a server just left is free again.
    socket.set_reuse_address(true)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(unread)?;
    #[cfg(not(target_os = "linux"))]
    let _ = unread;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}
