//! Which mails wait for the relay, and when each is tried next: what is known of their rows without reading them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

/// The mails that wait. A clone is a handle to the same.
#[derive(Clone, Default)]
pub(super) struct Queue(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// By number: when it is tried next, epoch milliseconds, and its addresses.
    mails: HashMap<u64, (u64, usize)>,
    /// When each is tried, and its number.
    due: BTreeSet<(u64, u64)>,
    /// Addresses of all of them, and of those that are about to be there.
    addresses: usize,
}

/// Room for the addresses of one mail. It is free again when this is dropped, unless the mail has come to wait.
pub struct Room {
    queue: Queue,
    addresses: usize,
}

impl Queue {
    /// Room for another mail with so many addresses, if no more than `most` wait then.
    pub fn room(&self, addresses: usize, most: usize) -> Option<Room> {
        let mut inner = self.0.lock();
        if inner.addresses + addresses > most {
            return None;
        }
        inner.addresses += addresses;
        drop(inner);
        Some(Room { queue: self.clone(), addresses })
    }

    /// Notes how a mail waits: when it is tried next, and with how many addresses.
    pub fn put(&self, number: u64, next_ms: u64, addresses: usize) {
        let mut inner = self.0.lock();
        inner.forget(number);
        inner.mails.insert(number, (next_ms, addresses));
        inner.due.insert((next_ms, number));
        inner.addresses += addresses;
    }

    /// Notes that a mail waits no more.
    pub fn remove(&self, number: u64) {
        self.0.lock().forget(number);
    }

    /// The mail that is tried next: when, epoch milliseconds, and its number.
    pub fn next(&self) -> Option<(u64, u64)> {
        self.0.lock().due.first().copied()
    }

    /// How many mails wait.
    pub fn len(&self) -> usize {
        self.0.lock().mails.len()
    }
}

impl Inner {
    fn forget(&mut self, number: u64) {
        if let Some((next_ms, addresses)) = self.mails.remove(&number) {
            self.due.remove(&(next_ms, number));
            self.addresses -= addresses;
        }
    }
}

impl Room {
    /// The mail waits from now on.
    pub(in crate::messages) fn taken_by(self, number: u64, next_ms: u64) {
        self.queue.put(number, next_ms, self.addresses);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // What has come to wait counts by itself.
        self.queue.0.lock().addresses -= self.addresses;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_addresses_wait_as_may_and_the_earliest_is_next() {
        let queue = Queue::default();
        let room = queue.room(3, 5).expect("there is room");
        assert!(queue.room(3, 5).is_none());
        let small = queue.room(2, 5).expect("there is room");
        drop(small);
        room.taken_by(7, 100);
        assert!(queue.room(3, 5).is_none());
        queue.room(2, 5).expect("there is room").taken_by(8, 50);
        assert_eq!((queue.next(), queue.len()), (Some((50, 8)), 2));
        // It is tried later, with fewer addresses.
        queue.put(8, 200, 1);
        assert_eq!(queue.next(), Some((100, 7)));
        assert!(queue.room(2, 5).is_none() && queue.room(1, 5).is_some());
        queue.remove(7);
        queue.remove(7);
        assert_eq!((queue.next(), queue.len()), (Some((200, 8)), 1));
        assert!(queue.room(4, 5).is_some());
    }
}
