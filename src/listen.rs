//! The sockets that the server listens at.
//!
//! An address is taken before the data directory is touched, so that one that is in use leaves
//! nothing behind. Connections come later, once somebody answers: until then they are refused, and
//! a client or a proxy knows at once that nobody serves.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::time::Duration;

use listenfd::ListenFd;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Listeners that this process was started with, as systemd does for a `.socket` unit
/// (`LISTEN_FDS`, sd_listen_fds(3)); mostly none. To be called before there are threads, for it
/// takes the variables out of the environment.
///
/// # Errors
/// One of them is no TCP listener.
pub fn passed() -> io::Result<Vec<TcpListener>> {
    let mut passed = ListenFd::from_env();
    (0..passed.len()).filter_map(|index| passed.take_tcp_listener(index).transpose()).collect()
}

/// Addresses that are taken, at which nobody listens yet.
pub struct Reserved {
    sockets: Vec<Socket>,
    /// They listen already: whoever opened them wants clients to wait.
    passed: Vec<TcpListener>,
}

impl Reserved {
    /// Takes every available address of `host:port`, or what was `passed`, which comes instead.
    ///
    /// A client that takes nothing of what is sent to it, not even after `unread`, is cut off by
    /// the system: connections inherit that from the listener. Without it one could hold
    /// connections, and what is ready for them, for ever.
    ///
    /// # Errors
    /// None of them is available.
    pub fn take(address: &str, passed: Vec<TcpListener>, unread: Option<Duration>) -> io::Result<Reserved> {
        for listener in &passed {
            cut_off(&SockRef::from(listener), unread)?;
        }
        if !passed.is_empty() {
            return Ok(Reserved { sockets: Vec::new(), passed });
        }
        let (mut sockets, mut last) = (Vec::new(), None);
        for address in address.to_socket_addrs()? {
            match bound(address, unread) {
                Ok(socket) => sockets.push(socket),
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) if sockets.is_empty() => Err(error),
            _ if sockets.is_empty() => Err(io::Error::other("the name has no address")),
            _ => Ok(Reserved { sockets, passed }),
        }
    }

    /// Whether who started this process holds them open: clients may wait there when it has ended.
    pub fn is_held(&self) -> bool {
        !self.passed.is_empty()
    }

    /// Lets connections come.
    ///
    /// # Errors
    /// Another process, which took the address at the same moment, listens at it.
    pub fn listen(self) -> io::Result<Vec<TcpListener>> {
        let Reserved { sockets, passed } = self;
        let listening = sockets.into_iter().map(|socket| socket.listen(BACKLOG).map(|()| socket.into()));
        passed.into_iter().map(Ok).chain(listening).collect()
    }
}

fn bound(address: SocketAddr, unread: Option<Duration>) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A port that a server just left is free again.
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
