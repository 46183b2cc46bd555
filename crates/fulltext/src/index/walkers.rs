//! Walkers: ascending walks over the matching documents of a segment.
//!
//! Points are constants of the place of a match. No walker reads statistics of terms, so that
//! documents that a caller may not find have no influence on the order of those that it may.

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::{DocId, DocSet, TERMINATED};

/// A walk over documents in ascending order. It begins at the first one.
pub(super) trait DocumentWalker {
    /// Returns the current document, or [`TERMINATED`].
    fn doc(&self) -> DocId;

    /// Moves to the first document at or behind a target, and returns it.
    fn seek(&mut self, target: DocId) -> DocId;

    /// Returns the points of the current document.
    fn points(&mut self) -> u32;

    /// Returns an estimate of the number of documents.
    fn cost(&self) -> u64;
}

/// A walker of any kind.
pub(super) type AnyWalker = Box<dyn DocumentWalker>;

/// Moves to the next document.
pub(super) fn advance(walker: &mut dyn DocumentWalker) -> DocId {
    let doc = walker.doc();
    if doc == TERMINATED { doc } else { walker.seek(doc + 1) }
}

/// A set of document numbers.
#[derive(Clone, Debug)]
pub(super) struct DocumentBits {
    words: Vec<u64>,
    count: u64,
}

impl DocumentBits {
    /// Returns an empty set for a segment with that number of documents.
    pub fn new(max_doc: DocId) -> Self {
        Self { words: vec![0; (max_doc as usize).div_ceil(64)], count: 0 }
    }

    /// Adds a document.
    pub fn insert(&mut self, doc: DocId) {
        let word = &mut self.words[doc as usize / 64];
        let bit = 1 << (doc % 64);
        self.count += u64::from(*word & bit == 0);
        *word |= bit;
    }

    /// Adds the documents of postings.
    pub fn insert_all(&mut self, postings: &mut SegmentPostings) {
        let mut doc = postings.doc();
        while doc != TERMINATED {
            self.insert(doc);
            doc = postings.advance();
        }
    }

    /// Returns the first document at or behind a target.
    fn next(&self, target: DocId) -> DocId {
        let mut index = target as usize / 64;
        let Some(&first) = self.words.get(index) else { return TERMINATED };
        let mut word = first & (u64::MAX << (target % 64));
        while word == 0 {
            index += 1;
            match self.words.get(index) {
                Some(&next) => word = next,
                None => return TERMINATED,
            }
        }
        (index * 64) as DocId + word.trailing_zeros()
    }
}

/// A walk over a set.
pub(super) struct BitsWalker {
    bits: DocumentBits,
    points: u32,
    doc: DocId,
}

impl BitsWalker {
    /// Returns a walk over a set.
    pub fn new(bits: DocumentBits, points: u32) -> Self {
        let doc = bits.next(0);
        Self { bits, points, doc }
    }
}

impl DocumentWalker for BitsWalker {
    fn doc(&self) -> DocId {
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            self.doc = self.bits.next(target);
        }
        self.doc
    }

    fn points(&mut self) -> u32 {
        self.points
    }

    fn cost(&self) -> u64 {
        self.bits.count
    }
}

/// A walk over the documents of a term.
pub(super) struct TermWalker {
    postings: SegmentPostings,
    points: u32,
}

impl TermWalker {
    /// Returns a walk over postings.
    pub fn new(postings: SegmentPostings, points: u32) -> Self {
        Self { postings, points }
    }
}

impl DocumentWalker for TermWalker {
    fn doc(&self) -> DocId {
        self.postings.doc()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.postings.doc() < target { self.postings.seek(target) } else { self.postings.doc() }
    }

    fn points(&mut self) -> u32 {
        self.points
    }

    fn cost(&self) -> u64 {
        u64::from(self.postings.size_hint())
    }
}

/// A walk over the documents of any of some walkers; the best points count.
pub(super) struct AnyOfWalker {
    walkers: Vec<AnyWalker>,
    doc: DocId,
}

impl AnyOfWalker {
    /// Returns a walk over the documents of any of some walkers.
    pub fn merge(mut walkers: Vec<AnyWalker>) -> AnyWalker {
        walkers.retain(|walker| walker.doc() != TERMINATED);
        if walkers.len() == 1
            && let Some(walker) = walkers.pop()
        {
            return walker;
        }
        let doc = walkers.iter().map(|walker| walker.doc()).min().unwrap_or(TERMINATED);
        Box::new(Self { walkers, doc })
    }
}

impl DocumentWalker for AnyOfWalker {
    fn doc(&self) -> DocId {
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            self.doc = self.walkers.iter_mut().map(|walker| walker.seek(target)).min().unwrap_or(TERMINATED);
        }
        self.doc
    }

    fn points(&mut self) -> u32 {
        let doc = self.doc;
        self.walkers.iter_mut().filter(|walker| walker.doc() == doc).map(|walker| walker.points()).max().unwrap_or(0)
    }

    fn cost(&self) -> u64 {
        self.walkers.iter().map(|walker| walker.cost()).sum()
    }
}

/// A walk over the documents of all of some walkers and of none of others; points are summed.
pub(super) struct AllOfWalker {
    walkers: Vec<AnyWalker>,
    excluded: Vec<AnyWalker>,
    doc: DocId,
}

