//! JSON Feed 1.1 (jsonfeed.org/version/1.1).

use serde::Serialize;
use stet_base::json::{for_html, to_json_text};
use stet_domain::error::Result;

use super::{Feed, FeedContent, FeedEntry, FeedFile};

#[derive(Serialize)]
struct JsonFeed<'a> {
    version: &'static str,
    title: &'a str,
    feed_url: &'a str,
    authors: [Author<'a>; 1],
    items: Vec<JsonFeedItem<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_url: Option<&'a str>,
}

#[derive(Serialize)]
struct Author<'a> {
    name: &'a str,
}

/// A post. It must have one of the two contents.
#[derive(Serialize)]
struct JsonFeedItem<'a> {
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
    attachments: Vec<JsonFeedAttachment<'a>>,
}

#[derive(Serialize)]
struct JsonFeedAttachment<'a> {
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
    let text = to_json_text(&JsonFeed {
        version: "https://jsonfeed.org/version/1.1",
        title: &feed.title,
        feed_url: &feed.address,
        authors: [Author { name: &feed.author }],
        items: feed.entries.iter().map(JsonFeedItem::of).collect(),
        next_url: feed.next.as_deref(),
    })?;
    Ok(for_html(&text))
}

impl<'a> JsonFeedItem<'a> {
    fn of(entry: &'a FeedEntry) -> JsonFeedItem<'a> {
        let (html, text, file) = match &entry.body {
            FeedContent::Html(html, _) => (Some(html.as_str()), None, None),
            FeedContent::Text(text) => (None, Some(text), None),
            FeedContent::Elsewhere(file) => {
                (None, Some(if entry.summary.is_empty() { &entry.title } else { &entry.summary }), Some(file))
            }
        };
        JsonFeedItem {
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
            attachments: file.into_iter().chain(&entry.attachments).map(JsonFeedAttachment::of).collect(),
        }
    }
}

impl<'a> JsonFeedAttachment<'a> {
    fn of(file: &'a FeedFile) -> JsonFeedAttachment<'a> {
        JsonFeedAttachment {
            url: &file.address,
            mime_type: &file.media_type,
            title: &file.name,
            size_in_bytes: file.size,
        }
    }
}
