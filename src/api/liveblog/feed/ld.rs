//! JSON-LD in the terms of schema.org: a `LiveBlogPosting` with a `BlogPosting` for each post.

use serde_json::{Value, json};

use super::{Body, Entry, Feed, Link};

/// A feed as JSON-LD.
pub(super) fn text(feed: &Feed) -> String {
    let (begin, end) = &feed.covers;
    let whole = json!({
        "@context": "https://schema.org",
        "@type": "LiveBlogPosting",
        "@id": feed.id,
        "url": feed.address,
        "headline": feed.title,
        "author": person(&feed.author),
        "datePublished": feed.created,
        "dateModified": feed.updated,
        "coverageStartTime": begin,
        "coverageEndTime": end,
        "liveBlogUpdate": feed.entries.iter().map(posting).collect::<Vec<_>>(),
    });
    whole.to_string()
}

fn posting(entry: &Entry) -> Value {
    let mut posting = json!({
        "@type": "BlogPosting",
        "@id": entry.id,
        "headline": entry.title,
        "author": person(&entry.author),
        "datePublished": entry.published,
        "dateModified": entry.updated,
    });
    let mut files: Vec<&Link> = entry.attachments.iter().collect();
    match &entry.body {
        Body::Html(_, text) | Body::Text(text) => posting["articleBody"] = json!(text),
        Body::Elsewhere(file) => files.insert(0, file),
    }
    if !entry.summary.is_empty() {
        posting["abstract"] = json!(entry.summary);
    }
    if !entry.tags.is_empty() {
        posting["keywords"] = json!(entry.tags);
    }
    if !files.is_empty() {
        posting["associatedMedia"] = files.into_iter().map(media).collect();
    }
    posting
}

fn person(name: &str) -> Value {
    json!({ "@type": "Person", "name": name })
}

fn media(file: &Link) -> Value {
    json!({ "@type": "MediaObject", "contentUrl": file.address, "encodingFormat": file.media_type, "name": file.name,
        "contentSize": file.size.to_string() })
}
