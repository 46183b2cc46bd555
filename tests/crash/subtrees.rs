//! `kill -9` amid changes of folders with much below them: each is there for all who look, from the
//! start on, and is done.

use serde_json::json;

use crate::harness::*;

/// Kills the server amid a call, and starts it again.
fn killed_amid(mut server: Server, call: impl Fn(&Client) + Sync, client: &Client) -> Server {
    // A second client, since the call does not return.
    let other = server.client();
    let done = || other.count("stet_subtree_objects_total");
    // This process may have carried on what another began.
    let before = done();
    std::thread::scope(|scope| {
        scope.spawn(|| call(client));
        wait_until("some steps are done", || done() >= before + 10);
        server.kill();
    });
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "what is there is not whole: {output}");
    server.restart()
}

fn wait_for_the_end(server: &Server) {
    let client = server.client();
    wait_until("it is done", || client.count("stet_subtrees_under_way") == 0);
}

#[test]
fn subtree_changes_begun_before_a_crash_are_completed_after_it() {
    let settings = [("RUNTIME__OBJECTS_PER_STEP", "4"), ("STORE__CHECKPOINT_ROWS", "300")];
    let server = Server::with(&settings);
    let client = server.login("editor");
    let top = own_folder();
    let mut loids = Vec::new();
    for n in 0..150 {
        let made = client.post("/v3/folder", &json!({ "path": format!("{top}/f{n}/inner") })).ok();
        loids.push(made["info"]["id"].as_str().expect("a folder has an id").to_owned());
    }
    let folder = client.get(&format!("/v3/folder/{}", encoded(&top))).ok()["info"]["id"].as_str().unwrap().to_owned();
    let drawer = client.drawer(&own_folder(), "drawer", 1000);
    for loid in &loids {
        client.call("drawer-item-post", &[&drawer, loid]).ok();
    }
    let all_are = |client: &Client, status: u16| {
        for loid in &loids {
            assert_eq!(client.call("object-get", &[loid]).send().status, status, "{loid}");
        }
    };

    // Killed: there is no answer.
    let server = killed_amid(server, |client| drop(client.call("object-discard", &[&folder]).try_send()), &client);
    let client = client.to(&server);
    all_are(&client, 404);
    wait_for_the_end(&server);
    all_are(&client, 404);
    assert!(client.items(&drawer).is_empty());

    let restore =
        |client: &Client| drop(client.call("stet-object-restore-post", &[&folder]).json(&json!({})).try_send());
    let server = killed_amid(server, restore, &client);
    let client = client.to(&server);
    wait_for_the_end(&server);
    all_are(&client, 200);
    assert_eq!(client.items(&drawer), loids);

    let server = killed_amid(server, |client| drop(client.call("object-destroy", &[&folder]).try_send()), &client);
    let client = client.to(&server);
    all_are(&client, 404);
    wait_for_the_end(&server);
    all_are(&client, 404);
    client.call("stet-object-restore-post", &[&folder]).json(&json!({})).fails(404, "ObjectNotFound");
    let mut server = server;
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "what is there is not whole: {output}");
}

/// Checks that the loss of a remainder is found.
#[cfg(feature = "planted-bugs")]
#[test]
fn unfinished_work_that_a_change_forgot_is_found_by_the_check() {
    let settings = [("RUNTIME__OBJECTS_PER_STEP", "4")];
    for (bug, faults) in [(None, false), (Some(("PLANTED_BUG", "lost-rest")), true)] {
        let mut server = Server::with(&settings.into_iter().chain(bug).collect::<Vec<_>>());
        let client = server.login("editor");
        let top = own_folder();
        for n in 0..10 {
            client.post("/v3/folder", &json!({ "path": format!("{top}/f{n}/inner") })).ok();
        }
        let folder =
            client.get(&format!("/v3/folder/{}", encoded(&top))).ok()["info"]["id"].as_str().unwrap().to_owned();
        client.call("object-discard", &[&folder]).ok();
        client.call("object-destroy", &[&folder]).ok();
        wait_for_the_end(&server);
        assert_eq!(server.terminate(), Some(0));
        let (code, output) = server.check();
        assert_eq!(code != Some(0), faults, "{output}");
    }
}
