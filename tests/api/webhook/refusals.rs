//! What webhooks refuse, and where they do not send.

use super::*;

fn create(client: &Client, settings: &Value) -> Answer {
    client.call("stet-webhook-create-post", &[]).json(settings).send()
}

#[test]
fn settings_are_refused_with_the_field_and_the_value() {
    let admin = Server::shared().user("admin");
    for (settings, part) in [
        (json!({}), "$.url"),
        (json!({ "url": "ftp://example.org/" }), "$.url"),
        (json!({ "url": "http://example.org/x#y" }), "$.url"),
        (json!({ "url": "https://10.0.0.1/" }), "10.0.0.1"),
        (json!({ "url": "https://[::1]/" }), "[::1]"),
        (json!({ "url": "http://1.1.1.1/" }), "1.1.1.1"),
        (json!({ "url": "https://webhook.invalid/", "kinds": ["drawer.*", "no kind"] }), "$.kinds[1]"),
    ] {
        says(&create(&admin, &settings).fails(400, "InvalidBody"), part);
    }
    let url = "https://webhook.invalid/";
    create(&admin, &json!({ "url": url, "kinds": vec!["a"; 65] })).fails(413, "TooLarge");
    create(&admin, &json!({ "url": url, "description": "x".repeat(1025) })).fails(413, "TooLarge");
    create(&admin, &json!({ "url": url, "container": "1$1.0.999999999" })).fails(404, "ObjectNotFound");
    let id = webhook(&admin, &json!({ "url": url, "paused": true }));
    let position =
        |position: &str| admin.call("stet-webhook-position-post", &[&id]).json(&json!({ "position": position })).send();
    for wrong in ["yesterday", "999999999-0", "1-", "-1"] {
        says(&position(wrong).fails(400, "InvalidBody"), wrong);
    }
    for id in ["0198c1de", "00000000-0000-0000-0000-000000000000"] {
        admin.call("stet-webhook-get", &[&id]).fails(404, "ObjectNotFound");
        admin.call("stet-webhook-test-post", &[&id]).fails(404, "ObjectNotFound");
    }
}

#[test]
fn webhooks_are_for_people_who_configure_the_server() {
    let server = Server::shared();
    let settings = json!({ "url": "https://webhook.invalid/", "paused": true });
    create(&server.user("reporter"), &settings).fails(403, "PermissionDenied");
    let admin = server.user("admin");
    let key = json!({ "name": own_folder().replace('/', "-"), "user": "admin", "privileges": [{ "privilege": "configure" }] });
    let key = server.client_with(&admin.call("stet-key-create-post", &[]).json(&key).ok()["token"]);
    says(&create(&key, &settings).fails(403, "PermissionDenied"), "key");
    let id = webhook(&admin, &settings);
    key.call("stet-webhook-put", &[&id]).json(&json!({ "kinds": [] })).fails(403, "PermissionDenied");
    for call in ["stet-webhook-secret-post", "stet-webhook-test-post", "stet-webhook-delete"] {
        key.call(call, &[&id]).fails(403, "PermissionDenied");
    }
    let body = json!({ "position": "oldest" });
    key.call("stet-webhook-position-post", &[&id]).json(&body).fails(403, "PermissionDenied");
    assert_eq!(show(&key, &id)["owner"], "admin");
}

#[test]
fn there_are_at_most_so_many_webhooks() {
    let server = Server::with(&[("WEBHOOKS__MOST", "2")]);
    let admin = server.user("admin");
    let settings = json!({ "url": "https://webhook.invalid/", "paused": true });
    let [first, _] = [(); 2].map(|()| webhook(&admin, &settings));
    says(&create(&admin, &settings).fails(413, "TooLarge"), "`webhooks.most` allows 2");
    admin.call("stet-webhook-delete", &[&first]).ok();
    admin.call("stet-webhook-get", &[&first]).fails(404, "ObjectNotFound");
    webhook(&admin, &settings);
    let server = server.restart();
    assert_eq!(server.user("admin").call("stet-webhook-list-get", &[]).ok()["total"], 2);
}

/// A name that leads to this machine must not let anybody reach what listens here.
#[test]
fn names_that_lead_to_private_addresses_are_not_sent_to() {
    let server = Server::with(&[("WEBHOOKS__RETRY_SECONDS", "1")]);
    let admin = server.user("admin");
    let receiver = Receiver::start();
    let url = receiver.url.replace("127.0.0.1", "localhost");
    for url in [url.clone(), url.replace("http://", "https://")] {
        let id = webhook(&admin, &json!({ "url": url, "paused": true }));
        let outcome = admin.call("stet-webhook-test-post", &[&id]).ok();
        assert_eq!(outcome["status"], Value::Null);
        says(&json!({ "message": outcome["error"] }), "webhooks.networks");
    }
    assert_eq!(receiver.messages().len(), 0);
}

#[test]
fn redirects_are_not_followed() {
    let server = Server::with(&HERE);
    let reported = Reported::on(&server, 0);
    reported.receiver.answer(302);
    let outcome = reported.client.call("stet-webhook-test-post", &[&reported.webhook]).ok();
    assert_eq!(outcome["status"], 302);
    says(&json!({ "message": outcome["error"] }), "redirects are not followed");
}
