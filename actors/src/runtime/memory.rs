//! The memory of containers: those that are loaded, and those that are being loaded.
//!
//! Memory is reserved before a container is loaded, by the size in its record. Unused containers
//! are evicted to make room. A load that gets no room within [`PATIENCE`] is refused.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The bytes reserved for a container whose record states no size, since it was last changed before
/// sizes were kept.
const UNKNOWN: u64 = 1 << 20;

/// The time for which a load waits for room.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time after which a waiting load looks for unused containers again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The account of the memory of all containers.
pub(crate) struct ContainerMemory {
    limit: u64,
    /// The bytes of the loaded containers.
    loaded: AtomicU64,
    /// The bytes reserved for containers that are being loaded.
    reading: Mutex<u64>,
    /// A notification that bytes were freed.
    freed: Notify,
    /// The function that evicts unused containers.
    make_room: OnceLock<MakeRoom>,
    /// The time before which it is not called again.
    next_look: Mutex<Option<Instant>>,
}

/// A function that evicts unused containers, to free a number of bytes.
type MakeRoom = Box<dyn Fn(u64) + Send + Sync>;

/// The reservation for a container that is being loaded; freed when dropped.
pub struct ReadingRoom {
    memory: Arc<ContainerMemory>,
    bytes: u64,
}

impl ContainerMemory {
    /// Creates an account without containers.
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

    /// Sets the function that evicts unused containers, to free a number of bytes.
    pub fn make_room_by(&self, make_room: impl Fn(u64) + Send + Sync + 'static) {
        // It is called once, when the repository starts.
        let _ = self.make_room.set(Box::new(make_room));
    }

    /// Returns the bytes of all loaded containers.
    pub fn loaded(&self) -> u64 {
        self.loaded.load(Ordering::Relaxed)
    }

    /// Returns the limit for all containers in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Records a change of the size of a loaded container.
    pub fn resize(&self, before: u64, after: u64) {
        // Relaxed is enough, as nothing else depends on this number. A negative difference wraps
        // around and back.
        self.loaded.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        if after < before {
            self.freed.notify_waiters();
        }
    }

    /// Reserves room for loading a container whose record states a size (0 means unknown), and
    /// waits until there is room. Returns `None` if there is none in time.
    pub async fn reserve(self: &Arc<Self>, stated: u64) -> Option<ReadingRoom> {
        let bytes = if stated == 0 { UNKNOWN } else { stated }.min(self.limit);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            // Memory that is freed from here on is not missed.
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
            // Containers become unused without a notification.
            let _ = timeout_at(deadline.min(Instant::now() + LOOK_AGAIN), freed).await;
        }
    }

    /// Reports whether it is time to look for unused containers. A look visits all of them, and
    /// many loads may wait.
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
