//! The sockets that the server listens at, and how many files a process may have open, which connections are.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Files that are open beside connections: the store's, contents on their way, the system's.
const OTHER_FILES: u64 = 512;

/// Lets the process open as many files as the system lets it ask for: what a process begins with is often 1,024, for the sake of
/// programs of old, and a follower of a liveblog holds a connection for hours. Gives how many connections there is room for;
/// `None` is without limit.
pub fn room_for_connections() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = current != maximum && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    let files = if raised { maximum } else { current };
    files.map(|files| files.saturating_sub(OTHER_FILES))
}

/// Listens at every address of `host:port` that can be had.
///
/// A client that takes nothing of what is sent to it, not even after `unread`, is cut off by the system: connections
/// inherit that from the listener. Without it one could hold connections, and what is ready for them, for ever.
///
/// # Errors
/// None of them can be had.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_is_raised_as_far_as_it_goes() {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // Enough for the tests beside this one.
        let lower = maximum.map_or(100_000, |maximum| maximum - maximum / 4);
        setrlimit(Resource::Nofile, Rlimit { current: Some(lower), maximum }).unwrap();
        assert_eq!(room_for_connections(), maximum.map(|files| files - OTHER_FILES));
        assert_eq!(getrlimit(Resource::Nofile).current, maximum);
        assert_eq!(room_for_connections(), maximum.map(|files| files - OTHER_FILES));
    }
}
