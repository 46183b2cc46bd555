//! Public pages of live blogs in a reader's browser: docs/PUBLIC.md.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use super::access::is_accessible;
use super::browser::{Browser, sign_in};
use super::*;

const FOLDER: &str = "/Test/Public";

/// A live blog that everybody may read.
struct PublicBlog {
    server: Server,
    editor: Client,
    loid: String,
    address: String,
}

impl PublicBlog {
    fn new(settings: &[(&str, &str)]) -> PublicBlog {
        let own = [("LIVEBLOG__PUBLIC__FOLDERS", FOLDER), ("LIVEBLOG__PUBLIC__MAX_AGE_SECONDS", "1")];
        let server = Server::with(&[settings, &own].concat());
        let editor = server.user("editor");
        let loid = editor.liveblog(FOLDER, "Council night");
        let info = editor.call("liveblog-get", &[&loid]).ok()["info"].clone();
        let uuid = info["pstate"]["uuid"].as_str().expect("it has a uuid");
        PublicBlog { address: format!("{}/live/{uuid}", server.base), server, editor, loid }
    }

    fn post(&self, title: &str, more: Value) -> String {
        let content = format!("<post><p>{title} in full.</p></post>");
        let files = [("content", "post.xml", "text/xml", content.as_bytes())];
        let call = self.editor.call("liveblog-post-create", &[&self.loid]);
        let post = call.form(&with(json!({ "title": title }), more), &files).ok();
        post["info"]["id"].as_str().expect("a post has an id").to_owned()
    }
}

/// The titles that a page shows, in their order.
fn titles(browser: &Browser) -> Value {
    browser.script("return [...document.querySelectorAll('h2')].map((title) => title.textContent);", &[])
}

/// Waits until a page shows these titles.
fn wait_for_titles(browser: &Browser, expected: &[&str]) {
    let expected = serde_json::to_string(expected).expect("it is JSON");
    let shown = "JSON.stringify([...document.querySelectorAll('h2')].map((title) => title.textContent))";
    browser.wait_for("the posts", &format!("{shown} === {}", json!(expected)));
}

#[test]
fn a_readers_page_follows_the_live_blog_without_a_reload() {
    let public = PublicBlog::new(&[]);
    let first = public.post("Doors open", json!({}));
    let second = public.post("Lights out", json!({}));
    let Some(browser) = Browser::start() else { return };
    browser.open(&public.address);
    wait_for_titles(&browser, &["Lights out", "Doors open"]);
    browser.script("window.loaded = true;", &[]);
    // What is new waits, and what is corrected or withdrawn does not.
    public.post("Ferry late", json!({}));
    browser.wait_for("the button", "document.querySelector('.news button')?.textContent === '1 new post'");
    public.post("Ferry here", json!({}));
    browser.wait_for("both", "document.querySelector('.news button')?.textContent === '2 new posts'");
    assert_eq!(titles(&browser), json!(["Lights out", "Doors open"]));
    let options = json!({ "title": "Lights out again" });
    public.editor.call("liveblog-post-put", &[&public.loid, &second]).form(&options, &[]).ok();
    wait_for_titles(&browser, &["Lights out again", "Doors open"]);
    public.editor.call("liveblog-post-reject-post", &[&public.loid, &first]).ok();
    wait_for_titles(&browser, &["Lights out again"]);
    browser.click(".news button");
    wait_for_titles(&browser, &["Ferry here", "Ferry late", "Lights out again"]);
    browser.wait_for("the focus", "document.activeElement.querySelector('h2')?.textContent === 'Ferry here'");
    assert_eq!(browser.script("return document.querySelector('.news').childElementCount;", &[]), 0);
    let ended = json!({ "status": "LiveBlog/Closed" });
    public.editor.call("stet-object-status-post", &[&public.loid]).json(&ended).ok();
    browser.wait_for("the end", "document.querySelector('#state .mark').textContent === 'Ended'");
    assert_eq!(browser.script("return window.loaded;", &[]), true, "the page was loaded again");
}

#[test]
fn a_withdrawn_live_blog_leaves_open_pages() {
    let public = PublicBlog::new(&[]);
    public.post("Doors open", json!({}));
    let Some(browser) = Browser::start() else { return };
    browser.expect_error("404");
    browser.open(&public.address);
    wait_for_titles(&browser, &["Doors open"]);
    public.editor.call("liveblog-delete", &[&public.loid]).ok();
    browser.wait_for("the notice", "document.querySelector('.news')?.textContent.includes('no longer available')");
    assert_eq!(titles(&browser), json!([]));
}

