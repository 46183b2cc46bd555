//! The columns of a segment: values of documents by their numbers.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::net::Ipv6Addr;

use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocId, SegmentReader};

use super::matching::SearchClock;
use super::schema::column;
use crate::Result;
use crate::analysis::fold_value;
use crate::document::{Category, DocumentFilter, FilterFields};

/// The columns of a segment, for one search.
pub(crate) struct SegmentColumns {
    key: Column<Ipv6Addr>,
    place: Column<Ipv6Addr>,
    revision: Column<u64>,
    visible: Column<bool>,
    created: Column<i64>,
    modified: Column<i64>,
    owners: Option<StrColumn>,
    sort_name: Option<StrColumn>,
    categories: [Option<StrColumn>; Category::ALL.len()],
    /// The values of the column of kinds, which are few.
    kinds: OnceCell<Vec<String>>,
    /// The numbers of the owners' names that were asked for.
    owner_numbers: RefCell<HashMap<String, Option<u64>>>,
}

impl SegmentColumns {
    /// Opens the columns of a segment.
    pub fn open(reader: &SegmentReader) -> Result<Self> {
        let fields = reader.fast_fields();
        let mut categories = [const { None }; Category::ALL.len()];
        for category in Category::ALL {
            categories[category.index()] = fields.str(category.name())?;
        }
        Ok(Self {
            key: fields.ip_addr(column::KEY)?,
            place: fields.ip_addr(column::PLACE)?,
            revision: fields.u64(column::REVISION)?,
            visible: fields.bool(column::VISIBLE)?,
            created: fields.i64(column::CREATED)?,
            modified: fields.i64(column::MODIFIED)?,
            owners: fields.str(column::OWNERS)?,
            sort_name: fields.str(column::SORT_NAME)?,
            categories,
            kinds: OnceCell::new(),
            owner_numbers: RefCell::default(),
        })
    }

    /// Returns the number of documents that the columns have values for.
    pub fn documents(&self) -> [u32; 6] {
        [
            self.key.num_docs(),
            self.place.num_docs(),
            self.revision.num_docs(),
            self.visible.num_docs(),
            self.created.num_docs(),
            self.modified.num_docs(),
        ]
    }

    /// Returns the key of a document.
    pub fn key(&self, doc: DocId) -> u128 {
        self.key.first(doc).map_or(0, u128::from)
    }

    /// Returns the revision of a document.
    pub fn revision(&self, doc: DocId) -> u64 {
        self.revision.first(doc).unwrap_or_default()
    }

    /// Returns the time of creation of a document.
    pub fn created(&self, doc: DocId) -> i64 {
        self.created.first(doc).unwrap_or_default()
    }

    /// Returns the time of the last change of a document.
    pub fn modified(&self, doc: DocId) -> i64 {
        self.modified.first(doc).unwrap_or_default()
    }

    /// Returns the number of the name of a document in the order of names.
    pub fn name_number(&self, doc: DocId) -> u64 {
        self.sort_name.as_ref().and_then(|column| column.ords().first(doc)).unwrap_or_default()
    }

    /// Returns the name with a number.
    pub fn name(&self, number: u64) -> Result<String> {
        value_of(self.sort_name.as_ref(), number)
    }

    /// Returns the column of a category.
    pub fn category(&self, category: Category) -> Option<&StrColumn> {
        self.categories[category.index()].as_ref()
    }

    /// Returns the value of a category with a number.
    pub fn category_value(&self, category: Category, number: u64) -> Result<String> {
        value_of(self.category(category), number)
    }

    /// Returns for each value of a category whether it is one of some folded values.
    pub(super) fn category_choice(
        &self,
        category: Category,
        folded: &[String],
        clock: SearchClock,
    ) -> Result<Vec<bool>> {
        let mut choice = Vec::new();
        if let Some(column) = self.category(category) {
            let mut values = column.dictionary().stream()?;
            while values.advance() {
                clock.check_at(choice.len())?;
                let value = String::from_utf8_lossy(values.key());
                choice.push(folded.contains(&fold_value(&value)));
            }
        }
        Ok(choice)
    }

    /// Reports whether a filter admits a document.
    pub fn is_admitted(&self, doc: DocId, filter: &dyn DocumentFilter) -> bool {
        filter.admits(&FilterFields::of(self, doc))
    }

    /// Returns the place of a document.
    pub fn place(&self, doc: DocId) -> u128 {
        self.place.first(doc).map_or(0, u128::from)
    }

    /// Reports whether the flag of a document is set.
    pub fn is_visible(&self, doc: DocId) -> bool {
        self.visible.first(doc).unwrap_or_default()
    }

    /// Returns the kind of a document.
    pub fn kind(&self, doc: DocId) -> &str {
        let Some(column) = self.category(Category::Kind) else { return "" };
        let kinds = self.kinds.get_or_init(|| {
            let count = column.dictionary().num_terms() as u64;
            (0..count).map(|number| value_of(Some(column), number).unwrap_or_default()).collect()
        });
        column.ords().first(doc).and_then(|number| kinds.get(number as usize)).map_or("", String::as_str)
    }

    /// Reports whether a document has an owner.
    pub fn has_owner(&self, doc: DocId, name: &str) -> bool {
        let Some(column) = &self.owners else { return false };
        let known = self.owner_numbers.borrow().get(name).copied();
        let number = known.unwrap_or_else(|| {
            let number = column.dictionary().term_ord(name).ok().flatten();
            self.owner_numbers.borrow_mut().insert(name.to_owned(), number);
            number
        });
        number.is_some_and(|number| column.ords().values_for_doc(doc).any(|other| other == number))
    }
}

/// Returns the value of a column with a number.
fn value_of(column: Option<&StrColumn>, number: u64) -> Result<String> {
    let mut value = String::new();
    if let Some(column) = column {
        column.ord_to_str(number, &mut value)?;
    }
    Ok(value)
}
