//! `/v3/conf/cache`: the configuration in force, and the times when it changes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::conf::{content_of, save};
use super::endpoints::cases::{Made, cases, word};
use crate::harness::*;

const TYPES: &str = "/SysConfig/ObjectTypes/objecttypes.xml";
const WORKFLOWS: &str = "/SysConfig/Workflows/workflows.xml";
const JOBS: &str = "/SysConfig/Jobs/jobs.xml";

fn names(reply: &Value) -> Vec<String> {
    let items = reply["items"].as_array().expect("a cache has items").iter();
    items.map(|item| item["name"].as_str().expect("an item has a name").to_owned()).collect()
}

fn timestamp(client: &Client, family: &str, database: &str) -> u64 {
    let reply = client.get(&format!("/v3/conf/cache/{family}/timestamp/{database}")).ok();
    reply["timestamp"].as_u64().expect("it is a number")
}

fn refresh(client: &Client, family: &str, database: &str) -> Value {
    client.get(&format!("/v3/conf/cache/{family}/refresh/{database}")).ok()
}

/// Two databases, each with object types of its own.
fn with_an_archive() -> (Server, Client) {
    let server = Server::with(&[("DATABASES__1__ID", "2"), ("DATABASES__1__NAME", "archive")]);
    let admin = server.user("admin");
    (server, admin)
}

#[test]
fn saved_configuration_takes_effect_at_a_refresh_in_its_own_database_only() {
    let (_server, admin) = with_an_archive();
    let text = content_of(&admin, TYPES);
    let with_poem =
        text.replace("</objectTypes>", "<objectType name=\"Poem\" family=\"document\" label=\"Poem\"/></objectTypes>");
    let make = |folder: &str, database: u16| {
        let options = json!({ "name": "poem.txt", "type": "Poem", "folderPath": folder, "databaseId": database,
            "createMode": "AUTO_RENAME" });
        admin.upload("/v3/object/create", &options, Some(("poem.txt", "text/plain", b"roses")))
    };
    make("/News", 1).fails(404, "TypeNotFound");
    let before = ["1", "archive"].map(|database| timestamp(&admin, "objecttypes", database));
    save(&admin, TYPES, 1, &with_poem);
    // Saved, and not in force.
    assert!(!names(&admin.get("/v3/conf/cache/objecttypes/1").ok()).contains(&"Poem".to_owned()));
    make("/News", 1).fails(404, "TypeNotFound");
    assert_eq!(timestamp(&admin, "objecttypes", "main"), before[0]);
    let refreshed = refresh(&admin, "objecttypes", "main");
    assert_eq!(refreshed["errors"], json!([]));
    assert_eq!(refreshed["items"][0]["cache"], "objecttypes");
    let after = timestamp(&admin, "objecttypes", "1");
    assert!(after > before[0] && refreshed["items"][0]["timestamp"] == after);
    assert!(names(&admin.get("/v3/conf/cache/objecttypes/1").ok()).contains(&"Poem".to_owned()));
    assert_eq!(make("/News", 1).ok()["type"], "Poem");
    // The other database keeps what it read, though it has no file of its own.
    assert_eq!(timestamp(&admin, "objecttypes", "2"), before[1]);
    assert!(!names(&admin.get("/v3/conf/cache/objecttypes/archive").ok()).contains(&"Poem".to_owned()));
    make("/", 2).fails(404, "TypeNotFound");
    let own = "<objectTypes><objectType name=\"Scan\" family=\"document\"><extension>txt</extension></objectType>\
               <objectType name=\"Folder\" family=\"folder\"/></objectTypes>";
    save(&admin, TYPES, 2, own);
    refresh(&admin, "objecttypes", "2");
    assert_eq!(names(&admin.get("/v3/conf/cache/objecttypes/2").ok()), ["Scan", "Folder"]);
    let options = json!({ "name": "a.txt", "folderPath": "/", "databaseId": 2 });
    let made = admin.upload("/v3/object/create", &options, Some(("a.txt", "text/plain", b"a"))).ok();
    assert_eq!(made["type"], "Scan", "types are those of the database that the object is in");
    assert!(names(&admin.get("/v3/conf/cache/objecttypes/1").ok()).contains(&"Poem".to_owned()));
    let all = admin.get("/v3/conf/cache/objecttypes").ok();
    assert_eq!(all["items"].as_array().map(Vec::len), Some(2));
    assert_eq!((&all["items"][0]["databaseId"], &all["items"][1]["databaseId"]), (&json!(1), &json!(2)));
    admin.get("/v3/conf/cache/objecttypes/7").fails(404, "DatabaseNotFound");
}