impl AllOfWalker {
    /// Returns a walk over the documents of all of `walkers`, at least one, and none of `excluded`.
    pub fn new(mut walkers: Vec<AnyWalker>, excluded: Vec<AnyWalker>) -> Self {
        walkers.sort_by_key(|walker| walker.cost());
        let mut walker = Self { walkers, excluded, doc: 0 };
        walker.doc = walker.find(0);
        walker
    }

    /// Returns the first document at or behind a target.
    fn find(&mut self, mut target: DocId) -> DocId {
        'target: while target < TERMINATED {
            for walker in &mut self.walkers {
                let doc = walker.seek(target);
                if doc != target {
                    target = doc;
                    continue 'target;
                }
            }
            if self.excluded.iter_mut().any(|walker| walker.seek(target) == target) {
                target += 1;
                continue;
            }
            return target;
        }
        TERMINATED
    }
}

impl DocumentWalker for AllOfWalker {
    fn doc(&self) -> DocId {
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            self.doc = self.find(target);
        }
        self.doc
    }

    fn points(&mut self) -> u32 {
        self.walkers.iter_mut().map(|walker| walker.points()).fold(0, u32::saturating_add)
    }

    fn cost(&self) -> u64 {
        self.walkers.iter().map(|walker| walker.cost()).min().unwrap_or(0)
    }
}

/// A walk over the documents for which a test holds.
pub(super) struct TestWalker<T> {
    test: T,
    max_doc: DocId,
    doc: DocId,
}

impl<T: FnMut(DocId) -> bool> TestWalker<T> {
    /// Returns a walk over the documents for which a test holds. The test sees ascending numbers.
    pub fn new(max_doc: DocId, test: T) -> Self {
        let mut walker = Self { test, max_doc, doc: 0 };
        walker.doc = walker.find(0);
        walker
    }

    /// Returns the first document at or behind a target for which the test holds.
    fn find(&mut self, target: DocId) -> DocId {
        (target..self.max_doc).find(|doc| (self.test)(*doc)).unwrap_or(TERMINATED)
    }
}

impl<T: FnMut(DocId) -> bool> DocumentWalker for TestWalker<T> {
    fn doc(&self) -> DocId {
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            self.doc = self.find(target);
        }
        self.doc
    }

    fn points(&mut self) -> u32 {
        0
    }

    fn cost(&self) -> u64 {
        u64::from(self.max_doc)
    }
}

/// A word of a phrase: the postings of its forms, with positions.
pub(super) struct PhraseSlot {
    /// The distance from the first word of the phrase.
    offset: u32,
    forms: Vec<SegmentPostings>,
}

impl PhraseSlot {
    /// Returns a slot, unless no form occurs.
    pub fn new(offset: u32, forms: Vec<SegmentPostings>) -> Option<Self> {
        (!forms.is_empty()).then_some(Self { offset, forms })
    }

    /// Returns the first document at or behind a target.
    fn seek(&mut self, target: DocId) -> DocId {
        let seek = |form: &mut SegmentPostings| if form.doc() < target { form.seek(target) } else { form.doc() };
        self.forms.iter_mut().map(seek).min().unwrap_or(TERMINATED)
    }

    /// Reads the positions in a document at which the phrase would begin, ascending.
    fn starts(&mut self, doc: DocId, positions: &mut Vec<u32>) {
        let offset = self.offset;
        positions.clear();
        for form in self.forms.iter_mut().filter(|form| form.doc() == doc) {
            form.append_positions_with_offset(0, positions);
        }
        positions.retain(|position| *position >= offset);
        positions.iter_mut().for_each(|position| *position -= offset);
        positions.sort_unstable();
    }
}

/// A walk over the documents in which words stand side by side.
pub(super) struct PhraseWalker {
    slots: Vec<PhraseSlot>,
    points: u32,
    doc: DocId,
    starts: Vec<u32>,
    positions: Vec<u32>,
}

impl PhraseWalker {
    /// Returns a walk over the documents in which the words of at least one slot stand in order.
    pub fn new(slots: Vec<PhraseSlot>, points: u32) -> Self {
        let mut walker = Self { slots, points, doc: 0, starts: Vec::new(), positions: Vec::new() };
        walker.doc = walker.find(0);
        walker
    }

    /// Returns the first document at or behind a target.
    fn find(&mut self, mut target: DocId) -> DocId {
        'target: while target < TERMINATED {
            for slot in &mut self.slots {
                let doc = slot.seek(target);
                if doc != target {
                    target = doc;
                    continue 'target;
                }
            }
            if self.is_match(target) {
                return target;
            }
            target += 1;
        }
        TERMINATED
    }

    /// Reports whether the words stand side by side in a document that has them all.
    fn is_match(&mut self, doc: DocId) -> bool {
        for (number, slot) in self.slots.iter_mut().enumerate() {
            if number == 0 {
                slot.starts(doc, &mut self.starts);
                continue;
            }
            slot.starts(doc, &mut self.positions);
            let positions = &self.positions;
            self.starts.retain(|start| positions.binary_search(start).is_ok());
            if self.starts.is_empty() {
                return false;
            }
        }
        !self.starts.is_empty()
    }
}

impl DocumentWalker for PhraseWalker {
    fn doc(&self) -> DocId {
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            self.doc = self.find(target);
        }
        self.doc
    }

    fn points(&mut self) -> u32 {
        self.points
    }

    fn cost(&self) -> u64 {
        let slot_cost = |slot: &PhraseSlot| slot.forms.iter().map(|form| u64::from(form.size_hint())).sum::<u64>();
        self.slots.iter().map(slot_cost).min().unwrap_or(0)
    }
}
