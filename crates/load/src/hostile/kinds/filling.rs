//! Clients that write much by small calls, and delete it again.

use bytes::Bytes;
use hyper::Method;
use serde_json::json;

use super::reading::topic;
use super::{id, text};
use crate::call::{Call, FormFile};
use crate::desk::encode_segment;
use crate::hostile::client::HostileClient;

/// The number of messages of one round.
const MESSAGES: usize = 1000;
/// The size of an upload in bytes.
const UPLOAD: usize = 32 << 20;
/// The number of objects in the discarded folder.
const BELOW: usize = 300;

/// Creates topics from a large template, and destroys them.
pub async fn fill_topics(client: &mut HostileClient) {
    let Some(template) = topic(client, 300).await else { return };
    let path = format!("/v3/container/topic/from/template/{}", encode_segment(&template));
    let mut made = Vec::new();
    for _ in 0..10 {
        let topic = client.json(Method::POST, &path, &client.new_object("filled")).await;
        made.extend(topic.as_ref().and_then(id));
    }
    for topic in made {
        client.destroy(&topic).await;
    }
}

/// Copies a bundle with large attributes for a channel, changes these, and destroys the bundle.
pub async fn copy_bundles(client: &mut HostileClient, round: u64) {
    let mut options = client.new_object("bundle.xml");
    options["type"] = json!("EOM::CompoundStory");
    options["attributes"] = json!({ "story": { "headline": text(900_000, round) } });
    let content = FormFile { part: "content", name: "a.xml", media_type: "text/xml", text: "<story/>" };
    let call = Call::form(Method::POST, "/v3/object/create".to_owned(), &options, &[content]);
    let Some(bundle) = client.result(&call).await.as_ref().and_then(id) else { return };
    for seed in 0..3 {
        let large = text(3_500_000, seed + round);
        let set = json!([{ "set": { "xpath": "/attributes/story/headline", "content": large } }]);
        let body = json!({ "updateFields": [{ "sourceIds": [bundle], "operators": set }] });
        client.json(Method::POST, "/v3/object/metadata/change/fields", &body).await;
    }
    let path = format!("/v3/container/bundle/{}/channelcopy", encode_segment(&bundle));
    for (channel, from) in [("Web", "Neutral"), ("Tabloid", "Web")] {
        let body = json!({ "channel": channel, "inheritFrom": from });
        client.json(Method::POST, &path, &body).await;
    }
    client.destroy(&bundle).await;
}

/// Uploads a large content and destroys it.
pub async fn upload(client: &mut HostileClient) {
    let object = match client.kept("object") {
        Some(object) => object,
        None => {
            let call = Call::form(Method::POST, "/v3/object/create".to_owned(), &client.new_object("upload.bin"), &[]);
            let Some(object) = client.result(&call).await.as_ref().and_then(id) else { return };
            client.keep("object", object.clone());
            object
        }
    };
    let path = format!("/v3/object/{}/content", encode_segment(&object));
    // Different bytes each time: equal ones are stored once.
    let mut body = vec![b'x'; UPLOAD];
    body[..16].copy_from_slice(&rand::random::<[u8; 16]>());
    let call =
        Call { body: Bytes::from(body), content_type: "application/octet-stream", ..Call::new(Method::PUT, path) };
    client.send(&call).await;
    client.forget("object");
    client.destroy(&object).await;
}

/// Sends messages to everybody, and removes them from the client's own mailboxes.
pub async fn send_messages(client: &mut HostileClient) {
    let body = json!({ "subject": client.subject, "body": text(4000, 1), "recipients": client.recipients });
    let mut sent = Vec::new();
    for _ in 0..MESSAGES {
        let message = client.json(Method::POST, "/v3/message/sendmail", &body).await;
        sent.extend(message.as_ref().and_then(id));
    }
    for message in sent {
        client.send(&Call::new(Method::DELETE, format!("/v3/message/{}", encode_segment(&message)))).await;
    }
}

/// Discards a folder with many objects below it, restores it, and so on.
pub async fn discard_and_restore(client: &mut HostileClient) {
    let folder = match client.kept("folder") {
        Some(folder) => folder,
        None => {
            let path = format!("{}/below", client.folder);
            let made = client.json(Method::POST, "/v3/folder", &json!({ "path": path })).await;
            let Some(folder) = made.as_ref().and_then(id) else { return };
            client.keep("folder", folder.clone());
            folder
        }
    };
    let kept = client.kept("below").and_then(|count| count.parse().ok()).unwrap_or(0_usize);
    for number in kept..BELOW.min(kept + 100) {
        let place = format!("{}/below/{}", client.folder, number % 10);
        let options = json!({ "name": format!("{number}.xml"), "folderPath": place, "type": "Story" });
        let call = Call::form(Method::POST, "/v3/object/create".to_owned(), &options, &[]);
        if client.result(&call).await.is_none() {
            return;
        }
        client.keep("below", (number + 1).to_string());
    }
    let path = |what: &str| format!("/v3/object/{}/{what}", encode_segment(&folder));
    client.send(&Call::new(Method::DELETE, path("discard"))).await;
    client.json(Method::POST, &path("restore"), &json!({})).await;
}
