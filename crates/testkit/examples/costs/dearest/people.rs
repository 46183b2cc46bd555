//! The requests on users, groups, keys, sessions, messages and webhooks.

use serde_json::{Value, json};
use stet_testkit::{SAMPLE_PASSWORD, credentials};

use super::{Dearest, compressed};
use crate::fixture::{By, FOLDER, Fixture, id};
use crate::texts::text;
use crate::wire::Request;

pub fn dearest(id: &str, fixture: &Fixture) -> Option<Vec<Dearest>> {
    let found = logins(id, fixture).or_else(|| messages(id, fixture));
    let found = found.or_else(|| groups(id, fixture)).or_else(|| webhooks(id, fixture));
    found.map(|dearest| vec![dearest])
}

fn logins(id: &str, fixture: &Fixture) -> Option<Dearest> {
    let login = |password: &str| {
        let mut body = credentials("reporter", SAMPLE_PASSWORD);
        let fields = body.as_object_mut().expect("credentials are an object");
        let given = fields.remove("password");
        fields.insert(password.to_owned(), given.unwrap_or_default());
        Dearest::repeated("login, one hash of a password", Request::new(id, &[]).json(&body)).by(By::Stranger)
    };
    Some(match id {
        "auth-login-post" => login("password"),
        "old-auth-login-post" | "stet-old-login-post" => login("pwd"),
        "auth-login-get" => {
            Dearest::repeated("ticket of 4 KB", Request::new(id, &[]).query("ticket", text(4000, 1))).by(By::Stranger)
        }
        "auth-logout-get" | "old-auth-logout-get" => {
            let request = Request::new(id, &[]).query("token", fixture.fresh_token(By::Reporter));
            Dearest::once("session of its own", request).by(By::Stranger)
        }
        "auth-copy-post" => {
            let body = json!({ "token": fixture.token(By::Reporter) });
            Dearest::repeated("session of its own", Request::new(id, &[]).json(&body))
        }
        "stet-user-password-post" => {
            let body = json!({ "old": "wrong", "new": text(1000, 1) });
            Dearest::repeated("wrong password", Request::new(id, &[]).json(&body)).by(By::Granted)
        }
        "stet-session-list-get" => {
            Dearest::repeated("all sessions", compressed(Request::new(id, &[]).query("all", true))).by(By::Admin)
        }
        "stet-session-delete" => {
            let other = fixture.fresh_token(By::Reporter);
            let asked = Request::new("auth-connection-get", &[]).header("token", other);
            let connection = fixture.result(By::Stranger, &asked);
            let session = connection["session"].as_str().expect("a session has a reference").to_owned();
            Dearest::once("another session", Request::new(id, &[&session]))
        }
        _ => return None,
    })
}

fn webhooks(id: &str, fixture: &Fixture) -> Option<Dearest> {
    Some(match id {
        "stet-webhook-create-post" => {
            Dearest::once("webhook of 64 kinds", Request::new(id, &[]).json(&webhook_settings()))
        }
        "stet-webhook-list-get" => {
            (0..8).for_each(|_| drop(webhook(fixture)));
            Dearest::repeated("8 webhooks of 64 kinds", compressed(Request::new(id, &[])))
        }
        "stet-webhook-get" | "stet-webhook-delivery-get" | "stet-webhook-secret-post" => {
            Dearest::repeated("webhook of 64 kinds", Request::new(id, &[&webhook(fixture)]))
        }
        "stet-webhook-put" => {
            Dearest::repeated("webhook of 64 kinds", Request::new(id, &[&webhook(fixture)]).json(&webhook_settings()))
        }
        "stet-webhook-delete" => Dearest::once("webhook of 64 kinds", Request::new(id, &[&webhook(fixture)])),
        "stet-webhook-position-post" => Dearest::repeated(
            "webhook that reads the whole log in vain",
            Request::new(id, &[&webhook(fixture)]).json(&json!({ "position": "oldest" })),
        ),
        "stet-webhook-test-post" => {
            Dearest::repeated("receiver that can't be found", Request::new(id, &[&webhook(fixture)]))
        }
        _ => return None,
    })
}

fn webhook_settings() -> Value {
    let kinds: Vec<String> = (0..64).map(|_| "none.of.these.*".to_owned()).collect();
    json!({ "url": "https://webhook.invalid/", "kinds": kinds, "description": text(1000, 1) })
}

/// Creates a webhook that selects nothing, and returns its id.
fn webhook(fixture: &Fixture) -> String {
    let request = Request::new("stet-webhook-create-post", &[]).json(&webhook_settings());
    let made = fixture.result(By::Admin, &request);
    made["webhook"]["id"].as_str().expect("a webhook has an id").to_owned()
}