#[test]
fn records_show_statuses_and_types_of_the_configuration_in_force() {
    let (server, admin) = with_an_archive();
    let text = content_of(&admin, WORKFLOWS);
    let story = admin.story("/News/City", "a.xml");
    let drawer = admin.drawer("/Drawers", "d", 5);
    admin.call("drawer-items-post", &[&drawer]).json(&json!({ "sources": [&story] })).ok();
    let colours = || {
        let own = admin.call("object-get", &[&story]).ok()["statusInfo"]["identifier"].clone();
        let there = admin.call("drawer-get", &[&drawer]).query("showItems", true).ok()["items"][0]["object"]["statusInfo"]["identifier"].clone();
        (own, there)
    };
    let (before, after) = (json!("rgb(190,190,190)"), json!("rgb(1,2,3)"));
    assert_eq!(colours(), (before.clone(), before.clone()));
    save(&admin, WORKFLOWS, 1, text.replace("rgb(190,190,190)", "rgb(1,2,3)"));
    assert_eq!(colours(), (before.clone(), before));
    refresh(&admin, "workflows", "1");
    assert_eq!(colours(), (after.clone(), after.clone()));
    let server = server.restart();
    let admin = server.user("admin");
    assert_eq!(admin.call("object-get", &[&story]).ok()["statusInfo"]["identifier"], after);
}

