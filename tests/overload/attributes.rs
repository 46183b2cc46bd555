//! Objects with large attributes: however they are shown, nobody waits for it.

use super::*;

/// How often a call has kept its thread, at any endpoint.
fn slow_turns(client: &Client) -> f64 {
    let text = String::from_utf8(client.get("/metrics").body).expect("metrics are text");
    let turns = text.lines().filter(|line| line.starts_with("stet_http_slow_turns_total"));
    turns.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

#[test]
fn large_attributes_are_shown_in_any_way_without_keeping_a_thread_of_requests() {
    let _turn = turn();
    let server = Server::start();
    let client = server.login("editor");
    let xml = format!("<a>{}</a>", "<b>a few words of text</b>".repeat(4_000));
    let made = client.send(
        "POST",
        "/v3/container/drawer",
        &[],
        json!({ "name": "heavy", "folderPath": "/Users/editor", "attributes": xml }).to_string().as_bytes(),
    );
    let loid = made.ok()["info"]["id"].as_str().expect("it has one").to_owned();
    let before = slow_turns(&client);
    let (mut shown, flags) = (0, ["showUniquenessString", "showWebType", "showAdditionalInfo", "showXml"]);
    for display in 0..16 {
        let query = flags.iter().enumerate().map(|(bit, flag)| format!("{flag}={}", display >> bit & 1));
        let query = query.collect::<Vec<_>>().join("&");
        for path in [format!("/v3/object/{loid}"), format!("/v3/container/drawer/{loid}")] {
            let answer = client.get(&format!("{path}?{query}"));
            assert_eq!(answer.status, 200, "{path}");
            assert!(answer.body.len() > xml.len() / 2, "the attributes are there");
            shown += 1;
        }
        let stale = client.send(
            "PUT",
            &format!("/v3/container/drawer/{loid}"),
            &[("if-match", "\"1-1\"")],
            br#"{"title": "x"}"#,
        );
        let current = &stale.fails(412, "PreconditionFailed")["details"]["current"];
        assert!(current["id"] == loid.as_str() && current.get("attributes").is_none(), "{current}");
        shown += 1;
    }
    // Made on the threads of requests, each of them would be one; a busy machine makes others slow now and then.
    let slow = slow_turns(&client) - before;
    assert!(slow < f64::from(shown) * 2.0 / 3.0, "{slow} of {shown}");
}
