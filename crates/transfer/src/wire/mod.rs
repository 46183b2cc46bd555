//! Items of news agencies in NewsML-G2 and ninjs: their recognition, and their metadata as
//! attributes.

mod encoding;
mod newsml;
mod ninjs;
mod version;

use std::path::Path;

use quick_xml::Writer;
use quick_xml::events::{BytesStart, BytesText, Event};

pub use self::version::WireNewsItemVersion;
use crate::{files, media_type_of};

/// Most bytes of a file that is examined.
const MAX_BYTES: u64 = 16 << 20;

/// Most media, and most keywords, that become attributes.
const MAX_EACH: usize = 100;

/// Most bytes of one text that becomes an attribute.
const MAX_TEXT: usize = 4096;

/// The metadata of an item. Times are kept as they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WireNewsItem {
    /// The permanent identifier: `guid` or `uri`.
    pub guid: Option<String>,
    /// The version, usually a number.
    pub version: Option<String>,
    pub headline: Option<String>,
    pub slug: Option<String>,
    pub byline: Option<String>,
    pub source: Option<String>,
    pub copyright: Option<String>,
    pub language: Option<String>,
    /// The urgency, 1 to 9.
    pub urgency: Option<String>,
    pub located: Option<String>,
    /// The publishing status, such as `usable`.
    pub status: Option<String>,
    /// The time at which the first version was created.
    pub first_created: Option<String>,
    /// The time at which this version was created.
    pub version_created: Option<String>,
    pub embargoed: Option<String>,
    pub keywords: Vec<String>,
    pub media: Vec<Media>,
}

/// The location of a medium's rendition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Media {
    pub href: Option<String>,
    pub rendition: Option<String>,
    pub content_type: Option<String>,
    /// The width in pixels.
    pub width: Option<String>,
    /// The height in pixels.
    pub height: Option<String>,
    /// The size in bytes.
    pub size: Option<String>,
    /// The duration in seconds, or as the item states it.
    pub duration: Option<String>,
}

/// Reads the metadata of a file, if it is an item.
pub fn recognise(file: &Path) -> Option<WireNewsItem> {
    let bytes = files::read(file, MAX_BYTES).ok()?;
    let text = encoding::decode(&bytes)?;
    let text = text.trim_start();
    match text.as_bytes().first()? {
        b'<' => newsml::read(text),
        b'{' => ninjs::read(text),
        _ => None,
    }
}

/// Reports whether a file of that name could be an item. Pictures, sound, office documents and the
/// like could not.
pub fn could_be_item(name: &str) -> bool {
    let kind = media_type_of(name);
    kind.is_none_or(|kind| kind.starts_with("text/") || kind.ends_with("xml") || kind.ends_with("json"))
}

/// Normalises the white space of a text, and cuts it after [`MAX_TEXT`] bytes; `None` for an empty
/// text.
fn tidy(text: &str) -> Option<String> {
    let mut tidy = String::new();
    for word in text.split_whitespace() {
        if !tidy.is_empty() {
            tidy.push(' ');
        }
        let room = MAX_TEXT.saturating_sub(tidy.len());
        if word.len() > room {
            // Half a word is better than nothing, but useless after other words.
            if tidy.is_empty() {
                let end = (0..=room).rev().find(|at| word.is_char_boundary(*at)).unwrap_or_default();
                tidy.push_str(&word[..end]);
            }
            break;
        }
        tidy.push_str(word);
    }
    Some(tidy.trim_end().to_owned()).filter(|tidy| !tidy.is_empty())
}

/// Returns a text as an address. A cut address would lead elsewhere, so one that is too long is
/// left out.
fn address(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > MAX_TEXT { None } else { tidy(text) }
}

