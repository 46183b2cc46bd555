//! Tests of the index.

mod compounds;
mod damage;
mod hostile;
mod model;
mod suggestions;

use std::path::Path;

use super::*;
use crate::document::{Category, DocumentFilter, FilterFields};
use crate::query::{QueryOptions, SearchQuery};

/// Admits all documents that are visible.
pub(crate) struct VisibleFilter;

impl DocumentFilter for VisibleFilter {
    fn admits(&self, document: &FilterFields<'_>) -> bool {
        document.is_visible()
    }
}

pub(crate) fn settings(languages: &[&str]) -> IndexSettings {
    IndexSettings { languages: languages.iter().map(|code| (*code).to_owned()).collect(), writer_bytes: 0 }
}

pub(crate) fn open(dir: &Path) -> TextIndex {
    TextIndex::open(dir, &settings(&["de", "en"])).unwrap().0
}

pub(crate) fn document(key: u128, title: &str, text: &str) -> IndexDocument {
    IndexDocument {
        key,
        visible: true,
        kind: "story".to_owned(),
        type_name: "Article".to_owned(),
        modified_ms: key as i64 * 1000,
        created_ms: -(key as i64),
        name: title.to_owned(),
        titles: vec![title.to_owned()],
        texts: vec![text.to_owned()],
        ..IndexDocument::default()
    }
}

pub(crate) fn query(text: &str) -> SearchQuery {
    SearchQuery::parse(text, QueryOptions::default()).unwrap()
}

pub(crate) fn keys(index: &TextIndex, text: &str) -> Vec<u128> {
    index.search(&SearchRequest::new(&query(text), &VisibleFilter)).unwrap().keys
}

#[test]
fn documents_are_found_replaced_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    assert_eq!(index.state(), None);
    index.put(document(1, "Haushalt", "Der Minister sprach über Häuser.")).unwrap();
    index.put(document(2, "Sport", "Ein Spiel im Haus.")).unwrap();
    let mut hidden = document(3, "Haus", "");
    hidden.visible = false;
    hidden.container = Some(7);
    hidden.revision = 12;
    index.put(hidden).unwrap();
    index.commit(5).unwrap();
    assert_eq!(index.state(), Some(5));
    assert_eq!(keys(&index, "haus"), [2, 1]);
    assert_eq!(keys(&index, "haus -spiel"), [1]);
    assert_eq!(keys(&index, "\"im haus\""), [2]);
    assert_eq!(keys(&index, "spr*"), [1]);
    assert_eq!(keys(&index, "type:article sport OR minister"), [2, 1]);
    assert_eq!(index.parts_of(7).unwrap(), [(3, 12)]);
    assert_eq!(index.revision_of(3).unwrap(), Some(12));
    assert_eq!(index.keys_after(Some(1), 1).unwrap(), [(2, 0)]);
    index.put(document(2, "Sport", "Anders")).unwrap();
    index.remove(1);
    index.remove_parts(7);
    assert_eq!(index.documents(), 3);
    index.commit(6).unwrap();
    assert_eq!(keys(&index, "haus"), [0u128; 0]);
    assert_eq!(index.documents(), 1);
    assert_eq!(index.keys_after(None, 10).unwrap(), [(2, 0)]);
    drop(index);
    let (index, outcome) = TextIndex::open(&dir.path().join("index"), &settings(&["de", "en"])).unwrap();
    assert_eq!((outcome, index.state()), (OpenOutcome::Opened, Some(6)));
    assert_eq!(keys(&index, "anders"), [2]);
}

#[test]
fn facets_and_spellings_have_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    for key in 0..(MAX_FACET_VALUES as u128 + 20) {
        // Marks of any number and order make other spellings of one word.
        let marks: String = (0..7).map(|bit| if key >> bit & 1 == 1 { '\u{301}' } else { '\u{300}' }).collect();
        let mut document = document(key, &format!("wort{marks}"), "");
        document.type_name = format!("type{key:03}");
        index.put(document).unwrap();
    }
    index.commit(1).unwrap();
    let query = query("");
    let mut request = SearchRequest::new(&query, &VisibleFilter);
    request.facets = vec![Category::Type];
    let found = index.search(&request).unwrap();
    assert_eq!((found.total, found.facets[0].1.len()), (MAX_FACET_VALUES as u64 + 20, MAX_FACET_VALUES));
    assert_eq!(found.facets[0].1[0], ("type000".to_owned(), 1));
    let suggested = index.suggest("wor", &VisibleFilter, 1000).unwrap();
    assert!((1..=16).contains(&suggested.len()), "{}", suggested.len());
}

#[test]
fn facets_sorts_and_pages_count_admitted_documents() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    for key in 1..=9 {
        let mut document = document(key, &format!("Nr{}", 10 - key), "Wort");
        document.kind = if key % 3 == 0 { "picture" } else { "story" }.to_owned();
        document.visible = key != 4;
        index.put(document).unwrap();
        if key % 4 == 0 {
            index.commit(key as u64).unwrap();
        }
    }
    index.commit(10).unwrap();
    let query = query("wort");
    let mut request = SearchRequest::new(&query, &VisibleFilter);
    request.facets = vec![Category::Kind, Category::Status];
    request.sort = SortOrder::Name;
    request.limit = 3;
    request.offset = 1;
    let found = index.search(&request).unwrap();
    assert_eq!((found.total, found.keys), (8, vec![8, 7, 6]));
    let kinds = vec![("story".to_owned(), 5), ("picture".to_owned(), 3)];
    assert_eq!(found.facets, [(Category::Kind, kinds), (Category::Status, vec![])]);
    request.include = vec![(Category::Kind, vec!["PICTURE".to_owned()])];
    request.sort = SortOrder::Created;
    request.offset = 0;
    assert_eq!(index.search(&request).unwrap().keys, [3, 6, 9]);
    request.modified_to_ms = Some(9000);
    assert_eq!(index.search(&request).unwrap().keys, [3, 6]);
}
