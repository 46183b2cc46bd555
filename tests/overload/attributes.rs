//! Objects with large attributes: no display of them delays other callers.

use super::*;

/// Returns the number of slow turns of all endpoints.
fn slow_turns(client: &Client) -> f64 {
    let text = String::from_utf8(client.get("/metrics").body).expect("metrics are text");
    let turns = text.lines().filter(|line| line.starts_with("stet_http_slow_turns_total"));
    turns.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

#[test]
fn large_attributes_are_shown_without_occupying_a_request_thread() {
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
    // Beside each there is one that asks for next to nothing: how slow the machine is shows in
    // that.
    let small = client.drawer("/Users/editor", "light", 10);
    let (mut heavy, mut light) = (0.0, 0.0);
    let slow = |times: &mut f64, call: &dyn Fn() -> Answer| {
        let before = slow_turns(&client);
        let answer = call();
        *times += slow_turns(&client) - before;
        answer
    };
    let (mut shown, flags) = (0, ["showUniquenessString", "showWebType", "showAdditionalInfo", "showXml"]);
    for display in 0..16 {
        let query = flags.iter().enumerate().map(|(bit, flag)| format!("{flag}={}", display >> bit & 1));
        let query = query.collect::<Vec<_>>().join("&");
        for kind in ["/v3/object", "/v3/container/drawer"] {
            let path = format!("{kind}/{loid}?{query}");
            let answer = slow(&mut heavy, &|| client.get(&path));
            slow(&mut light, &|| client.get(&format!("{kind}/{small}?{query}"))).ok();
            assert_eq!(answer.status, 200, "{path}");
            assert!(answer.body.len() > xml.len() / 2, "the attributes are there");
            shown += 1;
        }
        let change = |loid: &str| {
            let path = format!("/v3/container/drawer/{loid}");
            client.send("PUT", &path, &[("if-match", "\"1-1\"")], br#"{"title": "x"}"#)
        };
        let stale = slow(&mut heavy, &|| change(&loid));
        slow(&mut light, &|| change(&small)).fails(412, "PreconditionFailed");
        let current = &stale.fails(412, "PreconditionFailed")["details"]["current"];
        assert!(current["id"] == loid.as_str() && current.get("attributes").is_none(), "{current}");
        shown += 1;
    }
    // Made on the threads of requests, each of them would be one.
    assert!(heavy - light < f64::from(shown) / 3.0, "{heavy} of {shown}, and {light} of as many that are small");
}
