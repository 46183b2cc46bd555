//! The page of messages, and the number of unread ones in the frame.

use serde_json::{Value, json};

use super::browser::{Browser, sign_in, two_browsers};
use super::*;

/// The messages of a box, the newest first.
fn messages(client: &Client, name: &str) -> Vec<Value> {
    let reply = client.get(&format!("/v3/message/{name}?limit=100")).ok();
    reply["items"].as_array().expect("a box has messages").clone()
}

/// Sends a message. Returns its id.
fn send(client: &Client, message: &Value) -> String {
    client.post("/v3/message/sendmail", message).ok()["id"].as_str().expect("it has an id").to_owned()
}

/// Opens the page of messages as a user.
fn show(server: &Server, browser: &Browser, user: &str, shown: &str) {
    sign_in(&server.base, browser, user, SAMPLE_PASSWORD);
    browser.open(&format!("{}/console/#/messages/{shown}", server.base));
    browser.find("messages-page .toolbar h1");
}

/// Waits until the frame shows a number of unread messages; 0 for none.
#[track_caller]
fn shows_unread(browser: &Browser, count: usize) {
    let shown = "document.querySelector('.unread-count')?.firstChild.data ?? document.querySelector('.unread-count')?.textContent ?? '0'";
    browser.wait_for(&format!("{count} unread"), &format!("Number.parseInt({shown}) === {count}"));
}

#[test]
fn a_message_is_written_counted_read_answered_and_removed() {
    let server = Server::start();
    let (editor, reporter) = (server.user("editor"), server.user("reporter"));
    let story = editor.story("/Test", "ferry.xml");
    let Some((one, two)) = two_browsers() else { return };
    show(&server, &one, "editor", "write");
    one.find("message-letter .names input");
    one.click("message-letter .names input");
    // By the full name of a person, and by the name of a group.
    one.type_text("tobias ferrant");
    one.press("Enter");
    one.type_text("reporters");
    one.press("Enter");
    one.click("message-letter [name=subject]");
    one.type_text("Ferry <b>");
    one.click("message-letter textarea");
    one.type_text("It leaves at ten. See https://example.org/a?b=1.");
    one.click("message-letter .picker input");
    one.type_text(&story);
    one.press("Enter");
    one.wait_for("it is attached", "document.querySelector('.attachments a')?.textContent === 'ferry.xml'");
    one.click("message-letter .primary");
    wait_patiently_until("it is sent", || messages(&editor, "outbox").len() == 1);
    let sent = &messages(&editor, "outbox")[0];
    assert_eq!((&sent["subject"], &sent["recipients"]), (&json!("Ferry <b>"), &json!(["reporter", "reporters"])));
    assert_eq!(sent["attachments"][0]["id"], json!(story));
    // Every page shows that there is one, until it is opened.
    sign_in(&server.base, &two, "reporter", SAMPLE_PASSWORD);
    two.find("drawers-page");
    shows_unread(&two, 1);
    two.click(".to-messages");
    two.click(".letter-line.unread");
    two.wait_for("it is open", "document.querySelector('article h2')?.textContent === 'Ferry <b>'");
    shows_unread(&two, 0);
    wait_patiently_until("it is read", || messages(&reporter, "inbox")[0]["read"] == true);
    assert_eq!(two.find(".words a").attribute("href").as_deref(), Some("https://example.org/a?b=1"));
    assert_eq!(two.find(".attachments a").attribute("href"), Some(format!("#/object/{story}")));
    two.click("article footer .primary");
    two.wait_for("the answer", "document.activeElement === document.querySelector('message-letter textarea')");
    two.type_text("Fine.");
    two.press("Control+Enter");
    wait_patiently_until("the answer is there", || messages(&editor, "inbox").len() == 1);
    let answer = &messages(&editor, "inbox")[0];
    assert_eq!((&answer["subject"], &answer["recipients"]), (&json!("Re: Ferry <b>"), &json!(["editor"])));
    let body = answer["body"].as_str().expect("it has a text");
    assert!(body.starts_with("Fine.") && body.contains("> It leaves at ten."), "{body}");
    two.find(".letter-line");
    two.script("document.querySelector('.letter-line').focus();", &[]);
    two.press("Delete");
    two.click("dialog .primary");
    two.wait_for("the inbox is empty", "document.querySelector('.half .nothing')");
    assert!(messages(&reporter, "inbox").is_empty() && messages(&editor, "outbox").len() == 1);
}

