//! Nothing that somebody types is lost, whatever happens meanwhile: a killed server, an ended
//! session, a page that is loaded again, another's change.
//!
//! `STET_CONSOLE_ROUNDS` sets the number of posts that are written (20), `STET_CONSOLE_SEED` repeats
//! the choices.

use serde_json::{Value, json};

use super::browser::Browser;
use super::front::Front;
use super::*;

/// The composer's text.
const TEXT: &str = "post-composer textarea";

/// Something that happens while somebody types.
#[derive(Debug, Clone, Copy)]
enum Mishap {
    Kill,
    SessionEnds,
    PageIsLoadedAgain,
    AnotherPost,
    LanguageChanges,
}

const MISHAPS: [Mishap; 5] =
    [Mishap::Kill, Mishap::SessionEnds, Mishap::PageIsLoadedAgain, Mishap::AnotherPost, Mishap::LanguageChanges];

struct Writer {
    browser: Browser,
    front: Front,
    server: Server,
    blog: String,
}

impl Writer {
    fn happens(mut self, mishap: Mishap) -> Writer {
        match mishap {
            Mishap::Kill => {
                self.server = self.server.restart();
                self.front.moved_to(&self.server);
            }
            Mishap::SessionEnds => {
                self.browser.script("return fetch('../v3/auth/logout').then(() => true, () => true);", &[]);
            }
            Mishap::PageIsLoadedAgain => self.open(),
            Mishap::AnotherPost => {
                let path = format!("/v3/container/liveblog/{}/post", encoded(&self.blog));
                let content = Some(("post.xml", "text/xml", b"<post><p>Another's.</p></post>".as_slice()));
                self.server.user("admin").upload(&path, &json!({ "title": "another" }), content).ok();
            }
            Mishap::LanguageChanges => {
                self.browser.script("localStorage.setItem('stet.language', 'de');", &[]);
            }
        }
        self
    }

    /// Opens the page, and signs in if need be.
    fn open(&self) {
        self.browser.open("about:blank");
        self.browser.open(&format!("{}/console/#/liveblog/{}", self.front.base, self.blog));
        self.be_signed_in();
    }

    fn be_signed_in(&self) {
        let is = |css: &str| format!("document.querySelector('{css}')");
        self.browser.wait_for("the page", &format!("{} || {}", is(TEXT), is("[name=username]")));
        if self.browser.script(&format!("return Boolean({});", is("[name=username]")), &[]) == Value::Bool(true) {
            self.browser.click("[name=username]");
            self.browser.type_text("editor");
            self.browser.click("[name=password]");
            self.browser.type_text(SAMPLE_PASSWORD);
            self.browser.press("Enter");
            self.browser.wait_for("the form is gone", &format!("!{}", is("[name=username]")));
        }
        self.browser.find(TEXT);
    }

    /// Types on, where the text ends.
    fn type_on(&self, text: &str) {
        self.be_signed_in();
        self.browser.script(
            "const area = document.querySelector(arguments[0]); area.focus(); area.setSelectionRange(1e6, 1e6);",
            &[json!(TEXT)],
        );
        self.browser.type_text(text);
    }

    fn typed(&self) -> String {
        let text = self.browser.script("return document.querySelector(arguments[0]).value;", &[json!(TEXT)]);
        text.as_str().expect("it is a text").to_owned()
    }

    /// Returns the texts of the published posts by the writer.
    fn published(&self) -> Vec<String> {
        let body = json!({ "filters": { "author": ["editor"] } });
        let reply = self.server.user("editor").call("liveblog-search-post", &[&self.blog]).json(&body).ok();
        let posts = reply["items"].as_array().expect("it has posts").iter();
        posts.map(|post| post["content"].as_str().expect("it has content").to_owned()).collect()
    }
}

#[test]
fn no_character_is_lost_whatever_happens_while_somebody_types() {
    let server = Server::start();
    let blog = server.user("editor").liveblog(&own_folder(), "night");
    let Some(browser) = Browser::start() else { return };
    // The server is away, and sessions end.
    for part in ["Failed to load resource", "net::ERR", "401"] {
        browser.expect_error(part);
    }
    let front = Front::of(&server);
    let mut writer = Writer { browser, front, server, blog };
    writer.open();
    let mut dice = Dice::of(&[seed("STET_CONSOLE_SEED")]);
    let rounds = setting("STET_CONSOLE_ROUNDS").unwrap_or(20);
    for round in 0..rounds {
        let mut expected = String::new();
        let mut mishaps = Vec::new();
        for part in 0..3 {
            let text = format!("Part {part} of {round}, ünd möre. ");
            writer.type_on(&text);
            expected.push_str(&text);
            let mishap = MISHAPS[dice.roll(MISHAPS.len())];
            mishaps.push(mishap);
            writer = writer.happens(mishap);
            writer.be_signed_in();
            assert_eq!(writer.typed(), expected, "{mishaps:?}");
        }
        writer.browser.click("post-composer .primary");
        let post = format!("<post><p>{}</p></post>", expected.trim());
        // A session that had ended unnoticed: the text stays, and is sent by the next attempt.
        wait_patiently_until("it is published", || {
            if writer.browser.script("return Boolean(document.querySelector('.cover'));", &[]) == Value::Bool(true) {
                writer.be_signed_in();
                writer.browser.click("post-composer .primary");
            }
            writer.published().contains(&post)
        });
        writer.browser.wait_for("the box is empty", "document.querySelector('post-composer textarea').value === ''");
    }
    let published = writer.published();
    assert_eq!(published.len() as u64, rounds, "each post is there once: {published:?}");
}
