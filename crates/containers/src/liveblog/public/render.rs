//! The HTML of public pages. All texts are escaped here or cleaned in [`super::clean`].
//!
//! Addresses are relative to that of the page, so pages also work behind a proxy that adds a
//! prefix. Only `liveblog.public.address` makes addresses that are complete.

use std::fmt::Write as _;
use std::sync::Arc;

use html_escape::{encode_double_quoted_attribute, encode_text};
use sha2::{Digest, Sha256};
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::Result;
use stet_domain::family::State;
use stet_domain::workflow::Workflows;
use stet_newsroom::titles::{choose_title, read_liveblog_title};
use stet_web::app::App;
use stet_xml::without_illegal_chars;

use super::super::OpenLiveblog;
use super::super::feed::{Feed, FeedContent, FeedEntry, FeedFile, coverage, ld, time};
use super::content::PublicPost;
use super::files::{self, SCRIPT, STYLE};
use super::kept::PageForm;
use super::pages::{PageNumber, PageRange};
use super::words::{self, PageWords};

/// A page with everything that it shows.
struct PublicPage<'p> {
    words: &'static PageWords,
    /// The address of the live blog relative to that of the page.
    liveblog: String,
    /// The complete address of the folder of live blogs, with a slash at the end; empty if it is
    /// not configured.
    address: String,
    title: String,
    is_closed: bool,
    range: &'p PageRange,
    /// Seconds after which the script asks for news.
    interval: u64,
    /// The last change of the posts shown, in epoch milliseconds.
    updated: Option<u64>,
    posts: Vec<PublicPost>,
}

/// Returns the text of a page that has room for `room` bytes of posts. `None` if a post was changed
/// since the view.
///
/// # Errors
/// Errors of disk and store.
pub(super) async fn text(
    app: &Arc<App>,
    open: &OpenLiveblog,
    form: PageForm,
    range: &PageRange,
    room: usize,
) -> Result<Option<String>> {
    let Some(page) = PublicPage::read(app, open, range, room).await? else { return Ok(None) };
    let mut out = String::with_capacity(16 << 10);
    match form {
        PageForm::Page => page.write_whole(&mut out, &page.data(open)?),
        PageForm::Posts => page.write_alone(&mut out),
    }
    Ok(Some(out))
}

