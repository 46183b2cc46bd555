//! Searches: one walk over the matching documents of each segment.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;
use std::time::Instant;

use tantivy::{DocId, SegmentReader, TERMINATED};

use super::TextIndex;
use super::columns::SegmentColumns;
use super::matching::{SearchClock, SegmentMatcher};
use super::walkers::advance;
use crate::Result;
use crate::analysis::fold_value;
use crate::document::{Category, DocumentFilter};
use crate::query::SearchQuery;

/// The largest sum of offset and limit of a search.
pub const MAX_RESULT_WINDOW: usize = 10_000;

/// The most values of a category that are counted in a result. Others may make any number of them,
/// such as types of their own.
pub const MAX_FACET_VALUES: usize = 100;

/// The order of results.
///
/// Documents that are equal by it are ordered by the last change, the latest first, and then by
/// key, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortOrder {
    /// The sum of points of the query's words.
    ///
    /// A word has constant points by the best place that it matches: in a name or title 100 as
    /// written, 80 by its stem, 60 as a prefix, 50 as a part of a compound; in a text 40, 30, 20
    /// and 10. Each word of a phrase has the points as written. Frequencies do not count, so that
    /// documents that the caller may not find have no influence.
    #[default]
    Relevance,
    /// The time of the last change.
    Modified,
    /// The time of creation.
    Created,
    /// The name without case and marks.
    Name,
}

/// A search.
pub struct SearchRequest<'a> {
    /// The query.
    pub query: &'a SearchQuery,
    /// The decision which documents the caller may find.
    pub filter: &'a dyn DocumentFilter,
    /// Categories and values, of which a document must have one each; compared without case.
    pub include: Vec<(Category, Vec<String>)>,
    /// The first time of the last change in milliseconds.
    pub modified_from_ms: Option<i64>,
    /// The time behind the last one.
    pub modified_to_ms: Option<i64>,
    /// The order of results.
    pub sort: SortOrder,
    /// The direction. `None` stands for the natural one: names ascend, all else descends.
    pub ascending: Option<bool>,
    /// The categories whose values are counted.
    pub facets: Vec<Category>,
    /// The largest number of keys.
    pub limit: usize,
    /// The number of first keys that are left out.
    pub offset: usize,
    /// The time at which the search is given up.
    pub deadline: Option<Instant>,
}

impl<'a> SearchRequest<'a> {
    /// Returns a search for the ten best results.
    pub fn new(query: &'a SearchQuery, filter: &'a dyn DocumentFilter) -> Self {
        Self {
            query,
            filter,
            include: Vec::new(),
            modified_from_ms: None,
            modified_to_ms: None,
            sort: SortOrder::Relevance,
            ascending: None,
            facets: Vec::new(),
            limit: 10,
            offset: 0,
            deadline: None,
        }
    }

    /// Reports whether the smallest values are the first.
    fn is_ascending(&self) -> bool {
        self.ascending.unwrap_or(self.sort == SortOrder::Name)
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundDocuments {
    /// The number of all documents found.
    pub total: u64,
    /// The keys of the documents from offset to limit.
    pub keys: Vec<u128>,
    /// The counted values of the categories asked for: the most frequent first, then by value, at
    /// most [`MAX_FACET_VALUES`] of each.
    pub facets: Vec<(Category, Vec<(String, u64)>)>,
}

/// The rank of a document in its segment; larger is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DocumentRank {
    primary: i64,
    modified: i64,
    key: u128,
}

/// A document among the best ones, with its name if results are sorted by it.
struct BestDocument {
    rank: DocumentRank,
    name: String,
}

impl TextIndex {
    /// Finds documents in the last commit.
    ///
    /// # Errors
    ///
    /// [`crate::SearchError::TimedOut`] is returned if the deadline passes, and
    /// [`crate::SearchError::Storage`] if the index can't be read.
    ///
    /// # Panics
    ///
    /// The sum of offset and limit must be at most [`MAX_RESULT_WINDOW`].
    pub fn search(&self, request: &SearchRequest<'_>) -> Result<FoundDocuments> {
        let window = request.offset.saturating_add(request.limit);
        assert!(window <= MAX_RESULT_WINDOW, "offset and limit are within the window of results");
        let clock = SearchClock { deadline: request.deadline };
        clock.check()?;
        let searcher = self.reader.searcher();
        let segments = searcher
            .segment_readers()
            .iter()
            .map(|reader| Ok((reader, Rc::new(SegmentColumns::open(reader)?))))
            .collect::<Result<Vec<_>>>()?;
        let compounds = self.compound_stems(&segments, request.query, request.filter, clock)?;
        let mut walk = SearchWalk::new(request, window, clock);
        for (reader, columns) in &segments {
            let matcher = SegmentMatcher {
                reader,
                columns,
                fields: &self.fields,
                languages: &self.languages.stemmed,
                compounds: &compounds,
                clock,
            };
            walk.walk_segment(&matcher)?;
        }
        Ok(walk.into_found())
    }
}

/// A segment and its columns.
pub(super) type OpenSegment<'a> = (&'a SegmentReader, Rc<SegmentColumns>);

/// The state of a search across segments.
struct SearchWalk<'a> {
    request: &'a SearchRequest<'a>,
    include: Vec<(Category, Vec<String>)>,
    window: usize,
    clock: SearchClock,
    total: u64,
    best: Vec<BestDocument>,
    facets: Vec<HashMap<String, u64>>,
}