#[test]
fn earlier_posts_are_added_below_and_every_state_is_accessible() {
    let public = PublicBlog::new(&[("LIVEBLOG__PUBLIC__POSTS", "2")]);
    let Some(browser) = Browser::start() else { return };
    browser.open(&public.address);
    browser.find("#nothing");
    is_accessible(&browser, "a page without posts");
    for number in 1..=6 {
        public.post(&format!("Post {number}"), json!({ "timestamp": 1000 * number, "summary": "In short" }));
    }
    public.post("Pinned", json!({ "timestamp": 500, "pinned": true }));
    browser.open(&public.address);
    wait_for_titles(&browser, &["Pinned", "Post 6", "Post 5"]);
    browser.click("#earlier a");
    wait_for_titles(&browser, &["Pinned", "Post 6", "Post 5", "Post 4", "Post 3"]);
    browser.wait_for("the focus", "document.activeElement.querySelector('h2')?.textContent === 'Post 4'");
    browser.click("#earlier a");
    wait_for_titles(&browser, &["Pinned", "Post 6", "Post 5", "Post 4", "Post 3", "Post 2", "Post 1"]);
    browser.wait_for("the end", "!document.querySelector('#earlier')");
    public.post("Post 7", json!({ "timestamp": 7000 }));
    browser.find(".news button");
    is_accessible(&browser, "a page with new posts");
    // A page of older posts, as it is without a script.
    browser.open(&format!("{}?page=1", public.address));
    browser.find("#later a");
    is_accessible(&browser, "a page of older posts");
    browser.open(&format!("{}/live/nothing", public.server.base));
    browser.expect_error("404");
    is_accessible(&browser, "an address without a page");
}

/// Serves a page of another site, until the process ends. Returns its address.
fn other_site(html: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
            let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{html}", html.len());
        }
    });
    format!("http://{address}/")
}

#[test]
fn a_page_of_another_site_shows_the_live_blog_in_a_frame_of_its_height() {
    let public = PublicBlog::new(&[]);
    public.post("Doors open", json!({}));
    let Some(browser) = Browser::start() else { return };
    let uuid = public.address.rsplit('/').next().expect("it is a path");
    let script =
        format!("<script src=\"{}/live/embed.js\" data-liveblog=\"{uuid}\" async></script>", public.server.base);
    let site = other_site(format!("<!doctype html><title>x</title><p id=before>A site</p>{script}<p>goes on</p>"));
    browser.open(&site);
    let height = "Number.parseFloat(document.querySelector('iframe')?.style.height)";
    let is_told = "document.querySelector('iframe')?.style.height.endsWith('px')";
    browser.wait_for("the frame", is_told);
    let before = browser.script(&format!("return {height};"), &[]).as_f64().expect("it is a number");
    assert!(before > 50.0, "{before}");
    // The frame is longer once the post is.
    let post = public.editor.call("liveblog-get", &[&public.loid]).ok()["items"][0]["info"]["id"].clone();
    let options = json!({ "summary": "On and on. ".repeat(80) });
    let post = post.as_str().expect("a post has an id");
    public.editor.call("liveblog-post-put", &[&public.loid, &post]).form(&options, &[]).ok();
    browser.wait_for("a longer frame", &format!("{height} > {before} + 50"));
}

#[test]
fn the_newsroom_sees_the_address_of_a_public_live_blog_and_copies_it() {
    let public = PublicBlog::new(&[]);
    let inside = public.editor.liveblog("/Test/Inside", "Not public");
    let Some(browser) = Browser::start() else { return };
    sign_in(&public.server.base, &browser, "editor", SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/liveblog/{}", public.server.base, public.loid));
    let link = browser.find(".public a");
    assert_eq!(link.attribute("href").as_deref(), Some(public.address.as_str()));
    is_accessible(&browser, "a public live blog");
    browser.script("navigator.clipboard.writeText = async (words) => (window.copied = words);", &[]);
    browser.click(".public button");
    browser.wait_for("it is copied", &format!("window.copied === {}", json!(public.address)));
    browser.open(&format!("{}/console/#/liveblog/{inside}", public.server.base));
    browser.wait_for("the other one", "document.querySelector('.liveblog h1').textContent === 'Not public'");
    browser.wait_for(
        "it was asked for",
        "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/public')).length === 2",
    );
    assert_eq!(browser.script("return document.querySelectorAll('.public').length;", &[]), json!(0));
}
