//! A disk that fills up: changes are refused with 507, reads go on, and changes go through again
//! when there is room.

use serde_json::json;
use stet_config::DatabaseConfig;

use super::errors::at_every_sync;
use super::*;

const FULL: &str = "the disk is full: changes may be refused, reads go on";

#[test]
fn a_disk_that_is_full_at_any_sync_loses_nothing_acknowledged() {
    at_every_sync(DiskFault::NoRoom, u64::MAX, 1);
}

#[test]
fn a_disk_that_takes_no_write_at_any_sync_loses_nothing_acknowledged() {
    at_every_sync(DiskFault::Full, u64::MAX, 2);
}

/// Lets the disk have no more room than it has given out.
fn fill(disk: &SimulatedDisk) {
    disk.plan(FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::NoRoom });
}

/// Creates stories until the disk is full. Returns the names of those acknowledged.
fn until_full(client: &Client, prefix: &str) -> Vec<String> {
    let (made, answer) = until_refused(client, prefix);
    let refused = answer.fails(507, "StorageFull");
    assert_eq!(refused["message"], "The disk of the repository is full: nothing was changed, reads go on.");
    made
}

/// Creates stories until one is refused. Returns the names of those acknowledged, and the refusal.
fn until_refused(client: &Client, prefix: &str) -> (Vec<String>, Answer) {
    let mut made = Vec::new();
    loop {
        assert!(made.len() < 2000, "it does not fill up");
        let name = format!("{prefix}{}", made.len());
        let answer = create(client, &name);
        if answer.status != 200 {
            assert_eq!(story(client, &name).status, 404, "what was refused is not there");
            return (made, answer);
        }
        made.push(name);
    }
}

fn create(client: &Client, name: &str) -> Answer {
    let options = json!({ "name": name, "type": "Story", "folderPath": "/Full" });
    client.upload("/v3/object/create", &options, Some((name, "text/plain", &[b'x'; 20_000])))
}

fn story(client: &Client, name: &str) -> Answer {
    client.get(&format!("/v3/object/{}/content/binary", encoded(&format!("/Full/{name}"))))
}

fn all_there(client: &Client, made: &[String]) {
    for name in made {
        let answer = story(client, name);
        assert!(answer.status == 200 && answer.body == [b'x'; 20_000], "{name}: {}", answer.status);
    }
}

#[test]
fn a_full_disk_refuses_changes_and_serves_reads_until_there_is_room() {
    let mut house = House::started();
    let client = house.client();
    let drawer = client.drawer("/Full", "drawer", 3);
    let failed = house.metric("stet_store_failed_commits_total");
    fill(&house.disk);
    let mut made = until_full(&client, "first");
    assert_eq!(house.readiness(), (200, FULL.to_owned()), "reads are of use");
    assert_eq!(house.metric("stet_store_state{state=\"full\"}"), 1.0);
    assert_eq!(house.metric("stet_store_healthy"), 0.0);
    assert!(house.metric("stet_store_failed_commits_total") > failed);
    all_there(&client, &made);
    assert_eq!(client.items(&drawer), Vec::<String>::new());

    house.disk.heal();
    assert_eq!(create(&client, "later").status, 200, "nobody has to do anything but make room");
    made.push("later".to_owned());
    assert_eq!(house.readiness(), (200, String::new()));
    assert_eq!(house.metric("stet_store_state{state=\"ok\"}"), 1.0);
    assert_eq!(house.metric("stet_store_healthy"), 1.0);
    house.lose_power(1);
    house.start();
    all_there(&house.client(), &made);
}

/// The reply was repeated for a day, with the failures of a disk that had long had room again.
#[test]
fn a_bulk_call_that_a_full_disk_cut_short_is_finished_when_sent_again() {
    let house = House::started();
    let client = house.client();
    let sources = ["one", "two"].map(|name| {
        assert_eq!(create(&client, name).status, 200);
        format!("/Full/{name}")
    });
    fill(&house.disk);
    until_full(&client, "more");
    let send = |number: usize| {
        let status = ["Story/Ready", "Story/Edited"][number % 2];
        let body = json!({ "sources": sources, "status": status }).to_string();
        let headers = [("content-type", "application/json"), ("idempotency-key", &number.to_string())];
        client.send("POST", "/v3/object/status", &headers, body.as_bytes())
    };
    let errors = |answer: &Answer| answer.ok()["errors"].as_array().expect("there is a list of failures").clone();
    // A change of a status is short: some find room.
    let refused = (0..2000).find(|number| !errors(&send(*number)).is_empty()).expect("the disk fills up");
    let failed = errors(&send(refused));
    assert!(failed.iter().all(|error| error["code"] == "CMS.StorageFull"), "{failed:?}");
    house.disk.heal();
    let done = send(refused);
    let result = done.ok();
    assert_eq!((&result["errors"], result["items"].as_array().map(Vec::len)), (&json!([]), Some(2)));
    assert_eq!(done.header("idempotency-replayed"), None, "it was carried out");
    assert_eq!(send(refused).header("idempotency-replayed"), Some("true"));
}

