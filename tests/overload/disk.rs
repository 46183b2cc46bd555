//! A disk with less room than the reserve that is kept for small changes.

use super::*;

/// Guards against one user who fills the rest of the disk by small changes, so that nobody can
/// change anything.
#[test]
fn small_changes_of_one_user_leave_the_last_bytes_of_the_disk_to_others() {
    let _turn = turn();
    // The largest reserve, 1 TiB: the disk is short from the start, unless it has more room.
    let server = Server::with(&[("STORE__RESERVE_BYTES", "1099511627776")]);
    let metrics = String::from_utf8(server.client().get("/metrics").body).expect("metrics are text");
    let free = metrics.lines().find_map(|line| line.strip_prefix("stet_data_disk_free_bytes{of=\"store\"} "));
    if free.is_some_and(|free| free.parse::<f64>().is_ok_and(|free| free >= (1_u64 << 40) as f64)) {
        return;
    }
    let (editor, reporter) = (server.login("editor"), server.login("reporter"));
    let drawer = |client: &Client, user: &str| {
        let made = client.post("/v3/container/drawer", &json!({ "name": "d", "folderPath": format!("/Users/{user}") }));
        made.ok()["info"]["id"].as_str().expect("it has one").to_owned()
    };
    let (one, other) = (drawer(&editor, "editor"), drawer(&reporter, "reporter"));
    let change = |client: &Client, drawer: &str, text: &str| {
        let body = json!({ "attributes": format!("<a>{text}</a>") });
        client.send("PUT", &format!("/v3/container/drawer/{drawer}"), &[], body.to_string().as_bytes())
    };
    let mut stored = 0;
    let refused = loop {
        let answer = change(&editor, &one, &format!("{stored} {}", "x".repeat(100_000)));
        if answer.status != 200 {
            break answer;
        }
        stored += 100_000;
        assert!(stored < 64 * MIB, "nothing bounds it");
    };
    assert!(stored > 8 * MIB, "{stored}");
    let message = refused.fails(507, "StorageFull")["message"].as_str().expect("it has one").to_owned();
    assert!(message.contains("your share"), "{message}");
    // A move removes nothing, though it excludes other changes as removals do.
    let away = json!({ "folderPath": "/Drawers" });
    editor.post(&format!("/v3/object/{one}/move"), &away).fails(507, "StorageFull");
    // Others go on, and so do removals.
    change(&reporter, &other, "small").ok();
    editor.delete(&format!("/v3/object/{one}/discard")).ok();
    editor.post(&format!("/v3/object/{one}/restore"), &json!({})).fails(507, "StorageFull");
}