#[test]
fn a_draft_outlives_the_page_and_a_refused_message_is_kept() {
    let server = Server::shared();
    let Some(browser) = Browser::start() else { return };
    show(server, &browser, "contributor", "write");
    browser.click("message-letter .names input");
    browser.type_text("nobody");
    browser.press("Enter");
    browser.click("message-letter textarea");
    browser.type_text("A long text");
    browser.open("about:blank");
    show(server, &browser, "contributor", "write");
    browser.wait_for("the draft", "document.querySelector('message-letter textarea')?.value === 'A long text'");
    browser.expect_error("404");
    browser.click("message-letter .primary");
    browser.wait_for("it is explained", "document.querySelector('.letter .fault').textContent.includes('nobody')");
    browser.wait_for("it is kept", "document.querySelector('message-letter textarea').value === 'A long text'");
    browser.click(".chip button");
    browser.click("message-letter .primary");
    browser.wait_for("nobody is named", "document.querySelector('.letter .fault').textContent.includes('at least')");
    browser.click("message-letter footer .plain");
    browser.wait_for("it is thrown away", "!document.querySelector('message-letter')");
    assert_eq!(
        browser.script("return Object.keys(localStorage).filter((key) => key.includes('draft')).length;", &[]),
        json!(0)
    );
}

#[test]
fn a_new_message_waits_while_somebody_is_in_the_list_and_all_pages_show_its_number() {
    let server = Server::start();
    let admin = server.user("admin");
    let hostile = "<img src=x onerror=alert(1)> \u{202e}gnp.exe javascript:alert(1)";
    send(&admin, &json!({ "subject": hostile, "body": hostile, "recipients": ["reporter"] }));
    let Some(browser) = Browser::start() else { return };
    show(&server, &browser, "reporter", "inbox");
    browser.wait_for("it is text", "document.querySelector('.subject bdi')?.textContent.startsWith('<img src=x')");
    shows_unread(&browser, 1);
    browser.click(".letter-line");
    browser.wait_for("it is text", "document.querySelector('.words')?.textContent.includes('javascript:')");
    assert_eq!(browser.script("return document.querySelectorAll('main img, .words a').length;", &[]), json!(0));
    shows_unread(&browser, 0);
    browser.script("document.querySelector('.letter-line').focus();", &[]);
    send(&admin, &json!({ "subject": "second", "recipients": ["reporter"] }));
    // The page asks when it is seen again and its last answer is old; another page's answer is taken.
    let look = "const kept = JSON.parse(localStorage['stet.unread']);
        localStorage['stet.unread'] = JSON.stringify({ ...kept, at: kept.at - 120000 });
        document.dispatchEvent(new Event('visibilitychange'));";
    browser.script(look, &[]);
    shows_unread(&browser, 1);
    browser.find(".fresh");
    assert_eq!(browser.script("return document.querySelectorAll('.letter-line').length;", &[]), json!(1));
    browser.click(".fresh");
    browser.wait_for("it is shown", "document.querySelectorAll('.letter-line').length === 2");
    browser.script(
        "const kept = JSON.parse(localStorage['stet.unread']);
         dispatchEvent(new StorageEvent('storage', { key: 'stet.unread', newValue: JSON.stringify({ ...kept, unread: 7 }) }));",
        &[],
    );
    shows_unread(&browser, 7);
}
