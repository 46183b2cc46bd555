//! A post as it stands in its liveblog's resolved content.
//!
//! ```xml
//! <post loid="1$1.0.42" uuid="…" name="20251121-140304-005" type="news" timestamp="1763733784005" author="editor" pinned="true">
//!   <title>…</title>
//!   <summary>…</summary>
//!   <content contentType="text/xml" form="xml">…</content>
//!   <attachment id="7" name="map.png" contentType="image/png" size="42" href="/v3/container/liveblog/…"/>
//! </post>
//! ```
//!
//! `type`, `title` and `summary` appear if the post has them. The content's `form` states how it is
//! included:
//!
//! - `xml`: the root element of the post's XML (or of HTML that is XML), without declaration and
//!   DOCTYPE;
//! - `text`: text; also XML that needs its DOCTYPE, or that is not well-formed, as it was written;
//! - `reference`: not included, because it is not text, or longer than an attribute text may be.
//!   `href` leads to it, and `size` is its length in bytes.
//!
//! `post` and the elements created here are in the default namespace of the place of insertion. The
//! post's own elements keep their namespaces. Characters that XML can't represent are left out.

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use stet_base::limits::offload;
use stet_content::download::read_small;
use stet_content::text::decode_text;
use stet_content::words::{essence, is_markup, is_text};
use stet_domain::error::Result;
use stet_domain::liveblog::Post;
use stet_domain::object::{Content, ContentLocation, SmallBody};
use stet_endpoint::settled::UnsettledReply;
use stet_web::app::App;
use stet_xml::{Limits, Output};

use super::of_post;

/// Returns the post as XML with a line feed at the end. `None` if its content was replaced since
/// this state of the post. `in_default` states that a default namespace holds at the place of
/// insertion.
///
/// # Errors
/// Errors of disk and store.
pub(super) async fn piece(app: &Arc<App>, post: &Arc<Post>, in_default: bool) -> Result<Option<String>> {
    let text = match &post.record.content {
        Some(content) if content.size <= app.config.limits.xml_bytes as u64 && is_text(&content.content_type) => {
            let Some(bytes) = bytes_of(app, post, content).await? else { return Ok(None) };
            Some(bytes)
        }
        _ => None,
    };
    let bytes = text.as_ref().map_or(0, Bytes::len);
    let (app, post) = (app.clone(), post.clone());
    offload::offload_if_large(bytes, move || write_post(&app, &post, text.as_deref(), in_default)).await.map(Some)
}

/// Returns the bytes of a post's content, if they still exist.
///
/// # Errors
/// Errors of disk and store.
pub(super) async fn bytes_of(app: &App, post: &Post, content: &Content) -> Result<Option<Bytes>> {
    if content.stored == ContentLocation::File {
        // A file is named by its hash, so its bytes never change. But it may be collected once the
        // post has changed.
        let reader = match app.content.open_if_there(content).await? {
            Some(reader) => reader,
            None => match of_post(&app.repository, post, || Ok(())) {
                Ok(()) => app.content.open_content(content).await?,
                Err(UnsettledReply::Changed) => return Ok(None),
                Err(UnsettledReply::Failed(error)) => return Err(error),
            },
        };
        return reader.read_all().await.map(Some);
    }
    Ok(small_bytes_of(app, post)?.filter(|bytes| are_of(content, bytes)))
}

/// Returns the bytes of a post's content that are stored in the tables. They may be those of
/// another state of the post.
///
/// # Errors
/// Errors of the store.
pub(super) fn small_bytes_of(app: &App, post: &Post) -> Result<Option<Bytes>> {
    let place = SmallBody::key(post.loid().at_version(post.record.version));
    read_small(&app.repository, &place, post.loid())
}

/// Reports whether bytes are those of a content. If a post was replaced since it was read, its
/// place has bytes that may not have been approved.
pub(super) fn are_of(content: &Content, bytes: &[u8]) -> bool {
    *Sha256::digest(bytes) == content.sha256
}

