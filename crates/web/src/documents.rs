//! The documentation that the binary carries, as pages for a browser.
//!
//! The files of `docs/`, `README.md` aside, are compiled in and served below `/docs/` under their
//! own names, so a link between two of them works in the repository and in the browser alike.
//! Markdown is rendered to HTML when a page is first asked for, and kept: all pages together take
//! about a megabyte.
//!
//! Invariants: a page has no script; each link on it leads to another page, to a place on the page
//! or to an absolute address. Links to files of the repository that are not compiled in lose their
//! address and keep their text.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::{LazyLock, OnceLock};

use bytes::Bytes;
use include_dir::{Dir, include_dir};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// The files of `docs/`.
static DOCS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../docs");

/// Files beside `docs/` that documents link to; served beside them.
const BESIDE: &[(&str, &str)] =
    &[("CHANGELOG.md", include_str!("../../../CHANGELOG.md")), ("config.toml", include_str!("../../../config.toml"))];

/// The content security policy of pages: they show themselves, their style and pictures of this
/// server, and do nothing else.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; \
                          form-action 'none'; frame-ancestors 'none'";

const STYLE: &str = "body{font:1rem/1.55 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;\
color:#222;background:#fff}code,pre{font:.9em/1.45 ui-monospace,monospace;background:#f3f3f0}\
code{padding:.1em .25em}pre{padding:.8em;overflow-x:auto}pre code{padding:0}table{border-collapse:collapse}\
th,td{border:1px solid #ccc;padding:.3em .6em;text-align:left;vertical-align:top}a{color:#0b57a4}\
h1,h2,h3{line-height:1.25}nav{margin-bottom:2rem}\
@media (prefers-color-scheme:dark){body{color:#ddd;background:#181818}code,pre{background:#262626}\
th,td{border-color:#444}a{color:#7db7f0}}";

/// A file as it is sent to browsers.
#[derive(Debug)]
pub struct DocumentPage {
    /// Media type of the file.
    pub media_type: &'static str,
    /// Bytes of the file.
    pub body: Bytes,
}

/// All pages by their path below `/docs/`, each rendered at its first use.
static PAGES: LazyLock<BTreeMap<&'static str, DocumentSource>> = LazyLock::new(|| {
    let mut pages = BTreeMap::new();
    collect(&DOCS, &mut pages);
    for (path, text) in BESIDE {
        pages.insert(*path, DocumentSource { bytes: text.as_bytes(), page: OnceLock::new() });
    }
    pages
});

struct DocumentSource {
    bytes: &'static [u8],
    page: OnceLock<DocumentPage>,
}

fn collect(dir: &'static Dir<'static>, pages: &mut BTreeMap<&'static str, DocumentSource>) {
    for file in dir.files() {
        let path = file.path().to_str().expect("the names of documents are UTF-8");
        pages.insert(path, DocumentSource { bytes: file.contents(), page: OnceLock::new() });
    }
    dir.dirs().for_each(|dir| collect(dir, pages));
}

/// Returns the page at a path below `/docs/`; the empty path is the table of contents.
pub fn page(path: &str) -> Option<&'static DocumentPage> {
    static CONTENTS: OnceLock<DocumentPage> = OnceLock::new();
    if path.is_empty() {
        return Some(CONTENTS.get_or_init(contents));
    }
    let (path, source) = PAGES.get_key_value(path)?;
    Some(source.page.get_or_init(|| render(path, source.bytes)))
}

fn render(path: &str, bytes: &'static [u8]) -> DocumentPage {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let media_type = match extension {
        "md" => {
            let text = std::str::from_utf8(bytes).expect("documents are UTF-8");
            return page_of(&title(text), path.matches('/').count(), &to_html(path, text));
        }
        "svg" => "image/svg+xml",
        "rng" | "xsd" | "xml" => "application/xml",
        _ => "text/plain; charset=utf-8",
    };
    DocumentPage { media_type, body: Bytes::from_static(bytes) }
}

