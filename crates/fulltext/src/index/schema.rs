//! The fields of the index.

use tantivy::schema::{
    Field, IndexRecordOption, IpAddrOptions, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};

use super::word_list::WORD_LIST;
use crate::document::Category;

/// The version of the fields. An index of another version is built anew.
pub(crate) const SCHEMA_VERSION: u32 = 2;

/// The names of columns.
pub(super) mod column {
    pub const KEY: &str = "key";
    pub const PLACE: &str = "place";
    pub const REVISION: &str = "revision";
    pub const VISIBLE: &str = "visible";
    pub const OWNERS: &str = "owners";
    pub const CREATED: &str = "created";
    pub const MODIFIED: &str = "modified";
    pub const SORT_NAME: &str = "sort_name";
}

/// A field of words in two forms.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordFields {
    /// The written forms with their positions.
    pub written: Field,
    /// The stems, each with the tag of its language.
    pub stems: Field,
}

/// The fields of the index.
#[derive(Clone, Debug)]
pub(super) struct IndexFields {
    pub schema: Schema,
    pub key: Field,
    pub place: Field,
    pub container: Field,
    pub revision: Field,
    pub visible: Field,
    pub owners: Field,
    pub created: Field,
    pub modified: Field,
    pub sort_name: Field,
    /// The columns of the categories, in the order of [`Category::ALL`].
    pub categories: [Field; Category::ALL.len()],
    pub name: WordFields,
    pub titles: WordFields,
    pub texts: WordFields,
    /// The words of categories and small fields: the name of the field, a separator, the word.
    pub small: Field,
    /// The entries of German compounds.
    pub compounds: Field,
    /// The spellings of words with marks or signs: a written form, a separator, the word in lower
    /// case.
    pub spellings: Field,
}

impl IndexFields {
    /// Returns the fields.
    pub fn new() -> Self {
        let mut builder = Schema::builder();
        let identity = IpAddrOptions::default();
        let number = NumericOptions::default().set_fast();
        let value = TextOptions::default().set_fast("raw");
        let key = builder.add_ip_addr_field(column::KEY, identity.clone().set_indexed().set_fast());
        let place = builder.add_ip_addr_field(column::PLACE, identity.clone().set_fast());
        let container = builder.add_ip_addr_field("container", identity.set_indexed());
        let revision = builder.add_u64_field(column::REVISION, number.clone());
        let visible = builder.add_bool_field(column::VISIBLE, number.clone());
        let owners = builder.add_text_field(column::OWNERS, value.clone());
        let created = builder.add_i64_field(column::CREATED, number.clone());
        let modified = builder.add_i64_field(column::MODIFIED, number);
        let sort_name = builder.add_text_field(column::SORT_NAME, value.clone());
        let categories = Category::ALL.map(|category| builder.add_text_field(category.name(), value.clone()));
        let mut word_fields = |name: &str| WordFields {
            written: builder
                .add_text_field(&format!("{name}_written"), words(IndexRecordOption::WithFreqsAndPositions)),
            stems: builder.add_text_field(&format!("{name}_stems"), words(IndexRecordOption::Basic)),
        };
        let (name, titles, texts) = (word_fields("name"), word_fields("titles"), word_fields("texts"));
        let small = builder.add_text_field("small", words(IndexRecordOption::WithFreqsAndPositions));
        let compounds = builder.add_text_field("compounds", words(IndexRecordOption::Basic));
        let spellings = builder.add_text_field("spellings", words(IndexRecordOption::Basic));
        let schema = builder.build();
        Self {
            schema,
            key,
            place,
            container,
            revision,
            visible,
            owners,
            created,
            modified,
            sort_name,
            categories,
            name,
            titles,
            texts,
            small,
            compounds,
            spellings,
        }
    }
}

/// Returns the options of a field of words that were analysed before.
fn words(option: IndexRecordOption) -> TextOptions {
    let indexing = TextFieldIndexing::default().set_tokenizer(WORD_LIST).set_fieldnorms(false).set_index_option(option);
    TextOptions::default().set_indexing_options(indexing)
}
