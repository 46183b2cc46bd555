//! A drawer as it was, by how many changes ago.

use serde_json::Value;

use super::client::{Load, Target, drive};
use super::stet::Stet;
use super::{Plan, Requests, ratio, report};

/// The changes that are made before anything is read.
const CHANGES: usize = 10_000;

/// The items of the drawer.
const ITEMS: usize = 50;

/// Measures reads of a drawer as it is, and as it was 100, 1,000 and 9,000 changes ago.
pub fn depths(plan: &Plan) {
    let server = Stet::start("journal");
    let target = Target::new(&server.address);
    let (path, _) = server.drawer_of(ITEMS);
    let drawer = || -> Value {
        let body = server.body_of(&server.request("GET", &path, &[]));
        serde_json::from_slice(&body).expect("a reply is JSON")
    };
    let before = drawer();
    let shown = before["result"]["items"].as_array().expect("it has items");
    let loid = before["result"]["info"]["id"].as_str().expect("it has a loid");
    // Four clients move items to and from the middle.
    let moves: Requests = (0..4)
        .map(|client| {
            let requests = (0..CHANGES / 4).map(|n| {
                let item = shown[(4 * n + client) % ITEMS]["id"].as_str().expect("it has an id");
                let place = [ITEMS / 2, ITEMS / 3][n / ITEMS % 2];
                let path = format!("/v3/container/drawer/{loid}/shortcut/{item}/position/{place}");
                server.request("PUT", &path, &[])
            });
            requests.collect()
        })
        .collect();
    let moved = drive(&target, &moves, std::time::Duration::from_nanos(1));
    assert_eq!(moved.errors, 0);
    let revision = drawer()["result"]["info"]["revision"].as_u64().expect("it has a revision");
    let reads = [None, Some(100), Some(1_000), Some(9_000)].map(|ago: Option<u64>| {
        let at = ago.map_or(String::new(), |ago| format!("&at={}", revision.saturating_sub(ago).max(1)));
        server.request("GET", &format!("{path}{at}"), &[])
    });
    let rows: Vec<[Load; 4]> = (0..plan.rounds)
        .map(|_| reads.each_ref().map(|read| drive(&target, &[vec![read.clone()]], plan.length)))
        .collect();
    println!("\na drawer of {ITEMS} items with {revision} revisions, one client:");
    report(&["as it is", "100 ago", "1,000 ago", "9,000 ago"], &rows);
    ratio("cost 1,000 changes ago / as it is", &rows, |row| row[0].rate / row[2].rate);
}
