//! Long texts in pieces, so that large parts of them are shared and not copied.
//!
//! A reply may contain texts of megabytes that are in memory already, such as the attributes of an
//! object as JSON. A copy of 4 MB takes a shared thread milliseconds, half of them for memory pages
//! that the kernel provides anew. So a reply under construction is a [`TextRope`]: it copies small
//! texts, and only refers to those from [`LARGE_PIECE`]. When it is finished, it becomes
//! [`TextPieces`], which can be hashed, cut and sent piece by piece.
//!
//! A text that is shared counts in the memory of each rope like a copy, because a cache may evict
//! it while the rope still refers to it.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::mem;
use std::ops::Range;

use bytes::{Buf, Bytes};

use crate::limits::PIECE;

/// The number of bytes from which a text is shared and not copied. Smaller ones are copied in some
/// ten microseconds, and would be sent in pieces smaller than usual.
pub const LARGE_PIECE: usize = PIECE;

/// The number of bytes that are copied when a shared text follows them, so that the buffer which
/// contains them can be used again. A buffer may have as many unused bytes in a finished text.
const FEW: usize = 4 << 10;

/// A text under construction: pieces that are finished, and a buffer that grows.
#[derive(Debug, Default)]
pub struct TextRope {
    pieces: VecDeque<Bytes>,
    /// The number of bytes in the pieces.
    before: usize,
    /// The bytes behind the pieces.
    tail: Vec<u8>,
}

impl TextRope {
    /// Creates an empty rope with room for that many bytes.
    pub fn with_capacity(bytes: usize) -> TextRope {
        TextRope { tail: Vec::with_capacity(bytes), ..TextRope::default() }
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.before + self.tail.len()
    }

    /// Reports whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the memory of the text in bytes, with the texts that it shares.
    pub fn capacity(&self) -> usize {
        self.before + self.tail.capacity()
    }

    /// Makes room for that many more bytes, and no more than that.
    pub fn reserve_exact(&mut self, more: usize) {
        self.tail.reserve_exact(more);
    }

    /// Returns the buffer at the end, for a writer that only adds to it.
    pub fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.tail
    }

    /// Adds a copy of these bytes.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
    }

    /// Adds bytes. They are shared if they are many.
    pub fn push(&mut self, bytes: &Bytes) {
        if bytes.len() < LARGE_PIECE {
            return self.extend_from_slice(bytes);
        }
        self.before += self.tail.len() + bytes.len();
        match self.tail.len() {
            0 => {}
            few if few <= FEW => {
                self.pieces.push_back(Bytes::copy_from_slice(&self.tail));
                self.tail.clear();
            }
            _ => {
                let mut piece = mem::take(&mut self.tail);
                // The buffer may have been made for what is shared now.
                if piece.capacity() - piece.len() > FEW {
                    piece.shrink_to_fit();
                }
                self.pieces.push_back(piece.into());
            }
        }
        self.pieces.push_back(bytes.clone());
    }

    /// Adds another text. Its large pieces are shared.
    pub fn append(&mut self, other: &TextRope) {
        other.pieces.iter().for_each(|piece| self.push(piece));
        self.extend_from_slice(&other.tail);
    }

    /// Removes the bytes from that position on, and returns them.
    ///
    /// # Panics
    /// If there are fewer bytes.
    pub fn split_off(&mut self, at: usize) -> TextRope {
        if let Some(at) = at.checked_sub(self.before) {
            return TextRope { tail: self.tail.split_off(at), ..TextRope::default() };
        }
        let mut off = TextRope { tail: mem::take(&mut self.tail), ..TextRope::default() };
        while self.before > at
            && let Some(mut piece) = self.pieces.pop_back()
        {
            self.before -= piece.len();
            if self.before < at {
                let behind = piece.split_off(at - self.before);
                self.before += piece.len();
                self.pieces.push_back(mem::replace(&mut piece, behind));
            }
            off.before += piece.len();
            off.pieces.push_front(piece);
        }
        off
    }

    /// Removes the bytes from that position on.
    pub fn truncate(&mut self, at: usize) {
        if at < self.len() {
            drop(self.split_off(at));
        }
    }

    /// Removes that many bytes at the beginning.
    ///
    /// # Panics
    /// If there are fewer bytes.
    pub fn remove_front(&mut self, mut bytes: usize) {
        while bytes > 0
            && let Some(first) = self.pieces.front_mut()
        {
            let some = bytes.min(first.len());
            first.advance(some);
            bytes -= some;
            self.before -= some;
            if first.is_empty() {
                self.pieces.pop_front();
            }
        }
        self.tail.drain(..bytes);
    }

    /// Ends the text. Memory that it does not use is released, because it may be cached.
    pub fn finish(mut self) -> TextPieces {
        let unused = self.tail.capacity() - self.tail.len();
        if unused > FEW && unused > self.tail.len() / 8 {
            self.tail.shrink_to_fit();
        }
        self.finish_as_it_is()
    }

    /// Ends a text that is sent at once.
    pub fn finish_as_it_is(self) -> TextPieces {
        let (mut rest, tail) = (self.pieces, Bytes::from(self.tail));
        let Some(first) = rest.pop_front() else { return tail.into() };
        if !tail.is_empty() {
            rest.push_back(tail);
        }
        TextPieces { first, rest }
    }
}

