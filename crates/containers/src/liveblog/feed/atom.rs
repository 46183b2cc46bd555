//! The Atom Syndication Format (RFC 4287), with a link to the next part (RFC 5005).

use stet_xml::{Output, without_illegal_chars};

use super::{Feed, FeedContent, FeedEntry, FeedFile};

/// Formats a feed as Atom.
pub(super) fn text(feed: &Feed) -> String {
    let mut out = Output::default();
    out.raw(&["<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"]);
    out.open("feed");
    out.attribute("xmlns", "http://www.w3.org/2005/Atom");
    element(&mut out, "id", &feed.id);
    element(&mut out, "title", &feed.title);
    element(&mut out, "updated", &feed.updated);
    author(&mut out, &feed.author);
    link(&mut out, "self", &feed.address, &[]);
    if let Some(next) = &feed.next {
        link(&mut out, "next", next, &[]);
    }
    for entry in &feed.entries {
        write_entry(&mut out, entry);
    }
    out.close("feed");
    out.raw(&["\n"]);
    out.into_text()
}

fn write_entry(out: &mut Output, entry: &FeedEntry) {
    out.raw(&["\n"]);
    out.open("entry");
    element(out, "id", &entry.id);
    element(out, "title", &entry.title);
    element(out, "published", &entry.published);
    element(out, "updated", &entry.updated);
    author(out, &entry.author);
    for tag in &entry.tags {
        out.open("category");
        out.attribute("term", &without_illegal_chars(tag));
        out.close("category");
    }
    // An entry whose content is elsewhere must have a summary (RFC 4287, 4.1.1.1).
    let must_have = matches!(entry.body, FeedContent::Elsewhere(_));
    if !entry.summary.is_empty() || must_have {
        element(out, "summary", if entry.summary.is_empty() { &entry.title } else { &entry.summary });
    }
    out.open("content");
    match &entry.body {
        FeedContent::Html(html, _) => {
            out.attribute("type", "html");
            out.text(&without_illegal_chars(html));
        }
        FeedContent::Text(text) => {
            out.attribute("type", "text");
            out.text(&without_illegal_chars(text));
        }
        FeedContent::Elsewhere(file) => {
            out.attribute("type", &file.media_type);
            out.attribute("src", &without_illegal_chars(&file.address));
        }
    }
    out.close("content");
    for FeedFile { address, name, media_type, size } in &entry.attachments {
        let more = [("type", media_type.as_str()), ("length", &size.to_string()), ("title", name)];
        link(out, "enclosure", address, &more);
    }
    out.close("entry");
}

fn element(out: &mut Output, name: &str, text: &str) {
    out.open(name);
    out.text(&without_illegal_chars(text));
    out.close(name);
}

fn author(out: &mut Output, name: &str) {
    out.open("author");
    element(out, "name", name);
    out.close("author");
}

fn link(out: &mut Output, relation: &str, address: &str, more: &[(&str, &str)]) {
    out.open("link");
    out.attribute("rel", relation);
    out.attribute("href", &without_illegal_chars(address));
    for (name, value) in more {
        out.attribute(name, &without_illegal_chars(value));
    }
    out.close("link");
}
