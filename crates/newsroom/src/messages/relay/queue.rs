//! The queue of mails for the relay, with the time of each one's next attempt. It describes their
//! rows without reading them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use stet_domain::object::SharedText;

/// The queue of waiting mails. A clone shares the queue.
#[derive(Clone, Default)]
pub(super) struct MailQueue(Arc<Mutex<MailQueueState>>);

#[derive(Default)]
struct MailQueueState {
    /// The mails by the number of their message.
    mails: HashMap<u64, QueuedMail>,
    /// The time of each mail's next attempt, with its number.
    due: BTreeSet<(u64, u64)>,
    /// The number of addresses of all mails, including reservations.
    addresses: usize,
    /// The number of addresses by sender, including reservations.
    by_sender: HashMap<SharedText, usize>,
}

/// A waiting mail.
struct QueuedMail {
    /// The time of the next attempt, in epoch milliseconds.
    next_ms: u64,
    /// The number of its addresses.
    addresses: usize,
    sender: SharedText,
}

/// A reservation for the addresses of one mail. It is released when this is dropped, unless the
/// mail has been queued.
pub struct MailReservation {
    queue: MailQueue,
    addresses: usize,
    sender: SharedText,
}

/// The part of the queue that one sender may fill with more than one mail, as a divisor. Otherwise
/// all mails of others might be dropped.
const SHARE: usize = 4;

impl MailQueue {
    /// Reserves room for another mail of this sender with that number of addresses. The queue may
    /// have at most `most` addresses. A sender may have a quarter of them, or a single mail of any
    /// size.
    pub fn room(&self, sender: &SharedText, addresses: usize, most: usize) -> Option<MailReservation> {
        let mut inner = self.0.lock();
        let own = inner.by_sender.get(sender).copied().unwrap_or_default();
        if inner.addresses + addresses > most || own > 0 && own + addresses > most / SHARE {
            return None;
        }
        inner.add(sender, addresses);
        drop(inner);
        Some(MailReservation { queue: self.clone(), addresses, sender: sender.clone() })
    }

    /// Adds a mail with its sender, the time of its next attempt and the number of its addresses.
    pub fn put(&self, number: u64, sender: SharedText, next_ms: u64, addresses: usize) {
        self.0.lock().put(number, sender, next_ms, addresses);
    }

    /// Updates the next attempt and the number of addresses of a waiting mail.
    pub fn again(&self, number: u64, next_ms: u64, addresses: usize) {
        let mut inner = self.0.lock();
        if let Some(sender) = inner.mails.get(&number).map(|mail| mail.sender.clone()) {
            inner.put(number, sender, next_ms, addresses);
        }
    }

    /// Removes a mail from the queue.
    pub fn remove(&self, number: u64) {
        self.0.lock().forget(number);
    }

    /// Returns the mail with the earliest attempt: the time in epoch milliseconds, and its number.
    pub fn next(&self) -> Option<(u64, u64)> {
        self.0.lock().due.first().copied()
    }

    /// Returns the number of waiting mails.
    pub fn len(&self) -> usize {
        self.0.lock().mails.len()
    }
}

impl MailQueueState {
    fn put(&mut self, number: u64, sender: SharedText, next_ms: u64, addresses: usize) {
        self.forget(number);
        self.add(&sender, addresses);
        self.due.insert((next_ms, number));
        self.mails.insert(number, QueuedMail { next_ms, addresses, sender });
    }

    fn forget(&mut self, number: u64) {
        if let Some(QueuedMail { next_ms, addresses, sender }) = self.mails.remove(&number) {
            self.due.remove(&(next_ms, number));
            self.take(&sender, addresses);
        }
    }

    fn add(&mut self, sender: &SharedText, addresses: usize) {
        self.addresses += addresses;
        *self.by_sender.entry(sender.clone()).or_default() += addresses;
    }

    fn take(&mut self, sender: &SharedText, addresses: usize) {
        self.addresses -= addresses;
        if let Some(own) = self.by_sender.get_mut(sender) {
            *own -= addresses;
            if *own == 0 {
                self.by_sender.remove(sender);
            }
        }
    }
}

impl MailReservation {
    /// Queues the mail in place of its reservation.
    pub(in crate::messages) fn taken_by(self, number: u64, next_ms: u64) {
        self.queue.put(number, self.sender.clone(), next_ms, self.addresses);
    }
}

impl Drop for MailReservation {
    fn drop(&mut self) {
        // A queued mail is counted by itself.
        self.queue.0.lock().take(&self.sender, self.addresses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mail_queue_bounds_its_addresses_and_returns_the_earliest_first() {
        let queue = MailQueue::default();
        // Each sender has one mail, so the share does not apply.
        let room = |sender: &str, addresses| queue.room(&sender.into(), addresses, 5);
        let first = room("a", 3).expect("there is room");
        assert!(room("b", 3).is_none());
        drop(room("b", 2).expect("there is room"));
        first.taken_by(7, 100);
        assert!(room("b", 3).is_none());
        room("b", 2).expect("there is room").taken_by(8, 50);
        assert_eq!((queue.next(), queue.len()), (Some((50, 8)), 2));
        // The next attempt is later, with fewer addresses.
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
        let queue = MailQueue::default();
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
