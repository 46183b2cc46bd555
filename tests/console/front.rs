//! A fixed address for a server that is killed and started again: connections are passed on to
//! wherever it is.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

use super::*;

/// The front of a server. Its threads end with the process.
pub struct Front {
    /// The address for browsers.
    pub base: String,
    server: Arc<Mutex<SocketAddr>>,
}

impl Front {
    /// Listens in front of a server.
    pub fn of(server: &Server) -> Front {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let base = format!("http://{}", listener.local_addr().expect("it listens"));
        let address = Arc::new(Mutex::new(address_of(server)));
        let server = address.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let to = *address.lock();
                // A server that is not there is a connection that ends.
                if let Ok(server) = TcpStream::connect(to) {
                    pass(&client, &server);
                    pass(&server, &client);
                }
            }
        });
        Front { base, server }
    }

    /// Passes further connections on to a server that was started again.
    pub fn moved_to(&self, server: &Server) {
        *self.server.lock() = address_of(server);
    }
}

fn address_of(server: &Server) -> SocketAddr {
    server.base.strip_prefix("http://").and_then(|address| address.parse().ok()).expect("it listens at an address")
}

/// Copies bytes until either end closes.
fn pass(from: &TcpStream, to: &TcpStream) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
    thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        while let Ok(count) = from.read(&mut buffer) {
            if count == 0 || to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    });
}