impl<'a> SearchWalk<'a> {
    /// Returns the state before the first segment.
    fn new(request: &'a SearchRequest<'a>, window: usize, clock: SearchClock) -> Self {
        let fold = |values: &Vec<String>| values.iter().map(|value| fold_value(value)).collect();
        Self {
            request,
            include: request.include.iter().map(|(category, values)| (*category, fold(values))).collect(),
            window,
            clock,
            total: 0,
            best: Vec::new(),
            facets: vec![HashMap::new(); request.facets.len()],
        }
    }

    /// Walks over the matching documents of a segment.
    fn walk_segment(&mut self, matcher: &SegmentMatcher<'_>) -> Result<()> {
        let columns = matcher.columns;
        let mut choices = Vec::new();
        for (category, values) in &self.include {
            choices.push((*category, columns.category_choice(*category, values, self.clock)?));
        }
        let mut counts: Vec<Vec<u64>> = Vec::new();
        for category in &self.request.facets {
            counts.push(vec![0; columns.category(*category).map_or(0, |column| column.dictionary().num_terms())]);
        }
        let mut walker = matcher.walker(self.request.query)?;
        let mut heap = BinaryHeap::new();
        let mut walked = 0;
        let mut doc = walker.doc();
        while doc != TERMINATED {
            self.clock.check_at(walked)?;
            walked += 1;
            if !matcher.reader.is_deleted(doc) && self.is_included(columns, &choices, doc) {
                self.total += 1;
                for (category, counts) in self.request.facets.iter().zip(&mut counts) {
                    let number = columns.category(*category).and_then(|column| column.ords().first(doc));
                    if let Some(count) = number.and_then(|number| counts.get_mut(number as usize)) {
                        *count += 1;
                    }
                }
                if self.window > 0 {
                    let rank = self.rank_without_key(columns, doc, || walker.points());
                    push_best(&mut heap, rank, self.window, || columns.key(doc));
                }
            }
            doc = advance(walker.as_mut());
        }
        self.end_segment(columns, heap, counts)
    }

    /// Reports whether a matching document is found: by categories, dates and the filter.
    fn is_included(&self, columns: &SegmentColumns, choices: &[(Category, Vec<bool>)], doc: DocId) -> bool {
        let chosen = choices.iter().all(|(category, choice)| {
            let number = columns.category(*category).and_then(|column| column.ords().first(doc));
            number.is_some_and(|number| choice.get(number as usize).copied().unwrap_or_default())
        });
        if !chosen {
            return false;
        }
        let request = self.request;
        if request.modified_from_ms.is_some() || request.modified_to_ms.is_some() {
            let time = columns.modified(doc);
            if request.modified_from_ms.is_some_and(|from| time < from)
                || request.modified_to_ms.is_some_and(|to| time >= to)
            {
                return false;
            }
        }
        columns.is_admitted(doc, request.filter)
    }

    /// Returns the rank of a document with 0 in place of the key.
    fn rank_without_key(&self, columns: &SegmentColumns, doc: DocId, points: impl FnOnce() -> u32) -> DocumentRank {
        let modified = columns.modified(doc);
        let value = match self.request.sort {
            SortOrder::Relevance => i64::from(points()),
            SortOrder::Modified => modified,
            SortOrder::Created => columns.created(doc),
            SortOrder::Name => columns.name_number(doc) as i64,
        };
        // The complement reverses the order of all values, the smallest included.
        let primary = if self.request.is_ascending() { !value } else { value };
        DocumentRank { primary, modified, key: 0 }
    }

    /// Adds the results of a segment to those of the search.
    fn end_segment(
        &mut self,
        columns: &SegmentColumns,
        heap: BinaryHeap<Reverse<DocumentRank>>,
        counts: Vec<Vec<u64>>,
    ) -> Result<()> {
        for Reverse(mut rank) in heap {
            let mut name = String::new();
            if self.request.sort == SortOrder::Name {
                let number = if self.request.is_ascending() { !rank.primary } else { rank.primary };
                name = columns.name(number as u64)?;
                rank.primary = 0;
            }
            self.best.push(BestDocument { rank, name });
        }
        for ((category, counts), facet) in self.request.facets.iter().zip(counts).zip(&mut self.facets) {
            for (number, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
                *facet.entry(columns.category_value(*category, number as u64)?).or_default() += count;
            }
        }
        Ok(())
    }

    /// Returns the result.
    fn into_found(self) -> FoundDocuments {
        let ascending = self.request.is_ascending();
        let mut best = self.best;
        best.sort_unstable_by(|one, other| {
            let names = if ascending { one.name.cmp(&other.name) } else { other.name.cmp(&one.name) };
            names.then_with(|| other.rank.cmp(&one.rank))
        });
        let keys = best.iter().skip(self.request.offset).take(self.request.limit).map(|best| best.rank.key).collect();
        let facets = self.request.facets.iter().zip(self.facets).map(|(category, facet)| {
            let mut values: Vec<(String, u64)> = facet.into_iter().collect();
            values.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
            values.truncate(MAX_FACET_VALUES);
            (*category, values)
        });
        FoundDocuments { total: self.total, keys, facets: facets.collect() }
    }
}

/// Adds a rank to the best ones, at most `window`. Its key is read only if it may be among them.
fn push_best(
    heap: &mut BinaryHeap<Reverse<DocumentRank>>,
    rank: DocumentRank,
    window: usize,
    key: impl FnOnce() -> u128,
) {
    let worst = heap.peek().filter(|_| heap.len() >= window).map(|Reverse(worst)| *worst);
    if worst.is_some_and(|worst| (rank.primary, rank.modified) < (worst.primary, worst.modified)) {
        return;
    }
    let rank = DocumentRank { key: key(), ..rank };
    match worst {
        None => heap.push(Reverse(rank)),
        Some(worst) if worst < rank => {
            heap.pop();
            heap.push(Reverse(rank));
        }
        Some(_) => {}
    }
}
