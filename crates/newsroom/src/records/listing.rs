//! Sorting and paging of listings (docs/api/README.md, "Paging and sorting").

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use stet_base::limits::yielding;
use stet_base::limits::{PIECE, Reservation};
use stet_base::nearest::with_nearest;
use stet_domain::error::{Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::{Record, SharedText, normal_form};

/// A field that listings can be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SortField {
    Name,
    Type,
    Created,
    Modified,
    Id,
    Creator,
    LastModifier,
    IssueDate,
    Status,
    Version,
}

impl SortField {
    const ALL: &'static [(&'static str, SortField)] = &[
        ("name", SortField::Name),
        ("type", SortField::Type),
        ("created", SortField::Created),
        ("modified", SortField::Modified),
        ("id", SortField::Id),
        ("creator", SortField::Creator),
        ("lastModifier", SortField::LastModifier),
        ("issueDate", SortField::IssueDate),
        ("status", SortField::Status),
        ("version", SortField::Version),
    ];

    fn of(self, record: &Record) -> SortValue {
        let text = |text: &SharedText| SortValue::Text(Some(text.clone()));
        match self {
            // The normal form, in which names are compared everywhere.
            SortField::Name => SortValue::Text(Some(match normal_form(&record.name) {
                Cow::Borrowed(_) => record.name.clone(),
                Cow::Owned(name) => name.into(),
            })),
            SortField::Type => text(&record.type_name),
            SortField::Created => SortValue::Number(record.created),
            SortField::Modified => SortValue::Number(record.modified),
            SortField::Id => SortValue::Id(record.loid),
            SortField::Creator => text(&record.creator),
            SortField::LastModifier => text(&record.last_modifier),
            SortField::IssueDate => SortValue::Text(record.issue_date.clone()),
            SortField::Status => SortValue::Text(record.status.clone()),
            SortField::Version => SortValue::Number(record.version.into()),
        }
    }
}

/// A parsed `sortBy`: `field`, `-field` or `field:asc|desc`, comma-separated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sort(Vec<(SortField, bool)>);

impl Sort {
    /// Parses a `sortBy`. None or a blank one keeps the listing's own order.
    ///
    /// # Errors
    /// `InvalidParameter` for an unknown field or direction.
    pub fn parse(text: Option<&str>) -> Result<Sort> {
        parse_sort(text, SortField::ALL).map(Sort)
    }

    /// Reports whether the listing keeps its own order.
    pub fn keeps_order(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the sort key of a record.
    fn key(&self, record: &Record) -> Box<[SortKeyPart]> {
        let part = |(field, down): &(SortField, bool)| {
            let value = field.of(record);
            if *down { SortKeyPart::Down(Reverse(value)) } else { SortKeyPart::Up(value) }
        };
        self.0.iter().map(part).collect()
    }
}

/// The value of a field in a record.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SortValue {
    Text(Option<SharedText>),
    Number(u64),
    Id(Loid),
}

/// A part of a sort key. Parts at the same index are of the same variant.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SortKeyPart {
    Up(SortValue),
    Down(Reverse<SortValue>),
}

/// An entry of a listing that is sorted. Entries that are equal keep their order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SortedEntry {
    key: Box<[SortKeyPart]>,
    place: usize,
    loid: Loid,
}

impl SortedEntry {
    /// Returns the estimated bytes of an entry, sorting included; shared texts count in full.
    fn bytes(&self) -> usize {
        let text = |part: &SortKeyPart| match part {
            SortKeyPart::Up(SortValue::Text(Some(text))) | SortKeyPart::Down(Reverse(SortValue::Text(Some(text)))) => {
                text.len() + 32
            }
            _ => 0,
        };
        let texts: usize = self.key.iter().map(text).sum();
        3 * size_of::<SortedEntry>() + 16 + size_of_val(&*self.key) + texts
    }
}

/// A bounded collection of the entries of a listing. It keeps no more entries than the requested
/// page can have, and of each only its sort key and loid. The memory is reserved from the budget.
pub struct PageCollector {
    sort: Sort,
    page: ListingPage,
    taken: Reservation,
    /// The bytes in memory.
    bytes: usize,
    /// The number of all entries.
    total: usize,
    /// The page, if the listing keeps its own order.
    in_order: Vec<Loid>,
    /// The first entries, if the listing is sorted, with the last of them on top.
    first: BinaryHeap<SortedEntry>,
}

impl PageCollector {
    /// Creates an empty collection that takes its memory with `taken`.
    pub fn new(sort: Sort, page: ListingPage, taken: Reservation) -> PageCollector {
        PageCollector { sort, page, taken, bytes: 0, total: 0, in_order: Vec::new(), first: BinaryHeap::new() }
    }

