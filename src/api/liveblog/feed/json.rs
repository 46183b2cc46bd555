//! JSON Feed 1.1 (jsonfeed.org/version/1.1).

use serde_json::{Value, json};

use super::{Body, Entry, Feed, Link};

/// A feed as JSON Feed.
pub(super) fn text(feed: &Feed) -> String {
    let mut whole = json!({
        "version": "https://jsonfeed.org/version/1.1",
        "title": feed.title,
        "feed_url": feed.address,
        "authors": [{ "name": feed.author }],
        "items": feed.entries.iter().map(item).collect::<Vec<_>>(),
    });
    if let Some(next) = &feed.next {
        whole["next_url"] = json!(next);
    }
    whole.to_string()
}

fn item(entry: &Entry) -> Value {
    let mut item = json!({
        "id": entry.id,
        "title": entry.title,
        "date_published": entry.published,
        "date_modified": entry.updated,
        "authors": [{ "name": entry.author }],
    });
    let mut files: Vec<&Link> = entry.attachments.iter().collect();
    // One of the two must be there.
    match &entry.body {
        Body::Html(html, _) => item["content_html"] = json!(html),
        Body::Text(text) => item["content_text"] = json!(text),
        Body::Elsewhere(file) => {
            item["content_text"] = json!(if entry.summary.is_empty() { &entry.title } else { &entry.summary });
            if file.media_type.starts_with("image/") {
                item["image"] = json!(file.address);
            }
            files.insert(0, file);
        }
    }
    if !entry.summary.is_empty() {
        item["summary"] = json!(entry.summary);
    }
    if !entry.tags.is_empty() {
        item["tags"] = json!(entry.tags);
    }
    if !files.is_empty() {
        item["attachments"] = files.into_iter().map(attachment).collect();
    }
    item
}

fn attachment(file: &Link) -> Value {
    json!({ "url": file.address, "mime_type": file.media_type, "title": file.name, "size_in_bytes": file.size })
}
