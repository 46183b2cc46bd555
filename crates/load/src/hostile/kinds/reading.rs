//! Clients that make expensive reads.

use bytes::Bytes;
use hyper::Method;
use serde_json::json;

use super::{id, text};
use crate::call::{Call, FormFile};
use crate::desk::encode_segment;
use crate::hostile::black_picture;
use crate::hostile::client::HostileClient;

/// The number of small objects in the folder of a client that reads many of them.
const ENTRIES: usize = 600;
/// The number of sources of the largest list.
const SOURCES: usize = 10_000;
/// The number of items of the exported topic.
const ITEMS: usize = 200;

/// Creates entries with long names in the client's folder, some in each round. Returns whether all
/// exist.
async fn entries(client: &mut HostileClient) -> bool {
    if client.kept("entries").is_some() {
        return true;
    }
    let kept = client.kept("entries so far").and_then(|count| count.parse().ok()).unwrap_or(0_usize);
    // Some of them in each round, so that refusals do not end it.
    for number in kept..(kept + 60).min(ENTRIES) {
        let name = format!("{}{number:05}", "a".repeat(200));
        let options = json!({ "name": name, "folderPath": client.folder, "type": "Story",
            "attributes": { "story": { "headline": text(1000, number as u64) } } });
        let content = FormFile { part: "content", name: "a.xml", media_type: "text/xml", text: "<story/>" };
        let call = Call::form(Method::POST, "/v3/object/create".to_owned(), &options, &[content]);
        if client.send(&call).await.is_none_or(|answer| answer.is_overloaded()) {
            return false;
        }
        client.keep("entries so far", (number + 1).to_string());
    }
    if kept + 60 >= ENTRIES {
        client.keep("entries", String::new());
    }
    client.kept("entries").is_some()
}

/// Reads thousands of sources by one call, some of which exist.
pub async fn read_in_bulk(client: &mut HostileClient) {
    if !entries(client).await {
        return;
    }
    let name = |number: usize| format!("{}/{}{number:05}", client.folder, "a".repeat(200));
    let sources: Vec<_> = (0..SOURCES).map(name).collect();
    let body = json!({ "sources": sources, "showXml": true, "showPath": true });
    client.send(&Call::json(Method::POST, "/v3/object", &body)).await;
}

/// Filters a folder by many patterns that are slow to match.
pub async fn filter(client: &mut HostileClient) {
    if !entries(client).await {
        return;
    }
    let patterns: String = (0..99).map(|number| format!("&patternSequence={}{number}b", "*a".repeat(18))).collect();
    client.get(&format!("/v3/folder/{}/filter?recursive=true{patterns}", encode_segment(&client.folder))).await;
}

/// Reads the table of a topic with large items, and a folder with many entries, compressed.
pub async fn export(client: &mut HostileClient) {
    if let Some(topic) = topic(client, ITEMS).await {
        for coding in ["br", "gzip", "zstd"] {
            client.get_compressed(&format!("/v3/container/topic/{}/export/csv", encode_segment(&topic)), coding).await;
        }
    }
    if entries(client).await {
        client.get_compressed(&format!("/v3/folder/{}?showXml=true", encode_segment(&client.folder)), "br").await;
    }
}

/// Returns a topic with this many large items; `None` while it is being built.
pub async fn topic(client: &mut HostileClient, items: usize) -> Option<String> {
    let topic = match client.kept("topic") {
        Some(topic) => topic,
        None => {
            let made = client.json(Method::POST, "/v3/container/topic", &client.new_object("topic")).await?;
            let topic = id(&made)?;
            client.keep("topic", topic.clone());
            topic
        }
    };
    let path = format!("/v3/container/topic/{}/topicitem", encode_segment(&topic));
    let kept = client.kept("items").and_then(|count| count.parse().ok()).unwrap_or(0_usize);
    for number in kept..items.min(kept + 50) {
        let assignees: Vec<_> = (0..100).map(|seed| text(200, seed + 1)).collect();
        let item = json!({ "name": format!("item {number}"), "comment": text(8000, number as u64),
            "assignees": assignees, "attributes": { "story": { "headline": text(7000, number as u64) } } });
        client.json(Method::POST, &path, &item).await?;
        client.keep("items", (number + 1).to_string());
    }
    (kept + 50 >= items).then_some(topic)
}

/// Has a picture of large dimensions scaled, and a preview of forty pages rendered.
pub async fn paint(client: &mut HostileClient) {
    let picture = match client.kept("picture") {
        Some(picture) => Some(picture),
        None => upload_picture(client).await,
    };
    if let Some(picture) = &picture {
        // Another picture each time, so that its preview is not cached.
        let path = format!("/v3/object/{}/content", encode_segment(picture));
        let body = Bytes::from(black_picture(3000 + rand::random::<u32>() % 64));
        client.send(&Call { body, content_type: "image/png", ..Call::new(Method::PUT, path) }).await;
        client.get(&format!("/v3/object/{}/content/lowres", encode_segment(picture))).await;
    }
    let story = match client.kept("story") {
        Some(story) => story,
        None => {
            let options = json!({ "name": "story.xml", "folderPath": client.folder, "type": "Story" });
            let call = Call::form(Method::POST, "/v3/object/create".to_owned(), &options, &[]);
            let Some(story) = client.result(&call).await.as_ref().and_then(id) else { return };
            client.keep("story", story.clone());
            story
        }
    };
    let body =
        json!({ "content": format!("<story><p>{}</p></story>", text(190_000, 1)), "parameters": { "page": 40 } });
    let path = format!("/v3/printService/createStoryPreview?getPdf=true&id={}", encode_segment(&story));
    client.send(&Call::json(Method::POST, &path, &body)).await;
}

async fn upload_picture(client: &mut HostileClient) -> Option<String> {
    let options = json!({ "name": "picture.png", "folderPath": client.folder, "type": "Image" });
    let call = Call::form(Method::POST, "/v3/object/create".to_owned(), &options, &[]);
    let picture = id(&client.result(&call).await?)?;
    client.keep("picture", picture.clone());
    Some(picture)
}