impl WireNewsItem {
    /// Returns the item's attributes as XML.
    pub fn attributes(&self) -> String {
        self.written().map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn written(&self) -> std::io::Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new());
        let fields = [
            ("headline", &self.headline),
            ("slug", &self.slug),
            ("author", &self.byline),
            ("source", &self.source),
            ("copyright", &self.copyright),
            ("language", &self.language),
            ("priority", &self.urgency),
            ("located", &self.located),
            ("pubStatus", &self.status),
            ("firstCreated", &self.first_created),
            ("versionCreated", &self.version_created),
            ("embargoed", &self.embargoed),
            ("guid", &self.guid),
            ("itemVersion", &self.version),
        ];
        writer.create_element("metadata").write_inner_content(|writer| {
            let keywords = self.keywords.iter().map(|word| ("keywords", word));
            let fields = fields.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
            for (name, text) in fields.chain(keywords) {
                writer.create_element(name).write_text_content(BytesText::new(&without_control_chars(text)))?;
            }
            for media in &self.media {
                let parts = [
                    ("href", &media.href),
                    ("rendition", &media.rendition),
                    ("contentType", &media.content_type),
                    ("width", &media.width),
                    ("height", &media.height),
                    ("size", &media.size),
                    ("duration", &media.duration),
                ];
                let mut element = BytesStart::new("media");
                for (name, value) in parts {
                    if let Some(value) = value {
                        element.push_attribute((name, &*without_control_chars(value)));
                    }
                }
                writer.write_event(Event::Empty(element))?;
            }
            Ok(())
        })?;
        Ok(writer.into_inner())
    }
}

/// Removes the characters that XML can't contain.
fn without_control_chars(text: &str) -> String {
    text.chars().filter(|char| !char.is_control() && !matches!(char, '\u{fffe}' | '\u{ffff}')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_a_document_whatever_an_item_says() {
        let item = WireNewsItem {
            headline: Some("a < b & \"c\" \u{1}\u{fffe}".to_owned()),
            keywords: vec!["x".to_owned(), "y".to_owned()],
            media: vec![Media { href: Some("http://x/?a=1&b='\"".to_owned()), ..Media::default() }],
            ..WireNewsItem::default()
        };
        let text = item.attributes();
        let document = roxmltree::Document::parse(&text).expect("it is well-formed");
        let named = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).collect::<Vec<_>>();
        assert_eq!(named("headline")[0].text(), Some("a < b & \"c\" "));
        assert_eq!(named("keywords").len(), 2);
        assert_eq!(named("media")[0].attribute("href"), Some("http://x/?a=1&b='\""));
        assert_eq!(WireNewsItem::default().attributes(), "<metadata></metadata>");
    }

    #[test]
    fn texts_are_tidied_and_bounded() {
        assert_eq!(tidy(" \n a \t b "), Some("a b".to_owned()));
        assert_eq!(tidy(" \n"), None);
        assert!(tidy(&"word ".repeat(10_000)).is_some_and(|text| text.len() <= MAX_TEXT && text.ends_with("word")));
        let long = "\u{e4}".repeat(MAX_TEXT);
        assert_eq!(tidy(&format!("  {long}")), Some("\u{e4}".repeat(MAX_TEXT / 2)), "cut between two letters");
        assert_eq!(tidy(&format!("x{long}")).map(|text| text.len()), Some(MAX_TEXT - 1));
        assert_eq!(tidy(&format!("short {long}")), Some("short".to_owned()));
        assert_eq!(address(&long), None, "half an address leads elsewhere");
    }

    #[test]
    fn files_that_are_no_wire_item_are_not_recognised() {
        let file = tempfile::NamedTempFile::new().expect("a file can be made");
        for text in ["", "plain", "<story/>", "{}", "{\"uri\": 3}", "[]", "<newsItem/>", "<a", "{\"uri\":\"x\"}"] {
            std::fs::write(file.path(), text).expect("it can be written");
            assert_eq!(recognise(file.path()), None, "{text}");
        }
        std::fs::write(file.path(), b"\xff\xfe").expect("it can be written");
        assert_eq!(recognise(file.path()), None);
        assert_eq!(recognise(Path::new("/nowhere")), None);
    }
}
