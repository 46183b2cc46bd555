//! The page on which everything is found.

use serde_json::{Value, json};

use super::browser::{Browser, sign_in};
use super::*;

/// Creates a story with a headline.
fn story(client: &Client, name: &str, headline: &str) -> String {
    let attributes = json!({ "metadata": { "headline": headline } });
    let options = json!({ "name": name, "type": "Story", "folderPath": own_folder(), "attributes": attributes });
    let reply = client.upload("/v3/object/create", &options, Some((name, "text/xml", b"<story/>"))).ok();
    reply["id"].as_str().expect("a new object has an id").to_owned()
}

/// Opens the page as an editor.
fn opened(server: &Server, address: &str) -> Option<Browser> {
    let browser = Browser::start()?;
    sign_in(&server.base, &browser, "editor", SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/find/{address}", server.base));
    browser.find("find-page .words");
    Some(browser)
}

/// The hits that the page shows, by their loids.
fn hits(browser: &Browser) -> Vec<Value> {
    let script = "return [...document.querySelectorAll('[data-hit]')].map((hit) => hit.dataset.hit);";
    browser.script(script, &[]).as_array().expect("a list").clone()
}

#[test]
fn words_are_found_as_they_are_typed_and_narrowed_by_what_hits_have_in_common() {
    let server = Server::shared();
    let client = server.user("editor");
    let hostile = "zephyr <img src=x onerror=window.isHit=1>";
    let stories: Vec<_> = (1..=3).map(|number| story(&client, &format!("{number}.xml"), hostile)).collect();
    let drawer = client.drawer(&own_folder(), "zephyrs", 5);
    client.post(&format!("/v3/object/{}/status", encoded(&stories[0])), &json!({ "status": "Story/Ready" })).ok();
    client.get("/v3/search?limit=0&waitFor=now").ok();
    let Some(browser) = opened(server, "") else { return };
    browser.click(".words");
    browser.type_text("zephy");
    browser.wait_for("the hits", "document.querySelectorAll('[data-hit] mark').length >= 4");
    assert_eq!(browser.script("return window.isHit ?? null;", &[]), Value::Null);
    // The number of hits of each value, as the server counts them.
    let count = "document.querySelector('[data-category=type] .choice small').textContent";
    browser.wait_for("the types", &format!("{count} === '3'"));
    browser.click("[data-category=type] input");
    browser.wait_for("stories only", "document.querySelectorAll('[data-hit]').length === 3");
    // What else could be chosen is still there, and two values of a category are more than one.
    browser.click("[data-category=type] .choice:nth-of-type(2) input");
    browser.wait_for("both types", "document.querySelectorAll('[data-hit]').length === 4");
    browser.click("[data-category=type] .choice:nth-of-type(2) input");
    browser.wait_for("stories again", "document.querySelectorAll('[data-hit]').length === 3");
    browser.script("document.querySelector('[data-category=status] input').focus();", &[]);
    browser.press("Space");
    browser.wait_for("two of them are drafts", "document.querySelectorAll('[data-hit]').length === 2");
    let mut expected = [json!(stories[1]), json!(stories[2])];
    expected.sort_by_key(Value::to_string);
    let mut shown = hits(&browser);
    shown.sort_by_key(Value::to_string);
    assert_eq!(shown, expected);
    // The address has it all: a page opened with it shows the same.
    let address = browser.script("return location.hash;", &[]);
    browser.open("about:blank");
    browser.open(&format!("{}/console/{}", server.base, address.as_str().expect("a text")));
    browser.wait_for("the same hits", "document.querySelectorAll('[data-hit]').length === 2");
    browser.click(".narrow > button");
    browser.wait_for("all hits", "document.querySelectorAll('[data-hit]').length === 4");
    browser.find(&format!("[data-hit='{drawer}'] a[href='#/drawers/{drawer}']"));
}

#[test]
fn hits_are_walked_by_key_and_opened_and_more_are_read_at_the_end() {
    let server = Server::shared();
    let client = server.user("editor");
    for number in 0..45 {
        story(&client, &format!("{number}.xml"), &format!("quagga {number}"));
    }
    client.get("/v3/search?limit=0&waitFor=now").ok();
    let Some(browser) = opened(server, "quagga") else { return };
    browser.wait_for("the first", "document.querySelectorAll('[data-hit]').length === 40");
    browser.click(".found .more");
    browser.wait_for("the others", "document.querySelectorAll('[data-hit]').length === 45");
    let mut all: Vec<_> = hits(&browser).iter().map(Value::to_string).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 45);
    // From wherever one is, by one key.
    browser.open(&format!("{}/console/#/files", server.base));
    browser.find("[data-entry]");
    browser.press("Control+k");
    browser.wait_for("the box", "document.activeElement.classList.contains('words')");
    browser.type_text("quagga 7");
    browser.wait_for("the one", "document.querySelectorAll('[data-hit]').length === 1");
    browser.press("ArrowDown");
    browser.wait_for("the hit", "document.activeElement.closest('[data-hit]')");
    browser.press("Enter");
    browser.wait_for("its page", "document.querySelector('.object-head h1')?.textContent === 'quagga 7'");
}

#[test]
fn posts_and_messages_are_found_and_lead_to_their_pages() {
    let server = Server::shared();
    let client = server.user("editor");
    let blog = client.liveblog(&own_folder(), "night");
    let content = Some(("post.xml", "text/xml", b"<post><p>okapi in the harbour</p></post>".as_slice()));
    let options = json!({ "title": "Seen at the quay" });
    client.upload(&format!("/v3/container/liveblog/{}/post", encoded(&blog)), &options, content).ok();
    let message = json!({ "subject": "okapi", "body": "Who writes it?", "recipients": ["editor"] });
    let id = client.post("/v3/message/sendmail", &message).ok()["id"].as_str().expect("it has an id").to_owned();
    client.get("/v3/search?limit=0&waitFor=now").ok();
    let Some(browser) = opened(server, "okapi") else { return };
    browser.wait_for("both", "document.querySelectorAll('[data-hit]').length === 2");
    browser.find(&format!("[data-hit] a[href='#/messages/{id}']"));
    browser.click(&format!("[data-hit] a[href='#/liveblog/{blog}']"));
    browser.wait_for("the post", "document.querySelector('[data-post] h2')?.textContent === 'Seen at the quay'");
}
