//! A number of bytes that many share: together they hold no more than that, and no single one of them most of it.
//!
//! What is held is counted before it is allocated, and as it is allocated: a buffer that grows is there twice while it is copied.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use foldhash::HashMap;
use parking_lot::Mutex;
use stet_actors::error::{Code, Error, Result};
use stet_actors::object::Text;

/// What part of a budget one holder may have: a quarter.
const PART: u64 = 4;

/// Bytes that a buffer has room for at first.
const FIRST: usize = 1 << 10;

/// Buffers of no more bytes do not count: connections do, and bound them. So a small body, such as that of a login, goes in
/// whatever others hold.
const SMALL: usize = 2 << 10;

/// What a buffer counts for.
fn counted(capacity: usize) -> usize {
    if capacity <= SMALL { 0 } else { capacity }
}

/// Who holds bytes of a budget.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Holder {
    /// A user, in whatever session.
    User(Text),
    /// The address of someone who is not known yet; see [`super::counted_as`].
    Address(IpAddr),
}

/// See the module's head.
pub struct Budget {
    /// What it is a budget of, for people: `bodies of callers without a session`.
    about: &'static str,
    bytes: u64,
    held: Mutex<Held>,
    gauge: metrics::Gauge,
    refused: metrics::Counter,
}

#[derive(Default)]
struct Held {
    bytes: u64,
    /// Whoever holds something.
    by: HashMap<Holder, u64>,
}

impl Budget {
    /// A budget of so many bytes. `name` is its label in the metrics, `about` what messages call it.
    pub fn new(name: &'static str, about: &'static str, bytes: u64) -> Arc<Budget> {
        Arc::new(Budget {
            about,
            bytes,
            held: Mutex::default(),
            gauge: metrics::gauge!("stet_budget_bytes", "of" => name),
            refused: metrics::counter!("stet_overloaded_total", "what" => name),
        })
    }

    /// Room for one call, which holds nothing yet.
    pub fn room(self: &Arc<Budget>, holder: Holder) -> Arc<Room> {
        Arc::new(Room { of: Some((self.clone(), holder)), held: AtomicU64::new(0) })
    }

    /// Bytes held at present.
    #[cfg(test)]
    fn held(&self) -> u64 {
        self.held.lock().bytes
    }

    fn take(&self, holder: &Holder, bytes: u64) -> Result<()> {
        let mut held = self.held.lock();
        let own = held.by.get(holder).copied().unwrap_or(0).saturating_add(bytes);
        let all = held.bytes.saturating_add(bytes);
        if all > self.bytes || own > self.bytes / PART {
            drop(held);
            self.refused.increment(1);
            let whose = if all > self.bytes { "All callers together" } else { "You" };
            let message = format!("{whose} have too many {} under way; nothing was changed, try again.", self.about);
            return Err(Error::new(Code::Overloaded, message));
        }
        held.bytes = all;
        match held.by.get_mut(holder) {
            Some(there) => *there = own,
            None => drop(held.by.insert(holder.clone(), own)),
        }
        drop(held);
        self.gauge.increment(bytes as f64);
        Ok(())
    }

    fn give_back(&self, holder: &Holder, bytes: u64) {
        let mut held = self.held.lock();
        held.bytes = held.bytes.saturating_sub(bytes);
        if let Some(own) = held.by.get_mut(holder) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                held.by.remove(holder);
            }
        }
        drop(held);
        self.gauge.decrement(bytes as f64);
    }
}

/// What one call holds of a budget, until the last part of the call drops it.
pub struct Room {
    of: Option<(Arc<Budget>, Holder)>,
    held: AtomicU64,
}

impl Room {
    /// Room that counts for nobody: for bytes that the server itself has, such as the sample newsroom's.
    pub fn of_nobody() -> Arc<Room> {
        Arc::new(Room { of: None, held: AtomicU64::new(0) })
    }

    /// Whose it is; `None` for the server's own.
    pub fn holder(&self) -> Option<&Holder> {
        self.of.as_ref().map(|(_, holder)| holder)
    }

