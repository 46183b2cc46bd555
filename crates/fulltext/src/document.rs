//! Documents, their categories, and the filter that decides who may find them.

use crate::index::SegmentColumns;

/// A value of documents by which results are counted and restricted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Category {
    /// The kind of the document.
    Kind,
    /// The family of the document's type.
    Family,
    /// The type of the document.
    Type,
    /// The status of the document, if it has one.
    Status,
    /// The author of the document.
    Author,
}

impl Category {
    /// All categories.
    pub const ALL: [Self; 5] = [Self::Kind, Self::Family, Self::Type, Self::Status, Self::Author];

    /// Returns the name of the category, in queries too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Family => "family",
            Self::Type => "type",
            Self::Status => "status",
            Self::Author => "author",
        }
    }

    /// Returns the category with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.name() == name)
    }

    /// Returns the index of the category in [`Category::ALL`].
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// A document to be found by its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexDocument {
    /// The identity of the document. A document with the same key is replaced.
    pub key: u128,
    /// A value that a [`DocumentFilter`] decides by; this crate gives it no meaning.
    pub place: u128,
    /// The document that this one is part of, if any; see [`crate::TextIndex::remove_parts`].
    pub container: Option<u128>,
    /// The revision of the document; see [`crate::TextIndex::revision_of`].
    pub revision: u64,
    /// A flag for a [`DocumentFilter`].
    pub visible: bool,
    /// Names for a [`DocumentFilter`].
    pub owners: Vec<String>,
    /// The value of [`Category::Kind`]; an empty one counts as none.
    pub kind: String,
    /// The value of [`Category::Family`]; an empty one counts as none.
    pub family: String,
    /// The value of [`Category::Type`]; an empty one counts as none.
    pub type_name: String,
    /// The value of [`Category::Status`].
    pub status: Option<String>,
    /// The value of [`Category::Author`]; an empty one counts as none.
    pub author: String,
    /// The time of creation in milliseconds since 1970.
    pub created_ms: i64,
    /// The time of the last change in milliseconds since 1970.
    pub modified_ms: i64,
    /// The language of the words, for example `de`, `de-AT` or `deu`.
    ///
    /// `None` or an unknown code stands for the first language of the index. Words of a language
    /// that the index does not have are found in the written form only.
    pub language: Option<String>,
    /// The name of the document.
    pub name: String,
    /// The titles of the document.
    pub titles: Vec<String>,
    /// The texts of the document.
    pub texts: Vec<String>,
    /// Names and texts of small fields, for `field:value` only.
    pub fields: Vec<(String, String)>,
}

impl IndexDocument {
    /// Returns the values of the categories that the document has.
    pub(crate) fn category_values(&self) -> impl Iterator<Item = (Category, &str)> {
        Category::ALL.into_iter().filter_map(|category| {
            let value = match category {
                Category::Kind => &self.kind,
                Category::Family => &self.family,
                Category::Type => &self.type_name,
                Category::Status => self.status.as_ref()?,
                Category::Author => &self.author,
            };
            (!value.is_empty()).then_some((category, value.as_str()))
        })
    }

    /// Returns the length of all texts of the document in bytes.
    pub(crate) fn text_bytes(&self) -> usize {
        let fields = self.fields.iter().map(|(name, text)| name.len() + text.len());
        let texts = self.texts.iter().chain(&self.titles).chain(&self.owners).map(String::len);
        self.name.len() + texts.chain(fields).sum::<usize>()
    }
}

/// The decision which documents a caller may find.
///
/// A filter that fails keeps its error for itself and returns `false`.
pub trait DocumentFilter {
    /// Reports whether the caller may find a document.
    fn admits(&self, document: &FilterFields<'_>) -> bool;
}

/// The values of a document that a [`DocumentFilter`] decides by. Each is read when it is asked
/// for.
pub struct FilterFields<'a> {
    columns: &'a SegmentColumns,
    /// The number of the document in the segment.
    doc: tantivy::DocId,
}

impl<'a> FilterFields<'a> {
    /// Returns the values of a document of a segment.
    pub(crate) fn of(columns: &'a SegmentColumns, doc: tantivy::DocId) -> Self {
        Self { columns, doc }
    }

    /// Returns [`IndexDocument::key`].
    pub fn key(&self) -> u128 {
        self.columns.key(self.doc)
    }

    /// Returns [`IndexDocument::place`].
    pub fn place(&self) -> u128 {
        self.columns.place(self.doc)
    }

    /// Returns [`IndexDocument::kind`].
    pub fn kind(&self) -> &'a str {
        self.columns.kind(self.doc)
    }

    /// Reports whether [`IndexDocument::visible`] is set.
    pub fn is_visible(&self) -> bool {
        self.columns.is_visible(self.doc)
    }

    /// Reports whether [`IndexDocument::owners`] contains a name, which is compared exactly.
    pub fn has_owner(&self, name: &str) -> bool {
        self.columns.has_owner(self.doc, name)
    }
}
