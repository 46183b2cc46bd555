//! JSON Feed 1.1 (jsonfeed.org/version/1.1).

use serde::Serialize;
use stet_actors::error::Result;

use super::{Body, Entry, Feed, Link};
use crate::json::{for_html, written};

#[derive(Serialize)]
struct JsonFeed<'a> {
    version: &'static str,
    title: &'a str,
    feed_url: &'a str,
    authors: [Author<'a>; 1],
    items: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_url: Option<&'a str>,
}

#[derive(Serialize)]
struct Author<'a> {
    name: &'a str,
}

/// A post. It must have one of the two contents.
#[derive(Serialize)]
struct Item<'a> {
    id: &'a str,
    title: &'a str,
    date_published: &'a str,
    date_modified: &'a str,
    authors: [Author<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    content_html: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    summary: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<Attachment<'a>>,
}

#[derive(Serialize)]
struct Attachment<'a> {
    url: &'a str,
    mime_type: &'a str,
    title: &'a str,
    size_in_bytes: u64,
}

/// Formats a feed as JSON Feed.
///
/// # Errors
/// None, because there are only texts and numbers.
pub(super) fn text(feed: &Feed) -> Result<String> {
    let text = written(&JsonFeed {
        version: "https://jsonfeed.org/version/1.1",
        title: &feed.title,
        feed_url: &feed.address,
        authors: [Author { name: &feed.author }],
        items: feed.entries.iter().map(Item::of).collect(),
        next_url: feed.next.as_deref(),
    })?;
    Ok(for_html(&text))
}

impl<'a> Item<'a> {
    fn of(entry: &'a Entry) -> Item<'a> {
        let (html, text, file) = match &entry.body {
            Body::Html(html, _) => (Some(html.as_str()), None, None),
            Body::Text(text) => (None, Some(text), None),
            Body::Elsewhere(file) => {
                (None, Some(if entry.summary.is_empty() { &entry.title } else { &entry.summary }), Some(file))
            }
        };
        Item {
            id: &entry.id,
            title: &entry.title,
            date_published: &entry.published,
            date_modified: &entry.updated,
            authors: [Author { name: &entry.author }],
            content_html: html,
            content_text: text.map(String::as_str),
            image: file.filter(|file| file.media_type.starts_with("image/")).map(|file| file.address.as_str()),
            summary: &entry.summary,
            tags: &entry.tags,
            attachments: file.into_iter().chain(&entry.attachments).map(Attachment::of).collect(),
        }
    }
}

impl<'a> Attachment<'a> {
    fn of(file: &'a Link) -> Attachment<'a> {
        Attachment { url: &file.address, mime_type: &file.media_type, title: &file.name, size_in_bytes: file.size }
    }
}
