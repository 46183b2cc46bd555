//! Filters that tell quickly that a segment lacks a word.
//!
//! A look-up in a dictionary takes a microsecond or two, and each possible part of a compound takes
//! one in every dictionary. Nearly all are in vain. A Bloom filter for each segment answers those
//! in some nanoseconds. It is built when a query first needs it, and kept while the segment exists.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;
use tantivy::SegmentReader;
use tantivy::index::SegmentId;

use super::matching::SearchClock;
use super::schema::IndexFields;
use crate::Result;

/// The bits of a filter for each term: about one word in a hundred is looked up in vain.
const BITS_PER_TERM: usize = 10;

/// The number of bits that are set for a term.
const HASHES: u64 = 4;

/// The filters of the present segments.
#[derive(Default)]
pub(super) struct WordFilters(Mutex<HashMap<SegmentId, Arc<WordFilter>>>);

impl WordFilters {
    /// Returns the filter of a segment.
    ///
    /// # Errors
    ///
    /// An error is returned if the segment can't be read, or the time is over.
    pub fn of(&self, reader: &SegmentReader, fields: &IndexFields, clock: SearchClock) -> Result<Arc<WordFilter>> {
        let id = reader.segment_id();
        if let Some(filter) = self.0.lock().get(&id) {
            return Ok(filter.clone());
        }
        let filter = Arc::new(WordFilter::of(reader, fields, clock)?);
        self.0.lock().insert(id, filter.clone());
        Ok(filter)
    }

    /// Drops the filters of segments that no longer exist.
    pub fn retain(&self, segments: &[SegmentReader]) {
        let mut filters = self.0.lock();
        filters.retain(|id, _| segments.iter().any(|reader| reader.segment_id() == *id));
    }
}

/// The words of a segment, of which some may only seem to be there.
pub(super) struct WordFilter {
    bits: Vec<u64>,
}

impl WordFilter {
    fn of(reader: &SegmentReader, fields: &IndexFields, clock: SearchClock) -> Result<WordFilter> {
        let all = [fields.texts, fields.titles, fields.name].map(|field| [field.stems, field.written]);
        let dictionaries: Vec<_> =
            all.iter().flatten().map(|field| reader.inverted_index(*field)).collect::<tantivy::Result<_>>()?;
        let terms: usize = dictionaries.iter().map(|inverted| inverted.terms().num_terms()).sum();
        let mut filter = WordFilter { bits: vec![0; (terms * BITS_PER_TERM).div_ceil(64).max(1)] };
        for inverted in &dictionaries {
            let (mut stream, mut read) = (inverted.terms().stream()?, 0);
            while stream.advance() {
                clock.check_at(read)?;
                read += 1;
                filter.places(stream.key()).for_each(|place| filter.bits[place / 64] |= 1 << (place % 64));
            }
        }
        Ok(filter)
    }

    /// Reports whether the segment may have a term. If not, it has none.
    pub fn may_have(&self, term: &str) -> bool {
        self.places(term.as_bytes()).all(|place| self.bits[place / 64] >> (place % 64) & 1 == 1)
    }

    fn places(&self, term: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let mut hasher = DefaultHasher::new();
        term.hash(&mut hasher);
        let (hash, bits) = (hasher.finish(), self.bits.len() as u64 * 64);
        let step = hash.rotate_left(32) | 1;
        (0..HASHES).map(move |number| (hash.wrapping_add(number.wrapping_mul(step)) % bits) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_have_every_term_and_few_others() {
        let mut filter = WordFilter { bits: vec![0; 1000 * BITS_PER_TERM / 64] };
        for number in 0..1000 {
            let term = format!("word{number}");
            filter.places(term.as_bytes()).for_each(|place| filter.bits[place / 64] |= 1 << (place % 64));
        }
        assert!((0..1000).all(|number| filter.may_have(&format!("word{number}"))));
        let others = (0..10_000).filter(|number| filter.may_have(&format!("other{number}"))).count();
        assert!(others < 500, "{others}");
    }
}