impl<'p> PublicPage<'p> {
    async fn read(
        app: &Arc<App>,
        open: &OpenLiveblog,
        range: &'p PageRange,
        room: usize,
    ) -> Result<Option<PublicPage<'p>>> {
        let (state, public) = (&open.view.state, &app.config.liveblog.public);
        let (object, mut timer) = (state.object(), YieldTimer::start());
        let liveblog = object.record.uuid.to_string();
        let title = choose_title(app, object, &read_liveblog_title(app, object).await?).await?;
        let (mut posts, mut left) = (Vec::new(), room);
        for post in state.sequence().visible_at(range.posts.start).take(range.posts.len()) {
            timer.yield_if_due().await;
            let Some(post) = PublicPost::read(app, &liveblog, post, left).await? else { return Ok(None) };
            left = left.saturating_sub(post.bytes());
            posts.push(post);
        }
        let address = match &*public.address {
            "" => String::new(),
            address => format!("{address}{}{}", app.config.server.base_path, super::LIVE),
        };
        let status = object.record.status.as_deref();
        Ok(Some(PublicPage {
            words: words::of(public.language),
            is_closed: status
                .is_some_and(|status| app.sysconfig.status_rules().is_closed(open.loid().database, status)),
            title: without_illegal_chars(&title).into_owned(),
            updated: posts.iter().map(|post| post.updated).max(),
            interval: public.max_age_seconds,
            liveblog,
            address,
            range,
            posts,
        }))
    }

    /// Writes the posts without the head of a page, for the script.
    fn write_alone(&self, out: &mut String) {
        let _ = write!(out, "<!doctype html>\n<html lang=\"{}\">\n<meta charset=\"utf-8\">\n<title>", self.words.tag);
        push_text(out, &self.title);
        *out += "</title>\n";
        self.write_posts(out);
        *out += "</html>\n";
    }

    fn write_whole(&self, out: &mut String, data: &str) {
        let _ = writeln!(out, "<!doctype html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">", self.words.tag);
        *out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
                 <meta name=\"color-scheme\" content=\"light dark\">\n<title>";
        push_text(out, &self.title);
        *out += "</title>\n";
        self.write_preview(out);
        let (style, script) = (&STYLE.name, &SCRIPT.name);
        let _ = writeln!(out, "<link rel=\"stylesheet\" href=\"{style}\">\n<script src=\"{script}\" defer></script>");
        let _ = writeln!(out, "<script type=\"application/ld+json\">{data}</script>\n</head>\n<body>");
        let _ = write!(out, "<main id=\"liveblog\" data-address=\"{}\"", self.liveblog);
        let words = self.words;
        for (name, value) in
            [("one", words.new_one), ("many", words.new_many), ("failed", words.failed), ("gone", words.gone)]
        {
            push_attribute(out, &format!("data-{name}"), value);
        }
        *out += ">\n<header class=\"head\">\n<h1 dir=\"auto\">";
        push_text(out, &self.title);
        *out += "</h1>\n</header>\n<div class=\"news\" role=\"status\"></div>\n";
        self.write_posts(out);
        *out += "</main>\n</body>\n</html>\n";
    }

    /// Writes what search engines, and previews in messages, show of the page.
    fn write_preview(&self, out: &mut String) {
        let lead = self.posts.first().map(PublicPost::lead).unwrap_or_default();
        let mut meta = |kind: &str, name: &str, content: &str| {
            let _ = write!(out, "<meta {kind}=\"{name}\"");
            push_attribute(out, "content", content);
            *out += ">\n";
        };
        if !lead.is_empty() {
            meta("name", "description", &lead);
            meta("property", "og:description", &lead);
        }
        meta("property", "og:type", "article");
        meta("property", "og:title", &self.title);
        if let Some(updated) = self.updated {
            meta("property", "article:modified_time", &time(updated));
        }
        if self.address.is_empty() {
            return;
        }
        meta("property", "og:url", &format!("{}{}", self.address, self.liveblog));
        if let Some(picture) = self.posts.iter().find_map(|post| post.first_picture.as_deref()) {
            meta("property", "og:image", &format!("{}{picture}", self.address));
        }
        // Each page has posts of its own, so each is found by itself.
        let number = match self.range.later {
            None => String::new(),
            Some(PageNumber::Newest) => format!("?page={}", self.range.earlier.map_or(1, |earlier| earlier + 1)),
            Some(PageNumber::Older(later)) => format!("?page={}", later - 1),
        };
        *out += "<link rel=\"canonical\"";
        push_attribute(out, "href", &format!("{}{}{number}", self.address, self.liveblog));
        *out += ">\n";
    }

    /// Writes the state of the live blog, its posts and the ways to others.
    fn write_posts(&self, out: &mut String) {
        let (words, state) = (self.words, if self.is_closed { "ended" } else { "live" });
        let word = if self.is_closed { words.ended } else { words.live };
        let _ = write!(out, "<p class=\"state {state}\" id=\"state\" data-interval=\"{}\">", self.interval);
        let _ = write!(out, "<span class=\"mark\">{}</span>", encode_text(word));
        if let Some(updated) = self.updated {
            let _ = write!(out, " <span>{} {}</span>", encode_text(words.last_change), moment(updated));
        }
        *out += "</p>\n";
        if let Some(later) = self.range.later {
            let (address, word) = match later {
                PageNumber::Newest => (self.liveblog.clone(), words.newest),
                PageNumber::Older(number) => (format!("{}?page={number}", self.liveblog), words.later),
            };
            let _ = writeln!(out, "<p class=\"way\" id=\"later\"><a href=\"{address}\">{}</a></p>", encode_text(word));
        }
        *out += "<ol id=\"posts\"";
        push_attribute(out, "aria-label", words.posts);
        *out += ">\n";
        for post in &self.posts {
            let mut inside = String::new();
            write_post(&mut inside, words, post);
            // The script replaces a post whose version has changed.
            let version = files::hex(&Sha256::digest(&inside)[..6]);
            let (uuid, at, pinned) = (&post.uuid, post.published, if post.pinned { " data-pinned" } else { "" });
            let _ = write!(
                out,
                "<li><article id=\"post-{uuid}\" data-version=\"{version}\" data-at=\"{at}\"{pinned}>\n{inside}\
                 </article></li>\n"
            );
        }
        *out += "</ol>\n";
        if self.posts.is_empty() {
            let _ = writeln!(out, "<p class=\"nothing\" id=\"nothing\">{}</p>", encode_text(words.nothing));
        }
        if let Some(earlier) = self.range.earlier {
            let address = format!("{}?page={earlier}", self.liveblog);
            let word = encode_text(words.earlier);
            let _ = writeln!(out, "<p class=\"way\" id=\"earlier\"><a href=\"{address}\" rel=\"next\">{word}</a></p>");
        }
    }

    /// Returns the page as data for search engines, which a `script` element can contain.
    ///
    /// # Errors
    /// None, because there are only texts and numbers.
    fn data(&self, open: &OpenLiveblog) -> Result<String> {
        let record = &open.view.state.object().record;
        let (begin, end) = coverage(open);
        let created = record.created * 1000;
        ld::text(&Feed {
            id: record.uuid.0.urn().to_string(),
            title: self.title.clone(),
            author: String::new(),
            created: time(created),
            updated: time(self.updated.unwrap_or(created).max(created)),
            covers: (time(begin), time(end)),
            address: if self.address.is_empty() { String::new() } else { format!("{}{}", self.address, self.liveblog) },
            next: None,
            entries: self.posts.iter().map(|post| self.entry(post)).collect(),
        })
    }

    fn entry(&self, post: &PublicPost) -> FeedEntry {
        let picture = |address: &String| FeedFile {
            address: format!("{}{address}", self.address),
            name: post.headline(),
            media_type: "image/jpeg".to_owned(),
            size: 0,
        };
        FeedEntry {
            id: format!("urn:uuid:{}", post.uuid),
            title: without_illegal_chars(&post.headline()).into_owned(),
            summary: without_illegal_chars(&post.summary).into_owned(),
            author: post.byline.clone().unwrap_or_default(),
            published: time(post.published),
            updated: time(post.updated),
            tags: Vec::new(),
            body: FeedContent::Text(post.body.as_ref().map(|(_, text)| text.clone()).unwrap_or_default()),
            attachments: post.first_picture.iter().map(picture).collect(),
        }
    }
}