#[test]
fn a_faulty_file_leaves_the_previous_value_and_is_reported_after_restart() {
    let server = Server::start();
    let admin = server.user("admin");
    let text = content_of(&admin, JOBS);
    let (names_before, at) = (names(&admin.get("/v3/conf/cache/jobs/1").ok()), timestamp(&admin, "jobs", "1"));
    save(&admin, JOBS, 1, "<jobs>\n <job name='a' command='b'/>\n<job schedule='x' command='c'/></jobs>");
    let reply = admin.get("/v3/conf/cache/jobs/refresh/1");
    let (asked, refreshed) = (reply.header("x-request-id").expect("each reply has one").to_owned(), reply.ok());
    let errors = refreshed["errors"].as_array().expect("errors are a list").clone();
    let told = |line: u64, part: &str| {
        errors.iter().any(|error| {
            error["line"] == line
                && error["path"] == JOBS
                && error["message"].as_str().is_some_and(|text| text.contains(part))
        })
    };
    assert!(told(2, "`schedule`") && told(3, "`name`"), "{errors:?}");
    assert_eq!((&errors[0]["code"], &errors[0]["column"]), (&json!("CMS.InvalidBody"), &json!(2)));
    assert_eq!(refreshed["items"][0]["timestamp"], at, "it is what it was");
    assert_eq!(names(&admin.get("/v3/conf/cache/jobs/1").ok()), names_before);
    // The actor of the cache writes it, and knows for whom.
    let about = format!("request={asked} client=127.0.0.1");
    let is_told =
        |line: &str| ["the old configuration stays in force", JOBS, &about].iter().all(|part| line.contains(part));
    wait_until("it is in the log", || server.log().lines().any(is_told));
    let broken = |client: &Client| client.metric("stet_cache_broken{cache=\"jobs\",database=\"1\"}");
    assert_eq!(broken(&server.client()), 1.0);
    // A restart changes nothing, whether the file was broken or not.
    let server = server.restart();
    let admin = server.user("admin");
    assert_eq!(names(&admin.get("/v3/conf/cache/jobs/1").ok()), names_before);
    save(&admin, JOBS, 1, text.replace("nightly-purge", "purge-by-night"));
    let mut server = server;
    server.kill();
    let server = server.restart();
    let admin = server.user("admin");
    assert_eq!(names(&admin.get("/v3/conf/cache/jobs/1").ok()), names_before);
    assert_eq!(refresh(&admin, "jobs", "1")["errors"], json!([]));
    assert_eq!(names(&admin.get("/v3/conf/cache/jobs/1").ok())[0], "purge-by-night");
    assert_eq!(broken(&server.client()), 0.0);
    let mut server = server;
    server.terminate();
    let (code, said) = server.check();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn users_and_groups_need_no_refresh() {
    let server = Server::start();
    let admin = server.user("admin");
    let at = timestamp(&admin, "groups", "1");
    admin.call("group-create-post", &[]).json(&json!({ "groupName": "night desk", "members": ["reader"] })).ok();
    let groups = admin.get("/v3/conf/cache/groups/1").ok();
    let made = groups["items"].as_array().unwrap().iter().find(|group| group["groupName"] == "night desk").cloned();
    assert_eq!(made.expect("it is there")["members"], json!(["reader"]));
    assert!(timestamp(&admin, "groups", "1") > at);
    let users = admin.get("/v3/conf/cache/users").ok();
    let reader = users["items"][0]["items"].as_array().unwrap().iter().find(|user| user["name"] == "reader").cloned();
    let reader = reader.expect("the sample has it");
    assert!(reader["groups"].as_array().unwrap().contains(&json!("night desk")), "{reader}");
    assert!(reader.get("businessEmail").is_none() && reader.get("password").is_none());
    admin.call("group-delete", &[]).query("groupName", "night desk").ok();
    let groups = admin.get("/v3/conf/cache/groups/1").ok();
    assert!(groups["items"].as_array().unwrap().iter().all(|group| group["groupName"] != "night desk"));
}

#[test]
fn every_family_is_read_and_refreshed_and_told_of_together() {
    let server = Server::start();
    let admin = server.user("admin");
    for (family, least) in
        [("commands", 11), ("groups", 4), ("jobs", 4), ("objecttypes", 20), ("users", 5), ("workflows", 5)]
    {
        let reply = admin.get(&format!("/v3/conf/cache/{family}/1")).ok();
        assert!(reply["items"].as_array().is_some_and(|items| items.len() >= least), "{family}: {reply}");
        assert_eq!((&reply["cache"], &reply["databaseId"]), (&json!(family), &json!(1)));
    }
    let release = admin.get("/v3/conf/cache/commands/1").ok()["items"][2].clone();
    assert_eq!(
        release,
        json!({ "name": "story.release", "label": "Release", "group": "Workflow", "shortcut": null,
        "privilege": "moderate", "confirm": true, "appliesTo": ["Story", "CompoundStory"], "status": "Story/Released", "parameters": [],
        "request": { "method": "POST", "path": "/v3/object/{source}/status", "body": { "status": "Story/Released" } } })
    );
    let job = admin.get("/v3/conf/cache/jobs/1").ok()["items"][2].clone();
    assert_eq!((&job["enabled"], &job["select"][0]["unchangedDays"]), (&json!(false), &json!(90)));
    let workflow = admin.get("/v3/conf/cache/workflows/1").ok()["items"][1].clone();
    assert_eq!(
        (&workflow["initialStatus"], &workflow["transitions"][0]["to"]),
        (&json!("Image/Raw"), &json!("Image/Ready"))
    );
    let before = admin.get("/v3/conf/cache/timestamp").ok();
    let families: Vec<&str> =
        before["items"].as_array().unwrap().iter().map(|item| item["cache"].as_str().unwrap()).collect();
    assert_eq!(families, ["commands", "groups", "jobs", "objecttypes", "users", "workflows"]);
    let refreshed = admin.get("/v3/conf/cache/refresh").ok();
    assert_eq!(refreshed["errors"], json!([]));
    for (before, after) in before["items"].as_array().unwrap().iter().zip(refreshed["items"].as_array().unwrap()) {
        assert!(after["timestamp"].as_u64() > before["timestamp"].as_u64(), "{before} {after}");
    }
    assert_eq!(admin.get("/v3/conf/cache/timestamp/main").ok(), json!({ "items": refreshed["items"] }));
    for path in ["/v3/conf/cache/refresh", "/v3/conf/cache/jobs/refresh", "/v3/conf/cache/jobs/refresh/1"] {
        server.user("editor").get(path).fails(403, "PermissionDenied");
    }
}

/// Lets many callers refresh and read, while one of them breaks the file every second time.
#[test]
fn a_storm_of_refreshes_joins_and_no_read_fails_or_sees_a_broken_file() {
    const CLIENTS: usize = 64;
    const ROUNDS: usize = 12;
    let server = Server::start();
    let admin = server.user("admin");
    let text = content_of(&admin, WORKFLOWS);
    let good = |round: usize| text.replace("rgb(190,190,190)", &format!("rgb({round},0,0)"));
    let (ended, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (client, ended, asked) = (admin.afresh(), &ended, &asked);
            scope.spawn(move || {
                while !ended.load(Ordering::SeqCst) {
                    if number % 2 == 0 {
                        let reply = client.get("/v3/conf/cache/workflows/refresh").ok();
                        assert_eq!(reply["items"].as_array().map(Vec::len), Some(1));
                        asked.fetch_add(1, Ordering::SeqCst);
                    }
                    let reply = client.get("/v3/conf/cache/workflows/1").ok();
                    assert_eq!(reply["items"].as_array().map(Vec::len), Some(5), "it is whole, whatever is saved");
                }
            });
        }
        for round in 0..ROUNDS {
            save(&admin, WORKFLOWS, 1, good(round));
            // A refresh sees all that was saved before it was asked for, whichever others it joins.
            assert_eq!(refresh(&admin, "workflows", "1")["errors"], json!([]), "{round}");
            let shown = admin.get("/v3/conf/cache/workflows/1").ok();
            assert_eq!(shown["items"][0]["statuses"][0]["identifier"], format!("rgb({round},0,0)"));
            save(&admin, WORKFLOWS, 1, "<workflows><workflow name='W'>");
            let refused = refresh(&admin, "workflows", "1");
            assert!(refused["errors"].as_array().is_some_and(|errors| !errors.is_empty()), "{round}: {refused}");
            let shown = admin.get("/v3/conf/cache/workflows/1").ok();
            assert_eq!(shown["items"][0]["statuses"][0]["identifier"], format!("rgb({round},0,0)"), "{round}");
        }
        ended.store(true, Ordering::SeqCst);
    });
    let ran: f64 = ["refreshed", "failed"]
        .iter()
        .map(|outcome| {
            let labels = format!("cache=\"workflows\",database=\"1\",outcome=\"{outcome}\"");
            server.client().metric(&format!("stet_cache_refreshes_total{{{labels}}}"))
        })
        .sum();
    let asked = asked.load(Ordering::SeqCst) + 2 * ROUNDS as u64;
    assert!(ran <= asked as f64 + 1.0, "{ran} refreshes for {asked} calls");
}

