//! The index of the search as operators meet it: damaged, missing, behind, made anew.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::*;

/// Searches when everything can be found.
fn find(client: &Client, query: &str) -> Value {
    let search =
        || client.call("stet-search-post", &[]).json(&json!({ "query": query, "waitFor": "now", "limit": 100 })).ok();
    wait_patiently_until("everything can be found", || search()["complete"] == true);
    search()
}

/// Reports whether a search finds exactly that many.
fn finds(client: &Client, query: &str, number: u64) {
    let found = find(client, query);
    assert_eq!((&found["total"], &found["complete"]), (&json!(number), &json!(true)), "{query}");
}

/// Waits until a search finds that many, and everything.
fn will_find(client: &Client, query: &str, number: u64) {
    wait_patiently_until("the last change can be found", || find(client, query)["total"] == number);
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("there is an index");
    entries.map(|entry| entry.expect("it can be read").path()).collect()
}

#[test]
fn an_index_that_is_damaged_or_missing_is_made_anew() {
    let mut server = Server::start();
    let folder = own_folder();
    (0..3).for_each(|number| drop(server.user("admin").story(&folder, &format!("bandicoot{number}.xml"))));
    will_find(&server.user("admin"), "bandicoot*", 3);
    let index = server.data().join("search");
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 6] = [
        ("missing", |index| std::fs::remove_dir_all(index).expect("it is there")),
        ("a file", |index| {
            std::fs::remove_dir_all(index).expect("it is there");
            std::fs::write(index, "no index").expect("the disk has room");
        }),
        ("empty files", |index| {
            files(index).iter().for_each(|file| std::fs::write(file, "").expect("the disk has room"))
        }),
        ("rubbish", |index| {
            files(index).iter().for_each(|file| std::fs::write(file, "rubbish").expect("the disk has room"))
        }),
        ("without its list", |index| std::fs::remove_file(index.join("meta.json")).expect("it is there")),
        ("without its segments", |index| {
            let segments = files(index).into_iter().filter(|file| file.extension().is_some_and(|end| end != "json"));
            segments.for_each(|file| std::fs::remove_file(file).expect("it is there"));
        }),
    ];
    for (what, damage) in damages {
        assert_eq!(server.terminate(), Some(0), "{what}");
        damage(&index);
        server = server.restart();
        finds(&server.user("admin"), "bandicoot*", 3);
    }
    let (exit, said) = {
        server.terminate();
        server.check()
    };
    assert_eq!(exit, Some(0), "{said}");
}

#[test]
fn searches_find_everything_after_kills_at_any_moment() {
    let mut server = Server::with(&[("SEARCH__LANGUAGES", "en")]);
    let (folder, mut dice) = (own_folder(), Dice::new(seed("STET_SEARCH_KILLS_SEED")));
    let mut made = 0;
    for round in 0..setting("STET_SEARCH_KILLS").unwrap_or(8) {
        let client = server.login("admin");
        for _ in 0..dice.roll(12) + 1 {
            client.story(&folder, &format!("dunnart{made}.xml"));
            made += 1;
        }
        // In the delay before the commit, in the commit, in a merge, or in the comparison.
        std::thread::sleep(Duration::from_millis(dice.roll(600) as u64));
        server.kill();
        if round % 3 == 0 {
            server.crash_while_starting(Duration::from_millis(dice.roll(400) as u64));
        }
        server = server.restart();
        let client = server.login("admin");
        finds(&client, "dunnart*", made);
    }
}

#[test]
fn the_index_is_made_anew_by_command() {
    let server = Server::start();
    let folder = own_folder();
    server.user("admin").story(&folder, "kowari.xml");
    will_find(&server.user("admin"), "kowari", 1);
    let reindex = || {
        let output = Command::new(binary()).args(["reindex", "--json", "--data"]).arg(server.data()).output();
        let output = output.expect("the binary can be started");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("it prints JSON")
    };
    assert!(reindex()["replacedDocuments"].as_u64().is_some_and(|number| number > 10));
    wait_patiently_until("it is made anew", || server.client().metric("stet_search_rebuilds_total") == 1.0);
    finds(&server.user("admin"), "kowari", 1);
    wait_patiently_until("it is measured", || server.client().metric("stet_search_complete") == 1.0);
    let output = Command::new(binary())
        .args(["reindex", "--data"])
        .arg(tempfile::tempdir().expect("a directory can be made").path())
        .output();
    assert_ne!(output.expect("the binary can be started").status.code(), Some(0));
}

#[test]
fn the_index_leaves_the_last_free_bytes_of_the_disk_to_changes() {
    let server = Server::with(&[("STORE__RESERVE_BYTES", "1000000000000")]);
    let client = server.user("admin");
    let drawer = client.drawer("/News", "bilby", 10);
    assert!(client.items(&drawer).is_empty(), "changes need no room of the index");
    wait_until("the log has the reason", || server.log().contains("less free space than store.reserve_bytes"));
    let found = client.call("stet-search-get", &[]).query("query", "bilby").ok();
    assert_eq!((&found["total"], &found["complete"]), (&json!(0), &json!(false)));
}

#[test]
fn another_list_of_languages_makes_the_index_anew() {
    let server = Server::with(&[("SEARCH__LANGUAGES", "en")]);
    let folder = own_folder();
    server.user("admin").story(&folder, "numbats.xml");
    will_find(&server.user("admin"), "numbat", 1);
    let mut server = server;
    assert_eq!(server.terminate(), Some(0));
    let data = server.data().to_owned();
    let other = Server::on(&data, &[("SEARCH__LANGUAGES", "de,fr")]);
    finds(&other.user("admin"), "numbats", 1);
    assert!(other.log().contains("made anew"), "{}", other.log());
}
