//! Webhooks (docs/api/webhooks.md).

mod delivery;
pub mod receiver;
mod refusals;

use serde_json::{Value, json};

use self::receiver::Receiver;
use super::endpoints::cases::{Made, cases, word};
use crate::harness::*;

/// Settings of servers that may send to receivers on this machine, and try again soon.
const HERE: [(&str, &str); 3] =
    [("WEBHOOKS__NETWORKS", "127.0.0.0/8"), ("WEBHOOKS__RETRY_SECONDS", "1"), ("WEBHOOKS__TIMEOUT_SECONDS", "2")];

/// Creates a webhook, and returns its id.
fn webhook(client: &Client, settings: &Value) -> String {
    let made = client.call("stet-webhook-create-post", &[]).json(settings).ok();
    assert!(made["secret"].as_str().is_some_and(|secret| secret.starts_with("whsec_")), "{made}");
    made["webhook"]["id"].as_str().expect("a webhook has an id").to_owned()
}

fn show(client: &Client, id: &str) -> Value {
    client.call("stet-webhook-get", &[&id]).ok()
}

fn wait_for_state(client: &Client, id: &str, state: &str) -> Value {
    wait_patiently_until(state, || show(client, id)["state"] == state);
    show(client, id)
}

/// A drawer that is reported to a receiver, and stories to put into it.
struct Reported {
    client: Client,
    drawer: String,
    stories: Vec<String>,
    receiver: Receiver,
    webhook: String,
}

impl Reported {
    fn on(server: &Server, stories: usize) -> Reported {
        let client = server.user("admin");
        let folder = own_folder();
        let drawer = client.drawer(&folder, "drawer", 10_000);
        let stories = (0..stories).map(|number| client.story(&folder, &format!("{number}.xml"))).collect();
        let receiver = Receiver::start();
        let webhook = webhook(&client, &json!({ "url": receiver.url, "container": drawer }));
        Reported { client, drawer, stories, receiver, webhook }
    }

    fn put_in(&self, story: usize) {
        self.client.call("drawer-item-post", &[&self.drawer, &self.stories[story]]).ok();
    }

    fn revision(&self) -> u64 {
        self.client.call("object-get", &[&self.drawer]).ok()["revision"].as_u64().expect("a drawer has a revision")
    }
}

/// A webhook that sends nothing, since it is paused and its address leads nowhere.
fn idle() -> Made {
    let settings = json!({ "url": "https://webhook.invalid/", "paused": true });
    Made::on([word(webhook(&Server::shared().user("admin"), &settings))])
}

cases! {
    "stet-webhook-list-get": |_| Made::default();
    "stet-webhook-create-post": |_| Made::default().json(json!({ "url": "https://webhook.invalid/", "paused": true }));
    "stet-webhook-get": |_| idle();
    "stet-webhook-put": |_| idle().json(json!({ "description": "new" }));
    "stet-webhook-delete": |_| Made { once: true, ..idle() };
    "stet-webhook-secret-post": |_| idle();
    "stet-webhook-position-post": |_| idle().json(json!({ "position": "newest" }));
    "stet-webhook-delivery-get": |_| idle();
    "stet-webhook-test-post": |_| idle();
}