/// Returns an HTML page; `depth` is the number of folders between it and `/docs/`.
fn page_of(title: &str, depth: usize, body: &str) -> DocumentPage {
    let up = "../".repeat(depth);
    let title = html_escape::encode_text(title);
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title} – stet</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<nav><a href=\"{up}./\">stet: documentation</a></nav>\n\
         <main>\n{body}</main>\n</body>\n</html>\n"
    );
    DocumentPage { media_type: "text/html; charset=utf-8", body: html.into() }
}

/// Returns the text of the first heading.
fn title(markdown: &str) -> String {
    markdown.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("stet").to_owned()
}

/// The documents that people look for first, in this order; all others follow by name.
const FIRST: [&str; 5] = ["COOKBOOK.md", "api/README.md", "OPERATION.md", "TRANSFER.md", "LOAD.md"];

/// Renders the table of contents, with the addresses that need no token.
fn contents() -> DocumentPage {
    let documents = |below_api: bool| {
        let pages =
            PAGES.iter().filter(move |(path, _)| path.ends_with(".md") && path.starts_with("api/") == below_api);
        pages.map(|(path, source)| (*path, source))
    };
    let link = |(path, source): (&str, &DocumentSource)| {
        let title = title(&String::from_utf8_lossy(source.bytes));
        format!("<li><a href=\"{path}\">{}</a></li>\n", html_escape::encode_text(&title))
    };
    let first = FIRST.iter().filter_map(|path| PAGES.get_key_value(path)).map(|(path, source)| link((path, source)));
    let rest = documents(false).filter(|(path, _)| !FIRST.contains(path)).map(link);
    let resources = documents(true).filter(|(path, _)| !FIRST.contains(path)).map(link);
    let mut body = format!(
        "<h1>stet</h1>\n<p>A content repository for newsrooms, version {}. It speaks HTTP and JSON.</p>\n<ul>\n",
        env!("CARGO_PKG_VERSION")
    );
    body.extend(first.chain(rest));
    body.push_str("</ul>\n<h2>The interface, resource by resource</h2>\n<ul>\n");
    body.extend(resources);
    body.push_str(
        "</ul>\n<h2>Addresses without a token</h2>\n<ul>\n\
         <li><a href=\"../openapi.json\">openapi.json</a>: the interface for generators of clients (OpenAPI 3.1)</li>\n\
         <li><a href=\"../healthz\">healthz</a>: whether the process works</li>\n\
         <li><a href=\"../readyz\">readyz</a>: whether it serves at present</li>\n\
         <li><a href=\"../metrics\">metrics</a>: its counters, for Prometheus</li>\n</ul>\n",
    );
    page_of("Documentation", 0, &body)
}

/// Renders a document: headings get the anchors that links within the repository use.
fn to_html(path: &str, markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut events: Vec<Event<'_>> = Parser::new_ext(markdown, options).collect();
    name_headings(&mut events);
    let mut dropped = false;
    let events = events.into_iter().filter_map(|event| match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let address = address(path, &dest_url);
            dropped = address.is_none();
            Some(Event::Start(Tag::Link { link_type, dest_url: CowStr::from(address?), title, id }))
        }
        Event::End(TagEnd::Link) if std::mem::take(&mut dropped) => None,
        event => Some(event),
    });
    let mut body = String::with_capacity(markdown.len() * 3 / 2);
    html::push_html(&mut body, events);
    body
}

/// Returns the address of a document's link in a browser; `None` if the target is not served.
fn address(from: &str, link: &str) -> Option<String> {
    if link.starts_with('#') || link.starts_with("https://") || link.starts_with("http://") {
        return Some(link.to_owned());
    }
    let (file, anchor) = link.split_once('#').map_or((link, ""), |(file, anchor)| (file, anchor));
    // As a path within the repository, where the documents are in `docs`.
    let mut parts = vec!["docs"];
    parts.extend(from.split('/'));
    parts.pop();
    for part in file.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "." => {}
            part => parts.push(part),
        }
    }
    let target = parts.join("/");
    let served = match target.strip_prefix("docs/") {
        Some(document) => document,
        None => BESIDE.iter().find(|(name, _)| *name == target)?.0,
    };
    PAGES.contains_key(served).then_some(())?;
    let mut address = "../".repeat(from.matches('/').count()) + served;
    if !anchor.is_empty() {
        let _ = write!(address, "#{anchor}");
    }
    Some(address)
}