/// A finished text in pieces. A clone shares them.
#[derive(Debug, Clone, Default)]
pub struct TextPieces {
    /// The first piece, which is the whole text in most cases.
    first: Bytes,
    rest: VecDeque<Bytes>,
}

impl TextPieces {
    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.iter().map(Bytes::len).sum()
    }

    /// Reports whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the pieces in order.
    pub fn iter(&self) -> impl Iterator<Item = &Bytes> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// Returns the whole text in one piece, which is a copy if there are several.
    pub fn into_whole(self) -> Bytes {
        if self.rest.is_empty() {
            return self.first;
        }
        let mut whole = Vec::with_capacity(self.len());
        self.iter().for_each(|piece| whole.extend_from_slice(piece));
        whole.into()
    }

    /// Removes a part from the beginning: at most `most` bytes, and at most a piece. Returns `None`
    /// if nothing is left.
    pub fn take(&mut self, most: usize) -> Option<Bytes> {
        while self.first.is_empty() {
            self.first = self.rest.pop_front()?;
        }
        Some(self.first.split_to(most.min(self.first.len())))
    }

    /// Returns the bytes in a range, which are shared.
    ///
    /// # Panics
    /// If there are fewer bytes.
    pub fn slice(&self, range: Range<usize>) -> TextPieces {
        if self.rest.is_empty() {
            return self.first.slice(range).into();
        }
        let (mut begin, mut parts) = (0, VecDeque::new());
        for piece in self.iter() {
            let end = begin + piece.len();
            let part = range.start.clamp(begin, end) - begin..range.end.clamp(begin, end) - begin;
            if !part.is_empty() {
                parts.push_back(piece.slice(part));
            }
            begin = end;
        }
        assert!(range.end <= begin, "the range lies in the text");
        TextPieces { first: parts.pop_front().unwrap_or_default(), rest: parts }
    }

    /// Adds bytes at the end, as a piece of their own.
    pub fn push(&mut self, bytes: Bytes) {
        self.rest.push_back(bytes);
    }
}

impl From<Bytes> for TextPieces {
    fn from(whole: Bytes) -> TextPieces {
        TextPieces { first: whole, rest: VecDeque::new() }
    }
}