fn messages(endpoint: &str, fixture: &Fixture) -> Option<Dearest> {
    let new = || {
        fixture.people();
        let attachments = &fixture.heavy()[..100];
        json!({ "subject": text(890, 1), "body": text(65_000, 2), "recipients": ["everybody"], "attachments": attachments })
    };
    Some(match endpoint {
        "message-inbox-get" | "message-outbox-get" => {
            fixture.inbox();
            let request = Request::new(endpoint, &[]).query("limit", 1000).query("sortBy", "-subject");
            Dearest::repeated("990 messages of 64 KB, br", compressed(request))
        }
        "stet-old-message-get" => {
            fixture.inbox();
            let request = Request::new(endpoint, &[]).query("limit", 1000).query("sortBy", "subject");
            Dearest::repeated("990 messages of 64 KB, br", compressed(request))
        }
        "message-sendmail-post" | "stet-old-message-post" => Dearest::repeated(
            "message to 1,000 users with 100 objects of nearly 4 MB of attributes",
            compressed(Request::new(endpoint, &[]).json(&new())),
        ),
        "stet-message-read-put" => {
            Dearest::repeated("message of a box of 990", Request::new(endpoint, &[&fixture.inbox()]))
        }
        "stet-message-delete" => {
            let body = json!({ "subject": "s", "recipients": ["reporter"] });
            let sent = fixture.result(By::Reporter, &Request::new("message-sendmail-post", &[]).json(&body));
            fixture.inbox();
            Dearest::once("message of a box of 990", Request::new(endpoint, &[&id(&sent)]))
        }
        _ => return None,
    })
}

fn groups(id: &str, fixture: &Fixture) -> Option<Dearest> {
    let grants = || {
        fixture.people();
        let folder = |number: usize| format!("{FOLDER}{}/{number}", "/level".repeat(40));
        (0..1000).map(|number| json!({ "privilege": "read", "folder": folder(number) })).collect::<Vec<_>>()
    };
    let members = || (0..1000).map(|number| format!("person-{number}")).collect::<Vec<_>>();
    let new = |name: &str| json!({ "groupName": name, "members": members(), "privileges": grants() });
    let created = || {
        let name = fixture.name();
        fixture.result(By::Admin, &Request::new("group-create-post", &[]).json(&new(&name)));
        name
    };
    Some(match id {
        "group-create-post" => {
            let name = fixture.name();
            Dearest::once("1,000 members and 1,000 privileges", Request::new(id, &[]).json(&new(&name)))
        }
        "group-update-post" => {
            let name = created();
            let less = json!({ "groupName": name, "members": [], "privileges": [] });
            let turns = vec![Request::new(id, &[]).json(&less), Request::new(id, &[]).json(&new(&name))];
            Dearest::in_turn("1,000 members and 1,000 privileges", turns)
        }
        "group-delete" => Dearest::once("group of 1,000 members", Request::new(id, &[]).query("groupName", created())),
        "stet-user-list-get" | "old-user-list-get" | "cache-users-get" | "cache-users-db-get" => {
            fixture.people();
            let arguments: &[&dyn std::fmt::Display] = if id.ends_with("db-get") { &[&1] } else { &[] };
            Dearest::repeated("1,000 users", compressed(super::shown(Request::new(id, arguments))))
        }
        "stet-user-create-post" => {
            let body = json!({ "name": fixture.name(), "password": text(1000, 1) });
            Dearest::once("one hash of a password", Request::new(id, &[]).json(&body))
        }
        "stet-user-get" => Dearest::repeated("one user", Request::new(id, &[&"reporter"])),
        "stet-user-update-put" => {
            fixture.people();
            let passwords =
                [1, 2].map(|seed| Request::new(id, &[&"person-1"]).json(&json!({ "password": text(1000, seed) })));
            Dearest::in_turn("one hash of a password", passwords.into())
        }
        "stet-key-create-post" => {
            let body = json!({ "name": fixture.name(), "user": "editor", "privileges": grants() });
            Dearest::once("key with 1,000 privileges", Request::new(id, &[]).json(&body))
        }
        "stet-key-delete" => {
            let name = fixture.name();
            let body = json!({ "name": name, "user": "editor", "privileges": grants() });
            fixture.result(By::Admin, &Request::new("stet-key-create-post", &[]).json(&body));
            Dearest::once("key with 1,000 privileges", Request::new(id, &[&name]))
        }
        "stet-audit-get" => Dearest::repeated(
            "page of 1,000 entries of a user who has changed nothing",
            compressed(Request::new(id, &[]).query("limit", 1000).query("user", "nobody")),
        ),
        _ => return None,
    })
}
