//! Nothing that somebody types is lost, whatever happens meanwhile: a killed server, an ended
//! session, a page that is loaded again, another's change of the same text, a broken lock.
//!
//! `STET_CONSOLE_ROUNDS` sets the number of texts that are written (20), `STET_CONSOLE_SEED` repeats
//! the choices.

use serde_json::{Value, json};

use super::browser::Browser;
use super::front::Front;
use super::*;

/// A place where people type.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TextPlace {
    Post,
    Headline,
    Source,
}

impl TextPlace {
    fn css(self) -> &'static str {
        match self {
            TextPlace::Post => "post-composer textarea",
            TextPlace::Headline => "[data-field=headline] textarea",
            TextPlace::Source => ".code",
        }
    }
}

/// Something that happens while somebody types.
#[derive(Debug, Clone, Copy)]
enum Mishap {
    Kill,
    SessionEnds,
    PageIsLoadedAgain,
    AnotherChange,
    LanguageChanges,
}

const MISHAPS: [Mishap; 5] =
    [Mishap::Kill, Mishap::SessionEnds, Mishap::PageIsLoadedAgain, Mishap::AnotherChange, Mishap::LanguageChanges];

struct Writer {
    browser: Browser,
    front: Front,
    server: Server,
    blog: String,
    story: String,
    place: TextPlace,
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
            Mishap::AnotherChange => self.another_changes(),
            Mishap::LanguageChanges => {
                self.browser.script("localStorage.setItem('stet.language', 'de');", &[]);
            }
        }
        self
    }

    /// Lets another user change what is written, as rudely as the server allows.
    fn another_changes(&self) {
        let (other, story) = (self.server.user("admin"), encoded(&self.story));
        match self.place {
            TextPlace::Post => {
                let path = format!("/v3/container/liveblog/{}/post", encoded(&self.blog));
                let content = Some(("post.xml", "text/xml", b"<post><p>Another's.</p></post>".as_slice()));
                other.upload(&path, &json!({ "title": "another" }), content).ok();
            }
            TextPlace::Headline => {
                let operator = json!({ "set": { "xpath": "/attributes/metadata/headline", "content": "another" } });
                let body = json!({ "updateFields": [{ "sourceIds": [self.story], "operators": [operator] }] });
                other.post("/v3/object/metadata/change/fields", &body).ok();
            }
            TextPlace::Source => {
                // The lock may have ended with its session.
                other.post(&format!("/v3/object/{story}/unlock"), &json!({ "force": true }));
                let path = format!("/v3/object/{story}/content?newVersion=true");
                other.send("PUT", &path, &[("content-type", "text/xml")], b"<another/>").ok();
            }
        }
    }

    fn has(&self, css: &str) -> bool {
        let script = "return Boolean(document.querySelector(arguments[0]));";
        self.browser.script(script, &[json!(css)]) == Value::Bool(true)
    }

    /// Opens the page, and signs in if need be.
    fn open(&self) {
        let page = match self.place {
            TextPlace::Post => format!("liveblog/{}", self.blog),
            TextPlace::Headline => format!("object/{}", self.story),
            TextPlace::Source => format!("object/{}/source", self.story),
        };
        self.browser.open("about:blank");
        self.browser.open(&format!("{}/console/#/{page}", self.front.base));
        self.be_signed_in();
        self.be_checked_out();
    }

    fn be_signed_in(&self) {
        let is = |css: &str| format!("document.querySelector('{css}')");
        self.browser.wait_for("the page", &format!("{} || {}", is(self.place.css()), is("[name=username]")));
        if self.has("[name=username]") {
            self.browser.click("[name=username]");
            self.browser.type_text("editor");
            self.browser.click("[name=password]");
            self.browser.type_text(SAMPLE_PASSWORD);
            self.browser.press("Enter");
            self.browser.wait_for("the form is gone", &format!("!{}", is("[name=username]")));
        }
        self.browser.find(self.place.css());
    }

    /// Checks the source out, if that is where one types.
    fn be_checked_out(&self) {
        if self.place != TextPlace::Source {
            return;
        }
        wait_patiently_until("it is checked out", || {
            self.browser.script(
                "if (!document.querySelector('.code:not([readonly]), .cover')) document.querySelector('.source .primary').click();",
                &[],
            );
            if self.has(".cover") {
                self.be_signed_in();
            }
            self.has(".code:not([readonly])")
        });
    }

    /// Types on, where the text ends.
    fn type_on(&self, text: &str) {
        self.be_signed_in();
        self.browser.script(
            "const area = document.querySelector(arguments[0]); area.focus(); area.setSelectionRange(1e6, 1e6);",
            &[json!(self.place.css())],
        );
        self.browser.type_text(text);
    }

    fn typed(&self) -> String {
        let script = "return document.querySelector(arguments[0]).value;";
        let text = self.browser.script(script, &[json!(self.place.css())]);
        text.as_str().expect("it is a text").to_owned()
    }

    /// Removes the text of an earlier round.
    fn begin(&self) {
        self.be_checked_out();
        self.browser.click(self.place.css());
        self.browser.press("Control+a");
        self.browser.press("Delete");
        assert_eq!(self.typed(), "");
    }

    /// Sends the post. The form to sign in may cover the page at any moment.
    fn send_post(&self) {
        wait_patiently_until("the post is sent", || {
            self.be_signed_in();
            let script = "const button = document.querySelector('post-composer .primary');
                const isFree = !document.querySelector('.cover') && button && !button.disabled;
                if (isFree) button.click();
                return Boolean(isFree);";
            self.browser.script(script, &[]) == Value::Bool(true)
        });
    }

    /// Saves what was typed, however often it takes. A text that another one has changed, too, is
    /// kept on purpose.
    fn save(&self, expected: &str) {
        if self.place == TextPlace::Post {
            self.send_post();
        }
        wait_patiently_until("it is saved", || {
            let is_ended = self.has(".cover");
            if is_ended {
                self.be_signed_in();
            }
            match self.place {
                // What was sent unnoticed after a session had ended stays, and is sent by the next attempt.
                TextPlace::Post if is_ended => self.send_post(),
                TextPlace::Post => {}
                TextPlace::Headline => {
                    let script = "document.querySelector('.conflict button:last-of-type')?.click();
                        document.querySelector('.attributes .primary')?.click();";
                    self.browser.script(script, &[]);
                }
                TextPlace::Source if self.stored().contains(&expected.to_owned()) => {}
                TextPlace::Source => {
                    self.be_checked_out();
                    assert_eq!(self.typed(), expected);
                    self.browser.script("document.querySelector('.source .primary:not([disabled])')?.click();", &[]);
                    let done = "document.querySelector('.code[readonly], .cover')";
                    self.browser.wait_for("the answer", done);
                }
            }
            self.stored().contains(&expected.to_owned())
        });
    }

    /// Returns what the server has: of posts, the texts of all that the writer has published.
    fn stored(&self) -> Vec<String> {
        let client = self.server.user("editor");
        match self.place {
            TextPlace::Post => {
                let body = json!({ "filters": { "author": ["editor"] } });
                let reply = client.call("liveblog-search-post", &[&self.blog]).json(&body).ok();
                let posts = reply["items"].as_array().expect("it has posts").iter();
                let contents = posts.map(|post| post["content"].as_str().expect("it has content"));
                contents.map(|content| content.replace("<post><p>", "").replace("</p></post>", "")).collect()
            }
            TextPlace::Headline => {
                let record = client.call("object-get", &[&self.story]).ok();
                vec![record["attributes"]["metadata"]["headline"].as_str().unwrap_or_default().to_owned()]
            }
            TextPlace::Source => {
                let path = format!("/v3/object/{}/content?version=-1", encoded(&self.story));
                vec![String::from_utf8_lossy(&client.get(&path).body).into_owned()]
            }
        }
    }
}

