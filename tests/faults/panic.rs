//! Panics: of a command, of the checkpointer.

use std::time::Duration;

use serde_json::json;
use stet_actors::runtime::ChangeRequest;
use stet_domain::clock::{Clock, ManualClock, SystemClock};
use stet_domain::command::{CallerIdentity, Command, CommandFault, Context};
use stet_domain::drawer::{ClearDrawer, Drawer, DrawerState};
use stet_domain::error::{Code, Error};
use stet_domain::id::Loid;
use stet_web::error::{ApiSurface, status};

use super::*;

/// A defect: changes the drawer, then panics.
struct Defect;

impl Command for Defect {
    type Family = Drawer;
    type Reply = ();
    const NAME: &'static str = "test.defect";

    fn apply(&self, drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        ClearDrawer.apply(drawer, context)?;
        panic!("as the test wants");
    }
}

/// Strikes a drawer with a command that panics. It is submitted behind the web layer, since no call
/// has such a defect.
pub fn strike(house: &House, drawer: &str) -> Error {
    let loid: Loid = drawer.parse().expect("a drawer's id is a loid");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
    let outcome =
        runtime.block_on(house.repository().execute(loid, Defect, ChangeRequest::by(CallerIdentity::system())));
    outcome.expect_err("it panics")
}

#[test]
fn panicking_commands_change_nothing_and_quarantine_only_their_container() {
    let mut house = House::empty();
    house.clock = Some(ManualClock::at(SystemClock.now_ms()));
    house.start();
    let client = house.client();
    let (broken, other) = (client.drawer("/Panic", "broken", 10), client.drawer("/Panic", "other", 10));
    let stories = [client.story("/Panic", "one"), client.story("/Panic", "two")];
    let add = |client: &Client, drawer: &str, story: &str| {
        client.post(&format!("/v3/container/drawer/{}/item/{}", encoded(drawer), encoded(story)), &json!({}))
    };
    add(&client, &broken, &stories[0]).ok();
    let restarts = house.metric("stet_container_restarts_total{family=\"drawer\"}");
    let error = strike(&house, &broken);
    assert_eq!((error.code, status(error.code, ApiSurface::V3).as_u16()), (Code::RepositoryError, 500));
    assert_eq!(client.items(&broken), stories[..1]);
    add(&client, &broken, &stories[1]).ok();
    assert_eq!(client.items(&broken), stories, "it has started again from what is on disk");
    assert_eq!(house.metric("stet_container_restarts_total{family=\"drawer\"}"), restarts + 1.0);
    assert_eq!(house.metric("stet_containers_quarantined{family=\"drawer\"}"), 0.0);

    for _ in 0..house.config.runtime.failures_allowed {
        assert_eq!(strike(&house, &broken).code, Code::RepositoryError);
    }
    let refused = client.put(&format!("/v3/container/drawer/{}/item/clear", encoded(&broken)), &json!({}));
    let refused = refused.fails(500, "RepositoryError");
    assert!(refused["message"].as_str().is_some_and(|text| text.contains("not available for now")), "{refused}");
    assert_eq!(refused["source"], broken);
    assert_eq!(house.metric("stet_containers_quarantined{family=\"drawer\"}"), 1.0);
    assert_eq!(house.readiness(), (200, String::new()), "one container is not the server");
    assert_eq!(client.items(&broken), stories, "it is shown as it is on disk");
    add(&client, &other, &stories[0]).ok();
    let clock = house.clock.clone().expect("it was given");
    clock.advance(Duration::from_secs(house.config.runtime.quarantine_seconds));
    client.delete(&format!("/v3/container/drawer/{}/item/{}", encoded(&broken), encoded(&stories[0]))).ok();
    assert_eq!(house.metric("stet_containers_quarantined{family=\"drawer\"}"), 0.0);
    house.lose_power(1);
    house.start();
    assert_eq!(house.client().items(&broken), stories[1..]);
    assert_eq!(house.client().items(&other), stories[..1]);
}

#[test]
fn a_checkpoint_that_panics_is_told_and_made_up_for() {
    let mut house = House::empty();
    house.config.store.checkpoint_rows = 1;
    house.start();
    let client = house.client();
    let failed = house.metric("stet_store_failed_checkpoints_total");
    let at = house.disk.syncs_of(StoreFile::State);
    house.disk.plan_for(StoreFile::State, FaultPlan { at: at + 1, times: u64::MAX, fault: DiskFault::Panic });
    let story = client.story("/Panic", "story");
    let told = (200, "checkpoints fail: changes stay in the journal".to_owned());
    wait_until("it is told", || house.readiness() == told);
    assert!(house.metric("stet_store_failed_checkpoints_total") > failed);
    assert_eq!(house.metric("stet_store_state{state=\"lagging\"}"), 1.0);
    let drawer = client.drawer("/Panic", "drawer", 2);
    client.get(&format!("/v3/object/{}", encoded(&story))).ok();
    house.disk.heal();
    wait_until("the checkpoint is made up for", || house.readiness() == (200, String::new()));
    house.lose_power(1);
    house.start();
    assert_eq!(house.client().items(&drawer), Vec::<String>::new());
}

#[test]
fn a_panicking_writer_closes_the_store_and_a_restart_loses_no_change() {
    let mut house = House::started();
    let client = house.client();
    let drawer = client.drawer("/Panic", "drawer", 2);
    house.disk.plan_for(StoreFile::Journal, FaultPlan { at: 0, times: u64::MAX, fault: DiskFault::Panic });
    let options = json!({ "name": "lost", "type": "Story", "folderPath": "/Panic" });
    let answer = client.upload("/v3/object/create", &options, None).fails(500, "RepositoryError");
    assert_eq!(answer["details"]["outcome"], "unknown");
    client.upload("/v3/object/create", &options, None).fails(503, "Overloaded");
    assert_eq!(client.items(&drawer), Vec::<String>::new(), "reads go on");
    assert_eq!(house.readiness(), (503, "the store is closed".to_owned()));
    assert_eq!(client.get("/healthz").status, 503, "it must be started again, and supervisors are told so");
    house.disk.heal();
    house.lose_power(1);
    house.start();
    let client = house.client();
    assert_eq!(client.get("/healthz").status, 200);
    assert_eq!(client.items(&drawer), Vec::<String>::new());
    client.story("/Panic", "after");
}
