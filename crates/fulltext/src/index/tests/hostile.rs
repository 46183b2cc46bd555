//! Tests of large and strange texts and queries, and of segments with many deletions.

use std::time::{Duration, Instant};

use super::{VisibleFilter, document, keys, open, query};
use crate::analysis::{MAX_DOCUMENT_WORDS, MAX_WORD_CHARS};
use crate::document::Category;
use crate::index::matching::SearchClock;
use crate::index::*;
use crate::query::{MAX_QUERY_BYTES, QueryOptions, SearchQuery};

#[test]
fn large_texts_are_indexed_up_to_their_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    index.put(document(1, "", &"ä".repeat(5_000_000))).unwrap();
    let distinct: String = (0..1_000_000).map(|number| format!("w{number} ")).collect();
    index.put(document(2, "", &distinct)).unwrap();
    index.put(document(3, "", &"a-".repeat(3_000_000))).unwrap();
    index.put(document(4, "", &"e\u{301}\u{302}".repeat(1_000_000))).unwrap();
    index.put(document(5, "", &"\u{ad}\u{200b}\u{0}".repeat(1_000_000))).unwrap();
    index.commit(1).unwrap();
    assert_eq!(keys(&index, &"a".repeat(MAX_WORD_CHARS)), [1]);
    assert_eq!(keys(&index, &format!("w{}", MAX_DOCUMENT_WORDS - 10)), [2]);
    assert_eq!(keys(&index, &format!("w{MAX_DOCUMENT_WORDS}")), [0u128; 0]);
    assert_eq!(keys(&index, "w*"), [2]);
    assert_eq!(keys(&index, "\"a a a a a a a a a a a a a a a a a a a a\""), [3]);
    assert_eq!(index.documents(), 5);
}

#[test]
fn strange_texts_and_queries_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    let texts = [
        "\u{fffd}\u{fffe}\u{ffff} \u{d7ff}\u{e000} \u{10ffff}",
        "\u{0}a\u{0}b \u{1b}[0m \u{7f}",
        "🏳️‍🌈 👨‍👩‍👧 e\u{20dd}",
        "\u{202e}olleh\u{202c} \u{feff}bom",
        "'''' ---- .... '-'-'",
        "a\u{300}\u{301}\u{302}\u{303}\u{304}",
    ];
    for (key, text) in texts.iter().enumerate() {
        let mut document = document(key as u128, text, text);
        document.fields = vec![("a\0b".to_owned(), (*text).to_owned()), (String::new(), (*text).to_owned())];
        document.owners = vec![(*text).to_owned(), String::new()];
        document.author = (*text).to_owned();
        document.language = Some((*text).to_owned());
        index.put(document).unwrap();
    }
    index.commit(1).unwrap();
    for text in texts.iter().copied().chain(["a\u{0}b:x", "*", "-\"", "a:b:c", "\"\u{0}\"", "::", "a**"]) {
        for as_you_type in [false, true] {
            let options = QueryOptions { as_you_type, ..QueryOptions::default() };
            let query = SearchQuery::parse(text, options).unwrap();
            index.search(&SearchRequest::new(&query, &VisibleFilter)).unwrap();
            index.suggest(text, &VisibleFilter, 5).unwrap();
        }
    }
    assert_eq!(keys(&index, "olleh"), [3]);
    let deep = format!("\"{}\"", "a ".repeat(60));
    assert!(deep.len() < MAX_QUERY_BYTES && keys(&index, &deep).is_empty());
}

#[test]
fn a_search_ends_at_its_deadline() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    index.put(document(1, "Haus", "")).unwrap();
    index.commit(1).unwrap();
    let query = query("haus");
    let mut request = SearchRequest::new(&query, &VisibleFilter);
    request.deadline = Some(Instant::now());
    assert!(matches!(index.search(&request), Err(SearchError::TimedOut)));
    request.deadline = Some(Instant::now() + Duration::from_secs(600));
    assert_eq!(index.search(&request).unwrap().total, 1);
    // Loops over all values or words of a segment end at it, too.
    let (searcher, over) = (index.reader.searcher(), SearchClock { deadline: Some(Instant::now()) });
    let reader = searcher.segment_reader(0);
    let choice = SegmentColumns::open(reader).unwrap().category_choice(Category::Type, &[], over);
    assert!(matches!(choice, Err(SearchError::TimedOut)));
    assert!(matches!(WordFilters::default().of(reader, &index.fields, over), Err(SearchError::TimedOut)));
}

#[test]
fn segments_with_many_deletions_are_purged() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    for key in 0..100 {
        index.put(document(key, "Haus", "Garten")).unwrap();
    }
    index.commit(1).unwrap();
    for key in 0..30 {
        index.remove(key);
    }
    index.commit(2).unwrap();
    // The merge runs on its own thread; searches see its result at the next commit.
    let started = Instant::now();
    loop {
        index.commit(3).unwrap();
        let searcher = index.reader.searcher();
        let deleted: u32 = searcher.segment_readers().iter().map(|segment| segment.num_deleted_docs()).sum();
        if deleted == 0 {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{deleted} documents are not purged");
        std::thread::yield_now();
    }
    assert_eq!(index.documents(), 70);
}

#[test]
fn documents_with_one_key_put_at_the_same_time_leave_one() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..50 {
                    index.put(document(round % 5, "Haus", "Garten")).unwrap();
                }
            });
        }
        scope.spawn(|| (0..5).for_each(|number| index.commit(number).unwrap()));
    });
    index.commit(9).unwrap();
    assert_eq!((index.documents(), keys(&index, "haus").len()), (5, 5));
}
