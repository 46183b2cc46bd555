//! What tests share: a server to test against and clients to talk to it, a disk that fails when a
//! test says so, whiteboards that containers are held against, and a family of containers that
//! nobody else has.

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
pub use self::server::{ADMIN_PASSWORD, SAMPLE_PASSWORD, Server, binary, ended};
/// A disk in memory, for the store's own tests and for those of the whole server.
pub use stet_store::fault as disk;

/// How long anything may take before a test gives up. No test asserts on time; this only ends what
/// hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder that no other test uses.
pub fn own_folder() -> String {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("/Test/{}-{number}", std::process::id())
}

/// Waits until `done`, looking again and again without taking the processor from those it waits
/// for; often enough to kill a server amid what it is doing.
pub fn wait_until(what: &str, done: impl Fn() -> bool) {
    wait(what, done, Duration::from_micros(200), Duration::from_micros(200));
}

/// The same for what is dear to look at, or takes long: less and less often.
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
