//! The contents of posts as HTML that may stand in a public page.
//!
//! Contents are what editors and their tools have sent: HTML, XML of any vocabulary, or text. A
//! sanitiser with a list of allowed elements parses them as browsers do, and writes what is allowed
//! anew. Everything else is left out; the text of unknown elements stays.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ammonia::{Builder, UrlRelative};
use html_escape::encode_text;
use stet_content::text::decode_text;
use stet_content::words::{essence, is_markup};
use stet_xml::without_illegal_chars;

/// The elements that stay.
const ELEMENTS: [&str; 34] = [
    "p",
    "br",
    "hr",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "blockquote",
    "q",
    "cite",
    "a",
    "b",
    "strong",
    "i",
    "em",
    "u",
    "s",
    "del",
    "ins",
    "sub",
    "sup",
    "small",
    "code",
    "pre",
    "abbr",
    "img",
];

/// The elements that are left out with all that is in them. Their text is none for readers.
const WITHOUT_TEXT: [&str; 8] = ["script", "style", "title", "template", "noscript", "iframe", "object", "svg"];

/// The beginnings of addresses that a link may have. Relative addresses are those of another site.
const SCHEMES: [&str; 3] = ["http:", "https:", "mailto:"];

/// Returns the content of a post as HTML. `pictures` has the addresses of its pictures by their
/// names; others are left out.
pub(super) fn clean(content_type: &str, bytes: &[u8], pictures: HashMap<String, String>) -> String {
    let text = decode_text(content_type, bytes);
    let text = without_illegal_chars(&text);
    if !is_markup(&essence(content_type)) {
        return paragraphs(&text);
    }
    let source = match &*essence(content_type) {
        "text/html" => text,
        _ => as_html(&text).into(),
    };
    finish(&sanitiser(pictures).clean(&source).to_string())
}

/// Returns text as paragraphs, which empty lines separate.
fn paragraphs(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut html = String::with_capacity(text.len() + 16);
    for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        html += "<p>";
        html += &encode_text(paragraph).replace('\n', "<br>");
        html += "</p>";
    }
    html
}

/// Returns XML as HTML parsers should read it. They know no declaration, no document type with
/// entities, and no CDATA.
fn as_html(xml: &str) -> String {
    let mut rest = xml.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    if let Some((_, behind)) = rest.strip_prefix("<?xml ").and_then(|rest| rest.split_once("?>")) {
        rest = behind;
    }
    if let Some((before, behind)) = rest.split_once("<!DOCTYPE")
        && before.trim().is_empty()
    {
        let end = match (behind.find('['), behind.find('>')) {
            (Some(open), Some(close)) if open < close => behind.find("]>").map(|end| end + 2),
            (_, close) => close.map(|end| end + 1),
        };
        rest = end.map_or("", |end| &behind[end..]);
    }
    let mut html = String::with_capacity(rest.len());
    while let Some((before, behind)) = rest.split_once("<![CDATA[") {
        let (inside, after) = behind.split_once("]]>").unwrap_or((behind, ""));
        html += before;
        html += &encode_text(inside);
        rest = after;
    }
    html += rest;
    html
}

fn sanitiser(pictures: HashMap<String, String>) -> Builder<'static> {
    let mut builder = Builder::empty();
    builder
        .tags(HashSet::from(ELEMENTS))
        .clean_content_tags(HashSet::from(WITHOUT_TEXT))
        .generic_attributes(HashSet::from(["dir", "lang"]))
        .tag_attributes(HashMap::from([
            ("a", HashSet::from(["href"])),
            ("img", HashSet::from(["src", "alt"])),
            ("abbr", HashSet::from(["title"])),
            ("ol", HashSet::from(["start"])),
        ]))
        .set_tag_attribute_value("img", "loading", "lazy")
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        // The filter below decides on those.
        .url_relative(UrlRelative::PassThrough)
        .link_rel(Some("noopener noreferrer nofollow"))
        .attribute_filter(move |element, attribute, value| match (element, attribute) {
            ("img", "src") => pictures.get(value).map(|address| Cow::Owned(address.clone())),
            ("a", "href") => {
                let small = value.trim_start().to_ascii_lowercase();
                SCHEMES.iter().any(|scheme| small.starts_with(scheme)).then_some(Cow::Borrowed(value))
            }
            _ => Some(Cow::Borrowed(value)),
        });
    builder
}

