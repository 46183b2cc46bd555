//! The way from a query to a walk over the matching documents of a segment.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use tantivy::postings::SegmentPostings;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{InvertedIndexReader, SegmentReader, Term};

use super::columns::SegmentColumns;
use super::documents::{joined_term, small_field_name};
use super::schema::{IndexFields, WordFields};
use super::walkers::{AllOfWalker, AnyOfWalker, AnyWalker, BitsWalker, DocumentBits};
use super::walkers::{PhraseSlot, PhraseWalker, TermWalker, TestWalker};
use crate::analysis::{AnalysedWord, StemLanguage};
use crate::query::{DateCondition, FieldScope, LeafCondition, QueryLeaf, SearchQuery, WordCondition};
use crate::{Result, SearchError};

/// The most words that the last word of an unquoted joined word stands for, in a segment.
const MAX_PHRASE_PREFIX_TERMS: usize = 1_000;

/// The points of a word by the place and the form of its best match.
#[derive(Clone, Copy)]
pub(super) struct MatchPoints {
    pub exact: u32,
    pub stem: u32,
    pub prefix: u32,
    pub compound: u32,
}

/// The points of matches in names and titles.
pub(super) const HEAD_POINTS: MatchPoints = MatchPoints { exact: 100, stem: 80, prefix: 60, compound: 50 };

/// The points of matches in texts and small fields.
pub(super) const BODY_POINTS: MatchPoints = MatchPoints { exact: 40, stem: 30, prefix: 20, compound: 10 };

/// The number of steps of a loop between two looks at the clock.
const STEPS_PER_CLOCK: usize = 512;

/// The end of the time that a search may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchClock {
    pub deadline: Option<Instant>,
}

impl SearchClock {
    /// Returns an error if the time is over.
    pub fn check(self) -> Result<()> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(SearchError::TimedOut),
            _ => Ok(()),
        }
    }

    /// Looks at the clock in a loop, at the first step and now and then.
    pub fn check_at(self, step: usize) -> Result<()> {
        if step.is_multiple_of(STEPS_PER_CLOCK) { self.check() } else { Ok(()) }
    }
}

/// The stems of the compounds that a word of a query is part of, by its lower-case form.
pub(super) type CompoundStems = HashMap<String, Vec<String>>;

/// The matching of queries with the documents of a segment.
pub(super) struct SegmentMatcher<'a> {
    pub reader: &'a SegmentReader,
    pub columns: &'a Rc<SegmentColumns>,
    pub fields: &'a IndexFields,
    pub languages: &'a [StemLanguage],
    pub compounds: &'a CompoundStems,
    pub clock: SearchClock,
}