    /// Counts bytes in memory beside the entries. Returns whether the budget has room for them.
    #[must_use]
    pub fn counts(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        // Small collections need no reservation, because the number of connections is bounded.
        // Larger ones reserve in pieces.
        self.bytes <= PIECE || self.taken.try_grow_to(self.bytes.next_multiple_of(PIECE) as u64)
    }

    /// Adds the next entry. Returns whether the budget has room for it.
    #[must_use]
    pub fn push(&mut self, record: &Record) -> bool {
        let place = self.total;
        self.total += 1;
        let ListingPage { offset, limit } = self.page;
        let behind = if limit == 0 { 0 } else { offset.saturating_add(limit) };
        if self.sort.keeps_order() {
            if place < offset || place >= behind {
                return true;
            }
            self.in_order.push(record.loid);
            return self.counts(2 * size_of::<Loid>());
        }
        if behind == 0 {
            return true;
        }
        let entry = SortedEntry { key: self.sort.key(record), place, loid: record.loid };
        let bytes = entry.bytes();
        if self.first.len() < behind {
            self.first.push(entry);
        } else if let Some(mut last) = self.first.peek_mut() {
            if entry < *last {
                self.bytes -= last.bytes();
                *last = entry;
            } else {
                return true;
            }
        }
        self.counts(bytes)
    }

    /// Returns the page and the number of all entries.
    pub async fn page(self) -> (Vec<Loid>, usize) {
        if self.sort.keeps_order() {
            return (self.in_order, self.total);
        }
        let sorted = yielding::sort_yielding(self.first.into_vec(), SortedEntry::cmp).await;
        (self.page.cut(sorted).into_iter().map(|entry| entry.loid).collect(), self.total)
    }
}

/// Compares two entries by the first field in which they differ. `compare` compares by one field.
pub fn in_order<F: Copy>(sort: &[(F, bool)], compare: impl Fn(F) -> Ordering) -> Ordering {
    let mut fields = sort.iter().map(|(field, down)| {
        let order = compare(*field);
        if *down { order.reverse() } else { order }
    });
    fields.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Parses `sortBy` into fields, each with whether it descends.
///
/// # Errors
/// `InvalidParameter` for a field that is not among `fields`, a repeated field, or an unknown
/// direction. Also for a text longer than all fields together could be.
pub fn parse_sort<F: Copy + PartialEq>(text: Option<&str>, fields: &[(&str, F)]) -> Result<Vec<(F, bool)>> {
    let text = text.unwrap_or_default();
    if text.len() > MAX_SORT_BYTES {
        return Err(Error::parameter("sortBy", text, &format!("a text of at most {MAX_SORT_BYTES} bytes")));
    }
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let parse = |part: &str| {
        let refuse = || {
            let known: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            let wanted = format!("`field`, `-field` or `field:asc|desc`, where `field` is one of {}", known.join(", "));
            let field = part.trim_start_matches('-').split(':').next().unwrap_or_default();
            with_nearest(Error::parameter("sortBy", part, &wanted), field, known)
        };
        let (name, down) = match (part.strip_prefix('-'), part.split_once(':')) {
            (Some(name), None) => (name, true),
            (None, Some((name, "asc"))) => (name, false),
            (None, Some((name, "desc"))) => (name, true),
            (None, None) => (part, false),
            _ => return Err(refuse()),
        };
        let found = fields.iter().find(|(known, _)| *known == name);
        found.map(|(_, field)| (*field, down)).ok_or_else(refuse)
    };
    let mut sort: Vec<(F, bool)> = Vec::new();
    for part in parts {
        let (field, down) = parse(part)?;
        // A repeated field has no effect on the order.
        if sort.iter().any(|(known, _)| *known == field) {
            return Err(Error::parameter("sortBy", part, "a list without duplicate fields"));
        }
        sort.push((field, down));
    }
    Ok(sort)
}

/// The largest `sortBy` in bytes: far more than all fields with their directions need.
const MAX_SORT_BYTES: usize = 1024;

/// The requested part of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListingPage {
    /// The number of entries to skip.
    pub offset: usize,
    /// The largest number of entries; `usize::MAX` for all.
    pub limit: usize,
}

impl ListingPage {
    /// The whole listing.
    pub const WHOLE: ListingPage = ListingPage { offset: 0, limit: usize::MAX };

    /// Returns the index after its last entry.
    pub fn end(self) -> usize {
        self.offset.saturating_add(self.limit)
    }

    /// Returns the page's part of all entries.
    pub fn cut<T>(self, entries: Vec<T>) -> Vec<T> {
        entries.into_iter().skip(self.offset).take(self.limit).collect()
    }
}

#[cfg(test)]
mod tests {
    use stet_base::limits::{Holder, MemoryBudget, MemoryPurpose};
    use stet_domain::id::DatabaseId;
    use stet_domain::object::FamilyKind;

    use super::*;

