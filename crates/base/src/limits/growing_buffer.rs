//! A buffer that grows as bytes arrive, in reserved memory. Memory is reserved before it is
//! allocated. While the buffer grows, old and new memory are both counted, because both exist.

use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use stet_domain::error::Result;

use super::Reservation;

/// The initial capacity of a buffer, in bytes.
const FIRST: usize = 1 << 10;

/// The largest capacity that is not counted: the number of connections limits such buffers. So a
/// small body, such as that of a login, is accepted whatever others hold.
const SMALL: usize = 2 << 10;

/// Returns the number of bytes that a buffer of that capacity counts for.
fn counted(capacity: usize) -> usize {
    if capacity <= SMALL { 0 } else { capacity }
}

/// Bytes that are gathered as they arrive.
pub struct GrowingBuffer {
    bytes: Vec<u8>,
    memory: Arc<Reservation>,
}

impl GrowingBuffer {
    /// Creates an empty buffer, which reserves nothing yet.
    pub fn new(memory: &Arc<Reservation>) -> GrowingBuffer {
        GrowingBuffer { bytes: Vec::new(), memory: memory.clone() }
    }

    /// Adds bytes. `most` is the largest total.
    ///
    /// # Errors
    /// `Overloaded` if there is no memory for them.
    pub fn extend(&mut self, more: &[u8], most: usize) -> Result<()> {
        let (before, wanted) = (self.bytes.capacity(), self.bytes.len() + more.len());
        if wanted > before {
            let after = wanted.max((before * 2).max(FIRST).min(most));
            // Old and new memory exist until all bytes are copied.
            self.memory.add(counted(after))?;
            self.bytes.reserve_exact(after - self.bytes.len());
            // An allocator may give more than requested, and only the vector knows.
            let more = counted(self.bytes.capacity()).saturating_sub(counted(after));
            self.memory.give_back(counted(before));
            if let Err(error) = self.memory.add(more) {
                self.bytes = Vec::new();
                self.memory.give_back(counted(after));
                return Err(error);
            }
        }
        self.bytes.extend_from_slice(more);
        Ok(())
    }

    /// Returns the bytes. They stay reserved as long as the reservation itself lives.
    pub fn freeze(mut self) -> Bytes {
        Bytes::from(std::mem::take(&mut self.bytes))
    }

    /// Returns the gathered bytes, and leaves the buffer empty.
    #[must_use]
    pub fn take(&mut self) -> GrowingBuffer {
        GrowingBuffer { bytes: std::mem::take(&mut self.bytes), memory: self.memory.clone() }
    }
}

impl Deref for GrowingBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::fmt::Debug for GrowingBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes.len())
    }
}

impl Drop for GrowingBuffer {
    fn drop(&mut self) {
        self.memory.give_back(counted(self.bytes.capacity()));
    }
}

#[cfg(test)]
mod tests {
    use stet_domain::error::Code;

    use super::super::{Holder, MemoryBudget, MemoryPurpose};
    use super::*;

    fn memory(budget: &MemoryBudget, name: &str) -> Arc<Reservation> {
        Arc::new(budget.reservation(Some(Holder::User(name.into())), MemoryPurpose::Bodies))
    }

    #[test]
    fn a_buffer_counts_what_it_has_allocated_and_its_copy_while_it_grows() {
        let budget = MemoryBudget::new(12_000);
        let own = memory(&budget, "a");
        let mut gathered = GrowingBuffer::new(&own);
        assert_eq!(budget.reserved(), 0);
        let mut sent = Vec::new();
        for piece in [&[1; 10][..], &[2; 1000], &[3; 4000], &[4; 1]] {
            gathered.extend(piece, 6000).unwrap();
            sent.extend_from_slice(piece);
            assert_eq!(&*gathered, sent);
            assert_eq!(budget.reserved(), counted(gathered.bytes.capacity()) as u64);
            assert!(gathered.bytes.capacity() <= 6000);
        }
        // 5,011 bytes are allocated, and growing would allocate them again.
        assert_eq!(gathered.extend(&[5; 3000], 9000).unwrap_err().code, Code::Overloaded);
        assert_eq!(budget.reserved(), gathered.bytes.capacity() as u64);
        let other = gathered.take();
        assert!(gathered.is_empty() && other.len() == sent.len());
        drop(other);
        assert_eq!(budget.reserved(), 0);
        gathered.extend(&[6; 5000], 5000).unwrap();
        let bytes = gathered.freeze();
        assert_eq!((bytes.len(), budget.reserved()), (5000, 5000));
        drop(own);
        assert_eq!(budget.reserved(), 0);
    }

    #[test]
    fn a_small_body_is_taken_whatever_others_hold() {
        let budget = MemoryBudget::new(4 * 10_000);
        let others: Vec<_> = ["a", "b", "c", "d"].map(|name| memory(&budget, name)).into();
        for other in &others {
            other.add(10_000).unwrap();
        }
        let mut gathered = GrowingBuffer::new(&memory(&budget, "late"));
        gathered.extend(&[1; 900], 16 << 10).unwrap();
        gathered.extend(&[1; 900], 16 << 10).unwrap();
        assert_eq!(gathered.extend(&[1; 900], 16 << 10).unwrap_err().code, Code::Overloaded);
        assert_eq!(gathered.len(), 1800);
    }
}
