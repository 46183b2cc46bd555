//! Search in everything that a caller may read (docs/api/search.md).
//!
//! The index of `stet-fulltext` follows the store. [`ChangedObjects`] notes which objects each
//! commit has changed, and the [`feed`] reads these objects from the store and puts their
//! [`documents`] into the index, 400 ms after the first change. The index is never
//! in the way of a change, and nothing depends on it but search.
//!
//! At the start, and whenever too much has changed at once, the feed compares the whole store with
//! the index by the revisions of objects ([`comparison`]). So an index that is missing, damaged or
//! outdated needs no other care. Until the comparison is done, results are marked as incomplete.
//!
//! The [`rights`] of the caller are part of the query: they decide on each matching document, by
//! the place of its object, before it is counted. The index knows the folder of an object only,
//! never those above, so moving a folder changes nothing in it.
//!
//! Readers start at [`NewsroomSearch`].

mod changes;
mod comparison;
mod documents;
mod feed;
mod fields;
mod index;
mod results;
mod rights;
mod service;

pub use stet_fulltext::{Category, MAX_QUERY_BYTES, QueryOptions, SearchQuery, SortOrder};

pub use self::changes::ChangedObjects;
pub use self::documents::KINDS;
pub use self::feed::FeedThread;
pub use self::results::{FoundItem, Hit, HitHighlight, SearchPage};
pub use self::service::{NewsroomSearch, SearchCriteria, SearchState, WaitTarget};