    /// Returns records of which many have equal values.
    fn records(count: u64) -> Vec<Record> {
        let record = |number: u64| {
            let (loid, mixed) = (Loid::new(DatabaseId::FIRST, number), number.wrapping_mul(2_654_435_761) >> 7);
            let name = format!("{}", mixed % 13);
            let mut record = Record::new(loid, &name, "Story", FamilyKind::Document, &"mia".into(), 0);
            record.created = mixed % 5;
            record.status = (!mixed.is_multiple_of(3)).then(|| format!("{}", mixed % 2).into());
            record
        };
        (1..=count).map(record).collect()
    }

    fn reservation(budget: &MemoryBudget) -> Reservation {
        budget.reservation(Some(Holder::User("mia".into())), MemoryPurpose::Replies)
    }

    async fn gathered(
        sort: &str,
        page: ListingPage,
        records: &[Record],
        pool: &MemoryBudget,
    ) -> Option<(Vec<Loid>, usize)> {
        let sort = Sort::parse(Some(sort)).expect("it can be sorted by that");
        let mut gathering = PageCollector::new(sort, page, reservation(pool));
        let has_room = records.iter().all(|record| gathering.push(record));
        if has_room { Some(gathering.page().await) } else { None }
    }

    #[tokio::test]
    async fn a_page_is_what_sorting_all_and_cutting_would_give() {
        let (records, pool) = (records(300), MemoryBudget::new(1 << 20));
        type Compare = fn(&Record, &Record) -> Ordering;
        let sorts: [(&str, Compare); 5] = [
            ("", |_, _| Ordering::Equal),
            ("name", |a, b| a.name.cmp(&b.name)),
            ("-status", |a, b| b.status.cmp(&a.status)),
            ("created:desc,name", |a, b| b.created.cmp(&a.created).then(a.name.cmp(&b.name))),
            ("-id", |a, b| b.loid.cmp(&a.loid)),
        ];
        for (sort, compare) in sorts {
            let mut sorted: Vec<&Record> = records.iter().collect();
            sorted.sort_by(|a, b| compare(a, b));
            for (offset, limit) in [
                (0, usize::MAX),
                (0, 0),
                (7, 0),
                (0, 1),
                (0, 20),
                (13, 20),
                (290, 20),
                (300, 5),
                (900, 5),
                (usize::MAX, 2),
            ] {
                let page = ListingPage { offset, limit };
                let wanted = page.cut(sorted.iter().map(|record| record.loid).collect());
                let found = gathered(sort, page, &records, &pool).await;
                assert_eq!(found, Some((wanted, 300)), "{sort} {offset} {limit}");
            }
        }
        assert_eq!(pool.reserved(), 0);
    }

    #[tokio::test]
    async fn a_page_collector_counts_its_memory_and_keeps_only_one_page() {
        let records = records(10_000);
        let all = ListingPage { offset: 0, limit: usize::MAX };
        let few = ListingPage { offset: 100, limit: 50 };
        let small = MemoryBudget::new(3 * PIECE as u64);
        assert_eq!(gathered("name", all, &records, &small).await, None, "there is no room for all");
        let found = gathered("name", few, &records, &small).await.expect("there is room for a page");
        assert_eq!((found.0.len(), found.1), (50, 10_000));
        let large = MemoryBudget::new(1 << 30);
        let mut gathering = PageCollector::new(Sort::parse(Some("-name")).unwrap(), all, reservation(&large));
        assert!(gathering.counts(5 * PIECE) && records.iter().all(|record| gathering.push(record)));
        let bytes: usize = gathering.first.iter().map(SortedEntry::bytes).sum::<usize>() + 5 * PIECE;
        assert_eq!(gathering.bytes, bytes);
        assert_eq!(large.reserved(), bytes.next_multiple_of(PIECE) as u64);
        drop(gathering);
        assert_eq!(large.reserved(), 0);
    }

    #[test]
    fn a_sort_is_written_in_three_ways() {
        assert_eq!(
            Sort::parse(Some("-name, modified:asc ,type:desc")).unwrap().0,
            [(SortField::Name, true), (SortField::Modified, false), (SortField::Type, true)]
        );
        assert!(Sort::parse(Some("")).unwrap().0.is_empty());
        let all: Vec<String> = SortField::ALL.iter().map(|(name, _)| format!("{name}:desc")).collect();
        assert_eq!(Sort::parse(Some(&all.join(" , "))).unwrap().0.len(), all.len());
        for text in ["name,name", "type,name,-name", "id:asc,name,id:desc"] {
            assert!(Sort::parse(Some(text)).unwrap_err().message.contains("duplicate fields"), "{text}");
        }
        for text in [",".repeat(4 << 20), "name,".repeat(1 << 20)] {
            assert!(Sort::parse(Some(&text)).unwrap_err().message.contains("at most 1024 bytes"));
        }
        for text in ["colour", "-name:asc", "name:up", "-"] {
            assert!(Sort::parse(Some(text)).unwrap_err().message.contains(text), "{text}");
        }
    }
}