/// Gives each heading the anchor that common viewers of repositories give it.
fn name_headings(events: &mut [Event<'_>]) {
    let mut taken: HashMap<String, usize> = HashMap::new();
    let mut open: Option<(usize, String)> = None;
    for at in 0..events.len() {
        match &events[at] {
            Event::Start(Tag::Heading { .. }) => open = Some((at, String::new())),
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, heading)) = &mut open {
                    heading.push_str(text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let Some((start, heading)) = open.take() else { continue };
                let anchor = anchor_of(&heading);
                let earlier = taken.entry(anchor.clone()).or_default();
                let unique = if *earlier == 0 { anchor } else { format!("{anchor}-{earlier}") };
                *earlier += 1;
                if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
                    *id = Some(CowStr::from(unique));
                }
            }
            _ => {}
        }
    }
}

fn anchor_of(heading: &str) -> String {
    let kept = heading.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|char| if char == ' ' { '-' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn html(path: &str) -> String {
        String::from_utf8(page(path).expect("there is a page").body.to_vec()).expect("pages are UTF-8")
    }

    /// The values of an attribute on a page.
    fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
        let start = format!(" {attribute}=\"");
        page.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn each_link_of_each_page_leads_to_a_page_and_a_place_on_it() {
        let mut checked = 0;
        for path in PAGES.keys().copied().filter(|path| path.ends_with(".md")).chain([""]) {
            let page = html(path);
            for link in values(&page, "href").into_iter().filter(|link| !link.starts_with("http")) {
                let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
                let mut parts: Vec<&str> = path.split('/').collect();
                parts.pop();
                let mut outside = false;
                for part in file.split('/').filter(|part| !matches!(*part, "" | ".")) {
                    match part {
                        ".." => outside |= parts.pop().is_none(),
                        part => parts.push(part),
                    }
                }
                if outside {
                    assert!(["openapi.json", "healthz", "readyz", "metrics"].contains(&parts[0]), "{path}: {link}");
                    continue;
                }
                let target = if file.is_empty() { path.to_owned() } else { parts.join("/") };
                let target = html(&target);
                if let Some(anchor) = anchor {
                    assert!(values(&target, "id").contains(&anchor), "{path}: there is no {link}");
                }
                checked += 1;
            }
        }
        assert!(checked > 150, "{checked}");
    }

    #[test]
    fn the_table_of_contents_leads_to_every_document() {
        let contents = html("");
        let listed: BTreeSet<&str> =
            values(&contents, "href").into_iter().filter(|link| link.ends_with(".md")).collect();
        let served: BTreeSet<&str> = PAGES.keys().copied().filter(|path| path.ends_with(".md")).collect();
        assert_eq!(listed, served);
    }

    #[test]
    fn a_link_to_a_file_that_is_not_served_keeps_its_text_alone() {
        let text = "See [the unit](../deploy/systemd/stet.service) and [drawers](api/drawers.md#items).";
        let html = to_html("OPERATION.md", text);
        assert_eq!(html, "<p>See the unit and <a href=\"api/drawers.md#items\">drawers</a>.</p>\n");
        assert_eq!(address("api/rights.md", "../../config.toml").as_deref(), Some("../config.toml"));
        assert_eq!(address("api/rights.md", "../../../etc/passwd"), None);
    }

    #[test]
    fn pages_have_no_script_and_escape_what_stands_in_code() {
        let html = to_html("x.md", "# `GET` a/b: it's\n\n```\n<script>\n```\n");
        assert_eq!(
            html,
            "<h1 id=\"get-ab-its\"><code>GET</code> a/b: it's</h1>\n<pre><code>&lt;script&gt;\n</code></pre>\n"
        );
        for path in PAGES.keys().filter(|path| path.ends_with(".md")) {
            assert!(!self::html(path).contains("<script"), "{path}");
        }
    }
}