/// The token of a session or key, made while the disk has room.
fn token(answer: &Answer) -> String {
    let token = &answer.ok()["token"];
    token["value"].as_str().or_else(|| token.as_str()).expect("there is a token").to_owned()
}

/// Regression test: the same calls, sent again, reported them as ended, but they worked after the
/// next start.
#[test]
fn keys_and_sessions_not_ended_on_a_full_disk_are_ended_by_a_retry() {
    let mut house = House::started();
    let admin = house.client();
    let own = json!({ "token": admin.token.as_deref().expect("it has logged in") });
    let key = json!({ "name": "leaked", "user": "reporter", "privileges": [{ "privilege": "read" }] });
    let tokens = [token(&admin.post("/v3/key", &key)), token(&admin.post("/v3/auth/copy", &own))];
    let [machine, person] = [0, 1].map(|number: usize| {
        let tokens = tokens.clone();
        move |house: &House| {
            let mut client = house.client();
            client.token = Some(tokens[number].clone());
            client
        }
    });
    let uses = |client: &Client| client.get("/v3/auth/connection").status;
    assert_eq!((uses(&machine(&house)), uses(&person(&house))), (200, 200));
    house.disk.plan(FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::Full });
    for _ in 0..2 {
        admin.delete("/v3/key/leaked").fails(507, "StorageFull");
        person(&house).get("/v3/auth/logout").fails(507, "StorageFull");
        assert_eq!((uses(&machine(&house)), uses(&person(&house))), (401, 401), "they are dead at once");
        assert_eq!(admin.get("/v3/key").ok()["items"][0]["name"], "leaked", "and there again after a start");
    }
    house.disk.heal();
    admin.delete("/v3/key/leaked").ok();
    admin.delete("/v3/key/leaked").fails(404, "ObjectNotFound");
    person(&house).get("/v3/auth/logout").ok();
    person(&house).get("/v3/auth/logout").fails(401, "InvalidToken");
    house.lose_power(1);
    house.start();
    assert_eq!((uses(&machine(&house)), uses(&person(&house))), (401, 401));
    let trail = house.client().get("/v3/audit").ok();
    let of_keys =
        trail["items"].as_array().expect("a list").iter().filter(|entry| entry["objects"] == json!(["leaked"]));
    let told: Vec<_> = of_keys.map(|entry| (entry["action"].clone(), entry["user"].clone())).collect();
    assert_eq!(told, ["key.revoke", "key.create"].map(|action| (json!(action), json!("admin"))));
}

/// Regression test: when the disk filled up during many changes, only those in the first failed
/// commit reported it.
#[test]
fn changes_waiting_behind_one_that_found_no_room_report_a_full_disk() {
    const WAITING: usize = 5;
    let mut house = House::empty();
    house.sets_in_commit = Some(1);
    house.start();
    let client = house.client();
    let names: Vec<String> = (0..=WAITING).map(|number| format!("story{number}")).collect();
    client.drawer("/Full", "drawer", 3);
    wait_until("nothing is pending", || house.metric("stet_store_pending") == 0.0);
    house.disk.stall(StoreFile::Journal);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let calls: Vec<_> = names.iter().map(|name| scope.spawn(|| create(&client, name))).collect();
        wait_until("all wait for the disk", || house.metric("stet_store_pending") == names.len() as f64);
        // The first is being synced; of those behind, the next finds no room.
        let at = house.disk.syncs_of(StoreFile::Journal) + 2;
        house.disk.plan_for(StoreFile::Journal, FaultPlan { at, times: 1, fault: DiskFault::Full });
        house.disk.release();
        calls.into_iter().map(|call| call.join().expect("it is answered")).map(|answer| answer.status).collect()
    });
    let so_many = |status: u16| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((so_many(200), so_many(507)), (1, WAITING), "{statuses:?}");
    for (name, status) in names.iter().zip(statuses) {
        assert_eq!(story(&client, name).status, if status == 200 { 200 } else { 404 }, "{name}");
        if status == 507 {
            create(&client, name).ok();
        }
    }
}

