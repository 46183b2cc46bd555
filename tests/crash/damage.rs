//! Reports of `stet check` about a damaged directory.

use stet_domain::id::Loid;
use stet_domain::object::{Record, name_key};
use stet_domain::store::{ChangeSet, ReadLevel, Row, RowChange, RowReader, Store, Table, decode_value};
use stet_store::{RedbStore, StoreOptions};

use crate::harness::*;

#[test]
fn a_damaged_index_is_told_of_by_check_with_an_exit_code_of_its_own() {
    let mut server = Server::start();
    let story = server.login("editor").story(&own_folder(), "a.xml");
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
    damage(server.data(), &story);
    let (code, output) = server.check();
    assert_eq!(code, Some(4), "{output}");
    assert!(output.contains(&story) && output.contains("names/1"), "{output}");
    // It changes nothing, so it finds the same again.
    assert_eq!(server.check().0, Some(4));
}

/// Takes the name of an object out of its folder, which no command does.
fn damage(data: &std::path::Path, story: &str) {
    let store = RedbStore::open(StoreOptions::new(data)).expect("the store opens");
    let loid: Loid = story.parse().expect("it is a loid");
    let record = store.get(ReadLevel::Committed, Table::Objects, &loid.to_key()).expect("it can be read");
    let record: Record = decode_value(Record::FORMAT, &record.expect("it is there")).expect("it can be read");
    let folder = record.folder().expect("it lies in a folder");
    let (sender, answer) = std::sync::mpsc::channel();
    let mut set = ChangeSet::fence(store.epoch(), move |outcome| sender.send(outcome).expect("the test waits"));
    set.changes.push(RowChange { table: Table::Names, key: name_key(folder, &record.name), value: None });
    store.submit(set).expect("it is taken");
    answer.recv().expect("it is answered").expect("it is committed");
    store.close();
}
