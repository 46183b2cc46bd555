//! Rows that were damaged while the server was stopped: a container that can't be loaded, however
//! often it is tried.

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use stet_domain::clock::{Clock, ManualClock, SystemClock};
use stet_domain::drawer::HEAD;
use stet_domain::id::Loid;
use stet_domain::store::{ChangeSet, ReadLevel, RowChange, RowReader, Store, Table};

use super::*;

/// Writes a row without any checks, and returns the previous value.
fn put(house: &House, table: Table, key: &Bytes, value: Bytes) -> Bytes {
    let store = house.store();
    let before = store.get(ReadLevel::Committed, table, key).expect("the row can be read").expect("it is there");
    let (done, outcome) = std::sync::mpsc::channel();
    let set = ChangeSet {
        changes: vec![RowChange { table, key: key.clone(), value: Some(value) }],
        ..ChangeSet::fence(store.epoch(), move |decided| done.send(decided).expect("the test waits"))
    };
    store.submit(set).expect("it is taken");
    outcome.recv().expect("it is answered").expect("it is on disk");
    store.close();
    before
}

#[test]
fn a_damaged_container_is_unavailable_alone_until_its_rows_are_restored() {
    let mut house = House::empty();
    house.clock = Some(ManualClock::at(SystemClock.now_ms()));
    house.start();
    let client = house.client();
    let (damaged, sound) = (client.drawer("/Corrupt", "damaged", 10), client.drawer("/Corrupt", "sound", 10));
    let story = client.story("/Corrupt", "story");
    let item = |drawer: &str| format!("/v3/container/drawer/{}/item/{}", encoded(drawer), encoded(&story));
    for drawer in [&damaged, &sound] {
        client.post(&item(drawer), &json!({})).ok();
    }
    house.stop();
    let loid: Loid = damaged.parse().expect("a drawer's id is a loid");
    let head = HEAD.place(loid, &[]).key;
    let whole = put(&house, Table::Parts, &head, Bytes::from_static(b"\xffdamaged"));
    assert!(house.faults().iter().any(|fault| fault.contains("parts")), "{:?}", house.faults());

    house.start();
    let client = house.client();
    let quarantines = house.metric("stet_container_quarantines_total{family=\"drawer\"}");
    let read = format!("/v3/container/drawer/{}", encoded(&damaged));
    for round in 1..=2 {
        let refused = client.get(&read).fails(500, "RepositoryError");
        assert!(refused["message"].as_str().is_some_and(|text| text.contains("not available for now")), "{refused}");
        client.delete(&item(&damaged)).fails(500, "RepositoryError");
        let counted = house.metric("stet_container_quarantines_total{family=\"drawer\"}");
        assert_eq!(counted, quarantines + f64::from(round), "it is not tried all the time");
        assert_eq!(house.metric("stet_containers_quarantined{family=\"drawer\"}"), 1.0);
        assert_eq!(house.readiness(), (200, String::new()), "one container is not the server");
        assert_eq!(client.items(&sound), std::slice::from_ref(&story));
        client.get(&format!("/v3/object/{}", encoded(&story))).ok();
        // After this it is tried again, and fails again.
        let clock = house.clock.clone().expect("it was given");
        clock.advance(Duration::from_secs(house.config.runtime.quarantine_seconds));
    }
    client.delete(&item(&sound)).ok();
    house.stop();
    put(&house, Table::Parts, &head, whole);
    assert_eq!(house.faults(), Vec::<String>::new());
    house.start();
    assert_eq!(house.client().items(&damaged), std::slice::from_ref(&story), "nothing of it was lost");
    assert_eq!(house.client().items(&sound), Vec::<String>::new());
}

/// The name of a story that lies on the pages that are spoilt.
const NEEDLE: &str = "needle-in-the-tables";

fn pages_that_cannot_be_read(panics: bool) {
    let mut house = House::empty();
    // Every read reaches the disk.
    house.config.memory.pages_bytes = 1;
    house.start();
    let story = house.client().story("/Corrupt", NEEDLE);
    house.stop();
    house.start();
    let client = house.client();
    // Its session is in memory from now on.
    client.get("/v3/folder/home").ok();
    assert!(house.disk.spoil(StoreFile::State, NEEDLE.as_bytes(), panics) > 0);
    let path = format!("/v3/object/{}", encoded(&story));
    for _ in 0..2 {
        client.get(&path).fails(500, "RepositoryError");
    }
    wait_until("it is told", || house.readiness() != (200, String::new()));
    assert_eq!(house.metric("stet_store_healthy"), 0.0);
    // Changes that do not need the damaged rows succeed, others are refused, and no call waits for
    // ever.
    let drawer = client.post("/v3/container/drawer", &json!({ "name": "meanwhile", "folderPath": "/Elsewhere" }));
    assert!(matches!(drawer.status, 200 | 500), "{drawer:?}");
    house.disk.mend();
    wait_until("the server is well again, by itself", || house.readiness() == (200, String::new()));
    // What could not be read is tried again after a moment.
    wait_until("it can be read again", || client.get(&path).status == 200);
    house.lose_power(1);
    house.start();
    house.client().get(&path).ok();
    let made = house.client().get(&format!("/v3/object/{}", encoded("/Elsewhere/meanwhile"))).status;
    assert_eq!(made == 200, drawer.status == 200);
}

#[test]
fn unreadable_pages_are_reported_and_reads_recover_with_them() {
    pages_that_cannot_be_read(false);
}

#[test]
fn pages_whose_reading_panics_are_reported_and_reads_recover_with_them() {
    pages_that_cannot_be_read(true);
}

#[test]
fn a_start_with_unreadable_users_names_the_directory_and_the_damage() {
    let mut house = House::empty();
    let admin = Bytes::from_static(b"admin");
    let whole = put(&house, Table::Users, &admin, Bytes::from_static(b"\xffdamaged"));
    let message = house.try_start().expect_err("nobody could log in");
    let data = house.data().to_string_lossy().into_owned();
    assert!(message.starts_with(&data) && message.contains("state.redb is damaged"), "{message}");
    put(&house, Table::Users, &admin, whole);
    house.start();
}