#[test]
fn a_server_starts_on_a_full_disk_and_serves_reads() {
    let mut house = House::started();
    fill(&house.disk);
    let made = until_full(&house.client(), "first");
    house.stop();
    house.start();
    let client = house.client();
    all_there(&client, &made);
    until_full(&client, "second");
    all_there(&client, &made);
    assert_eq!(house.readiness(), (200, FULL.to_owned()));
    house.disk.heal();
    // The first finds out that there is room, and has numbers reserved.
    wait_until("changes go through", || create(&client, "later").status == 200);
    assert_eq!(house.readiness(), (200, String::new()));
    house.stop();
    assert_eq!(house.faults(), Vec::<String>::new());
}

#[test]
fn a_server_that_may_not_write_a_byte_does_not_start_and_does_when_it_may() {
    let mut house = House::started();
    assert_eq!(create(&house.client(), "first").status, 200);
    house.lose_power(3);
    house.disk.plan(FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::Full });
    let why = house.try_start().expect_err("it can't write that the files are open");
    assert!(why.contains("can't be opened") && why.contains("No space left on device"), "{why}");
    house.disk.heal();
    house.start();
    all_there(&house.client(), &["first".to_owned()]);
}

#[test]
fn checkpoints_without_room_are_reported_and_repeated_and_changes_succeed() {
    let mut house = House::empty();
    house.config.store.checkpoint_rows = 20;
    house.start();
    let client = house.client();
    let failed = house.metric("stet_store_failed_checkpoints_total");
    let at = house.disk.syncs_of(StoreFile::State);
    house.disk.plan_for(StoreFile::State, FaultPlan { at: at + 1, times: u64::MAX, fault: DiskFault::Full });
    let made: Vec<String> = (0..20).map(|number| format!("story{number}")).collect();
    made.iter().for_each(|name| drop(create(&client, name).ok()));
    wait_until("it is told", || house.readiness() == (200, FULL.to_owned()));
    assert!(house.metric("stet_store_failed_checkpoints_total") > failed);
    assert_eq!(create(&client, "more").status, 200, "the journal has room");
    all_there(&client, &made);
    house.disk.heal();
    wait_until("the checkpoint is made up for", || house.readiness() == (200, String::new()));
    house.lose_power(5);
    house.start();
    all_there(&house.client(), &made);
}

/// A server that was killed when its memory held no more rows, not started; with the names of the
/// stories that it had acknowledged.
fn killed_with_full_memory() -> (House, Vec<String>) {
    let mut house = House::shared();
    // As late as can be, and the interval is an hour.
    (house.config.store.checkpoint_rows, house.config.store.checkpoint_bytes) = (750_000, 128 << 20);
    house.rows_in_memory = Some(400);
    house.start();
    let client = house.client();
    let at = house.disk.syncs_of(StoreFile::State);
    house.disk.plan_for(StoreFile::State, FaultPlan { at: at + 1, times: u64::MAX, fault: DiskFault::Full });
    let (made, refused) = until_refused(&client, "first");
    refused.fails(503, "Overloaded");
    all_there(&client, &made);
    house.lose_power(7);
    house.disk.heal();
    (house, made)
}

#[test]
fn a_server_that_was_killed_with_its_memory_full_starts_and_makes_room() {
    let (mut house, made) = killed_with_full_memory();
    // Only overwrites succeed, so the rows in memory stay there.
    house.disk.plan_for(StoreFile::State, FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::NoRoom });
    house.start();
    let client = house.client();
    all_there(&client, &made);
    // Rows that were in both generations are there once now, which may leave room for one more
    // story.
    let (early, refused) = until_refused(&client, "early");
    assert!(
        refused.status >= 503 && early.len() <= 1,
        "nothing is taken, and nobody waits: {early:?} {}",
        refused.status
    );
    house.disk.heal();
    wait_until("there is room again", || create(&client, "later").status == 200);
}

#[test]
fn a_new_database_is_created_after_a_killed_servers_changes_are_folded() {
    let (mut house, made) = killed_with_full_memory();
    let archive = DatabaseConfig::named(2, "archive");
    house.config.databases.push(archive);
    // The first checkpoints find no room.
    house.disk.plan_for(StoreFile::State, FaultPlan { at: 0, times: 8, fault: DiskFault::NoRoom });
    house.start();
    all_there(&house.client(), &made);
    assert_eq!(house.client().get("/v3/folder/root?databaseId=archive").status, 200);
}
