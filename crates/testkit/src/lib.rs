//! The tools that tests share: a server and its clients, a disk in memory that fails on demand,
//! models of containers, and a family of containers that only tests have.

mod call;
mod client;
mod coding;
mod dice;
mod document;
pub mod drawer;
mod endpoint;
mod filled;
mod follow;
mod includes;
mod login;
mod pdf;
mod server;
pub mod shelf;

use std::time::{Duration, Instant};

pub use self::call::{Call, File};
pub use self::client::{Answer, Client, encoded};
pub use self::dice::{Dice, seed, setting};
pub use self::endpoint::{Endpoint, parameter};
pub use self::filled::Filled;
pub use self::follow::{Follow, FollowedEvent, connect_with_little_room};
pub use self::includes::{includes, says};
pub use self::login::{credentials, with};
pub use self::pdf::Pdf;
pub use self::server::{ADMIN_PASSWORD, SAMPLE_PASSWORD, Server, binary, ended, without_settings};
/// The disk in memory, for tests of the store and of the whole server.
pub use stet_store::fault as disk;

/// The longest wait of a test before it gives up. No test asserts on time; this only ends tests
/// that hang.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the path of a folder that no other test uses.
pub fn own_folder() -> String {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("/Test/{}-{number}", std::process::id())
}

/// Waits until `done`, which is checked so often that a server can be killed amid its work. The
/// waiting thread sleeps in between and leaves the processor to others.
pub fn wait_until(what: &str, done: impl Fn() -> bool) {
    wait(what, done, Duration::from_micros(200), Duration::from_micros(200));
}

/// Waits until `done`, for conditions that are expensive to check or take long: checks become
/// rarer.
pub fn wait_patiently_until(what: &str, done: impl Fn() -> bool) {
    wait(what, done, Duration::from_millis(1), Duration::from_millis(100));
}

fn wait(what: &str, done: impl Fn() -> bool, first: Duration, most: Duration) {
    let (begun, mut pause) = (Instant::now(), first);
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(pause);
        pause = most.min(pause * 2);
    }
}
