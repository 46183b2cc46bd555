//! Keys in the address of an export or a feed, for programs that know nothing of tokens
//! (docs/api/keys.md, "In an address").

use super::*;

/// A topic, a plan and a liveblog, and the paths of their exports and feed.
fn exports(admin: &Client) -> [String; 3] {
    let made = |call: &str| id(&admin.call(call, &[]).json(&json!({ "name": call, "folder": "/Plans" })).ok());
    let (topic, plan) = (made("topic-post"), made("topicplan-post"));
    let liveblog = admin.liveblog("/Plans", "night");
    [
        format!("/v3/container/topic/{topic}/export/ics"),
        format!("/v3/container/topicplan/{plan}/export/csv"),
        format!("/v3/container/liveblog/{liveblog}/feed/atom"),
    ]
}

/// The token of a new key with these privileges, below `/Plans` where that is wanted.
fn key(admin: &Client, name: &str, privileges: &[(&str, bool)]) -> String {
    let grants: Vec<Value> = privileges
        .iter()
        .map(|(privilege, below)| json!({ "privilege": privilege, "folder": below.then_some("/Plans") }))
        .collect();
    let body = json!({ "name": name, "user": "reporter", "privileges": grants });
    let made = admin.call("stet-key-create-post", &[]).json(&body).ok();
    made["token"].as_str().expect("it has a token").to_owned()
}

#[test]
fn only_read_keys_may_stand_in_addresses_and_only_of_exports_and_feeds() {
    let server = Server::start();
    let (admin, nobody) = (server.user("admin"), server.client());
    let exports = exports(&admin);
    let reads = key(&admin, "calendar", &[("read", true)]);
    for path in &exports {
        nobody.get(path).fails(401, "InvalidToken");
        let answer = nobody.get(&format!("{path}?key={reads}"));
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        let tag = answer.header("etag").expect("it has a tag");
        let again = nobody.send("GET", &format!("{path}?KEY={reads}"), &[("if-none-match", tag)], b"");
        assert_eq!((again.status, again.header("cache-control")), (304, Some("private, no-cache")));
        // It counts before all other tokens, and an empty one is none.
        nobody.send("GET", &format!("{path}?key=nonsense"), &[("token", &reads)], b"").fails(401, "InvalidToken");
        assert_eq!(nobody.send("GET", &format!("{path}?key="), &[("token", &reads)], b"").status, 200);
    }
    for path in ["/v3/auth/connection", "/v3/folder/home", &exports[0].replace("/export/ics", "")] {
        nobody.get(&format!("{path}?key={reads}")).fails_on(path, 401, "InvalidToken");
    }
    let write = format!("/v3/container/topic?key={reads}");
    nobody.post(&write, &json!({ "folder": "/Plans" })).fails(401, "InvalidToken");
    // The key is an ordinary one: its privileges apply, and it ends when it is revoked.
    let elsewhere = id(&admin.call("topic-post", &[]).json(&json!({ "folder": "/Elsewhere" })).ok());
    nobody.get(&format!("/v3/container/topic/{elsewhere}/export/ics?key={reads}")).fails(404, "ObjectNotFound");
    admin.call("stet-key-delete", &[&"calendar"]).ok();
    nobody.get(&format!("{}?key={reads}", exports[0])).fails(401, "InvalidToken");
}

#[test]
fn a_key_with_more_than_read_is_refused_in_the_address_of_an_export() {
    let server = Server::start();
    let (admin, nobody) = (server.user("admin"), server.client());
    let exports = exports(&admin);
    let keys = [
        key(&admin, "a", &[("read", false), ("write", true)]),
        key(&admin, "b", &[("read", true), ("manageGroups", false)]),
    ];
    for path in &exports {
        for key in &keys {
            for parameter in ["key", "token"] {
                let refused = nobody.get(&format!("{path}?{parameter}={key}")).fails(403, "PermissionDenied");
                says(&refused, "only the privilege `read`");
            }
            // In a header, such a key is accepted.
            assert_eq!(nobody.send("GET", path, &[("token", key)], b"").status, 200);
        }
        let session = admin.token();
        says(&nobody.get(&format!("{path}?key={session}")).fails(401, "InvalidToken"), "must be a key");
        assert_eq!(nobody.get(&format!("{path}?token={session}")).status, 200);
    }
}

#[test]
fn a_key_in_an_address_is_written_down_nowhere() {
    let server = Server::with(&[("LOG__FILTER", "trace")]);
    let (admin, nobody) = (server.user("admin"), server.client());
    let [path, ..] = exports(&admin);
    let tokens =
        [key(&admin, "reads", &[("read", false)]), key(&admin, "writes", &[("read", false), ("write", false)])];
    assert_eq!(nobody.get(&format!("{path}?key={}", tokens[0])).status, 200);
    nobody.get(&format!("{path}?key={}", tokens[1])).fails(403, "PermissionDenied");
    nobody.get(&format!("{path}x?key={}", tokens[0])).fails(400, "InvalidParameter");
    nobody.get(&format!("{path}/x?key={}", tokens[0])).fails(404, "NoSuchEndpoint");
    let lost = nobody.get(&format!("{path}?key={}x", tokens[0]));
    lost.fails(401, "InvalidToken");
    let trail = admin.call("stet-audit-get", &[]).ok().to_string();
    let listed = admin.call("stet-key-list-get", &[]).ok().to_string();
    admin.call("stet-key-delete", &[&"reads"]).ok();
    wait_until("all of it is in the log", || server.log().contains("key revoked"));
    for told in [server.log(), trail, listed, String::from_utf8_lossy(&lost.body).into_owned()] {
        for token in &tokens {
            assert!(!told.contains(&token[4..]), "{told}");
        }
    }
}

#[test]
fn wrong_keys_come_out_of_the_budget_of_their_address() {
    let server = Server::with(&[("LIMITS__CALLS_PER_MINUTE", "20")]);
    let nobody = server.client();
    let guess = |number: usize| {
        let path = format!("/v3/container/topic/1$1.0.1/export/ics?key=stk_{number:032}");
        nobody.get(&path).status
    };
    let first = (0..21).map(guess).find(|status| *status != 401);
    assert_eq!(first, Some(429));
}