/// Gives pictures without a description an empty one, and removes those without an address. Lowers
/// headings below that of the post.
///
/// The sanitiser writes `<`, `>` and `"` in texts and values as references. So each `<` begins a
/// tag, the next `>` ends it, and an attribute's name is never found in a value.
fn finish(html: &str) -> String {
    let mut out = String::with_capacity(html.len() + 64);
    let mut rest = html;
    while let Some((before, behind)) = rest.split_once("<img") {
        out += before;
        let (tag, after) = behind.split_once('>').unwrap_or((behind, ""));
        if tag.contains(" src=\"") {
            out += "<img";
            out += tag;
            out += if tag.contains(" alt=\"") { ">" } else { " alt=\"\">" };
        }
        rest = after;
    }
    out += rest;
    for (heading, lower) in [("h2", "h4"), ("h1", "h3")] {
        for (from, to) in [("<", " "), ("<", ">"), ("</", ">")]
            .map(|(open, close)| (format!("{open}{heading}{close}"), format!("{open}{lower}{close}")))
        {
            out = out.replace(&from, &to);
        }
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cleaned(content_type: &str, content: &str) -> String {
        let pictures = HashMap::from([("map & more.png".to_owned(), "u/picture/p/0".to_owned())]);
        clean(content_type, content.as_bytes(), pictures)
    }

    #[test]
    fn what_editors_write_keeps_its_structure() {
        for (content_type, content, expected) in [
            ("text/xml", "<post><p>The <b>Ferry</b> &amp; I</p></post>", "<p>The <b>Ferry</b> &amp; I</p>"),
            ("text/xml", "<?xml version='1.0'?><!DOCTYPE p [<!ENTITY x 'y'>]><p>x</p>", "<p>x</p>"),
            ("text/xml", "<!DOCTYPE p SYSTEM 'p.dtd'>\n<p>x</p>", "<p>x</p>"),
            ("text/xml", "<p><![CDATA[<b>1 & 2</b>]]></p>", "<p>&lt;b&gt;1 &amp; 2&lt;/b&gt;</p>"),
            ("text/xml", "<n:body xmlns:n='urn:n'><n:p>x</n:p></n:body>", "x"),
            ("text/html", "<h1>A</h1><h2 dir=rtl>B</h2><h3>C</h3>", "<h3>A</h3><h4 dir=\"rtl\">B</h4><h3>C</h3>"),
            ("text/plain", "1 < 2\nand\r\n\r\n& more", "<p>1 &lt; 2<br>and</p><p>&amp; more</p>"),
            ("application/json", "{\"a\": \"<b>\"}", "<p>{\"a\": \"&lt;b&gt;\"}</p>"),
            (
                "text/html",
                "<a href='https://example.org/?a=1&amp;b=2' onclick='x()'>x</a>",
                "<a href=\"https://example.org/?a=1&amp;b=2\" rel=\"noopener noreferrer nofollow\">x</a>",
            ),
            (
                "text/html",
                "<img src='map &amp; more.png'><img src='other.png' alt=x><img alt='src=\"a\"'>",
                "<img src=\"u/picture/p/0\" loading=\"lazy\" alt=\"\">",
            ),
        ] {
            assert_eq!(cleaned(content_type, content), expected, "{content}");
        }
    }

    #[test]
    fn hostile_contents_are_harmless() {
        for content in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "<img src='javascript:alert(1)'><img src='https://spy.example/a.png'>",
            "<svg onload=alert(1)><script>alert(1)</script></svg>",
            "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
            "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
            "<a href='javascript:alert(1)'>a</a><a href=' jav&#x09;ascript:alert(1)'>b</a><a href='data:text/html,x'>c</a>",
            "<a href='//evil.example/'>a</a><a href='/console/'>b</a><a href='\u{1}javascript:alert(1)'>c</a>",
            "<iframe src='https://evil.example'></iframe><form action=/x><input></form><base href='https://evil.example'>",
            "<p style='position:fixed' class=x id=posts data-x=1>x</p><meta http-equiv=refresh content='0;url=x'>",
            "<![CDATA[<script>alert(1)</script>]]>",
            "<style>*{display:none}</style><link rel=stylesheet href=x>",
            "<template><script>alert(1)</script></template>",
            "</div></article></main><script>alert(1)</script>",
        ] {
            for content_type in ["text/html", "text/xml", "application/xhtml+xml", "text/plain"] {
                let html = cleaned(content_type, content);
                let tags: Vec<&str> = html.split('<').skip(1).filter_map(|rest| rest.split('>').next()).collect();
                for tag in tags {
                    let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
                    assert!(ELEMENTS.contains(&name), "{content}: {html}");
                    for attribute in tag.split('"').step_by(2).filter(|part| part.contains('=')) {
                        let name = attribute.trim().trim_end_matches('=').rsplit(' ').next().unwrap_or_default();
                        assert!(["href", "rel", "src", "alt", "loading", "dir"].contains(&name), "{content}: {html}");
                    }
                    assert!(!tag.contains("javascript") && !tag.contains("evil") && !tag.contains("spy"), "{html}");
                }
            }
        }
    }

    proptest! {
        /// Any content: the result has allowed elements alone, and is the same when it is cleaned
        /// again, so that it means to browsers what it meant to the sanitiser.
        #[test]
        fn any_content_becomes_html_that_stays_the_same(
            content in "(<(a|b|p|img|svg|math|style|script|table|li|h1|!--|/b|/p|/svg|/style)|>|/>| src=| href=|'|\"|&lt;|&|x|<!\\[CDATA\\[|\\]\\]>|\\PC){0,24}",
            kind in 0usize..3,
        ) {
            let kind = ["text/html", "text/xml", "text/plain"][kind];
            let once = cleaned(kind, &content);
            prop_assert!(!once.contains("<script") && !once.contains("<style") && !once.contains("<svg"));
            let again = finish(&sanitiser(HashMap::from([("u/picture/p/0".to_owned(), "u/picture/p/0".to_owned())])).clean(&once).to_string());
            prop_assert_eq!(again, once);
        }
    }
}
