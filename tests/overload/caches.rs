//! The memory of caches, however many objects are requested and in however many displays.

use super::*;

const ROOM: u64 = 4 << 20;

const CACHES: [&str; 5] = ["records", "replies", "parts", "lengths", "pictures"];

/// The queries of all displays that booleans make.
fn displays() -> Vec<String> {
    let names = ["showAttributes", "showXml", "showJson", "showSystemAttributes", "showAdditionalInfo"];
    let query = |bits: usize| {
        let set = |(place, name): (usize, &&str)| format!("{name}={}", bits & (1 << place) != 0);
        names.iter().enumerate().map(set).collect::<Vec<_>>().join("&")
    };
    (0..1 << names.len()).map(query).collect()
}

/// A figure of all caches.
fn figures(client: &Client, name: &str) -> Vec<u64> {
    CACHES.map(|cache| client.metric(&format!("{name}{{cache=\"{cache}\"}}")) as u64).into()
}

/// Asserts that no more is kept than there is room for.
fn assert_bounded(client: &Client) -> u64 {
    let bytes = figures(client, "stet_cache_bytes");
    let all = bytes.iter().sum();
    assert!(all <= ROOM, "{bytes:?}");
    all
}

#[test]
fn rendered_objects_and_drawers_use_no_more_than_the_cache_budget() {
    let _turn = turn();
    let server = Server::with(&[("MEMORY__CACHES_BYTES", &ROOM.to_string())]);
    let client = server.login("editor");
    let folder = own_folder();
    let story = |number: usize, bytes: usize| {
        let text = "All the news that fits. ".repeat(bytes / 24);
        let options = json!({ "name": format!("{number}.xml"), "type": "Story", "folderPath": folder,
            "attributes": { "a": { "text": text } } });
        let made = client.upload("/v3/object/create", &options, None).ok();
        made["id"].as_str().expect("a new object has an id").to_owned()
    };
    let small: Vec<String> = (0..30).map(|number| story(number, 2500)).collect();
    let large: Vec<String> = (100..130).map(|number| story(number, 10_000)).collect();
    let huge = story(1000, 800_000);
    let body = json!({ "name": "all", "folderPath": folder, "sources": small });
    let made = client.post("/v3/container/drawer", &body).ok();
    let drawer = encoded(made["info"]["id"].as_str().expect("a new drawer has an id"));
    let before = peak(&server);
    let mut most = 0;
    for display in displays() {
        client.get(&format!("/v3/container/drawer/{drawer}?showItems=true&{display}")).ok();
        for object in &large {
            client.get(&format!("/v3/object/{}?{display}", encoded(object))).ok();
        }
        most = most.max(assert_bounded(&client));
    }
    assert!(most > ROOM / 3, "of {ROOM} bytes no more than {most} were used");
    // 32 × 100 KB for the drawer, 30 × 4 × 20 KB for the objects, and their sources would be three
    // times as much.
    let kept = client.metric("stet_cache_entries{cache=\"replies\"}");
    assert!((1.0..32.0).contains(&kept), "{kept} replies are kept");
    assert!(figures(&client, "stet_cache_misses_total")[0] > 30);
    // A reply larger than a shard of the cache is built each time.
    let records = || client.metric("stet_cache_bytes{cache=\"records\"}");
    client.get(&format!("/v3/object/{}", encoded(&huge))).ok();
    let kept = records();
    let hits = || figures(&client, "stet_cache_hits_total")[0];
    let before_hits = hits();
    client.get(&format!("/v3/object/{}", encoded(&huge))).ok();
    assert_eq!((records(), hits()), (kept, before_hits));
    // A reply that was not requested lately may need several requests before others in its shard
    // make room. Which ones is random.
    let is_hit = || {
        client.get(&format!("/v3/object/{}", encoded(&small[0]))).ok();
        hits() > before_hits
    };
    assert!((0..10).any(|_| is_hit()), "what is asked for again and again is kept");
    assert_peak(&server, before, 100 * MIB);
}
