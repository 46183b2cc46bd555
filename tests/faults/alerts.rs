//! Alerts in `deploy/prometheus/alerts.yml` that a failing disk or a faulty program raises. The
//! others are caused in `tests/operation/metrics/alerts.rs`.

use std::time::Duration;

use serde_json::json;
use stet_domain::clock::{Clock, ManualClock, SystemClock};

use super::mounted::Mounted;
use super::panic::strike;
use super::*;
use crate::operation::metrics::{Cause, Scrape, raises};

fn look(house: &House) -> Scrape {
    Scrape::of(&house.client().base)
}

/// Returns a scrape that reports this state of the store.
fn look_until(house: &House, state: &str) -> Scrape {
    let series = format!("stet_store_state{{state=\"{state}\"}}");
    wait_until(state, || look(house).series.get(&series) == Some(&1.0));
    let scrape = look(house);
    assert_eq!(scrape.series[&series], 1.0, "it lasts");
    scrape
}

fn create(client: &Client, name: &str) -> Answer {
    let options = json!({ "name": name, "type": "Story", "folderPath": "/Alerts" });
    client.upload("/v3/object/create", &options, Some((name, "text/plain", &[b'x'; 20_000])))
}

#[test]
fn a_disk_that_fails_raises_alerts() {
    let house = House::started();
    let client = house.client();
    client.drawer("/Alerts", "drawer", 3);
    let before = look(&house);
    house.disk.plan_for(StoreFile::Journal, FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::Sync });
    create(&client, "refused").fails(500, "RepositoryError");
    let after = look_until(&house, "failing");
    raises(&before, &after, Cause::Once, &["StetStoreBroken", "StetDiskErrors", "StetServerErrors"]);
}

#[test]
fn a_disk_that_is_full_raises_an_alert() {
    let house = House::started();
    let client = house.client();
    client.drawer("/Alerts", "drawer", 3);
    let before = look(&house);
    house.disk.plan(FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::Full });
    create(&client, "refused").fails(507, "StorageFull");
    let after = look_until(&house, "full");
    let refused = "stet_http_server_errors_total{status=\"507\"}";
    assert_eq!(after.series[refused], before.series[refused] + 1.0);
    raises(&before, &after, Cause::Once, &["StetDiskFull"]);
}

#[test]
fn checkpoints_that_fail_raise_alerts() {
    let mut house = House::empty();
    house.config.store.checkpoint_rows = 1;
    house.start();
    let before = look(&house);
    house.disk.plan_for(StoreFile::State, FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::Write });
    assert_eq!(create(&house.client(), "story").status, 200, "changes go on");
    let after = look_until(&house, "lagging");
    raises(&before, &after, Cause::Once, &["StetCheckpointsFail", "StetDiskErrors"]);
}

#[test]
fn a_disk_that_keeps_changes_waiting_raises_alerts() {
    let mut house = House::empty();
    house.clock = Some(ManualClock::at(SystemClock.now_ms()));
    house.start();
    let client = house.client();
    client.drawer("/Alerts", "drawer", 3);
    let before = look(&house);
    house.disk.stall(StoreFile::Journal);
    let other = client.clone();
    let change = std::thread::spawn(move || create(&other, "story").status);
    wait_until("it is with the disk", || house.disk.waiting() == 1);
    let clock = house.clock.clone().expect("it was given");
    clock.advance(Duration::from_secs(5));
    let waits = look(&house);
    raises(&before, &waits, Cause::Once, &["StetCommitWaits"]);
    clock.advance(Duration::from_secs(10));
    raises(&before, &look_until(&house, "stalled"), Cause::Once, &["StetStoreBroken"]);
    // What the disk has taken by the steady clock, which no test sets, is more than the bound by
    // now, or soon is.
    std::thread::sleep(Duration::from_millis(300));
    house.disk.release();
    assert_eq!(change.join().expect("it does not panic"), 200);
    raises(&waits, &look_until(&house, "ok"), Cause::Once, &["StetDiskSlow"]);
}

#[test]
fn a_container_that_fails_raises_an_alert_and_another_if_it_keeps_failing() {
    let house = House::started();
    let drawer = house.client().drawer("/Alerts", "broken", 10);
    let before = look(&house);
    strike(&house, &drawer);
    house.client().items(&drawer);
    let restarted = "stet_container_restarts_total{family=\"drawer\"}";
    wait_until("it is read anew", || look(&house).series[restarted] > before.series[restarted]);
    let after = look(&house);
    raises(&before, &after, Cause::Once, &["StetContainerRestarts"]);
    for _ in 0..house.config.runtime.failures_allowed {
        strike(&house, &drawer);
    }
    let quarantined = "stet_container_quarantines_total{family=\"drawer\"}";
    wait_until("it is taken out of use", || look(&house).series[quarantined] > after.series[quarantined]);
    raises(&after, &look(&house), Cause::Once, &["StetContainerQuarantined"]);
}

#[test]
fn a_disk_that_fills_raises_alerts() {
    // All data is on this disk, since the fill level of the machine's own disk is unknown.
    let Some(mounted) = Mounted::of(64) else { return };
    let server = Server::on(mounted.path(), &[("STORE__RESERVE_BYTES", "0")]);
    let client = server.login("admin");
    let free = |scrape: &Scrape| scrape.series.get("stet_data_disk_free_bytes{of=\"contents\"}").copied();
    wait_until("the disk was looked at", || free(&Scrape::of(&server.base)).is_some());
    let before = Scrape::of(&server.base);
    mounted.fill();
    let options = json!({ "name": "large", "type": "Story", "folderPath": "/Alerts" });
    client
        .upload("/v3/object/create", &options, Some(("large", "text/plain", &vec![b'x'; 300_000])))
        .fails(507, "StorageFull");
    wait_until("the disk was looked at again", || free(&Scrape::of(&server.base)) == Some(0.0));
    raises(&before, &Scrape::of(&server.base), Cause::Once, &["StetDiskFilling", "StetContentFailures"]);
}