/// Returns the address of a file of a post: its content, or the attachment with that id.
pub(super) fn address_of(app: &App, post: &Post, attachment: Option<u64>) -> String {
    let (base, liveblog, post) = (&app.config.server.base_path, post.liveblog, post.loid());
    match attachment {
        None => format!("{base}/v3/container/liveblog/{liveblog}/post/{post}/content"),
        Some(id) => format!("{base}/v3/container/liveblog/{liveblog}/post/{post}/attachment/{id}"),
    }
}

fn write_post(app: &App, post: &Post, text: Option<&[u8]>, in_default: bool) -> String {
    let mut out = Output::with_capacity(512 + text.map_or(0, <[u8]>::len));
    out.open("post");
    let mut attribute = |name: &str, value: &str| out.attribute(name, &stet_xml::without_illegal_chars(value));
    attribute("loid", &post.loid().to_string());
    attribute("uuid", &post.record.uuid.to_string());
    attribute("name", &post.record.name);
    if !post.kind.is_empty() {
        attribute("type", &post.kind);
    }
    attribute("timestamp", &post.timestamp.to_string());
    attribute("author", post.author());
    attribute("pinned", if post.pinned { "true" } else { "false" });
    for (name, value) in [("title", &post.title), ("summary", &post.summary)] {
        if !value.is_empty() {
            out.open(name);
            out.text(&stet_xml::without_illegal_chars(value));
            out.close(name);
        }
    }
    if let Some(content) = &post.record.content {
        out.open("content");
        out.attribute("contentType", &stet_xml::without_illegal_chars(&content.content_type));
        match text {
            Some(bytes) => write_text(&app.xml_limits(), &mut out, &content.content_type, bytes, in_default),
            None => {
                out.attribute("form", "reference");
                out.attribute("size", &content.size.to_string());
                out.attribute("href", &address_of(app, post, None));
            }
        }
        out.close("content");
    }
    for attachment in &post.attachments {
        out.open("attachment");
        out.attribute("id", &attachment.id.to_string());
        out.attribute("name", &stet_xml::without_illegal_chars(&attachment.name));
        out.attribute("contentType", &stet_xml::without_illegal_chars(&attachment.content.content_type));
        out.attribute("size", &attachment.content.size.to_string());
        out.attribute("href", &address_of(app, post, Some(attachment.id)));
        out.close("attachment");
    }
    out.close("post");
    out.raw(&["\n"]);
    out.into_text()
}