    /// Takes so many bytes more.
    ///
    /// # Errors
    /// `Overloaded`: there is not so much left, and nothing is taken.
    pub fn take(&self, bytes: usize) -> Result<()> {
        let Some((budget, holder)) = self.of.as_ref().filter(|_| bytes > 0) else { return Ok(()) };
        budget.take(holder, bytes as u64)?;
        // Relaxed: nothing else hangs on it.
        self.held.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Gives back so many of the bytes that it has taken.
    pub fn give_back(&self, bytes: usize) {
        let Some((budget, holder)) = self.of.as_ref().filter(|_| bytes > 0) else { return };
        budget.give_back(holder, bytes as u64);
        self.held.fetch_sub(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some((budget, holder)) = &self.of
            && *self.held.get_mut() > 0
        {
            budget.give_back(holder, *self.held.get_mut());
        }
    }
}

/// Bytes that are gathered as they come, in memory of some [`Room`].
pub struct Gathered {
    bytes: Vec<u8>,
    room: Arc<Room>,
}

impl Gathered {
    /// Nothing yet, which takes nothing.
    pub fn new(room: &Arc<Room>) -> Gathered {
        Gathered { bytes: Vec::new(), room: room.clone() }
    }

    /// Adds bytes, of which there will be no more than `most`.
    ///
    /// # Errors
    /// `Overloaded`: there is no room for them.
    pub fn extend(&mut self, more: &[u8], most: usize) -> Result<()> {
        let (before, wanted) = (self.bytes.capacity(), self.bytes.len() + more.len());
        if wanted > before {
            let after = wanted.max((before * 2).max(FIRST).min(most));
            // Both are there until all has been copied.
            self.room.take(counted(after))?;
            self.bytes.reserve_exact(after - self.bytes.len());
            // An allocator may give more than was asked for, but says so to nobody but the vector.
            let more = counted(self.bytes.capacity()).saturating_sub(counted(after));
            self.room.give_back(counted(before));
            if let Err(error) = self.room.take(more) {
                self.bytes = Vec::new();
                self.room.give_back(counted(after));
                return Err(error);
            }
        }
        self.bytes.extend_from_slice(more);
        Ok(())
    }

    /// The bytes. They count until the room is dropped, for who has them now is not known here.
    pub fn freeze(mut self) -> Bytes {
        Bytes::from(std::mem::take(&mut self.bytes))
    }

    /// Takes what was gathered, and goes on with nothing.
    #[must_use]
    pub fn take(&mut self) -> Gathered {
        Gathered { bytes: std::mem::take(&mut self.bytes), room: self.room.clone() }
    }
}

impl Deref for Gathered {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::fmt::Debug for Gathered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes.len())
    }
}

impl Drop for Gathered {
    fn drop(&mut self) {
        self.room.give_back(counted(self.bytes.capacity()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> Holder {
        Holder::User(name.into())
    }

    #[test]
    fn all_together_hold_no_more_than_there_is_and_none_more_than_its_part() {
        let budget = Budget::new("test", "tests", 100);
        let rooms: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| budget.room(user(name))).into();
        let second = budget.room(user("a"));
        rooms[0].take(20).unwrap();
        assert_eq!(second.take(6).unwrap_err().code, Code::Overloaded);
        second.take(5).unwrap();
        assert!(rooms[0].take(1).unwrap_err().message.starts_with("You have too many tests"), "its part is taken");
        for room in &rooms[1..4] {
            room.take(25).unwrap();
        }
        assert_eq!(budget.held(), 100);
        assert!(rooms[4].take(1).unwrap_err().message.starts_with("All callers together"));
        second.give_back(3);
        rooms[4].take(3).unwrap();
        drop(rooms);
        assert_eq!(budget.held(), 2);
        drop(second);
        assert_eq!((budget.held(), budget.held.lock().by.len()), (0, 0));
    }

    #[test]
    fn a_buffer_counts_what_it_has_allocated_and_its_copy_while_it_grows() {
        let budget = Budget::new("test", "tests", 4 * 12_000);
        let room = budget.room(user("a"));
        let mut gathered = Gathered::new(&room);
        assert_eq!(budget.held(), 0);
        let mut sent = Vec::new();
        for piece in [&[1; 10][..], &[2; 1000], &[3; 4000], &[4; 1]] {
            gathered.extend(piece, 6000).unwrap();
            sent.extend_from_slice(piece);
            assert_eq!(&*gathered, sent);
            assert_eq!(budget.held(), counted(gathered.bytes.capacity()) as u64);
            assert!(gathered.bytes.capacity() <= 6000);
        }
        // 5,011 bytes are there, and would be again.
        assert_eq!(gathered.extend(&[5; 3000], 9000).unwrap_err().code, Code::Overloaded);
        assert_eq!(budget.held(), gathered.bytes.capacity() as u64);
        let other = gathered.take();
        assert!(gathered.is_empty() && other.len() == sent.len());
        drop(other);
        assert_eq!(budget.held(), 0);
        gathered.extend(&[6; 5000], 5000).unwrap();
        let bytes = gathered.freeze();
        assert_eq!((bytes.len(), budget.held()), (5000, 5000));
        drop(room);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn a_small_body_goes_in_whatever_others_hold() {
        let budget = Budget::new("test", "tests", 4 * 10_000);
        let others: Vec<_> = ["a", "b", "c", "d"].map(|name| budget.room(user(name))).into();
        for room in &others {
            room.take(10_000).unwrap();
        }
        let room = budget.room(user("late"));
        let mut gathered = Gathered::new(&room);
        gathered.extend(&[1; 900], 16 << 10).unwrap();
        gathered.extend(&[1; 900], 16 << 10).unwrap();
        assert_eq!(gathered.extend(&[1; 900], 16 << 10).unwrap_err().code, Code::Overloaded);
        assert_eq!(gathered.len(), 1800);
    }

    #[test]
    fn what_is_nobodys_has_no_bound() {
        let room = Room::of_nobody();
        let mut gathered = Gathered::new(&room);
        gathered.extend(&vec![0; 1 << 20], 0).unwrap();
        assert_eq!(gathered.freeze().len(), 1 << 20);
    }
}