/// Writes the content of a post's element.
fn write_post(out: &mut String, words: &PageWords, post: &PublicPost) {
    let _ = write!(out, "<p class=\"meta\"><a href=\"#post-{}\">{}</a>", post.uuid, moment(post.published));
    if post.pinned {
        let _ = write!(out, " <span class=\"pin\">{}</span>", encode_text(words.pinned));
    }
    *out += "</p>\n";
    if !post.title.trim().is_empty() {
        *out += "<h2 dir=\"auto\">";
        push_text(out, &post.title);
        *out += "</h2>\n";
    }
    if !post.summary.trim().is_empty() {
        *out += "<p class=\"summary\" dir=\"auto\">";
        push_text(out, &post.summary);
        *out += "</p>\n";
    }
    match &post.body {
        Some((html, _)) if html.is_empty() => {}
        Some((html, _)) => {
            let _ = writeln!(out, "<div class=\"text\" dir=\"auto\">{html}</div>");
        }
        None => {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", encode_text(words.too_long));
        }
    }
    for picture in &post.pictures {
        let _ = write!(out, "<figure><img src=\"{}\" loading=\"lazy\"", picture.address);
        push_attribute(out, "alt", &picture.description);
        *out += "></figure>\n";
    }
    if let Some(byline) = &post.byline {
        *out += "<p class=\"byline\"><bdi>";
        push_text(out, &words.by.replace("{}", byline));
        *out += "</bdi></p>\n";
    }
}

/// Returns an element with a time. The script shows it in the reader's own time zone.
fn moment(ms: u64) -> String {
    let time = time(ms);
    format!("<time datetime=\"{time}\">{} {} UTC</time>", &time[..10], &time[11..16])
}

fn push_text(out: &mut String, text: &str) {
    *out += &encode_text(&without_illegal_chars(text));
}

fn push_attribute(out: &mut String, name: &str, value: &str) {
    let value = without_illegal_chars(value);
    let _ = write!(out, " {name}=\"{}\"", encode_double_quoted_attribute(&value));
}
