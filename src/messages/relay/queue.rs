//! Which mails wait for the relay, and when each is tried next: what is known of their rows without
//! reading them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use stet_actors::object::Text;

/// The mails that wait. A clone is a handle to the same.
#[derive(Clone, Default)]
pub(super) struct Queue(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// By number.
    mails: HashMap<u64, Waiting>,
    /// When each is tried, and its number.
    due: BTreeSet<(u64, u64)>,
    /// Addresses of all of them, and of those that are about to be there.
    addresses: usize,
    /// The same of those who have sent some.
    by_sender: HashMap<Text, usize>,
}

/// A mail that waits.
struct Waiting {
    /// When it is tried next, epoch milliseconds.
    next_ms: u64,
    /// How many it has.
    addresses: usize,
    sender: Text,
}

/// Room for the addresses of one mail. It is free again when this is dropped, unless the mail has
/// come to wait.
pub struct Room {
    queue: Queue,
    addresses: usize,
    sender: Text,
}

/// The part of the queue that one sender may fill, if it is for more than one mail: all mails of
/// others would be dropped.
const SHARE: usize = 4;

impl Queue {
    /// Room for another mail of this sender with so many addresses, if no more than `most` wait
    /// then, and of this sender no more than a quarter of them, or this mail alone.
    pub fn room(&self, sender: &Text, addresses: usize, most: usize) -> Option<Room> {
        let mut inner = self.0.lock();
        let own = inner.by_sender.get(sender).copied().unwrap_or_default();
        if inner.addresses + addresses > most || own > 0 && own + addresses > most / SHARE {
            return None;
        }
        inner.add(sender, addresses);
        drop(inner);
        Some(Room { queue: self.clone(), addresses, sender: sender.clone() })
    }

    /// Notes how a mail waits: whose it is, when it is tried next, and with how many addresses.
    pub fn put(&self, number: u64, sender: Text, next_ms: u64, addresses: usize) {
        self.0.lock().put(number, sender, next_ms, addresses);
    }

    /// Notes that a mail which waits is tried then, with so many addresses.
    pub fn again(&self, number: u64, next_ms: u64, addresses: usize) {
        let mut inner = self.0.lock();
        if let Some(sender) = inner.mails.get(&number).map(|mail| mail.sender.clone()) {
            inner.put(number, sender, next_ms, addresses);
        }
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
    fn put(&mut self, number: u64, sender: Text, next_ms: u64, addresses: usize) {
        self.forget(number);
        self.add(&sender, addresses);
        self.due.insert((next_ms, number));
        self.mails.insert(number, Waiting { next_ms, addresses, sender });
    }

    fn forget(&mut self, number: u64) {
        if let Some(Waiting { next_ms, addresses, sender }) = self.mails.remove(&number) {
            self.due.remove(&(next_ms, number));
            self.take(&sender, addresses);
        }
    }

    fn add(&mut self, sender: &Text, addresses: usize) {
        self.addresses += addresses;
        *self.by_sender.entry(sender.clone()).or_default() += addresses;
    }

    fn take(&mut self, sender: &Text, addresses: usize) {
        self.addresses -= addresses;
        if let Some(own) = self.by_sender.get_mut(sender) {
            *own -= addresses;
            if *own == 0 {
                self.by_sender.remove(sender);
            }
        }
    }
}

impl Room {
    /// The mail waits from now on.
    pub(in crate::messages) fn taken_by(self, number: u64, next_ms: u64) {
        self.queue.put(number, self.sender.clone(), next_ms, self.addresses);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // What has come to wait counts by itself.
        self.queue.0.lock().take(&self.sender, self.addresses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_addresses_wait_as_may_and_the_earliest_is_next() {
        let queue = Queue::default();
        // Each is another's: nobody has a share to keep to.
        let room = |sender: &str, addresses| queue.room(&sender.into(), addresses, 5);
        let first = room("a", 3).expect("there is room");
        assert!(room("b", 3).is_none());
        drop(room("b", 2).expect("there is room"));
        first.taken_by(7, 100);
        assert!(room("b", 3).is_none());
        room("b", 2).expect("there is room").taken_by(8, 50);
        assert_eq!((queue.next(), queue.len()), (Some((50, 8)), 2));
        // It is tried later, with fewer addresses.
        queue.again(8, 200, 1);
        assert_eq!(queue.next(), Some((100, 7)));
        assert!(room("c", 2).is_none() && room("c", 1).is_some());
        queue.remove(7);
        queue.remove(7);
        assert_eq!((queue.next(), queue.len()), (Some((200, 8)), 1));
        assert!(room("c", 4).is_some());
    }

    #[test]
    fn one_sender_fills_no_more_than_a_quarter_or_one_mail() {
        let queue = Queue::default();
        let room = |sender: &str, addresses| queue.room(&sender.into(), addresses, 100);
        room("a", 60).expect("one mail is let in whatever its size").taken_by(1, 0);
        assert!(room("a", 1).is_none());
        room("b", 20).expect("there is room").taken_by(2, 0);
        let held = room("b", 5).expect("that is a quarter");
        assert!(room("b", 1).is_none());
        drop(held);
        assert!(room("b", 5).is_some() && room("b", 6).is_none());
        queue.remove(1);
        assert!(room("a", 1).is_some());
        queue.remove(2);
        assert!(queue.0.lock().by_sender.is_empty());
    }
}