impl SegmentMatcher<'_> {
    /// Returns a walk over the documents that match a query.
    pub fn walker(&self, query: &SearchQuery) -> Result<AnyWalker> {
        let mut walkers = Vec::new();
        let mut excluded = Vec::new();
        for clause in &query.clauses {
            if let [QueryLeaf { negated: true, condition }] = &clause.alternatives[..] {
                excluded.push(self.condition(condition, false)?);
                continue;
            }
            let alternatives = clause.alternatives.iter().map(|leaf| self.leaf(leaf)).collect::<Result<Vec<_>>>()?;
            walkers.push(AnyOfWalker::merge(alternatives));
        }
        if walkers.is_empty() {
            walkers.push(self.all());
        }
        if walkers.len() == 1
            && excluded.is_empty()
            && let Some(walker) = walkers.pop()
        {
            return Ok(walker);
        }
        Ok(Box::new(AllOfWalker::new(walkers, excluded)))
    }

    /// Returns a walk over all documents.
    fn all(&self) -> AnyWalker {
        Box::new(TestWalker::new(self.reader.max_doc(), |_| true))
    }

    /// Returns a walk over the documents that match a condition or do not, as the leaf says.
    fn leaf(&self, leaf: &QueryLeaf) -> Result<AnyWalker> {
        let walker = self.condition(&leaf.condition, !leaf.negated)?;
        if leaf.negated {
            return Ok(Box::new(AllOfWalker::new(vec![self.all()], vec![walker])));
        }
        Ok(walker)
    }

    /// Returns a walk over the documents that match a condition.
    ///
    /// Compounds count only where a document is wanted: `-tor` does not exclude `Burgtor`.
    fn condition(&self, condition: &LeafCondition, wanted: bool) -> Result<AnyWalker> {
        match condition {
            LeafCondition::Dates(dates) => Ok(self.dates(*dates)),
            LeafCondition::Words(words) => self.words(words, wanted),
        }
    }

    /// Returns a walk over the documents in a range of dates.
    fn dates(&self, dates: DateCondition) -> AnyWalker {
        let columns = Rc::clone(self.columns);
        Box::new(TestWalker::new(self.reader.max_doc(), move |doc| {
            let time = if dates.created { columns.created(doc) } else { columns.modified(doc) };
            dates.from.is_none_or(|from| time >= from) && dates.to.is_none_or(|to| time < to)
        }))
    }

    /// Returns a walk over the documents that match a condition about words.
    fn words(&self, condition: &WordCondition, wanted: bool) -> Result<AnyWalker> {
        let fields = self.fields;
        let places: &[(WordFields, MatchPoints)] = match &condition.scope {
            FieldScope::Any => &[(fields.name, HEAD_POINTS), (fields.titles, HEAD_POINTS), (fields.texts, BODY_POINTS)],
            FieldScope::Name => &[(fields.name, HEAD_POINTS)],
            FieldScope::Title => &[(fields.titles, HEAD_POINTS)],
            FieldScope::Text => &[(fields.texts, BODY_POINTS)],
            FieldScope::Small(name) => return self.small_words(&small_field_name(name), condition),
        };
        let mut walkers = Vec::new();
        for (fields, points) in places {
            let place = MatchPlace { written: fields.written, field_name: None, points: *points };
            self.add_written(&place, condition, &mut walkers)?;
            let single = if let [word] = &condition.words[..] { Some(word) } else { None };
            for word in single.into_iter().chain(&condition.whole).filter(|_| !condition.quoted) {
                self.add_stems(*fields, *points, word, &mut walkers)?;
                if wanted {
                    self.add_compounds(*fields, *points, word, &mut walkers)?;
                }
            }
        }
        Ok(AnyOfWalker::merge(walkers))
    }

    /// Returns a walk over the documents that match a condition about a small field.
    fn small_words(&self, name: &str, condition: &WordCondition) -> Result<AnyWalker> {
        let place = MatchPlace { written: self.fields.small, field_name: Some(name), points: BODY_POINTS };
        let mut walkers = Vec::new();
        self.add_written(&place, condition, &mut walkers)?;
        Ok(AnyOfWalker::merge(walkers))
    }

    /// Adds walks over the documents with the written forms of a condition.
    fn add_written(
        &self,
        place: &MatchPlace<'_>,
        condition: &WordCondition,
        walkers: &mut Vec<AnyWalker>,
    ) -> Result<()> {
        let inverted = self.reader.inverted_index(place.written)?;
        if let [word] = &condition.words[..] {
            self.add_word(&inverted, place, word, condition.prefix, walkers)?;
        } else if let Some(walker) = self.phrase(&inverted, place, condition)? {
            walkers.push(walker);
        }
        if let Some(whole) = &condition.whole {
            self.add_word(&inverted, place, whole, condition.prefix, walkers)?;
        }
        Ok(())
    }

    /// Adds walks over the documents with the written forms of a word.
    fn add_word(
        &self,
        inverted: &InvertedIndexReader,
        place: &MatchPlace<'_>,
        word: &AnalysedWord,
        prefix: bool,
        walkers: &mut Vec<AnyWalker>,
    ) -> Result<()> {
        for term in word.written().map(|written| place.term(written)) {
            if let Some(postings) =
                inverted.read_postings(&text_term(place.written, &term), IndexRecordOption::Basic)?
            {
                walkers.push(Box::new(TermWalker::new(postings, place.points.exact)));
            }
        }
        if prefix {
            let mut bits = DocumentBits::new(self.reader.max_doc());
            for term in word.written().map(|written| place.term(written)) {
                self.for_prefix(inverted, &term, usize::MAX, IndexRecordOption::Basic, |mut postings| {
                    bits.insert_all(&mut postings);
                })?;
            }
            walkers.push(Box::new(BitsWalker::new(bits, place.points.prefix)));
        }
        Ok(())
    }

    /// Reads the postings of the terms that begin so, at most `limit` ones.
    fn for_prefix(
        &self,
        inverted: &InvertedIndexReader,
        prefix: &str,
        limit: usize,
        option: IndexRecordOption,
        mut take: impl FnMut(SegmentPostings),
    ) -> Result<()> {
        let mut terms = inverted.terms().range().ge(prefix).into_stream()?;
        let mut count = 0;
        while count < limit && terms.advance() && terms.key().starts_with(prefix.as_bytes()) {
            self.clock.check_at(count)?;
            take(inverted.read_postings_from_terminfo(terms.value(), option)?);
            count += 1;
        }
        Ok(())
    }

    /// Returns a walk over the documents in which the words of a condition stand side by side.
    fn phrase(
        &self,
        inverted: &InvertedIndexReader,
        place: &MatchPlace<'_>,
        condition: &WordCondition,
    ) -> Result<Option<AnyWalker>> {
        let option = IndexRecordOption::WithFreqsAndPositions;
        let first = condition.words.first().map_or(0, |word| word.position);
        let mut slots = Vec::new();
        for (number, word) in condition.words.iter().enumerate() {
            let mut forms = Vec::new();
            for term in word.written().map(|written| place.term(written)) {
                if condition.prefix && number + 1 == condition.words.len() {
                    self.for_prefix(inverted, &term, MAX_PHRASE_PREFIX_TERMS, option, |postings| forms.push(postings))?;
                } else {
                    forms.extend(inverted.read_postings(&text_term(place.written, &term), option)?);
                }
            }
            let Some(slot) = PhraseSlot::new(word.position - first, forms) else { return Ok(None) };
            slots.push(slot);
        }
        let points = place.points.exact.saturating_mul(slots.len() as u32);
        Ok(Some(Box::new(PhraseWalker::new(slots, points))))
    }

    /// Adds walks over the documents with the stems of a word in any language of the index.
    fn add_stems(
        &self,
        fields: WordFields,
        points: MatchPoints,
        word: &AnalysedWord,
        walkers: &mut Vec<AnyWalker>,
    ) -> Result<()> {
        for language in self.languages {
            for stem in language.stems(word) {
                for postings in stem_postings(self.reader, fields, &language.term(&stem))? {
                    walkers.push(Box::new(TermWalker::new(postings, points.stem)));
                }
            }
        }
        Ok(())
    }

    /// Adds a walk over the documents with compounds that a word is part of.
    fn add_compounds(
        &self,
        fields: WordFields,
        points: MatchPoints,
        word: &AnalysedWord,
        walkers: &mut Vec<AnyWalker>,
    ) -> Result<()> {
        let Some(stems) = self.compounds.get(&word.lower).filter(|stems| !stems.is_empty()) else { return Ok(()) };
        let inverted = self.reader.inverted_index(fields.stems)?;
        let mut bits = DocumentBits::new(self.reader.max_doc());
        for stem in stems {
            let term = text_term(fields.stems, stem);
            if let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? {
                bits.insert_all(&mut postings);
            }
        }
        walkers.push(Box::new(BitsWalker::new(bits, points.compound)));
        Ok(())
    }
}

