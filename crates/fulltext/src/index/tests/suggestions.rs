//! Tests of suggestions.

use super::{VisibleFilter, document, open};

#[test]
fn suggestions_are_words_of_admitted_documents() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    index.put(document(1, "Münster und München, munter und Musik mit Müller", "Mumie")).unwrap();
    index.put(document(2, "München Mueller", "Mumie")).unwrap();
    let mut hidden = document(3, "Muskat", "Museum");
    hidden.visible = false;
    index.put(hidden).unwrap();
    index.commit(1).unwrap();
    let suggest = |text: &str, limit| index.suggest(text, &VisibleFilter, limit).unwrap();
    assert_eq!(suggest("Neues aus Mü", 10), ["müller", "münchen", "munter", "musik", "münster"]);
    assert_eq!(suggest("mü", 2), ["müller", "münchen"]);
    assert_eq!(suggest("mus", 10), ["musik"]);
    assert_eq!(suggest("musik", 10), [""; 0]);
    assert_eq!(suggest("mu ", 10), [""; 0]);
    assert_eq!(suggest("", 10), [""; 0]);
    index.put(document(4, "harbour-ferry.xml, rock'n'roll and a Café-Bar", "")).unwrap();
    index.commit(2).unwrap();
    assert_eq!(suggest("harb", 10), ["harbour", "harbour-ferry.xml"]);
    assert_eq!(suggest("rock", 10), ["rock'n'roll"]);
    assert_eq!(suggest("caf", 10), ["café", "café-bar"]);
    index.remove(1);
    index.commit(3).unwrap();
    assert_eq!(suggest("mu", 10), ["mueller", "münchen"]);
}