/// Writes a content as XML if it can stand as such in any document, else as text.
fn write_text(limits: &Limits, out: &mut Output, content_type: &str, bytes: &[u8], in_default: bool) {
    let text = decode_text(content_type, bytes);
    let is_xml = is_markup(&essence(content_type));
    // A declaration describes the encoded bytes, and this text is decoded.
    let whole = text.strip_prefix("<?xml ").and_then(|rest| rest.split_once("?>")).map_or(&*text, |(_, rest)| rest);
    let fragment = if is_xml { stet_xml::fragment(whole, limits).ok() } else { None };
    match fragment {
        Some(fragment) => {
            out.attribute("form", "xml");
            let mut element = String::new();
            fragment.write(&mut element, in_default);
            out.raw(&[&element]);
        }
        None => {
            out.attribute("form", "text");
            out.text(&stet_xml::without_illegal_chars(&text));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use roxmltree::{Document, ParsingOptions};

    use super::*;

    /// Returns a document with the content in it, which has a default namespace and a prefix of its
    /// own.
    fn put(content_type: &str, bytes: &[u8]) -> String {
        let mut out = Output::default();
        out.open("content");
        write_text(&Limits::default(), &mut out, content_type, bytes, true);
        out.close("content");
        format!("<!DOCTYPE a [<!ENTITY e 'x'>]><a xmlns='urn:frame' xmlns:f='urn:f'>{}</a>", out.into_text())
    }

    /// Reads a document with another XML parser, and returns the form, and the root or the text.
    fn read(document: &str) -> (String, String) {
        let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
        let document =
            Document::parse_with_options(document, options).unwrap_or_else(|error| panic!("{error}: {document}"));
        let content = document.root_element().first_element_child().expect("it is there");
        assert_eq!(content.tag_name().namespace(), Some("urn:frame"));
        let form = content.attribute("form").expect("it is told").to_owned();
        let inside = match content.first_element_child() {
            Some(root) => format!("{{{}}}{}", root.tag_name().namespace().unwrap_or(""), root.tag_name().name()),
            None => content.text().unwrap_or("").to_owned(),
        };
        (form, inside)
    }

    #[test]
    fn xml_posts_stay_xml_with_namespaces_but_become_text_if_they_need_a_dtd() {
        for (xml, root) in [
            ("<p>x</p>", "{}p"),
            ("<p xmlns='urn:p'>x</p>", "{urn:p}p"),
            ("<p xmlns=''/>", "{}p"),
            ("<q:p xmlns:q='urn:q'><q:r xml:lang='de' q:a='1' a='1'/></q:p>", "{urn:q}p"),
            ("<?xml version='1.0'?>\n<!-- x --><!DOCTYPE p SYSTEM 'p.dtd' [<!ENTITY x 'y'>]><p>x</p><?end?>", "{}p"),
            ("\u{feff}<p><![CDATA[&x;]]><!-- & --><?do it?></p>", "{}p"),
        ] {
            assert_eq!(read(&put("text/xml", xml.as_bytes())), ("xml".to_owned(), root.to_owned()), "{xml}");
        }
        for xml in [
            "<p>&x;</p>",
            "<!DOCTYPE p [<!ENTITY x 'y'>]><p>&x;</p>",
            "<p>&e;</p>",
            "<f:p/>",
            "<p f:a='1'/>",
            "<p><q xmlns:q='urn:q'/><q:r/></p>",
            "<p xmlns:a='urn:q' xmlns:b='urn:q' a:x='1' b:x='2'/>",
            "<p xmlns:xml='urn:q'/>",
            "<p xmlns:xmlns='urn:q'/>",
            "<p xmlns:q=''/>",
            "<p xmlns='http://www.w3.org/2000/xmlns/'/>",
            "<:p/>",
            "<a:b:c xmlns:a='urn:q'/>",
            "<p><?a:b c?></p>",
            "<p>",
            "<p/><p/>",
            "<p>]]></p>",
            "Fish & <chips>",
            "",
        ] {
            assert_eq!(read(&put("text/xml", xml.as_bytes())), ("text".to_owned(), xml.to_owned()), "{xml}");
        }
        assert_eq!(read(&put("text/plain", b"<p/>")), ("text".to_owned(), "<p/>".to_owned()));
        assert_eq!(read(&put("text/plain", b"a\x00\x0c\r\nb\xef\xbf\xbf")), ("text".to_owned(), "a\r\nb".to_owned()));
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><p>K\xf6ln</p>";
        assert_eq!(read(&put("application/xml", latin)), ("xml".to_owned(), "{}p".to_owned()));
        let ascii = b"<?xml version='1.0' encoding='utf-16'?><p>Ferry</p>";
        assert_eq!(read(&put("application/xml", ascii)), ("xml".to_owned(), "{}p".to_owned()));
    }

    proptest! {
        /// Any permitted content of a post.
        #[test]
        fn any_content_leaves_the_document_well_formed(
            markup in "([<>&;/!a:=' \"]|\\]\\]>|<a|</a>|<!--|-->|<!\\[CDATA\\[|xmlns|xmlns:a='b'|&lt;|<\\?x|\\?>|\\PC){0,24}",
            bytes: Vec<u8>,
            kind in 0usize..4,
        ) {
            let kind = ["text/xml", "text/html", "text/plain", "application/xml; charset=utf-16"][kind];
            for content in [markup.as_bytes(), format!("<a xmlns:a='c'>{markup}</a>").as_bytes(), &bytes] {
                let (form, inside) = read(&put(kind, content));
                if form == "text" {
                    let text = decode_text(kind, content);
                    prop_assert_eq!(inside, stet_xml::without_illegal_chars(&text).into_owned());
                }
            }
        }
    }

    #[test]
    fn bytes_that_lie_in_the_place_of_others_are_told_from_them() {
        let sha256 = Sha256::digest(b"approved").into();
        let content = Content { content_type: "text/plain".into(), size: 8, sha256, stored: ContentLocation::Row };
        assert!(are_of(&content, b"approved"));
        assert!(!are_of(&content, b"replaced") && !are_of(&content, b""));
    }
}