/// A field of written forms and the points of a match in it.
struct MatchPlace<'a> {
    written: Field,
    /// The name of a small field, which its terms begin with.
    field_name: Option<&'a str>,
    points: MatchPoints,
}

impl MatchPlace<'_> {
    /// Returns the term of a written form.
    fn term(&self, written: &str) -> String {
        match self.field_name {
            Some(name) => joined_term(name, written),
            None => written.to_owned(),
        }
    }
}

/// Returns the postings of a stem's term: of words with the stem, and of words written like it.
///
/// Words that are written like their stems are only among the written forms, to save space.
pub(super) fn stem_postings(
    reader: &SegmentReader,
    fields: WordFields,
    term: &str,
) -> Result<impl Iterator<Item = SegmentPostings> + use<>> {
    let stems = reader.inverted_index(fields.stems)?;
    let derived = stems.read_postings(&text_term(fields.stems, term), IndexRecordOption::Basic)?;
    let mut bare = term.chars();
    // The tag of the language.
    bare.next();
    let written = reader.inverted_index(fields.written)?;
    let same = written.read_postings(&text_term(fields.written, bare.as_str()), IndexRecordOption::Basic)?;
    Ok(derived.into_iter().chain(same))
}

/// Returns a term of text.
pub(super) fn text_term(field: Field, text: &str) -> Term {
    Term::from_field_text(field, text)
}