/// Hashes the text, wherever its pieces end. The hasher must treat two writes like one of all their
/// bytes, as that of the standard library does.
impl Hash for TextPieces {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len());
        self.iter().for_each(|piece| state.write(piece));
    }
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use proptest::prelude::*;

    use super::*;

    fn hash_of(what: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        hasher.finish()
    }

    fn whole(rope: &TextRope) -> Vec<u8> {
        rope.pieces.iter().flatten().chain(&rope.tail).copied().collect()
    }

    /// A step in the construction of a text.
    #[derive(Debug, Clone)]
    enum RopeStep {
        Copy(usize),
        Push(usize),
        Cut(usize, bool),
        RemoveFront(usize),
        Twice,
    }

    fn size() -> impl Strategy<Value = usize> {
        prop_oneof![0..100usize, FEW - 2..FEW + 3, LARGE_PIECE - 2..LARGE_PIECE + 3, Just(LARGE_PIECE * 2 + 7),]
    }

    fn step() -> impl Strategy<Value = RopeStep> {
        prop_oneof![
            4 => size().prop_map(RopeStep::Copy),
            4 => size().prop_map(RopeStep::Push),
            2 => (0..1000usize, any::<bool>()).prop_map(|(at, keeps)| RopeStep::Cut(at, keeps)),
            1 => (0..1000usize).prop_map(RopeStep::RemoveFront),
            1 => Just(RopeStep::Twice),
        ]
    }

    /// Returns bytes that differ from those of other seeds.
    fn bytes(size: usize, seed: usize) -> Vec<u8> {
        (0..size).map(|at| ((at * 31 + seed * 17) >> 2) as u8).collect()
    }

    /// Does a step on a rope, and the same on a plain text.
    fn take_step(step: &RopeStep, seed: usize, rope: &mut TextRope, plain: &mut Vec<u8>) {
        match *step {
            RopeStep::Copy(size) => {
                rope.extend_from_slice(&bytes(size, seed));
                plain.extend(bytes(size, seed));
            }
            RopeStep::Push(size) => {
                rope.push(&bytes(size, seed).into());
                plain.extend(bytes(size, seed));
            }
            RopeStep::Cut(thousandths, keeps) => {
                let at = plain.len() * thousandths / 1000;
                let (behind, plainly) = (rope.split_off(at), plain.split_off(at));
                assert!(whole(&behind) == plainly && behind.len() == plainly.len());
                if keeps {
                    rope.append(&behind);
                    plain.extend(plainly);
                }
            }
            RopeStep::RemoveFront(thousandths) => {
                let count = plain.len() * thousandths / 4000;
                rope.remove_front(count);
                plain.drain(..count);
            }
            RopeStep::Twice => {
                let mut other = TextRope::default();
                other.append(rope);
                rope.append(&other);
                plain.extend_from_within(..);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_rope_has_the_bytes_that_copies_would_have(
            steps in prop::collection::vec(step(), 0..12),
            cuts in prop::collection::vec(0..1000usize, 2),
            most in prop_oneof![Just(1000usize), Just(LARGE_PIECE)],
        ) {
            let (mut rope, mut plain) = (TextRope::with_capacity(16), Vec::new());
            for (seed, step) in steps.iter().enumerate() {
                take_step(step, seed, &mut rope, &mut plain);
                prop_assert!(whole(&rope) == plain);
                prop_assert_eq!(rope.len(), plain.len());
                prop_assert!(rope.capacity() >= plain.len());
            }
            let pieces = rope.finish();
            prop_assert_eq!((pieces.len(), pieces.is_empty()), (plain.len(), plain.is_empty()));
            prop_assert_eq!(hash_of(&pieces), hash_of(&plain[..]));
            let (from, to) = (cuts[0].min(cuts[1]) * plain.len() / 1000, cuts[0].max(cuts[1]) * plain.len() / 1000);
            let part = pieces.slice(from..to);
            prop_assert_eq!(hash_of(&part), hash_of(&plain[from..to]));
            prop_assert!(part.into_whole() == plain[from..to]);
            let (mut left, mut all) = (pieces.clone(), Vec::new());
            while let Some(piece) = left.take(most) {
                prop_assert!(!piece.is_empty() && piece.len() <= most);
                all.extend_from_slice(&piece);
            }
            prop_assert!(all == plain);
            prop_assert!(pieces.into_whole() == plain);
        }
    }

    #[test]
    fn large_texts_are_shared_and_small_ones_copied() {
        for (size, is_shared) in [(LARGE_PIECE, true), (LARGE_PIECE - 1, false)] {
            let text = Bytes::from(bytes(size, 1));
            let mut rope = TextRope::default();
            rope.extend_from_slice(b"before");
            rope.push(&text);
            rope.extend_from_slice(b"behind");
            let mut other = TextRope::default();
            other.append(&rope);
            for rope in [rope, other] {
                assert!(rope.capacity() >= size, "it counts like a copy");
                let pieces = rope.finish();
                assert_eq!(pieces.iter().any(|piece| piece.as_ptr() == text.as_ptr()), is_shared, "{size}");
                let cut = pieces.slice(3..size);
                assert_eq!(cut.iter().any(|piece| piece.as_ptr() == text.as_ptr()), is_shared, "{size}");
            }
        }
    }

    #[test]
    fn a_finished_text_keeps_no_memory_that_it_does_not_use() {
        let mut rope = TextRope::with_capacity(1 << 20);
        rope.extend_from_slice(b"few");
        let whole = rope.finish().into_whole();
        assert!(Vec::from(whole).capacity() < 100);
    }
}