cases! {
    "cache-commands-get": |_| Made::default();
    "cache-commands-db-get": |_| Made::on([word("1")]);
    "cache-commands-refresh-get": |_| Made::default();
    "cache-commands-refresh-db-get": |_| Made::on([word("1")]);
    "cache-commands-timestamp-get": |_| Made::default();
    "cache-commands-timestamp-db-get": |_| Made::on([word("1")]);
    "cache-groups-get": |_| Made::default();
    "cache-groups-db-get": |_| Made::on([word("1")]);
    "cache-groups-refresh-get": |_| Made::default();
    "cache-groups-refresh-db-get": |_| Made::on([word("1")]);
    "cache-groups-timestamp-get": |_| Made::default();
    "cache-groups-timestamp-db-get": |_| Made::on([word("1")]);
    "cache-jobs-get": |_| Made::default();
    "cache-jobs-db-get": |_| Made::on([word("1")]);
    "cache-jobs-refresh-get": |_| Made::default();
    "cache-jobs-refresh-db-get": |_| Made::on([word("1")]);
    "cache-jobs-timestamp-get": |_| Made::default();
    "cache-jobs-timestamp-db-get": |_| Made::on([word("1")]);
    "cache-objecttypes-get": |_| Made::default();
    "cache-objecttypes-db-get": |_| Made::on([word("1")]);
    "cache-objecttypes-refresh-get": |_| Made::default();
    "cache-objecttypes-refresh-db-get": |_| Made::on([word("1")]);
    "cache-objecttypes-timestamp-get": |_| Made::default();
    "cache-objecttypes-timestamp-db-get": |_| Made::on([word("1")]);
    "cache-users-get": |_| Made::default();
    "cache-users-db-get": |_| Made::on([word("1")]);
    "cache-users-refresh-get": |_| Made::default();
    "cache-users-refresh-db-get": |_| Made::on([word("1")]);
    "cache-users-timestamp-get": |_| Made::default();
    "cache-users-timestamp-db-get": |_| Made::on([word("1")]);
    "cache-workflows-get": |_| Made::default();
    "cache-workflows-db-get": |_| Made::on([word("1")]);
    "cache-workflows-refresh-get": |_| Made::default();
    "cache-workflows-refresh-db-get": |_| Made::on([word("1")]);
    "cache-workflows-timestamp-get": |_| Made::default();
    "cache-workflows-timestamp-db-get": |_| Made::on([word("1")]);
    "cache-all-refresh-get": |_| Made::default();
    "cache-all-refresh-db-get": |_| Made::on([word("1")]);
    "cache-all-timestamp-get": |_| Made::default();
    "cache-all-timestamp-db-get": |_| Made::on([word("1")]);
}
