//! A Redis that syncs each change to its append-only file before it answers, beside ours.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub struct Redis {
    child: Child,
    _data: TempDir,
    pub address: String,
}

impl Redis {
    /// Starts `redis-server` on a new directory on the disk of the build; `None` where there is no
    /// such program.
    pub fn start() -> Option<Redis> {
        let data = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
        // Taken from the system and given back: Redis can't choose one itself.
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"])
            .arg(data.path())
            .args(["--appendonly", "yes", "--appendfsync", "always", "--save", ""])
            .stdout(Stdio::null())
            .spawn()
            .ok()?;
        let redis = Redis { child, _data: data, address: format!("127.0.0.1:{port}") };
        let begun = Instant::now();
        while std::net::TcpStream::connect(&redis.address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(10), "Redis does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(redis)
    }

    /// Returns requests that push one item to each of a client's lists in turn.
    pub fn pushes_in(&self, clients: usize, lists: usize) -> Vec<Vec<Vec<u8>>> {
        let each = (lists / clients).clamp(1, 64);
        (0..clients)
            .map(|client| {
                let own = (0..each).map(|n| format!("drawer-{}", (client * each + n) % lists));
                own.map(|list| push(&list, &format!("1$1.0.{}", 1000 + client))).collect()
            })
            .collect()
    }
}

fn push(list: &str, item: &str) -> Vec<u8> {
    format!("*3\r\n$5\r\nRPUSH\r\n${}\r\n{list}\r\n${}\r\n{item}\r\n", list.len(), item.len()).into_bytes()
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
