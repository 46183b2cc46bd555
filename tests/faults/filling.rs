//! A first start on a disk that fails: the next one begins anew.

use std::collections::BTreeMap;

use stet_domain::store::{KeyRange, ReadLevel, RowReader, Table};

use super::*;

/// Returns the number of rows of each kind.
fn rows(house: &House) -> BTreeMap<&'static str, usize> {
    let store = house.store();
    let count = |table: Table| {
        store
            .scan(ReadLevel::Committed, table, &KeyRange::prefix(&[]), usize::MAX, false)
            .expect("it can be read")
            .len()
    };
    let rows = Table::ALL.iter().map(|table| (table.name(), count(*table))).collect();
    store.close();
    rows
}

/// Returns the rows after an undisturbed first start, and the number of syncs until it listens.
fn undisturbed() -> (BTreeMap<&'static str, usize>, u64) {
    let mut house = House::new_directory();
    house.start();
    let syncs = house.disk.syncs();
    house.stop();
    (rows(&house), syncs)
}

/// Lets a first start meet this fault at every n-th sync. Then the machine loses power, or has room
/// again.
fn at_some_syncs(fault: DiskFault, times: u64, begin: u64) {
    let (wanted, syncs) = undisturbed();
    let stride = setting("STET_FAULT_STRIDE").unwrap_or(3).max(1) * 16;
    let mut anew = 0;
    for at in (1..=syncs).filter(|at| at % stride == begin % stride) {
        let mut house = House::new_directory();
        house.disk.plan(FaultPlan { at, times, fault });
        let begun = house.try_start();
        // Late in a start there may be no need for more room.
        assert!(house.disk.struck() > 0 || fault == DiskFault::NoRoom, "{at}: the fault never came");
        let marker = house.data().join("filling");
        if begun.is_ok() {
            // A fault that passed.
            house.disk.heal();
            house.stop();
        } else {
            // The start may have finished just before the fault.
            anew += usize::from(marker.exists());
        }
        house.lose_power(at);
        house.start();
        assert!(!marker.exists(), "{at}");
        house.stop();
        assert_eq!(house.faults(), Vec::<String>::new(), "{at}");
        assert_eq!(rows(&house), wanted, "{at}");
    }
    assert!(anew > 0);
}

#[test]
fn a_first_start_with_too_little_room_reports_that_the_disk_is_full() {
    let mut refused = 0;
    for (at, times) in (1..=16).flat_map(|at| [(at, 1), (at, 3)]) {
        let mut house = House::new_directory();
        // Some writes find no room, and others after them do.
        house.disk.plan(FaultPlan { at, times, fault: DiskFault::Full });
        if let Err(message) = house.try_start() {
            refused += 1;
            assert!(
                message.contains("the disk is full") || message.contains("No space left"),
                "{at}, {times}: {message}"
            );
            assert!(message.contains(&*house.data().to_string_lossy()), "{at}, {times}: {message}");
            assert!(!message.contains("try again"), "{at}, {times}: {message}");
        } else {
            house.disk.heal();
            house.stop();
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_first_start_that_ends_with_a_loss_of_power_is_begun_anew() {
    at_some_syncs(DiskFault::Crash, 1, 1);
}

#[test]
fn a_first_start_that_finds_no_room_is_begun_anew_when_there_is() {
    at_some_syncs(DiskFault::NoRoom, u64::MAX, 7);
}