#[test]
fn no_character_is_lost_whatever_happens_while_somebody_types() {
    let server = Server::start();
    let client = server.user("editor");
    let (blog, story) = (client.liveblog(&own_folder(), "night"), client.story(&own_folder(), "typed.xml"));
    let Some(browser) = Browser::start() else { return };
    // The server is away, sessions end, and others come before.
    for part in ["Failed to load resource", "net::ERR", "401"] {
        browser.expect_error(part);
    }
    let front = Front::of(&server);
    let mut writer = Writer { browser, front, server, blog, story, place: TextPlace::Post };
    let mut dice = Dice::of(&[seed("STET_CONSOLE_SEED")]);
    let rounds = setting("STET_CONSOLE_ROUNDS").unwrap_or(20);
    let mut posts = 0;
    for round in 0..rounds {
        writer.place = [TextPlace::Post, TextPlace::Headline, TextPlace::Source][dice.roll(3)];
        posts += u64::from(writer.place == TextPlace::Post);
        writer.open();
        writer.begin();
        let mut expected = String::new();
        let mut mishaps = Vec::new();
        for part in 0..3 {
            let text = format!("|Part {part} of {round}, ünd möre.");
            writer.type_on(&text);
            expected.push_str(&text);
            let mishap = MISHAPS[dice.roll(MISHAPS.len())];
            mishaps.push(mishap);
            writer = writer.happens(mishap);
            writer.be_signed_in();
            assert_eq!(writer.typed(), expected, "{:?} {mishaps:?}", writer.place);
        }
        writer.save(&expected);
    }
    writer.place = TextPlace::Post;
    let published = writer.stored();
    assert_eq!(published.len() as u64, posts, "each post is there once: {published:?}");
}
