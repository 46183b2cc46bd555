//! The content files that must stay although no row refers to them yet, and those that are being
//! removed.
//!
//! An upload pins its hash before it looks whether the file exists. The pin stays with the command
//! until its change set has been submitted; from then on the rows protect the file. The collector
//! marks each file as *considered* first. A pin removes that mark, so a file that is still
//! considered later was not pinned at any time in between. While a file is *leaving*, new pins of
//! it wait.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// SHA-256 of a content.
pub(super) type Hash = [u8; 32];

/// The pins of all content files.
#[derive(Debug, Default)]
pub(super) struct Pins {
    inner: Mutex<PinState>,
    /// Notified when a file has left.
    left: Condvar,
}

#[derive(Debug, Default)]
struct PinState {
    /// Number of pins of each file.
    pinned: HashMap<Hash, usize>,
    considered: HashSet<Hash>,
    leaving: HashSet<Hash>,
}

impl Pins {
    /// Pins a file, whether or not it exists yet, until the result is dropped. Waits while the file
    /// is leaving, which takes two reads of rows and a renaming.
    pub fn pin(self: &Arc<Pins>, hash: Hash) -> FilePin {
        let mut inner = self.inner.lock();
        while inner.leaving.contains(&hash) {
            self.left.wait(&mut inner);
        }
        inner.considered.remove(&hash);
        *inner.pinned.entry(hash).or_default() += 1;
        FilePin { pins: self.clone(), hash }
    }

    /// Begins to consider a file, unless it is pinned. Returns whether it did.
    pub fn consider(&self, hash: Hash) -> bool {
        let mut inner = self.inner.lock();
        !inner.pinned.contains_key(&hash) && inner.considered.insert(hash)
    }

    /// Stops considering a file.
    pub fn forget(&self, hash: &Hash) {
        self.inner.lock().considered.remove(hash);
    }

    /// Stops considering a file, and calls `take` if it was not pinned since. No pin is granted
    /// while that runs.
    pub fn leave<T>(&self, hash: Hash, take: impl FnOnce() -> T) -> Option<T> {
        {
            let mut inner = self.inner.lock();
            if !inner.considered.remove(&hash) {
                return None;
            }
            inner.leaving.insert(hash);
        }
        // Also if `take` panics, so that no pin waits for ever.
        let _leaving = RemovalGuard { pins: self, hash };
        Some(take())
    }
}

struct RemovalGuard<'a> {
    pins: &'a Pins,
    hash: Hash,
}

impl Drop for RemovalGuard<'_> {
    fn drop(&mut self) {
        self.pins.inner.lock().leaving.remove(&self.hash);
        self.pins.left.notify_all();
    }
}

/// A pin; dropping it never waits.
#[derive(Debug)]
pub(super) struct FilePin {
    pins: Arc<Pins>,
    hash: Hash,
}

impl Drop for FilePin {
    fn drop(&mut self) {
        let mut inner = self.pins.inner.lock();
        if let Some(count) = inner.pinned.get_mut(&self.hash) {
            *count -= 1;
            if *count == 0 {
                inner.pinned.remove(&self.hash);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const HASH: Hash = [1; 32];

    #[test]
    fn pinned_files_are_not_considered_until_their_last_pin_is_dropped() {
        let pins = Arc::new(Pins::default());
        let (one, other) = (pins.pin(HASH), pins.pin(HASH));
        assert!(!pins.consider(HASH));
        drop(one);
        assert!(!pins.consider(HASH));
        drop(other);
        assert!(pins.consider(HASH));
        assert_eq!(pins.leave(HASH, || 7), Some(7));
        assert!(pins.inner.lock().pinned.is_empty());
    }

    #[test]
    fn pinning_a_file_ends_its_consideration_even_if_the_pin_is_dropped() {
        let pins = Arc::new(Pins::default());
        assert!(pins.consider(HASH));
        drop(pins.pin(HASH));
        assert_eq!(pins.leave(HASH, || ()), None);
        assert_eq!(pins.leave([2; 32], || ()), None, "what was never considered does not leave");
    }

    #[test]
    fn a_pin_waits_while_the_file_leaves() {
        let pins = Arc::new(Pins::default());
        assert!(pins.consider(HASH));
        let (sender, pinned) = mpsc::channel();
        let other = pins.clone();
        let mut thread = None;
        pins.leave(HASH, || {
            thread = Some(std::thread::spawn(move || {
                let held = other.pin(HASH);
                sender.send(()).expect("the test waits");
                held
            }));
            // Pins of other files do not wait.
            drop(pins.pin([2; 32]));
            assert!(pins.inner.lock().pinned.is_empty());
            assert!(pinned.try_recv().is_err());
        });
        pinned.recv().expect("it is pinned now");
        let held = thread.expect("it was started").join().expect("it ends");
        assert!(!pins.consider(HASH));
        drop(held);
    }

    #[test]
    fn one_who_panics_while_a_file_leaves_keeps_nobody_waiting() {
        let pins = Arc::new(Pins::default());
        assert!(pins.consider(HASH));
        let panicked =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pins.leave(HASH, || panic!("on purpose"))));
        assert!(panicked.is_err());
        drop(pins.pin(HASH));
    }
}
