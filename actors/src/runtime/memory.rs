//! The memory that containers take: those in memory, and those being read.
//!
//! Room is reserved before a container is read, by the size that its record states. Containers that
//! nobody uses leave to make room. A read for which none comes free within [`PATIENCE`] is refused.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Bytes that are reserved for a container whose size its record does not state: one that was last
/// changed before sizes were kept.
const UNKNOWN: u64 = 1 << 20;

/// Time for which a read waits for room.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time after which a waiting read looks for unused containers again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The account of the memory that containers take.
pub(crate) struct ContainerMemory {
    limit: u64,
    /// Bytes of the containers in memory.
    loaded: AtomicU64,
    /// Bytes reserved for containers that are being read.
    reading: Mutex<u64>,
    /// Notified when bytes come free.
    freed: Notify,
    /// The function that lets unused containers go.
    make_room: OnceLock<MakeRoom>,
    /// The time before which it is not called again.
    next_look: Mutex<Option<Instant>>,
}

/// A function that lets unused containers go, so that a number of bytes more can be read.
type MakeRoom = Box<dyn Fn(u64) + Send + Sync>;

/// Room reserved for a container that is being read, given back when this is dropped.
pub(crate) struct ReadingRoom {
    memory: Arc<ContainerMemory>,
    bytes: u64,
}

impl ContainerMemory {
    /// An account without containers.
    pub fn new(limit: u64) -> Arc<ContainerMemory> {
        Arc::new(ContainerMemory {
            limit,
            loaded: AtomicU64::new(0),
            reading: Mutex::new(0),
            freed: Notify::new(),
            make_room: OnceLock::new(),
            next_look: Mutex::new(None),
        })
    }

    /// Sets what lets unused containers go, so that a number of bytes more can be read.
    pub fn make_room_by(&self, make_room: impl Fn(u64) + Send + Sync + 'static) {
        // Called once, where the repository starts.
        let _ = self.make_room.set(Box::new(make_room));
    }

    /// The bytes of all containers in memory.
    pub fn loaded(&self) -> u64 {
        self.loaded.load(Ordering::Relaxed)
    }

    /// The bytes that containers may take.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Records that a container in memory takes another number of bytes than before.
    pub fn resize(&self, before: u64, after: u64) {
        // Relaxed: nothing else goes by this number. A difference below zero wraps around and back.
        self.loaded.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        if after < before {
            self.freed.notify_waiters();
        }
    }

    /// Reserves room for reading a container whose record states that size; 0 means unknown. Waits
    /// until there is room. Returns `None` if there is none in time.
    pub async fn reserve(self: &Arc<Self>, stated: u64) -> Option<ReadingRoom> {
        let bytes = if stated == 0 { UNKNOWN } else { stated }.min(self.limit);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            // What comes free from here on is not missed.
            freed.as_mut().enable();
            if let Some(room) = self.try_reserve(bytes) {
                return Some(room);
            }
            if let Some(make_room) = self.make_room.get()
                && self.may_look()
            {
                make_room(bytes);
            }
            if Instant::now() >= deadline {
                metrics::counter!("stet_overloaded_total", "what" => "container_memory").increment(1);
                return None;
            }
            // Containers become unused without anybody being notified.
            let _ = timeout_at(deadline.min(Instant::now() + LOOK_AGAIN), freed).await;
        }
    }

    /// Whether it is time to look for unused containers: a look walks all of them, and many reads
    /// may wait.
    fn may_look(&self) -> bool {
        let now = Instant::now();
        let mut next = self.next_look.lock();
        let may = next.is_none_or(|next| next <= now);
        if may {
            *next = Some(now + LOOK_AGAIN / 10);
        }
        may
    }

    fn try_reserve(self: &Arc<Self>, bytes: u64) -> Option<ReadingRoom> {
        let mut reading = self.reading.lock();
        if self.loaded().saturating_add(*reading).saturating_add(bytes) > self.limit {
            return None;
        }
        *reading += bytes;
        Some(ReadingRoom { memory: self.clone(), bytes })
    }
}

impl Drop for ReadingRoom {
    fn drop(&mut self) {
        *self.memory.reading.lock() -= self.bytes;
        self.memory.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_read_waits_for_room_and_is_refused_when_none_comes() {
        let memory = ContainerMemory::new(100);
        memory.resize(0, 30);
        let first = memory.reserve(50).await.expect("there is room");
        let mut second = Box::pin(memory.reserve(50));
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        let second = second.await.expect("room has come free");
        assert!(memory.reserve(50).await.is_none(), "containers in use keep their room");
        drop(second);
        assert!(memory.reserve(50).await.is_some());
        memory.resize(30, 0);
        assert!(memory.reserve(1000).await.is_some(), "nothing else is in memory");
    }
}
