//! A disk with less room than the reserve that is kept for small changes.

use super::*;

/// Guards against one user who fills the rest of the disk by small changes, so that nobody can
/// change anything.
#[test]
fn small_changes_of_one_user_leave_the_last_bytes_of_the_disk_to_others() {
    let _turn = turn();
    // More than any disk here has, so it is short from the start.
    let server = Server::with(&[("STORE__RESERVE_BYTES", "1099511627776")]);
    let (editor, reporter) = (server.login("editor"), server.login("reporter"));
    let (one, other) = (editor.drawer("/Users/editor", "one", 0), reporter.drawer("/Users/reporter", "other", 0));
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
    // Others go on, and so do removals.
    change(&reporter, &other, "small").ok();
    editor.send("DELETE", &format!("/v3/object/{one}"), &[], b"").ok();
}
