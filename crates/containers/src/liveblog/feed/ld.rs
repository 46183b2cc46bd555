//! JSON-LD in the terms of schema.org: a `LiveBlogPosting` with a `BlogPosting` for each post.

use serde::Serialize;
use stet_base::json::{for_html, to_json_text};
use stet_domain::error::Result;

use super::{Feed, FeedContent, FeedEntry, FeedFile};

#[derive(Serialize)]
#[serde(tag = "@type", rename_all = "camelCase")]
struct LiveBlogPosting<'a> {
    #[serde(rename = "@context")]
    context: &'static str,
    #[serde(rename = "@id")]
    id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    url: &'a str,
    headline: &'a str,
    #[serde(skip_serializing_if = "Person::is_nobody")]
    author: Person<'a>,
    date_published: &'a str,
    date_modified: &'a str,
    coverage_start_time: &'a str,
    coverage_end_time: &'a str,
    live_blog_update: Vec<BlogPosting<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "@type", rename_all = "camelCase")]
struct BlogPosting<'a> {
    #[serde(rename = "@id")]
    id: &'a str,
    headline: &'a str,
    #[serde(skip_serializing_if = "Person::is_nobody")]
    author: Person<'a>,
    date_published: &'a str,
    date_modified: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    article_body: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    r#abstract: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    keywords: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    associated_media: Vec<MediaObject<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "@type")]
struct Person<'a> {
    name: &'a str,
}

impl Person<'_> {
    fn is_nobody(&self) -> bool {
        self.name.is_empty()
    }
}

#[derive(Serialize)]
#[serde(tag = "@type", rename_all = "camelCase")]
struct MediaObject<'a> {
    content_url: &'a str,
    encoding_format: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    content_size: String,
}

/// Formats a feed as JSON-LD, which pages embed in a `script` element.
///
/// # Errors
/// None, because there are only texts and numbers.
pub(in super::super) fn text(feed: &Feed) -> Result<String> {
    let (begin, end) = &feed.covers;
    let text = to_json_text(&LiveBlogPosting {
        context: "https://schema.org",
        id: &feed.id,
        url: &feed.address,
        headline: &feed.title,
        author: Person { name: &feed.author },
        date_published: &feed.created,
        date_modified: &feed.updated,
        coverage_start_time: begin,
        coverage_end_time: end,
        live_blog_update: feed.entries.iter().map(BlogPosting::of).collect(),
    })?;
    Ok(for_html(&text))
}

impl<'a> BlogPosting<'a> {
    fn of(entry: &'a FeedEntry) -> BlogPosting<'a> {
        let (text, file) = match &entry.body {
            FeedContent::Html(_, text) | FeedContent::Text(text) => (Some(text.as_str()), None),
            FeedContent::Elsewhere(file) => (None, Some(file)),
        };
        BlogPosting {
            id: &entry.id,
            headline: &entry.title,
            author: Person { name: &entry.author },
            date_published: &entry.published,
            date_modified: &entry.updated,
            article_body: text,
            r#abstract: &entry.summary,
            keywords: &entry.tags,
            associated_media: file.into_iter().chain(&entry.attachments).map(MediaObject::of).collect(),
        }
    }
}

impl<'a> MediaObject<'a> {
    fn of(file: &'a FeedFile) -> MediaObject<'a> {
        MediaObject {
            content_url: &file.address,
            encoding_format: &file.media_type,
            name: &file.name,
            content_size: if file.size > 0 { file.size.to_string() } else { String::new() },
        }
    }
}
